//! Every attempt belongs to its own call, whoever else is on the way.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use cloud_governor::{Governor, RetryPolicy, Scope, Totals};
use futures_util::future::{BoxFuture, join_all};
use google_cloud_gax::backoff_policy::BackoffPolicy;
use google_cloud_gax::error::Error;
use google_cloud_gax::retry_state::RetryState;

use crate::testing::{Asked, Bench, Step, answered, by_scope, fast, governor, leaf, retry_after};
use crate::{CallOptions, CallReport, call, refusal};

const CALLS: usize = 400;

fn account(call: usize) -> String {
    format!("projects/p{call}")
}

/// How often a call fails before it is served.
fn failures(call: usize) -> usize {
    call % 4
}

fn governed() -> Governor {
    governor(|gcp| fast(gcp).retry_budget(10_000))
}

/// Whether a call's failures are throttles. Those of calls that share a scope are not: it would slow them all down.
fn is_throttled(call: usize, scope: &Scope) -> bool {
    call % 2 == 1 && *scope == leaf(&account(call))
}

/// Fails as often as is due.
fn outcome(call: usize, attempt: usize, scope: &Scope) -> Result<u32, Error> {
    match attempt {
        attempt if attempt > failures(call) => Ok(call as u32),
        _ if is_throttled(call, scope) => Err(answered(429)),
        _ => Err(answered(500)),
    }
}

/// Sends one request that its own scope, or another that all share, is charged for.
fn send(bench: &Bench, number: usize, scope: &Scope) -> BoxFuture<'static, Result<u32, Error>> {
    let scope = scope.clone();
    let answer = move |attempt| {
        let outcome = outcome(number, attempt, &scope);
        async move {
            tokio::time::sleep(Duration::from_millis((number * 7 % 13) as u64)).await;
            outcome
        }
    };
    bench.send(Asked::of(&account(number)), answer)
}

/// Inside `call`, with a scope of its own.
async fn scoped(bench: Bench, number: usize) {
    let report = CallReport::new();
    let scope = leaf(&account(number));
    let options = CallOptions::new().scope(scope.clone()).report(&report);
    assert_eq!(call(options, send(&bench, number, &scope)).await.unwrap(), number as u32);
    assert_eq!(report.attempts() as usize, 1 + failures(number));
    assert_eq!(report.scope(), Some(scope));
}

/// Outside of `call`.
async fn bare(bench: Bench, number: usize, scope: Scope) {
    assert_eq!(send(&bench, number, &scope).await.unwrap(), number as u32);
}

fn expected(scope: impl Fn(usize) -> Scope) -> BTreeMap<Scope, (u64, u64, u64, u64)> {
    let mut all = BTreeMap::new();
    for call in 0..CALLS {
        let failures = failures(call) as u64;
        let (operations, calls, throttled, transient) = all.entry(scope(call)).or_default();
        *operations += 1;
        *calls += 1 + failures;
        *if is_throttled(call, &scope(call)) { throttled } else { transient } += failures;
    }
    all
}

fn counted(governor: &Governor) -> BTreeMap<Scope, (u64, u64, u64, u64)> {
    let counts = |totals: Totals| (totals.operations, totals.calls, totals.throttled, totals.transient_errors);
    by_scope(governor).into_iter().map(|(scope, totals)| (scope, counts(totals))).collect()
}

async fn spawned<F: Future<Output = ()> + Send + 'static>(calls: impl Iterator<Item = F>) {
    for call in calls.map(tokio::spawn).collect::<Vec<_>>() {
        call.await.unwrap();
    }
}

fn own(number: usize) -> Scope {
    leaf(&account(number))
}

#[tokio::test(start_paused = true)]
async fn four_hundred_joined_in_one_task_with_the_clock_standing_still() {
    let governor = governed();
    let bench = Bench::new(&governor);
    join_all((0..CALLS).map(|number| bare(bench.clone(), number, own(number)))).await;
    assert_eq!(counted(&governor), expected(own));
}

