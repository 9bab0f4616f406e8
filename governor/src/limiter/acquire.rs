//! Taking a cost from several buckets at once, or waiting for it.

use std::sync::Arc;
use std::sync::atomic;
use std::task::Waker;

use smallvec::SmallVec;

use super::quota::Ticket;
use super::{Bucket, State, price};
use crate::clock::Timestamp;
use crate::sync::MutexGuard;
use crate::waiters::{GRACE, Place, RECHECK, Turn, Waiter, wake};

/// A line of so many may look again after each grace: that costs little.
const SHORT: usize = 1_024;

/// Why a place is not served yet.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wait {
    /// At the current rate, pause and line.
    pub(super) turn: Turn,
    /// When to ask again if nothing wakes it.
    pub(super) asks_at: Timestamp,
}

impl Wait {
    pub(super) fn for_turn(turn: Turn, now: Timestamp) -> Self {
        let ready_at = turn.ready_at;
        // Far from its time there is little to find out, so it asks halfway there. When its time has come and others
        // are still before it, they are about to be served, or absent, which shows after the grace.
        let halfway = now + (ready_at.until(now) / 2).max(RECHECK);
        let asks_at = if ready_at <= now { now + GRACE } else { ready_at.min(halfway) };
        Wait { turn, asks_at }
    }
}

/// What asking came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    /// The tokens are taken.
    Taken,
    /// Not yet: ask again when woken, and at this time at the latest.
    Wait(Timestamp),
    /// Not before the deadline, but then.
    TooLate(Timestamp),
}

/// Which of each bucket's calls one was, in the order of its buckets.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tickets {
    narrowest: Ticket,
    /// Only where there is more than nothing to say, which is where a server tells what is left of what is shared.
    others: Option<Box<SmallVec<[Ticket; 2]>>>,
    /// By bit, the buckets that it paid as many tokens as it has units, and not one. New settings may change what they count.
    paid_units: u64,
}

impl Tickets {
    /// Of a call that took from one bucket: as many tokens as it has units, or one.
    #[inline]
    pub(super) fn one(ticket: Ticket, paid_units: bool) -> Self {
        Tickets { narrowest: ticket, others: None, paid_units: u64::from(paid_units) }
    }

    /// What it paid for so many units at this one of its buckets.
    fn paid(&self, index: usize, units: f64) -> f64 {
        // Beyond the bits there is none.
        let paid_units = u32::try_from(index).ok().and_then(|index| self.paid_units.checked_shr(index));
        if paid_units.is_some_and(|bits| bits & 1 == 1) { units } else { 1.0 }
    }

    pub(crate) fn of_bucket(&self, index: usize) -> Ticket {
        match index.checked_sub(1) {
            None => self.narrowest,
            Some(other) => self.others.as_ref().and_then(|others| others.get(other)).copied().unwrap_or_default(),
        }
    }
}

/// Takes what a call of so many units costs from each of these buckets, if it lies ready in all and nobody waits, as it is
/// with most calls.
#[inline(never)]
pub(crate) fn take_at_once(buckets: &[Arc<Bucket>], units: f64, now: Timestamp) -> Option<Tickets> {
    match buckets {
        [narrow, wide] => take_if_all_ready(&mut lock_two(narrow, wide), units, now),
        buckets => take_if_all_ready(&mut lock_all(buckets), units, now),
    }
}

