//! Where to look.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use aws_config::BehaviorVersion;
use aws_config::profile::{self, ProfileFileLoadError};
use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_runtime::env_config::file::EnvConfigFiles;
use aws_smithy_http_client::Builder;
use aws_types::SdkConfig;
use aws_types::os_shim_internal::{Env, Fs};
use aws_types::region::Region;

use super::clients::{Clients, Mode, Quotas};
use super::failure::chain;
use super::kind::{Kind, Place};
use super::listing::Listing;
use super::options::{Args, Simulation};
use super::service::Service;
use crate::sim::aws::{
    Account, Aws, Estate, Fleet, FleetError, LOGS_PAGE, Limits, PARAMETERS_PAGE, SECRETS_PAGE, Totals,
};
use crate::sim::{Ideal, Leaf, Server};

/// The size of the pages that are asked of EC2.
pub(super) const EC2_PAGE: u32 = 100;

/// What a new program of the SDK would choose.
fn behaviour() -> BehaviorVersion {
    BehaviorVersion::v2026_01_12()
}

/// A place that cannot be looked at.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorldError {
    /// No fleet has this size.
    #[error(transparent)]
    Fleet(#[from] FleetError),
    /// The simulation found no port.
    #[error("the simulated AWS does not start: {0}")]
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
}

/// The accounts and regions to list.
#[derive(Debug)]
pub struct World {
    accounts: Vec<Signed>,
    services: Vec<Service>,
    simulated: Option<Simulated>,
}

/// One account, how to sign for it, and where to look in it.
#[derive(Debug)]
struct Signed {
    config: SdkConfig,
    /// The account's id, where it is known before anyone has asked.
    id: Option<String>,
    places: Vec<(Arc<Place>, Region)>,
}

/// The simulation, if there is one.
#[derive(Debug)]
pub struct Simulated {
    aws: Arc<Aws>,
    server: Server,
    services: Vec<Service>,
}

impl World {
    /// Starts a simulated AWS.
    ///
    /// # Errors
    /// [`WorldError::Fleet`], [`WorldError::Start`].
    pub async fn simulate(args: &Args) -> Result<Self, WorldError> {
        let Simulation { accounts, regions, seed, size, faults, limits } = &args.simulation;
        let fleet = Fleet::seeded(*seed, &size.fleet(*accounts, *regions))?;
        let limits = limits.iter().fold(Limits::default(), |limits, size| size.apply(limits));
        let aws = Arc::new(Aws::new(fleet, limits));
        let server = Server::start(aws.clone(), *seed).await?;
        for fault in faults {
            server.faults().add(fault.clone());
        }
        // One client, so that all share its connections.
        let http = Builder::new().build_http();
        let regions: Vec<_> = aws.fleet().regions().iter().map(|region| Region::new(*region)).collect();
        let signed = |account: &Account| {
            let config = SdkConfig::builder()
                .behavior_version(behaviour())
                .credentials_provider(SharedCredentialsProvider::new(credentials(account)))
                .endpoint_url(server.url())
                .http_client(http.clone())
                .build();
            let id = account.id().to_owned();
            Signed { config, places: places(&id, regions.clone()), id: Some(id) }
        };
        let accounts = aws.fleet().accounts().iter().map(signed).collect();
        let services = distinct(&args.services);
        Ok(World { accounts, services: services.clone(), simulated: Some(Simulated { aws, server, services }) })
    }

    /// Reads the profiles of a real AWS, or of whatever is at the endpoint URL.
    ///
    /// # Errors
    /// [`WorldError::Profiles`], [`WorldError::UnknownProfile`], [`WorldError::NoRegion`].
    pub async fn real(args: &Args) -> Result<Self, WorldError> {
        check_profiles(&args.profiles).await?;
        let mut profiles: Vec<_> = distinct(&args.profiles).into_iter().map(Some).collect();
        if profiles.is_empty() {
            profiles.push(None);
        }
        let mut accounts = Vec::new();
        for profile in profiles {
            let name = profile.clone().unwrap_or_else(|| "default".to_owned());
            let mut loader = aws_config::defaults(behaviour());
            if let Some(profile) = profile {
                loader = loader.profile_name(profile);
            }
            if let Some(url) = &args.endpoint_url {
                loader = loader.endpoint_url(url);
            }
            if let Some(region) = args.region_names.first() {
                loader = loader.region(Region::new(region.clone()));
            }
            let config = loader.load().await;
            let mut regions: Vec<_> = distinct(&args.region_names).into_iter().map(Region::new).collect();
            if regions.is_empty() {
                regions.push(config.region().cloned().ok_or_else(|| WorldError::NoRegion(name.clone()))?);
            }
            accounts.push(Signed { config, id: None, places: places(&name, regions) });
        }
        Ok(World { accounts, services: distinct(&args.services), simulated: None })
    }

    /// The listings of all places, for one run: what the SDK learns in it is its own.
    pub fn listings(&self, mode: &Mode, fan_out: usize) -> Vec<Listing> {
        let mut listings = Vec::new();
        let quotas = Quotas::fresh();
        for Signed { config, id, places } in &self.accounts {
            // Once for all regions, so that they share what is the account's.
            let config = mode.apply(config, id.as_deref());
            for (place, region) in places {
                let config = config.to_builder().region(region.clone()).build();
                let clients = Clients::new(&config, mode.rules(), &quotas);
                let wanted = |kind: &Kind| kind.service().is_none_or(|service| self.services.contains(&service));
                let kinds = Kind::ALL.iter().copied().filter(wanted);
                listings.extend(kinds.map(|kind| Listing::new(place.clone(), kind, clients.clone(), fan_out)));
            }
        }
        listings
    }

