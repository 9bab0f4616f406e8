//! Answers of many messages: paced and counted, never sent again once they have begun.

use std::io;

use cloud_governor::{BreakerState, Governor};
use http_body_util::BodyExt;

use crate::common::{governor, secs};
use crate::fake::*;

const UNAVAILABLE: u8 = 14;
/// A circuit that opens at the first call that gives up.
const FRAIL: &str = "ratelimit: { gcp: { breaker: { failures: 1, cooldown: 30 } } }";

fn breaker(governor: &Governor) -> BreakerState {
    governor.inspect(&scope()).unwrap().breaker
}

fn slots(governor: &Governor) -> usize {
    governor.inspect(&scope()).unwrap().slots_in_use
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_fails_in_its_headers_is_sent_again() {
    let (governor, channel) = (governor(""), Channel::new([in_headers(UNAVAILABLE), message(0)]));
    assert_eq!(code(send(&governor, STREAM, retries(5), &channel).await).await, 0);
    assert_eq!((channel.times(), governor.summary().totals.transient_errors), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_fails_before_its_first_message_counts_and_is_not_sent_again() {
    let breaks = pieces(vec![Piece::Breaks(io::ErrorKind::ConnectionReset)]);
    for plan in
        [in_trailers(UNAVAILABLE), breaks, pieces(Vec::new()), pieces(vec![Piece::Data(""), trailers(UNAVAILABLE)])]
    {
        let (governor, channel) = (governor(FRAIL), Channel::new([plan]));
        assert_ne!(code(send(&governor, STREAM, retries(5), &channel).await).await, 0);
        let totals = governor.summary().totals;
        assert_eq!((channel.times(), totals.transient_errors, totals.gave_up), (1, 1, 1));
        assert_eq!(breaker(&governor), BreakerState::Open);
    }
}

#[tokio::test(start_paused = true)]
async fn a_throttle_before_the_first_message_lowers_the_rate() {
    let (governor, channel) = (governor(""), Channel::new([in_trailers(8)]));
    assert_eq!(code(send(&governor, STREAM, retries(5), &channel).await).await, 8);
    assert_eq!((channel.times(), governor.summary().totals.throttled), (1, 1));
    assert!(governor.inspect(&scope()).unwrap().rate_rps < 20.0);
}

/// Servers end long streams with UNAVAILABLE as a matter of course.
#[tokio::test(start_paused = true)]
async fn what_ends_a_stream_that_was_delivering_is_not_counted() {
    for last in [trailers(UNAVAILABLE), trailers(8), Piece::Breaks(io::ErrorKind::ConnectionReset)] {
        let (governor, channel) = (governor(FRAIL), Channel::new([pieces(vec![Piece::Data("one"), last])]));
        let (text, status) = read(send(&governor, STREAM, retries(5), &channel).await).await;
        assert_eq!(text, "one");
        assert_ne!(status.code(), tonic::Code::Ok);
        let totals = governor.summary().totals;
        assert_eq!((totals.transient_errors, totals.throttled, totals.gave_up), (0, 0, 0));
        assert_eq!((breaker(&governor), channel.times()), (BreakerState::Closed, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn an_open_stream_holds_no_slot_and_one_that_is_dropped_says_nothing() {
    let governor = governor("ratelimit: { gcp: { account_concurrency: 1, breaker: { failures: 1 } } }");
    let channel = Channel::new([pieces(vec![Piece::Hangs]), pieces(vec![Piece::Data("one"), Piece::Hangs])]);
    let silent = send(&governor, STREAM, retries(5), &channel).await.unwrap();
    assert_eq!(slots(&governor), 0);
    let mut delivering = send(&governor, STREAM, retries(5), &channel).await.unwrap().into_body();
    assert_eq!(delivering.frame().await.unwrap().unwrap().into_data().unwrap(), "one");
    drop((silent, delivering));
    let totals = governor.summary().totals;
    assert_eq!((totals.calls, totals.gave_up, totals.transient_errors), (2, 0, 0));
    assert_eq!((slots(&governor), breaker(&governor)), (0, BreakerState::Closed));
}

#[tokio::test(start_paused = true)]
async fn a_probe_settles_at_the_streams_headers() {
    let (governor, channel) = (governor(FRAIL), Channel::new([in_headers(UNAVAILABLE), pieces(vec![Piece::Hangs])]));
    assert_eq!(code(send(&governor, STREAM, retries(0), &channel).await).await, UNAVAILABLE);
    assert_eq!(breaker(&governor), BreakerState::Open);
    tokio::time::advance(secs(31.0)).await;
    let open = send(&governor, STREAM, retries(0), &channel).await.unwrap();
    assert_eq!(breaker(&governor), BreakerState::Closed);
    drop(open);
}

#[tokio::test(start_paused = true)]
async fn a_probe_whose_stream_never_answers_frees_its_place_when_it_is_dropped() {
    let (governor, channel) = (governor(FRAIL), Channel::new([in_headers(UNAVAILABLE), Plan::Never, message(0)]));
    assert_eq!(code(send(&governor, STREAM, retries(0), &channel).await).await, UNAVAILABLE);
    tokio::time::advance(secs(31.0)).await;
    let hangs = tokio::time::timeout(secs(1.0), send(&governor, STREAM, retries(0), &channel)).await;
    assert!(hangs.is_err());
    assert_eq!(code(send(&governor, STREAM, retries(0), &channel).await).await, 0);
    assert_eq!(breaker(&governor), BreakerState::Closed);
}

/// It is a stream to all intents: what has come is passed on, and it is not sent again.
#[tokio::test(start_paused = true)]
async fn a_unary_answer_that_is_longer_than_what_is_kept_is_passed_on_whole() {
    use cloud_governor::Resilience;
    use cloud_governor::grpc::GrpcLayer;
    use tower_layer::Layer;
    use tower_service::Service;
    let plan = pieces(vec![Piece::Data(""), Piece::Data("mess"), Piece::Data("age"), trailers(UNAVAILABLE)]);
    let (governor, channel) = (governor(""), Channel::new([plan]));
    let layer = GrpcLayer::new(UNARY, Resilience::new().governor(&governor)).keep(6);
    let (text, status) = read(layer.layer(channel.clone()).call(request()).await).await;
    assert_eq!((text.as_str(), status.code(), channel.times()), ("message", tonic::Code::Unavailable, 1));
    assert_eq!((governor.summary().totals.gave_up, slots(&governor)), (0, 0));
}
