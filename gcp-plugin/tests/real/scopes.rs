//! Whom each kind of call is charged to.

use bytes::Bytes;
use cloud_governor::{Governor, Scope};
use cloud_governor_gcp::{CallOptions, CallReport, GcpOptions, call};
use google_cloud_gax::options::RequestOptionsBuilder;

use crate::common::{
    BUCKET, HOME, Key, assets, assets_as, by, control, control_as, governor, instances_as, scope, storage_as, totals,
    totals_of,
};
use crate::reply::{Reply, message};
use crate::server::Server;

/// Answers everything with something that every client can read.
fn server() -> Server {
    Server::start(|asked, _| match asked.path.as_str() {
        path if path.ends_with("/ListObjects") => Reply::grpc(&[]),
        path if path.starts_with("/google.storage") => Reply::grpc(&message(1, b"b")),
        path if path.starts_with("/storage") => Reply::new(200, "x").header("x-goog-generation", "1"),
        _ => Reply::ok(),
    })
}

/// A governor of which each operation has its own counts.
fn apart() -> Governor {
    let services = ["compute", "storage"];
    governor(|gcp| services.into_iter().fold(gcp, |gcp, name| gcp.service(name, |one| one.per_operation(true))))
}

/// What a call was charged to.
async fn charged<T>(request: impl Future<Output = google_cloud_gax::Result<T>>) -> Scope {
    let report = CallReport::new();
    call(CallOptions::new().report(&report), request).await.map(drop).expect("an answer");
    assert_eq!(report.attempts(), 1);
    report.scope().expect("a scope")
}

#[tokio::test]
async fn client_based_services_are_charged_to_the_quota_project_whatever_the_call_is_about() {
    let server = server();
    for (key, account) in [(Key::charging("payer"), "projects/payer"), (Key::new(), HOME)] {
        let governor = apart();
        let client = assets_as(&server, key, by(&governor)).await;
        for parent in ["projects/p1", "organizations/1", "folders/2"] {
            let list = client.list_assets().set_parent(parent).send();
            assert_eq!(charged(list).await, scope(account, "cloudasset", "ListAssets"));
            let search = client.search_all_resources().set_scope(parent).send();
            assert_eq!(charged(search).await, scope(account, "cloudasset", "SearchAllResources"));
        }
        let export = client.export_assets().set_parent("projects/p1").send();
        assert_eq!(charged(export).await, scope(account, "cloudasset", "ExportAssets"));
        assert_eq!(governor.summary().scopes.len(), 3);
    }
}

#[tokio::test]
async fn resource_based_services_are_charged_to_the_project_of_the_resource_whoever_calls() {
    let server = server();
    for key in [Key::charging("payer"), Key::new()] {
        let governor = apart();
        let client = instances_as(&server, key, by(&governor)).await;
        let list = client.list().set_project("p1").set_zone("z").send();
        assert_eq!(charged(list).await, scope("projects/p1", "compute", "instances.list"));
        let get = client.get().set_project("p2").set_zone("z").set_instance("i").send();
        assert_eq!(charged(get).await, scope("projects/p2", "compute", "instances.get"));
        let insert = client.insert().set_project("p1").set_zone("z").send();
        assert_eq!(charged(insert).await, scope("projects/p1", "compute", "instances.insert"));
        let all = client.aggregated_list().set_project("p3").send();
        assert_eq!(charged(all).await, scope("projects/p3", "compute", "instances.aggregatedList"));
    }
}

#[tokio::test]
async fn storage_names_no_project_and_is_charged_to_the_clients_account() {
    let server = server();
    let governor = apart();
    // Who pays for the calls of a bucket is not whom the bucket belongs to.
    let storage = storage_as(&server, Key::charging("payer"), by(&governor)).await;
    let read = storage.read_object(BUCKET, "o").send();
    assert_eq!(charged(read).await, scope(HOME, "storage", "objects.get"));
    let write = storage.write_object(BUCKET, "o", Bytes::from_static(b"x")).send_buffered();
    assert_eq!(charged(write).await, scope(HOME, "storage", "objects.insert"));
    let control = control_as(&server, Key::charging("payer"), by(&governor)).await;
    let get = control.get_bucket().set_name(BUCKET).send();
    assert_eq!(charged(get).await, scope(HOME, "storage", "GetBucket"));
    let list = control.list_objects().set_parent(BUCKET).send();
    assert_eq!(charged(list).await, scope(HOME, "storage", "ListObjects"));
}