    /// The services that are listed.
    pub fn services(&self) -> &[Service] {
        &self.services
    }

    /// The simulation, if this is one.
    pub fn simulated(&self) -> Option<&Simulated> {
        self.simulated.as_ref()
    }

    /// Ends the simulation, if this is one.
    pub async fn close(self) {
        if let Some(Simulated { server, .. }) = self.simulated {
            server.stop().await;
        }
    }
}

impl Simulated {
    /// The simulated AWS.
    pub fn aws(&self) -> &Aws {
        &self.aws
    }

    /// Its server.
    pub fn server(&self) -> &Server {
        &self.server
    }

    /// The least time in which its buckets can grant the job.
    pub fn ideal(&self) -> Ideal {
        self.aws.ideal(self.requests().iter().map(|(leaf, requests)| (leaf, *requests)))
    }

    /// What a complete inventory finds of the services that are listed.
    pub fn totals(&self) -> Totals {
        let all = self.aws.fleet().totals();
        let of = |service, count| if self.lists(service) { count } else { 0 };
        Totals {
            accounts: all.accounts,
            log_groups: of("logs", all.log_groups),
            log_streams: of("logs", all.log_streams),
            parameters: of("ssm", all.parameters),
            secrets: of("secretsmanager", all.secrets),
            vpcs: of("ec2", all.vpcs),
            subnets: of("ec2", all.subnets),
            security_groups: of("ec2", all.security_groups),
            instances: of("ec2", all.instances),
            volumes: of("ec2", all.volumes),
        }
    }

    /// Whether the job has to do with this service.
    fn lists(&self, service: &str) -> bool {
        service == "sts" || self.services.iter().any(|listed| listed.name() == service)
    }

    /// The requests that the job needs if none fails.
    pub fn requests(&self) -> BTreeMap<Leaf, u64> {
        let mut job = BTreeMap::new();
        for account in self.aws.fleet().accounts() {
            for region in self.aws.fleet().regions() {
                let requests = requests(account.estate(region));
                for (service, operation, requests) in requests.into_iter().filter(|(service, ..)| self.lists(service)) {
                    let (account, region) = (account.id().to_owned(), (*region).to_owned());
                    let leaf = Leaf { account, region, service: service.to_owned(), operation: operation.to_owned() };
                    job.insert(leaf, requests);
                }
            }
        }
        job
    }
}

fn requests(estate: &Estate) -> [(&'static str, &'static str, u64); 12] {
    let rows = |count: usize| count as u64;
    let pages = |rows: u64, page: u32| rows.div_ceil(u64::from(page)).max(1);
    let streams = estate.log_groups.iter().map(|group| pages(u64::from(group.streams), LOGS_PAGE)).sum();
    let (groups, parameters) = (rows(estate.log_groups.len()), rows(estate.parameters.len()));
    let (secrets, ec2) = (rows(estate.secrets.len()), &estate.ec2);
    let subnets = ec2.vpcs.iter().map(|vpc| pages(rows(vpc.subnets.len()), EC2_PAGE)).sum();
    let security_groups = ec2.vpcs.iter().map(|vpc| pages(rows(vpc.security_groups.len()), EC2_PAGE)).sum();
    [
        ("sts", "GetCallerIdentity", 1),
        ("logs", "DescribeLogGroups", pages(groups, LOGS_PAGE)),
        ("logs", "DescribeLogStreams", streams),
        ("ssm", "DescribeParameters", pages(parameters, PARAMETERS_PAGE)),
        ("ssm", "GetParameter", parameters),
        ("secretsmanager", "ListSecrets", pages(secrets, SECRETS_PAGE)),
        ("secretsmanager", "DescribeSecret", secrets),
        ("ec2", "DescribeVpcs", pages(rows(ec2.vpcs.len()), EC2_PAGE)),
        ("ec2", "DescribeSubnets", subnets),
        ("ec2", "DescribeSecurityGroups", security_groups),
        ("ec2", "DescribeInstances", pages(rows(ec2.instances.len()), EC2_PAGE)),
        ("ec2", "DescribeVolumes", pages(rows(ec2.volumes.len()), EC2_PAGE)),
    ]
}

/// Finds out now what the SDK would say only when it signs the first call.
async fn check_profiles(names: &[String]) -> Result<(), WorldError> {
    if names.is_empty() {
        return Ok(());
    }
    let known = profile::load(&Fs::real(), &Env::real(), &EnvConfigFiles::default(), None).await?;
    match names.iter().find(|name| known.get_profile(name).is_none()) {
        Some(unknown) => Err(WorldError::UnknownProfile(unknown.clone())),
        None => Ok(()),
    }
}

/// Each once, in the order in which they are named: what is named twice is there once.
fn distinct<T: Clone + PartialEq>(named: &[T]) -> Vec<T> {
    let mut distinct = Vec::new();
    for name in named {
        if !distinct.contains(name) {
            distinct.push(name.clone());
        }
    }
    distinct
}

fn places(account: &str, regions: Vec<Region>) -> Vec<(Arc<Place>, Region)> {
    let place = |region: Region| (Arc::new(Place { account: account.to_owned(), region: region.to_string() }), region);
    regions.into_iter().map(place).collect()
}

fn credentials(account: &Account) -> Credentials {
    Credentials::builder()
        .access_key_id(account.access_key_id())
        .secret_access_key(account.secret_access_key())
        .provider_name("simulated")
        .build()
}