fn take_if_all_ready(held: &mut [Held<'_>], units: f64, now: Timestamp) -> Option<Tickets> {
    let all_ready = held.iter_mut().all(|held| {
        let price = held.bucket.price(units);
        held.state.line.is_undisputed() && held.state.tokens.is_ready(price, now)
    });
    all_ready.then(|| take_from(held, units, now))
}

fn take_from(held: &mut [Held<'_>], units: f64, now: Timestamp) -> Tickets {
    let (mut paid_units, mut bit) = (0, 1_u64);
    let mut take = |held: &mut Held<'_>| {
        // No call has more buckets than bits, save in a test.
        let counts_units = held.bucket.counts_units();
        paid_units |= if counts_units { bit } else { 0 };
        bit <<= 1;
        held.state.tokens.take(price(counts_units, units), now)
    };
    let Some((narrowest, others)) = held.split_first_mut() else { return Tickets::default() };
    let narrowest = take(narrowest);
    let others: SmallVec<[Ticket; 2]> = others.iter_mut().map(take).collect();
    let tells = others.iter().any(|ticket| *ticket != Ticket::default());
    Tickets { narrowest, others: tells.then(|| Box::new(others)), paid_units }
}

/// What a call of so many units costs, to be taken from every one of several buckets in one step, the narrowest first. No
/// bucket is named twice.
#[derive(Debug)]
pub(crate) struct Acquire<'a> {
    buckets: &'a [Arc<Bucket>],
    units: f64,
    place: Place,
    deadline: Option<Timestamp>,
    tickets: Tickets,
}

impl<'a> Acquire<'a> {
    pub(crate) fn new(buckets: &'a [Arc<Bucket>], units: f64, place: Place, deadline: Option<Timestamp>) -> Self {
        Acquire { buckets, units, place, deadline, tickets: Tickets::default() }
    }

    /// What it costs where units are counted.
    pub(crate) fn units(&self) -> f64 {
        self.units
    }

    /// Which of each bucket's calls it is, once it has taken its tokens.
    pub(crate) fn tickets(&self) -> &Tickets {
        &self.tickets
    }

    /// Takes the cost, or stands in line with `waker`.
    pub(crate) fn ask(&mut self, now: Timestamp, waker: &Waker) -> Asked {
        if let [bucket] = self.buckets
            && let Some(tickets) = bucket.take_at_once(self.units, now)
        {
            self.tickets = tickets;
            return Asked::Taken;
        }
        let (asked, wakers, spent) = {
            let mut held = lock_all(self.buckets);
            // The rate may grow while callers wait, and the next answer settles whether the one after it matters.
            self.buckets.iter().for_each(|bucket| bucket.heeds_answers.store(true, atomic::Ordering::Relaxed));
            let stood = held.iter().position(|held| held.state.line.turn(self.place).is_some());
            let mut wait = self.wait(&mut held, stood, now);
            if let Some((index, overdue)) = wait
                && overdue.turn.ready_at + GRACE < now
                && held[index].state.line.len() > SHORT
            {
                held[index].state.put_off(now);
                wait = self.wait(&mut held, stood, now);
            }
            let (asked, wakers) = match wait {
                None => {
                    held.iter_mut().for_each(|held| held.leave(self.place));
                    self.tickets = take_from(&mut held, self.units, now);
                    (Asked::Taken, call_firsts(&mut held, now))
                }
                Some((_, wait)) if self.deadline.is_some_and(|deadline| deadline <= wait.turn.expected_at) => {
                    held.iter_mut().for_each(|held| held.leave(self.place));
                    (Asked::TooLate(wait.turn.expected_at), call_firsts(&mut held, now))
                }
                Some((index, wait)) => {
                    self.stand_at(&mut held, index, wait, now, waker);
                    let left = stood.filter(|stood| *stood != index).map(|stood| &mut held[stood]);
                    (Asked::Wait(wait.asks_at), call_firsts(left, now))
                }
            };
            (asked, wakers, take_spent(&mut held))
        };
        drop(spent);
        wake(wakers);
        asked
    }

