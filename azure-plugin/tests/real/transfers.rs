//! Uploads and downloads in parts.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use azure_core::http::{RequestContent, Url};
use azure_storage_blob::models::{BlobClientDownloadOptions, BlobClientUploadOptions};
use bytes::Bytes;
use cloud_governor::{Governor, RefusalKind, RetryPolicy};
use cloud_governor_azure::{CallOptions, governed, refusal};

use crate::common::{blob, blob_at, blobs, by, context, governor, millis, totals, until};
use crate::server::{Asked, Reply, Server};

const PART: usize = 1024;
const PARTS: usize = 40;

fn content() -> Bytes {
    (0..PART * PARTS).map(|place| (place * 31 % 251) as u8).collect()
}

/// How long the server takes: at first so long that whoever sends as much as it may is seen to.
fn pace(number: usize) -> Duration {
    if (2..=6).contains(&number) { millis(60) } else { millis(2) }
}

/// The part of the content that the request's range asks for.
fn part(content: &Bytes, asked: &Asked) -> Reply {
    let range = asked.header("range").and_then(|range| range.strip_prefix("bytes=")).expect("a range");
    let (first, last) = range.split_once('-').expect("two ends");
    let first: usize = first.parse().expect("a number");
    let last = last.parse::<usize>().expect("a number").min(content.len() - 1);
    Reply::new(206, content.slice(first..=last))
        .header("content-range", format!("bytes {first}-{last}/{}", content.len()))
        .header("etag", "\"0x1\"")
}

/// A server of one blob. Each first request for a part at one of `faults` is answered with what it says.
fn blob_server(faults: BTreeMap<usize, Reply>) -> Server {
    let content = content();
    let faults = Mutex::new(faults);
    Server::start(move |asked, number| {
        let first =
            asked.header("range").and_then(|range| range.strip_prefix("bytes=")?.split('-').next()?.parse().ok());
        let fault = first.and_then(|first: usize| faults.lock().expect("no panic before").remove(&(first / PART)));
        fault.unwrap_or_else(|| part(&content, asked)).after(pace(number))
    })
}

fn few_slots(slots: usize) -> Governor {
    governor(|azure| azure.account_concurrency(NonZero::new(slots).expect("some")))
}

fn in_parts() -> BlobClientDownloadOptions<'static> {
    BlobClientDownloadOptions { parallel: NonZero::new(8), partition_size: NonZero::new(PART), ..Default::default() }
}

#[tokio::test]
async fn a_download_in_forty_parts_eight_at_a_time_comes_whole_through_four_slots() {
    let server = blob_server(BTreeMap::new());
    let governor = few_slots(4);
    let download = blob_at(&server, &governor).download(Some(in_parts())).await.expect("a head");
    assert_eq!(download.body.collect().await.expect("the content"), content());
    assert_eq!((server.count(), server.most_in_flight()), (PARTS, 4));
    assert_eq!((blobs(&governor).slots_in_use, totals(&governor).calls), (0, PARTS as u64));
}

#[tokio::test]
async fn a_download_into_memory_comes_whole_through_one_slot() {
    let server = blob_server(BTreeMap::new());
    let governor = few_slots(1);
    let mut buffer = vec![0; PART * PARTS];
    let into = blob_at(&server, &governor).download_into(&mut buffer, Some(in_parts())).await.expect("the content");
    assert_eq!((into.len, Bytes::from(buffer)), (PART * PARTS, content()));
    assert_eq!((server.count(), server.most_in_flight()), (PARTS, 1));
    assert_eq!(blobs(&governor).slots_in_use, 0);
}

#[tokio::test]
async fn parts_that_fail_are_fetched_again_and_no_other() {
    let faults = [(0, Reply::coded(503, "ServerBusy")), (7, Reply::Reset), (39, Reply::coded(500, "InternalError"))];
    let server = blob_server(BTreeMap::from(faults));
    let governor = few_slots(4);
    let download = blob_at(&server, &governor).download(Some(in_parts())).await.expect("a head");
    assert_eq!(download.body.collect().await.expect("the content"), content());
    let totals = totals(&governor);
    assert_eq!((server.count(), totals.calls, totals.retries), (PARTS + 3, PARTS as u64 + 3, 3));
    assert_eq!((totals.throttled, totals.transient_errors, totals.gave_up), (1, 2, 0));
    assert_eq!((server.most_in_flight(), blobs(&governor).slots_in_use), (4, 0));
}

