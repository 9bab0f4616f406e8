//! What a request says of itself: its options, its deadline, and that it is governed already.

use cloud_governor::{
    CallOptions, CallReport, GiveUp, Priority, Refusal, RefusalKind, Resilience, RetryPolicy, Scope, Stats,
    grpc::GrpcLayer,
};
use tokio::time::Instant;
use tower_layer::Layer;
use tower_service::Service;

use crate::common::{governor, secs};
use crate::fake::*;

fn with_options(options: CallOptions) -> http::Request<Body14> {
    let mut request = request();
    request.extensions_mut().insert(options);
    request
}

fn with_timeout(timeout: &str) -> http::Request<Body14> {
    let mut request = request();
    request.headers_mut().insert("grpc-timeout", timeout.parse().unwrap());
    request
}

/// The value in nanoseconds, of a header that counts in them or in a thousand of them.
fn nanos(sent: &Sent) -> u64 {
    let text = sent.headers["grpc-timeout"].to_str().unwrap();
    let (digits, unit) = text.split_at(text.len() - 1);
    assert!(digits.len() <= 8, "{text}");
    digits.parse::<u64>().unwrap()
        * match unit {
            "n" => 1,
            "u" => 1_000,
            "m" => 1_000_000,
            other => panic!("{other} in a timeout of seconds"),
        }
}

#[tokio::test(start_paused = true)]
async fn the_options_in_a_requests_extensions_govern_it_alone() {
    let (governor, channel, report) = (governor(""), Channel::new([in_headers(14)]), CallReport::new());
    let mut layered = governed(&governor, UNARY, retries(4), &channel);
    let other = Scope::new("gcp", "projects/other", "", "pubsub").with_operation("Publish");
    let options = CallOptions::new().policy(retries(1)).scope(other.clone()).priority(Priority::High).report(&report);
    assert_eq!(code(layered.call(with_options(options)).await).await, 14);
    assert_eq!((report.attempts(), report.gave_up()), (2, Some(GiveUp::RetriesExhausted)));
    assert_eq!(report.scope(), Some(other.clone()));
    assert_eq!(governor.summary().scopes.keys().collect::<Vec<_>>(), [&other]);
    let options = CallOptions::new().idempotent(false).report(&report);
    assert_eq!(code(layered.call(with_options(options)).await).await, 14);
    assert_eq!((channel.times(), report.gave_up()), (3, Some(GiveUp::NotIdempotent)));
    assert_eq!(code(layered.call(request()).await).await, 14);
    assert_eq!(channel.times(), 8);
}

#[tokio::test(start_paused = true)]
async fn a_request_costs_what_its_options_say_where_units_are_counted() {
    let (governor, channel) =
        (governor("ratelimit: { gcp: { max_rps: 0.001, burst: 10, counts: units } }"), Channel::new([message(0)]));
    let options = CallOptions::new().cost(std::num::NonZeroU32::new(7).unwrap());
    assert_eq!(code(governed(&governor, UNARY, retries(0), &channel).call(with_options(options)).await).await, 0);
    let left = governor.inspect(&scope()).unwrap().tokens;
    assert!((3.0..3.5).contains(&left), "{left}");
}

#[tokio::test(start_paused = true)]
async fn a_request_that_skips_is_sent_once_and_not_counted() {
    let (governor, channel) = (governor(""), Channel::new([in_headers(14)]));
    let answered = governed(&governor, UNARY, retries(4), &channel).call(with_options(CallOptions::new().skip())).await;
    assert_eq!((code(answered).await, channel.times(), governor.summary().totals.calls), (14, 1, 0));
}

#[tokio::test(start_paused = true)]
async fn the_layers_word_on_idempotence_goes_before_the_targets() {
    let (governor, channel) = (governor(""), Channel::new([in_headers(14)]));
    let resilience = Resilience::new().governor(&governor).idempotent(false);
    let mut layered = GrpcLayer::new(UNARY, resilience).layer(channel.clone());
    assert_eq!((code(layered.call(request()).await).await, channel.times()), (14, 1));
}

#[tokio::test(start_paused = true)]
async fn a_channel_that_is_governed_twice_is_governed_once() {
    let (governor, channel) = (governor(""), Channel::new([in_headers(14)]));
    let layer = GrpcLayer::new(UNARY, Resilience::new().governor(&governor).policy(retries(2)));
    let mut twice = layer.layer(layer.layer(channel.clone()));
    let answered = twice.call(request()).await.map(|answer| answer.headers()["grpc-status"].clone());
    assert_eq!(answered.unwrap(), "14");
    assert_eq!((channel.times(), governor.summary().totals.operations), (3, 1));
}

#[tokio::test(start_paused = true)]
async fn a_disabled_provider_is_called_once() {
    let (governor, channel) = (governor("ratelimit: { gcp: { enabled: false } }"), Channel::new([in_trailers(14)]));
    assert_eq!(code(send(&governor, UNARY, retries(4), &channel).await).await, 14);
    assert_eq!(code(send(&governor, STREAM, retries(4), &channel).await).await, 14);
    assert_eq!(channel.times(), 2);
}

