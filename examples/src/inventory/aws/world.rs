//! The accounts of AWS, simulated or real.

use std::collections::BTreeMap;
use std::sync::Arc;

use aws_config::BehaviorVersion;
use aws_config::profile;
use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_runtime::env_config::file::EnvConfigFiles;
use aws_smithy_http_client::Builder;
use aws_types::SdkConfig;
use aws_types::os_shim_internal::{Env, Fs};
use aws_types::region::Region;

use super::clients::{Clients, Quotas};
use super::kind::Kind;
use crate::inventory::calls::Source;
use crate::inventory::cloud::Cloud;
use crate::inventory::found::Found;
use crate::inventory::kind::Place;
use crate::inventory::listing::Listing;
use crate::inventory::mode::Mode;
use crate::inventory::options::{Args, Simulation};
use crate::inventory::service::Service;
use crate::inventory::world::{Simulated, Totals, WorldError, distinct};
use crate::sim::aws::{Account, Aws, Estate, Fleet, LOGS_PAGE, Limits, PARAMETERS_PAGE, SECRETS_PAGE};
use crate::sim::{Leaf, Server};

/// The size of the pages that are asked of EC2.
pub(super) const EC2_PAGE: u32 = 100;

/// What a new program of the SDK would choose.
fn behaviour() -> BehaviorVersion {
    BehaviorVersion::v2026_01_12()
}

/// The accounts and regions to list.
#[derive(Debug)]
pub(in crate::inventory) struct Accounts(Vec<Signed>);

/// One account, how to sign for it, and where to look in it.
#[derive(Debug)]
struct Signed {
    config: SdkConfig,
    /// The account's id, where it is known before anyone has asked.
    id: Option<String>,
    places: Vec<(Arc<Place>, Region)>,
}

impl Accounts {
    /// Starts a simulated AWS.
    pub(in crate::inventory) async fn simulate(
        simulation: &Simulation,
        services: &[Service],
    ) -> Result<(Self, Simulated), WorldError> {
        let Simulation { accounts, regions, seed, size, faults, limits } = simulation;
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
        let accounts = Accounts(aws.fleet().accounts().iter().map(signed).collect());
        let requests = job(aws.fleet(), services);
        let ideal = aws.ideal(requests.iter().map(|(leaf, requests)| (leaf, *requests)));
        let totals = totals(aws.fleet(), services);
        Ok((accounts, Simulated { cloud: Cloud::Aws, server, totals, requests, ideal }))
    }

    /// Reads the profiles of a real AWS, or of whatever is at the endpoint URL.
    pub(in crate::inventory) async fn real(args: &Args) -> Result<Self, WorldError> {
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
        Ok(Accounts(accounts))
    }

    /// The listings of all accounts, for one run.
    pub(in crate::inventory) fn listings(&self, mode: &Mode, services: &[Service], fan_out: usize) -> Vec<Listing> {
        let mut listings = Vec::new();
        let quotas = Quotas::fresh();
        for Signed { config, id, places } in &self.0 {
            // Once for all regions, so that they share what is the account's.
            let config = mode.apply(config, id.as_deref());
            for (place, region) in places {
                let config = config.to_builder().region(region.clone()).build();
                let clients = Arc::new(Clients::new(&config, mode.rules(Cloud::Aws), &quotas));
                let wanted = |kind: &Kind| kind.service().is_none_or(|service| services.contains(&service));
                let sources =
                    Kind::ALL.iter().filter(|kind| wanted(kind)).map(|kind| Source::Aws(clients.clone(), *kind, None));
                listings.extend(sources.map(|source| Listing::new(place.clone(), source, fan_out)));
            }
        }
        listings
    }
}

/// Whether the job has to do with the service of this name.
fn lists(services: &[Service], name: &str) -> bool {
    name == "sts" || services.iter().any(|listed| listed.name() == name)
}

/// What a complete inventory finds of these services.
fn totals(fleet: &Fleet, services: &[Service]) -> Totals {
    let all = fleet.totals();
    let of = |service, count| if lists(services, service) { count } else { 0 };
    let found = Found {
        log_groups: of("logs", all.log_groups),
        log_streams: of("logs", all.log_streams),
        parameters: of("ssm", all.parameters),
        secrets: of("secretsmanager", all.secrets),
        vpcs: of("ec2", all.vpcs),
        subnets: of("ec2", all.subnets),
        security_groups: of("ec2", all.security_groups),
        instances: of("ec2", all.instances),
        volumes: of("ec2", all.volumes),
        ..Found::default()
    };
    Totals { accounts: all.accounts, found }
}

/// The requests that the job needs if none fails.
fn job(fleet: &Fleet, services: &[Service]) -> BTreeMap<Leaf, u64> {
    let mut job = BTreeMap::new();
    for account in fleet.accounts() {
        for region in fleet.regions() {
            let requests = requests(account.estate(region)).into_iter();
            for (service, operation, requests) in requests.filter(|(service, ..)| lists(services, service)) {
                let (account, region) = (account.id().to_owned(), (*region).to_owned());
                let leaf = Leaf { account, region, service: service.to_owned(), operation: operation.to_owned() };
                job.insert(leaf, requests);
            }
        }
    }
    job
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