#[tokio::test]
async fn a_download_left_half_read_gives_all_its_slots_back() {
    let server = blob_server(BTreeMap::new());
    let governor = few_slots(4);
    let download = blob_at(&server, &governor).download(Some(in_parts())).await.expect("a head");
    let mut body = download.body;
    futures_util::StreamExt::next(&mut body).await.expect("a part").expect("bytes");
    drop(body);
    // The SDK lets parts that were under way come to their end.
    until("no slot in use", || blobs(&governor).slots_in_use == 0 && blobs(&governor).waiting_for_slot == 0).await;
    assert!(server.count() < PARTS);
}

/// Keeps the blocks it is given, and the content once they are committed.
#[derive(Default)]
struct Stored {
    blocks: BTreeMap<String, Bytes>,
    content: Bytes,
}

fn parameter(asked: &Asked, name: &str) -> Option<String> {
    let url = Url::parse(&format!("http://host/?{}", asked.query)).expect("a URL");
    url.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
}

fn store(stored: &mut Stored, asked: &Asked) -> Reply {
    match parameter(asked, "comp").as_deref() {
        Some("block") => {
            stored.blocks.insert(parameter(asked, "blockid").expect("a block has a name"), asked.body.clone());
        }
        Some("blocklist") => {
            let list = std::str::from_utf8(&asked.body).expect("XML is text");
            let ids = list.split("<Latest>").skip(1).filter_map(|rest| rest.split("</Latest>").next());
            stored.content = ids.flat_map(|id| stored.blocks.get(id).expect("a block").clone()).collect();
        }
        _ => stored.content = asked.body.clone(),
    }
    Reply::new(201, "")
}

#[tokio::test]
async fn an_upload_in_forty_blocks_is_stored_whole_through_four_slots() {
    for faulty in [false, true] {
        let stored = Arc::new(Mutex::new(Stored::default()));
        let kept = Arc::clone(&stored);
        let server = Server::start(move |asked, number| match number {
            5 if faulty => Reply::coded(503, "ServerBusy"),
            11 if faulty => Reply::Reset,
            _ => store(&mut kept.lock().expect("no panic before"), asked).after(pace(number)),
        });
        let governor = few_slots(4);
        let options = BlobClientUploadOptions {
            parallel: NonZero::new(8),
            partition_size: NonZero::new(PART as u64),
            ..Default::default()
        };
        let upload = blob_at(&server, &governor).upload(RequestContent::from(content().to_vec()), Some(options)).await;
        upload.map(drop).expect("stored");
        assert_eq!(stored.lock().expect("no panic").content, content());
        // The blocks and their list, and each that failed once more.
        let sent = PARTS + 1 + if faulty { 2 } else { 0 };
        assert_eq!((server.count(), server.most_in_flight()), (sent, 4));
        assert_eq!((totals(&governor).calls, blobs(&governor).slots_in_use), (sent as u64, 0));
    }
}

// ===== one part =====

#[tokio::test]
async fn an_unread_download_of_one_part_holds_its_slot_until_it_is_read_or_dropped() {
    let server = Server::always(Reply::ok());
    let governor = few_slots(1);
    let client = blob_at(&server, &governor);
    for is_read in [true, false] {
        let download = client.download(None).await.expect("a head");
        assert_eq!(blobs(&governor).slots_in_use, 1);
        let hurried = CallOptions::new().policy(RetryPolicy::builder().deadline(millis(30)).build().expect("sound"));
        let other = BlobClientDownloadOptions { method_options: context(hurried), ..Default::default() };
        let error = client.download(Some(other)).await.map(drop).expect_err("no slot in time");
        assert_eq!(refusal(&error).map(|refusal| refusal.kind()), Some(RefusalKind::DeadlineExceeded));
        match is_read {
            true => assert_eq!(&download.body.collect().await.expect("the content")[..], b"content"),
            false => drop(download),
        }
        assert_eq!(blobs(&governor).slots_in_use, 0);
    }
    assert_eq!(server.count(), 2);
}

#[tokio::test]
async fn an_unread_download_holds_nothing_where_slots_go_back_at_the_headers() {
    let server = Server::always(Reply::ok());
    let governor = few_slots(1);
    let for_all =
        blob(server.url("acct/container/blob"), governed(Default::default(), by(&governor).release_at_headers(true)));
    let for_one = blob_at(&server, &governor);
    let mut unread = Vec::new();
    for _ in 0..3 {
        unread.push(for_all.download(None).await.expect("a head"));
        let method_options = context(CallOptions::new().release_at_headers(true));
        let options = BlobClientDownloadOptions { method_options, ..Default::default() };
        unread.push(for_one.download(Some(options)).await.expect("a head"));
        assert_eq!(blobs(&governor).slots_in_use, 0);
    }
    for download in unread {
        assert_eq!(&download.body.collect().await.expect("the content")[..], b"content");
    }
    assert_eq!((server.count(), totals(&governor).calls), (6, 6));
}
