//! Uploads to Storage: in one request, and in parts.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use cloud_governor::Governor;
use cloud_governor_gcp::{CallOptions, CallReport, call};
use futures_util::future::join_all;
use google_cloud_storage::client::Storage;

use crate::common::{BUCKET, HOME, answered, by, governor, is_at_rest, scope, storage, totals, totals_of};
use crate::reply::Reply;
use crate::server::{Asked, Server};

/// Five parts of 256 KiB, of which the last is short.
const SIZE: usize = (1 << 20) + 1000;

fn payload(seed: usize) -> Bytes {
    (0..SIZE).map(|place| (place % (241 + seed)) as u8).collect()
}

// ===== a bucket =====

/// What has come, by object.
type Stored = Arc<Mutex<BTreeMap<String, Vec<u8>>>>;

fn progress(stored: &[u8]) -> Reply {
    match stored.len() {
        0 => Reply::new(308, ""),
        length => Reply::new(308, "").header("range", format!("bytes=0-{}", length - 1)),
    }
}

fn object(name: &str, size: usize) -> Reply {
    Reply::json(format!(r#"{{"bucket":"bucket","name":"{name}","generation":"1","size":"{size}"}}"#))
}

/// As Storage answers the requests of a resumable upload. Of a request that fails it has kept the first half.
fn resumable(stored: &Stored, asked: &Asked, failure: Option<Reply>) -> Reply {
    let mut stored = stored.lock().expect("no panic before");
    if asked.method == "POST" {
        let name = asked.parameter("name").expect("a name");
        stored.insert(name.to_owned(), Vec::new());
        let session = format!("http://{}/upload/session?name={name}", asked.server);
        return failure.unwrap_or_else(|| Reply::new(200, "").header("location", session));
    }
    let name = asked.parameter("name").expect("a name").to_owned();
    let content = stored.get_mut(&name).expect("a session");
    let range = asked.header("content-range").and_then(|range| range.strip_prefix("bytes ")).expect("a range");
    let (range, total) = range.split_once('/').expect("a total");
    if let Some((first, _)) = range.split_once('-') {
        // After a broken connection the client sends again what has come already.
        let first = first.parse::<usize>().expect("a number");
        assert!(first <= content.len(), "without a gap");
        content.truncate(first);
        let kept = if failure.is_some() { asked.body.len() / 2 } else { asked.body.len() };
        content.extend_from_slice(&asked.body[..kept]);
    }
    match failure {
        Some(failure) => failure,
        None if total.parse() == Ok(content.len()) => object(&name, content.len()),
        None => progress(content),
    }
}

/// A bucket that fails the requests with these numbers.
fn bucket(failing: &[usize], failure: Reply) -> (Server, Stored) {
    let (failing, stored) = (failing.iter().copied().collect::<BTreeSet<_>>(), Stored::default());
    let kept = Arc::clone(&stored);
    let server = Server::start(move |asked, number| {
        let failure = failing.contains(&number).then(|| failure.clone());
        resumable(&kept, asked, failure)
    });
    (server, stored)
}

fn one_slot() -> Governor {
    governor(|gcp| {
        let gcp = gcp.service("storage", |storage| storage.per_operation(true));
        gcp.account_concurrency(NonZeroUsize::MIN).max_retries(3)
    })
}

async fn upload(client: &Storage, name: &str, content: Bytes, is_buffered: bool) -> google_cloud_gax::Result<i64> {
    let writing = client.write_object(BUCKET, name, content);
    let object = match is_buffered {
        true => Box::pin(writing.send_buffered()).await?,
        false => Box::pin(writing.send_unbuffered()).await?,
    };
    Ok(object.size)
}

#[tokio::test]
async fn an_upload_in_parts_arrives_whole_through_one_slot() {
    for is_buffered in [true, false] {
        let (server, stored) = bucket(&[], Reply::ok());
        let governor = one_slot();
        let client = storage(&server, by(&governor)).await;
        let report = CallReport::new();
        let uploading = upload(&client, "o", payload(0), is_buffered);
        let size = call(CallOptions::new().report(&report), uploading).await.expect("an object");
        assert_eq!(size, SIZE as i64);
        assert_eq!(stored.lock().expect("no panic before")["o"], payload(0));
        // The session, and five parts or one.
        assert_eq!(server.count(), if is_buffered { 6 } else { 2 });
        let totals = totals_of(&governor, &scope(HOME, "storage", "objects.insert"));
        assert_eq!((totals.calls as usize, report.attempts() as usize), (server.count(), server.count()));
        assert_eq!((totals.transient_errors, totals.retries, totals.gave_up), (0, 0, 0));
        assert_eq!(server.most_in_flight(), 1);
        assert!(is_at_rest(&governor));
    }
}

#[tokio::test]
async fn an_upload_that_fails_in_the_middle_goes_on_where_it_stopped() {
    let failures = [Reply::error(503, "UNAVAILABLE"), Reply::error(429, "RESOURCE_EXHAUSTED"), Reply::Reset];
    for (failure, is_buffered) in failures.iter().flat_map(|failure| [(failure, true), (failure, false)]) {
        if matches!(failure, Reply::Reset) && is_buffered {
            // The client does not resume it, and may ask for ever.
            continue;
        }
        // A part; of the next attempt the question how far it has come; and then a part again.
        let failing: &[usize] = if is_buffered { &[3, 4, 6] } else { &[2, 3, 5] };
        let (server, stored) = bucket(failing, failure.clone());
        let governor = one_slot();
        let client = storage(&server, by(&governor)).await;
        let size = upload(&client, "o", payload(0), is_buffered).await.expect("an object");
        assert_eq!(size, SIZE as i64, "{failure:?}");
        assert_eq!(stored.lock().expect("no panic before")["o"], payload(0), "{failure:?}");
        let totals = totals(&governor);
        assert_eq!(totals.calls as usize, server.count(), "{failure:?}, buffered: {is_buffered}");
        assert_eq!((totals.throttled + totals.transient_errors, totals.gave_up), (3, 0), "{failure:?}");
        assert_eq!(server.most_in_flight(), 1);
        assert!(is_at_rest(&governor));
    }
}

#[tokio::test]
async fn an_upload_whose_session_cannot_be_begun_is_begun_once_and_for_each_retry() {
    for failure in [Reply::error(503, "UNAVAILABLE"), Reply::error(429, "RESOURCE_EXHAUSTED"), Reply::Reset] {
        let (server, _) = bucket(&[1, 2, 3, 4], failure.clone());
        let governor = one_slot();
        let client = storage(&server, by(&governor)).await;
        upload(&client, "o", payload(0), true).await.expect_err("always");
        assert_eq!((server.count(), totals(&governor).calls, totals(&governor).gave_up), (4, 4, 1), "{failure:?}");
    }
}

#[tokio::test]
async fn an_upload_that_is_refused_in_the_middle_ends_with_what_the_service_said() {
    let (server, _) = bucket(&[3], Reply::error(403, "PERMISSION_DENIED"));
    let governor = one_slot();
    let client = storage(&server, by(&governor)).await;
    let error = upload(&client, "o", payload(0), true).await.expect_err("refused");
    assert_eq!(answered(&error), (Some(403), Some("PERMISSION_DENIED")));
    assert_eq!((server.count(), totals(&governor).calls, totals(&governor).gave_up), (3, 3, 0));
    assert!(is_at_rest(&governor));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn uploads_at_once_through_one_slot_all_arrive_whole() {
    for is_spawned in [false, true] {
        let (server, stored) = bucket(&[3, 9, 14], Reply::error(503, "UNAVAILABLE"));
        let governor = one_slot();
        let client = storage(&server, by(&governor)).await;
        let uploads = (0..8).map(|seed| {
            let client = client.clone();
            Box::pin(async move { upload(&client, &format!("o{seed}"), payload(seed), seed % 2 == 0).await })
        });
        let results = match is_spawned {
            true => join_all(uploads.map(tokio::spawn)).await.into_iter().map(|task| task.expect("no panic")).collect(),
            false => join_all(uploads).await,
        };
        let stored = stored.lock().expect("no panic before");
        for (seed, result) in results.into_iter().enumerate() {
            assert_eq!(result.expect("an object"), SIZE as i64);
            assert_eq!(stored[&format!("o{seed}")], payload(seed), "upload {seed}");
        }
        let totals = totals(&governor);
        assert_eq!((totals.calls as usize, totals.transient_errors, totals.gave_up), (server.count(), 3, 0));
        assert!(is_at_rest(&governor));
    }
}

#[tokio::test]
async fn a_small_upload_is_sent_again_with_the_same_body() {
    let server = Server::script([
        Reply::error(503, "UNAVAILABLE"),
        Reply::Reset,
        Reply::error(429, "RESOURCE_EXHAUSTED"),
        object("o", 5),
    ]);
    for is_buffered in [true, false] {
        let governor = one_slot();
        let client = storage(&server, by(&governor)).await;
        let before = server.count();
        let writing = client.write_object(BUCKET, "o", "small").set_if_generation_match(0_i64);
        let written = match is_buffered {
            true => writing.send_buffered().await,
            false => writing.send_unbuffered().await,
        };
        written.expect("an object");
        let sent = if is_buffered { 4 } else { 1 };
        let bodies: Vec<_> = server.asked().split_off(before).into_iter().map(|asked| asked.body).collect();
        assert_eq!(bodies.len(), sent);
        for body in &bodies {
            assert!(String::from_utf8_lossy(body).contains("\r\n\r\nsmall\r\n--"), "{body:?}");
        }
        let totals = totals_of(&governor, &scope(HOME, "storage", "objects.insert"));
        assert_eq!((totals.operations as usize, totals.calls as usize), (1, sent));
    }
}