#[tokio::test]
async fn four_hundred_joined_in_one_task() {
    let governor = governed();
    let bench = Bench::new(&governor);
    join_all((0..CALLS).map(|number| bare(bench.clone(), number, own(number)))).await;
    assert_eq!(counted(&governor), expected(own));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn four_hundred_spawned_on_four_threads() {
    let governor = governed();
    let bench = Bench::new(&governor);
    spawned((0..CALLS).map(|number| bare(bench.clone(), number, own(number)))).await;
    assert_eq!(counted(&governor), expected(own));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn four_hundred_spawned_without_a_recorder_each_in_a_scope_of_its_own() {
    let governor = governed();
    let bench = Bench::new(&governor).without_recorder();
    spawned((0..CALLS).map(|number| scoped(bench.clone(), number))).await;
    assert_eq!(counted(&governor), expected(own));
}

#[tokio::test(start_paused = true)]
async fn four_hundred_joined_without_a_recorder_each_in_a_scope_of_its_own() {
    let governor = governed();
    let bench = Bench::new(&governor).without_recorder();
    join_all((0..CALLS).map(|number| scoped(bench.clone(), number))).await;
    assert_eq!(counted(&governor), expected(own));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn without_a_recorder_spawned_calls_of_the_clients_scope_are_kept_apart_by_their_tasks() {
    // Those that fail three times need all their retries: one that got another's would not come through.
    let governor = governor(|gcp| fast(gcp).retry_budget(10_000).max_retries(3));
    let bench = Bench::new(&governor).without_recorder();
    let scope = bench.client.scope(None);
    spawned((0..CALLS).map(|number| bare(bench.clone(), number, scope.clone()))).await;
    assert_eq!(counted(&governor), expected(|_| scope.clone()));
}

#[tokio::test(start_paused = true)]
async fn without_a_recorder_calls_joined_in_one_task_add_up_and_all_end() {
    let governor = governor(|gcp| fast(gcp).retry_budget(10_000).max_retries(1000));
    let bench = Bench::new(&governor).without_recorder();
    let scope = bench.client.scope(None);
    join_all((0..CALLS).map(|number| bare(bench.clone(), number, scope.clone()))).await;
    assert_eq!(counted(&governor), expected(|_| scope.clone()));
}

#[tokio::test(start_paused = true)]
async fn equal_requests_that_began_at_the_same_moment_are_kept_apart() {
    // Those that fail three times need all their retries.
    let governor = governor(|gcp| fast(gcp).retry_budget(10_000).max_retries(3));
    let bench = Bench::new(&governor);
    let scope = own(CALLS);
    let calls = (0..CALLS).map(|number| {
        let answer = move |attempt| async move {
            tokio::time::sleep(Duration::from_millis((number * 7 % 13) as u64)).await;
            if attempt > failures(number) { Ok(1) } else { Err(answered(500)) }
        };
        bench.send(Asked::of(&account(CALLS)), answer)
    });
    for result in join_all(calls).await {
        result.unwrap();
    }
    assert_eq!(counted(&governor), expected(|_| scope.clone()));
}

#[tokio::test(start_paused = true)]
async fn calls_of_two_clients_in_one_call_are_kept_apart() {
    let governor = governed();
    let (one, other) = (Bench::new(&governor).without_recorder(), Bench::new(&governor).without_recorder());
    let script: &[Step] = &[|| Err(answered(500)), || Ok(1)];
    let both = async { tokio::join!(one.play(Asked::of("-"), script), other.play(Asked::of("-"), &[|| Ok(2)])) };
    let (first, second) = call(CallOptions::new(), both).await;
    assert_eq!((first.unwrap(), second.unwrap()), (1, 2));
    assert_eq!((one.sent(), other.sent()), (2, 1));
}

#[tokio::test]
async fn without_a_recorder_nobody_gets_anothers_error() {
    let governor = governor(|gcp| fast(gcp).breaker_failures(1));
    let bench = Bench::new(&governor).without_recorder();
    let fail = |status: u16, number: u64| {
        let answer = move |_| async move {
            tokio::time::sleep(Duration::from_millis(number * 7 % 13)).await;
            Err(answered(status))
        };
        bench.send(Asked::of("-"), answer)
    };
    let fails = |status| join_all((0..20).map(|number| fail(status, number)).collect::<Vec<_>>());
    let no_retry = RetryPolicy::none();
    let opens = async {
        tokio::time::sleep(Duration::from_millis(20)).await;
        call(no_retry, Bench::new(&governor).without_recorder().play(Asked::of("-"), &[|| Err(answered(500))])).await
    };
    let (ones, others, opened) = tokio::join!(fails(500), fails(503), opens);
    opened.unwrap_err();
    let mut refused = 0;
    for (status, results) in [(500, ones), (503, others)] {
        for error in results.into_iter().map(Result::unwrap_err) {
            refused += usize::from(refusal(&error).is_some());
            assert!(refusal(&error).is_some() || error.http_status_code() == Some(status), "{status}: {error}");
        }
    }
    // Else there was nothing to be mistaken about.
    assert!(refused > 0);
}

/// A call site's own, so that a call is between two attempts for a while.
#[derive(Debug)]
pub(super) struct Slowly;

impl BackoffPolicy for Slowly {
    fn on_failure(&self, _: &RetryState) -> Duration {
        Duration::from_secs(2)
    }
}

#[tokio::test(start_paused = true)]
async fn without_a_recorder_a_call_that_begins_does_not_take_anothers_backoff() {
    let governor = governor(fast);
    let mut bench = Bench::new(&governor).without_recorder();
    bench.backoff = Arc::new(Slowly);
    let begins = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let began = tokio::time::Instant::now();
        bench.play(Asked::of("-"), &[|| Ok(2)]).await.unwrap();
        began.elapsed()
    };
    let began = tokio::time::Instant::now();
    let fails = bench.play(Asked::of("-"), &[|| Err(retry_after(500, 10)), || Ok(1)]);
    let (failed, took) = tokio::join!(fails, begins);
    failed.unwrap();
    assert!(took < Duration::from_secs(1), "{took:?}");
    assert!(began.elapsed() >= Duration::from_secs(10));
}

#[tokio::test(start_paused = true)]
async fn without_a_recorder_joined_calls_that_all_fail_do_not_spend_the_retries_of_the_first() {
    let governor = governor(|gcp| fast(gcp).retry_budget(10_000).max_retries(1));
    let bench = Bench::new(&governor).without_recorder();
    let answer = |attempt| async move {
        tokio::time::sleep(Duration::from_millis(500)).await;
        if attempt == 1 { Err(answered(500)) } else { Ok(1) }
    };
    let bench = &bench;
    // One after the other, as no two calls begin in the same nanosecond of a clock that goes.
    let calls = (0..CALLS).map(|call| async move {
        tokio::time::sleep(Duration::from_millis(call as u64)).await;
        bench.send(Asked::of("-"), answer).await
    });
    for result in join_all(calls).await {
        result.unwrap();
    }
    assert_eq!(bench.sent(), 2 * CALLS);
}
