//! Calls that their callers let go of.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use azure_core::http::RequestContent;
use azure_storage_blob::models::{BlobClientDownloadOptions, BlobClientUploadOptions};
use cloud_governor::{Governor, Inspection, Scope};
use std::num::NonZero;

use crate::common::{authorized_blob, blob_at, blobs, client_secret, governor, millis, redirected, totals, until};
use crate::server::{Reply, Server};

/// Delays from nothing to what a call takes, in an order that does not follow them.
fn delays(count: u64, longest: Duration) -> impl Iterator<Item = Duration> {
    (0..count).map(move |number| longest.mul_f64((number * 37 % count) as f64 / count as f64))
}

fn is_at_rest(leaf: &Inspection) -> bool {
    leaf.slots_in_use == 0 && leaf.waiting_for_slot == 0 && leaf.waiting_for_rate == 0
}

fn all_at_rest(governor: &Governor) -> bool {
    let scopes: Vec<Scope> = governor.summary().scopes.into_keys().collect();
    scopes.iter().filter_map(|scope| governor.inspect(scope)).all(|leaf| is_at_rest(&leaf))
}

#[tokio::test]
async fn a_call_dropped_at_any_point_leaves_nothing_behind() {
    let replies = [Reply::ok(), Reply::coded(503, "ServerBusy"), Reply::new(200, "content").cut(), Reply::Reset];
    let server = Server::start(move |_, number| replies[number % replies.len()].clone().after(millis(1)));
    let governor = governor(|azure| azure.account_concurrency(NonZeroUsize::MIN).breaker_failures(1000));
    let client = blob_at(&server, &governor);
    let (mut dropped, mut ended) = (0, 0);
    for delay in delays(150, millis(12)) {
        let call = async { client.download(None).await?.body.collect().await };
        match tokio::time::timeout(delay, call).await {
            Ok(_) => ended += 1,
            Err(_) => dropped += 1,
        }
        assert!(is_at_rest(&blobs(&governor)), "after {delay:?}");
    }
    assert!(dropped > 20 && ended > 20, "{dropped} dropped, {ended} ended");
    assert_eq!(totals(&governor).operations, 150);
    drop(client);
    // What is left in this runtime are the client's connections, which go with it.
    let tasks = tokio::runtime::Handle::current().metrics();
    until("no task left", || tasks.num_alive_tasks() == 0).await;
}

#[tokio::test]
async fn a_call_dropped_before_it_was_sent_takes_no_token() {
    let server = Server::always(Reply::ok());
    let governor = governor(|azure| azure.account_concurrency(NonZeroUsize::MIN).max_rps(0.001).burst(2.0));
    let client = blob_at(&server, &governor);
    let unread = client.download(None).await.expect("a head");
    for delay in delays(50, millis(2)) {
        tokio::time::timeout(delay, client.download(None)).await.map(drop).expect_err("no slot");
    }
    drop(unread);
    client.download(None).await.map(drop).expect("the second token is there");
    assert_eq!((server.count(), totals(&governor).calls), (2, 2));
}

#[tokio::test]
async fn calls_dropped_while_they_wait_for_a_token_leave_nothing_behind() {
    let server = Server::start(|asked, number| match (asked.host.as_str(), number % 3) {
        ("login.microsoftonline.com", 0) => Reply::token().after(millis(1)),
        ("login.microsoftonline.com", _) => Reply::new(429, r#"{"error":"temporarily_unavailable"}"#),
        _ => Reply::ok().after(millis(1)),
    });
    let governor = governor(|azure| azure.account_concurrency(NonZeroUsize::MIN));
    for delay in delays(60, millis(8)) {
        let client = authorized_blob(redirected(&server, &governor), client_secret(redirected(&server, &governor)));
        let both = async { tokio::join!(client.get_properties(None), client.get_properties(None)) };
        let _ended = tokio::time::timeout(delay, both).await;
        assert!(all_at_rest(&governor), "after {delay:?}");
    }
    let (tokens, others) = server.counts();
    assert!(tokens > 20 && others > 5, "{tokens} tokens, {others} others");
}

#[tokio::test]
async fn transfers_in_parts_dropped_at_any_point_leave_nothing_behind() {
    let server = Server::start(|asked, _| {
        let first = asked.header("range").and_then(|range| range.strip_prefix("bytes=")?.split('-').next()?.parse().ok());
        match first {
            Some(first) => part(first).after(millis(1)),
            None => Reply::new(201, "").after(millis(1)),
        }
    });
    let governor = governor(|azure| azure.account_concurrency(NonZeroUsize::new(2).expect("some")));
    let client = Arc::new(blob_at(&server, &governor));
    for delay in delays(40, millis(25)) {
        let down = BlobClientDownloadOptions { partition_size: NonZero::new(64), ..Default::default() };
        let up = BlobClientUploadOptions { partition_size: NonZero::new(64), ..Default::default() };
        let download = async { client.download(Some(down)).await?.body.collect().await.map(drop) };
        let upload = async { client.upload(RequestContent::from(vec![7; 1024]), Some(up)).await.map(drop) };
        let _ended = tokio::time::timeout(delay, async { tokio::join!(download, upload) }).await;
        // The SDK lets parts that were under way come to their end.
        until("slots at rest", || is_at_rest(&blobs(&governor))).await;
    }
    assert!(server.most_in_flight() <= 3, "a request whose caller is gone may still be under way in the server");
}

fn part(first: usize) -> Reply {
    let range = format!("bytes {first}-{}/1024", first + 63);
    Reply::new(206, vec![7; 64]).header("content-range", range).header("etag", "\"0x1\"")
}
