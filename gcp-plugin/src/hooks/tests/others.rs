//! Requests whose loop has not all of our hooks.

use google_cloud_gax::backoff_policy::BackoffPolicy;
use google_cloud_gax::retry_policy::{AlwaysRetry, NeverRetry, RetryPolicyExt};
use google_cloud_gax::retry_result::RetryResult;
use google_cloud_gax::retry_state::RetryState;
use google_cloud_gax::retry_throttler::RetryThrottler;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::testing::{ACCOUNT, Asked, Bench, answered, fast, governor, inspect, seconds, totals};
use crate::{CallOptions, CallReport, call};
use cloud_governor::{BreakerState, GiveUp};

#[tokio::test(start_paused = true)]
async fn a_call_sites_never_retry_is_obeyed_and_its_failures_are_counted() {
    let governor = governor(|gcp| fast(gcp).breaker_failures(2));
    let bench = Bench::new(&governor).policy(NeverRetry);
    let report = CallReport::new();
    let options = CallOptions::new().report(&report);
    let watched = governor.clone();
    let answer = move |_| {
        assert_eq!(inspect(&watched, ACCOUNT).slots_in_use, 1);
        std::future::ready(Err(answered(500)))
    };
    call(options, bench.send(Asked::of(ACCOUNT), answer)).await.unwrap_err();
    bench.play(Asked::of(ACCOUNT), &[|| Err(answered(500))]).await.unwrap_err();
    assert_eq!(bench.sent(), 2);
    assert_eq!(report.gave_up(), Some(GiveUp::Stopped));
    let totals = totals(&governor);
    assert_eq!((totals.calls, totals.transient_errors, totals.gave_up), (2, 2, 2));
    assert_ne!(inspect(&governor, ACCOUNT).breaker, BreakerState::Closed);
}

#[tokio::test(start_paused = true)]
async fn a_call_sites_own_policy_is_paced_by_the_governor() {
    let governor = governor(|gcp| gcp.max_rps(1.0).burst(1.0).max_retries(1));
    let bench = Bench::new(&governor).policy(AlwaysRetry.with_attempt_limit(5));
    let began = tokio::time::Instant::now();
    bench.play(Asked::of(ACCOUNT), &[|| Err(answered(500))]).await.unwrap_err();
    assert_eq!(bench.sent(), 5);
    assert!(began.elapsed() >= seconds(4), "{:?}", began.elapsed());
    assert_eq!(totals(&governor).transient_errors, 5);
}

/// Stops each retry.
#[derive(Debug)]
struct Stops;

impl RetryThrottler for Stops {
    fn throttle_retry_attempt(&self) -> bool {
        true
    }

    fn on_retry_failure(&mut self, _: &RetryResult) {}

    fn on_success(&mut self) {}
}

#[tokio::test(start_paused = true)]
async fn a_call_sites_throttler_that_stops_a_retry_gives_the_callers_own_error() {
    let governor = governor(fast);
    let mut bench = Bench::new(&governor);
    bench.throttler = Arc::new(Mutex::new(Stops));
    let error = bench.play(Asked::of(ACCOUNT), &[|| Err(answered(500))]).await.unwrap_err();
    assert_eq!((bench.sent(), error.http_status_code()), (1, Some(500)));
    assert_eq!(totals(&governor).gave_up, 1);
}

/// A backoff that no deadline leaves time for.
#[derive(Debug)]
struct Slow;

impl BackoffPolicy for Slow {
    fn on_failure(&self, _: &RetryState) -> Duration {
        seconds(100_000)
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_sites_backoff_that_ends_the_loop_leaves_the_caller_an_error_that_says_the_same() {
    let governor = governor(fast);
    let mut bench = Bench::new(&governor);
    bench.backoff = Arc::new(Slow);
    let error = bench.play(Asked::of(ACCOUNT), &[|| Err(answered(500))]).await.unwrap_err();
    assert!(error.is_exhausted());
    assert!(error.to_string().contains("status 500"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_stream_is_paced_and_counted_and_holds_no_slot() {
    let governor = governor(|gcp| fast(gcp).account_concurrency(1.try_into().unwrap()));
    let bench = Bench::new(&governor);
    let asked = Asked::of(ACCOUNT).rpc(Some("google.storage.v2.Storage/BidiReadObject")).grpc();
    for _ in 0..5 {
        let opened = async {
            bench.headers().await?;
            Ok(1)
        };
        bench.recorded(&asked, opened).await.unwrap();
        assert_eq!(inspect(&governor, ACCOUNT).slots_in_use, 0);
    }
    assert_eq!(totals(&governor).calls, 5);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_cannot_be_made_says_nothing_of_the_service() {
    use google_cloud_gax::error::Error;
    let governor = governor(|gcp| fast(gcp).breaker_failures(1));
    let bench = Bench::new(&governor);
    let error = bench.play(Asked::of(ACCOUNT), &[|| Err(Error::ser("no such name"))]).await.unwrap_err();
    assert!(error.is_serialization());
    assert_eq!(bench.sent(), 1);
    let inspection = inspect(&governor, ACCOUNT);
    assert_eq!((inspection.slots_in_use, inspection.breaker), (0, BreakerState::Closed));
    assert_eq!(totals(&governor).transient_errors, 0);
}

#[tokio::test(start_paused = true)]
async fn a_stream_whose_opening_is_told_is_accounted_for() {
    let governor = governor(|gcp| fast(gcp).breaker_failures(1));
    let bench = Bench::new(&governor).policy(NeverRetry);
    let asked = Asked::of(ACCOUNT).rpc(Some("google.storage.v2.Storage/BidiReadObject")).grpc();
    bench.play(asked, &[|| Err(answered(500))]).await.unwrap_err();
    assert_eq!(totals(&governor).transient_errors, 1);
    assert_ne!(inspect(&governor, ACCOUNT).breaker, BreakerState::Closed);
}
