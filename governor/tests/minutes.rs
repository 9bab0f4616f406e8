//! Quotas of the clock's full minutes, with all else that may hold or change.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

use std::future::Future;
use std::num::NonZeroU32;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use cloud_governor::{Attempt, Classification, Config, FakeClock, Governor, Outcome, RetryPolicy, Scope};
use common::secs;

fn config(yaml: &str) -> Config {
    Config::from_yaml(yaml, "test").unwrap()
}

/// A governor whose clock stands so many seconds after a full minute.
fn governor(yaml: &str, after: f64) -> (Governor, FakeClock) {
    let clock = FakeClock::new();
    clock.advance(secs(after));
    (Governor::builder().config(config(yaml)).clock(clock.clone()).seed(7).build(), clock)
}

/// The settings of the one service that is called.
fn set(what: &str) -> String {
    format!("ratelimit: {{ x: {{ services: {{ a: {{ {what} }} }} }} }}")
}

fn scope() -> Scope {
    Scope::new("x", "1", "", "a")
}

fn poll_once<F: Future + ?Sized>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// An attempt, if it may be sent now.
fn at_once(governor: &Governor, scope: &Scope) -> Option<Attempt> {
    let policy = RetryPolicy::builder().deadline(None).build().unwrap();
    let mut call = governor.call(scope).policy(policy);
    match poll_once(pin!(call.admit())) {
        Poll::Ready(admitted) => Some(admitted.unwrap()),
        Poll::Pending => None,
    }
}

/// How many go now; each is told what `answer` says.
fn go_now(governor: &Governor, scope: &Scope, mut answer: impl FnMut(&Attempt) -> Outcome) -> usize {
    let mut gone = 0;
    while let Some(attempt) = at_once(governor, scope) {
        let outcome = answer(&attempt);
        attempt.finish(outcome);
        gone += 1;
        assert!(gone < 100_000);
    }
    gone
}

fn served(_: &Attempt) -> Outcome {
    Outcome::Success
}

fn throttled() -> Outcome {
    Outcome::Failure(Classification::throttled())
}

/// How many go in each of these minutes, all at once.
fn in_each_minute(governor: &Governor, clock: &FakeClock, minutes: usize) -> Vec<usize> {
    let each = (0..minutes).map(|_| {
        clock.advance(secs(60.0));
        go_now(governor, &scope(), served)
    });
    each.collect()
}

#[test]
fn a_limit_of_a_minute_that_is_not_named_again_is_doubted_and_forgotten_under_either_law() {
    for law in ["delivery_rate", "aimd"] {
        let (governor, clock) = governor(&set(&format!("law: {law}, per_minute: 100")), 1.0);
        let attempt = at_once(&governor, &scope()).unwrap();
        attempt.limit_told(50, secs(60.0));
        attempt.finish(throttled());
        let each = in_each_minute(&governor, &clock, 30);
        assert_eq!(each[..10], [50; 10], "{law}: it is believed, and used up");
        assert!(each.is_sorted() && each[20..22].iter().all(|calls| *calls > 80), "{law}: {each:?}");
        assert_eq!(each[24..], [100; 6], "{law}");
    }
}

#[test]
fn a_higher_limit_than_is_published_comes_to_be_used_once_a_lower_one_is_forgotten() {
    let (governor, clock) = governor("", 1.0);
    let scope = Scope::new("gcp", "projects/p", "", "cloudasset").with_operation("ListAssets");
    for calls in [50, 600] {
        let attempt = at_once(&governor, &scope).unwrap();
        attempt.limit_told(calls, secs(60.0));
        attempt.finish(throttled());
        clock.advance(secs(60.0));
    }
    let mut each = Vec::new();
    for _ in 0..60 {
        each.push(go_now(&governor, &scope, served));
        clock.advance(secs(60.0));
    }
    assert!(each[..9].iter().all(|calls| *calls <= 50), "{each:?}");
    assert!(each.is_sorted() && each[50..].iter().all(|calls| *calls == 600), "{each:?}");
}

