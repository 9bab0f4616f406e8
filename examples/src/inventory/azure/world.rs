//! The subscriptions of Azure, simulated or real.

use std::collections::BTreeMap;
use std::sync::Arc;

use azure_core::cloud::CloudConfiguration;
use azure_core::credentials::{Secret, TokenCredential};
use azure_core::http::{ClientOptions, Transport};
use azure_identity::{ClientSecretCredential, ClientSecretCredentialOptions, DeveloperToolsCredential};
use cloud_governor_azure::{AzureOptions, governed};

use super::calls::{Clients, Pages};
use super::kind::Kind;
use crate::arm::ArmClient;
use crate::inventory::calls::Source;
use crate::inventory::cloud::Cloud;
use crate::inventory::found::FoundInAzure;
use crate::inventory::kind::Place;
use crate::inventory::listing::Listing;
use crate::inventory::mode::Mode;
use crate::inventory::options::Args;
use crate::inventory::service::Service;
use crate::inventory::world::{Simulated, Totals, WorldError, distinct};
use crate::sim::azure::{Azure, Fleet, Limits, PAGE, Principal, Subscription, transport};
use crate::sim::{Leaf, Server};

/// Resource Manager of the public cloud.
const ENDPOINT: &str = "https://management.azure.com";

/// The subscriptions to list, and the way to them.
#[derive(Debug)]
pub(in crate::inventory) struct Subscriptions {
    places: Vec<Arc<Place>>,
    way: Way,
    /// Whether the governor heeds what the answers say is left.
    learn: bool,
}

/// How Azure is reached, and who asks.
#[derive(Debug)]
enum Way {
    Simulation { transport: Transport, tenant: String, client_id: String, secret: Secret },
    Real { endpoint: String, credential: Arc<dyn TokenCredential> },
}

impl Subscriptions {
    /// Starts a simulated Azure.
    pub(in crate::inventory) async fn simulate(
        args: &Args,
        services: &[Service],
    ) -> Result<(Self, Simulated), WorldError> {
        let simulation = &args.simulation;
        let fleet = Fleet::seeded(simulation.seed, &simulation.size.tenant(args.subscriptions))?;
        let limits = simulation.limits.iter().fold(Limits::default(), |limits, size| size.apply_to_azure(limits));
        let azure = Arc::new(Azure::new(fleet, limits));
        let server = Server::start(azure.clone(), simulation.seed).await?;
        for fault in &simulation.faults {
            server.faults().add(fault.clone());
        }
        let fleet = azure.fleet();
        let requests = job(fleet, services);
        let ideal = azure.ideal(requests.iter().map(|(leaf, requests)| (leaf, *requests)));
        let subscriptions = Subscriptions {
            places: fleet.subscriptions().iter().map(|subscription| place(&subscription.id)).collect(),
            way: way(fleet, &server)?,
            learn: !args.ignore_quota_headers,
        };
        let totals = totals(fleet, services);
        Ok((subscriptions, Simulated { cloud: Cloud::Azure, server, totals, requests, ideal }))
    }

    /// The subscriptions of a real Azure, or of whatever is at the endpoint URL.
    pub(in crate::inventory) fn real(args: &Args) -> Result<Self, WorldError> {
        let endpoint = args.endpoint_url.as_deref().unwrap_or(ENDPOINT).to_owned();
        let credential = DeveloperToolsCredential::new(None)?;
        let ids: Vec<_> = args.subscription_ids.iter().map(|id| id.to_lowercase()).collect();
        let places = distinct(&ids).iter().map(|id| place(id)).collect();
        Ok(Subscriptions { places, way: Way::Real { endpoint, credential }, learn: !args.ignore_quota_headers })
    }

    /// The listings of all subscriptions, for one run, through one client and one credential.
    pub(in crate::inventory) fn listings(
        &self,
        mode: &Mode,
        services: &[Service],
        fan_out: usize,
    ) -> Result<Vec<Listing>, WorldError> {
        let arm = self.client(mode)?;
        let rules = mode.rules(Cloud::Azure);
        let mut listings = Vec::new();
        for place in &self.places {
            let clients = Arc::new(Clients::new(arm.clone(), &place.account, rules.clone()));
            let kinds = Kind::ALL.iter().filter(|kind| services.contains(&kind.service()));
            let sources = kinds.map(|kind| Source::Azure(clients.clone(), Pages::of(*kind)));
            listings.extend(sources.map(|source| Listing::new(place.clone(), source, fan_out)));
        }
        Ok(listings)
    }

