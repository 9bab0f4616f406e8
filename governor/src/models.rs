//! Every interleaving of the control parts, tried by loom.
//!
//! A lost wake shows as a deadlock: a waiting thread sleeps until its waker is called, as no timer exists here.

use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::Arc;
use std::task::{Wake, Waker};
use std::time::Duration;

use loom::sync::Notify;
use loom::thread;

use crate::breaker::{Breaker, Pass};
use crate::budget::RetryBudget;
use crate::bulkhead::{Bulkhead, Slot};
use crate::clock::Timestamp;
use crate::config::{Config, Limits, ThrottleSettings};
use crate::limiter::{Acquire, Asked, Bucket};
use crate::scope::Scope;
use crate::waiters::{Place, Priority, wake};

const NOW: Timestamp = Timestamp::ZERO;

/// Two threads and the model's own, with as many preemptions as find the faults that are known of such code.
pub(crate) fn model(run: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(run);
}

struct Bell(Notify);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.notify();
    }
}

/// Asks until served, sleeping until woken in between.
fn until<T>(mut ask: impl FnMut(&Waker) -> Option<T>) -> T {
    let bell = Arc::new(Bell(Notify::new()));
    let waker = Waker::from(Arc::clone(&bell));
    loop {
        match ask(&waker) {
            Some(served) => return served,
            None => bell.0.wait(),
        }
    }
}

fn take_slot(bulkhead: &Arc<Bulkhead>) -> Slot {
    let place = Place::next(Priority::Normal);
    until(|waker| bulkhead.ask(place, NOW, waker))
}

#[test]
fn a_freed_slot_always_finds_the_one_that_waits() {
    model(|| {
        let bulkhead = Arc::new(Bulkhead::new(NonZeroUsize::MIN));
        let workers: Vec<_> = (0..2)
            .map(|_| {
                let bulkhead = Arc::clone(&bulkhead);
                thread::spawn(move || {
                    let slot = take_slot(&bulkhead);
                    assert_eq!(bulkhead.in_use(), 1);
                    drop(slot);
                })
            })
            .collect();
        drop(take_slot(&bulkhead));
        workers.into_iter().for_each(|worker| worker.join().unwrap());
        assert_eq!((bulkhead.in_use(), bulkhead.waiting()), (0, 0));
    });
}

#[test]
fn a_waiter_that_leaves_never_takes_a_wake_with_it() {
    model(|| {
        let bulkhead = Arc::new(Bulkhead::new(NonZeroUsize::MIN));
        let held = take_slot(&bulkhead);
        let leaver = {
            let bulkhead = Arc::clone(&bulkhead);
            thread::spawn(move || {
                let place = Place::next(Priority::High);
                let slot = bulkhead.ask(place, NOW, Waker::noop());
                bulkhead.leave(place);
                drop(slot);
            })
        };
        let waiter = {
            let bulkhead = Arc::clone(&bulkhead);
            thread::spawn(move || drop(take_slot(&bulkhead)))
        };
        drop(held);
        leaver.join().unwrap();
        waiter.join().unwrap();
        assert_eq!((bulkhead.in_use(), bulkhead.waiting()), (0, 0));
    });
}

#[test]
fn a_raised_cap_always_finds_the_one_that_waits() {
    model(|| {
        let bulkhead = Arc::new(Bulkhead::new(NonZeroUsize::MIN));
        let held = take_slot(&bulkhead);
        let waiter = {
            let bulkhead = Arc::clone(&bulkhead);
            thread::spawn(move || drop(take_slot(&bulkhead)))
        };
        wake(bulkhead.resize(NonZeroUsize::new(2).unwrap()));
        waiter.join().unwrap();
        drop(held);
        assert_eq!((bulkhead.in_use(), bulkhead.cap(), bulkhead.waiting()), (0, 2, 0));
    });
}

#[test]
fn a_lowered_cap_is_never_exceeded_by_one_that_comes_without_the_lock() {
    model(|| {
        let bulkhead = Arc::new(Bulkhead::new(NonZeroUsize::new(2).unwrap()));
        let held = take_slot(&bulkhead);
        let newcomer = {
            let bulkhead = Arc::clone(&bulkhead);
            thread::spawn(move || bulkhead.ask(Place::next(Priority::Normal), NOW, Waker::noop()))
        };
        wake(bulkhead.resize(NonZeroUsize::MIN));
        let in_use = bulkhead.in_use();
        let taken = newcomer.join().unwrap();
        assert!(taken.is_none() || in_use == 2, "it came before the cap was lowered, or not at all");
        drop((held, taken));
        assert_eq!(bulkhead.in_use(), 0);
    });
}

#[test]
fn a_call_that_passes_while_the_circuit_opens_does_not_close_it() {
    model(|| {
        let lease = Duration::from_secs(60);
        let breaker = Arc::new(Breaker::new(NonZeroU32::MIN, Duration::from_secs(30)));
        let pass = breaker.check(NOW, None, lease).unwrap();
        let other = {
            let breaker = Arc::clone(&breaker);
            thread::spawn(move || breaker.check(NOW, None, lease).map(|pass| breaker.answered(pass)))
        };
        assert!(breaker.gave_up(NOW, pass).is_some());
        assert_ne!(other.join().unwrap(), Ok(true));
        assert!(breaker.refusal(NOW).is_some() && breaker.check(NOW, None, lease).is_err());
    });
}

