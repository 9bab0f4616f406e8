//! Blocking calls: on threads, on the runtime's blocking threads, and never on a thread that runs tasks.

mod common;

use std::io;
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cloud_governor::{
    BreakerState, Class, Classification, Clock, Config, Error, FakeClock, Governor, Outcome, RefusalKind, Resilience,
    RetryPolicy, Scope, call_with_resilience_blocking, call_with_resilience_sync,
};
use common::*;

fn fake(yaml: &str) -> (Governor, FakeClock) {
    let clock = FakeClock::new();
    let config = Config::from_yaml(yaml, "test").unwrap();
    (Governor::builder().config(config).clock(clock.clone()).seed(7).build(), clock)
}

fn slots_in_use(governor: &Governor) -> usize {
    governor.inspect(&scope()).map_or(0, |seen| seen.slots_in_use)
}

// ===== from async code =====

#[tokio::test]
async fn a_blocking_operation_runs_on_another_thread_and_is_sent_again() {
    let (governor, clock) = fake("ratelimit: { github: { base_delay: 1, max_backoff: 1 } }");
    let here = std::thread::current().id();
    let mut sent = 0;
    let call = async {
        let resilience = Resilience::new().governor(&governor).classify_with(|_: &u32| Classification::transient());
        let operation = move || {
            sent += 1;
            assert_ne!(std::thread::current().id(), here);
            if sent < 3 { Err(sent) } else { Ok(sent) }
        };
        resilience.call_blocking(&scope(), operation).await
    };
    let time = async {
        loop {
            clock.advance_to_next();
            tokio::task::yield_now().await;
        }
    };
    let answer = tokio::select! { answer = call => answer, () = time => unreachable!("time does not end") };
    assert_eq!(answer.unwrap(), 3);
    assert_eq!((governor.summary().totals.retries, slots_in_use(&governor)), (2, 0));
}

/// xberg-io/xberg#1641: the permit came back while the blocking work still ran.
#[tokio::test]
async fn the_slot_is_kept_until_the_thread_ends_though_the_caller_is_dropped() {
    let (governor, _clock) = fake("ratelimit: { github: { account_concurrency: 1 } }");
    let (release, released) = mpsc::channel::<()>();
    let resilience = Resilience::new().governor(&governor);
    let call = tokio::spawn(async move {
        let operation = move || released.recv().map_err(|_| io::Error::other("released"));
        resilience.call_blocking(&scope(), operation).await
    });
    while slots_in_use(&governor) == 0 {
        tokio::task::yield_now().await;
    }
    call.abort();
    assert!(call.await.unwrap_err().is_cancelled());
    assert_eq!(slots_in_use(&governor), 1, "the work goes on");
    release.send(()).unwrap();
    wait_until(|| slots_in_use(&governor) == 0);
    assert_eq!(governor.summary().totals.gave_up, 0);
}

#[tokio::test]
async fn after_an_attempt_timeout_the_caller_is_told_and_the_slot_is_kept_until_the_thread_ends() {
    let (governor, clock) =
        fake("ratelimit: { github: { account_concurrency: 1, breaker: { failures: 1 }, attempt_timeout: 2 } }");
    let (release, released) = mpsc::channel::<()>();
    let resilience = Resilience::new().governor(&governor);
    let call = tokio::spawn(async move {
        let operation = move || {
            released.recv().ok();
            Err::<(), _>(io::Error::from(io::ErrorKind::ConnectionReset))
        };
        resilience.call_blocking(&scope(), operation).await
    });
    while clock.waiting() == 0 || slots_in_use(&governor) == 0 {
        tokio::task::yield_now().await;
    }
    clock.advance(secs(2.0));
    let answer = call.await.unwrap();
    assert_eq!(answer.unwrap_err().refusal().unwrap().kind(), RefusalKind::AttemptTimedOut);
    assert_eq!(slots_in_use(&governor), 1);
    release.send(()).unwrap();
    wait_until(|| slots_in_use(&governor) == 0);
    wait_until(|| governor.summary().totals.gave_up == 1);
    assert_eq!(governor.inspect(&scope()).unwrap().breaker, BreakerState::Open, "the call ended with this failure");
    assert_eq!(governor.summary().totals.calls, 1, "it was not sent again beside itself");
}

#[tokio::test]
async fn a_panic_in_blocking_work_goes_on_in_the_caller_and_the_slot_comes_back() {
    let (governor, _clock) = fake("");
    let resilience = Resilience::new().governor(&governor);
    let panics = || -> Result<(), io::Error> { panic!("in the blocking work") };
    let call = tokio::spawn(async move { resilience.call_blocking(&scope(), panics).await });
    let panic = call.await.unwrap_err().into_panic();
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"in the blocking work"));
    assert_eq!(slots_in_use(&governor), 0);
    assert_eq!(governor.summary().totals.gave_up, 0);
}

