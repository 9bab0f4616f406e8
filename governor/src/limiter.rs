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

mod acquire;
mod law;
mod named;
mod quota;
mod token_bucket;
mod window;

use std::sync::Arc;
use std::sync::atomic::{self, AtomicBool};
use std::task::Waker;
use std::time::Duration;

use crate::clock::Timestamp;
use crate::config::{Counts, Limits, ThrottleSettings};
use crate::scope::Scope;
use crate::sync::Mutex;
use crate::waiters::{Place, WaitList, wake};
use acquire::Wait;
pub(crate) use acquire::{Acquire, Asked, Tickets, give_back, take_at_once};
use law::AnswerEffect;
pub use law::Phase;
pub(crate) use law::{Answer, AnswerKind};
pub(crate) use named::NamedLimit;
pub use quota::QuotaView;
pub(crate) use quota::Report;
use quota::Ticket;
use token_bucket::TokenBucket;
pub(crate) use token_bucket::{BucketView, ThrottleEffect};

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
        price(self.counts_units(), units)
    }

    fn counts_units(&self) -> bool {
        self.counts_units.load(atomic::Ordering::Relaxed)
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
    #[inline(always)]
    pub(crate) fn take_at_once(&self, units: f64, now: Timestamp) -> Option<Tickets> {
        let counts_units = self.counts_units();
        let ticket = self.take_tokens_at_once(price(counts_units, units), now)?;
        Some(Tickets::one(ticket, counts_units))
    }

    fn take_tokens_at_once(&self, cost: f64, now: Timestamp) -> Option<Ticket> {
        let mut state = self.state.lock();
        if state.line.is_undisputed() { state.tokens.take_if_ready(cost, now) } else { None }
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

/// How many tokens a call of so many units takes.
fn price(counts_units: bool, units: f64) -> f64 {
    if counts_units { units } else { 1.0 }
}

#[cfg(test)]
mod tests;