#[test]
fn an_answer_forgets_the_give_ups_before_it_or_comes_too_late() {
    model(|| {
        let lease = Duration::from_secs(60);
        let breaker = Arc::new(Breaker::new(NonZeroU32::new(2).unwrap(), Duration::from_secs(30)));
        let pass = breaker.check(NOW, None, lease).unwrap();
        assert!(breaker.gave_up(NOW, pass).is_none());
        let answer = {
            let breaker = Arc::clone(&breaker);
            thread::spawn(move || breaker.answered(pass))
        };
        let opened = breaker.gave_up(NOW, pass).is_some();
        assert!(!answer.join().unwrap());
        assert_eq!(breaker.refusal(NOW).is_some(), opened);
        assert_eq!(breaker.gave_up(NOW, pass).is_some(), !opened, "one give-up is remembered after the answer");
    });
}

#[test]
fn a_half_open_circuit_has_exactly_one_probe() {
    model(|| {
        let lease = Duration::from_secs(60);
        let breaker = Arc::new(Breaker::new(NonZeroU32::MIN, Duration::ZERO));
        let pass = breaker.check(NOW, None, lease).unwrap();
        breaker.gave_up(NOW, pass);
        let askers: Vec<_> = (0..2)
            .map(|_| {
                let breaker = Arc::clone(&breaker);
                thread::spawn(move || breaker.check(NOW, None, lease).ok())
            })
            .collect();
        let passes: Vec<Pass> = askers.into_iter().filter_map(|asker| asker.join().unwrap()).collect();
        assert_eq!(passes.len(), 1);
        assert!(passes[0].probe && breaker.answered(passes[0]));
    });
}

#[test]
fn a_probe_that_is_dropped_while_others_ask_leaves_its_place_to_one() {
    model(|| {
        let lease = Duration::from_secs(60);
        let breaker = Arc::new(Breaker::new(NonZeroU32::MIN, Duration::ZERO));
        let pass = breaker.check(NOW, None, lease).unwrap();
        breaker.gave_up(NOW, pass);
        let probe = breaker.check(NOW, None, lease).unwrap();
        let asker = {
            let breaker = Arc::clone(&breaker);
            thread::spawn(move || breaker.check(NOW, None, lease).ok())
        };
        breaker.release(probe);
        let passed = [asker.join().unwrap(), breaker.check(NOW, None, lease).ok()];
        assert_eq!(passed.iter().flatten().filter(|pass| pass.probe).count(), 1);
    });
}

#[test]
fn the_budget_pays_each_token_once_and_loses_no_refund() {
    model(|| {
        let budget = Arc::new(RetryBudget::new(1));
        let retrier = {
            let budget = Arc::clone(&budget);
            thread::spawn(move || budget.charge().map(|charge| charge.spend()).is_some())
        };
        let refunder = {
            let budget = Arc::clone(&budget);
            thread::spawn(move || budget.refund())
        };
        let dropped = budget.charge().is_some();
        let spent = retrier.join().unwrap();
        refunder.join().unwrap();
        assert!(spent || dropped, "one of them was paid");
        // A refund that came while the budget was full is over its capacity; one that came later counts.
        let tenths = budget.available();
        assert_eq!(tenths, u64::from(!spent));
    });
}

/// A bucket of one token that does not refill, as no time passes.
fn bucket(law: &ThrottleSettings) -> Arc<Bucket> {
    let limits = Limits::new(1.0, 1.0, 0.05).unwrap();
    Arc::new(Bucket::new(Scope::new("x", "1", "", "a"), limits, law.clone(), NOW, Duration::ZERO))
}

/// Takes a token from each, however long that takes.
fn take(buckets: &[Arc<Bucket>]) -> Acquire<'_> {
    let mut acquire = Acquire::new(buckets, 1.0, Place::next(Priority::Normal), None);
    until(|waker| (acquire.ask(NOW, waker) == Asked::Taken).then_some(()));
    acquire
}

/// Outside the model: its threads' stacks are too small for reading settings.
fn law() -> ThrottleSettings {
    Config::default().provider("generic").throttle.clone()
}

#[test]
fn a_token_that_is_given_back_always_finds_the_one_that_waits() {
    let law = law();
    model(move || {
        let bucket = [bucket(&law)];
        let held = take(&bucket);
        let waiter = {
            let bucket = bucket.clone();
            thread::spawn(move || take(&bucket).give_back(NOW))
        };
        held.give_back(NOW);
        waiter.join().unwrap();
        let view = bucket[0].view(NOW);
        assert_eq!((view.tokens, view.waiting), (1.0, 0));
    });
}

#[test]
fn two_that_name_the_same_buckets_in_different_orders_both_get_them() {
    let law = law();
    model(move || {
        let (one, other) = (bucket(&law), bucket(&law));
        let there = [Arc::clone(&one), Arc::clone(&other)];
        let back = [Arc::clone(&other), Arc::clone(&one)];
        let second = thread::spawn(move || take(&back).give_back(NOW));
        take(&there).give_back(NOW);
        second.join().unwrap();
        for bucket in [one, other] {
            let view = bucket.view(NOW);
            assert_eq!((view.tokens, view.waiting), (1.0, 0));
        }
    });
}

#[test]
fn one_that_needs_two_buckets_and_others_that_need_one_of_them_all_get_theirs() {
    let law = law();
    model(move || {
        // In the order of their locks, which is that of their addresses, so that every run of the model takes them alike.
        let mut both = [bucket(&law), bucket(&law)];
        both.sort_by_key(Arc::as_ptr);
        let others = both.clone().map(|bucket| thread::spawn(move || take(&[bucket]).give_back(NOW)));
        take(&both).give_back(NOW);
        others.into_iter().for_each(|other| other.join().unwrap());
        for bucket in both {
            let view = bucket.view(NOW);
            assert_eq!((view.tokens, view.waiting), (1.0, 0));
        }
    });
}
