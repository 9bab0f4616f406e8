//! What may be sent twice: by its method, by a key, by the caller's word, by whether it can be copied.

use bytes::Bytes;
use cloud_governor::{CallOptions, CallReport, GiveUp};
use futures_util::stream;
use http_body_util::StreamBody;
use hyper::body::Frame;
use reqwest::{Body, Method};

use crate::common::*;
use crate::server::{Asked, Reply, Server};

async fn requests(reply: &Reply, method: Method, key: bool, options: CallOptions) -> (usize, Option<GiveUp>) {
    let server = Server::always(reply.clone());
    let governor = governor(|api| api.max_retries(3));
    let report = CallReport::new();
    let request = client(&server, &governor).request(method, URL).with_extension(options.report(&report));
    let request = if key { request.header("Idempotency-Key", "\"8e03978e\"") } else { request };
    let ended = request.body("thing").send().await;
    assert!(ended.is_err() || status(&ended) >= 400);
    let asked = server.asked();
    let [first, ..] = &asked[..] else { panic!("nothing was sent") };
    assert!(first.body == "thing" && first.headers.contains_key("idempotency-key") == key);
    // Each attempt is the whole request.
    let is_same = |other: &Asked| {
        (&other.method, &other.uri, &other.headers, &other.body)
            == (&first.method, &first.uri, &first.headers, &first.body)
    };
    assert!(asked.iter().all(is_same));
    (server.count(), report.gave_up())
}

#[tokio::test]
async fn what_may_have_been_executed_is_sent_again_only_if_that_does_no_harm() {
    let not_again = (1, Some(GiveUp::NotIdempotent));
    let again = (4, Some(GiveUp::RetriesExhausted));
    for reply in [Reply::new(500, ""), Reply::new(502, ""), Reply::new(503, ""), Reply::new(504, ""), Reply::closed()] {
        for method in [Method::POST, Method::PATCH] {
            let label = format!("{method} {reply:?}");
            assert_eq!(requests(&reply, method.clone(), false, CallOptions::new()).await, not_again, "{label}");
            assert_eq!(requests(&reply, method.clone(), true, CallOptions::new()).await, again, "{label}");
            let said = CallOptions::new().idempotent(true);
            assert_eq!(requests(&reply, method, false, said).await, again, "{label}");
        }
        for method in [Method::GET, Method::PUT, Method::DELETE] {
            let label = format!("{method} {reply:?}");
            assert_eq!(requests(&reply, method.clone(), false, CallOptions::new()).await, again, "{label}");
            let said = CallOptions::new().idempotent(false);
            assert_eq!(requests(&reply, method, false, said).await, not_again, "{label}");
        }
    }
}

#[tokio::test]
async fn what_was_throttled_was_not_executed() {
    for reply in [Reply::new(429, ""), Reply::new(403, "").header("x-ratelimit-remaining", "0")] {
        let ended = requests(&reply, Method::POST, false, CallOptions::new()).await;
        assert_eq!(ended, (4, Some(GiveUp::RetriesExhausted)), "{reply:?}");
    }
}

#[tokio::test]
async fn what_the_resilience_says_goes_before_the_method_and_after_the_options() {
    for (said, by_call, expected) in [(true, None, 4), (true, Some(false), 1), (false, None, 1), (false, Some(true), 4)]
    {
        let server = Server::always(Reply::new(500, ""));
        let governor = governor(|api| api.max_retries(3));
        let resilience = under(&governor).idempotent(said);
        let client = with(&server, cloud_governor::middleware::GovernorMiddleware::new(scope(), resilience));
        let options = by_call.map_or(CallOptions::new(), |said| CallOptions::new().idempotent(said));
        let method = if said { Method::POST } else { Method::PUT };
        let result = client.request(method, URL).with_extension(options).send().await;
        assert_eq!((status(&result), server.count()), (500, expected), "{said} {by_call:?}");
    }
}

/// A body of these parts, which cannot be copied.
fn streamed(parts: Vec<Result<&'static str, std::io::Error>>) -> Body {
    let frames = parts.into_iter().map(|part| part.map(|part| Frame::data(Bytes::from(part))));
    Body::wrap(StreamBody::new(stream::iter(frames)))
}

#[tokio::test]
async fn a_streamed_body_is_paced_sent_once_and_counted() {
    for failure in [429, 503] {
        let server = Server::always(Reply::new(failure, "no"));
        let governor = governor(|api| api.max_retries(3));
        let request = client(&server, &governor).put(URL).body(streamed(vec![Ok("first "), Ok("second")]));
        let response = request.send().await.unwrap();
        assert_eq!((response.status().as_u16(), response.text().await.unwrap().as_str()), (failure, "no"));
        assert_eq!((server.count(), &server.asked()[0].body[..]), (1, &b"first second"[..]));
        let totals = totals(&governor);
        assert_eq!((totals.calls, totals.throttled, totals.gave_up), (1, 1, 1));
        // It takes no retry that it could not make.
        assert_eq!(totals.retries, 0);
    }
}

#[tokio::test]
async fn a_streamed_body_that_breaks_says_nothing_of_the_service() {
    let server = Server::always(Reply::ok());
    let governor = governor(|api| api.max_retries(3).breaker_failures(1));
    let broken = || streamed(vec![Ok("first "), Err(std::io::Error::other("the disk is gone"))]);
    for _ in 0..3 {
        let error = client(&server, &governor).put(URL).body(broken()).send().await.unwrap_err();
        let mut texts = std::iter::successors(Some(&error as &dyn std::error::Error), |error| error.source());
        assert!(texts.any(|error| error.to_string().contains("the disk is gone")), "{error:?}");
    }
    let totals = totals(&governor);
    assert_eq!((server.count(), totals.calls, totals.transient_errors, totals.gave_up), (0, 3, 0, 0));
    assert!(is_at_rest(&governor));
}

#[tokio::test]
async fn a_request_that_cannot_be_built_says_nothing_of_the_service() {
    let server = Server::always(Reply::ok());
    let governor = governor(|api| api.max_retries(3).breaker_failures(1));
    let error = client(&server, &governor).get("gopher://api.example.com/").send().await.unwrap_err();
    assert!(error.is_builder(), "{error:?}");
    let totals = totals(&governor);
    assert_eq!((server.count(), totals.gave_up, totals.retries, totals.breaker_trips), (0, 0, 0, 0));
    assert!(is_at_rest(&governor));
}
