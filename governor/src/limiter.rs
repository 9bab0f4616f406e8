//! The adaptive token bucket, and the line before it.
//!
//! [`TokenBucket`] is the control law: a rate that halves when the server throttles and climbs back while it does
//! not. [`Bucket`] is one with its waiters. [`Acquire`] takes a cost from several buckets at once or waits.
//!
//! Nobody sleeps on a promise made at an old rate: whoever wakes asks again, so that a lower rate or a pause holds
//! those already in line and a higher one lets them go early. A call that cannot be served before its deadline is
//! told so at once, when it comes and again whenever the rate or the pause changes.
//!
//! An acquisition over several buckets stands in the line of the first bucket that cannot serve it while keeping its
//! place in those before, and takes from all in one step: no token is spent while another is waited for.

use std::sync::Arc;
use std::sync::atomic;
use std::task::Waker;
use std::time::Duration;

use crate::clock::Timestamp;
use crate::config::{Limits, ThrottleSettings};
use crate::sync::{Mutex, MutexGuard};
use crate::waiters::{GRACE, Place, RECHECK, WaitList, Waiter};

/// A shortfall too small to wait for: without it, rounding could make a waiter wake forever an instant too early.
const NEGLIGIBLE: f64 = 1e-9;

// ===== the law =====

/// Tokens, and the rate they come at. Every method takes the time; one that goes back mints nothing.
#[derive(Debug)]
pub(crate) struct TokenBucket {
    limits: Limits,
    law: ThrottleSettings,
    /// Tokens per second; between the floor and the ceiling.
    rate: f64,
    /// May be negative: a cost above the capacity is taken when the bucket is full and paid off afterwards.
    tokens: f64,
    refilled_at: Timestamp,
    paused_until: Timestamp,
    last_cut: Option<Timestamp>,
    last_throttle: Option<Timestamp>,
    last_raise: Option<Timestamp>,
}

/// What a throttle did to a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct ThrottleEffect {
    /// The rate before and after, if it was cut.
    pub(crate) lowered: Option<(f64, f64)>,
    /// For how long the bucket is newly paused.
    pub(crate) paused: Option<Duration>,
}

impl TokenBucket {
    pub(crate) fn new(limits: Limits, law: ThrottleSettings, now: Timestamp) -> Self {
        TokenBucket {
            limits,
            law,
            rate: limits.max_rps(),
            tokens: limits.burst(),
            refilled_at: now,
            paused_until: Timestamp::ZERO,
            last_cut: None,
            last_throttle: None,
            last_raise: None,
        }
    }

    /// How many tokens can lie ready. It follows the rate: a bucket cut to a quarter may burst to a quarter.
    fn capacity(&self) -> f64 {
        (self.limits.burst() * self.rate / self.limits.max_rps()).max(1.0)
    }

    /// Brings the tokens up to date. None come in during a pause: what the server does then is unknown.
    pub(crate) fn refill(&mut self, now: Timestamp) {
        let since = self.refilled_at.max(self.paused_until.min(now));
        self.tokens = (self.tokens + now.since(since).as_secs_f64() * self.rate).min(self.capacity());
        self.refilled_at = self.refilled_at.max(now);
    }

    /// When `cost` can be taken, behind others who wait for `before`.
    fn ready_at(&self, before: f64, cost: f64, now: Timestamp) -> Timestamp {
        let start = now.max(self.paused_until);
        let missing = before + cost.min(self.capacity()) - self.tokens;
        if missing <= NEGLIGIBLE { start } else { start + seconds(missing / self.rate) + Duration::from_nanos(1) }
    }

    fn give_back(&mut self, cost: f64) {
        self.tokens = (self.tokens + cost).min(self.capacity());
    }

