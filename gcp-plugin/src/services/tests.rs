use proptest::prelude::*;

use super::*;

/// What a client's builder is known by.
#[cfg(feature = "clients")]
fn factory<F, C>(_: &google_cloud_gax::client_builder::ClientBuilder<F, C>) -> &'static str {
    std::any::type_name::<F>()
}

#[test]
fn every_list_is_sorted_as_its_search_needs_it() {
    for list in [DOCUMENTED, ANSWERED, INFERRED] {
        assert!(list.is_sorted(), "{list:?}");
    }
    assert!(NAMES.is_sorted_by_key(|(name, _)| *name));
}

#[test]
fn no_service_is_listed_twice() {
    let mut all = [DOCUMENTED, ANSWERED, INFERRED].concat();
    let listed = all.len();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), listed);
}

#[test]
fn what_charges_the_caller_is_told_from_what_charges_the_resource() {
    for service in ["cloudasset", "cloudresourcemanager", "orgpolicy", "translate"] {
        assert!(is_client_based(service), "{service}");
    }
    for service in ["compute", "storage", "pubsub", "cloudassets", ""] {
        assert!(!is_client_based(service), "{service}");
    }
}

#[test]
fn packages_have_the_service_that_the_recorder_would_name() {
    for (rpc, service) in [
        ("google.cloud.asset.v1.AssetService/ListAssets", "cloudasset"),
        ("google.cloud.compute.v1.instances/list", "compute"),
        ("google.cloud.resourcemanager.v3.Projects/GetProject", "cloudresourcemanager"),
        ("google.cloud.secretmanager.v1.SecretManagerService/GetSecret", "secretmanager"),
        ("google.iam.admin.v1.IAM/ListRoles", "iam"),
        ("google.pubsub.v1.Publisher/Publish", "pubsub"),
        ("google.spanner.admin.database.v1.DatabaseAdmin/ListDatabases", "spanner"),
        ("google.storage.control.v2.StorageControl/GetFolder", "storage"),
        ("google.storage.v2.Storage/GetBucket", "storage"),
        ("google.cloud.bigquery.datatransfer.v1.DataTransferService/ListRuns", "bigquerydatatransfer"),
    ] {
        assert_eq!(of_rpc(rpc).as_deref(), Some(service), "{rpc}");
    }
}

#[cfg(feature = "clients")]
#[test]
fn clients_have_the_service_that_the_recorder_would_name() {
    for (client, service) in [
        (factory(&google_cloud_asset_v1::client::AssetService::builder()), "cloudasset"),
        (factory(&google_cloud_compute_v1::client::Instances::builder()), "compute"),
        (factory(&google_cloud_storage::client::StorageControl::builder()), "storage"),
        ("google_cloud_pubsub::Factory", "pubsub"),
        ("google_cloud_iam_admin_v1::Factory", "iam"),
    ] {
        assert_eq!(of_client(client).as_deref(), Some(service), "{client}");
    }
}

#[test]
fn what_every_service_serves_names_none() {
    for rpc in [
        "google.longrunning.Operations/GetOperation",
        "google.cloud.location.Locations/ListLocations",
        "google.iam.v1.IAMPolicy/GetIamPolicy",
        "example.v1.Service/Method",
        "google.v1.Service/Method",
        "Method",
        "",
    ] {
        assert_eq!(of_rpc(rpc), None, "{rpc}");
    }
    assert_eq!(of_client("my_crate::Factory"), None);
    assert_eq!(of_client("google_cloud_v1"), None);
}

#[test]
fn a_host_is_called_by_its_first_label() {
    assert_eq!(of_host("compute.googleapis.com"), Some("compute"));
    assert_eq!(of_host("compute"), Some("compute"));
    assert_eq!(of_host(""), None);
    assert_eq!(of_host(".googleapis.com"), None);
}

proptest! {
    #[test]
    fn any_name_is_read_without_a_panic(name in "(google[._])?(cloud[._])?[ -~é]{0,40}(::|/)?.{0,10}") {
        let named = [of_rpc(&name), of_client(&name), of_host(&name).map(|host| Cow::Owned(host.to_owned()))];
        prop_assert!(named.into_iter().flatten().all(|service| !service.is_empty()));
    }
}

#[cfg(any(feature = "tonic", feature = "reqwest-middleware"))]
#[test]
fn googles_hosts_are_known_by_their_service_wherever_they_stand() {
    for (host, service) in [
        ("pubsub.googleapis.com", Some("pubsub")),
        ("us-central1-pubsub.googleapis.com", Some("pubsub")),
        ("eu-documentai.googleapis.com", Some("documentai")),
        ("pubsub.us-central1.rep.googleapis.com", Some("pubsub")),
        ("storage.mtls.googleapis.com", Some("storage")),
        ("storage-my-endpoint.p.googleapis.com", Some("storage")),
        ("my-bucket.storage.googleapis.com", Some("storage")),
        ("my.dotted.bucket.storage.googleapis.com", Some("storage")),
        ("content-storage.googleapis.com", Some("storage")),
        ("www.googleapis.com", Some("www")),
        ("googleapis.com", None),
        (".googleapis.com", None),
        ("-.googleapis.com", None),
        ("pubsub.googleapis.com.example.org", None),
        ("localhost", None),
        ("", None),
    ] {
        assert_eq!(of_google_host(host), service, "{host}");
    }
}