#[tokio::test(start_paused = true)]
async fn each_send_carries_what_is_left_of_the_calls_time() {
    let (governor, channel) = (governor(""), Channel::new([in_headers(14), in_headers(14), message(0)]));
    let start = Instant::now();
    let answered = governed(&governor, UNARY, retries(4), &channel).call(with_timeout("60S")).await;
    assert_eq!(code(answered).await, 0);
    let sent: Vec<u64> = channel.sent().iter().map(nanos).collect();
    assert_eq!(sent[0], 60_000_000_000);
    assert!(sent[1] < sent[0] && sent[2] < sent[1]);
    let left = secs(60.0) - start.elapsed();
    assert!(u128::from(sent[2]) <= left.as_nanos() && left.as_nanos() - u128::from(sent[2]) < 1_000_000);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_cannot_be_sent_in_its_time_is_refused_and_not_sent() {
    let (governor, channel) = (governor("ratelimit: { gcp: { max_rps: 0.1, burst: 1 } }"), Channel::new([message(0)]));
    let mut layered = governed(&governor, UNARY, retries(4), &channel);
    assert_eq!(code(layered.call(with_timeout("1S")).await).await, 0);
    let error = layered.call(with_timeout("1S")).await.unwrap_err();
    assert_eq!(Refusal::find(&*error).unwrap().kind(), RefusalKind::DeadlineExceeded);
    assert_eq!(channel.times(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_not_answered_in_its_time_is_cut_off_and_not_sent_again() {
    let hangs = || pieces(vec![Piece::Data("mess"), Piece::Hangs]);
    for plan in [Plan::Never, hangs()] {
        let (governor, channel) = (governor(""), Channel::new([plan]));
        let start = Instant::now();
        let error = governed(&governor, UNARY, retries(4), &channel).call(with_timeout("2S")).await.unwrap_err();
        assert_eq!(Refusal::find(&*error).unwrap().kind(), RefusalKind::AttemptTimedOut);
        assert!(start.elapsed() >= secs(2.0) && start.elapsed() < secs(2.5));
        assert_eq!((channel.times(), governor.inspect(&scope()).unwrap().slots_in_use), (1, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn a_malformed_deadline_is_left_as_it_is() {
    for text in ["", "S", "10", "123456789S", "1.5S", "-1S", "+1S", "1s", "1 S", "10Sx", "ÿS"] {
        let channel = Channel::new([message(0)]);
        let mut request = request();
        let value = http::HeaderValue::from_bytes(text.as_bytes()).unwrap();
        request.headers_mut().insert("grpc-timeout", value.clone());
        assert_eq!(code(governed(&governor(""), UNARY, retries(0), &channel).call(request).await).await, 0);
        assert_eq!(channel.sent()[0].headers["grpc-timeout"], value);
    }
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_outlives_its_timeout_is_sent_again_the_body_and_readiness_included() {
    let policy = RetryPolicy::builder().attempt_timeout(secs(3.0)).max_retries(1).build().unwrap();
    for hangs in [Plan::Never, pieces(vec![Piece::Data("mess"), Piece::Hangs])] {
        let (governor, channel) = (governor(""), Channel::new([hangs.clone(), message(0)]));
        assert_eq!(code(send(&governor, UNARY, policy, &channel).await).await, 0);
        let lasting = Channel::new([hangs]);
        let error = send(&governor, UNARY, policy, &lasting).await.unwrap_err();
        assert_eq!(Refusal::find(&*error).unwrap().kind(), RefusalKind::AttemptTimedOut);
        assert_eq!((channel.times(), lasting.times()), (2, 2));
    }
    let (governor, mut channel) = (governor(""), Channel::new([message(0)]));
    channel.is_stuck = true;
    let error = send(&governor, UNARY, policy, &channel).await.unwrap_err();
    assert_eq!(Refusal::find(&*error).unwrap().kind(), RefusalKind::AttemptTimedOut);
    assert_eq!((channel.times(), governor.inspect(&scope()).unwrap().slots_in_use), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_run_counts_its_own_calls_those_of_its_spawned_tasks_and_open_streams_too() {
    for target in [UNARY, STREAM] {
        let (governor, channel, stats) = (governor(""), Channel::new([in_trailers(14), message(0)]), Stats::new());
        let answered = || {
            let (governor, channel, target) = (governor.clone(), channel.clone(), target.clone());
            async move { code(send(&governor, target, retries(1), &channel).await).await }
        };
        answered().await;
        let outside = governor.summary().totals;
        stats.bind(answered()).await;
        tokio::spawn(stats.bind(answered())).await.unwrap();
        let (run, all) = (governor.summary_of(&stats).totals, governor.summary().totals);
        assert_eq!((run.operations, all.operations), (2, 3));
        assert_eq!(
            (run.calls, run.transient_errors),
            (all.calls - outside.calls, all.transient_errors - outside.transient_errors)
        );
        assert!(all.transient_errors > 0);
    }
}
