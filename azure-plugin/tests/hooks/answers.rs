//! The answers to failed attempts: what they say, and that their receivers get them as they came.

use azure_core::http::AsyncRawResponse;
use azure_core::http::headers::Headers;
use cloud_governor::RetryPolicy;
use cloud_governor_azure::{CallOptions, governed};

use crate::common::{Client, Reply, Server, by, code, governor, request, seconds, service, status, totals};
use azure_core::http::{ClientOptions, Context, Method, Transport};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

#[tokio::test(start_paused = true)]
async fn the_code_in_the_body_decides_where_no_header_has_one() {
    for (reply, throttled, sent) in [
        (Reply::json(429, "SubscriptionRequestsThrottled"), 2, 2),
        (Reply::json(429, "OperationNotAllowed"), 2, 2),
        (Reply::json(409, "OperationNotAllowed"), 0, 1),
        (Reply::new(503, r#"{"code":"QuotaExceeded","message":"full"}"#), 0, 1),
        (Reply::new(429, r#"{"odata.error":{"code":"RetryableError","message":{"lang":"en","value":"wait"}}}"#), 0, 2),
        (Reply::new(400, r#"{"error":{"code":"Odd","message":"Too many requests, slow down"}}"#), 2, 2),
        (Reply::stream(409, [Some(r#"{"error":{"co"#), Some(r#"de":"ServerBusy"}}"#)]), 2, 2),
        (Reply::json(429, "RetryableError").header("x-ms-error-code", "ServerBusy"), 2, 2),
    ] {
        let server = Server::always(reply);
        let governor = governor(|azure| azure.max_retries(1));
        Client::governed(&server, &governor).get().await.expect_err("fails for ever");
        assert_eq!((totals(&governor).throttled, server.count()), (throttled, sent), "{:?}", server.requests());
    }
}

#[tokio::test(start_paused = true)]
async fn the_callers_error_is_the_one_that_the_sdk_makes_of_the_answer() {
    let reply = Reply::json(429, "SubscriptionRequestsThrottled").header("x-ms-request-id", "r-42");
    let server = Server::always(reply);
    let plain = Client::new(ClientOptions { retry: azure_core::http::RetryOptions::none(), ..server.options() });
    let own = plain.get().await.expect_err("throttled");
    let governor = governor(|azure| azure.max_retries(1));
    let governed = Client::governed(&server, &governor).get().await.expect_err("throttled");
    assert_eq!(own.kind(), governed.kind());
    assert_eq!(own.to_string(), governed.to_string());
    assert_eq!((status(&governed), code(&governed)), (Some(429), Some("SubscriptionRequestsThrottled")));
}

#[tokio::test(start_paused = true)]
async fn a_body_that_breaks_before_its_code_is_a_body_cut_short_and_breaks_for_the_caller_too() {
    let server = Server::always(Reply::stream(400, [Some(r#"{"error":"#), None]));
    let governor = governor(|azure| azure.max_retries(1));
    let error = Client::governed(&server, &governor).download().await.err().expect("broken");
    assert_eq!(error.to_string(), "the connection was reset");
    assert_eq!((server.count(), totals(&governor).transient_errors), (2, 2));
}

#[tokio::test(start_paused = true)]
async fn a_long_body_of_an_error_is_passed_on_whole() {
    let parts: Vec<_> = std::iter::repeat_n((std::time::Duration::ZERO, Some("0123456789abcdef")), 8192).collect();
    let server = Server::always(Reply::Parts { status: 404, parts });
    let governor = governor(|azure| azure);
    let error = Client::governed(&server, &governor).download().await.err().expect("not found");
    let azure_core::error::ErrorKind::HttpResponse { raw_response: Some(raw), .. } = error.kind() else {
        panic!("{error:?}")
    };
    assert_eq!(raw.body().len(), 8192 * 16);
}

#[tokio::test(start_paused = true)]
async fn a_slow_body_of_an_error_is_not_waited_for() {
    let slow = Reply::Parts { status: 503, parts: vec![(seconds(60), Some("late"))] };
    let server = Server::script([slow, Reply::ok()]);
    let governor = governor(|azure| azure);
    let began = tokio::time::Instant::now();
    drop(Client::governed(&server, &governor).download().await.expect("the second"));
    assert!(began.elapsed() < seconds(7), "{:?}", began.elapsed());
    assert_eq!(server.count(), 2);
}

#[tokio::test(start_paused = true)]
async fn the_attempt_timeout_bounds_the_wait_for_an_errors_body() {
    let slow = Reply::Parts { status: 503, parts: vec![(seconds(60), Some("late"))] }.after(seconds(2));
    let server = Server::script([slow, Reply::ok()]);
    let governor = governor(|azure| azure.attempt_timeout(seconds(3)));
    let began = tokio::time::Instant::now();
    drop(Client::governed(&server, &governor).download().await.expect("the second"));
    assert!(began.elapsed() < seconds(4), "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn an_error_whose_body_is_read_holds_its_slot_no_longer_than_that() {
    let slow = Reply::Parts { status: 404, parts: vec![(seconds(60), Some("late"))] };
    let server = Server::always(slow);
    let governor = governor(|azure| azure);
    let client = Client::governed(&server, &governor);
    let mut late = std::pin::pin!(client.download());
    assert!(tokio::time::timeout(seconds(6), &mut late).await.is_err(), "the SDK reads the rest");
    assert_eq!(service(&governor).slots_in_use, 0);
    let error = late.await.err().expect("not found");
    assert_eq!(status(&error), Some(404));
}

#[tokio::test(start_paused = true)]
async fn a_redirect_or_an_unchanged_resource_is_no_failure() {
    for (number, reply) in [(304, Reply::new(304, "")), (302, Reply::new(302, ""))] {
        let server = Server::always(reply);
        let governor = governor(|azure| azure);
        let error = Client::governed(&server, &governor).get().await.expect_err("the SDK wants a 2xx");
        assert_eq!((status(&error), server.count()), (Some(number), 1));
        assert_eq!((totals(&governor).transient_errors, service(&governor).slots_in_use), (0, 0));
    }
}

/// Says that an answer has failed by an error of its own, as a transport of a user's may.
#[derive(Debug)]
struct Strict;

#[async_trait::async_trait]
impl azure_core::http::HttpClient for Strict {
    async fn execute_request(&self, _: &azure_core::http::Request) -> azure_core::Result<AsyncRawResponse> {
        let raw = azure_core::http::RawResponse::from_bytes(429.into(), Headers::new(), "");
        let kind = azure_core::error::ErrorKind::HttpResponse {
            status: 429.into(),
            error_code: None,
            raw_response: Some(Box::new(raw)),
        };
        Err(kind.into_error())
    }
}

#[tokio::test(start_paused = true)]
async fn a_transport_that_turns_answers_into_errors_is_understood() {
    let governor = governor(|azure| azure.max_retries(0));
    let transport = ClientOptions { transport: Some(Transport::new(Arc::new(Strict))), ..Default::default() };
    let client = Client::new(cloud_governor_azure::governed(transport, by(&governor)));
    let none = Context::new().with_value(CallOptions::new().policy(RetryPolicy::none()));
    let error = client.send(none, request(Method::Get)).await.expect_err("throttled");
    assert_eq!((status(&error), totals(&governor).throttled), (Some(429), 1));
}

/// Answers with a body of empty parts, of which there is no end.
#[derive(Debug, Default)]
struct Empty(Arc<AtomicUsize>);

#[async_trait::async_trait]
impl azure_core::http::HttpClient for Empty {
    async fn execute_request(&self, _: &azure_core::http::Request) -> azure_core::Result<AsyncRawResponse> {
        let taken = Arc::clone(&self.0);
        let parts = futures_util::stream::repeat_with(move || {
            taken.fetch_add(1, Ordering::Relaxed);
            Ok(bytes::Bytes::new())
        });
        // The SDK reads it whole afterwards.
        Ok(AsyncRawResponse::new(500.into(), Headers::new(), Box::pin(futures_util::StreamExt::take(parts, 1_000_000))))
    }
}

#[tokio::test(start_paused = true)]
async fn empty_parts_of_an_errors_body_are_not_read_without_end() {
    let server = Empty::default();
    let taken = Arc::clone(&server.0);
    let governor = governor(|azure| azure.max_retries(1));
    let transport = azure_core::http::Transport::new(Arc::new(server));
    let options = azure_core::http::ClientOptions { transport: Some(transport), ..Default::default() };
    Client::new(governed(options, by(&governor))).download().await.map(drop).expect_err("fails");
    let (first, last) = (64 * 1024, 1_000_000);
    assert!(taken.load(Ordering::Relaxed) <= first + last, "{taken:?}");
}
