//! What is sent how often, and what is counted.

use std::sync::Arc;
use std::sync::Mutex;

use cloud_governor::{GiveUp, RetryPolicy};

use crate::testing::{ACCOUNT, Asked, Bench, answered, fast, governor, leaf, retry_after, seconds, totals};
use crate::{CallOptions, CallReport, call};

#[tokio::test(start_paused = true)]
async fn two_failures_and_an_answer_are_one_call_of_three_attempts() {
    let governor = governor(fast);
    let bench = Bench::new(&governor);
    let result = bench.play(Asked::of(ACCOUNT), &[|| Err(answered(429)), || Err(answered(500)), || Ok(7)]).await;
    assert_eq!(result.unwrap(), 7);
    assert_eq!(bench.sent(), 3);
    let totals = totals(&governor);
    assert_eq!((totals.operations, totals.calls, totals.retries, totals.gave_up), (1, 3, 2, 0));
    assert_eq!((totals.throttled, totals.transient_errors), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_permanent_failure_is_sent_max_retries_plus_one_times_and_is_the_callers_own() {
    let governor = governor(|gcp| fast(gcp).max_retries(4));
    let bench = Bench::new(&governor);
    let error = bench.play(Asked::of(ACCOUNT), &[|| Err(answered(500))]).await.unwrap_err();
    assert_eq!(bench.sent(), 5);
    assert_eq!(error.http_status_code(), Some(500));
    let totals = totals(&governor);
    assert_eq!((totals.operations, totals.calls, totals.gave_up), (1, 5, 1));
}

#[tokio::test(start_paused = true)]
async fn a_fatal_answer_is_the_callers_at_once() {
    let governor = governor(fast);
    let bench = Bench::new(&governor);
    let error = bench.play(Asked::of(ACCOUNT), &[|| Err(answered(404))]).await.unwrap_err();
    assert_eq!((bench.sent(), error.http_status_code()), (1, Some(404)));
    assert_eq!(totals(&governor).gave_up, 0);
}

#[tokio::test(start_paused = true)]
async fn a_retry_waits_for_retry_after_by_the_governors_clock() {
    let governor = governor(fast);
    let bench = Bench::new(&governor);
    let began = tokio::time::Instant::now();
    bench.play(Asked::of(ACCOUNT), &[|| Err(retry_after(429, 7)), || Ok(1)]).await.unwrap();
    let took = began.elapsed();
    assert!((seconds(7)..seconds(10)).contains(&took), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn an_attempt_is_admitted_before_it_is_sent_and_settled_before_the_next() {
    let governor = governor(fast);
    let bench = Bench::new(&governor);
    let states = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&states);
    let watched = governor.clone();
    let answer = move |number| {
        let totals = totals(&watched);
        let slots = watched.inspect(&leaf(ACCOUNT)).unwrap().slots_in_use;
        noted.lock().unwrap().push((totals.calls, totals.transient_errors, slots));
        async move { if number < 3 { Err(answered(500)) } else { Ok(1) } }
    };
    bench.send(Asked::of(ACCOUNT), answer).await.unwrap();
    assert_eq!(*states.lock().unwrap(), [(1, 0, 1), (2, 1, 1), (3, 2, 1)]);
    assert_eq!(governor.inspect(&leaf(ACCOUNT)).unwrap().slots_in_use, 0);
}

#[tokio::test(start_paused = true)]
async fn a_deadline_that_leaves_no_time_to_retry_ends_with_the_callers_own_error() {
    let governor = governor(fast);
    let bench = Bench::new(&governor);
    let report = CallReport::new();
    let options =
        CallOptions::new().policy(RetryPolicy::builder().deadline(seconds(5)).build().unwrap()).report(&report);
    let error = call(options, bench.play(Asked::of(ACCOUNT), &[|| Err(retry_after(429, 60))])).await.unwrap_err();
    assert_eq!((bench.sent(), error.http_status_code()), (1, Some(429)));
    assert_eq!(report.gave_up(), Some(GiveUp::DeadlineExceeded));
    assert_eq!(report.attempts(), 1);
    assert_eq!(report.scope(), Some(leaf(ACCOUNT).with_operation("ListSecrets")));
}

#[tokio::test(start_paused = true)]
async fn an_empty_budget_leaves_two_free_retries() {
    let governor = governor(|gcp| fast(gcp).retry_budget(0));
    let bench = Bench::new(&governor);
    let report = CallReport::new();
    let options = CallOptions::new().report(&report);
    call(options, bench.play(Asked::of(ACCOUNT), &[|| Err(answered(500))])).await.unwrap_err();
    assert_eq!(bench.sent(), 3);
    assert_eq!(report.gave_up(), Some(GiveUp::RetryBudgetExhausted));
}

#[tokio::test(start_paused = true)]
async fn the_loop_is_told_how_long_an_attempt_may_take() {
    let governor = governor(|gcp| gcp.attempt_timeout(seconds(20)).deadline(seconds(90)));
    let bench = Bench::new(&governor);
    let limits = Arc::new(Mutex::new(Vec::new()));
    let (sender, noted) = (bench.clone(), Arc::clone(&limits));
    let inner = async move |limit| {
        sender.headers().await?;
        let mut limits = noted.lock().unwrap();
        limits.push(limit);
        if limits.len() < 2 { Err(retry_after(429, 80)) } else { Ok(1) }
    };
    bench.recorded(&Asked::of(ACCOUNT), bench.looped(true, inner)).await.unwrap();
    // The second is asked for before the wait; what the deadline leaves after it bounds the wait itself.
    assert_eq!(*limits.lock().unwrap(), [Some(seconds(20)), Some(seconds(20))]);
    let policy = RetryPolicy::builder().attempt_timeout(None).deadline(seconds(30)).build().unwrap();
    let limit = call(policy, async {
        let state = google_cloud_gax::retry_state::RetryState::new(true);
        bench.policy.remaining_time(&state.set_start(tokio::time::Instant::now().into_std() - seconds(10)))
    });
    assert_eq!(limit.await, Some(seconds(20)));
}

#[tokio::test(start_paused = true)]
async fn a_disabled_provider_is_called_once_and_counted() {
    let governor = governor(|gcp| gcp.enabled(false));
    let bench = Bench::new(&governor);
    let error = bench.play(Asked::of(ACCOUNT), &[|| Err(answered(503))]).await.unwrap_err();
    assert_eq!((bench.sent(), error.http_status_code()), (1, Some(503)));
    let totals = totals(&governor);
    assert_eq!((totals.operations, totals.calls, totals.transient_errors), (1, 1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_skipped_call_is_sent_once_and_not_counted() {
    let governor = governor(fast);
    let bench = Bench::new(&governor);
    let skipped = CallOptions::new().skip();
    call(skipped.clone(), bench.play(Asked::of(ACCOUNT), &[|| Err(answered(503))])).await.unwrap_err();
    call(skipped, bench.play(Asked::of(ACCOUNT), &[|| Ok(1)])).await.unwrap();
    assert_eq!(bench.sent(), 2);
    assert_eq!(totals(&governor).calls, 0);
}
