//! Storage's uploads and downloads.

use bytes::Bytes;
use cloud_governor::Governor;
use cloud_governor_gcp::{GcpOptions, attach_storage};
use google_cloud_storage::client::Storage;

use crate::common::{ACCOUNT, Asked, Reply, Server, anonymous, governor, totals};

const PART: usize = 256 * 1024;
const SIZE: usize = 2 * PART + 1000;
const BUCKET: &str = "projects/_/buckets/b";

async fn storage(server: &Server, governor: &Governor) -> Storage {
    let options = GcpOptions::new().account(ACCOUNT).governor(governor.clone());
    let builder = Storage::builder()
        .with_endpoint(&server.url)
        .with_resumable_upload_threshold(0_usize)
        .with_resumable_upload_buffer_size(PART);
    attach_storage(builder, anonymous(), options).build().await.unwrap()
}

fn object() -> Reply {
    Reply::ok(format!(r#"{{ "bucket": "b", "name": "o", "size": "{SIZE}" }}"#))
}

fn content() -> Reply {
    let reply = Reply::ok("content").header("x-goog-generation", "1").header("x-goog-metageneration", "1");
    reply.header("x-goog-stored-content-length", "7")
}

/// As Storage answers the requests of a resumable upload.
fn resumable(asked: &Asked, url: &str) -> Reply {
    let range = asked.range.as_deref().unwrap_or_default();
    match asked.method.as_str() {
        "POST" => Reply::ok("").header("location", format!("{url}/upload/session")),
        _ if range.ends_with(&format!("{}/{SIZE}", SIZE - 1)) => object(),
        _ => {
            let end = range.trim_start_matches("bytes ").split(['-', '/']).nth(1).unwrap_or("0");
            Reply::ok("").status(308).header("range", format!("bytes=0-{end}"))
        }
    }
}

async fn upload_server(fail: &'static [usize]) -> Server {
    let url = std::sync::Arc::new(std::sync::OnceLock::<String>::new());
    let known = std::sync::Arc::clone(&url);
    let stored = std::sync::Mutex::new(0_u64);
    let server = Server::start(move |asked, number| {
        if fail.contains(&number) {
            return Reply::error(503, "UNAVAILABLE");
        }
        let mut stored = stored.lock().unwrap();
        if asked.range.as_deref().is_some_and(|range| range.starts_with("bytes */")) {
            // How much has come?
            let reply = Reply::ok("").status(308);
            return if *stored == 0 { reply } else { reply.header("range", format!("bytes=0-{}", *stored - 1)) };
        }
        if let Some(range) = &asked.range {
            let end = range.trim_start_matches("bytes ").split(['-', '/']).nth(1);
            *stored = end.and_then(|end| end.parse::<u64>().ok()).map_or(*stored, |end| end + 1);
        }
        resumable(asked, known.get().unwrap())
    })
    .await;
    url.set(server.url.clone()).unwrap();
    server
}

#[tokio::test]
async fn the_requests_of_an_upload_take_a_token_each_and_one_slot_in_all() {
    let governor = governor(|gcp| gcp.account_concurrency(1.try_into().unwrap()));
    let server = upload_server(&[]).await;
    let storage = storage(&server, &governor).await;
    let payload = Bytes::from(vec![7; SIZE]);
    storage.write_object(BUCKET, "o", payload).send_buffered().await.unwrap();
    // The session and three parts. With one slot, a second one would never have come.
    assert_eq!(server.count(), 4);
    let totals = totals(&governor);
    assert_eq!((totals.calls, totals.transient_errors, totals.gave_up), (4, 0, 0));
    assert!(governor.summary().scopes.keys().all(|scope| scope.service() == "storage"));
}

#[tokio::test]
async fn a_part_that_fails_is_resumed() {
    let governor = governor(|gcp| gcp.account_concurrency(1.try_into().unwrap()));
    let server = upload_server(&[3]).await;
    let storage = storage(&server, &governor).await;
    let payload = Bytes::from(vec![7; SIZE]);
    storage.write_object(BUCKET, "o", payload).send_buffered().await.unwrap();
    let totals = totals(&governor);
    assert_eq!(totals.calls as usize, server.count());
    assert_eq!((totals.transient_errors, totals.retries, totals.gave_up), (1, 1, 0));
}

#[tokio::test]
async fn an_upload_that_never_gets_through_ends_after_as_many_retries_as_a_call_has() {
    let governor = governor(|gcp| gcp.max_retries(2));
    let server = upload_server(&[2, 4, 6, 8, 10, 12, 14, 16, 18, 20]).await;
    let storage = storage(&server, &governor).await;
    let payload = Bytes::from(vec![7; SIZE]);
    let error = storage.write_object(BUCKET, "o", payload).send_buffered().await.unwrap_err();
    assert!(error.to_string().contains("scripted"), "{error}");
    // The session and a part; then twice a question how far it has come, and the part again.
    assert_eq!(server.count(), 6);
    assert_eq!(totals(&governor).transient_errors, 3);
}

#[tokio::test]
async fn a_download_is_retried_and_gives_its_slot_back_at_the_head() {
    let governor = governor(|gcp| gcp.account_concurrency(1.try_into().unwrap()));
    let server = Server::script([Reply::error(503, "UNAVAILABLE"), content()]).await;
    let storage = storage(&server, &governor).await;
    let first = storage.read_object(BUCKET, "o").send().await;
    // With one slot, and the first not read.
    let second = storage.read_object(BUCKET, "o").send().await;
    assert!(first.is_ok() && second.is_ok(), "{:?} {:?}", first.err(), second.err());
    let totals = totals(&governor);
    assert_eq!((totals.operations, totals.calls, totals.transient_errors), (2, 3, 1));
}
