//! gcloud-storage over the middleware.

use std::num::NonZeroUsize;

use bytes::Bytes;
use cloud_governor::{Refusal, RefusalKind, Scope};
use cloud_governor_gcp::{GcpOptions, http_middleware};
use futures_util::{StreamExt, stream};
use gcloud_storage::client::{Client, ClientConfig};
use gcloud_storage::http::Error;
use gcloud_storage::http::objects::download::Range;
use gcloud_storage::http::objects::get::GetObjectRequest;
use gcloud_storage::http::objects::list::ListObjectsRequest;
use gcloud_storage::http::objects::upload::{Media, UploadObjectRequest, UploadType};

use crate::clients::by;
use crate::governors::{HOME, governor, is_at_rest, millis, polled, scope, slots_in_use, totals, totals_of, until};
use crate::reply::Reply;
use crate::server::Server;

/// What a call is. The last two may not be executed twice, and the last cannot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    Get,
    List,
    Download,
    DownloadStream,
    /// If no such object is there.
    InsertFirst,
    Insert,
    InsertStream,
}

use Call::*;

const REPEATABLE: [Call; 5] = [Get, List, Download, DownloadStream, InsertFirst];
const ALL: [Call; 7] = [Get, List, Download, DownloadStream, InsertFirst, Insert, InsertStream];

#[derive(Clone)]
pub(crate) struct Storage(Client);

impl Storage {
    pub(crate) fn new(server: &Server, options: GcpOptions) -> Self {
        Storage(Client::new(config(server, options).anonymous()))
    }

    pub(crate) async fn call(&self, call: Call) -> Result<(), Error> {
        let get = || GetObjectRequest { bucket: "b".to_owned(), object: "o".to_owned(), ..GetObjectRequest::default() };
        let to = |if_generation_match| UploadObjectRequest {
            bucket: "b".to_owned(),
            if_generation_match,
            ..UploadObjectRequest::default()
        };
        let media = UploadType::Simple(Media::new("o"));
        match call {
            Get => self.0.get_object(&get()).await.map(drop),
            List => {
                let list = ListObjectsRequest { bucket: "b".to_owned(), ..ListObjectsRequest::default() };
                self.0.list_objects(&list).await.map(drop)
            }
            Download => self.0.download_object(&get(), &Range::default()).await.map(drop),
            DownloadStream => {
                let mut coming = Box::pin(self.0.download_streamed_object(&get(), &Range::default()).await?);
                while let Some(part) = coming.next().await {
                    part?;
                }
                Ok(())
            }
            InsertFirst => self.0.upload_object(&to(Some(0)), content(), &media).await.map(drop),
            Insert => self.0.upload_object(&to(None), content(), &media).await.map(drop),
            InsertStream => {
                let parts = stream::iter(content().chunks(7).map(Bytes::copy_from_slice).collect::<Vec<_>>());
                self.0.upload_streamed_object(&to(None), parts.map(Ok::<_, std::io::Error>), &media).await.map(drop)
            }
        }
    }
}

pub(crate) fn config(server: &Server, options: GcpOptions) -> ClientConfig {
    let http = reqwest_middleware::ClientBuilder::new(reqwest::Client::new()).with(http_middleware(options)).build();
    ClientConfig { http: Some(http), storage_endpoint: server.url(), ..ClientConfig::default() }
}

fn content() -> Vec<u8> {
    (0..100).collect()
}

/// An object, or a list of none.
pub(crate) fn object() -> Reply {
    Reply::json(
        r#"{"name":"o","bucket":"b","id":"b/o/1","selfLink":"x","mediaLink":"x","generation":"1","size":"0",
        "metageneration":"1","kind":"storage#object","storageClass":"STANDARD","etag":"e","md5Hash":"","crc32c":""}"#,
    )
}

/// Each of these calls is sent so often, and comes back with what the service said last.
async fn check(calls: &[Call], reply: &Reply, said: impl Fn(&Error) -> bool, sent: impl Fn(u32) -> u64) {
    for &what in calls {
        for retries in [0, 3] {
            let server = Server::always(reply.clone());
            let governor = governor(|gcp| gcp.max_retries(retries));
            let error = Storage::new(&server, by(&governor)).call(what).await.expect_err("always");
            assert!(said(&error) && Refusal::find(&error).is_none(), "{what:?} {reply:?}: {error:?}");
            let totals = totals(&governor);
            let counts = (server.count() as u64, totals.calls, totals.operations, totals.gave_up);
            assert_eq!(counts, (sent(retries), sent(retries), 1, 1), "{what:?}, {retries} retries, {reply:?}");
            assert!(is_at_rest(&governor), "{what:?}");
        }
    }
}

