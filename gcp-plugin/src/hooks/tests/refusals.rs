//! What the governor refuses, and what the caller gets.

use std::sync::Arc;

use cloud_governor::{BreakerState, GiveUp, RefusalKind, RetryPolicy};
use tokio::sync::Notify;

use crate::testing::{ACCOUNT, Asked, Bench, answered, fast, governor, inspect, retry_after, seconds, totals};
use crate::{CallOptions, CallReport, call, refusal};

fn policy(retries: u32) -> RetryPolicy {
    RetryPolicy::builder().max_retries(retries).build().unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_refused_first_attempt_is_found_behind_the_error_and_does_not_speak_of_credentials() {
    let governor = governor(|gcp| fast(gcp).max_retries(0).breaker_failures(1));
    let bench = Bench::new(&governor);
    bench.play(Asked::of(ACCOUNT), &[|| Err(answered(500))]).await.unwrap_err();
    let error = bench.play(Asked::of(ACCOUNT), &[|| Ok(1)]).await.unwrap_err();
    let found = refusal(&error).expect("a refusal");
    assert_eq!(found.kind(), RefusalKind::CircuitOpen);
    assert!(found.retry_after().is_some());
    assert!(error.to_string().starts_with("refused by the client-side governor (circuit_open)"), "{error}");
    assert_eq!(bench.sent(), 1);
    assert_eq!(totals(&governor).rejected, 1);
}

#[tokio::test(start_paused = true)]
async fn a_refused_retry_gives_the_caller_its_own_last_error() {
    let governor = governor(|gcp| fast(gcp).breaker_failures(1));
    let bench = Bench::new(&governor);
    let report = CallReport::new();
    let waits = call(
        CallOptions::new().report(&report),
        bench.play(Asked::of(ACCOUNT), &[|| Err(retry_after(500, 10)), || Ok(1)]),
    );
    let opens = call(policy(0), bench.play(Asked::of(ACCOUNT), &[|| Err(answered(500))]));
    let (waited, opened) = tokio::join!(waits, opens);
    opened.unwrap_err();
    let error = waited.unwrap_err();
    assert_eq!(error.http_status_code(), Some(500));
    assert!(error.http_headers().unwrap().contains_key("retry-after"), "its own, not the other's");
    assert!(refusal(&error).is_none());
    assert_eq!(report.gave_up(), Some(GiveUp::CircuitOpen));
    assert_eq!(bench.sent(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_cannot_end_before_the_deadline_is_refused_at_once() {
    let governor = governor(|gcp| gcp.max_rps(0.1).burst(1.0));
    let bench = Bench::new(&governor);
    bench.play(Asked::of(ACCOUNT), &[|| Ok(1)]).await.unwrap();
    let hasty = RetryPolicy::builder().deadline(seconds(2)).build().unwrap();
    let error = call(hasty, bench.play(Asked::of(ACCOUNT), &[|| Ok(1)])).await.unwrap_err();
    assert_eq!(refusal(&error).expect("a refusal").kind(), RefusalKind::DeadlineExceeded);
    assert_eq!(bench.sent(), 1);
}

#[tokio::test(start_paused = true)]
async fn after_the_cooldown_one_probe_is_let_through_and_the_others_are_refused() {
    let governor = governor(|gcp| fast(gcp).max_retries(0).breaker_failures(1).breaker_cooldown(seconds(30)));
    let bench = Bench::new(&governor);
    bench.play(Asked::of(ACCOUNT), &[|| Err(answered(500))]).await.unwrap_err();
    tokio::time::advance(seconds(31)).await;
    let answer = Arc::new(Notify::new());
    let probes = (0..5).map(|_| {
        let (bench, answer) = (bench.clone(), Arc::clone(&answer));
        let slowly = move |_| {
            let answer = Arc::clone(&answer);
            async move {
                answer.notified().await;
                Ok(1)
            }
        };
        tokio::spawn(bench.send(Asked::of(ACCOUNT), slowly))
    });
    let probes: Vec<_> = probes.collect();
    tokio::time::sleep(seconds(1)).await;
    assert_eq!(bench.sent(), 2, "one probe");
    answer.notify_one();
    let mut refused = 0;
    for probe in probes {
        if let Err(error) = probe.await.unwrap() {
            assert_eq!(refusal(&error).expect("a refusal").kind(), RefusalKind::CircuitOpen);
            refused += 1;
        }
    }
    assert_eq!(refused, 4);
    assert_eq!(inspect(&governor, ACCOUNT).breaker, BreakerState::Closed);
}
