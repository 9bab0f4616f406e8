//! The one waiter list, for async tasks and blocking threads alike: whoever waits is a [`Waker`] at a place.
//!
//! Order is by priority, then first come, first served. A waiter is never handed anything: it is woken and asks
//! again. Each entry says when its owner will ask at the latest; one that has not asked by then is absent (its
//! future is held but not polled) and leaves the list, so that it does not hold up those behind it. It keeps its
//! place and takes it again when it does ask.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Waker;
use std::time::Duration;

use crate::clock::Timestamp;

/// A waiter asks again at least this often when nothing wakes it, so that no waiter depends on another's being polled.
pub(crate) const RECHECK: Duration = Duration::from_secs(1);

/// How long after its time an entry counts as present: room for a busy runtime.
pub(crate) const GRACE: Duration = Duration::from_millis(100);

/// Calls wakers, which the caller does once it holds no lock.
pub(crate) fn wake(wakers: impl IntoIterator<Item = Waker>) {
    wakers.into_iter().for_each(Waker::wake);
}

/// How urgent a call is among those that wait for the same scope.
///
/// Strict: a waiting call of a higher priority goes before all of a lower one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Priority {
    /// Work that can wait for everything else.
    Low,
    /// The default.
    #[default]
    Normal,
    /// Goes first.
    High,
}

/// A place in line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    priority: std::cmp::Reverse<Priority>,
    ticket: u64,
}

impl Place {
    /// The place behind all that exist of the same priority.
    pub(crate) fn next(priority: Priority) -> Self {
        static TICKETS: AtomicU64 = AtomicU64::new(0);
        Place { priority: std::cmp::Reverse(priority), ticket: TICKETS.fetch_add(1, Ordering::Relaxed) }
    }
}

/// One waiter.
#[derive(Debug)]
pub(crate) struct Waiter {
    pub(crate) waker: Waker,
    /// When its owner asks again at the latest.
    pub(crate) asks_by: Timestamp,
    /// What it waits for, in tokens.
    pub(crate) cost: f64,
    pub(crate) deadline: Option<Timestamp>,
    /// When its turn should come, as known when it last asked or when the rate or pause last changed.
    pub(crate) ready_at: Timestamp,
}

/// Those who wait, in order.
#[derive(Debug, Default)]
pub(crate) struct WaitList {
    waiters: BTreeMap<Place, Waiter>,
    total_cost: f64,
    /// Wakers of entries that are gone. To drop one may drop the task it belongs to, whose own admissions then leave
    /// this very line: whoever holds the lock takes them out and drops them after it.
    spent: Vec<Waker>,
}

impl WaitList {
    pub(crate) fn is_empty(&self) -> bool {
        self.waiters.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.waiters.len()
    }

    pub(crate) fn put(&mut self, place: Place, waiter: Waiter) {
        self.total_cost += waiter.cost;
        if let Some(replaced) = self.waiters.insert(place, waiter) {
            self.total_cost -= replaced.cost;
            self.spent.push(replaced.waker);
        }
    }

    /// Takes the entry out and says when its turn was to come.
    pub(crate) fn remove(&mut self, place: Place) -> Option<Timestamp> {
        let waiter = self.waiters.remove(&place)?;
        // Not left to accumulate rounding errors.
        self.total_cost = if self.waiters.is_empty() { 0.0 } else { self.total_cost - waiter.cost };
        self.spent.push(waiter.waker);
        Some(waiter.ready_at)
    }

    /// The wakers of entries that are gone, to be dropped without the lock.
    #[must_use]
    pub(crate) fn take_spent(&mut self) -> Vec<Waker> {
        std::mem::take(&mut self.spent)
    }

    /// Whether nobody present stands before `place`. Absentees in front lose their entry.
    pub(crate) fn is_turn(&mut self, place: Place, now: Timestamp) -> bool {
        while let Some((&first, waiter)) = self.waiters.first_key_value() {
            if first >= place {
                break;
            }
            if now <= waiter.asks_by + GRACE {
                return false;
            }
            self.remove(first);
        }
        true
    }

    /// What those before `place` wait for, in tokens.
    pub(crate) fn cost_before(&self, place: Place) -> f64 {
        match self.waiters.last_key_value() {
            Some((&last, _)) if last < place => self.total_cost,
            _ => self.waiters.range(..place).map(|(_, waiter)| waiter.cost).sum(),
        }
    }

    /// The first one's waker; it is expected to ask now.
    pub(crate) fn call_first(&mut self, now: Timestamp) -> Option<Waker> {
        let mut first = self.waiters.first_entry()?;
        let waiter = first.get_mut();
        waiter.asks_by = waiter.asks_by.min(now);
        Some(waiter.waker.clone())
    }

    /// Everyone's wakers.
    pub(crate) fn wakers(&self) -> Vec<Waker> {
        self.waiters.values().map(|waiter| waiter.waker.clone()).collect()
    }

    /// Every waiter, first to last.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Waiter> {
        self.waiters.values_mut()
    }
}
