//! The projects of Google Cloud, simulated or real.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use cloud_governor_gcp::{GcpOptions, attach};
use google_cloud_asset_v1::client::AssetService;
use google_cloud_auth::credentials::{self, Credentials};
use google_cloud_compute_v1::client::Instances;
use google_cloud_gax::client_builder::ClientBuilder;

use super::calls::{Clients, Pages};
use super::kind::Kind;
use crate::inventory::calls::Source;
use crate::inventory::cloud::Cloud;
use crate::inventory::found::FoundInGcp;
use crate::inventory::kind::Place;
use crate::inventory::listing::Listing;
use crate::inventory::mode::Mode;
use crate::inventory::options::Args;
use crate::inventory::service::Service;
use crate::inventory::world::{Simulated, Totals, WorldError, distinct};
use crate::sim::gcp::{self, AssetKind, COMPUTE_PAGE, Caller, Fleet, Gcp, Limits, Project};
use crate::sim::{Leaf, Server};

/// The projects to list, and the way to them.
#[derive(Debug)]
pub(in crate::inventory) struct Projects {
    projects: Vec<Named>,
    asset_page: u32,
    way: Way,
}

/// A project, and the zones to look into.
#[derive(Debug)]
struct Named {
    id: String,
    place: Arc<Place>,
    zones: Vec<String>,
}

/// How Google Cloud is reached, and who asks.
#[derive(Debug)]
enum Way {
    Simulation { url: String, caller: Caller },
    Real { endpoint: Option<String> },
}

impl Projects {
    /// Starts a simulated Google Cloud.
    pub(in crate::inventory) async fn simulate(
        args: &Args,
        services: &[Service],
    ) -> Result<(Self, Simulated), WorldError> {
        let simulation = &args.simulation;
        let fleet = Fleet::seeded(simulation.seed, &simulation.size.organization(args.projects))?;
        let limits = Limits::default().with_minute(args.minute)?;
        let start = args.left_of_minute.map(|left| start(&limits, args.minute, left));
        let limits = limits.starting_at(start.unwrap_or_else(SystemTime::now));
        let limits = simulation.limits.iter().fold(limits, |limits, size| size.apply_to_gcp(limits));
        let gcp = Arc::new(Gcp::new(fleet, limits));
        let server = Server::start(gcp.clone(), simulation.seed).await?;
        for fault in &simulation.faults {
            server.faults().add(fault.clone());
        }
        let fleet = gcp.fleet();
        let requests = job(fleet, services, args.asset_page);
        let ideal = gcp.ideal(requests.iter().map(|(leaf, requests)| (leaf, *requests)));
        let zones = |project: &Project| project.zones.iter().map(|zone| (*zone).to_owned()).collect();
        let projects = Projects {
            projects: fleet.projects().iter().map(|project| Named::new(&project.id, zones(project))).collect(),
            asset_page: args.asset_page,
            way: Way::Simulation { url: server.url(), caller: fleet.caller().clone() },
        };
        let totals = totals(fleet, services);
        Ok((projects, Simulated { cloud: Cloud::Gcp, server, totals, requests, ideal }))
    }

    /// The projects of the real Google Cloud, or of whatever is at the endpoint URL.
    pub(in crate::inventory) fn real(args: &Args) -> Self {
        let zones = distinct(&args.zones);
        let projects = distinct(&args.project_ids).iter().map(|id| Named::new(id, zones.clone())).collect();
        let way = Way::Real { endpoint: args.endpoint_url.clone() };
        Projects { projects, asset_page: args.asset_page, way }
    }

    /// The listings of all projects, for one run: each project through a client of Cloud Asset that is charged to it,
    /// and all through one of Compute.
    pub(in crate::inventory) async fn listings(
        &self,
        mode: &Mode,
        services: &[Service],
        fan_out: usize,
    ) -> Result<Vec<Listing>, WorldError> {
        let instances = self.govern(mode, Instances::builder(), self.credentials(None)?).build().await?;
        let mut listings = Vec::new();
        for Named { id, place, zones } in &self.projects {
            let assets = self.govern(mode, AssetService::builder(), self.credentials(Some(id))?).build().await?;
            let clients = Clients::new(assets, instances.clone(), id, zones.clone(), mode.rules(Cloud::Gcp));
            let clients = Arc::new(clients.asset_page(self.asset_page));
            let kinds = Kind::ALL.iter().filter(|kind| services.contains(&kind.service()));
            let sources = kinds.map(|kind| Source::Gcp(clients.clone(), Pages::of(*kind)));
            listings.extend(sources.map(|source| Listing::new(place.clone(), source, fan_out)));
        }
        Ok(listings)
    }

