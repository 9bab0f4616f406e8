//! Futures dropped at every await, held and never polled, woken and dropped from odd places; panicking operations.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use cloud_governor::{
    BreakerState, Class, Classification, Clock, Config, Error, FakeClock, Governor, Outcome, RefusalKind, Resilience,
    RetryPolicy, Sleep, Timestamp,
};
use common::*;
use proptest::prelude::*;

fn with_clock(yaml: &str, clock: impl Clock) -> Governor {
    Governor::builder().config(Config::from_yaml(yaml, "test").unwrap()).clock(clock).seed(7).build()
}

fn poll_once<F: Future + ?Sized>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// Nothing is held and nobody waits.
fn assert_idle(governor: &Governor) {
    let seen = governor.inspect(&scope()).expect("the scope is known");
    assert_eq!((seen.slots_in_use, seen.waiting_for_rate, seen.waiting_for_slot), (0, 0, 0), "{seen:?}");
}

// ===== dropped =====

/// A call dropped at its first, second, third .. poll, through tokens, slots, sending and backoff, gives all back.
#[test]
fn a_call_dropped_at_any_await_holds_nothing() {
    let yaml = "ratelimit: { github: { account_concurrency: 1, max_rps: 2, burst: 1, retry_budget: 1 } }";
    for polls in 0..40 {
        let clock = FakeClock::new();
        let governor = with_clock(yaml, clock.clone());
        let resilience = Resilience::new().governor(&governor).classify_with(|_: &u8| Classification::transient());
        {
            let operation = || async {
                clock.sleep_until(clock.now() + secs(0.3)).await;
                Err::<(), u8>(1)
            };
            let scope = scope();
            let calls = [resilience.call(&scope, operation), resilience.call(&scope, operation)];
            let mut calls = calls.map(Box::pin);
            for _ in 0..polls {
                calls.iter_mut().for_each(|call| drop(poll_once(call.as_mut())));
                clock.advance_to_next();
                if governor.summary().totals.gave_up > 0 {
                    break;
                }
            }
        }
        if polls > 0 {
            assert_idle(&governor);
        }
        assert_eq!(clock.waiting(), 0, "no sleep is left behind after {polls} polls");
    }
}

#[tokio::test(start_paused = true)]
async fn an_operation_that_panics_gives_back_its_slot_and_its_probe_and_records_no_failure() {
    let yaml =
        "ratelimit: { github: { max_retries: 0, account_concurrency: 1, breaker: { failures: 1, cooldown: 5 } } }";
    let governor = governor(yaml);
    run(&governor, &scope(), |_| fails(Class::Transient)).await;
    tokio::time::sleep(secs(5.0)).await;
    let probing = governor.clone();
    let panicked = tokio::spawn(async move {
        let resilience = Resilience::new().governor(&probing);
        resilience
            .call(&scope(), || async { if true { panic!("the operation's own") } else { Ok::<_, std::io::Error>(()) } })
            .await
    });
    assert!(panicked.await.unwrap_err().is_panic());
    assert_idle(&governor);
    assert_eq!(governor.summary().totals.gave_up, 1, "the first call's");
    admit(&mut governor.call(&scope())).await.finish(Outcome::Success);
    assert_eq!(governor.inspect(&scope()).unwrap().breaker, BreakerState::Closed);
}

