//! Tokens and time: what lies ready, when a cost can be taken, and until when nothing can. How fast tokens come is
//! the law's.

mod besides;

use std::sync::Arc;
use std::time::Duration;

use besides::Besides;

use super::law::{Answer, AnswerEffect, Law, Phase};
use super::quota::{QuotaView, Ticket};
use super::window::{Window, since_full};
use crate::clock::Timestamp;
use crate::config::{Counts, LawName, Limits, ThrottleSettings};
use crate::waiters::Turn;

/// A shortfall too small to wait for: without it, rounding could make a waiter wake forever an instant too early.
const NEGLIGIBLE: f64 = 1e-9;

/// How late a waiter may come without losing the tokens of the time between. A full bucket of one token would lose what a
/// timer's millisecond brings at every call: a twentieth of the rate at fifty calls a second.
const LATENESS: Duration = Duration::from_millis(20);

/// Tokens, and the law that says how fast they come. Every method takes the time; one that goes back mints nothing.
#[derive(Debug)]
pub(super) struct TokenBucket {
    settings: Arc<ThrottleSettings>,
    law: Law,
    /// May be negative: a cost above the capacity is taken when the bucket is full and paid off afterwards.
    tokens: f64,
    refilled_at: Timestamp,
    paused_until: Timestamp,
    /// None where nothing is known but a rate, as of very many buckets.
    besides: Option<Box<Besides>>,
}

