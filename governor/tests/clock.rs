//! Clocks that stand still, go back, or wake too early; the fake clock, for tasks and threads.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use cloud_governor::{Class, Clock, Config, FakeClock, Governor, Outcome, Sleep, SystemClock, Timestamp};
use common::*;

/// A clock that a test sets by hand, backwards too, and whose sleeps end at once.
#[derive(Debug, Clone, Default)]
struct OddClock(Arc<AtomicU64>);

impl OddClock {
    fn set(&self, seconds: f64) {
        self.0.store((seconds * 1e9) as u64, Ordering::SeqCst);
    }
}

impl Clock for OddClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_nanos(self.0.load(Ordering::SeqCst))
    }

    fn sleep_until(&self, _: Timestamp) -> Sleep {
        Box::pin(std::future::ready(()))
    }

    fn park_until(&self, _: Timestamp) {}
}

#[derive(Default)]
struct Wakes(AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn slow_governor(clock: impl Clock) -> Governor {
    let config = Config::from_yaml("ratelimit: { github: { max_rps: 1, burst: 1 } }", "test").expect("valid");
    Governor::builder().config(config).clock(clock).seed(7).build()
}

fn poll_once<F: Future>(future: std::pin::Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn a_clock_that_stands_still_and_sleeps_that_end_at_once_do_not_hold_the_thread() {
    let governor = slow_governor(OddClock::default());
    let mut first = governor.call(&scope());
    assert!(poll_once(pin!(first.admit())).is_ready());
    let mut second = governor.call(&scope());
    let wakes = Arc::new(Wakes::default());
    let waker = Waker::from(Arc::clone(&wakes));
    let mut admit = pin!(second.admit());
    assert!(admit.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    assert_eq!(wakes.0.load(Ordering::SeqCst), 1, "it asks to be polled again");
}

/// tikv/pd#10745, MediaWiki-MCP-Server#557: a clock that goes back mints no tokens, and locks nobody out.
#[test]
fn time_that_goes_back_mints_nothing_and_time_that_returns_serves_again() {
    let clock = OddClock::default();
    let governor = slow_governor(clock.clone());
    let admits = || {
        let mut call = governor.call(&scope());
        poll_once(pin!(call.admit())).is_ready()
    };
    clock.set(100.0);
    assert!(admits());
    clock.set(50.0);
    assert!(!admits());
    clock.set(100.5);
    assert!(!admits(), "half a token came in since 100 s, not fifty");
    clock.set(101.1);
    assert!(admits());
}

#[test]
fn an_open_circuit_does_not_panic_or_open_for_longer_when_time_goes_back() {
    let clock = OddClock::default();
    let yaml = "ratelimit: { github: { max_retries: 0, breaker: { failures: 1, cooldown: 30 } } }";
    let governor = Governor::builder().config(Config::from_yaml(yaml, "test").unwrap()).clock(clock.clone()).build();
    clock.set(100.0);
    let mut call = governor.call(&scope());
    let Poll::Ready(Ok(attempt)) = poll_once(pin!(call.admit())) else { panic!("not admitted") };
    attempt.finish(fails(Class::Transient));
    clock.set(89.0);
    assert_eq!(governor.inspect(&scope()).unwrap().circuit_open_for, Some(secs(41.0)));
    clock.set(130.0);
    let mut probe = governor.call(&scope());
    assert!(matches!(poll_once(pin!(probe.admit())), Poll::Ready(Ok(_))));
}

#[test]
fn a_call_may_live_to_the_clocks_end() {
    let clock = FakeClock::new();
    let governor = slow_governor(clock.clone());
    let waits = |governor: &Governor| {
        let mut call =
            governor.call(&scope()).policy(cloud_governor::RetryPolicy::builder().deadline(None).build().unwrap());
        let mut admit = pin!(call.admit());
        assert!(poll_once(admit.as_mut()).is_pending());
        clock.advance(Duration::MAX);
        poll_once(admit).is_ready()
    };
    let mut first = governor.call(&scope());
    assert!(poll_once(pin!(first.admit())).is_ready());
    assert!(waits(&governor));
    assert_eq!(clock.now(), Timestamp::MAX);
    let waited = governor.summary().totals.wait_seconds;
    assert!(waited > 1.8e10, "{waited}");
}

#[test]
fn waits_added_up_do_not_wrap_around() {
    let clock = FakeClock::new();
    let governor = slow_governor(clock.clone());
    let mut first = governor.call(&scope());
    assert!(poll_once(pin!(first.admit())).is_ready());
    let (mut one, mut two) = (governor.call(&scope()), governor.call(&scope()));
    {
        let (mut one, mut two) = (pin!(one.admit()), pin!(two.admit()));
        assert!(poll_once(one.as_mut()).is_pending() && poll_once(two.as_mut()).is_pending());
        // Together one more than can be counted.
        clock.advance(Duration::from_nanos(1 << 63));
    }
    assert!(governor.summary().totals.wait_seconds > 1.8e10);
}

// ===== the fake clock =====

#[test]
fn a_fake_clock_wakes_what_is_due_and_nothing_else() {
    let clock = FakeClock::new();
    let wakes = [Arc::new(Wakes::default()), Arc::new(Wakes::default())];
    let mut sleeps: Vec<Sleep> = [1.0, 2.0].map(|due| clock.sleep_until(clock.now() + secs(due))).into();
    for (sleep, wakes) in sleeps.iter_mut().zip(&wakes) {
        assert!(sleep.as_mut().poll(&mut Context::from_waker(&Waker::from(Arc::clone(wakes)))).is_pending());
    }
    assert!(clock.advance_to_next());
    let count = |index: usize| wakes[index].0.load(Ordering::SeqCst);
    assert_eq!((clock.now(), count(0), count(1)), (Timestamp::ZERO + secs(1.0), 1, 0));
    sleeps.pop();
    assert_eq!(clock.waiting(), 0, "a dropped sleep leaves nothing behind");
    assert!(!clock.advance_to_next());
}

#[test]
fn sleepers_are_woken_by_their_times_then_in_the_order_in_which_they_began() {
    struct Named(&'static str, Arc<Mutex<Vec<&'static str>>>);
    impl Wake for Named {
        fn wake(self: Arc<Self>) {
            self.1.lock().unwrap().push(self.0);
        }
    }
    let clock = FakeClock::new();
    let woken = Arc::new(Mutex::new(Vec::new()));
    let due = [("late", 3.0), ("first", 1.0), ("second", 1.0), ("between", 2.0), ("not yet", 5.0)];
    let mut sleeps: Vec<Sleep> = due.map(|(_, due)| clock.sleep_until(Timestamp::ZERO + secs(due))).into();
    for (sleep, (name, _)) in sleeps.iter_mut().zip(due) {
        let waker = Waker::from(Arc::new(Named(name, Arc::clone(&woken))));
        assert!(sleep.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    }
    clock.advance(secs(3.0));
    assert_eq!(*woken.lock().unwrap(), ["first", "second", "between", "late"]);
    assert_eq!(clock.waiting(), 1);
}

#[test]
fn a_sleep_that_is_polled_again_is_still_one_sleeper() {
    let clock = FakeClock::new();
    let mut sleep = clock.sleep_until(clock.now() + secs(1.0));
    for _ in 0..3 {
        assert!(poll_once(pin!(&mut sleep)).is_pending());
    }
    assert_eq!(clock.waiting(), 1);
}

#[test]
fn a_parked_thread_is_woken_when_its_time_comes() {
    let clock = FakeClock::new();
    let parked = {
        let clock = clock.clone();
        std::thread::spawn(move || {
            let until = clock.now() + secs(5.0);
            while clock.now() < until {
                clock.park_until(until);
            }
        })
    };
    wait_until(|| clock.waiting() == 1);
    clock.advance(secs(4.0));
    wait_until(|| clock.waiting() == 1);
    assert!(!parked.is_finished());
    clock.advance(secs(1.0));
    parked.join().unwrap();
    assert_eq!(clock.waiting(), 0);
}

#[tokio::test(start_paused = true)]
async fn the_system_clock_follows_a_paused_runtime() {
    let clock = SystemClock::new();
    let start = clock.now();
    clock.sleep_until(start + secs(3_600.0)).await;
    assert_eq!(clock.now().since(start), secs(3_600.0));
    assert!(tokio::time::timeout(secs(1.0), clock.sleep_until(Timestamp::MAX)).await.is_err());
}

/// tokio-rs/tokio#7858, benwis/tower-governor#50: time can be passed in to async and blocking callers alike.
#[tokio::test]
async fn an_async_call_goes_by_the_fake_clock_without_a_runtimes_timer() {
    let clock = FakeClock::new();
    let governor = slow_governor(clock.clone());
    admit(&mut governor.call(&scope())).await.finish(Outcome::Success);
    let waiting = tokio::spawn(async move { governor.call(&scope()).admit().await.map(drop) });
    while clock.waiting() == 0 {
        tokio::task::yield_now().await;
    }
    clock.advance(secs(0.9));
    tokio::task::yield_now().await;
    assert!(!waiting.is_finished());
    clock.advance(secs(0.2));
    waiting.await.unwrap().unwrap();
}