#[test]
fn blocking_work_needs_no_runtime() {
    let (governor, _clock) = fake("");
    let resilience = Resilience::new().governor(&governor);
    let scope = scope();
    let mut call = Box::pin(resilience.call_blocking(&scope, || Ok::<_, io::Error>(5)));
    let woken = Arc::new(Woken(std::thread::current()));
    let waker = std::task::Waker::from(woken);
    let answer = loop {
        match call.as_mut().poll(&mut std::task::Context::from_waker(&waker)) {
            std::task::Poll::Ready(answer) => break answer,
            std::task::Poll::Pending => std::thread::park_timeout(Duration::from_secs(10)),
        }
    };
    assert_eq!(answer.unwrap(), 5);
}

struct Woken(std::thread::Thread);

impl std::task::Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

#[tokio::test]
async fn the_process_wide_forms_work() {
    let scope = Scope::new("by-hand-forms", "octo", "", "rest");
    assert_eq!(call_with_resilience_blocking(&scope, || Ok::<_, io::Error>(1)).await.unwrap(), 1);
    let twin = scope.clone();
    let thread = std::thread::spawn(move || call_with_resilience_sync(&twin, || Ok::<_, io::Error>(2)));
    assert_eq!(thread.join().unwrap().unwrap(), 2);
    let seen = cloud_governor::get_governor().inspect(&scope).unwrap();
    assert_eq!(seen.slots_in_use, 0);
}

// ===== on this thread =====

fn refused_here(governor: &Governor) -> bool {
    let mut sent = false;
    let answer = Resilience::new().governor(governor).call_sync(&scope(), || {
        sent = true;
        Ok::<_, io::Error>(())
    });
    match answer {
        Ok(()) => false,
        Err(Error::Refused(refusal)) if refusal.kind() == RefusalKind::RuntimeThread => {
            assert!(!sent, "refused, and sent all the same");
            true
        }
        Err(error) => panic!("{error}"),
    }
}

/// aio-libs/aiobotocore#912: a blocking limiter stalled the event loop.
#[test]
fn a_blocking_call_is_refused_on_any_thread_that_runs_tasks() {
    let (governor, _clock) = fake("");
    let current = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let multi = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    for runtime in [&current, &multi] {
        assert!(runtime.block_on(async { refused_here(&governor) }), "inside block_on");
        let inside = governor.clone();
        assert!(runtime.block_on(async { tokio::spawn(async move { refused_here(&inside) }).await.unwrap() }));
        let handle = runtime.handle().clone();
        assert!(handle.block_on(async { refused_here(&governor) }), "inside a handle's block_on");
    }
    let local = tokio::task::LocalSet::new();
    assert!(
        local.block_on(&current, async {
            tokio::task::spawn_local(async move { refused_here(&governor) }).await.unwrap()
        })
    );
}

#[test]
fn a_blocking_call_works_on_every_thread_that_may_block() {
    let (governor, _clock) = fake("");
    assert!(!refused_here(&governor), "a plain thread");
    let multi = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    {
        let _inside = multi.enter();
        assert!(!refused_here(&governor), "a plain thread that knows a runtime");
    }
    let blocking = governor.clone();
    let on_blocking = multi.block_on(async { tokio::task::spawn_blocking(move || refused_here(&blocking)).await });
    assert!(!on_blocking.unwrap(), "a blocking thread of the runtime");
    let in_place = multi
        .block_on(async { tokio::spawn(async move { tokio::task::block_in_place(|| refused_here(&governor)) }).await });
    assert!(!in_place.unwrap(), "a worker that was told it may block");
}

#[tokio::test]
async fn asking_whether_a_thread_may_block_does_not_use_up_a_tasks_turn() {
    let (governor, _clock) = fake("");
    let before = tokio::task::coop::has_budget_remaining();
    for _ in 0..10 {
        assert!(refused_here(&governor));
    }
    assert!(before && tokio::task::coop::has_budget_remaining());
}

#[test]
fn a_blocking_call_retries_by_the_fake_clock() {
    let (governor, clock) = fake("ratelimit: { github: { base_delay: 2, max_backoff: 2, max_retries: 3 } }");
    let calling = governor.clone();
    let thread = std::thread::spawn(move || {
        let mut sent = 0;
        let resilience = Resilience::new().governor(&calling).classify_with(|_: &u32| Classification::transient());
        resilience.call_sync(&scope(), || {
            sent += 1;
            Err::<(), _>(sent)
        })
    });
    wait_until(|| {
        clock.advance_to_next();
        thread.is_finished()
    });
    assert!(matches!(thread.join().unwrap(), Err(Error::Call(4))));
    assert_eq!(clock.now().as_nanos(), 6_000_000_000, "three backoffs of two seconds");
}

