//! What a decision may cost: no allocation in steady state, and few bytes for each scope that is remembered.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use allocation_counter::{AllocationInfo, measure};
use cloud_governor::{
    Call, Class, Config, FakeClock, Governor, MAX_LEAVES, Outcome, RefusalKind, RetryPolicy, Scope, Stats, Verdict,
};
use common::{fails, governor};

const FAST: &str = "ratelimit: { github: { max_rps: 1000000, burst: 1000000 } }";
const CALLS: usize = 1_000;
/// What a remembered scope may take: its entries, its leaf and its bucket.
const MOST_BYTES: u64 = 512;

fn scope() -> Scope {
    Scope::new("github", "octo", "", "rest").with_operation("ListRepos")
}

/// The output of a future that does not wait.
fn at_once<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("it waits"),
    }
}

fn send(mut call: Call) {
    at_once(call.admit()).unwrap().finish(Outcome::Success);
}

/// What this allocates when it is done again and again.
fn steady(mut work: impl FnMut()) -> AllocationInfo {
    // What is kept for the next call comes with the first.
    work();
    measure(|| (0..CALLS).for_each(|_| work()))
}

#[test]
fn a_call_by_a_handle_allocates_nothing() {
    let governor = governor(FAST);
    let handle = governor.handle(&scope());
    assert_eq!(steady(|| send(handle.call())).count_total, 0);
    assert_eq!(governor.summary().totals.calls as usize, CALLS + 1);
}

#[test]
fn a_call_that_is_told_what_is_left_allocates_nothing() {
    let governor = governor(FAST);
    let handle = governor.handle(&scope());
    let work = || {
        let attempt = at_once(handle.call().admit()).unwrap();
        attempt.quota_left("x-ratelimit-remaining", 1_000_000_000);
        attempt.finish(Outcome::Success);
    };
    assert_eq!(steady(work).count_total, 0);
}

#[test]
fn a_call_by_a_scope_allocates_nothing() {
    let (governor, scope) = (governor(FAST), scope());
    assert_eq!(steady(|| send(governor.call(&scope))).count_total, 0);
}

#[test]
fn a_call_by_a_scope_made_anew_allocates_the_scope_alone() {
    let governor = governor(FAST);
    let made = steady(|| drop(scope())).count_total;
    assert_eq!(steady(|| send(governor.call(&scope()))).count_total, made);
}

#[test]
fn calls_that_overlap_allocate_nothing_either() {
    let (governor, scope) = (governor(FAST), scope());
    let overlapping = || {
        let mut calls: [_; 8] = std::array::from_fn(|_| governor.call(&scope));
        let attempts = calls.each_mut().map(|call| at_once(call.admit()).unwrap());
        for attempt in attempts {
            attempt.finish(Outcome::Success);
        }
    };
    assert_eq!(steady(overlapping).count_total, 0);
}

#[test]
fn a_blocking_call_and_one_that_is_cancelled_leave_nothing_allocated() {
    let (governor, scope) = (governor(FAST), scope());
    let seen = steady(|| {
        drop(governor.call(&scope).admit_blocking().unwrap());
        drop(at_once(governor.call(&scope).admit()).unwrap());
        drop(governor.call(&scope));
    });
    assert_eq!(seen.bytes_current, 0, "{seen:?}");
}

#[test]
fn a_refusal_by_an_open_circuit_allocates_nothing() {
    let governor = governor("ratelimit: { github: { breaker: { failures: 1 } } }");
    let scope = scope();
    let mut call = governor.call(&scope).policy(RetryPolicy::none());
    at_once(call.admit()).unwrap().finish(fails(Class::Transient));
    let refused = || {
        let refusal = at_once(governor.call(&scope).admit()).unwrap_err();
        assert_eq!(refusal.kind(), RefusalKind::CircuitOpen);
    };
    assert_eq!(steady(refused).count_total, 0);
}

#[test]
fn a_thread_keeps_no_more_for_later_calls_than_it_can_use_again() {
    let governor = governor("ratelimit: { github: { max_rps: 1000000, burst: 1000000, account_concurrency: 10000 } }");
    let scope = scope();
    send(governor.call(&scope));
    let many = measure(|| {
        let mut calls: Vec<_> = (0..CALLS).map(|_| governor.call(&scope)).collect();
        calls.iter_mut().for_each(|call| drop(at_once(call.admit()).unwrap()));
    });
    assert!(many.bytes_current < 32 * 1_024, "{many:?}");
}