fn every(retries: u32) -> u64 {
    u64::from(retries) + 1
}

fn one(_: u32) -> u64 {
    1
}

fn answered(status: u16, reason: &'static str) -> impl Fn(&Error) -> bool {
    move |error| matches!(error, Error::Response(said) if said.code == status && said.errors[0].reason == reason)
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_always_throttled_is_sent_once_and_for_each_retry() {
    for status in [429, 403] {
        let reply = Reply::legacy(status, "rateLimitExceeded");
        let said = answered(status, "rateLimitExceeded");
        check(&REPEATABLE, &reply, &said, every).await;
        // It was not executed, whatever it was; but the parts of a stream are gone.
        check(&[Insert], &reply, &said, every).await;
        check(&[InsertStream], &reply, &said, one).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_to_a_service_that_is_always_down_is_sent_once_and_for_each_retry() {
    let reply = Reply::legacy(503, "backendError");
    check(&REPEATABLE, &reply, answered(503, "backendError"), every).await;
    check(&[Insert, InsertStream], &reply, answered(503, "backendError"), one).await;
    // So says what stands before the service.
    let page = Reply::new(503, "<html>try again</html>").header("content-type", "text/html");
    let said = |error: &Error| matches!(error, Error::HttpClient(error) if error.status().is_some_and(|it| it == 503));
    check(&REPEATABLE, &page, said, every).await;
    check(&[Insert, InsertStream], &page, said, one).await;
}

#[tokio::test(start_paused = true)]
async fn a_call_whose_connection_is_always_reset_is_sent_once_and_for_each_retry() {
    let said = |error: &Error| matches!(error, Error::HttpClient(error) if error.status().is_none());
    check(&REPEATABLE, &Reply::Reset, said, every).await;
    check(&[Insert, InsertStream], &Reply::Reset, said, one).await;
}

#[tokio::test(start_paused = true)]
async fn a_call_that_finds_nobody_at_the_address_is_tried_once_and_for_each_retry() {
    for what in ALL {
        let server = Server::nobody();
        let governor = governor(|gcp| gcp.max_retries(3));
        let error = Storage::new(&server, by(&governor)).call(what).await.expect_err("nobody");
        assert!(matches!(&error, Error::HttpClient(error) if error.is_connect()), "{what:?}: {error:?}");
        let attempts = if what == InsertStream { 1 } else { 4 };
        assert_eq!((totals(&governor).calls, totals(&governor).gave_up), (attempts, 1), "{what:?}");
        assert!(is_at_rest(&governor));
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_fails_for_good_is_sent_once() {
    for (status, reason) in
        [(403, "forbidden"), (404, "notFound"), (403, "dailyLimitExceeded"), (412, "conditionNotMet")]
    {
        for what in ALL {
            let server = Server::always(Reply::legacy(status, reason));
            let governor = governor(|gcp| gcp);
            let error = Storage::new(&server, by(&governor)).call(what).await.expect_err("always");
            assert!(answered(status, reason)(&error), "{what:?}: {error:?}");
            assert_eq!((server.count(), totals(&governor).calls, totals(&governor).gave_up), (1, 1, 0), "{what:?}");
            assert!(is_at_rest(&governor));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_sent_again_is_what_was_sent_first() {
    for what in [Insert, InsertFirst] {
        let server = Server::script([Reply::legacy(429, "rateLimitExceeded"), object()]);
        let governor = governor(|gcp| gcp);
        Storage::new(&server, by(&governor)).call(what).await.expect("an object");
        let [first, second] = server.asked().try_into().expect("two requests");
        assert_eq!((&first.path, &first.query, &first.headers), (&second.path, &second.query, &second.headers));
        assert_eq!((&first.body[..], &second.body[..]), (&content()[..], &content()[..]), "{what:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_wait_that_the_service_asks_for_is_kept() {
    let throttle = Reply::legacy(429, "rateLimitExceeded").header("retry-after", "7");
    let server = Server::script([throttle, object()]);
    let governor = governor(|gcp| gcp);
    let begun = tokio::time::Instant::now();
    Storage::new(&server, by(&governor)).call(Get).await.expect("an object");
    assert_eq!(server.count(), 2);
    assert!(begun.elapsed() >= crate::governors::seconds(7), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn a_call_is_known_by_its_method_and_path() {
    let server = Server::always(object());
    let governor = governor(|gcp| gcp.service("storage", |storage| storage.per_operation(true)));
    let storage = Storage::new(&server, by(&governor));
    for what in ALL {
        storage.call(what).await.unwrap_or_else(|error| panic!("{what:?}: {error:?}"));
    }
    for (operation, calls) in [("objects.get", 3), ("objects.list", 1), ("objects.insert", 3)] {
        let totals = totals_of(&governor, &scope(HOME, "storage", operation));
        assert_eq!((totals.operations, totals.calls), (calls, calls), "{operation}: {:?}", governor.summary());
    }
}

#[tokio::test]
async fn a_streamed_upload_arrives_as_it_was() {
    let server = Server::always(object());
    let governor = governor(|gcp| gcp);
    Storage::new(&server, by(&governor)).call(InsertStream).await.expect("an object");
    let [asked] = server.asked().try_into().expect("one request");
    assert_eq!((&asked.body[..], asked.path.as_str()), (&content()[..], "/upload/storage/v1/b/b/o"));
}

/// The account has one slot: a download that kept it would keep all else waiting.
#[tokio::test]
async fn a_streamed_download_comes_as_it_is_and_holds_no_slot() {
    let body: Bytes = (0..=255).cycle().take(200_000).collect();
    let sent = body.clone();
    let server = Server::start(move |asked, _| match asked.query.contains("alt=media") {
        true => Reply::new(200, sent.clone()).stalled(),
        false => object(),
    });
    let governor = governor(|gcp| gcp.account_concurrency(NonZeroUsize::MIN));
    let storage = Storage::new(&server, by(&governor));
    let get = GetObjectRequest { bucket: "b".to_owned(), object: "o".to_owned(), ..GetObjectRequest::default() };
    let mut coming = Box::pin(storage.0.download_streamed_object(&get, &Range::default()).await.expect("a stream"));
    let mut came = Vec::new();
    while came.len() < body.len() / 2 {
        came.extend_from_slice(&coming.next().await.expect("a part").expect("a part"));
    }
    assert_eq!(came, body[..body.len() / 2]);
    assert_eq!((server.in_flight(), slots_in_use(&governor)), (1, 0));
    storage.call(Get).await.expect("an object");
    drop(coming);
    until("its end", || server.in_flight() == 0).await;
    assert_eq!((totals(&governor).calls, totals(&governor).transient_errors), (2, 0));
    assert!(is_at_rest(&governor));
}

#[tokio::test]
async fn a_download_that_breaks_midway_is_the_callers_to_know() {
    let server = Server::always(Reply::new(200, vec![7; 1_000]).cut());
    let governor = governor(|gcp| gcp);
    for what in [Download, DownloadStream] {
        let error = Storage::new(&server, by(&governor)).call(what).await.expect_err("cut");
        assert!(matches!(error, Error::HttpClient(_)), "{what:?}: {error:?}");
    }
    assert_eq!(server.count(), 2);
    assert!(is_at_rest(&governor));
}

#[tokio::test(start_paused = true)]
async fn an_open_circuit_refuses_and_the_caller_finds_why() {
    let server = Server::always(Reply::legacy(503, "backendError"));
    let governor = governor(|gcp| gcp.max_retries(0).breaker_failures(1));
    let storage = Storage::new(&server, by(&governor));
    storage.call(Get).await.expect_err("always");
    let error = storage.call(Get).await.expect_err("an open circuit");
    let Error::HttpMiddleware(error) = error else { panic!("{error:?}") };
    let refusal = error.chain().find_map(|error| error.downcast_ref::<Refusal>()).expect("a refusal");
    assert_eq!((refusal.kind(), server.count()), (RefusalKind::CircuitOpen, 1));
    assert_eq!(refusal.scope(), &Scope::new("gcp", HOME, "", "storage").with_operation("objects.get"));
}

#[tokio::test]
async fn calls_dropped_at_any_point_leave_nothing_behind() {
    let server = Server::start(|asked, number| match number % 3 {
        0 => Reply::legacy(503, "backendError").after(millis(1)),
        _ if asked.query.contains("alt=media") => Reply::new(200, vec![7; 100_000]),
        _ => object().after(millis(1)),
    });
    let governor = governor(|gcp| gcp.account_concurrency(NonZeroUsize::MIN).breaker_failures(1_000_000));
    let storage = Storage::new(&server, by(&governor));
    let mut dropped = 0;
    for number in 0..280 {
        let left = polled(1 + number / 7 % 5, storage.call(ALL[number % 7])).await;
        dropped += usize::from(left.is_none());
        assert!(is_at_rest(&governor), "{number}");
    }
    assert!(dropped > 70 && server.count() > 70, "{dropped} dropped, {} requests", server.count());
}