    /// The server throttled an attempt that was sent at `sent_at`.
    pub(crate) fn throttled(
        &mut self,
        now: Timestamp,
        sent_at: Timestamp,
        retry_after: Option<Duration>,
    ) -> ThrottleEffect {
        self.refill(now);
        self.last_throttle = Some(now);
        // One congestion event: throttles close together, and those of requests sent before the cut took effect.
        let same_event = self.last_cut.is_some_and(|cut| now.since(cut) < self.law.cut_interval || sent_at < cut);
        let mut effect = ThrottleEffect::default();
        if !same_event {
            let before = self.rate;
            self.rate = (self.rate * self.law.factor).max(self.limits.floor_rps());
            self.last_cut = Some(now);
            // The server's bucket is empty, so tokens held here are worth nothing.
            self.tokens = self.tokens.min(0.0);
            effect.lowered = (self.rate < before).then_some((before, self.rate));
        }
        if let Some(retry_after) = retry_after {
            let until = now + retry_after.min(self.law.pause_cap);
            if until > self.paused_until && until > now {
                self.paused_until = until;
                effect.paused = Some(until.until(now));
            }
        }
        effect
    }

    /// The server served a call. Says the rate before and after, if it was raised.
    pub(crate) fn succeeded(&mut self, now: Timestamp) -> Option<(f64, f64)> {
        let ceiling = self.limits.max_rps();
        if self.rate >= ceiling {
            return None;
        }
        let quiet_since = self.last_throttle.max(self.last_raise)?;
        if now.since(quiet_since) < self.law.recovery_after {
            return None;
        }
        self.refill(now);
        let before = self.rate;
        self.rate = (self.rate + ceiling * self.law.recovery_step).min(ceiling);
        self.last_raise = Some(now);
        Some((before, self.rate))
    }

    /// New limits. What was learned of the server is kept where it is below the new ceiling.
    fn reconfigure(&mut self, limits: Limits, law: ThrottleSettings, now: Timestamp) {
        self.refill(now);
        let was_slowed = self.rate < self.limits.max_rps();
        if limits != self.limits {
            self.rate =
                if was_slowed { self.rate.clamp(limits.floor_rps(), limits.max_rps()) } else { limits.max_rps() };
            self.limits = limits;
            self.tokens = self.tokens.min(self.capacity());
        }
        self.law = law;
    }

    fn is_neutral(&self) -> bool {
        self.rate >= self.limits.max_rps() && self.tokens >= self.capacity() && self.paused_until <= self.refilled_at
    }
}

/// A duration of so many seconds; one too long to express is as long as can be.
fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
}

// ===== the bucket and its line =====

/// A token bucket and those who wait for it.
#[derive(Debug)]
pub(crate) struct Bucket {
    /// The order in which several buckets are locked.
    id: u64,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    tokens: TokenBucket,
    line: WaitList,
}

/// What people see of a bucket.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct BucketView {
    pub(crate) rate_rps: f64,
    pub(crate) ceiling_rps: f64,
    pub(crate) burst: f64,
    pub(crate) tokens: f64,
    pub(crate) paused_for: Option<Duration>,
    pub(crate) waiting: usize,
}

impl Bucket {
    pub(crate) fn new(limits: Limits, law: ThrottleSettings, now: Timestamp) -> Self {
        static IDS: atomic::AtomicU64 = atomic::AtomicU64::new(0);
        Bucket {
            id: IDS.fetch_add(1, atomic::Ordering::Relaxed),
            state: Mutex::new(State { tokens: TokenBucket::new(limits, law, now), line: WaitList::default() }),
        }
    }

    /// An attempt sent at `sent_at` was throttled.
    pub(crate) fn throttled(
        &self,
        now: Timestamp,
        sent_at: Timestamp,
        retry_after: Option<Duration>,
    ) -> ThrottleEffect {
        let (effect, wakers) = {
            let mut state = self.state.lock();
            let effect = state.tokens.throttled(now, sent_at, retry_after);
            let wakers = if effect == ThrottleEffect::default() { Vec::new() } else { state.replan(now) };
            (effect, wakers)
        };
        wakers.into_iter().for_each(Waker::wake);
        effect
    }

