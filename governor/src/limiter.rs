//! The adaptive token bucket, and the line before it.
//!
//! [`TokenBucket`] is tokens and time; how fast they come is its [`law`]'s. [`Bucket`] is one with its waiters.
//! [`Acquire`] takes a cost from several buckets at once or waits.
//!
//! Nobody sleeps on a promise made at an old rate: whoever wakes asks again, so that a lower rate or a pause holds
//! those already in line and a higher one lets them go early. A call that cannot be served before its deadline is
//! told so at once, when it comes and again whenever the rate or the pause changes.
//!
//! An acquisition over several buckets takes from all in one step: no token is spent while another is waited for. Until then it
//! stands in the line of one that cannot serve it, so that it holds up nobody who does not use that one, and has
//! a claim on the others, so that they serve it when its turn comes.

mod law;
mod named;
mod quota;
mod token_bucket;
mod window;

use std::sync::Arc;
use std::sync::atomic::{self, AtomicBool};
use std::task::Waker;
use std::time::Duration;

use smallvec::SmallVec;

use crate::clock::Timestamp;
use crate::config::{Counts, Limits, ThrottleSettings};
use crate::scope::Scope;
use crate::sync::{Mutex, MutexGuard};
use crate::waiters::{GRACE, Place, RECHECK, Turn, WaitList, Waiter, wake};
use law::AnswerEffect;
pub use law::Phase;
pub(crate) use law::{Answer, AnswerKind};
pub(crate) use named::NamedLimit;
pub use quota::QuotaView;
pub(crate) use quota::{Report, Ticket};
use token_bucket::TokenBucket;
pub(crate) use token_bucket::{BucketView, ThrottleEffect};

/// A line of so many may look again after each grace: that costs little.
const SHORT: usize = 1_024;

/// A token bucket and those who wait for it.
#[derive(Debug)]
pub(crate) struct Bucket {
    /// Whose it is; of one that leaves share, with its name for an operation.
    scope: Scope,
    /// What it counts is not calls but what they cost. Apart from the limits, as every call asks for it.
    counts_units: AtomicBool,
    /// Whether answers tell the law anything now. While they do not, an answer costs neither the clock nor the lock.
    heeds_answers: AtomicBool,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    tokens: TokenBucket,
    line: WaitList,
}

impl Bucket {
    /// `wall` is the time of day at `now`, for limits that count by the clock's minutes.
    pub(crate) fn new(
        scope: Scope,
        limits: Limits,
        settings: impl Into<Arc<ThrottleSettings>>,
        now: Timestamp,
        wall: Duration,
    ) -> Self {
        let tokens = TokenBucket::new(limits, settings.into(), now, wall);
        Bucket {
            scope,
            counts_units: AtomicBool::new(tokens.counts() == Counts::Units),
            heeds_answers: AtomicBool::new(tokens.heeds_answers()),
            state: Mutex::new(State { tokens, line: WaitList::default() }),
        }
    }

    pub(crate) fn scope(&self) -> &Scope {
        &self.scope
    }

    /// How many tokens a call of so many units takes.
    pub(crate) fn price(&self, units: f64) -> f64 {
        if self.counts_units.load(atomic::Ordering::Relaxed) { units } else { 1.0 }
    }

    /// Whether it matters that an attempt was served: see [`answered`](Self::answered).
    pub(crate) fn heeds_answers(&self) -> bool {
        // An answer that comes while a throttle is dealt with came before it.
        self.heeds_answers.load(atomic::Ordering::Relaxed)
    }

