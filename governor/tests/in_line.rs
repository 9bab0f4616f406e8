//! Those who wait, or hold what they took, when settings change.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use cloud_governor::{Classification, Config, FakeClock, Governor, Outcome, RetryPolicy, Scope};

fn config(yaml: &str) -> Config {
    Config::from_yaml(yaml, "test").unwrap()
}

fn governor(yaml: &str) -> (Governor, FakeClock) {
    let clock = FakeClock::new();
    (Governor::builder().config(config(yaml)).clock(clock.clone()).seed(7).build(), clock)
}

fn run() -> Scope {
    Scope::new("x", "1", "", "a").with_operation("Run")
}

fn patient() -> RetryPolicy {
    RetryPolicy::builder().deadline(None).build().unwrap()
}

/// How often it was woken.
#[derive(Default)]
struct Bell(AtomicUsize);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

fn poll_once<F: Future + ?Sized>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// A service whose every call waits for half an hour.
const SLOW: &str = "ratelimit: { x: { max_rps: 0.001, burst: 1 } }";
/// An operation that has a bucket of its own.
const SLOW_RUN: &str = "ratelimit: { x: { services: { a.Run: { max_rps: 0.001, burst: 1 } } } }";

/// Whether one that waits for an operation's own bucket, which is taken away, goes on at once after all of this.
fn goes_on(changes: &[&str], reset: bool) -> bool {
    let (governor, clock) = governor(SLOW_RUN);
    let first = pin!(async { governor.call(&run()).admit().await.unwrap().finish(Outcome::Success) });
    assert!(poll_once(first).is_ready());
    let mut call = governor.call(&run()).policy(patient());
    let mut admission = pin!(call.admit());
    assert!(poll_once(admission.as_mut()).is_pending());
    changes.iter().for_each(|change| governor.reconfigure(config(change)));
    if reset {
        governor.reset();
    }
    clock.advance(Duration::from_millis(10));
    poll_once(admission).is_ready()
}

#[test]
fn whoever_waits_for_an_operations_own_bucket_that_was_taken_away_heeds_later_settings_and_a_reset() {
    assert!(!goes_on(&[SLOW], false));
    assert!(goes_on(&[SLOW, "ratelimit: { x: { max_rps: 1000 } }"], false));
    assert!(goes_on(&[SLOW], true));
    assert!(goes_on(&[SLOW, "ratelimit: { x: { enabled: false, max_rps: 0.001, burst: 1 } }"], false));
}

#[test]
fn whoever_waits_goes_on_when_the_provider_is_switched_off_though_its_limits_stay_as_they_are() {
    let shared = "max_rps: 100, shared: { all: { max_rps: 0.001, burst: 1, per: account } }";
    for limits in ["max_rps: 0.001, burst: 1", shared, "account_concurrency: 1", "max_rps: 20"] {
        let (governor, _) = governor(&format!("ratelimit: {{ x: {{ {limits} }} }}"));
        let mut before = governor.call(&run());
        let Poll::Ready(Ok(held)) = poll_once(pin!(before.admit())) else { panic!("{limits}: it waits") };
        if limits == "max_rps: 20" {
            let paused = Classification::throttled().with_retry_after(Duration::from_secs(300));
            held.finish(Outcome::Failure(paused));
        }
        let mut calls: Vec<_> = (0..20).map(|_| governor.call(&run()).policy(patient())).collect();
        let mut waiting: Vec<_> = calls.iter_mut().map(|call| Box::pin(call.admit())).collect();
        let bells: Vec<Arc<Bell>> = (0..20).map(|_| Arc::default()).collect();
        for (waits, bell) in waiting.iter_mut().zip(&bells) {
            let waker = Waker::from(Arc::clone(bell));
            assert!(waits.as_mut().poll(&mut Context::from_waker(&waker)).is_pending(), "{limits}");
        }
        governor.reconfigure(config(&format!("ratelimit: {{ x: {{ enabled: false, {limits} }} }}")));
        assert!(bells.iter().all(|bell| bell.0.load(Ordering::Relaxed) > 0), "{limits}: all are woken");
        let gone: Vec<_> = waiting.iter_mut().map(|waits| poll_once(waits.as_mut())).collect();
        assert!(gone.iter().all(|gone| matches!(gone, Poll::Ready(Ok(_)))), "{limits}: {gone:?}");
        let seen = governor.inspect(&run()).unwrap();
        let shared: usize = seen.shared.iter().map(|shared| shared.waiting).sum();
        assert_eq!((seen.waiting_for_rate, shared, seen.waiting_for_slot), (0, 0, 0), "{limits}");
        let tokens = seen.tokens;
        for unsent in gone {
            if let Poll::Ready(Ok(attempt)) = unsent {
                attempt.unsent();
            }
        }
        assert_eq!(governor.inspect(&run()).unwrap().tokens, tokens, "{limits}: they took nothing");
    }
}