    /// A call was served. Says the rate before and after, if it was raised.
    pub(crate) fn succeeded(&self, now: Timestamp) -> Option<(f64, f64)> {
        let (raised, first) = {
            let mut state = self.state.lock();
            let raised = state.tokens.succeeded(now);
            let first = if raised.is_some() { state.line.call_first(now) } else { None };
            (raised, first)
        };
        wake(first);
        raised
    }

    /// Puts new limits into force. Whom to wake is the caller's to do, once it holds no lock either.
    #[must_use]
    pub(crate) fn reconfigure(&self, limits: Limits, law: ThrottleSettings, now: Timestamp) -> Vec<Waker> {
        let mut state = self.state.lock();
        state.tokens.reconfigure(limits, law, now);
        state.replan(now)
    }

    /// Forgets what was learned: full, at the ceiling, not paused.
    pub(crate) fn reset(&self, now: Timestamp) {
        let wakers = {
            let mut state = self.state.lock();
            let (limits, law) = (state.tokens.limits, state.tokens.law.clone());
            state.tokens = TokenBucket::new(limits, law, now);
            state.replan(now)
        };
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Makes everyone in line ask again.
    pub(crate) fn wake_all(&self) {
        let wakers = self.state.lock().line.wakers();
        wakers.into_iter().for_each(Waker::wake);
    }

    /// At its ceiling, full, not paused, with nobody in line: as good as new.
    pub(crate) fn is_neutral(&self, now: Timestamp) -> bool {
        let mut state = self.state.lock();
        state.tokens.refill(now);
        state.tokens.is_neutral() && state.line.is_empty()
    }

    pub(crate) fn view(&self, now: Timestamp) -> BucketView {
        let mut state = self.state.lock();
        state.tokens.refill(now);
        let tokens = &state.tokens;
        let pause = tokens.paused_until.until(now);
        BucketView {
            rate_rps: tokens.rate,
            ceiling_rps: tokens.limits.max_rps(),
            burst: tokens.limits.burst(),
            tokens: tokens.tokens,
            paused_for: (!pause.is_zero()).then_some(pause),
            waiting: state.line.len(),
        }
    }
}

impl State {
    /// The rate or the pause changed: works out anew when each in line is served. Returns the wakers of the first
    /// and of those whose deadline is now too early, who will find out when they ask.
    fn replan(&mut self, now: Timestamp) -> Vec<Waker> {
        let mut before = 0.0;
        let mut wakers = Vec::new();
        for (index, waiter) in self.line.iter_mut().enumerate() {
            waiter.ready_at = self.tokens.ready_at(before, waiter.cost, now);
            before += waiter.cost;
            if index == 0 || waiter.deadline.is_some_and(|deadline| deadline <= waiter.ready_at) {
                waiter.asks_by = waiter.asks_by.min(now);
                wakers.push(waiter.waker.clone());
            }
        }
        wakers
    }

    /// What `place` has to wait for; `None` if it is served now. Leaves its earlier entry out of the line.
    fn ask(&mut self, place: Place, cost: f64, now: Timestamp) -> Option<Wait> {
        self.tokens.refill(now);
        let first = self.line.is_turn(place, now);
        let entry = self.line.remove(place);
        let ready_at = match entry {
            Some(ready_at) if !first => ready_at,
            _ if first => self.tokens.ready_at(0.0, cost, now),
            _ => self.tokens.ready_at(self.line.cost_before(place), cost, now),
        };
        if first && ready_at <= now {
            return None;
        }
        // Far from its time there is little to find out, so it asks halfway there. When its time has come and others
        // are still before it, they are about to be served, or absent, which shows after the grace.
        let asks_at = if ready_at <= now { now + GRACE } else { now + (ready_at.until(now) / 2).max(RECHECK) };
        Some(Wait { ready_at, asks_at: if ready_at <= now { asks_at } else { ready_at.min(asks_at) } })
    }
}

// ===== taking =====

/// Why a place is not served yet.
#[derive(Debug, Clone, Copy)]
struct Wait {
    /// When its turn should come, at the current rate, pause and line.
    ready_at: Timestamp,
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

/// One cost, to be taken from every one of several buckets in one step, the narrowest first.
#[derive(Debug)]
pub(crate) struct Acquire {
    buckets: Vec<Arc<Bucket>>,
    cost: f64,
    place: Place,
    deadline: Option<Timestamp>,
}

impl Acquire {
    pub(crate) fn new(buckets: &[Arc<Bucket>], cost: f64, place: Place, deadline: Option<Timestamp>) -> Self {
        let mut distinct: Vec<Arc<Bucket>> = Vec::with_capacity(buckets.len());
        for bucket in buckets {
            if distinct.iter().all(|known| known.id != bucket.id) {
                distinct.push(Arc::clone(bucket));
            }
        }
        Acquire { buckets: distinct, cost, place, deadline }
    }