    fn client(&self, mode: &Mode) -> Result<ArmClient, WorldError> {
        match &self.way {
            Way::Simulation { transport, tenant, client_id, secret } => {
                let options = self.govern(
                    mode,
                    ClientOptions {
                        transport: Some(transport.clone()),
                        // The environment may name another authority, which is not simulated.
                        cloud: Some(Arc::new(CloudConfiguration::AzurePublic)),
                        ..ClientOptions::default()
                    },
                );
                let credential = ClientSecretCredential::new(
                    tenant,
                    client_id.clone(),
                    secret.clone(),
                    Some(ClientSecretCredentialOptions { client_options: options.clone() }),
                )?;
                Ok(ArmClient::new(credential, options, ENDPOINT)?)
            }
            Way::Real { endpoint, credential } => {
                let options = self.govern(mode, ClientOptions::default());
                Ok(ArmClient::new(credential.clone(), options, endpoint)?)
            }
        }
    }

    fn govern(&self, mode: &Mode, options: ClientOptions) -> ClientOptions {
        match mode {
            Mode::Governed(governor) => {
                governed(options, AzureOptions::new().governor(governor.clone()).learn(self.learn))
            }
            Mode::Plain(_) => options,
        }
    }
}

fn place(subscription: &str) -> Arc<Place> {
    Arc::new(Place { account: subscription.to_owned(), region: String::new() })
}

fn way(fleet: &Fleet, server: &Server) -> azure_core::Result<Way> {
    // A fleet has one at least. Without any, the token endpoint would refuse the empty name.
    let first = fleet.principals().first();
    let of = |text: fn(&Principal) -> &str| first.map(text).unwrap_or_default().to_owned();
    Ok(Way::Simulation {
        transport: transport(server)?,
        tenant: fleet.tenant().to_owned(),
        client_id: of(Principal::client_id),
        secret: Secret::new(of(Principal::secret)),
    })
}

/// What a complete inventory finds of these services.
fn totals(fleet: &Fleet, services: &[Service]) -> Totals {
    let all = fleet.totals();
    let of = |service, count| if services.contains(&service) { count } else { 0 };
    let found = FoundInAzure {
        resource_groups: of(Service::Resources, all.resource_groups),
        virtual_networks: of(Service::Network, all.virtual_networks),
        subnets: of(Service::Network, all.subnets),
        virtual_machines: of(Service::Compute, all.virtual_machines),
    };
    Totals { accounts: all.subscriptions, found: found.into() }
}

/// The requests that the job needs if none fails. The token is one more, and the tenant's: no subscription needs it.
fn job(fleet: &Fleet, services: &[Service]) -> BTreeMap<Leaf, u64> {
    let mut job = BTreeMap::new();
    for subscription in fleet.subscriptions() {
        let requests = requests(subscription).into_iter();
        for (service, operation, requests) in requests.filter(|(service, ..)| services.contains(service)) {
            let (service, operation) = (service.name().to_owned(), operation.to_owned());
            let leaf = Leaf { account: subscription.id.clone(), region: String::new(), service, operation };
            job.insert(leaf, requests);
        }
    }
    job
}

fn requests(subscription: &Subscription) -> [(Service, &'static str, u64); 5] {
    let pages = |rows: u64| rows.div_ceil(u64::from(PAGE)).max(1);
    let rows = |count: usize| count as u64;
    let Subscription { groups, networks, machines, .. } = subscription;
    let subnets = networks.iter().map(|network| pages(u64::from(network.subnets))).sum();
    [
        (Service::Resources, "ResourceGroups.list", pages(rows(groups.len()))),
        (Service::Network, "VirtualNetworks.listAll", pages(rows(networks.len()))),
        (Service::Network, "Subnets.list", subnets),
        (Service::Compute, "VirtualMachines.listAll", pages(rows(machines.len()))),
        (Service::Compute, "VirtualMachines.instanceView", rows(machines.len())),
    ]
}
