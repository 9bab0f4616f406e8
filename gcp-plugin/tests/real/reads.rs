//! Downloads from Storage.

use std::num::NonZeroUsize;

use cloud_governor::Governor;
use google_cloud_gax::Result;
use google_cloud_storage::client::Storage;
use google_cloud_storage::read_resume_policy::{NeverResume, ReadResumePolicyExt, Recommended};

use crate::common::{
    BUCKET, HOME, answered, by, governor, is_at_rest, scope, slots_in_use, storage, totals, totals_of,
};
use crate::reply::Reply;
use crate::server::{Asked, Server};

const LENGTH: usize = 4000;

fn content() -> Vec<u8> {
    (0..LENGTH).map(|place| (place % 251) as u8).collect()
}

/// The object, or the part of it that was asked for.
fn object(asked: &Asked) -> Reply {
    let range = asked.header("range").and_then(|range| range.strip_prefix("bytes=")?.split_once('-'));
    match range {
        None => Reply::new(200, content()).header("x-goog-generation", "1"),
        Some((first, last)) => {
            let first: usize = first.parse().expect("a first byte");
            let last = last.parse().unwrap_or(LENGTH - 1);
            Reply::new(206, content()[first..=last].to_vec())
                .header("content-range", format!("bytes {first}-{last}/{LENGTH}"))
                .header("x-goog-generation", "1")
        }
    }
}

async fn read(client: &Storage) -> Result<Vec<u8>> {
    let mut reading = client.read_object(BUCKET, "object").send().await?;
    let mut content = Vec::new();
    while let Some(part) = reading.next().await {
        content.extend_from_slice(&part?);
    }
    Ok(content)
}

fn one_slot() -> Governor {
    governor(|gcp| gcp.account_concurrency(NonZeroUsize::MIN).max_retries(3))
}

#[tokio::test]
async fn a_read_that_is_throttled_is_sent_again_and_read_whole() {
    let server = Server::start(|asked, number| match number {
        1 => Reply::error(429, "RESOURCE_EXHAUSTED"),
        // Storage says so in a plain text.
        2 => Reply::new(429, "The rate of requests exceeds the limit."),
        _ => object(asked),
    });
    let governor = governor(|gcp| gcp.service("storage", |storage| storage.per_operation(true)));
    let client = storage(&server, by(&governor)).await;
    assert_eq!(read(&client).await.expect("the object"), content());
    let totals = totals_of(&governor, &scope(HOME, "storage", "objects.get"));
    assert_eq!((server.count(), totals.operations, totals.calls, totals.throttled), (3, 1, 3, 2));
    assert!(is_at_rest(&governor));
}

#[tokio::test]
async fn the_resumption_of_a_read_that_was_cut_is_a_call_of_its_own() {
    let server = Server::start(|asked, number| match number {
        1 | 4 => object(asked).cut(),
        2 => Reply::error(503, "UNAVAILABLE"),
        3 => Reply::error(429, "RESOURCE_EXHAUSTED"),
        _ => object(asked),
    });
    let governor = one_slot();
    let client = storage(&server, by(&governor)).await;
    assert_eq!(read(&client).await.expect("the object"), content());
    let ranges: Vec<_> = server.asked().iter().map(|asked| asked.header("range").map(str::to_owned)).collect();
    let rest = Some("bytes=2000-3999".to_owned());
    assert_eq!(ranges, [None, rest.clone(), rest.clone(), rest, Some("bytes=3000-3999".to_owned())]);
    let totals = totals(&governor);
    assert_eq!((totals.operations, totals.calls, totals.throttled, totals.transient_errors), (3, 5, 1, 1));
    assert!(is_at_rest(&governor));
}

#[tokio::test]
async fn a_resumption_that_fails_for_good_ends_the_read_with_what_the_service_said() {
    let server = Server::start(|asked, number| match number {
        1 => object(asked).cut(),
        _ => Reply::error(503, "UNAVAILABLE"),
    });
    let governor = one_slot();
    let client = storage(&server, by(&governor)).await;
    let error = read(&client).await.expect_err("cut");
    assert_eq!(answered(&error), (Some(503), Some("UNAVAILABLE")));
    assert_eq!((server.count(), totals(&governor).calls, totals(&governor).gave_up), (5, 5, 1));
}

#[tokio::test]
async fn how_often_a_read_is_resumed_is_for_the_clients_resume_policy_to_say() {
    let server = Server::start(|asked, _| object(asked).cut());
    let governor = one_slot();
    let client = storage(&server, by(&governor)).await;
    for (limit, requests) in [(0, 1), (2, 3)] {
        let before = server.count();
        let request = client.read_object(BUCKET, "object");
        let request = match limit {
            0 => request.with_read_resume_policy(NeverResume),
            limit => request.with_read_resume_policy(Recommended.with_attempt_limit(limit + 1)),
        };
        let mut reading = request.send().await.expect("a head");
        let mut last = Ok(());
        while let Some(part) = reading.next().await {
            last = part.map(drop);
            if last.is_err() {
                break;
            }
        }
        last.expect_err("cut");
        assert_eq!(server.count() - before, requests, "{limit} resumptions");
    }
    assert!(is_at_rest(&governor));
}

#[tokio::test]
async fn a_body_that_nobody_reads_holds_no_slot() {
    let server = Server::start(|asked, _| object(asked).stalled());
    let governor = one_slot();
    let client = storage(&server, by(&governor)).await;
    let mut unread = Vec::new();
    for _ in 0..3 {
        unread.push(client.read_object(BUCKET, "object").send().await.expect("a head"));
    }
    assert_eq!((slots_in_use(&governor), totals(&governor).calls), (0, 3));
}