    /// Changes the tokens' law, and notes whether it heeds answers from now on.
    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.state.lock();
        let changed = change(&mut state);
        self.heeds_answers.store(state.tokens.heeds_answers(), atomic::Ordering::Relaxed);
        self.counts_units.store(state.tokens.counts() == Counts::Units, atomic::Ordering::Relaxed);
        changed
    }

    /// Whether calls had to hold back here of late: others that draw on a server's bucket, or this program, may have emptied it.
    pub(crate) fn is_scarce(&self, now: Timestamp) -> bool {
        let mut state = self.state.lock();
        state.refill(now);
        !state.line.is_empty() || state.tokens.is_scarce(now)
    }

    /// An answer said how many calls are left of one of the server's quotas; `whole` if that is what this bucket stands for.
    pub(crate) fn quota_left(&self, now: Timestamp, quota: &str, report: Report, whole: bool) {
        let wakers = self.change(|state| {
            let waiting = !state.line.is_empty();
            let rate = state.tokens.rate(now);
            state.refill(now);
            let tokens = state.tokens.tokens();
            if state.tokens.quota_left(now, quota, report, whole, waiting) {
                state.replan(now)
            } else if state.tokens.rate(now) > rate || state.tokens.tokens() > tokens {
                state.line.call_first(now).into_iter().collect()
            } else {
                Vec::new()
            }
        });
        wake(wakers);
    }

    /// An answer named the server's limit. Says the rate before and after, if that cut it.
    pub(crate) fn limit_named(&self, now: Timestamp, limit: NamedLimit) -> Option<(f64, f64)> {
        let (lowered, wakers) = self.change(|state| {
            let waiting = !state.line.is_empty();
            let lowered = state.tokens.limit_named(now, limit, waiting);
            (lowered, if lowered.is_some() { state.replan(now) } else { Vec::new() })
        });
        wake(wakers);
        lowered
    }

    /// An attempt sent at `sent_at` was throttled.
    pub(crate) fn throttled(
        &self,
        now: Timestamp,
        sent_at: Timestamp,
        retry_after: Option<Duration>,
    ) -> ThrottleEffect {
        let (effect, wakers) = self.change(|state| {
            let waiting = !state.line.is_empty();
            let effect = state.tokens.throttled(now, sent_at, retry_after, waiting);
            let wakers = if effect == ThrottleEffect::default() { Vec::new() } else { state.replan(now) };
            (effect, wakers)
        });
        wake(wakers);
        effect
    }

    /// An attempt was answered, and not throttled. Says the rate before and after, if it was raised.
    pub(crate) fn answered(&self, now: Timestamp, answer: Answer) -> Option<(f64, f64)> {
        let (effect, wakers) = self.change(|state| {
            let effect = state.tokens.answered(now, answer);
            let wakers = match effect {
                AnswerEffect { reopened: true, .. } => state.replan(now),
                AnswerEffect { raised: Some(_), .. } => state.line.call_first(now).into_iter().collect(),
                _ => Vec::new(),
            };
            (effect, wakers)
        });
        wake(wakers);
        effect.raised
    }

    /// Puts new limits into force. Whom to wake is the caller's to do, once it holds no lock either.
    #[must_use]
    pub(crate) fn reconfigure(
        &self,
        limits: Limits,
        settings: impl Into<Arc<ThrottleSettings>>,
        now: Timestamp,
        wall: Duration,
    ) -> Vec<Waker> {
        self.change(|state| {
            let waiting = !state.line.is_empty();
            state.tokens.reconfigure(limits, settings.into(), now, wall, waiting);
            state.replan(now)
        })
    }

    /// It is to be no more: those who take from it yet go on at once, whatever it learned. Whom to wake is the caller's to do, as
    /// with [`reconfigure`](Self::reconfigure).
    #[must_use]
    pub(crate) fn open(&self, now: Timestamp, wall: Duration) -> Vec<Waker> {
        self.change(|state| {
            state.tokens.reset(Limits::boundless(), now, wall);
            state.replan(now)
        })
    }

    /// Forgets what was learned: full, at the ceiling, not paused.
    pub(crate) fn reset(&self, limits: Limits, now: Timestamp, wall: Duration) {
        let wakers = self.change(|state| {
            state.tokens.reset(limits, now, wall);
            state.replan(now)
        });
        wake(wakers);
    }

    /// Takes what a call of so many units costs, if it lies ready and nobody waits.
    pub(crate) fn take_at_once(&self, units: f64, now: Timestamp) -> Option<Tickets> {
        let mut state = self.state.lock();
        if !state.line.is_undisputed() {
            return None;
        }
        let price = self.price(units);
        let narrowest = state.tokens.take_if_ready(price, now)?;
        Some(Tickets { narrowest, others: None, paid_units: u64::from(price == units) })
    }

    /// Makes everyone in line ask again.
    pub(crate) fn wake_all(&self) {
        wake(self.wakers());
    }

    /// Of everyone in line.
    #[must_use]
    pub(crate) fn wakers(&self) -> Vec<Waker> {
        self.state.lock().line.wakers()
    }

    /// At its ceiling, full, not paused, with nobody in line: as good as new.
    pub(crate) fn is_neutral(&self, now: Timestamp) -> bool {
        let mut state = self.state.lock();
        state.refill(now);
        state.tokens.is_neutral() && state.line.is_undisputed()
    }

    pub(crate) fn view(&self, now: Timestamp) -> BucketView {
        let mut state = self.state.lock();
        state.refill(now);
        state.tokens.view(now, state.line.len())
    }
}