#[test]
fn what_an_ended_call_leaves_to_the_next_is_blank() {
    let governor = governor(FAST);
    let stats = Stats::new();
    let none = RetryPolicy::none();
    stats.bind_sync(|| send(governor.call(&scope()).policy(none).without_slot().idempotent(false)));
    let mut next = governor.call(&scope());
    let attempt = at_once(next.admit()).unwrap();
    assert_eq!(governor.inspect(&scope()).unwrap().slots_in_use, 1);
    let verdict = attempt.finish(fails(Class::Transient));
    assert!(matches!(verdict, Verdict::Retry { .. }), "{verdict:?}");
    assert_eq!(governor.summary_of(&stats).totals.calls, 1);
}

// ===== memory =====

/// Net bytes for each of the scopes that `scope` makes of the numbers up to `count`; the caller keeps none of them.
fn bytes_each(governor: &Governor, count: u64, scope: impl Fn(u64) -> Scope) -> u64 {
    let before = measure(|| send(governor.call(&scope(count))));
    assert!(before.bytes_current > 0);
    let seen = measure(|| (0..count).for_each(|number| send(governor.call(&scope(number)))));
    assert_eq!(governor.summary().scopes.len() as u64, count + 1, "all are remembered");
    u64::try_from(seen.bytes_current).unwrap() / count
}

/// A number of as many digits as an AWS account has.
fn account(number: u64) -> String {
    format!("{:012}", 100_000_000_000 + number)
}

/// Twenty scopes in each account, as an inventory of AWS has them.
fn services(number: u64) -> Scope {
    Scope::new("aws", account(number / 20), "eu-west-1", format!("s{}", number % 20))
}

#[test]
fn an_idle_scope_is_remembered_in_512_bytes() {
    let governor = governor("ratelimit: { defaults: { law: aimd } }");
    let each = bytes_each(&governor, 20_000, services);
    assert!(each <= MOST_BYTES, "{each} bytes");
}

/// The delivery-rate law keeps more in mind, but not before it has learned something.
#[test]
fn an_idle_scope_is_remembered_in_512_bytes_under_the_delivery_rate_law_too() {
    let governor = governor("ratelimit: { defaults: { law: delivery_rate } }");
    let each = bytes_each(&governor, 20_000, services);
    assert!(each <= MOST_BYTES, "{each} bytes");
}

/// With a line for its slots, and the account's own name.
#[test]
fn an_account_adds_160_bytes_to_its_first_scope() {
    let governor = governor("ratelimit: { defaults: { law: aimd } }");
    let each = bytes_each(&governor, 20_000, |number| Scope::new("aws", account(number), "eu-west-1", "ssm"));
    assert!(each <= MOST_BYTES + 160, "{each} bytes");
}

#[test]
fn operations_of_one_service_are_remembered_while_they_are_few_and_forgotten_when_they_are_many() {
    let governor = governor(FAST);
    let of = |number: u64| Scope::new("github", "octo", "", "rest").with_operation(number.to_string());
    send(governor.call(&of(0)));
    let seen = measure(|| (0..200_000).for_each(|number| send(governor.call(&of(number)))));
    assert!(seen.bytes_current < 32 * 1_024 * 1_024, "{seen:?}");
    assert_eq!(governor.summary().scopes.len(), 1);
}

/// Every new scope beyond the cap drives out another. Were each to look through all that are kept, this would take an
/// hour. (The benches go through a million.)
#[test]
fn six_times_as_many_scopes_as_fit_hold_the_cap_and_are_all_counted() {
    let clock = FakeClock::new();
    let governor = Governor::builder().config(Config::from_yaml("{}", "test").unwrap()).clock(clock).build();
    let scopes = 6 * MAX_LEAVES;
    let seen = measure(|| {
        for number in 0..scopes as u64 {
            send(governor.call(&Scope::new("aws", account(number), "eu-west-1", "ssm")));
        }
    });
    let leaves = governor.summary().scopes.len();
    assert!(leaves <= MAX_LEAVES, "{leaves}");
    assert!(seen.bytes_current < (MAX_LEAVES as i64) * 1_024, "{seen:?}");
    assert_eq!(governor.summary().totals.calls, scopes as u64);
}
