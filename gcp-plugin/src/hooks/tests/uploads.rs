//! Uploads: several requests, one outcome.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use google_cloud_gax::error::Error;
use google_cloud_gax::retry_policy::RetryPolicy;
use google_cloud_gax::retry_result::RetryResult;
use google_cloud_gax::retry_state::RetryState;

use crate::testing::{ACCOUNT, Asked, Bench, Step, answered, fast, governor, inspect, totals};

/// As Storage wraps the policy of its uploads.
#[derive(Debug)]
struct ContinueOn308(Arc<dyn RetryPolicy>);

impl RetryPolicy for ContinueOn308 {
    fn on_error(&self, state: &RetryState, error: Error) -> RetryResult {
        match error.http_status_code() {
            Some(308) => RetryResult::Continue(error),
            _ => self.0.on_error(state, error),
        }
    }
}

fn upload() -> Asked {
    Asked::of(ACCOUNT).rpc(None)
}

fn uploading(bench: Bench) -> Bench {
    let policy = ContinueOn308(Arc::clone(&bench.policy));
    bench.policy(policy)
}

/// An upload that asks for headers `requests` times in each attempt of the loop, which end by the script; and the most
/// slots that were held at a time.
async fn send(bench: &Bench, requests: usize, script: &'static [Step]) -> (Result<u32, Error>, usize) {
    let most = Arc::new(AtomicUsize::new(0));
    let (sender, noted) = (bench.clone(), Arc::clone(&most));
    let mut attempt = 0;
    let inner = async move |_| {
        for _ in 0..requests {
            sender.headers().await?;
            noted.fetch_max(inspect(&sender.client.governor(), ACCOUNT).slots_in_use, Ordering::Relaxed);
        }
        attempt += 1;
        script[(attempt - 1).min(script.len() - 1)]()
    };
    let result = bench.recorded(&upload(), bench.looped(true, inner)).await;
    (result, most.load(Ordering::Relaxed))
}

#[tokio::test(start_paused = true)]
async fn each_request_takes_a_token_and_all_together_hold_one_slot() {
    let governor = governor(fast);
    let bench = uploading(Bench::new(&governor));
    let (result, most) = send(&bench, 3, &[|| Ok(1)]).await;
    result.unwrap();
    assert_eq!(most, 1);
    let totals = totals(&governor);
    assert_eq!((totals.operations, totals.calls, totals.transient_errors), (3, 3, 0));
    assert_eq!(inspect(&governor, ACCOUNT).slots_in_use, 0);
}

#[tokio::test(start_paused = true)]
async fn an_upload_that_fails_is_resumed_as_often_as_a_call_is_retried() {
    let governor = governor(|gcp| fast(gcp).max_retries(3));
    let bench = uploading(Bench::new(&governor));
    let (result, most) = send(&bench, 3, &[|| Err(answered(503))]).await;
    assert_eq!(result.unwrap_err().http_status_code(), Some(503));
    assert_eq!(most, 1);
    // Four attempts of the loop, of three requests each; the last of each failed.
    let totals = totals(&governor);
    assert_eq!((totals.calls, totals.transient_errors, totals.gave_up), (12, 4, 1));
    assert_eq!(inspect(&governor, ACCOUNT).slots_in_use, 0);
}

#[tokio::test(start_paused = true)]
async fn a_308_is_progress() {
    let governor = governor(|gcp| fast(gcp).breaker_failures(1).max_retries(1));
    let bench = uploading(Bench::new(&governor));
    const SCRIPT: &[Step] = &[|| Err(answered(308)), || Err(answered(308)), || Err(answered(308)), || Ok(1)];
    let (result, most) = send(&bench, 1, SCRIPT).await;
    result.unwrap();
    assert_eq!(most, 1);
    let totals = totals(&governor);
    assert_eq!((totals.calls, totals.transient_errors, totals.gave_up), (4, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_308_raises_the_rate_as_a_success_does() {
    let governor = governor(|gcp| gcp.max_rps(100.0).burst(100.0));
    let bench = uploading(Bench::new(&governor));
    let rate = || inspect(&governor, ACCOUNT).rate_rps;
    send(&bench, 1, &[|| Err(answered(429)), || Ok(1)]).await.0.unwrap();
    let slowed = rate();
    assert!(slowed < 100.0, "{slowed}");
    tokio::time::advance(std::time::Duration::from_secs(6)).await;
    // What ends it is a fatal answer, which raises nothing.
    send(&bench, 1, &[|| Err(answered(308)), || Err(answered(404))]).await.0.unwrap_err();
    assert!(rate() > slowed, "{}", rate());
}
