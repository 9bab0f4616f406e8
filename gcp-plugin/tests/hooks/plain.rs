//! Unary calls of a generated client.

use cloud_governor::{Governor, RefusalKind, Scope};
use cloud_governor_gcp::{CallOptions, CallReport, GcpOptions, attach, call, facts, refusal};
use google_cloud_asset_v1::client::AssetService;
use google_cloud_gax::retry_policy::NeverRetry;

use crate::common::{ACCOUNT, Reply, Server, anonymous, governor, totals};
use google_cloud_gax::options::RequestOptionsBuilder;

fn options(governor: &Governor) -> GcpOptions {
    GcpOptions::new().account(ACCOUNT).governor(governor.clone())
}

async fn client(server: &Server, options: GcpOptions) -> AssetService {
    let builder = AssetService::builder().with_endpoint(&server.url);
    attach(builder, anonymous(), options).build().await.unwrap()
}

fn unavailable() -> Reply {
    Reply::error(503, "UNAVAILABLE")
}

#[tokio::test]
async fn a_call_that_fails_twice_is_one_call_of_three_attempts_in_its_own_scope() {
    let governor = governor(|gcp| gcp);
    let server = Server::script([unavailable(), unavailable(), Reply::ok("{}")]).await;
    let assets = client(&server, options(&governor)).await;
    let report = CallReport::new();
    let page = assets.list_assets().set_parent(ACCOUNT).send();
    call(CallOptions::new().report(&report), page).await.unwrap();
    assert_eq!(server.count(), 3);
    assert_eq!(report.attempts(), 3);
    let scope = Scope::new("gcp", ACCOUNT, "", "cloudasset").with_operation("ListAssets");
    assert_eq!(report.scope(), Some(scope));
    let totals = totals(&governor);
    assert_eq!((totals.operations, totals.calls, totals.retries), (1, 3, 2));
}

#[tokio::test]
async fn a_permanent_failure_is_sent_max_retries_plus_one_times() {
    let governor = governor(|gcp| gcp.max_retries(3));
    let server = Server::script([unavailable()]).await;
    let assets = client(&server, options(&governor)).await;
    let error = assets.list_assets().set_parent(ACCOUNT).send().await.unwrap_err();
    assert_eq!((server.count(), error.http_status_code()), (4, Some(503)));
    assert!(refusal(&error).is_none());
    let scope = Scope::new("gcp", ACCOUNT, "", "cloudasset");
    assert_eq!(governor.classify(&scope, facts(&error)).class, cloud_governor::Class::Transient);
}

#[tokio::test]
async fn attached_twice_it_is_governed_once_by_the_last() {
    let (first, last) = (governor(|gcp| gcp), governor(|gcp| gcp.max_retries(2)));
    let server = Server::script([unavailable()]).await;
    let builder = AssetService::builder().with_endpoint(&server.url);
    let builder = attach(builder, anonymous(), options(&first));
    let assets = attach(builder, anonymous(), options(&last)).build().await.unwrap();
    assets.list_assets().set_parent(ACCOUNT).send().await.unwrap_err();
    assert_eq!(server.count(), 3);
    assert_eq!(totals(&last).calls, 3);
    assert_eq!(totals(&first).calls, 0);
}

#[tokio::test]
async fn a_mutation_that_may_have_been_executed_is_sent_once() {
    let governor = governor(|gcp| gcp);
    let server = Server::script([unavailable(), Reply::ok("{}")]).await;
    let assets = client(&server, options(&governor)).await;
    assets.create_feed().set_parent(ACCOUNT).set_feed_id("f").send().await.unwrap_err();
    assert_eq!(server.count(), 1);
}

#[tokio::test]
async fn a_mutation_that_found_no_connection_is_sent_again() {
    let governor = governor(|gcp| gcp.max_retries(2));
    let assets = client(&Server::nowhere(), options(&governor)).await;
    let error = assets.create_feed().set_parent(ACCOUNT).set_feed_id("f").send().await.unwrap_err();
    assert!(error.is_connect());
    assert_eq!(totals(&governor).calls, 3);
}

#[tokio::test]
async fn an_open_circuit_refuses_and_says_so() {
    let governor = governor(|gcp| gcp.max_retries(0).breaker_failures(1));
    let server = Server::script([unavailable()]).await;
    let assets = client(&server, options(&governor)).await;
    assets.list_assets().set_parent(ACCOUNT).send().await.unwrap_err();
    let error = assets.list_assets().set_parent(ACCOUNT).send().await.unwrap_err();
    assert_eq!(refusal(&error).expect("a refusal").kind(), RefusalKind::CircuitOpen);
    assert_eq!(server.count(), 1);
}

#[tokio::test]
async fn a_call_sites_never_retry_is_obeyed_and_counted() {
    let governor = governor(|gcp| gcp);
    let server = Server::script([unavailable()]).await;
    let assets = client(&server, options(&governor)).await;
    assets.list_assets().set_parent(ACCOUNT).with_retry_policy(NeverRetry).send().await.unwrap_err();
    assert_eq!(server.count(), 1);
    let totals = totals(&governor);
    assert_eq!((totals.calls, totals.transient_errors, totals.gave_up), (1, 1, 1));
}

#[tokio::test]
async fn without_the_recorder_a_call_is_charged_to_the_clients_scope_and_retried_all_the_same() {
    let governor = governor(|gcp| gcp);
    let server = Server::script([unavailable(), Reply::ok("{}")]).await;
    let assets = client(&server, options(&governor).recorder(false)).await;
    assets.list_assets().set_parent("projects/elsewhere").send().await.unwrap();
    assert_eq!(server.count(), 2);
    let scopes = governor.summary().scopes;
    assert_eq!(scopes.keys().map(Scope::account).collect::<Vec<_>>(), [ACCOUNT]);
    assert_eq!(totals(&governor).calls, 2);
}