/// monix/monix#1080: the probe was cancelled and the circuit stayed half-open.
#[tokio::test(start_paused = true)]
async fn a_probe_cancelled_while_it_waits_for_a_slot_or_is_sent_frees_its_place() {
    let yaml =
        "ratelimit: { github: { max_retries: 0, account_concurrency: 1, breaker: { failures: 1, cooldown: 5 } } }";
    let governor = governor(yaml);
    run(&governor, &scope(), |_| fails(Class::Transient)).await;
    tokio::time::sleep(secs(5.0)).await;
    let other = cloud_governor::Scope::new("github", "octo", "", "graphql");
    let busy = admit(&mut governor.call(&other)).await;
    let mut waiting = governor.call(&scope());
    assert!(tokio::time::timeout(secs(1.0), waiting.admit()).await.is_err());
    drop(busy);
    drop(admit(&mut governor.call(&scope())).await);
    admit(&mut governor.call(&scope())).await.finish(Outcome::Success);
    assert_eq!(governor.inspect(&scope()).unwrap().breaker, BreakerState::Closed);
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_waits_keeps_its_place_and_the_rest_are_told_to_wait_for_it() {
    let yaml =
        "ratelimit: { github: { max_retries: 0, max_rps: 0.05, burst: 1, breaker: { failures: 1, cooldown: 5 } } }";
    let governor = governor(yaml);
    run(&governor, &scope(), |_| fails(Class::Transient)).await;
    tokio::time::sleep(secs(5.0)).await;
    let probing = governor.clone();
    let probe = tokio::spawn(async move { run(&probing, &scope(), |_| Outcome::Success).await });
    tokio::time::sleep(secs(10.0)).await;
    let refusal = governor.call(&scope()).admit().await.unwrap_err();
    assert_eq!(refusal.kind(), RefusalKind::CircuitOpen);
    assert!(refusal.to_string().contains("probe"), "{refusal}");
    assert!(refusal.retry_after().is_some_and(|after| after > Duration::ZERO && after <= secs(5.0)));
    assert_eq!(probe.await.unwrap().1, 1);
    assert_eq!(governor.inspect(&scope()).unwrap().breaker, BreakerState::Closed);
}

// ===== held and not polled =====

#[tokio::test(start_paused = true)]
async fn futures_that_are_held_and_never_polled_again_hold_nobody_up() {
    let governor = governor("ratelimit: { github: { max_rps: 10, burst: 1, account_concurrency: 1 } }");
    admit(&mut governor.call(&scope())).await.finish(Outcome::Success);
    let mut calls: Vec<_> = (0..20).map(|_| governor.call(&scope())).collect();
    let mut stuck: Vec<_> = calls.iter_mut().map(|call| Box::pin(call.admit())).collect();
    for future in &mut stuck {
        assert!(poll_once(future.as_mut()).is_pending());
    }
    let start = tokio::time::Instant::now();
    admit(&mut governor.call(&scope())).await.finish(Outcome::Success);
    assert!(start.elapsed() <= secs(2.3), "{:?}: its turn would have come after 2.1 s", start.elapsed());
    admit(&mut governor.call(&scope())).await.finish(Outcome::Success);
    assert!(start.elapsed() <= secs(2.6), "{:?}", start.elapsed());
    drop(stuck);
    assert_idle(&governor);
}

#[tokio::test(start_paused = true)]
async fn a_slot_is_not_lost_to_a_future_that_is_held_and_never_polled_again() {
    let governor = governor("ratelimit: { github: { account_concurrency: 1 } }");
    let held = admit(&mut governor.call(&scope())).await;
    let mut stuck_call = governor.call(&scope());
    let mut stuck = pin!(stuck_call.admit());
    assert!(poll_once(stuck.as_mut()).is_pending());
    let waiting = {
        let governor = governor.clone();
        tokio::spawn(async move { run(&governor, &scope(), |_| Outcome::Success).await })
    };
    tokio::task::yield_now().await;
    drop(held);
    let start = tokio::time::Instant::now();
    waiting.await.unwrap();
    assert!(start.elapsed() <= secs(2.5), "{:?}", start.elapsed());
}

// ===== wakers from odd places =====

/// A task that is kept alive by nothing but its wakers, as on executors that own no tasks, and polled in `wake`.
struct Task {
    future: Mutex<Option<Pin<Box<dyn Future<Output = ()> + Send>>>>,
    polls_when_woken: bool,
}

impl Task {
    fn start(polls_when_woken: bool, future: impl Future<Output = ()> + Send + 'static) -> Arc<Task> {
        let task = Arc::new(Task { future: Mutex::new(Some(Box::pin(future))), polls_when_woken });
        Arc::clone(&task).poll();
        task
    }

    fn poll(self: Arc<Self>) {
        let Some(mut future) = self.future.lock().unwrap().take() else { return };
        let waker = Waker::from(Arc::clone(&self));
        if future.as_mut().poll(&mut Context::from_waker(&waker)).is_pending() {
            *self.future.lock().unwrap() = Some(future);
        }
    }
}

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        if self.polls_when_woken {
            self.poll();
        }
    }
}

/// A clock that stands still and keeps no wakers.
#[derive(Debug, Clone, Default)]
struct ForgetfulClock(FakeClock);

impl Clock for ForgetfulClock {
    fn now(&self) -> Timestamp {
        self.0.now()
    }

    fn sleep_until(&self, _: Timestamp) -> Sleep {
        Box::pin(std::future::pending())
    }

    fn park_until(&self, _: Timestamp) {}
}

/// Fails if `work` has not come back after a while: it is stuck on a lock that it holds itself.
fn comes_back(work: impl FnOnce() + Send + 'static) {
    let thread = std::thread::spawn(work);
    wait_until(|| thread.is_finished());
    thread.join().unwrap();
}

