//! Unary RPCs: what is sent again, what comes back, and what the governor learns.

use std::io;

use cloud_governor::{BreakerState, Refusal, RefusalKind, RetryPolicy};
use http_body_util::Full;
use tokio::time::Instant;
use tonic::{Code, Status};
use tower_service::Service;

use crate::common::{governor, secs};
use crate::fake::*;

const UNAVAILABLE: u8 = 14;

#[tokio::test(start_paused = true)]
async fn a_lasting_failure_is_sent_exactly_as_often_as_the_policy_says_and_comes_back_as_it_is() {
    let reset = || io::Error::from(io::ErrorKind::ConnectionReset);
    for plan in [in_headers(UNAVAILABLE), in_trailers(UNAVAILABLE), message(UNAVAILABLE), error(reset)] {
        for most in [0, 1, 4] {
            let (governor, channel) = (governor(""), Channel::new([plan.clone()]));
            let (_, status) = read(send(&governor, UNARY, retries(most), &channel).await).await;
            let is_error = std::error::Error::source(&status).is_some_and(|source| source.is::<io::Error>());
            assert!(status.code() == Code::Unavailable || is_error, "{status:?}");
            let totals = governor.summary().totals;
            assert_eq!(channel.times(), most as usize + 1);
            assert_eq!((totals.operations, totals.calls, totals.gave_up), (1, u64::from(most) + 1, 1));
            assert_eq!(totals.transient_errors, u64::from(most) + 1);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn each_send_has_the_same_body_with_tonics_two_body_types() {
    async fn sends<B: cloud_governor::grpc::ReplayBody>(body: B) -> Vec<Sent>
    where
        B::Error: std::fmt::Debug + Send,
    {
        let (governor, channel) = (governor(""), Channel::new([in_headers(UNAVAILABLE), message(0)]));
        let answered = governed(&governor, UNARY, retries(3), &channel).call(with_body(body)).await;
        assert_eq!(read(answered).await.0, "message");
        channel.sent()
    }
    let never = |never: std::convert::Infallible| match never {};
    let body12 = http_body_util::BodyExt::map_err(Full::from("request"), never);
    for sent in [sends(Body14::new(Full::from("request"))).await, sends(Body12::new(body12)).await] {
        assert_eq!(sent.iter().map(|sent| &*sent.body).collect::<Vec<_>>(), [b"request", b"request"]);
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_behind_the_headers_is_sent_again_and_the_answer_is_unchanged() {
    let (governor, channel) = (governor(""), Channel::new([in_trailers(UNAVAILABLE), message(8), message(0)]));
    let (text, status) = read(send(&governor, UNARY, retries(5), &channel).await).await;
    assert_eq!((text.as_str(), status.code(), channel.times()), ("message", Code::Ok, 3));
    let totals = governor.summary().totals;
    assert_eq!((totals.transient_errors, totals.throttled, totals.retries), (1, 1, 2));
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_breaks_or_ends_without_a_status_is_sent_again() {
    let broken = pieces(vec![Piece::Data("mes"), Piece::Breaks(io::ErrorKind::UnexpectedEof)]);
    let (governor, channel) = (governor(""), Channel::new([broken, pieces(vec![Piece::Data("mes")]), message(0)]));
    assert_eq!(read(send(&governor, UNARY, retries(5), &channel).await).await.0, "message");
    assert_eq!((channel.times(), governor.summary().totals.transient_errors), (3, 2));
}

#[tokio::test(start_paused = true)]
async fn what_may_have_been_executed_is_not_sent_again_unless_it_is_idempotent() {
    let target = Target { idempotent: Some(false), ..UNARY };
    let channel = Channel::new([in_headers(UNAVAILABLE)]);
    assert_eq!(code(send(&governor(""), target.clone(), retries(5), &channel).await).await, UNAVAILABLE);
    assert_eq!(channel.times(), 1);
    let refused = Channel::new([error(|| io::Error::from(io::ErrorKind::ConnectionRefused)), message(0)]);
    assert_eq!(code(send(&governor(""), target, retries(5), &refused).await).await, 0);
    assert_eq!(refused.times(), 2, "nothing was sent");
}

#[tokio::test(start_paused = true)]
async fn fatal_statuses_come_back_at_once() {
    for plan in [in_headers(5), in_trailers(7), message(3)] {
        let (governor, channel) = (governor(""), Channel::new([plan]));
        assert!([3, 5, 7].contains(&code(send(&governor, UNARY, retries(5), &channel).await).await));
        assert_eq!((channel.times(), governor.summary().totals.gave_up), (1, 0));
    }
}

/// A load balancer's page: gRPC's own mapping would take a 429 for UNAVAILABLE, which lowers no rate.
#[tokio::test(start_paused = true)]
async fn an_answer_from_before_the_service_is_known_by_its_http_status() {
    let page =
        |status| Plan::Answer(status, headers(&[("retry-after", "7")]), vec![Piece::Data("<html>"), Piece::Hangs]);
    let (governor, channel) = (governor(""), Channel::new([page(429), page(502), message(0)]));
    let start = Instant::now();
    assert_eq!(code(send(&governor, UNARY, retries(5), &channel).await).await, 0);
    let totals = governor.summary().totals;
    assert_eq!((totals.throttled, totals.transient_errors, channel.times()), (1, 1, 3));
    assert!(start.elapsed() >= secs(14.0), "each asked for seven seconds");
}

#[tokio::test(start_paused = true)]
async fn details_give_the_wait_and_name_the_limit_and_garbage_for_details_does_no_harm() {
    use tonic_types::{ErrorDetails, StatusExt};
    let details = ErrorDetails::with_retry_info(Some(secs(12.0)));
    let status = Status::with_error_details(Code::ResourceExhausted, "quota", details);
    let mut told = http::HeaderMap::new();
    status.add_header(&mut told).unwrap();
    let garbage = headers(&[("grpc-status", "14"), ("grpc-status-details-bin", "%%not base64%%")]);
    let plans = [Plan::Answer(200, told, Vec::new()), Plan::Answer(200, garbage, Vec::new()), message(0)];
    let (governor, channel) = (governor(""), Channel::new(plans));
    let start = Instant::now();
    assert_eq!(code(send(&governor, UNARY, retries(5), &channel).await).await, 0);
    assert!(start.elapsed() >= secs(12.0));
    assert!(governor.inspect(&scope()).unwrap().rate_rps <= 5.0, "the target heard of the limit");
}

#[tokio::test(start_paused = true)]
async fn a_refusal_reaches_the_caller_in_the_statuss_source_chain() {
    let governor = governor("ratelimit: { gcp: { breaker: { failures: 1 } } }");
    let channel = Channel::new([in_headers(UNAVAILABLE)]);
    assert_eq!(code(send(&governor, UNARY, retries(0), &channel).await).await, UNAVAILABLE);
    let (_, status) = read(send(&governor, UNARY, retries(0), &channel).await).await;
    let refusal = Refusal::find(&status).unwrap();
    assert_eq!((refusal.kind(), status.code(), channel.times()), (RefusalKind::CircuitOpen, Code::Unknown, 1));
    assert!(status.message().starts_with("refused by the client-side governor (circuit_open) for gcp/projects/p"));
}

#[tokio::test(start_paused = true)]
async fn the_last_answer_comes_back_when_the_next_attempt_is_refused() {
    let governor = governor("ratelimit: { gcp: { max_rps: 0.1, burst: 1, deadline: 5 } }");
    for plan in [in_headers(UNAVAILABLE), message(UNAVAILABLE)] {
        let channel = Channel::new([plan]);
        governor.reset();
        assert_eq!(code(send(&governor, UNARY, RetryPolicy::default(), &channel).await).await, UNAVAILABLE);
        assert_eq!(channel.times(), 1);
    }
}

/// A token that cannot be had says nothing of the service, however often.
#[tokio::test(start_paused = true)]
async fn what_goes_wrong_on_this_side_comes_back_as_it_is_and_never_opens_the_circuit() {
    let governor = governor("ratelimit: { gcp: { breaker: { failures: 1 } } }");
    let channel = Channel::new([error(|| Status::unauthenticated("token error: too many requests"))]);
    for _ in 0..5 {
        let error = send(&governor, UNARY, retries(5), &channel).await.unwrap_err();
        assert_eq!(error.downcast::<Status>().unwrap().code(), Code::Unauthenticated);
    }
    let (seen, totals) = (governor.inspect(&scope()).unwrap(), governor.summary().totals);
    assert_eq!((seen.breaker, seen.slots_in_use, channel.times()), (BreakerState::Closed, 0, 5));
    assert_eq!((totals.gave_up, totals.transient_errors, totals.throttled), (0, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_fails_on_this_side_proves_nothing_and_the_next_call_is_the_probe() {
    let governor = governor("ratelimit: { gcp: { breaker: { failures: 1, cooldown: 30 } } }");
    let token = error(|| Status::unauthenticated("token error"));
    let channel = Channel::new([in_headers(UNAVAILABLE), token, message(0)]);
    for (expected, is_closed) in [(UNAVAILABLE, false), (16, false), (0, true)] {
        assert_eq!(code(send(&governor, UNARY, retries(0), &channel).await).await, expected);
        assert_eq!(governor.inspect(&scope()).unwrap().breaker == BreakerState::Closed, is_closed, "{expected}");
        tokio::time::advance(secs(31.0)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_refusal_of_another_governed_call_inside_is_not_counted_and_not_sent_again() {
    let inner = governor("ratelimit: { github: { deadline: 1, max_rps: 0.001, burst: 1 } }");
    crate::common::admit(&mut inner.call(&crate::common::scope())).await.finish(cloud_governor::Outcome::Success);
    let refusal = inner.call(&crate::common::scope()).admit().await.unwrap_err();
    let bare = refusal.clone();
    let in_a_status = move || {
        let mut status = Status::unavailable("no token");
        status.set_source(std::sync::Arc::new(refusal.clone()));
        status
    };
    for plan in [error(move || bare.clone()), error(in_a_status)] {
        let (governor, channel) = (governor(""), Channel::new([plan]));
        let error = send(&governor, UNARY, retries(5), &channel).await.unwrap_err();
        assert_eq!(Refusal::find(&*error).unwrap().scope(), &crate::common::scope());
        let totals = governor.summary().totals;
        assert_eq!((channel.times(), totals.gave_up, totals.transient_errors), (1, 0, 0));
    }
}

/// github.com/grpc/proposal, A6.
#[tokio::test(start_paused = true)]
async fn a_servers_pushback_is_heeded() {
    let pushes = |value: &str| {
        let told = headers(&[("grpc-status", "14"), ("grpc-retry-pushback-ms", value)]);
        Channel::new([Plan::Answer(200, told, Vec::new()), message(0)])
    };
    let (start, later) = (Instant::now(), pushes("45000"));
    assert_eq!(code(send(&governor(""), UNARY, retries(3), &later).await).await, 0);
    assert!(start.elapsed() >= secs(45.0));
    for value in ["-1", "never"] {
        let channel = pushes(value);
        assert_eq!((code(send(&governor(""), UNARY, retries(3), &channel).await).await, channel.times()), (14, 1));
    }
}

/// By text it would be a throttle. A service's word comes in a response.
#[tokio::test(start_paused = true)]
async fn the_mere_text_of_a_channels_error_is_not_the_services_word() {
    let (governor, channel) = (governor(""), Channel::new([error(|| "identity provider: too many requests")]));
    let error = send(&governor, UNARY, retries(3), &channel).await.unwrap_err();
    assert_eq!(error.to_string(), "identity provider: too many requests");
    assert_eq!((channel.times(), governor.summary().totals.throttled), (1, 0));
}
