//! The adaptive token bucket, and the line before it.
//!
//! [`TokenBucket`] is tokens and time; how fast they come is its [`law`]'s. [`Bucket`] is one with its waiters.
//! [`Acquire`] takes a cost from several buckets at once or waits.
//!
//! Nobody sleeps on a promise made at an old rate: whoever wakes asks again, so that a lower rate or a pause holds
//! those already in line and a higher one lets them go early. A call that cannot be served before its deadline is
//! told so at once, when it comes and again whenever the rate or the pause changes.
//!
//! An acquisition over several buckets stands in the line of the first bucket that cannot serve it while keeping its
//! place in those before, and takes from all in one step: no token is spent while another is waited for.

mod law;
mod named;
mod quota;
mod token_bucket;

use std::sync::Arc;
use std::sync::atomic::{self, AtomicBool};
use std::task::Waker;
use std::time::Duration;

use smallvec::SmallVec;

use crate::clock::Timestamp;
use crate::config::{Limits, ThrottleSettings};
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

/// A token bucket and those who wait for it.
#[derive(Debug)]
pub(crate) struct Bucket {
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
    pub(crate) fn new(limits: Limits, settings: impl Into<Arc<ThrottleSettings>>, now: Timestamp) -> Self {
        let tokens = TokenBucket::new(limits, settings.into(), now);
        Bucket {
            heeds_answers: AtomicBool::new(tokens.heeds_answers()),
            state: Mutex::new(State { tokens, line: WaitList::default() }),
        }
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
        changed
    }

    /// Takes the cost if it lies ready and nobody waits, as it is with most calls.
    pub(crate) fn take_at_once(&self, cost: f64, now: Timestamp) -> Option<Ticket> {
        let mut state = self.state.lock();
        if state.line.is_empty() { state.tokens.take_if_ready(cost, now) } else { None }
    }

    /// An answer said how many calls are left of one of the server's quotas.
    pub(crate) fn quota_left(&self, now: Timestamp, quota: &str, report: Report) {
        let wakers = {
            let mut state = self.state.lock();
            let waiting = !state.line.is_empty();
            let before = state.tokens.rate(now);
            if state.tokens.quota_left(now, quota, report, waiting) {
                state.replan(now)
            } else if state.tokens.rate(now) > before {
                state.line.call_first(now).into_iter().collect()
            } else {
                Vec::new()
            }
        };
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
    ) -> Vec<Waker> {
        self.change(|state| {
            let waiting = !state.line.is_empty();
            state.tokens.reconfigure(limits, settings.into(), now, waiting);
            state.replan(now)
        })
    }

    /// Forgets what was learned: full, at the ceiling, not paused.
    pub(crate) fn reset(&self, now: Timestamp) {
        let wakers = self.change(|state| {
            state.tokens.reset(now);
            state.replan(now)
        });
        wake(wakers);
    }

    /// Makes everyone in line ask again.
    pub(crate) fn wake_all(&self) {
        let wakers = self.state.lock().line.wakers();
        wake(wakers);
    }