impl State {
    fn refill(&mut self, now: Timestamp) {
        self.tokens.refill(now, !self.line.is_empty());
    }

    /// The rate or the pause changed: works out anew when each in line is served. Returns the wakers of the first
    /// and of those whose deadline is now too early, who will find out when they ask.
    fn replan(&mut self, now: Timestamp) -> Vec<Waker> {
        let mut before = 0.0;
        let mut wakers = Vec::new();
        for (index, waiter) in self.line.iter_mut().enumerate() {
            waiter.turn = self.tokens.turn(before, waiter.cost, now);
            before += waiter.cost;
            if index == 0 || waiter.deadline.is_some_and(|deadline| deadline <= waiter.turn.expected_at) {
                waiter.asks_by = waiter.asks_by.min(now);
                wakers.push(waiter.waker.clone());
            }
        }
        wakers
    }

    /// Others came before one whose turn was due, and so before everyone behind it: works out anew when each may look again, or
    /// all of them would after each grace. Nobody is told that it is too late for that: those before it may leave.
    fn put_off(&mut self, now: Timestamp) {
        let mut before = 0.0;
        for waiter in self.line.iter_mut() {
            let turn = self.tokens.turn(before, waiter.cost, now);
            waiter.turn.ready_at = waiter.turn.ready_at.max(turn.ready_at);
            before += waiter.cost;
        }
    }

    /// What `place` has to wait for; `None` if it is served now.
    fn ask(&mut self, place: Place, cost: f64, now: Timestamp) -> Option<Wait> {
        self.refill(now);
        let first = self.line.is_turn(place, now);
        if first {
            return self.wait_of_first(place, cost, now);
        }
        let planned = self.line.turn(place);
        let turn = planned.unwrap_or_else(|| self.tokens.turn(self.line.cost_before(place), cost, now));
        Some(Wait::for_turn(turn, now))
    }

    /// Nobody present stands before it here. It may still come too early for one who waits elsewhere.
    fn wait_of_first(&self, place: Place, cost: f64, now: Timestamp) -> Option<Wait> {
        let mut turn = self.tokens.turn(0.0, cost, now);
        let mut lapses_at = None;
        for (claim, by_then) in self.line.claims_before(place, now) {
            if self.tokens.spares(by_then, cost, now) <= claim.due().max(now) {
                continue;
            }
            let behind = self.tokens.turn(by_then, cost, now);
            if behind.ready_at > turn.ready_at {
                turn = behind;
                lapses_at = Some(claim.lapses_at());
            }
        }
        (turn.ready_at > now).then(|| {
            let wait = Wait::for_turn(turn, now);
            Wait { asks_at: lapses_at.map_or(wait.asks_at, |lapses_at| wait.asks_at.min(lapses_at)), ..wait }
        })
    }
}

// ===== taking =====

/// Why a place is not served yet.
#[derive(Debug, Clone, Copy)]
struct Wait {
    /// At the current rate, pause and line.
    turn: Turn,
    /// When to ask again if nothing wakes it.
    asks_at: Timestamp,
}

impl Wait {
    fn for_turn(turn: Turn, now: Timestamp) -> Self {
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
    others: Option<Box<[Ticket]>>,
    /// By bit, the buckets that it paid as many tokens as it has units, and not one. New settings may change what they count.
    paid_units: u64,
}

impl Tickets {
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
        let price = held.bucket.price(units);
        paid_units |= if price == units { bit } else { 0 };
        bit <<= 1;
        held.state.tokens.take(price, now)
    };
    let Some((narrowest, others)) = held.split_first_mut() else { return Tickets::default() };
    let narrowest = take(narrowest);
    let others: SmallVec<[Ticket; 2]> = others.iter_mut().map(take).collect();
    let tells = others.iter().any(|ticket| *ticket != Ticket::default());
    Tickets { narrowest, others: tells.then(|| others.into_vec().into_boxed_slice()), paid_units }
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

#[cfg(test)]
mod tests;
