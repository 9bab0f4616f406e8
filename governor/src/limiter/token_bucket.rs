//! The control law: how fast one scope may go.

use std::time::Duration;

use crate::clock::Timestamp;
use crate::config::{Limits, ThrottleSettings};

/// A shortfall too small to wait for: without it, rounding could make a waiter wake forever an instant too early.
const NEGLIGIBLE: f64 = 1e-9;

/// Tokens, and the rate they come at. Every method takes the time; one that goes back mints nothing.
#[derive(Debug)]
pub(super) struct TokenBucket {
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

/// What a throttle did to a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct ThrottleEffect {
    /// The rate before and after, if it was cut.
    pub(crate) lowered: Option<(f64, f64)>,
    /// For how long the bucket is newly paused.
    pub(crate) paused: Option<Duration>,
}

impl TokenBucket {
    pub(super) fn new(limits: Limits, law: ThrottleSettings, now: Timestamp) -> Self {
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

    /// Brings the tokens up to date. None come in during a pause: what the server does then is unknown. A full bucket takes
    /// in what comes while those who wait for it are `late`.
    pub(super) fn refill(&mut self, now: Timestamp, late: Duration) {
        let since = self.refilled_at.max(self.paused_until.min(now));
        let most = self.capacity() + late.as_secs_f64() * self.rate;
        self.tokens = (self.tokens + now.since(since).as_secs_f64() * self.rate).min(most);
        self.refilled_at = self.refilled_at.max(now);
    }

    /// When `cost` can be taken, behind others who wait for `before`.
    pub(super) fn ready_at(&self, before: f64, cost: f64, now: Timestamp) -> Timestamp {
        let start = now.max(self.paused_until);
        let missing = before + cost.min(self.capacity()) - self.tokens;
        if missing <= NEGLIGIBLE { start } else { start + seconds(missing / self.rate) + Duration::from_nanos(1) }
    }

    pub(super) fn take(&mut self, cost: f64) {
        self.tokens -= cost;
    }

    pub(super) fn give_back(&mut self, cost: f64) {
        self.tokens = (self.tokens + cost).min(self.capacity());
    }

    /// The server throttled an attempt that was sent at `sent_at`.
    pub(super) fn throttled(
        &mut self,
        now: Timestamp,
        sent_at: Timestamp,
        retry_after: Option<Duration>,
    ) -> ThrottleEffect {
        self.refill(now, Duration::ZERO);
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
    pub(super) fn succeeded(&mut self, now: Timestamp) -> Option<(f64, f64)> {
        let ceiling = self.limits.max_rps();
        if self.rate >= ceiling {
            return None;
        }
        let quiet_since = self.last_throttle.max(self.last_raise)?;
        if now.since(quiet_since) < self.law.recovery_after {
            return None;
        }
        self.refill(now, Duration::ZERO);
        let before = self.rate;
        self.rate = (self.rate + ceiling * self.law.recovery_step).min(ceiling);
        self.last_raise = Some(now);
        Some((before, self.rate))
    }

    /// As new: full, at the ceiling, not paused.
    pub(super) fn reset(&mut self, now: Timestamp) {
        *self = TokenBucket::new(self.limits, self.law.clone(), now);
    }

    pub(super) fn view(&self, now: Timestamp, waiting: usize) -> BucketView {
        let pause = self.paused_until.until(now);
        BucketView {
            rate_rps: self.rate,
            ceiling_rps: self.limits.max_rps(),
            burst: self.limits.burst(),
            tokens: self.tokens,
            paused_for: (!pause.is_zero()).then_some(pause),
            waiting,
        }
    }

    /// New limits. What was learned of the server is kept where it is below the new ceiling.
    pub(super) fn reconfigure(&mut self, limits: Limits, law: ThrottleSettings, now: Timestamp) {
        self.refill(now, Duration::ZERO);
        let was_slowed = self.rate < self.limits.max_rps();
        if limits != self.limits {
            self.rate =
                if was_slowed { self.rate.clamp(limits.floor_rps(), limits.max_rps()) } else { limits.max_rps() };
            self.limits = limits;
            self.tokens = self.tokens.min(self.capacity());
        }
        self.law = law;
    }

    pub(super) fn is_neutral(&self) -> bool {
        self.rate >= self.limits.max_rps() && self.tokens >= self.capacity() && self.paused_until <= self.refilled_at
    }
}

/// A duration of so many seconds; one too long to express is as long as can be.
fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
}
