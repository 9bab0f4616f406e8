use proptest::prelude::*;

use super::*;

mod published;

const ASSETS: &str = "google_cloud_asset_v1::builder::asset_service::client::Factory";

fn asset<'a>(method: &'static str, resource: Option<&'a str>) -> Seen<'a> {
    Seen { service: "cloudasset", rpc: Some(method), resource: resource.map(Cow::Borrowed), ..Seen::default() }
}

fn list_assets() -> Seen<'static> {
    let rpc = "google.cloud.asset.v1.AssetService/ListAssets";
    asset(rpc, Some("//cloudasset.googleapis.com/projects/p1"))
}

fn instances(resource: &str) -> Seen<'_> {
    Seen {
        service: "compute",
        rpc: Some("google.cloud.compute.v1.instances/list"),
        resource: Some(Cow::Borrowed(resource)),
        ..Seen::default()
    }
}

fn media(template: &'static str) -> Seen<'static> {
    let resource = Some(Cow::Borrowed("//storage.googleapis.com/projects/_/buckets/b1"));
    Seen { service: "storage", template: Some(template), resource, ..Seen::default() }
}

fn targets(account: Option<&str>) -> Targets {
    Targets::new(account, ASSETS)
}

fn scope(targets: &Targets, seen: &Seen<'_>, quota_project: Option<&str>) -> String {
    targets.of(Some(seen), quota_project).to_string()
}

// ===== accounts =====

#[test]
fn a_resource_based_service_is_charged_to_the_resource_whatever_else_is_known() {
    let targets = targets(Some("projects/mine"));
    for (resource, account) in [
        ("//compute.googleapis.com/projects/p1/zones/us-central1-a", "projects/p1"),
        ("//compute.googleapis.com/projects/example.com:p1", "projects/example.com:p1"),
        ("//logging.googleapis.com/folders/12/sinks/s", "folders/12"),
        ("//logging.googleapis.com/organizations/34", "organizations/34"),
        ("//x.googleapis.com/services/s/projects/p1", "projects/p1"),
        ("projects/p1/zones/z", "projects/p1"),
    ] {
        let seen = instances(resource);
        assert_eq!(scope(&targets, &seen, Some("quota")), format!("gcp/{account}/*/compute/instances.list"));
    }
}

#[test]
fn a_client_based_service_is_charged_to_the_quota_project_whatever_it_reads() {
    let targets = targets(Some("projects/mine"));
    assert_eq!(scope(&targets, &list_assets(), Some("quota")), "gcp/projects/quota/*/cloudasset/ListAssets");
    let search = asset("google.cloud.asset.v1.AssetService/SearchAllResources", None);
    assert_eq!(scope(&targets, &search, Some("quota")), "gcp/projects/quota/*/cloudasset/SearchAllResources");
    let operation = asset("google.longrunning.Operations/GetOperation", None);
    assert_eq!(scope(&targets, &operation, Some("quota")), "gcp/projects/quota/*/cloudasset/GetOperation");
}

#[test]
fn the_account_of_the_client_fills_in_where_the_request_names_none() {
    let targets = targets(Some("projects/mine"));
    assert_eq!(scope(&targets, &list_assets(), None), "gcp/projects/mine/*/cloudasset/ListAssets");
    let read = media("/storage/v1/b/{bucket}/o/{object}");
    assert_eq!(scope(&targets, &read, Some("quota")), "gcp/projects/mine/*/storage/objects.get");
}

#[test]
fn the_quota_project_is_the_next_best_for_a_resource_in_no_known_project() {
    let read = media("/storage/v1/b/{bucket}/o/{object}");
    assert_eq!(scope(&targets(None), &read, Some("quota")), "gcp/projects/quota/*/storage/objects.get");
}

#[test]
fn placeholders_are_no_account() {
    let targets = targets(Some("mine"));
    for resource in [
        "//compute.googleapis.com/projects/_/zones/z",
        "//compute.googleapis.com/projects/-/zones/z",
        "//compute.googleapis.com/projects/*/zones/z",
        "//compute.googleapis.com/projects/",
        "//compute.googleapis.com/projects",
        "//compute.googleapis.com",
        "//compute.googleapis.com/billingAccounts/b",
        "//",
        "",
    ] {
        let scope = scope(&targets, &instances(resource), None);
        assert_eq!(scope, "gcp/projects/mine/*/compute/instances.list", "{resource}");
    }
}

#[test]
fn an_account_is_understood_with_its_collection_or_without() {
    let own = targets(None).of(None, None);
    assert!(own.account().starts_with("unknown-"));
    for (given, account) in [
        ("p1", Some("projects/p1")),
        (" projects/p1 ", Some("projects/p1")),
        ("123456", Some("projects/123456")),
        ("folders/1", Some("folders/1")),
        ("organizations/1", Some("organizations/1")),
        ("billingAccounts/1", Some("billingAccounts/1")),
        ("projects/_", None),
        ("projects/", None),
        ("-", None),
        ("*", None),
        ("", None),
    ] {
        let scope = targets(Some(given)).of(Some(&list_assets()), None);
        match account {
            Some(account) => assert_eq!(scope.account(), account, "{given}"),
            None => assert!(scope.account().starts_with("unknown-"), "{given}"),
        }
        let by_header = targets(Some("mine")).of(Some(&list_assets()), Some(given));
        assert_eq!(by_header.account(), account.unwrap_or("projects/mine"), "{given}");
    }
}

#[test]
fn clients_of_unknown_account_share_none() {
    let (one, other) = (targets(None), targets(None));
    assert_ne!(one.of(Some(&list_assets()), None), other.of(Some(&list_assets()), None));
    assert_eq!(one.of(Some(&list_assets()), None), one.of(Some(&list_assets()), None));
}

// ===== what answers teach =====

#[test]
fn a_client_that_an_answer_names_a_number_for_keeps_its_leaf() {
    let targets = targets(None);
    let before = targets.of(Some(&list_assets()), None);
    targets.learn(&before, "projects/9001");
    assert_eq!(targets.of(Some(&list_assets()), None), before);

    let known = self::targets(None);
    let scope = known.of(Some(&list_assets()), Some("quota"));
    known.learn(&scope, "projects/9002");
    assert_eq!(known.of(Some(&list_assets()), Some("quota")), scope, "a number does not split what has an id");
}

#[test]
fn a_client_of_unknown_account_joins_the_one_that_is_charged_to_the_same_project_once() {
    let (first, second) = (targets(None), targets(None));
    let leaf = first.of(Some(&list_assets()), None);
    first.learn(&leaf, "projects/9003");
    let own = second.of(Some(&list_assets()), None);
    second.learn(&own, "projects/9003");
    assert_eq!(second.of(Some(&list_assets()), None), leaf);

    let third = targets(Some("known"));
    third.learn(&third.of(Some(&list_assets()), None), "projects/9004");
    second.learn(&own, "projects/9004");
    assert_eq!(second.of(Some(&list_assets()), None), leaf, "it moves no second time");
}

#[test]
fn a_client_of_unknown_account_joins_one_that_is_known_by_its_id() {
    let known = targets(None);
    known.learn(&known.of(Some(&list_assets()), Some("quota-b")), "projects/9005");
    let unknown = targets(None);
    unknown.learn(&unknown.of(Some(&list_assets()), None), "projects/9005");
    assert_eq!(scope(&unknown, &list_assets(), None), "gcp/projects/quota-b/*/cloudasset/ListAssets");
    assert_eq!(scope(&unknown, &list_assets(), Some("own")), "gcp/projects/own/*/cloudasset/ListAssets");
}

#[test]
fn nothing_is_learnt_of_services_that_charge_the_resource_or_from_what_is_no_project() {
    let (first, second) = (targets(None), targets(None));
    let read = media("/storage/v1/b/{bucket}/o/{object}");
    let long = format!("projects/{}", "9".repeat(200));
    for (seen, consumer) in [
        (&read, "projects/9006"),
        (&list_assets(), "9007"),
        (&list_assets(), "project_number:9008"),
        (&list_assets(), "projects/9009/services/x"),
        (&list_assets(), "projects/_"),
        (&list_assets(), ""),
        (&list_assets(), &long),
    ] {
        first.learn(&first.of(Some(seen), None), consumer);
        let own = second.of(Some(seen), None);
        second.learn(&own, consumer);
        assert_eq!(second.of(Some(seen), None), own, "{consumer}");
    }
}

#[test]
fn an_account_that_was_given_by_hand_is_nobody_elses() {
    let client = targets(None);
    let by_hand = Scope::new("gcp", "tenant-a", "", "cloudasset");
    client.learn(&by_hand, "projects/9010");
    let own = client.of(Some(&list_assets()), None);
    client.learn(&own, "projects/9010");
    assert_eq!(client.of(Some(&list_assets()), None), own);
}

// ===== services and operations =====

#[test]
fn operations_are_called_as_googles_documents_call_them() {
    let targets = targets(Some("p"));
    for (service, rpc, template, path) in [
        ("compute", Some("google.cloud.compute.v1.zoneOperations/getOperation"), None, "compute/zoneOperations.get"),
        ("compute", Some("google.cloud.compute.v1.instances/aggregatedList"), None, "compute/instances.aggregatedList"),
        ("storage", Some("google.storage.v2.Storage/GetBucket"), None, "storage/GetBucket"),
        ("storage", None, Some("/upload/storage/v1/b/{bucket}/o"), "storage/objects.insert"),
        ("storage", None, Some("/storage/v1/b/{bucket}/o/{object}"), "storage/objects.get"),
        (
            "storage",
            Some("google.storage.v2.Storage/BidiStreamingRead"),
            Some("/storage/v1/b/{bucket}/o/{object}"),
            "storage/BidiStreamingRead",
        ),
        ("storage", None, Some("/storage/v2/{new}"), "storage"),
        ("pubsub", None, None, "pubsub"),
        ("x", Some("Method"), None, "x/Method"),
        ("x", Some("bare/method"), None, "x/bare.method"),
        ("x", Some("Service/"), None, "x"),
    ] {
        let seen = Seen { service, rpc, template, ..Seen::default() };
        assert_eq!(scope(&targets, &seen, None), format!("gcp/projects/p/*/{path}"));
    }
}

#[test]
fn a_recorder_without_a_service_has_it_from_the_resource_or_the_host_or_the_package() {
    let targets = Targets::new(Some("p"), "my_crate::Factory");
    let seen = Seen { service: "", ..instances("//compute.googleapis.com/projects/p1") };
    assert_eq!(scope(&targets, &seen, None), "gcp/projects/p1/*/compute/instances.list");
    let seen = Seen { host: "pubsub.googleapis.com", ..Seen::default() };
    assert_eq!(scope(&targets, &seen, None), "gcp/projects/p/*/pubsub");
    let seen = Seen { service: "", ..asset("google.cloud.asset.v1.AssetService/ListAssets", None) };
    assert_eq!(scope(&targets, &seen, Some("quota")), "gcp/projects/quota/*/cloudasset/ListAssets");
}

#[test]
fn without_a_recorder_the_service_is_that_of_the_client() {
    assert_eq!(targets(Some("p")).of(None, None).to_string(), "gcp/projects/p/*/cloudasset");
    assert_eq!(targets(Some("p")).of(None, Some("quota")).to_string(), "gcp/projects/quota/*/cloudasset");
    assert_eq!(Targets::new(Some("p"), "my_crate::Factory").of(None, None).to_string(), "gcp/projects/p/*/*");
}

// ===== hostile input =====

proptest! {
    #[test]
    fn any_request_has_a_scope_that_survives_its_text(
        resource in proptest::option::of("(//[ -~é]{0,12}/)?(projects/|folders/|/)?.{0,40}"),
        account in proptest::option::of("(projects/)?.{0,20}"),
        header in proptest::option::of("(projects/)?.{0,20}"),
        consumer in "(projects/)?.{0,20}",
        service in proptest::sample::select(vec!["", "compute", "cloudasset", "a:read", "*", "é/ %"]),
        rpc in proptest::sample::select(vec![None, Some(""), Some("/"), Some("a./"), Some("*/*"), Some("é.é/é%2F"), Some("x.Y/Z:read")]),
    ) {
        let targets = Targets::new(account.as_deref(), "");
        let seen = Seen { service, rpc, resource: resource.map(Cow::Owned), ..Seen::default() };
        let scope = targets.of(Some(&seen), header.as_deref());
        prop_assert_eq!(scope.to_string().parse::<Scope>(), Ok(scope.clone()));
        prop_assert_eq!(scope.provider(), "gcp");
        targets.learn(&scope, &consumer);
    }
}