    fn credentials(&self, quota_project: Option<&str>) -> Result<Credentials, WorldError> {
        match &self.way {
            Way::Simulation { caller, .. } => Ok(gcp::credentials(caller, quota_project)?),
            Way::Real { .. } => {
                let builder = credentials::Builder::default();
                let builder = match quota_project {
                    Some(project) => builder.with_quota_project_id(project),
                    None => builder,
                };
                Ok(builder.build()?)
            }
        }
    }

    fn govern<F>(
        &self,
        mode: &Mode,
        builder: ClientBuilder<F, Credentials>,
        credentials: Credentials,
    ) -> ClientBuilder<F, Credentials> {
        let builder = match &self.way {
            Way::Simulation { url, .. } => builder.with_endpoint(url),
            Way::Real { endpoint: Some(url) } => builder.with_endpoint(url),
            Way::Real { endpoint: None } => builder,
        };
        match mode {
            Mode::Governed(governor) => attach(builder, credentials, GcpOptions::new().governor(governor.clone())),
            Mode::Plain(_) => builder.with_credentials(credentials),
        }
    }
}

impl Named {
    fn new(id: &str, zones: Vec<String>) -> Self {
        let place = Place { account: format!("projects/{id}"), region: String::new() };
        Named { id: id.to_owned(), place: Arc::new(place), zones }
    }
}

/// A time near that of the limits when so much is left of a minute of this length.
fn start(limits: &Limits, minute: Duration, left: Duration) -> SystemTime {
    let since = limits.start().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let into = since.as_nanos() % minute.as_nanos().max(1);
    let begun = since.saturating_sub(Duration::from_nanos(u64::try_from(into).unwrap_or_default()));
    let start = begun.saturating_add(minute.saturating_sub(left));
    SystemTime::UNIX_EPOCH.checked_add(start).unwrap_or(limits.start())
}

/// What a complete inventory finds of these services.
fn totals(fleet: &Fleet, services: &[Service]) -> Totals {
    let all = fleet.totals();
    let of = |service, count| if services.contains(&service) { count } else { 0 };
    let found = FoundInGcp {
        assets: of(Service::CloudAsset, all.assets),
        search_results: of(Service::CloudAsset, all.assets),
        instances: of(Service::ComputeEngine, all.instances),
    };
    Totals { accounts: all.projects, found: found.into() }
}

/// The requests that the job needs if none fails.
fn job(fleet: &Fleet, services: &[Service], asset_page: u32) -> BTreeMap<Leaf, u64> {
    let mut job = BTreeMap::new();
    for project in fleet.projects() {
        let requests = requests(project, asset_page).into_iter();
        for (service, operation, requests) in requests.filter(|(service, ..)| services.contains(service)) {
            let (service, operation) = (service.name().to_owned(), operation.to_owned());
            job.insert(Leaf { account: project.account(), region: String::new(), service, operation }, requests);
        }
    }
    job
}

fn requests(project: &Project, asset_page: u32) -> [(Service, &'static str, u64); 3] {
    let pages = |rows: u64, page: u32| rows.div_ceil(u64::from(page)).max(1);
    let assets = pages(AssetKind::ALL.into_iter().map(|kind| project.assets(kind)).sum(), asset_page);
    let instances = project.zones.iter().map(|zone| pages(project.instances_in(zone).len() as u64, COMPUTE_PAGE)).sum();
    [
        (Service::CloudAsset, "ListAssets", assets),
        (Service::CloudAsset, "SearchAllResources", assets),
        (Service::ComputeEngine, "instances.list", instances),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::gcp::Bucket;

    #[test]
    fn the_first_refill_comes_when_the_minute_that_is_under_way_ends() {
        for (minute, left) in [(60_000, 30_000), (60_000, 60_000), (7_000, 3_000), (1_234, 1), (3_600_000, 1_000)] {
            let (minute, left) = (Duration::from_millis(minute), Duration::from_millis(left));
            let limits = Limits::default().with_minute(minute).expect("a possible minute");
            let limits = limits.clone().starting_at(start(&limits, minute, left));
            let limit = limits.quota(Bucket::ListAssets).limit;
            assert_eq!(limit.least_time(limit.capacity() + 1.0), left, "{left:?} of {minute:?}");
        }
    }
}
