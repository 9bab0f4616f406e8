//! Lists and single resources.

use super::{ARM, Answered, start};
use azure_core::http::{ClientOptions, RetryOptions};
use cloud_governor_examples::arm::{ArmClient, Page};
use cloud_governor_examples::sim::azure::{Limits, transport};

/// Reads every page of a list.
macro_rules! all {
    ($client:expr, $list:ident($($part:expr),*)) => {{
        let (mut rows, mut pages, mut next) = (Vec::new(), 0, None);
        loop {
            let Page { rows: more, next: going_on, .. } =
                $client.$list($($part,)* next.as_ref()).await.expect("an answer");
            assert!(more.len() <= 100);
            rows.extend(more);
            pages += 1;
            next = going_on;
            if next.is_none() {
                break;
            }
        }
        (rows, pages)
    }};
}

#[tokio::test]
async fn the_pages_of_every_list_are_complete_and_in_order() {
    let site = start(Limits::default()).await;
    let client = site.client(0);
    let (subscriptions, _) = all!(client, subscriptions());
    let seen: Vec<_> = subscriptions.iter().map(|one| (one.subscription_id.as_str(), one.state.as_str())).collect();
    let there: Vec<_> = site.fleet().subscriptions().iter().map(|one| (one.id.as_str(), "Enabled")).collect();
    assert_eq!(seen, there);

    for subscription in site.fleet().subscriptions() {
        let (groups, pages) = all!(client, resource_groups(&subscription.id));
        assert_eq!(groups.iter().map(|group| group.name.as_str()).collect::<Vec<_>>(), subscription.groups);
        assert!(groups.iter().all(|group| group.location == subscription.location));
        assert_eq!(pages, 2);

        let (networks, pages) = all!(client, virtual_networks(&subscription.id));
        let seen: Vec<_> = networks.iter().map(|one| (one.name.as_str(), one.id.resource_group())).collect();
        let there: Vec<_> =
            subscription.networks.iter().map(|one| (one.name.as_str(), Some(one.group.as_str()))).collect();
        assert_eq!((seen, pages), (there, 3));

        let (machines, pages) = all!(client, virtual_machines(&subscription.id));
        let seen: Vec<_> = machines.iter().map(|one| (one.name.as_str(), one.id.resource_group())).collect();
        let there: Vec<_> =
            subscription.machines.iter().map(|one| (one.name.as_str(), Some(one.group.as_str()))).collect();
        assert_eq!((seen, pages), (there, 4));
    }
    let seen = site.server.truth().snapshot();
    assert_eq!(seen.totals.requests, seen.totals.answered);
    assert_eq!(seen.actions["network.VirtualNetworks.listAll"].answered, 6);
    assert_eq!(seen.actions["identity.token"].answered, 1, "the client keeps its token");
    let tenant_wide = seen.leaves.iter().find(|one| one.leaf.operation == "Subscriptions.list").expect("it was asked");
    assert_eq!((tenant_wide.leaf.account.as_str(), tenant_wide.leaf.region.as_str()), (site.fleet().tenant(), ""));
}

#[tokio::test]
async fn each_row_has_its_own_call() {
    let site = start(Limits::default()).await;
    let client = site.client(0);
    let subscription = &site.fleet().subscriptions()[1];
    for network in subscription.networks.iter().take(20) {
        let (subnets, _) = all!(client, subnets(&subscription.id, &network.group, &network.name));
        let there: Vec<_> = (0..network.subnets).map(|index| network.subnet(index)).collect();
        assert_eq!(subnets.iter().map(|subnet| subnet.name.as_str()).collect::<Vec<_>>(), there);
    }
    for machine in subscription.machines.iter().take(20) {
        let view = client.instance_view(&subscription.id, &machine.group, &machine.name).await.expect("an answer");
        assert_eq!(view.power_state(), Some(if machine.running { "running" } else { "deallocated" }));
    }
}

#[tokio::test]
async fn what_is_not_there_is_said_so_in_the_words_of_resource_manager() {
    let site = start(Limits::default()).await;
    let client = site.client(0);
    let subscription = &site.fleet().subscriptions()[0];
    let (here, group) = (subscription.id.as_str(), subscription.groups[0].as_str());
    let missing = [
        (client.instance_view(here, group, "vm").await.expect_err("no machine"), "ResourceNotFound"),
        (client.instance_view(here, "rg", "vm").await.expect_err("no group"), "ResourceGroupNotFound"),
        (client.subnets(here, group, "vnet", None).await.map(drop).expect_err("no network"), "ResourceNotFound"),
        (client.resource_groups("elsewhere", None).await.map(drop).expect_err("nowhere"), "SubscriptionNotFound"),
    ];
    for (error, code) in missing {
        let failure = Answered::failure(&error);
        assert_eq!((failure.status, failure.code.as_str()), (404, code));
        assert_eq!(failure.header("x-ms-error-code"), None, "the code is in the body alone");
    }
    assert_eq!(site.counts("compute.VirtualMachines.instanceView").refused, 2);
    assert_eq!(site.server.truth().snapshot().unrecognised.refused, 1, "no subscription's");
}

#[tokio::test]
async fn the_sdk_s_own_http_client_reaches_the_simulation_and_nothing_else() {
    let site = start(Limits::default()).await;
    let options = ClientOptions {
        transport: Some(transport(&site.server).expect("an HTTP client")),
        retry: RetryOptions::none(),
        ..ClientOptions::default()
    };
    let client = ArmClient::new(site.credential(0), options.clone(), ARM).expect("a client");
    let mut page = client.virtual_machines(site.subscription(0), None).await.expect("an answer");
    page = client.virtual_machines(site.subscription(0), page.next.as_ref()).await.expect("an answer");
    assert_eq!(page.rows[0].name, site.fleet().subscriptions()[0].machines[100].name);

    let elsewhere =
        ArmClient::new(site.credential(0), options, "https://management.core.windows.net").expect("a client");
    let error = elsewhere.subscriptions(None).await.expect_err("not simulated").to_string();
    assert_eq!(error, "management.core.windows.net is not part of the simulation, which sends nothing to the network");
}
