//! What the governor's catalogue names is what the scopes of calls have.

use std::collections::BTreeSet;

use cloud_governor::{Config, catalogue};

use super::*;

/// An rpc of each service that the catalogue names.
const CALLED: [(&str, &str); 8] = [
    ("cloudasset", "google.cloud.asset.v1.AssetService/ListAssets"),
    ("cloudresourcemanager", "google.cloud.resourcemanager.v3.Projects/SearchProjects"),
    ("compute", "google.cloud.compute.v1.instances/list"),
    ("iam", "google.iam.admin.v1.IAM/ListServiceAccounts"),
    ("iamcredentials", "google.iam.credentials.v1.IAMCredentials/GenerateAccessToken"),
    ("logging", "google.logging.v2.LoggingServiceV2/ListLogEntries"),
    ("secretmanager", "google.cloud.secretmanager.v1.SecretManagerService/ListSecrets"),
    ("storage", "google.storage.v2.Storage/CreateBucket"),
];

fn of_rpc(rpc: &str) -> Scope {
    Targets::new(Some("p"), "my_crate::Factory").of(Some(&Seen { rpc: Some(rpc), ..Seen::default() }), None)
}

/// The operations that the catalogue names, of one service.
fn named(service: &str) -> BTreeSet<&'static str> {
    let limits = catalogue::published().filter(|limit| (limit.provider, limit.service) == ("gcp", service));
    limits.flat_map(|limit| limit.operations).copied().collect()
}

#[test]
fn every_service_that_the_catalogue_names_is_one_of_a_call() {
    for (service, rpc) in CALLED {
        assert_eq!(of_rpc(rpc).service(), service, "{rpc}");
    }
    let google = catalogue::published().filter(|limit| limit.provider == "gcp");
    let named: BTreeSet<_> = google.map(|limit| limit.service).collect();
    assert!(named.iter().eq(CALLED.iter().map(|(service, _)| service)), "{named:?}");
}

#[test]
fn a_call_takes_from_the_buckets_that_are_published_for_it() {
    let config = Config::builder().build().expect("the defaults");
    let settings = config.provider("gcp");
    let buckets = |rpc: &str| {
        let limits = settings.shared_for(&of_rpc(rpc));
        let names = limits.iter().filter_map(|limit| limit.scope.operation().map(str::to_owned));
        names.collect::<Vec<_>>()
    };
    for (rpc, expected) in [
        ("google.cloud.asset.v1.AssetService/ListAssets", vec!["organization-list-assets"]),
        ("google.cloud.asset.v1.AssetService/GetFeed", vec!["feeds"]),
        ("google.cloud.compute.v1.instances/list", vec!["lists"]),
        ("google.cloud.compute.v1.instances/aggregatedList", vec![]),
        ("google.cloud.compute.v1.zoneOperations/get", vec!["operation-reads", "reads"]),
        // The poller of the official client.
        ("google.cloud.compute.v1.zoneOperations/getOperation", vec!["operation-reads", "reads"]),
        ("google.cloud.secretmanager.v1.SecretManagerService/ListSecrets", vec!["reads"]),
        ("google.storage.v2.Storage/DeleteBucket", vec!["buckets"]),
    ] {
        assert_eq!(buckets(rpc), expected, "{rpc}");
    }
}

/// Each method of a client, and what its rpc is called.
#[cfg(feature = "clients")]
macro_rules! methods {
    ($client:path: $($method:ident),+ $(,)?) => {{
        use $client as Client;
        // Whoever renames a method breaks the build.
        $(let _ = Client::$method;)+
        BTreeSet::from([$(stringify!($method)),+])
    }};
}

#[cfg(feature = "clients")]
#[test]
fn the_operations_of_cloud_asset_that_the_catalogue_names_are_methods_of_the_client() {
    let methods = methods!(google_cloud_asset_v1::client::AssetService:
        analyze_iam_policy, analyze_iam_policy_longrunning, batch_get_assets_history, batch_get_effective_iam_policies,
        create_feed, create_saved_query, delete_feed, delete_saved_query, export_assets, get_feed, get_saved_query,
        list_assets, list_feeds, list_saved_queries, search_all_iam_policies, search_all_resources, update_feed,
        update_saved_query,
    );
    let named: BTreeSet<_> = named("cloudasset").into_iter().map(snake_case).collect();
    assert!(named.iter().eq(&methods), "{named:?}");
}

#[cfg(feature = "clients")]
#[test]
fn the_endings_that_the_catalogue_names_of_compute_engines_operations_are_methods_of_the_clients() {
    let methods = methods!(google_cloud_compute_v1::client::Instances: get, list);
    let endings: BTreeSet<_> = named("compute").into_iter().filter_map(|name| name.strip_prefix("*.")).collect();
    assert_eq!(endings, methods);
    assert_eq!(methods!(google_cloud_compute_v1::client::ZoneOperations: get), BTreeSet::from(["get"]));
}

#[cfg(feature = "clients")]
fn snake_case(rpc: &str) -> String {
    let mut name = String::new();
    for letter in rpc.chars() {
        if letter.is_ascii_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.push(letter.to_ascii_lowercase());
    }
    name
}