    /// At its ceiling, full, not paused, with nobody in line: as good as new.
    pub(crate) fn is_neutral(&self, now: Timestamp) -> bool {
        let mut state = self.state.lock();
        state.refill(now);
        state.tokens.is_neutral() && state.line.is_empty()
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

    /// What `place` has to wait for; `None` if it is served now. Leaves its earlier entry out of the line.
    fn ask(&mut self, place: Place, cost: f64, now: Timestamp) -> Option<Wait> {
        self.refill(now);
        let first = self.line.is_turn(place, now);
        let entry = self.line.remove(place);
        let turn = match entry {
            Some(turn) if !first => turn,
            _ if first => self.tokens.turn(0.0, cost, now),
            _ => self.tokens.turn(self.line.cost_before(place), cost, now),
        };
        let ready_at = turn.ready_at;
        if first && ready_at <= now {
            return None;
        }
        // Far from its time there is little to find out, so it asks halfway there. When its time has come and others
        // are still before it, they are about to be served, or absent, which shows after the grace.
        let halfway = now + (ready_at.until(now) / 2).max(RECHECK);
        let asks_at = if ready_at <= now { now + GRACE } else { ready_at.min(halfway) };
        Some(Wait { turn, asks_at })
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

/// One cost, to be taken from every one of several buckets in one step, the narrowest first. One that is named twice
/// counts once.
#[derive(Debug)]
pub(crate) struct Acquire<'a> {
    buckets: &'a [Arc<Bucket>],
    cost: f64,
    place: Place,
    deadline: Option<Timestamp>,
    ticket: Ticket,
}

impl<'a> Acquire<'a> {
    pub(crate) fn new(buckets: &'a [Arc<Bucket>], cost: f64, place: Place, deadline: Option<Timestamp>) -> Self {
        Acquire { buckets, cost, place, deadline, ticket: Ticket::default() }
    }

    /// Which of the narrowest bucket's calls it is, once it has taken its tokens.
    pub(crate) fn ticket(&self) -> Ticket {
        self.ticket
    }

    /// Takes the cost, or stands in line with `waker`.
    pub(crate) fn ask(&mut self, now: Timestamp, waker: &Waker) -> Asked {
        if let [bucket] = self.buckets
            && let Some(ticket) = bucket.take_at_once(self.cost, now)
        {
            self.ticket = ticket;
            return Asked::Taken;
        }
        let (asked, wakers, spent) = {
            let mut states = lock_all(self.buckets);
            // The rate may grow while callers wait, and the next answer settles whether the one after it matters.
            self.buckets.iter().for_each(|bucket| bucket.heeds_answers.store(true, atomic::Ordering::Relaxed));
            let waits = states
                .iter_mut()
                .enumerate()
                .find_map(|(index, state)| Some((index, state.ask(self.place, self.cost, now)?)));
            let (asked, wakers) = match waits {
                None => {
                    let tickets: Few<Ticket> =
                        states.iter_mut().map(|state| state.tokens.take(self.cost, now)).collect();
                    self.ticket = tickets.first().copied().unwrap_or_default();
                    (Asked::Taken, call_firsts(&mut states, now))
                }
                Some((_, wait)) if self.deadline.is_some_and(|deadline| deadline <= wait.turn.expected_at) => {
                    states.iter_mut().for_each(|state| {
                        state.line.remove(self.place);
                    });
                    (Asked::TooLate(wait.turn.expected_at), call_firsts(&mut states, now))
                }
                Some((index, wait)) => {
                    let (waiting, beyond) = states.split_at_mut(index + 1);
                    for state in waiting {
                        let waiter = Waiter {
                            waker: waker.clone(),
                            asks_by: wait.asks_at,
                            cost: self.cost,
                            deadline: self.deadline,
                            turn: wait.turn,
                        };
                        state.line.put(self.place, waiter);
                    }
                    for state in beyond.iter_mut() {
                        state.line.remove(self.place);
                    }
                    (Asked::Wait(wait.asks_at), call_firsts(beyond, now))
                }
            };
            (asked, wakers, take_spent(&mut states))
        };
        drop(spent);
        wake(wakers);
        asked
    }

    /// Gives back tokens that were taken and not used.
    pub(crate) fn give_back(&self, now: Timestamp) {
        give_back(self.buckets, self.cost, now);
    }

    /// Leaves every line.
    pub(crate) fn leave(&self, now: Timestamp) {
        change_all(self.buckets, now, |state| {
            state.line.remove(self.place);
        });
    }
}

/// Gives tokens that were taken from each of these buckets back to it.
pub(crate) fn give_back(buckets: &[Arc<Bucket>], cost: f64, now: Timestamp) {
    change_all(buckets, now, |state| state.tokens.give_back(cost, now));
}

fn change_all(buckets: &[Arc<Bucket>], now: Timestamp, change: impl Fn(&mut State)) {
    let (wakers, spent) = {
        let mut states = lock_all(buckets);
        states.iter_mut().for_each(|state| change(state));
        (call_firsts(&mut states, now), take_spent(&mut states))
    };
    drop(spent);
    wake(wakers);
}

fn call_firsts(states: &mut [MutexGuard<'_, State>], now: Timestamp) -> Vec<Waker> {
    states.iter_mut().filter_map(|state| state.line.call_first(now)).collect()
}

fn take_spent(states: &mut [MutexGuard<'_, State>]) -> Vec<Waker> {
    states.iter_mut().flat_map(|state| state.line.take_spent()).collect()
}

/// Room for as many buckets as a call usually has: with no more, taking a token allocates nothing.
type Few<T> = SmallVec<[T; 2]>;

/// Locks every bucket once, always in the same order, and returns the guards in the caller's order.
fn lock_all(buckets: &[Arc<Bucket>]) -> Few<MutexGuard<'_, State>> {
    if let [bucket] = buckets {
        return Few::from_iter([bucket.state.lock()]);
    }
    // Where they are in memory is an order as good as any.
    let mut order: Few<(usize, &Arc<Bucket>)> = buckets.iter().enumerate().collect();
    order.sort_by_key(|(_, bucket)| Arc::as_ptr(bucket));
    order.dedup_by_key(|(_, bucket)| Arc::as_ptr(bucket));
    let mut guards: Few<_> = order.into_iter().map(|(index, bucket)| (index, bucket.state.lock())).collect();
    guards.sort_by_key(|&(index, _)| index);
    guards.into_iter().map(|(_, guard)| guard).collect()
}

#[cfg(test)]
mod tests;
