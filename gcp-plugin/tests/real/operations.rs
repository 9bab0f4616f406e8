//! Long-running operations and their polls.

use cloud_governor_gcp::{CallOptions, CallReport, call, refusal};
use futures_util::future::join_all;
use google_cloud_lro::Poller;
use tokio::time::Instant;

use crate::common::{HOME, answered, assets, by, governor, instances, is_at_rest, scope, seconds, totals, totals_of};
use crate::reply::Reply;
use crate::server::Server;

const ZONE: &str = "us-central1-a";

fn running() -> Reply {
    Reply::json(r#"{"name":"projects/1/operations/ExportAssets/1"}"#)
}

fn done() -> Reply {
    let response = r#"{"@type":"type.googleapis.com/google.cloud.asset.v1.ExportAssetsResponse"}"#;
    Reply::json(format!(r#"{{"name":"projects/1/operations/ExportAssets/1","done":true,"response":{response}}}"#))
}

fn compute(status: &str) -> Reply {
    Reply::json(format!(r#"{{"name":"operation-1","status":"{status}"}}"#))
}

#[tokio::test(start_paused = true)]
async fn an_export_is_polled_through_failing_polls_to_its_end() {
    let server = Server::script([
        running(),
        Reply::error(503, "UNAVAILABLE"),
        Reply::rate_limited("projects/1"),
        running(),
        Reply::Reset,
        done(),
    ]);
    let governor = governor(|gcp| gcp);
    let client = assets(&server, by(&governor)).await;
    let begun = Instant::now();
    client.export_assets().set_parent(HOME).poller().until_done().await.expect("an export");
    // At least half of 1 s, of 2 s and so on.
    assert!(begun.elapsed() >= seconds(15), "{:?}", begun.elapsed());
    let export = totals_of(&governor, &scope(HOME, "cloudasset", "ExportAssets"));
    assert_eq!((export.operations, export.calls, export.retries), (1, 1, 0));
    let polls = totals_of(&governor, &scope(HOME, "cloudasset", "GetOperation"));
    assert_eq!((polls.operations, polls.calls, polls.retries), (5, 5, 0));
    assert_eq!((polls.throttled, polls.transient_errors), (1, 2));
    assert_eq!(server.count(), 6);
    assert!(is_at_rest(&governor));
}

#[tokio::test(start_paused = true)]
async fn an_instance_is_polled_through_failing_polls_to_its_end() {
    let server = Server::script([
        compute("RUNNING"),
        Reply::error(503, "UNAVAILABLE"),
        Reply::legacy(403, "rateLimitExceeded"),
        compute("RUNNING"),
        compute("DONE"),
    ]);
    let governor = governor(|gcp| gcp.service("compute", |compute| compute.per_operation(true)));
    let client = instances(&server, by(&governor)).await;
    let inserting = client.insert().set_project("p1").set_zone(ZONE).poller().until_done();
    let operation = inserting.await.expect("an operation");
    assert_eq!((operation.name.as_deref(), server.count()), (Some("operation-1"), 5));
    let insert = totals_of(&governor, &scope("projects/p1", "compute", "instances.insert"));
    assert_eq!((insert.operations, insert.calls), (1, 1));
    let polls = totals_of(&governor, &scope("projects/p1", "compute", "zoneOperations.get"));
    assert_eq!((polls.operations, polls.calls, polls.throttled, polls.transient_errors), (4, 4, 1, 1));
    assert!(is_at_rest(&governor));
}

#[tokio::test(start_paused = true)]
async fn a_poll_against_an_open_circuit_goes_on_when_it_is_closed() {
    let server = Server::script([running(), Reply::error(500, "INTERNAL"), done()]);
    let governor = governor(|gcp| gcp.breaker_failures(1).breaker_cooldown(seconds(30)));
    let client = assets(&server, by(&governor)).await;
    let begun = Instant::now();
    client.export_assets().set_parent(HOME).poller().until_done().await.expect("an export");
    assert!(begun.elapsed() >= seconds(30), "{:?}", begun.elapsed());
    let polls = totals_of(&governor, &scope(HOME, "cloudasset", "GetOperation"));
    assert_eq!((server.count(), polls.calls, polls.breaker_trips), (3, 2, 1));
    assert!(polls.rejected >= 1);
}

#[tokio::test(start_paused = true)]
async fn a_poller_gives_up_after_as_many_failures_in_a_row_as_a_call_has_retries() {
    let failing = || Reply::error(503, "UNAVAILABLE");
    let server = Server::script([running(), failing(), failing(), running(), failing()]);
    let governor = governor(|gcp| gcp.max_retries(2));
    let client = assets(&server, by(&governor)).await;
    let error = client.export_assets().set_parent(HOME).poller().until_done().await.expect_err("never");
    assert_eq!(answered(&error), (Some(503), Some("UNAVAILABLE")));
    assert_eq!((server.count(), totals(&governor).calls), (7, 7));
    assert!(is_at_rest(&governor));
}

#[tokio::test(start_paused = true)]
async fn a_poller_ends_with_an_answer_that_will_not_change() {
    let server = Server::script([running(), Reply::error(404, "NOT_FOUND")]);
    let governor = governor(|gcp| gcp);
    let client = assets(&server, by(&governor)).await;
    let error = client.export_assets().set_parent(HOME).poller().until_done().await.expect_err("gone");
    assert_eq!((answered(&error).0, server.count(), totals(&governor).gave_up), (Some(404), 2, 0));
}

#[tokio::test(start_paused = true)]
async fn the_wait_that_a_poll_was_told_to_make_is_made() {
    let throttled = Reply::rate_limited("projects/1").header("retry-after", "40");
    let server = Server::script([running(), throttled, done()]);
    let governor = governor(|gcp| gcp);
    let client = assets(&server, by(&governor)).await;
    let begun = Instant::now();
    client.export_assets().set_parent(HOME).poller().until_done().await.expect("an export");
    assert!(begun.elapsed() >= seconds(40), "{:?}", begun.elapsed());
    assert_eq!(server.count(), 3);
}

#[tokio::test(start_paused = true)]
async fn an_operation_that_failed_is_its_callers_matter_and_no_failure_of_the_service() {
    let failed = r#"{"name":"projects/1/operations/ExportAssets/1","done":true,"error":{"code":14,"message":"no"}}"#;
    let server = Server::script([running(), Reply::json(failed)]);
    let governor = governor(|gcp| gcp.breaker_failures(1));
    let client = assets(&server, by(&governor)).await;
    let error = client.export_assets().set_parent(HOME).poller().until_done().await.expect_err("failed");
    assert_eq!(answered(&error), (None, Some("UNAVAILABLE")));
    assert!(refusal(&error).is_none());
    let totals = totals(&governor);
    assert_eq!((totals.calls, totals.transient_errors, totals.breaker_trips), (2, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn an_operation_that_cannot_be_begun_is_not_begun_twice() {
    for (reply, sent) in [(Reply::error(503, "UNAVAILABLE"), 1), (Reply::rate_limited("projects/1"), 4)] {
        let server = Server::always(reply);
        let governor = governor(|gcp| gcp.max_retries(3));
        let client = assets(&server, by(&governor)).await;
        let exporting = client.export_assets().set_parent(HOME).poller().until_done();
        exporting.await.expect_err("always");
        assert_eq!(server.count(), sent);
    }
}

#[tokio::test(start_paused = true)]
async fn many_operations_at_once_are_polled_each_to_its_end() {
    for inside in [false, true] {
        let server = Server::start(|asked, number| match (asked.path.ends_with(":exportAssets"), number % 5) {
            (true, _) => running(),
            (_, 0) => Reply::error(503, "UNAVAILABLE"),
            (_, 1) => Reply::rate_limited("projects/1"),
            (_, 2) => running(),
            _ => done(),
        });
        let governor = governor(|gcp| gcp.max_retries(20).breaker_failures(1_000_000));
        let client = assets(&server, by(&governor)).await;
        let report = CallReport::new();
        let all = join_all((0..20).map(|_| client.export_assets().set_parent(HOME).poller().until_done()));
        let results = match inside {
            true => call(CallOptions::new().report(&report), all).await,
            false => all.await,
        };
        assert!(results.iter().all(Result::is_ok), "{results:?}");
        let totals = totals(&governor);
        // A clock that jumps while a socket is slow makes a poll overdue, which is then counted anew by its outcome.
        let overdue = (totals.calls as usize).checked_sub(server.count());
        assert!(overdue.is_some_and(|overdue| overdue <= 20), "{totals:?}, and {} at the server", server.count());
        assert_eq!(totals.operations, totals.calls);
        assert_eq!(report.attempts() as usize, if inside { server.count() } else { 0 });
        assert!(is_at_rest(&governor));
    }
}
