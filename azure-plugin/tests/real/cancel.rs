//! Calls that their callers let go of.

use std::future::poll_fn;
use std::num::{NonZero, NonZeroUsize};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use azure_core::http::RequestContent;
use azure_storage_blob::models::{BlobClientDownloadOptions, BlobClientUploadOptions};
use cloud_governor::{Governor, Inspection, Scope};

use crate::common::{authorized_blob, blob_at, blobs, client_secret, governor, millis, redirected, totals, until};
use crate::server::{Reply, Server};

/// The future's output, or nothing if it is not there after so many polls: then it is dropped at the next.
async fn polled<F: Future>(most: usize, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    let mut left = most;
    poll_fn(|cx| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        future.as_mut().poll(cx).map(Some)
    })
    .await
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
    for number in 0..80 {
        let call = async { client.download(None).await?.body.collect().await };
        match polled(1 + number % 8, call).await {
            Some(_) => ended += 1,
            None => dropped += 1,
        }
        assert!(is_at_rest(&blobs(&governor)), "after {} polls", 1 + number % 8);
    }
    assert!(dropped > 10 && ended > 10, "{dropped} dropped, {ended} ended");
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
    for _ in 0..50 {
        tokio::time::timeout(millis(1), client.download(None)).await.map(drop).expect_err("no slot");
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
    let mut ended = 0;
    for number in 0..60 {
        let client = authorized_blob(redirected(&server, &governor), client_secret(redirected(&server, &governor)));
        let both = async { tokio::join!(client.get_properties(None), client.get_properties(None)) };
        ended += usize::from(polled(1 + number % 20, both).await.is_some());
        assert!(all_at_rest(&governor), "after {} polls", 1 + number % 20);
    }
    let (tokens, others) = server.counts();
    assert!(ended > 5 && ended < 55 && others > 10, "{tokens} tokens, {others} others, {ended} ended");
}

#[tokio::test]
async fn transfers_in_parts_dropped_at_any_point_leave_nothing_behind() {
    let server = Server::start(|asked, _| {
        let first =
            asked.header("range").and_then(|range| range.strip_prefix("bytes=")?.split('-').next()?.parse().ok());
        match first {
            Some(first) => part(first).after(millis(1)),
            None => Reply::new(201, "").after(millis(1)),
        }
    });
    let governor = governor(|azure| azure.account_concurrency(NonZeroUsize::new(2).expect("some")));
    let client = Arc::new(blob_at(&server, &governor));
    let mut ended = 0;
    for number in 0..24 {
        let down = BlobClientDownloadOptions { partition_size: NonZero::new(64), ..Default::default() };
        let up = BlobClientUploadOptions { partition_size: NonZero::new(64), ..Default::default() };
        let download = async { client.download(Some(down)).await?.body.collect().await.map(drop) };
        let upload = async { client.upload(RequestContent::from(vec![7; 1024]), Some(up)).await.map(drop) };
        ended += usize::from(polled(1 + 5 * number, async { tokio::join!(download, upload) }).await.is_some());
        // The SDK lets parts that were under way come to their end.
        until("slots at rest", || is_at_rest(&blobs(&governor))).await;
    }
    assert!(ended > 2 && ended < 22, "{ended} ended");
}

fn part(first: usize) -> Reply {
    let range = format!("bytes {first}-{}/1024", first + 63);
    Reply::new(206, vec![7; 64]).header("content-range", range).header("etag", "\"0x1\"")
}