#[test]
fn a_waiting_task_that_dies_with_its_last_waker_leaves_the_line_without_a_deadlock() {
    for yaml in ["ratelimit: { github: { max_rps: 1, burst: 1 } }", "ratelimit: { github: { account_concurrency: 1 } }"]
    {
        comes_back(move || {
            let clock = ForgetfulClock::default();
            let governor = with_clock(yaml, clock.clone());
            let mut first = governor.call(&scope());
            let Poll::Ready(Ok(attempt)) = poll_once(pin!(first.admit())) else { panic!("not admitted") };
            for _ in 0..3 {
                let governor = governor.clone();
                drop(Task::start(false, async move { drop(governor.call(&scope()).admit().await) }));
            }
            drop(attempt);
            // They have not asked for so long that they count as absent, and lose their entries.
            clock.0.advance(secs(60.0));
            let mut next = governor.call(&scope());
            assert!(poll_once(pin!(next.admit())).is_ready());
            assert_idle(&governor);
        });
    }
}

#[test]
fn wakers_that_run_their_task_at_once_may_use_the_governor_from_anywhere() {
    type Change = fn(&Governor, cloud_governor::Attempt);
    let changes: [(&str, Change); 4] = [
        ("finish", |_, attempt| {
            attempt.finish(fails(Class::Throttled));
        }),
        ("drop", |_, attempt| drop(attempt)),
        ("reset", |governor, _attempt| governor.reset()),
        ("reconfigure", |governor, _attempt| {
            let roomy = "ratelimit: { github: { max_rps: 100, burst: 100, account_concurrency: 9 } }";
            governor.reconfigure(Config::from_yaml(roomy, "test").unwrap());
        }),
    ];
    let lines = ["max_rps: 0.2, burst: 1", "account_concurrency: 1"];
    for (line, (name, change)) in lines.into_iter().flat_map(|line| changes.map(|change| (line, change))) {
        // A slot that comes back is nothing to those who wait for a token.
        let wakes = (line, name) != (lines[0], "drop");
        comes_back(move || {
            let governor = with_clock(&format!("ratelimit: {{ github: {{ {line} }} }}"), ForgetfulClock::default());
            let mut first = governor.call(&scope());
            let Poll::Ready(Ok(attempt)) = poll_once(pin!(first.admit())) else { panic!("not admitted") };
            let polls = Arc::new(Mutex::new(0));
            for _ in 0..4 {
                let (governor, polls) = (governor.clone(), Arc::clone(&polls));
                Task::start(true, async move {
                    let mut call = governor.call(&scope());
                    let mut admit = pin!(call.admit());
                    let attempt = std::future::poll_fn(|cx| {
                        *polls.lock().unwrap() += 1;
                        governor.settings("another");
                        admit.as_mut().poll(cx)
                    });
                    drop(attempt.await);
                });
            }
            let before = *polls.lock().unwrap();
            change(&governor, attempt);
            assert_eq!(*polls.lock().unwrap() > before, wakes, "{name} with {line}");
        });
    }
}

#[test]
fn a_fake_sleep_whose_waker_owns_a_sleeping_task_is_dropped_without_a_deadlock() {
    comes_back(|| {
        let clock = FakeClock::new();
        let mut sleep = clock.sleep_until(clock.now() + secs(1.0));
        let inner = clock.clone();
        let task = Task::start(false, async move { inner.sleep_until(inner.now() + secs(9.0)).await });
        assert!(sleep.as_mut().poll(&mut Context::from_waker(&Waker::from(Arc::clone(&task)))).is_pending());
        clock.advance(secs(0.5));
        drop(task);
        drop(sleep);
        assert_eq!(clock.waiting(), 1, "the task's own sleep keeps it");
    });
}

// ===== any interleaving =====

/// A call on its way to an attempt.
type Admission = Pin<Box<dyn Future<Output = (cloud_governor::Call, Option<cloud_governor::Attempt>)>>>;

#[derive(Debug, Clone)]
enum Move {
    Admit(usize),
    Poll(usize),
    Forget(usize),
    Finish(usize, Class),
    Drop(usize),
    Unsent(usize),
    Release(usize),
    GiveUp(usize),
    Pass(u64),
    Reset,
}