/// What people see of a bucket.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct BucketView {
    pub(crate) law: LawName,
    pub(crate) phase: Phase,
    pub(crate) measured_rps: Option<f64>,
    pub(crate) rate_rps: f64,
    pub(crate) ceiling_rps: f64,
    pub(crate) burst: f64,
    pub(crate) published: bool,
    pub(crate) tokens: f64,
    pub(crate) paused_for: Option<Duration>,
    pub(crate) waiting: usize,
    pub(crate) quota: Option<QuotaView>,
    pub(crate) limit_rps: Option<f64>,
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
    /// `wall` is the time of day, since whenever its full minutes count from.
    pub(super) fn new(limits: Limits, settings: Arc<ThrottleSettings>, now: Timestamp, wall: Duration) -> Self {
        let law = Law::new(limits, &settings, now);
        TokenBucket {
            tokens: law.capacity(),
            besides: window(limits, now, wall)
                .map(|window| Box::new(Besides { window: Some(window), ..Besides::default() })),
            settings,
            law,
            refilled_at: now,
            paused_until: Timestamp::ZERO,
        }
    }

    /// Tokens per second: the law's, or what the server's own count leaves of it.
    #[inline]
    pub(super) fn rate(&self, now: Timestamp) -> f64 {
        let rate = self.untold_rate();
        match self.quotas() {
            None => rate,
            Some(quotas) => quotas.rate(now, rate, self.law.get().limits().floor_rps()),
        }
    }

    /// Tokens per second, whatever the server says is left.
    #[inline]
    fn untold_rate(&self) -> f64 {
        self.window().map_or_else(|| self.law.rate(), |window| window.rate())
    }

    /// How many tokens can lie ready: the law's, in proportion to the rate, and never more than the server says are left.
    #[inline]
    fn capacity(&self, now: Timestamp) -> f64 {
        let capacity = self.window().map_or_else(|| self.law.capacity(), |window| window.size());
        match self.quotas() {
            None => capacity,
            Some(quotas) => self.capacity_left(now, capacity, quotas),
        }
    }

    /// Brings tokens and law up to date, with callers `waiting` or without. No tokens come in during a pause: what the
    /// server does then is unknown. A full bucket takes in what comes while those who wait for it are late.
    pub(super) fn refill(&mut self, now: Timestamp, waiting: bool) {
        self.update(now, waiting, if waiting { LATENESS } else { Duration::ZERO });
    }

    // Always: most calls come here with nobody waiting, which leaves half of it, and to a bucket of which nothing besides is known.
    #[inline(always)]
    fn update(&mut self, now: Timestamp, waiting: bool, late: Duration) {
        if self.besides.is_none() {
            let (rate, capacity) = (self.law.rate(), self.law.capacity());
            self.update_at(rate, capacity, now, waiting, late, false);
        } else {
            self.update_heeding_besides(now, waiting, late);
        }
    }

    #[inline(always)]
    fn update_at(&mut self, rate: f64, capacity: f64, now: Timestamp, waiting: bool, late: Duration, is_held: bool) {
        match self.law.closed_until() {
            // One token, for the one call that finds out whether the server is open again.
            Some(probe_at) => {
                self.tokens = if now >= probe_at { 1.0 } else { self.tokens.min(0.0) };
                self.refilled_at = self.refilled_at.max(now);
            }
            None => {
                let unused = self.fill(now, late, rate, capacity);
                if unused > 0.0 && !waiting && !is_held {
                    self.law.unused(now, unused / rate);
                }
            }
        }
        self.law.advance(now, waiting && !is_held);
    }

    /// Takes in what came at this rate; says what was too much.
    fn fill(&mut self, now: Timestamp, late: Duration, rate: f64, capacity: f64) -> f64 {
        let since = self.refilled_at.max(self.paused_until.min(now));
        let tokens = self.tokens + now.seconds_since(since) * rate;
        self.tokens = tokens.min(capacity + late.as_secs_f64() * rate);
        self.refilled_at = self.refilled_at.max(now);
        tokens - self.tokens
    }

    /// Until when nothing can be taken, whatever lies ready.
    fn shut_until(&self) -> Timestamp {
        self.law.closed_until().map_or(self.paused_until, |probe_at| probe_at.max(self.paused_until))
    }

    /// When `cost` can be taken, behind others who wait for `before`.
    pub(super) fn turn(&self, before: f64, cost: f64, now: Timestamp) -> Turn {
        let law = self.law.get();
        let start = now.max(self.shut_until());
        // Of a closed server it is assumed that the next probe opens it.
        let tokens = if law.closed_until().is_some() { 1.0 } else { self.tokens };
        let wanted = before + cost.min(self.capacity(now));
        let missing = wanted - tokens;
        if missing <= NEGLIGIBLE {
            return Turn::at(start);
        }
        if let Some(window) = self.window() {
            return Turn::at(window.ready_at(wanted, tokens, start));
        }
        let at = |rate| start + seconds(missing / rate) + Duration::from_nanos(1);
        let ready_at = at(self.rate(now));
        let expected_at = match self.quotas() {
            None => ready_at,
            Some(quotas) => at(quotas.lasting_rate(now, law.rate(), law.limits().floor_rps())),
        };
        Turn { ready_at, expected_at }
    }

    /// From when on `cost` can be taken and what is `claimed` still lies ready then. Of that, no more is kept than can lie ready:
    /// the rest comes when the bucket would be full with or without.
    pub(super) fn spares(&self, claimed: f64, cost: f64, now: Timestamp) -> Timestamp {
        self.turn(claimed.min(self.capacity(now)), cost, now).ready_at
    }

    /// Takes `cost` if so much lies ready, with nobody waiting. Where it does not, [`turn`](Self::turn) has the
    /// last word.
    pub(super) fn take_if_ready(&mut self, cost: f64, now: Timestamp) -> Option<Ticket> {
        self.is_ready(cost, now).then(|| self.take(cost, now))
    }

    /// Whether `cost` lies ready, with nobody waiting.
    #[inline]
    pub(super) fn is_ready(&mut self, cost: f64, now: Timestamp) -> bool {
        self.update(now, false, Duration::ZERO);
        self.tokens >= cost && self.shut_until() <= now
    }

    /// Whether answers tell the law anything now.
    pub(super) fn heeds_answers(&self) -> bool {
        self.window().is_some() || self.law.get().heeds_answers()
    }

    /// What takes tokens.
    pub(super) fn counts(&self) -> Counts {
        self.law.get().limits().counts()
    }

    /// So little lies ready that callers had to hold back of late, or will soon.
    pub(super) fn is_scarce(&self, now: Timestamp) -> bool {
        let capacity = self.capacity(now);
        self.tokens < self.rate(now).min(capacity / 2.0)
    }

    pub(super) fn take(&mut self, cost: f64, now: Timestamp) -> Ticket {
        self.tokens -= cost;
        self.law.taken(now);
        self.quotas_mut().map(|quotas| quotas.take(cost)).unwrap_or_default()
    }

    /// Of a call that was let through at `taken_at` and not sent.
    pub(super) fn give_back(&mut self, cost: f64, taken_at: Timestamp, now: Timestamp) {
        self.law.get_mut().given_back(taken_at, now);
        if let Some(quotas) = self.quotas_mut() {
            quotas.give_back(cost);
        }
        if self.window().is_some() {
            self.turn_over(now);
        }
        self.tokens = match self.window() {
            // Those of a window that is over are lost, save for what is owed for them yet.
            Some(window) if window.is_over(taken_at) => self.tokens.max((self.tokens + cost).min(0.0)),
            _ => self.tokens + cost,
        };
        self.keep_to_capacity(now);
    }

    /// How many lie ready; negative while a cost is paid off.
    pub(super) fn tokens(&self) -> f64 {
        self.tokens
    }

    /// The server throttled an attempt that was sent at `sent_at`.
    pub(super) fn throttled(
        &mut self,
        now: Timestamp,
        sent_at: Timestamp,
        retry_after: Option<Duration>,
        waiting: bool,
    ) -> ThrottleEffect {
        self.update(now, waiting, Duration::ZERO);
        if let Some(quotas) = self.quotas_mut() {
            quotas.throttled(sent_at);
        }
        let shut_before = self.shut_until();
        if let Some(window) = self.window_mut() {
            let next = window.throttled(sent_at).filter(|_| retry_after.is_none());
            self.paused_until = self.paused_until.max(next.unwrap_or_default());
        }
        let cut = if self.window().is_some() { None } else { self.law.get_mut().throttled(now, sent_at, self.tokens) };
        if cut.is_some() {
            // The server's bucket is empty, so tokens held here are worth nothing.
            self.tokens = self.tokens.min(0.0);
        }
        if let Some(retry_after) = retry_after {
            self.paused_until = self.paused_until.max(now + retry_after.min(self.settings.pause_cap));
        }
        let shut = self.shut_until();
        ThrottleEffect {
            lowered: cut.filter(|(before, after)| after < before),
            paused: (shut > shut_before && shut > now).then(|| shut.until(now)),
        }
    }

    /// The server answered, and did not throttle.
    pub(super) fn answered(&mut self, now: Timestamp, answer: Answer) -> AnswerEffect {
        if let Some(window) = self.window_mut() {
            window.served(answer.sent_at, answer.cost);
            return AnswerEffect::default();
        }
        let (rate, capacity) = (self.rate(now), self.capacity(now));
        let effect = self.law.get_mut().answered(now, answer);
        if effect.reopened {
            self.tokens = self.tokens.min(0.0);
            self.refilled_at = self.refilled_at.max(now);
        } else if effect.raised.is_some() {
            self.fill(now, Duration::ZERO, rate, capacity);
        }
        effect
    }

    /// As new: full, at the ceiling, not paused, told nothing.
    pub(super) fn reset(&mut self, limits: Limits, now: Timestamp, wall: Duration) {
        let quotas = self.besides.take().and_then(|besides| besides.quotas);
        *self = TokenBucket::new(limits, Arc::clone(&self.settings), now, wall);
        if let Some(quotas) = quotas {
            self.besides().quotas = Some(quotas.forgotten());
        }
    }

    pub(super) fn view(&self, now: Timestamp, waiting: usize) -> BucketView {
        let law = self.law.get();
        let pause = self.shut_until().until(now);
        BucketView {
            law: self.law.name(),
            phase: law.phase(now),
            measured_rps: law.measured(),
            rate_rps: self.rate(now),
            ceiling_rps: law.ceiling(),
            burst: law.burst(),
            published: law.limits().is_published(),
            tokens: self.tokens,
            paused_for: (!pause.is_zero()).then_some(pause),
            waiting,
            quota: self.quotas().and_then(|quotas| quotas.view(now)),
            limit_rps: self.named().and_then(|named| named.lowest(now)),
        }
    }

    /// New limits, or another law. What was learned of the server is kept where it is below the new ceiling, and so is what
    /// it told.
    pub(super) fn reconfigure(
        &mut self,
        limits: Limits,
        settings: Arc<ThrottleSettings>,
        now: Timestamp,
        wall: Duration,
        waiting: bool,
    ) {
        self.update(now, waiting, Duration::ZERO);
        let changed = limits != self.law.get().limits() || settings.law != self.settings.law;
        self.tokens += self.withhold(0.0);
        let (most, rate, capacity) = (self.most_of_window(now), self.untold_rate(), self.capacity(now));
        self.law.reconfigure(limits, &settings, now);
        if self.window().map(|window| window.period()) != limits.window() {
            self.set_window(window(limits, now, wall));
            if let Some(period) = limits.window() {
                // Since it began so many may have been sent. All others of it may go.
                let sent = capacity - self.tokens + rate * since_full(period, wall).as_secs_f64();
                self.tokens = self.tokens.max(limits.burst() - sent);
            }
        } else if changed {
            self.resize_window(most, now);
        }
        self.keep_to_named(now);
        self.settings = settings;
        self.keep_to_capacity(now);
    }

    pub(super) fn is_neutral(&self) -> bool {
        let law = self.law.get();
        let untold = self.quotas().is_none_or(|quotas| quotas.is_forgotten(self.refilled_at));
        let (most, is_untaught) = match self.window() {
            Some(window) => (law.limits().burst(), window.is_neutral(law.limits().burst())),
            None => (law.capacity(), law.is_neutral()),
        };
        is_untaught && untold && self.named().is_none() && self.tokens >= most && self.paused_until <= self.refilled_at
    }
}

/// The window under way, where there are any.
fn window(limits: Limits, now: Timestamp, wall: Duration) -> Option<Window> {
    let period = limits.window()?;
    Some(Window::new(now, period, since_full(period, wall), limits.burst()))
}

/// A duration of so many seconds; one too long to express is as long as can be.
fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
}

#[cfg(test)]
mod tests;
