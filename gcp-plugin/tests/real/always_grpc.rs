//! gRPC servers that always fail: how many requests one call makes.

use std::future::Future;
use std::pin::Pin;

use cloud_governor::Governor;
use cloud_governor_gcp::refusal;
use google_cloud_gax::error::Error;
use google_cloud_gax::error::rpc::StatusDetails;
use google_cloud_gax::paginator::ItemPaginator;
use google_cloud_storage::model::Bucket;
use tonic::Code;
use tonic_types::ErrorDetails;

use crate::common::{BUCKET, by, control, governor, seconds, slots_in_use, totals};
use crate::reply::Reply;
use crate::server::Server;

type Answer = Pin<Box<dyn Future<Output = Result<(), Error>> + Send>>;

#[derive(Clone, Copy, Debug)]
enum Call {
    GetBucket,
    PageOfBuckets,
    DeleteBucket,
    DeleteObject,
    UpdateBucket,
}

use Call::*;

const REPEATABLE: [Call; 3] = [GetBucket, PageOfBuckets, DeleteBucket];
const ONCE: [Call; 2] = [DeleteObject, UpdateBucket];

async fn call(call: Call, server: &Server, governor: &Governor) -> Answer {
    let client = control(server, by(governor)).await;
    match call {
        GetBucket => Box::pin(async move { client.get_bucket().set_name(BUCKET).send().await.map(drop) }),
        PageOfBuckets => Box::pin(async move {
            client.list_buckets().set_parent("projects/p1").by_item().next().await.expect("a page").map(drop)
        }),
        DeleteBucket => Box::pin(async move { client.delete_bucket().set_name(BUCKET).send().await }),
        DeleteObject => Box::pin(async move { client.delete_object().set_bucket(BUCKET).set_object("o").send().await }),
        UpdateBucket => {
            Box::pin(
                async move { client.update_bucket().set_bucket(Bucket::new().set_name(BUCKET)).send().await.map(drop) },
            )
        }
    }
}

/// Each of these calls is sent so often, and comes back with what the service said last.
async fn check(calls: &[Call], reply: Reply, code: Option<&str>, sent: impl Fn(u32) -> u64) {
    for &what in calls {
        for retries in [0, 3] {
            let server = Server::always(reply.clone());
            let governor = governor(|gcp| gcp.max_retries(retries));
            let error = call(what, &server, &governor).await.await.expect_err("always");
            assert_eq!(error.status().map(|status| status.code.name()), code, "{what:?}: {error:?}");
            assert!(refusal(&error).is_none(), "{what:?}: {error:?}");
            let totals = totals(&governor);
            let counts = (totals.calls, totals.operations, totals.gave_up);
            assert_eq!(counts, (sent(retries), 1, 1), "{what:?}, {retries} retries, {reply:?}");
            // An attempt may be given the connection that has just been reset, and never leave.
            let fewest = if matches!(reply, Reply::Reset) { 1 } else { sent(retries) };
            let seen = server.count() as u64;
            assert!((fewest..=sent(retries)).contains(&seen), "{what:?}, {retries} retries, {reply:?}: {seen}");
            assert_eq!(slots_in_use(&governor), 0, "{what:?}");
        }
    }
}

fn every(retries: u32) -> u64 {
    u64::from(retries) + 1
}

fn one(_: u32) -> u64 {
    1
}

/// The status in the head, and in trailers.
fn both(code: Code, details: Option<&ErrorDetails>) -> [Reply; 2] {
    [Reply::trailers_only(code, details.cloned()), Reply::trailers(code, details.cloned())]
}

