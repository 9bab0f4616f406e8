//! The server's view of governed clients.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{ARM, Site, start};
use azure_core::http::ClientOptions;
use azure_identity::{ClientSecretCredential, ClientSecretCredentialOptions};
use cloud_governor::{Config, Governor};
use cloud_governor_azure::{AzureOptions, governed};
use cloud_governor_examples::arm::ArmClient;
use cloud_governor_examples::sim::azure::{Bucket, Limits};

/// Client and credential under one governor.
fn client(site: &Site, governor: &Governor) -> ArmClient {
    let azure = AzureOptions::new().governor(governor.clone()).account(site.fleet().tenant());
    let options: ClientOptions = governed(site.options(), azure);
    let credential_options = ClientSecretCredentialOptions { client_options: options.clone() };
    let principal = site.principal(0);
    let (tenant, secret) = (site.fleet().tenant(), principal.secret().to_owned().into());
    let credential =
        ClientSecretCredential::new(tenant, principal.client_id().to_owned(), secret, Some(credential_options));
    ArmClient::new(credential.expect("a credential"), options, ARM).expect("a client")
}

/// A leaf for each operation, as the server counts.
const CONFIG: &str = "
ratelimit:
  azure:
    services:
      compute: { per_operation: true }
      identity: { per_operation: true }
      network: { per_operation: true }
      resources: { per_operation: true }
";

fn governor() -> Governor {
    Governor::builder().config(Config::from_yaml(CONFIG, "test").expect("a valid configuration")).seed(7).build()
}

/// Requests by account, service and operation, as the governor counts them and as the server does.
fn counted(site: &Site, governor: &Governor) -> [BTreeMap<[String; 3], u64>; 2] {
    let ours = governor.summary().scopes.into_iter().map(|(scope, totals)| {
        let operation = scope.operation().unwrap_or_default().to_owned();
        ([scope.account().to_owned(), scope.service().to_owned(), operation], totals.calls)
    });
    let theirs = site
        .server
        .truth()
        .snapshot()
        .leaves
        .into_iter()
        .map(|seen| ([seen.leaf.account, seen.leaf.service, seen.leaf.operation], seen.counts.requests));
    [ours.filter(|(_, calls)| *calls > 0).collect(), theirs.collect()]
}

#[tokio::test(start_paused = true)]
async fn the_governor_charges_each_call_where_the_server_counts_it() {
    let (site, governor) = (start(Limits::default()).await, governor());
    let client = client(&site, &governor);
    let subscription = &site.fleet().subscriptions()[0];
    let (network, machine) = (&subscription.networks[0], &subscription.machines[0]);
    client.subscriptions(None).await.expect("an answer");
    client.resource_groups(&subscription.id, None).await.expect("an answer");
    client.virtual_networks(&subscription.id, None).await.expect("an answer");
    client.subnets(&subscription.id, &network.group, &network.name, None).await.expect("an answer");
    client.virtual_machines(&subscription.id, None).await.expect("an answer");
    client.instance_view(&subscription.id, &machine.group, &machine.name).await.expect("an answer");
    let [ours, theirs] = counted(&site, &governor);
    assert_eq!(ours, theirs);
    assert_eq!(theirs.len(), 7, "six operations and a token");
}

#[tokio::test(start_paused = true)]
async fn a_refused_call_comes_again_when_the_server_said_and_is_granted() {
    let limit = Limits::default().quota(Bucket::HighCostGet).limit.resized(1.0, 1.0).expect("a possible limit");
    let limits = Limits::default().with("compute.list-vms", limit).expect("a known bucket");
    let (site, governor) = (start(limits).await, governor());
    let client = client(&site, &governor);
    for _ in 0..2 {
        client.virtual_machines(site.subscription(0), None).await.expect("an answer");
    }
    assert!(site.server.elapsed() >= Duration::from_secs(60), "the bucket is refilled at the full minute");
    let seen = site.counts("compute.VirtualMachines.listAll");
    assert_eq!((seen.answered, seen.throttled), (2, 1));
    let [ours, theirs] = counted(&site, &governor);
    assert_eq!(ours, theirs);
}
