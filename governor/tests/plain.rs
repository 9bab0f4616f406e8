//! Calls without terms of their own, admitted at once, whose outcomes tell the limiter nothing: what most calls are.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use cloud_governor::{Attempt, Call, Class, Config, FakeClock, Governor, Outcome, RefusalKind, Verdict};
use common::{fails, scope, secs};

/// Until something is throttled, this law heeds no answer.
fn governor(clock: &FakeClock) -> Governor {
    let yaml = "ratelimit: { github: { law: aimd, max_rps: 0.001, burst: 100, account_concurrency: 2 } }";
    Governor::builder().config(Config::from_yaml(yaml, "test").unwrap()).clock(clock.clone()).build()
}

fn admit(call: &mut Call) -> Attempt {
    match pin!(call.admit()).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(admitted) => admitted.unwrap(),
        Poll::Pending => panic!("it waits"),
    }
}

fn slots(governor: &Governor) -> usize {
    governor.inspect(&scope()).unwrap().slots_in_use
}

#[test]
fn a_call_that_was_served_says_so_whoever_asks_and_gives_its_slot_back_once() {
    let governor = governor(&FakeClock::new());
    let mut call = governor.call(&scope());
    let attempt = admit(&mut call);
    assert_eq!(slots(&governor), 1);
    assert_eq!(attempt.finish(Outcome::Success), Verdict::Done);
    assert_eq!(slots(&governor), 0);
    assert_eq!(attempt.finish(fails(Class::Transient)), Verdict::Done, "the first verdict stands");
    drop(attempt);
    assert_eq!((call.attempts(), slots(&governor)), (1, 0));
    let refused = match pin!(call.admit()).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(refused) => refused.unwrap_err(),
        Poll::Pending => panic!("it waits"),
    };
    assert_eq!(refused.kind(), RefusalKind::CallEnded);
    assert_eq!(governor.summary().totals.transient_errors, 0);
}

#[test]
fn a_slot_that_is_released_before_the_outcome_goes_back_once() {
    let governor = governor(&FakeClock::new());
    let (mut first, mut second) = (governor.call(&scope()), governor.call(&scope()));
    let (early, other) = (admit(&mut first), admit(&mut second));
    early.release_slot();
    assert_eq!(slots(&governor), 1);
    assert_eq!(early.finish(Outcome::Success), Verdict::Done);
    assert_eq!(slots(&governor), 1);
    drop(other);
    assert_eq!(slots(&governor), 0);
}

#[test]
fn an_attempt_that_has_not_reported_when_its_call_asks_again_failed_in_passing() {
    let clock = FakeClock::new();
    let governor = governor(&clock);
    let mut call = governor.call(&scope());
    let first = admit(&mut call);
    let mut again = pin!(call.admit());
    let mut cx = Context::from_waker(Waker::noop());
    assert!(again.as_mut().poll(&mut cx).is_pending(), "its backoff runs");
    assert_eq!((slots(&governor), governor.summary().totals.transient_errors), (0, 1));
    assert!(matches!(first.finish(Outcome::Success), Verdict::Retry { .. }), "too late");
    clock.advance(secs(30.0));
    let Poll::Ready(second) = again.as_mut().poll(&mut cx) else { panic!("it waits on") };
    let second = second.unwrap();
    assert_eq!((second.number(), slots(&governor)), (2, 1));
    drop(second);
    assert_eq!(slots(&governor), 0);
}

#[test]
fn whatever_is_dropped_first_nothing_is_kept_and_the_next_call_is_blank() {
    let governor = governor(&FakeClock::new());
    for round in 0..60 {
        let mut call = governor.call(&scope());
        let attempt = admit(&mut call);
        match round % 6 {
            0 => drop((call, attempt)),
            1 => drop((attempt, call)),
            2 => {
                drop(call);
                assert_eq!(attempt.finish(Outcome::Success), Verdict::Done);
            }
            3 => attempt.unsent(),
            4 => {
                drop(call);
                assert_eq!(attempt.finish(fails(Class::Fatal)), Verdict::Done);
            }
            _ => assert_eq!(attempt.finish(Outcome::Success), Verdict::Done),
        }
        assert_eq!(slots(&governor), 0, "round {round}");
        let next = governor.call(&scope());
        assert_eq!((next.attempts(), next.is_exhausted()), (0, false), "round {round}");
    }
    let seen = governor.inspect(&scope()).unwrap();
    assert_eq!(seen.tokens.round(), 50.0, "one for each attempt but those that were not sent");
}