#[tokio::test(start_paused = true)]
async fn a_grpc_call_to_a_service_that_is_always_down_is_sent_once_and_for_each_retry() {
    for (code, name) in [
        (Code::Unavailable, "UNAVAILABLE"),
        (Code::DeadlineExceeded, "DEADLINE_EXCEEDED"),
        (Code::Internal, "INTERNAL"),
    ] {
        for reply in both(code, None) {
            check(&REPEATABLE, reply.clone(), Some(name), every).await;
            check(&ONCE, reply, Some(name), one).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_grpc_call_that_is_always_refused_for_want_of_something_is_sent_once_and_for_each_retry() {
    for reply in both(Code::ResourceExhausted, None) {
        check(&REPEATABLE, reply.clone(), Some("RESOURCE_EXHAUSTED"), every).await;
        // Of what, it does not say: it may have been while it was executed.
        check(&ONCE, reply, Some("RESOURCE_EXHAUSTED"), one).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_grpc_call_that_is_always_throttled_is_sent_once_and_for_each_retry() {
    let wait = ErrorDetails::with_retry_info(Some(seconds(7)));
    let reason = ErrorDetails::with_error_info("RATE_LIMIT_EXCEEDED", "googleapis.com", []);
    for details in [wait, reason] {
        for reply in both(Code::ResourceExhausted, Some(&details)) {
            check(&REPEATABLE, reply.clone(), Some("RESOURCE_EXHAUSTED"), every).await;
            check(&ONCE, reply, Some("RESOURCE_EXHAUSTED"), every).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_grpc_call_whose_connection_is_always_reset_is_sent_once_and_for_each_retry() {
    check(&REPEATABLE, Reply::Reset, None, every).await;
    check(&ONCE, Reply::Reset, None, one).await;
}

#[tokio::test(start_paused = true)]
async fn an_answer_to_a_grpc_call_that_is_no_grpc_is_judged_by_its_http_status() {
    let page = Reply::new(503, "<html>try again</html>").header("content-type", "text/html");
    check(&REPEATABLE, page.clone(), None, every).await;
    check(&ONCE, page, None, one).await;
}

#[tokio::test(start_paused = true)]
async fn a_grpc_call_that_is_refused_for_good_is_sent_once() {
    let details = ErrorDetails::with_error_info(
        "RATE_LIMIT_EXCEEDED",
        "googleapis.com",
        [("quota_limit".to_owned(), "RequestsPerDayPerProject".to_owned())],
    );
    for (code, details) in
        [(Code::PermissionDenied, None), (Code::NotFound, None), (Code::ResourceExhausted, Some(&details))]
    {
        for reply in both(code, details) {
            for &what in REPEATABLE.iter().chain(&ONCE) {
                let server = Server::always(reply.clone());
                let governor = governor(|gcp| gcp);
                let error = call(what, &server, &governor).await.await.expect_err("always");
                assert!(error.status().is_some(), "{what:?}: {error:?}");
                assert_eq!((server.count(), totals(&governor).calls, totals(&governor).gave_up), (1, 1, 0), "{what:?}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_wait_that_a_grpc_service_asks_for_is_kept() {
    let details = ErrorDetails::with_retry_info(Some(seconds(7)));
    for first in both(Code::ResourceExhausted, Some(&details)) {
        let server = Server::script([first, Reply::grpc(&crate::reply::message(1, BUCKET.as_bytes()))]);
        let governor = governor(|gcp| gcp);
        let client = control(&server, by(&governor)).await;
        let begun = tokio::time::Instant::now();
        let bucket = client.get_bucket().set_name(BUCKET).send().await.expect("a bucket");
        assert_eq!((bucket.name.as_str(), server.count()), (BUCKET, 2));
        assert!(begun.elapsed() >= seconds(7), "{:?}", begun.elapsed());
    }
}

#[tokio::test(start_paused = true)]
async fn the_details_of_a_grpc_error_reach_the_caller() {
    let details = ErrorDetails::with_retry_info(Some(seconds(7)));
    for reply in both(Code::ResourceExhausted, Some(&details)) {
        let server = Server::always(reply);
        let governor = governor(|gcp| gcp.max_retries(1));
        let client = control(&server, by(&governor)).await;
        let error = client.get_bucket().set_name(BUCKET).send().await.expect_err("always");
        let details = &error.status().expect("a status").details;
        assert!(matches!(details.as_slice(), [StatusDetails::RetryInfo(_)]), "{details:?}");
    }
}
