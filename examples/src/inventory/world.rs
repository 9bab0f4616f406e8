//! Where to look.

use std::collections::BTreeMap;
use std::io;

use aws_config::profile::ProfileFileLoadError;
use hyper::header::InvalidHeaderValue;

use super::aws;
use super::azure;
use super::cloud::Cloud;
use super::failure::chain;
use super::found::Found;
use super::gcp;
use super::listing::Listing;
use super::mode::Mode;
use super::options::Args;
use super::service::Service;
use crate::sim::{self, Ideal, InvalidLimit, Leaf, Server};

/// A place that cannot be looked at.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorldError {
    /// No fleet of AWS has this size.
    #[error(transparent)]
    Fleet(#[from] sim::aws::FleetError),
    /// No tenant of Azure has this size.
    #[error(transparent)]
    Tenant(#[from] sim::azure::FleetError),
    /// No organization of Google Cloud has this size.
    #[error(transparent)]
    Organization(#[from] sim::gcp::FleetError),
    /// No quota of Google Cloud has minutes of this length.
    #[error(transparent)]
    Minute(#[from] InvalidLimit),
    /// A simulation found no port.
    #[error("the simulation does not start: {0}")]
    Start(#[from] io::Error),
    /// The shared configuration files cannot be read.
    #[error("the profiles cannot be read: {}", chain(.0))]
    Profiles(#[from] ProfileFileLoadError),
    /// The shared configuration files do not have it.
    #[error("no profile is called {0}, neither in the AWS configuration file nor in the credentials file")]
    UnknownProfile(String),
    /// Neither the command line nor the profile names one.
    #[error("profile {0} names no region: use --region")]
    NoRegion(String),
    /// The Azure SDK takes neither credential nor endpoint.
    #[error("Azure: {}", chain(.0))]
    Azure(#[from] azure_core::Error),
    /// A client of Google Cloud cannot be made.
    #[error("Google Cloud: {}", chain(.0))]
    Gcp(#[from] google_cloud_gax::client_builder::Error),
    /// There are no application default credentials that are of use.
    #[error("Google Cloud's credentials: {}", chain(.0))]
    GcpCredentials(#[from] google_cloud_auth::build_errors::Error),
    /// A project that no header can name.
    #[error("Google Cloud: a project cannot be charged: {0}")]
    Project(#[from] InvalidHeaderValue),
}

/// The places to list.
#[derive(Debug)]
pub struct World {
    aws: Option<aws::Accounts>,
    azure: Option<azure::Subscriptions>,
    gcp: Option<gcp::Projects>,
    services: Vec<Service>,
    simulated: Vec<Simulated>,
}

/// What a complete inventory finds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Totals {
    /// Accounts.
    pub accounts: u64,
    /// Resources, but for the identities, which are the accounts' own.
    pub found: Found,
}

/// One simulated cloud, and what the job comes to on it.
#[derive(Debug)]
pub struct Simulated {
    pub(super) cloud: Cloud,
    pub(super) server: Server,
    pub(super) totals: Totals,
    pub(super) requests: BTreeMap<Leaf, u64>,
    pub(super) ideal: Ideal,
}

impl World {
    /// Starts the simulations of the chosen clouds.
    ///
    /// # Errors
    /// [`WorldError::Fleet`], [`WorldError::Tenant`], [`WorldError::Organization`], [`WorldError::Minute`],
    /// [`WorldError::Start`].
    pub async fn simulate(args: &Args) -> Result<Self, WorldError> {
        let mut world = World::nowhere(args);
        for cloud in args.cloud.each() {
            world.simulated.push(match cloud {
                Cloud::Aws => {
                    let (accounts, simulated) = aws::Accounts::simulate(&args.simulation, &world.services).await?;
                    world.aws = Some(accounts);
                    simulated
                }
                Cloud::Azure => {
                    let (subscriptions, simulated) = azure::Subscriptions::simulate(args, &world.services).await?;
                    world.azure = Some(subscriptions);
                    simulated
                }
                Cloud::Gcp => {
                    let (projects, simulated) = gcp::Projects::simulate(args, &world.services).await?;
                    world.gcp = Some(projects);
                    simulated
                }
            });
        }
        Ok(world)
    }

    /// The accounts of a real cloud, or of whatever is at the endpoint URL.
    ///
    /// # Errors
    /// [`WorldError::Profiles`], [`WorldError::UnknownProfile`], [`WorldError::NoRegion`], [`WorldError::Azure`].
    pub async fn real(args: &Args) -> Result<Self, WorldError> {
        let mut world = World::nowhere(args);
        for cloud in args.cloud.each() {
            match cloud {
                Cloud::Aws => world.aws = Some(aws::Accounts::real(args).await?),
                Cloud::Azure => world.azure = Some(azure::Subscriptions::real(args)?),
                Cloud::Gcp => world.gcp = Some(gcp::Projects::real(args)),
            }
        }
        Ok(world)
    }

    /// The listings of all places, for one run: what an SDK learns in it is its own.
    ///
    /// # Errors
    /// [`WorldError::Azure`], [`WorldError::Gcp`], [`WorldError::GcpCredentials`], [`WorldError::Project`].
    pub async fn listings(&self, mode: &Mode, fan_out: usize) -> Result<Vec<Listing>, WorldError> {
        let mut listings = Vec::new();
        if let Some(aws) = &self.aws {
            listings.extend(aws.listings(mode, &self.services, fan_out));
        }
        if let Some(azure) = &self.azure {
            listings.extend(azure.listings(mode, &self.services, fan_out)?);
        }
        if let Some(gcp) = &self.gcp {
            listings.extend(gcp.listings(mode, &self.services, fan_out).await?);
        }
        Ok(listings)
    }

    fn nowhere(args: &Args) -> Self {
        World { aws: None, azure: None, gcp: None, services: args.listed(), simulated: Vec::new() }
    }

    /// The services that are listed.
    pub fn services(&self) -> &[Service] {
        &self.services
    }

    /// The simulations, if these are any.
    pub fn simulated(&self) -> &[Simulated] {
        &self.simulated
    }

    /// The simulation of a cloud, if there is one.
    pub fn simulation(&self, cloud: Cloud) -> Option<&Simulated> {
        self.simulated.iter().find(|simulated| simulated.cloud == cloud)
    }

    /// Ends the simulations, if these are any.
    pub async fn close(self) {
        for simulated in self.simulated {
            simulated.server.stop().await;
        }
    }
}

impl Simulated {
    /// The cloud that is simulated.
    pub fn cloud(&self) -> Cloud {
        self.cloud
    }

    /// Its server.
    pub fn server(&self) -> &Server {
        &self.server
    }

    /// The least time in which its buckets can grant the job.
    pub fn ideal(&self) -> &Ideal {
        &self.ideal
    }

    /// What a complete inventory finds of the services that are listed.
    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    /// The requests that the job needs if none fails.
    pub fn requests(&self) -> &BTreeMap<Leaf, u64> {
        &self.requests
    }
}

/// Each once, in the order in which they are named: what is named twice is there once.
pub(super) fn distinct<T: Clone + PartialEq>(named: &[T]) -> Vec<T> {
    let mut distinct = Vec::new();
    for name in named {
        if !distinct.contains(name) {
            distinct.push(name.clone());
        }
    }
    distinct
}