#[tokio::test]
async fn without_an_account_the_quota_project_is_one() {
    let server = server();
    let options = || GcpOptions::new().governor(apart());
    let storage = storage_as(&server, Key::charging("payer"), options()).await;
    let read = storage.read_object(BUCKET, "o").send();
    assert_eq!(charged(read).await, scope("projects/payer", "storage", "objects.get"));
    let control = control_as(&server, Key::charging("payer"), options()).await;
    let get = control.get_bucket().set_name(BUCKET).send();
    assert_eq!(charged(get).await, scope("projects/payer", "storage", "GetBucket"));
}

#[tokio::test]
async fn an_account_may_be_named_without_its_collection() {
    let server = server();
    let client = assets(&server, GcpOptions::new().governor(apart()).account("bare")).await;
    let list = client.list_assets().set_parent("projects/p1").send();
    assert_eq!(charged(list).await, scope("projects/bare", "cloudasset", "ListAssets"));
}

#[tokio::test]
async fn clients_whose_account_is_unknown_are_never_counted_together() {
    let server = server();
    let governor = apart();
    let mut accounts = Vec::new();
    for _ in 0..3 {
        let client = assets(&server, GcpOptions::new().governor(governor.clone())).await;
        let list = || client.list_assets().set_parent("projects/p1").send();
        let (first, second) = (charged(list()).await, charged(list()).await);
        assert_eq!(first, second);
        accounts.push(first.account().to_owned());
    }
    accounts.sort();
    accounts.dedup();
    assert_eq!(accounts.len(), 3);
}

#[tokio::test]
async fn clients_that_an_answer_says_are_charged_to_the_same_project_are_counted_together() {
    let server = Server::start(|_, number| match number {
        1 | 3 => Reply::rate_limited("projects/4711"),
        _ => Reply::ok(),
    });
    let governor = apart();
    let options = || GcpOptions::new().governor(governor.clone());
    let first = assets(&server, options()).await;
    let second = assets(&server, options()).await;
    let list =
        |client: &google_cloud_asset_v1::client::AssetService| client.list_assets().set_parent("projects/p1").send();
    let mut accounts = Vec::new();
    for client in [&first, &second, &second] {
        let report = CallReport::new();
        call(CallOptions::new().report(&report), list(client)).await.expect("at last");
        accounts.push(report.scope().expect("a scope"));
    }
    // The call that learnt it ends where it began.
    assert_ne!(accounts[0], accounts[1]);
    assert_eq!(accounts[2], accounts[0]);
    assert_eq!(totals(&governor).throttled, 2);
}

#[tokio::test]
async fn a_quota_project_of_one_request_is_on_the_wire_and_not_in_the_scope() {
    let server = server();
    let governor = apart();
    let client = assets_as(&server, Key::charging("payer"), by(&governor)).await;
    let list = client.list_assets().set_parent("projects/p1").with_quota_project("other").send();
    assert_eq!(charged(list).await, scope("projects/payer", "cloudasset", "ListAssets"));
    assert_eq!(server.asked()[0].header("x-goog-user-project"), Some("other"));
}

// ===== without a recorder =====

#[tokio::test]
async fn without_a_recorder_calls_are_charged_to_the_clients_scope() {
    let server = server();
    let governor = apart();
    let options = || by(&governor).recorder(false);
    let service = |name| Scope::new("gcp", HOME, "", name);
    let assets = assets(&server, options()).await;
    assert_eq!(charged(assets.list_assets().set_parent("projects/p1").send()).await, service("cloudasset"));
    let instances = instances_as(&server, Key::new(), options()).await;
    assert_eq!(charged(instances.list().set_project("p1").set_zone("z").send()).await, service("compute"));
    let storage = storage_as(&server, Key::new(), options()).await;
    assert_eq!(charged(storage.read_object(BUCKET, "o").send()).await, service("storage"));
    let control = control(&server, options()).await;
    assert_eq!(charged(control.get_bucket().set_name(BUCKET).send()).await, service("storage"));
    assert_eq!(totals_of(&governor, &service("storage")).calls, 2);
}