    /// Takes the cost, or stands in line with `waker`.
    pub(crate) fn ask(&mut self, now: Timestamp, waker: &Waker) -> Asked {
        let (asked, wakers, spent) = {
            let mut states = lock_all(&self.buckets);
            let waits = states
                .iter_mut()
                .enumerate()
                .find_map(|(index, state)| Some((index, state.ask(self.place, self.cost, now)?)));
            let (asked, wakers) = match waits {
                None => {
                    states.iter_mut().for_each(|state| state.tokens.tokens -= self.cost);
                    (Asked::Taken, call_firsts(&mut states, now))
                }
                Some((_, wait)) if self.deadline.is_some_and(|deadline| deadline <= wait.ready_at) => {
                    states.iter_mut().for_each(|state| {
                        state.line.remove(self.place);
                    });
                    (Asked::TooLate(wait.ready_at), call_firsts(&mut states, now))
                }
                Some((index, wait)) => {
                    let (waiting, beyond) = states.split_at_mut(index + 1);
                    for state in waiting {
                        let waiter = Waiter {
                            waker: waker.clone(),
                            asks_by: wait.asks_at,
                            cost: self.cost,
                            deadline: self.deadline,
                            ready_at: wait.ready_at,
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
        wakers.into_iter().for_each(Waker::wake);
        asked
    }

    /// Gives back tokens that were taken and not used.
    pub(crate) fn give_back(&self, now: Timestamp) {
        self.with_all(now, |state| state.tokens.give_back(self.cost));
    }

    /// Leaves every line.
    pub(crate) fn leave(&self, now: Timestamp) {
        self.with_all(now, |state| {
            state.line.remove(self.place);
        });
    }

    fn with_all(&self, now: Timestamp, change: impl Fn(&mut State)) {
        let (wakers, spent) = {
            let mut states = lock_all(&self.buckets);
            states.iter_mut().for_each(|state| change(state));
            (call_firsts(&mut states, now), take_spent(&mut states))
        };
        drop(spent);
        wakers.into_iter().for_each(Waker::wake);
    }
}

fn call_firsts(states: &mut [MutexGuard<'_, State>], now: Timestamp) -> Vec<Waker> {
    states.iter_mut().filter_map(|state| state.line.call_first(now)).collect()
}

fn take_spent(states: &mut [MutexGuard<'_, State>]) -> Vec<Waker> {
    states.iter_mut().flat_map(|state| state.line.take_spent()).collect()
}

/// Locks every bucket, always in the same order, and returns the guards in the caller's order.
fn lock_all(buckets: &[Arc<Bucket>]) -> Vec<MutexGuard<'_, State>> {
    let mut order: Vec<usize> = (0..buckets.len()).collect();
    order.sort_by_key(|&index| buckets[index].id);
    let mut guards: Vec<(usize, MutexGuard<'_, State>)> =
        order.into_iter().map(|index| (index, buckets[index].state.lock())).collect();
    guards.sort_by_key(|&(index, _)| index);
    guards.into_iter().map(|(_, guard)| guard).collect()
}

fn wake(waker: Option<Waker>) {
    if let Some(waker) = waker {
        waker.wake();
    }
}

#[cfg(test)]
mod tests;
