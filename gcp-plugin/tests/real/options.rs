//! What one call may say for itself, and what a call site may say to the client.

use std::num::NonZeroUsize;

use cloud_governor::{FakeClock, GiveUp, Priority, RetryPolicy, Scope, get_governor};
use cloud_governor_gcp::{CallOptions, CallReport, GcpOptions, call};
use google_cloud_compute_v1::client::Instances;
use google_cloud_gax::exponential_backoff::ExponentialBackoffBuilder;
use google_cloud_gax::options::RequestOptionsBuilder;
use google_cloud_gax::retry_policy::{Aip194Strict, NeverRetry, RetryPolicyExt};
use tonic::Code;

use crate::common::{
    BUCKET, HOME, answered, assets, by, control, governor, inspect, instances, is_at_rest, millis, scope, seconds,
    storage, timed, totals, totals_of, until,
};
use crate::reply::{Reply, message};
use crate::server::{Asked, Server};

/// Down, whatever it is asked.
fn down() -> Server {
    Server::start(|asked, _| match asked.path.starts_with("/google.storage") {
        true => Reply::trailers_only(Code::Unavailable, None),
        false => Reply::error(503, "UNAVAILABLE"),
    })
}

#[tokio::test]
async fn a_policy_without_retries_is_one_request_of_any_client() {
    let server = down();
    let governor = governor(|gcp| gcp);
    let none = RetryPolicy::none;
    let assets = assets(&server, by(&governor)).await;
    call(none(), assets.list_assets().set_parent(HOME).send()).await.expect_err("down");
    let instances = instances(&server, by(&governor)).await;
    call(none(), instances.list().set_project("p1").set_zone("z").send()).await.expect_err("down");
    let storage = storage(&server, by(&governor)).await;
    call(none(), storage.read_object(BUCKET, "o").send()).await.map(drop).expect_err("down");
    let control = control(&server, by(&governor)).await;
    call(none(), control.get_bucket().set_name(BUCKET).send()).await.expect_err("down");
    let totals = totals(&governor);
    assert_eq!((server.count(), totals.calls, totals.retries, totals.gave_up), (4, 4, 0, 4));
}

#[tokio::test]
async fn a_policy_of_more_retries_is_obeyed_by_all_pages_and_joined_calls_inside() {
    let server = down();
    let governor = governor(|gcp| gcp.max_retries(0));
    let client = assets(&server, by(&governor)).await;
    let patient = RetryPolicy::builder().max_retries(2).base_delay(millis(1)).max_backoff(millis(1)).build();
    let list = || client.list_assets().set_parent(HOME).send();
    let report = CallReport::new();
    let options = CallOptions::from(patient.expect("sound")).report(&report);
    let (one, other) = call(options, async { tokio::join!(list(), list()) }).await;
    one.and(other).expect_err("down");
    assert_eq!((server.count(), report.attempts(), report.gave_up()), (6, 6, Some(GiveUp::RetriesExhausted)));
}

#[tokio::test]
async fn a_call_sites_never_retry_is_one_request_that_is_counted() {
    let server = down();
    let governor = governor(|gcp| gcp);
    let assets = assets(&server, by(&governor)).await;
    let error = assets.list_assets().set_parent(HOME).with_retry_policy(NeverRetry).send().await.expect_err("down");
    assert_eq!(answered(&error), (Some(503), Some("UNAVAILABLE")));
    let control = control(&server, by(&governor)).await;
    control.get_bucket().set_name(BUCKET).with_retry_policy(NeverRetry).send().await.expect_err("down");
    let storage = storage(&server, by(&governor)).await;
    storage.read_object(BUCKET, "o").with_retry_policy(NeverRetry).send().await.map(drop).expect_err("down");
    let totals = totals(&governor);
    assert_eq!((server.count(), totals.operations, totals.calls, totals.transient_errors), (3, 3, 3, 3));
    assert_eq!((totals.retries, totals.gave_up), (0, 3));
    assert!(is_at_rest(&governor));
}