#[test]
fn a_wrapped_blocking_function_is_governed_under_one_scope_or_one_made_from_its_argument() {
    let (governor, _clock) = fake("");
    let fixed = Resilience::new().governor(&governor).wrap(scope(), |n: u32| Ok::<_, io::Error>(n + 1));
    assert_eq!(fixed.call_sync(1).unwrap(), 2);
    let by_owner = Resilience::new()
        .governor(&governor)
        .classify_with(|_: &String| Classification::fatal())
        .wrap(|owner: &String| Scope::new("github", owner, "", "rest"), |owner: String| Err::<(), _>(owner));
    let error = by_owner.call_sync("hooli".to_owned()).unwrap_err();
    assert_eq!(error.into_call(), Some("hooli".to_owned()));
    assert_eq!(governor.summary().scopes[&Scope::new("github", "hooli", "", "rest")].calls, 1);
}

#[test]
fn a_panic_in_a_blocking_operation_gives_its_slot_back() {
    let (governor, _clock) = fake("");
    let calling = governor.clone();
    let thread = std::thread::spawn(move || {
        Resilience::new().governor(&calling).call_sync(&scope(), || -> Result<(), io::Error> { panic!("at work") })
    });
    assert!(thread.join().is_err());
    assert_eq!((slots_in_use(&governor), governor.summary().totals.gave_up), (0, 0));
}

#[test]
fn a_blocking_call_that_cannot_be_sent_before_its_deadline_is_refused_without_waiting() {
    let (governor, clock) = fake("ratelimit: { github: { max_rps: 0.1, burst: 1 } }");
    let policy = RetryPolicy::builder().deadline(secs(5.0)).build().unwrap();
    let resilience = Resilience::new().governor(&governor).policy(policy);
    resilience.call_sync(&scope(), || Ok::<_, io::Error>(())).unwrap();
    let refused = resilience.call_sync(&scope(), || Ok::<_, io::Error>(())).unwrap_err();
    assert_eq!(refused.refusal().unwrap().kind(), RefusalKind::DeadlineExceeded);
    assert_eq!(clock.now(), cloud_governor::Timestamp::ZERO);
}

// ===== one line =====

/// Tasks and threads that came in turns are served in the order in which they came.
fn served_in_order(yaml: &str, hold: bool) {
    let (governor, clock) = fake(yaml);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
    let served = Arc::new(Mutex::new(Vec::new()));
    let mut first = governor.call(&scope());
    let held = first.admit_blocking().unwrap();
    if !hold {
        held.finish(Outcome::Success);
    }
    let mut threads = Vec::new();
    let waiting = |governor: &Governor| {
        let seen = governor.inspect(&scope()).unwrap();
        seen.waiting_for_rate + seen.waiting_for_slot
    };
    for number in 0..6 {
        let (governor, served) = (governor.clone(), Arc::clone(&served));
        let calling = governor.clone();
        if number % 2 == 0 {
            threads.push(std::thread::spawn(move || {
                let attempt = calling.call(&scope()).admit_blocking().unwrap();
                served.lock().unwrap().push(number);
                attempt.finish(Outcome::Success);
            }));
        } else {
            runtime.spawn(async move {
                let attempt = calling.call(&scope()).admit().await.unwrap();
                served.lock().unwrap().push(number);
                attempt.finish(Outcome::Success);
            });
        }
        wait_until(|| waiting(&governor) == number + 1 && clock.waiting() == number + 1);
    }
    drop(held);
    // Small steps, each followed until whoever was woken waits again, so that nobody is taken for absent.
    wait_until(|| {
        let left = 6 - served.lock().unwrap().len();
        if clock.waiting() >= left {
            clock.advance(Duration::from_millis(20));
        }
        left == 0
    });
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(*served.lock().unwrap(), [0, 1, 2, 3, 4, 5]);
}

#[test]
fn threads_and_tasks_in_line_for_a_token_are_served_first_come_first_served() {
    served_in_order("ratelimit: { github: { max_rps: 2, burst: 1 } }", false);
}

#[test]
fn threads_and_tasks_in_line_for_a_slot_are_served_first_come_first_served() {
    served_in_order("ratelimit: { github: { account_concurrency: 1, max_rps: 1000 } }", true);
}

/// smithy-lang/smithy-kotlin#1547: one slept with the lock held, and all others stood.
#[test]
fn one_that_waits_blocks_none_of_a_hundred_that_only_look() {
    let (governor, clock) = fake("ratelimit: { github: { max_rps: 0.1, burst: 1 } }");
    governor.call(&scope()).admit_blocking().unwrap().finish(fails(Class::Fatal));
    let waiting = {
        let governor = governor.clone();
        std::thread::spawn(move || governor.call(&scope()).admit_blocking().map(drop))
    };
    wait_until(|| clock.waiting() == 1);
    let hurried = RetryPolicy::builder().deadline(Duration::from_nanos(1)).build().unwrap();
    for _ in 0..100 {
        let refusal = governor.call(&scope()).policy(hurried).admit_blocking().unwrap_err();
        assert_eq!(refusal.kind(), RefusalKind::DeadlineExceeded);
    }
    assert_eq!(clock.now(), cloud_governor::Timestamp::ZERO, "none of them waited");
    wait_until(|| {
        clock.advance_to_next();
        waiting.is_finished()
    });
    waiting.join().unwrap().unwrap();
}