#[test]
fn a_word_that_little_is_left_holds_until_the_next_one_and_not_for_the_whole_minute() {
    let (governor, clock) = governor(&set("per_minute: 100"), 1.0);
    // The last minute's last answer, and one that comes late.
    let attempts: Vec<Attempt> = (0..2).map(|_| at_once(&governor, &scope()).unwrap()).collect();
    clock.advance(secs(50.0));
    attempts[0].quota_left("reads", 0);
    assert_eq!(go_now(&governor, &scope(), served), 1, "and it may be wrong");
    clock.advance(secs(10.0));
    attempts[1].quota_left("reads", 0);
    let mut left = 100;
    let told = go_now(&governor, &scope(), |attempt| {
        left -= 1;
        attempt.quota_left("reads", left);
        Outcome::Success
    });
    assert_eq!(told, 100);
}

#[test]
fn who_waits_for_a_minutes_calls_goes_on_when_the_server_says_that_some_are_left() {
    let (governor, clock) = governor(&set("per_minute: 100"), 1.0);
    let (first, second) = (at_once(&governor, &scope()).unwrap(), at_once(&governor, &scope()).unwrap());
    first.quota_left("reads", 0);
    let third = at_once(&governor, &scope()).unwrap();
    let mut call = governor.call(&scope());
    let mut admission = pin!(call.admit());
    assert!(poll_once(admission.as_mut()).is_pending());
    clock.advance(secs(1.0));
    second.quota_left("reads", 2);
    assert!(poll_once(admission).is_ready());
    drop(third);
}

#[test]
fn what_a_dear_call_owes_is_paid_off_by_every_minute_that_passes_also_if_nobody_looks() {
    let (governor, clock) = governor(&set("per_minute: 100, counts: units"), 1.0);
    let mut call = governor.call(&scope()).cost(NonZeroU32::new(1_050).unwrap());
    let Poll::Ready(Ok(attempt)) = poll_once(pin!(call.admit())) else { panic!("it waits") };
    attempt.finish(Outcome::Success);
    clock.advance(secs(600.0));
    assert_eq!(go_now(&governor, &scope(), served), 50);
    clock.advance(secs(3600.0));
    assert_eq!(go_now(&governor, &scope(), served), 100);
}

#[test]
fn a_rate_that_becomes_a_count_a_minute_leaves_all_of_the_minute_that_cannot_have_been_used() {
    for (burst, at_first, then) in [(10, 10, 290), (1, 1, 299)] {
        let (governor, clock) = governor(&set(&format!("max_rps: 10, burst: {burst}")), 30.0);
        assert_eq!(go_now(&governor, &scope(), served), at_first);
        governor.reconfigure(config(&set("per_minute: 600")));
        assert_eq!(go_now(&governor, &scope(), served), then);
        assert_eq!(in_each_minute(&governor, &clock, 2), [600; 2]);
        governor.reconfigure(config(&set("max_rps: 10")));
        assert_eq!(go_now(&governor, &scope(), served), 0);
        assert_eq!(in_each_minute(&governor, &clock, 2), [10; 2]);
    }
}

#[test]
fn a_rate_that_was_learned_says_nothing_of_a_count_a_minute_that_is_set_instead() {
    let (governor, clock) = governor(&set("max_rps: 10"), 30.0);
    at_once(&governor, &scope()).unwrap().finish(throttled());
    clock.advance(secs(10.0));
    governor.reconfigure(config(&set("per_minute: 600")));
    assert_eq!(in_each_minute(&governor, &clock, 2), [600; 2]);
}

#[test]
fn what_was_taken_in_one_minute_and_not_used_does_not_add_to_another() {
    let (governor, clock) = governor(&set("per_minute: 10"), 50.0);
    let unsent: Vec<Attempt> = (0..10).map(|_| at_once(&governor, &scope()).unwrap()).collect();
    clock.advance(secs(20.0));
    for _ in 0..5 {
        at_once(&governor, &scope()).unwrap().finish(Outcome::Success);
    }
    unsent.into_iter().for_each(Attempt::unsent);
    assert_eq!(go_now(&governor, &scope(), served), 5);
}
