//! The one waiter list, for async tasks and blocking threads alike: whoever waits is a [`Waker`] at a place.
//!
//! Order is by priority, then first come, first served. A waiter is never handed anything: it is woken and asks
//! again. Each entry says when its owner will ask at the latest; one that has not asked by then is absent (its
//! future is held but not polled) and leaves the list, so that it does not hold up those behind it. It keeps its
//! place and takes it again when it does ask.

mod claims;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Waker;
use std::time::Duration;

use crate::clock::Timestamp;
use claims::{Claim, Claims};

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

/// A place in line: by priority, then by when the call began, then by who first had to wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    priority: std::cmp::Reverse<Priority>,
    begun: Timestamp,
    ticket: u64,
}

impl Place {
    /// The place behind all others of the same priority that began at the clock's origin.
    pub(crate) fn next(priority: Priority) -> Self {
        static TICKETS: AtomicU64 = AtomicU64::new(0);
        let ticket = TICKETS.fetch_add(1, Ordering::Relaxed);
        Place { priority: std::cmp::Reverse(priority), begun: Timestamp::ZERO, ticket }
    }

    /// This place for a call that began then: whoever waits from time to time keeps its turn.
    pub(crate) fn since(self, begun: Timestamp) -> Self {
        Place { begun, ..self }
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
    /// As known when it last asked or when the rate or pause last changed.
    pub(crate) turn: Turn,
}

/// When a waiter's turn should come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Turn {
    /// As things stand.
    pub(crate) ready_at: Timestamp,
    /// If what holds for a moment only is left out: whom this is too late for need not wait.
    pub(crate) expected_at: Timestamp,
}

impl Turn {
    pub(crate) fn at(time: Timestamp) -> Self {
        Turn { ready_at: time, expected_at: time }
    }
}

/// Those who wait, in order, and what others claim who wait elsewhere.
///
/// Nearly every line of very many is empty, and then it is one word.
#[derive(Debug, Default)]
pub(crate) struct WaitList(Option<Box<Line>>);

#[derive(Debug, Default)]
struct Line {
    waiters: BTreeMap<Place, Waiter>,
    total_cost: f64,
    claims: Claims,
    /// Wakers of entries that are gone. To drop one may drop the task it belongs to, whose own admissions then leave
    /// this very line: whoever holds the lock takes them out and drops them after it.
    spent: Vec<Waker>,
}

impl WaitList {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.as_ref().is_none_or(|line| line.waiters.is_empty())
    }

    /// Nobody waits and nobody has a claim.
    #[inline]
    pub(crate) fn is_undisputed(&self) -> bool {
        self.0.as_ref().is_none_or(|line| line.waiters.is_empty() && line.claims.is_empty())
    }

    pub(crate) fn len(&self) -> usize {
        self.0.as_ref().map_or(0, |line| line.waiters.len())
    }

    /// In line, and without a claim.
    pub(crate) fn put(&mut self, place: Place, waiter: Waiter) {
        let line = self.0.get_or_insert_default();
        line.claims.withdraw(place);
        line.total_cost += waiter.cost;
        if let Some(replaced) = line.waiters.insert(place, waiter) {
            line.total_cost -= replaced.cost;
            line.spent.push(replaced.waker);
        }
    }

    /// When the turn of one in line was to come.
    pub(crate) fn turn(&self, place: Place) -> Option<Turn> {
        Some(self.0.as_ref()?.waiters.get(&place)?.turn)
    }

    /// Not in line, but with a claim to so many tokens when they are due.
    pub(crate) fn claim(&mut self, place: Place, cost: f64, due: Timestamp, now: Timestamp) {
        self.leave_line(place);
        self.0.get_or_insert_default().claims.make(place, cost, due, now);
    }

    /// What those claim who come before `place`, each with what is claimed until it is due, itself included.
    pub(crate) fn claims_before(&self, place: Place, now: Timestamp) -> impl Iterator<Item = (Claim, f64)> + '_ {
        self.0.iter().flat_map(move |line| line.claims.before(place, now))
    }

    /// Neither in line nor with a claim. Whether it was in line.
    pub(crate) fn remove(&mut self, place: Place) -> bool {
        if let Some(line) = &mut self.0 {
            line.claims.withdraw(place);
        }
        self.leave_line(place)
    }

    fn leave_line(&mut self, place: Place) -> bool {
        let Some(line) = &mut self.0 else { return false };
        let Some(waiter) = line.waiters.remove(&place) else { return false };
        // Not left to accumulate rounding errors.
        line.total_cost = if line.waiters.is_empty() { 0.0 } else { line.total_cost - waiter.cost };
        line.spent.push(waiter.waker);
        true
    }

    /// The wakers of entries that are gone, to be dropped without the lock.
    #[must_use]
    pub(crate) fn take_spent(&mut self) -> Vec<Waker> {
        let spent = self.0.as_mut().map(|line| std::mem::take(&mut line.spent));
        if self.is_undisputed() {
            self.0 = None;
        }
        spent.unwrap_or_default()
    }

    /// Whether nobody present stands before `place`. Absentees in front lose their entry.
    pub(crate) fn is_turn(&mut self, place: Place, now: Timestamp) -> bool {
        while let Some((first, asks_by)) = self.first() {
            if first >= place {
                break;
            }
            if now <= asks_by + GRACE {
                return false;
            }
            self.remove(first);
        }
        true
    }

    fn first(&self) -> Option<(Place, Timestamp)> {
        let (place, waiter) = self.0.as_ref()?.waiters.first_key_value()?;
        Some((*place, waiter.asks_by))
    }

    /// What those before `place` wait for, in tokens.
    pub(crate) fn cost_before(&self, place: Place) -> f64 {
        let Some(line) = &self.0 else { return 0.0 };
        match line.waiters.last_key_value() {
            Some((&last, _)) if last < place => line.total_cost,
            _ => line.waiters.range(..place).map(|(_, waiter)| waiter.cost).sum(),
        }
    }

    /// The first one's waker; it is expected to ask now.
    pub(crate) fn call_first(&mut self, now: Timestamp) -> Option<Waker> {
        let mut first = self.0.as_mut()?.waiters.first_entry()?;
        let waiter = first.get_mut();
        waiter.asks_by = waiter.asks_by.min(now);
        Some(waiter.waker.clone())
    }

    /// Everyone's wakers.
    pub(crate) fn wakers(&self) -> Vec<Waker> {
        let line = self.0.iter();
        line.flat_map(|line| line.waiters.values()).map(|waiter| waiter.waker.clone()).collect()
    }

    /// Every waiter, first to last.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Waiter> {
        self.0.iter_mut().flat_map(|line| line.waiters.values_mut())
    }
}