#[tokio::test]
async fn a_call_sites_own_retries_are_paced_and_counted() {
    let server = Server::script([Reply::error(503, "UNAVAILABLE"), Reply::error(503, "UNAVAILABLE"), Reply::ok()]);
    let governor = governor(|gcp| gcp);
    let client = assets(&server, by(&governor)).await;
    let backoff = ExponentialBackoffBuilder::new().with_initial_delay(millis(1)).with_maximum_delay(millis(2));
    let request = client
        .list_assets()
        .set_parent(HOME)
        .with_retry_policy(Aip194Strict.with_attempt_limit(3))
        .with_backoff_policy(backoff.build().expect("sound"));
    request.send().await.expect("at the third attempt");
    let totals = totals(&governor);
    assert_eq!((server.count(), totals.operations, totals.calls), (3, 1, 3));
    assert_eq!((totals.transient_errors, totals.retries, totals.gave_up), (2, 2, 0));
    assert!(is_at_rest(&governor));
}

#[tokio::test]
async fn a_call_is_charged_to_the_scope_it_names() {
    let server = Server::script([Reply::error(503, "UNAVAILABLE"), Reply::ok()]);
    let governor = governor(|gcp| gcp);
    let client = assets(&server, by(&governor)).await;
    let other = Scope::new("gcp", "projects/other", "", "backups");
    call(other.clone(), client.list_assets().set_parent(HOME).send()).await.expect("an answer");
    let (theirs, ours) = (totals_of(&governor, &other), totals_of(&governor, &scope(HOME, "cloudasset", "ListAssets")));
    assert_eq!((theirs.calls, theirs.transient_errors, ours.calls), (2, 1, 0));
}

#[tokio::test]
async fn the_urgent_call_goes_first_though_it_came_last() {
    let server = Server::script([Reply::Silence, Reply::ok()]);
    let governor = governor(|gcp| gcp.account_concurrency(NonZeroUsize::MIN));
    let client = assets(&server, by(&governor)).await;
    let first = tokio::spawn(call(CallOptions::new(), client.list_assets().set_parent(HOME).send()));
    until("on its way", || server.count() == 1).await;
    let mut waiting = Vec::new();
    for (place, (size, priority)) in
        [(1, Priority::Low), (2, Priority::Normal), (3, Priority::High)].into_iter().enumerate()
    {
        let request = client.list_assets().set_parent(HOME).set_page_size(size);
        waiting.push(tokio::spawn(call(CallOptions::new().priority(priority), request.send())));
        let in_line = || inspect(&governor, HOME, "cloudasset", "ListAssets").waiting_for_slot == place + 1;
        until("in line", in_line).await;
    }
    first.abort();
    for call in waiting {
        call.await.expect("no panic").expect("an answer");
    }
    let sizes: Vec<_> =
        server.asked().iter().skip(1).map(|asked| asked.parameter("pageSize").map(str::to_owned)).collect();
    assert_eq!(sizes, ["3", "2", "1"].map(|size| Some(size.to_owned())));
}

#[tokio::test]
async fn a_call_that_skips_the_governor_is_sent_once_and_not_counted() {
    let server = down();
    let governor = governor(|gcp| gcp);
    let skip = || CallOptions::new().skip();
    let assets = assets(&server, by(&governor)).await;
    call(skip(), assets.list_assets().set_parent(HOME).send()).await.expect_err("down");
    let control = control(&server, by(&governor)).await;
    call(skip(), control.get_bucket().set_name(BUCKET).send()).await.expect_err("down");
    assert_eq!((server.count(), governor.summary().scopes.len()), (2, 0));
}

#[tokio::test]
async fn calls_of_a_disabled_provider_are_sent_once_and_counted() {
    let server = down();
    let governor = governor(|gcp| gcp.enabled(false));
    let assets = assets(&server, by(&governor)).await;
    assets.list_assets().set_parent(HOME).send().await.expect_err("down");
    let control = control(&server, by(&governor)).await;
    control.get_bucket().set_name(BUCKET).send().await.expect_err("down");
    assert_eq!((server.count(), totals(&governor).calls, totals(&governor).retries), (2, 2, 0));
}