fn moves() -> impl Strategy<Value = Move> {
    let call = 0..6_usize;
    let class = prop_oneof![Just(Class::Throttled), Just(Class::Transient), Just(Class::Locked), Just(Class::Fatal)];
    prop_oneof![
        4 => call.clone().prop_map(Move::Admit),
        4 => call.clone().prop_map(Move::Poll),
        1 => call.clone().prop_map(Move::Forget),
        4 => (call.clone(), class).prop_map(|(call, class)| Move::Finish(call, class)),
        1 => call.clone().prop_map(Move::Drop),
        1 => call.clone().prop_map(Move::Unsent),
        1 => call.clone().prop_map(Move::Release),
        1 => call.prop_map(Move::GiveUp),
        4 => (0_u64..8_000).prop_map(Move::Pass),
        1 => Just(Move::Reset),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// However calls are admitted, finished, dropped and reset: no more slots than the cap, one probe at most, the
    /// budget within its bounds, and nothing held once all is dropped.
    #[test]
    fn whatever_happens_the_caps_hold_and_everything_comes_back(
        steps in prop::collection::vec(moves(), 1..200),
        configured in 1_usize..4,
    ) {
        let yaml = format!(
            "ratelimit: {{ github: {{ account_concurrency: {configured}, max_rps: 5, burst: 3, retry_budget: 4, \
             breaker: {{ failures: 2, cooldown: 3 }} }} }}"
        );
        let clock = FakeClock::new();
        let governor = with_clock(&yaml, clock.clone());
        let policy = RetryPolicy::builder().deadline(secs(40.0)).attempt_timeout(secs(1_000.0)).build().unwrap();
        let new_call = || governor.call(&scope()).policy(policy);
        let mut calls: Vec<_> = (0..6).map(|_| Some(new_call())).collect();
        let mut admissions: Vec<Option<Admission>> =
            (0..6).map(|_| None).collect();
        let mut attempts: Vec<Option<cloud_governor::Attempt>> = (0..6).map(|_| None).collect();
        for step in steps {
            match step {
                Move::Admit(index) => {
                    if let Some(mut call) = calls[index].take() {
                        admissions[index] = Some(Box::pin(async move {
                            let attempt = call.admit().await.ok();
                            (call, attempt)
                        }));
                    }
                }
                Move::Poll(index) => {
                    if let Some(admission) = &mut admissions[index]
                        && let Poll::Ready((call, attempt)) = poll_once(admission.as_mut())
                    {
                        admissions[index] = None;
                        calls[index] = Some(if attempt.is_some() { call } else { new_call() });
                        attempts[index] = attempt;
                    }
                }
                Move::Forget(index) => {
                    if admissions[index].take().is_some() {
                        calls[index] = Some(new_call());
                    }
                }
                Move::Finish(index, class) => {
                    if let Some(attempt) = attempts[index].take() {
                        attempt.finish(if class == Class::Fatal { Outcome::Success } else { fails(class) });
                    }
                }
                Move::Drop(index) => attempts[index] = None,
                Move::Unsent(index) => attempts[index].take().into_iter().for_each(|attempt| attempt.unsent()),
                Move::Release(index) => {
                    if let Some(attempt) = &attempts[index] {
                        attempt.release_slot();
                    }
                }
                Move::GiveUp(index) => calls[index].iter_mut().for_each(|call| call.give_up()),
                Move::Pass(millis) => clock.advance(Duration::from_millis(millis)),
                Move::Reset => governor.reset(),
            }
            let seen = governor.inspect(&scope()).expect("the scope is known");
            prop_assert!(seen.slots_in_use <= configured, "{:?}", seen);
            prop_assert!(seen.retry_budget <= 4);
            // A full bucket takes in the tokens of 20 ms more while somebody is in line.
            let most = 3.0 + if seen.waiting_for_rate > 0 { 5.0 * 0.02 } else { 0.0 };
            prop_assert!(seen.tokens <= most + 1e-9 && seen.tokens >= -1.0, "{:?}", seen);
            let open = attempts.iter().flatten().count();
            prop_assert!(seen.slots_in_use <= open, "a slot that nobody holds: {:?}", seen);
            if seen.breaker == BreakerState::HalfOpen && seen.circuit_open_for.is_some() {
                let mut second = new_call();
                let refused = matches!(poll_once(pin!(second.admit())), Poll::Ready(Err(_)));
                prop_assert!(refused, "a second probe");
            }
        }
        drop((calls, admissions, attempts));
        let seen = governor.inspect(&scope()).expect("the scope is known");
        prop_assert_eq!((seen.slots_in_use, seen.waiting_for_rate, seen.waiting_for_slot), (0, 0, 0));
        prop_assert_eq!(clock.waiting(), 0);
        if seen.breaker == BreakerState::HalfOpen {
            prop_assert_eq!(seen.circuit_open_for, None, "the probe's place is free");
        }
        let totals = governor.summary().totals;
        prop_assert!(totals.calls >= totals.retries && totals.calls >= totals.throttled);
    }
}

#[test]
fn a_refusal_is_the_error_only_where_no_attempt_has_one() {
    let clock = FakeClock::new();
    let governor = with_clock("ratelimit: { github: { max_rps: 0.1, burst: 1, deadline: 5 } }", clock.clone());
    let resilience = Resilience::new().governor(&governor).classify_with(|_: &&str| Classification::transient());
    let scope = scope();
    let mut call = pin!(resilience.call(&scope, || async { Err::<(), _>("the caller's own") }));
    let answer = loop {
        match poll_once(call.as_mut()) {
            Poll::Ready(answer) => break answer,
            Poll::Pending => assert!(clock.advance_to_next()),
        }
    };
    assert!(matches!(answer, Err(Error::Call("the caller's own"))), "{answer:?}");
}
