//! Servers that always fail: how many requests one call makes.

use std::future::Future;
use std::pin::Pin;

use cloud_governor::Governor;
use cloud_governor_gcp::refusal;
use google_cloud_gax::error::Error;
use google_cloud_gax::paginator::ItemPaginator;

use crate::common::{BUCKET, answered, assets, by, governor, instances, slots_in_use, storage, totals};
use crate::reply::Reply;
use crate::server::Server;

type Answer = Pin<Box<dyn Future<Output = Result<(), Error>> + Send>>;
type Answered = (Option<u16>, Option<&'static str>);

/// Of what the calls here are about.
const ZONE: &str = "us-central1-a";

/// What a REST client's call is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    ListAssets,
    PageOfAssets,
    ExportAssets,
    ListInstances,
    GetInstance,
    InsertInstance,
    ReadObject,
    WriteObject,
    WriteGeneration,
    WriteLargeObject,
}

use Call::*;

const REPEATABLE: [Call; 7] =
    [ListAssets, PageOfAssets, ListInstances, GetInstance, ReadObject, WriteGeneration, WriteLargeObject];
const ONCE: [Call; 3] = [ExportAssets, InsertInstance, WriteObject];

async fn call(call: Call, server: &Server, governor: &Governor) -> Answer {
    let options = by(governor);
    match call {
        ListAssets | PageOfAssets | ExportAssets => {
            let client = assets(server, options).await;
            match call {
                ListAssets => {
                    Box::pin(async move { client.list_assets().set_parent("projects/p1").send().await.map(drop) })
                }
                PageOfAssets => Box::pin(async move {
                    let mut assets = client.list_assets().set_parent("projects/p1").by_item();
                    assets.next().await.expect("a page").map(drop)
                }),
                _ => Box::pin(async move { client.export_assets().set_parent("projects/p1").send().await.map(drop) }),
            }
        }
        ListInstances | GetInstance | InsertInstance => {
            let client = instances(server, options).await;
            match call {
                ListInstances => {
                    Box::pin(async move { client.list().set_project("p1").set_zone(ZONE).send().await.map(drop) })
                }
                GetInstance => Box::pin(async move {
                    client.get().set_project("p1").set_zone(ZONE).set_instance("i").send().await.map(drop)
                }),
                _ => Box::pin(async move { client.insert().set_project("p1").set_zone(ZONE).send().await.map(drop) }),
            }
        }
        _ => {
            let client = storage(server, options).await;
            let payload = |length| bytes::Bytes::from(vec![7_u8; length]);
            match call {
                ReadObject => Box::pin(async move { client.read_object(BUCKET, "object").send().await.map(drop) }),
                WriteObject => Box::pin(async move {
                    client.write_object(BUCKET, "object", payload(10)).send_buffered().await.map(drop)
                }),
                WriteGeneration => Box::pin(async move {
                    let writing = client.write_object(BUCKET, "object", payload(10)).set_if_generation_match(0_i64);
                    writing.send_buffered().await.map(drop)
                }),
                _ => Box::pin(async move {
                    client.write_object(BUCKET, "object", payload(1 << 20)).send_buffered().await.map(drop)
                }),
            }
        }
    }
}

/// Each of these calls is sent so often, and comes back with what the service said last.
async fn check(calls: &[Call], reply: Reply, expected: Answered, sent: impl Fn(u32) -> u64) {
    for &what in calls {
        for retries in [0, 3] {
            let server = Server::always(reply.clone());
            let governor = governor(|gcp| gcp.max_retries(retries));
            let error = call(what, &server, &governor).await.await.expect_err("always");
            let said =
                std::iter::successors(Some(&error as &(dyn std::error::Error + 'static)), |error| error.source())
                    .filter_map(|error| error.downcast_ref::<Error>())
                    .map(answered)
                    .find(|said| *said != (None, None));
            assert_eq!(said.unwrap_or_default(), expected, "{what:?}: {error:?}");
            assert!(refusal(&error).is_none(), "{what:?}: {error:?}");
            let totals = totals(&governor);
            let counts = (server.count() as u64, totals.calls, totals.operations, totals.gave_up);
            assert_eq!(counts, (sent(retries), sent(retries), 1, 1), "{what:?}, {retries} retries");
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

// ===== REST =====

#[tokio::test(start_paused = true)]
async fn a_rest_call_that_is_always_throttled_is_sent_once_and_for_each_retry() {
    let expected = (Some(429), Some("RESOURCE_EXHAUSTED"));
    for reply in [Reply::rate_limited("projects/123"), Reply::error(429, "RESOURCE_EXHAUSTED")] {
        check(&REPEATABLE, reply.clone(), expected, every).await;
        // A throttled request has not been executed.
        check(&ONCE, reply, expected, every).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_compute_call_that_is_always_over_its_rate_is_sent_once_and_for_each_retry() {
    let reply = Reply::legacy(403, "rateLimitExceeded").header("retry-after", "0");
    let expected = (Some(403), Some("UNKNOWN"));
    check(&[ListInstances, GetInstance, InsertInstance], reply, expected, every).await;
}

#[tokio::test(start_paused = true)]
async fn a_rest_call_to_a_service_that_is_always_down_is_sent_once_and_for_each_retry() {
    for (status, code) in [(503, "UNAVAILABLE"), (500, "INTERNAL"), (502, "UNKNOWN"), (504, "DEADLINE_EXCEEDED")] {
        let reply = Reply::error(status, code);
        check(&REPEATABLE, reply.clone(), (Some(status), Some(code)), every).await;
        check(&ONCE, reply, (Some(status), Some(code)), one).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_rest_call_whose_connection_is_always_reset_is_sent_once_and_for_each_retry() {
    check(&REPEATABLE, Reply::Reset, (None, None), every).await;
    check(&ONCE, Reply::Reset, (None, None), one).await;
}

#[tokio::test(start_paused = true)]
async fn a_rest_call_that_is_refused_for_good_is_sent_once() {
    for (status, code) in [(403, "PERMISSION_DENIED"), (404, "NOT_FOUND"), (400, "INVALID_ARGUMENT")] {
        for &what in REPEATABLE.iter().chain(&ONCE) {
            let server = Server::always(Reply::error(status, code));
            let governor = governor(|gcp| gcp);
            let error = call(what, &server, &governor).await.await.expect_err("always");
            assert_eq!(answered(&error), (Some(status), Some(code)), "{what:?}");
            assert_eq!((server.count(), totals(&governor).calls, totals(&governor).gave_up), (1, 1, 0), "{what:?}");
            assert_eq!(slots_in_use(&governor), 0, "{what:?}");
        }
    }
}