#[test]
fn a_call_gives_back_what_it_paid_also_if_its_buckets_count_something_else_by_then() {
    let counting = |own: &str, all: &str| {
        format!(
            "ratelimit: {{ x: {{ max_rps: 0.000001, burst: 100, counts: {own}, shared: {{ all: {{ max_rps: 0.000001, burst: 100, counts: {all}, per: account }} }} }} }}"
        )
    };
    for (own, all, paid) in [("calls", "units", (1.0, 40.0)), ("units", "calls", (40.0, 1.0))] {
        let (governor, _) = governor(&counting(own, all));
        let mut calls: Vec<_> = (0..2).map(|_| governor.call(&run()).cost(40.try_into().unwrap())).collect();
        let mut attempts = calls.iter_mut().map(|call| match poll_once(pin!(call.admit())) {
            Poll::Ready(Ok(attempt)) => attempt,
            waits => panic!("{waits:?}"),
        });
        let (sent, unsent) = (attempts.next().unwrap(), attempts.next().unwrap());
        governor.reconfigure(config(&counting(all, own)));
        unsent.unsent();
        let seen = governor.inspect(&run()).unwrap();
        assert_eq!((100.0 - seen.tokens, 100.0 - seen.shared[0].tokens), paid, "{own} and {all}");
        sent.finish(Outcome::Success);
    }
}

/// A circuit of one failure, whose probe waits for the next token.
const SHUT: &str =
    "ratelimit: { x: { max_rps: 0.001, burst: 1, max_retries: 0, breaker: { failures: 1, cooldown: 1 } } }";
const SHUT_AND_OFF: &str = "ratelimit: { x: { enabled: false, max_rps: 0.001, burst: 1, max_retries: 0, breaker: { failures: 1, cooldown: 1 } } }";

/// Whether there is a place for a probe again, after one that waited when its provider was switched off was dropped, admitted or
/// not.
fn frees_its_place(admit: bool) -> bool {
    let (governor, clock) = governor(SHUT);
    let mut failing = governor.call(&run());
    let Poll::Ready(first) = poll_once(pin!(failing.admit())) else { panic!("it waits") };
    first.unwrap().finish(Outcome::Failure(Classification::transient()));
    clock.advance(Duration::from_secs(2));
    let mut call = governor.call(&run()).policy(patient());
    {
        let mut admission = pin!(call.admit());
        assert!(poll_once(admission.as_mut()).is_pending());
        governor.reconfigure(config(SHUT_AND_OFF));
        if admit {
            let Poll::Ready(attempt) = poll_once(admission) else { panic!("it waits on") };
            assert!(attempt.unwrap().is_probe());
        }
    }
    governor.reconfigure(config(SHUT));
    let mut next = governor.call(&run()).policy(patient());
    let mut admission = pin!(next.admit());
    assert!(poll_once(admission.as_mut()).is_pending(), "it would be refused were another the probe");
    clock.advance(Duration::from_secs(1_001));
    match poll_once(admission) {
        Poll::Ready(attempt) => attempt.unwrap().is_probe(),
        Poll::Pending => false,
    }
}

#[test]
fn a_probe_that_waits_when_its_provider_is_switched_off_leaves_its_place_however_it_is_dropped() {
    assert!(frees_its_place(false));
    assert!(frees_its_place(true));
}