#[tokio::test]
async fn what_may_be_executed_twice_is_for_the_call_site_the_call_and_the_client_to_say() {
    let server = down();
    let governor = governor(|gcp| gcp.max_retries(3).breaker_failures(1000));
    let client = instances(&server, by(&governor)).await;
    let any = instances(&server, by(&governor).resend_any(true)).await;
    let insert = |client: &Instances| client.insert().set_project("p1").set_zone("z");
    let list = || client.list().set_project("p1").set_zone("z");
    let said = |idempotent| CallOptions::new().idempotent(idempotent);
    let mut sent = 0;
    let mut requests = |what: &str, expected: usize, result: bool| {
        assert!(result, "{what}");
        assert_eq!(server.count() - sent, expected, "{what}");
        sent = server.count();
    };
    requests("an insertion", 1, insert(&client).send().await.is_err());
    requests("one that may be made twice", 4, insert(&client).with_idempotency(true).send().await.is_err());
    requests("a list that may not", 1, list().with_idempotency(false).send().await.is_err());
    requests("an insertion, by its call", 4, call(said(true), insert(&client).send()).await.is_err());
    requests("a list, by its call", 1, call(said(false), list().send()).await.is_err());
    requests("an insertion, by its client", 4, insert(&any).send().await.is_err());
    requests("one that says no for itself", 1, call(said(false), insert(&any).send()).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_takes_longer_than_its_timeout_is_made_again() {
    let server = Server::always(Reply::Silence);
    let governor = governor(|gcp| gcp.max_retries(2).attempt_timeout(seconds(10)));
    let assets = assets(&server, by(&governor)).await;
    let error = assets.list_assets().set_parent(HOME).send().await.expect_err("silence");
    assert!(error.is_timeout(), "{error:?}");
    assert_eq!((totals(&governor).calls, totals(&governor).transient_errors), (3, 3));
    let control = control(&server, by(&governor)).await;
    control.get_bucket().set_name(BUCKET).send().await.expect_err("silence");
    assert_eq!((totals(&governor).calls, totals(&governor).gave_up), (6, 2));
    assert!(is_at_rest(&governor));
}

#[tokio::test]
async fn a_wait_in_line_is_no_part_of_an_attempts_timeout() {
    let server = Server::start(|asked: &Asked, _| match asked.path.starts_with("/google.storage") {
        true => Reply::grpc(&message(1, b"b")),
        false => Reply::ok(),
    });
    let clock = FakeClock::new();
    let governor =
        timed(&clock, |gcp| gcp.max_rps(0.1).burst(1.0).floor_rps(0.1).attempt_timeout(seconds(5)).max_retries(0));
    let (assets, control) = (assets(&server, by(&governor)).await, control(&server, by(&governor)).await);
    assets.list_assets().set_parent(HOME).send().await.expect("the first token");
    control.get_bucket().set_name(BUCKET).send().await.expect("the first token");
    let list = tokio::spawn(assets.list_assets().set_parent(HOME).send());
    let get = tokio::spawn(control.get_bucket().set_name(BUCKET).send());
    until("in line", || clock.waiting() >= 2).await;
    clock.advance(seconds(11));
    list.await.expect("no panic").expect("an answer");
    get.await.expect("no panic").expect("an answer");
    assert_eq!(totals(&governor).calls, 4);
}

#[tokio::test]
async fn a_client_attached_without_a_governor_is_governed_by_the_process_wide_one() {
    let server = Server::always(Reply::ok());
    let client = assets(&server, GcpOptions::new().account("projects/of-the-process")).await;
    client.list_assets().set_parent(HOME).send().await.expect("an answer");
    let totals = totals_of(&get_governor(), &scope("projects/of-the-process", "cloudasset", "ListAssets"));
    assert_eq!((totals.operations, totals.calls), (1, 1));
}