    /// What it has to wait for: the bucket in whose line it stands, as long as that cannot serve it, as to change lines makes
    /// others move up and look as well; else the one that is expected to be the last.
    fn wait(&self, held: &mut [Held<'_>], stood: Option<usize>, now: Timestamp) -> Option<(usize, Wait)> {
        let mut ask = |index| {
            let Held { bucket, state } = held.get_mut(index)?;
            Some((index, state.ask(self.place, bucket.price(self.units), now)?))
        };
        stood.and_then(&mut ask).or_else(|| {
            let others = (0..self.buckets.len()).filter(|index| Some(*index) != stood);
            others.filter_map(ask).max_by_key(|(_, wait)| wait.turn.expected_at)
        })
    }

    fn stand_at(&self, held: &mut [Held<'_>], index: usize, wait: Wait, now: Timestamp, waker: &Waker) {
        for (other, Held { bucket, state }) in held.iter_mut().enumerate() {
            let cost = bucket.price(self.units);
            if other == index {
                let Wait { turn, asks_at: asks_by } = wait;
                let waiter = Waiter { waker: waker.clone(), asks_by, cost, deadline: self.deadline, turn };
                state.line.put(self.place, waiter);
            } else {
                state.line.claim(self.place, cost, wait.turn.ready_at, now);
            }
        }
    }

    /// Gives back tokens that were taken and not used.
    pub(crate) fn give_back(&self, now: Timestamp) {
        give_back(self.buckets, self.units, &self.tickets, now, now);
    }

    /// Leaves every line.
    pub(crate) fn leave(&self, now: Timestamp) {
        change_all(self.buckets, now, |_, held| held.leave(self.place));
    }
}

/// Gives tokens that a call of so many units took from each of these buckets at `taken_at` back to it.
pub(crate) fn give_back(buckets: &[Arc<Bucket>], units: f64, tickets: &Tickets, taken_at: Timestamp, now: Timestamp) {
    change_all(buckets, now, |index, held| {
        held.state.tokens.give_back(tickets.paid(index, units), taken_at, now);
    });
}

fn change_all(buckets: &[Arc<Bucket>], now: Timestamp, change: impl Fn(usize, &mut Held<'_>)) {
    let (wakers, spent) = {
        let mut held = lock_all(buckets);
        held.iter_mut().enumerate().for_each(|(index, held)| change(index, held));
        (call_firsts(&mut held, now), take_spent(&mut held))
    };
    drop(spent);
    wake(wakers);
}

fn call_firsts<'h, 'b: 'h>(held: impl IntoIterator<Item = &'h mut Held<'b>>, now: Timestamp) -> Vec<Waker> {
    held.into_iter().filter_map(|held| held.state.line.call_first(now)).collect()
}

fn take_spent(held: &mut [Held<'_>]) -> Vec<Waker> {
    held.iter_mut().flat_map(|held| held.state.line.take_spent()).collect()
}

/// Room for as many buckets as a call usually has: with no more, taking a token allocates nothing.
type Few<T> = SmallVec<[T; 3]>;

/// A bucket that is locked.
struct Held<'a> {
    bucket: &'a Bucket,
    state: MutexGuard<'a, State>,
}

impl<'a> Held<'a> {
    fn lock(bucket: &'a Bucket) -> Self {
        Held { bucket, state: bucket.state.lock() }
    }

    fn leave(&mut self, place: Place) {
        self.state.line.remove(place);
    }
}

/// Locks every bucket, always in the same order, and returns them in the caller's.
fn lock_all(buckets: &[Arc<Bucket>]) -> Few<Held<'_>> {
    match buckets {
        [bucket] => return Few::from_iter([Held::lock(bucket)]),
        [narrow, wide] => return Few::from_iter(lock_two(narrow, wide)),
        _ => {}
    }
    let mut order: Few<(usize, &Bucket)> = buckets.iter().map(|bucket| &**bucket).enumerate().collect();
    order.sort_by_key(|(_, bucket)| lock_order(bucket));
    let mut held: Few<(usize, Held<'_>)> =
        order.into_iter().map(|(index, bucket)| (index, Held::lock(bucket))).collect();
    held.sort_by_key(|(index, _)| *index);
    held.into_iter().map(|(_, held)| held).collect()
}

fn lock_two<'a>(narrow: &'a Bucket, wide: &'a Bucket) -> [Held<'a>; 2] {
    if lock_order(narrow) < lock_order(wide) {
        let narrow = Held::lock(narrow);
        [narrow, Held::lock(wide)]
    } else {
        let wide = Held::lock(wide);
        [Held::lock(narrow), wide]
    }
}

/// Where they are in memory is an order as good as any.
fn lock_order(bucket: &Bucket) -> *const Bucket {
    bucket
}
