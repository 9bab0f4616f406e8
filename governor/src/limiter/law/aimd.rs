//! Additive increase, multiplicative decrease: a throttle halves the rate, and it climbs back by equal steps.

use std::sync::Arc;

use super::{Answer, AnswerEffect, AnswerKind, Control, Phase};
use crate::clock::Timestamp;
use crate::config::{Limits, ThrottleSettings};

/// Halves when the server throttles and climbs back while it does not, up to the ceiling.
#[derive(Debug)]
pub(in crate::limiter) struct Aimd {
    limits: Limits,
    settings: Arc<ThrottleSettings>,
    rate: f64,
    last_cut: Option<Timestamp>,
    last_throttle: Option<Timestamp>,
    last_raise: Option<Timestamp>,
}

impl Aimd {
    pub(super) fn new(limits: Limits, settings: &Arc<ThrottleSettings>) -> Self {
        Aimd {
            limits,
            settings: Arc::clone(settings),
            rate: limits.max_rps(),
            last_cut: None,
            last_throttle: None,
            last_raise: None,
        }
    }

    /// Since when nothing has happened to the rate.
    fn quiet_since(&self) -> Option<Timestamp> {
        self.last_throttle.max(self.last_raise)
    }

    fn is_quiet(&self, now: Timestamp) -> bool {
        self.quiet_since().is_some_and(|since| now.since(since) >= self.settings.recovery_after)
    }
}

impl Control for Aimd {
    fn limits(&self) -> Limits {
        self.limits
    }

    fn rate(&self) -> f64 {
        self.rate
    }

    fn ceiling(&self) -> f64 {
        self.limits.max_rps()
    }

    /// It follows the rate: a bucket cut to a quarter may burst to a quarter.
    fn capacity(&self) -> f64 {
        (self.limits.burst() * self.rate / self.limits.max_rps()).max(1.0)
    }

    fn burst(&self) -> f64 {
        self.limits.burst()
    }

    fn throttled(&mut self, now: Timestamp, sent_at: Timestamp) -> Option<(f64, f64)> {
        self.last_throttle = Some(now);
        // One congestion event: throttles close together, and those of requests sent before the cut took effect.
        if self.last_cut.is_some_and(|cut| now.since(cut) < self.settings.cut_interval || sent_at < cut) {
            return None;
        }
        let before = self.rate;
        self.rate = (self.rate * self.settings.factor).max(self.limits.floor_rps());
        self.last_cut = Some(now);
        Some((before, self.rate))
    }

    fn answered(&mut self, now: Timestamp, answer: Answer) -> AnswerEffect {
        let ceiling = self.limits.max_rps();
        if answer.kind != AnswerKind::Served || self.rate >= ceiling || !self.is_quiet(now) {
            return AnswerEffect::default();
        }
        let before = self.rate;
        self.rate = (self.rate + ceiling * self.settings.recovery_step).min(ceiling);
        self.last_raise = Some(now);
        AnswerEffect { raised: Some((before, self.rate)), reopened: false }
    }

    /// At the ceiling there is nothing to raise.
    fn heeds_answers(&self) -> bool {
        self.rate < self.limits.max_rps()
    }

    fn reconfigure(&mut self, limits: Limits, settings: &Arc<ThrottleSettings>) {
        if limits != self.limits {
            let was_slowed = self.rate < self.limits.max_rps();
            self.rate =
                if was_slowed { self.rate.clamp(limits.floor_rps(), limits.max_rps()) } else { limits.max_rps() };
            self.limits = limits;
        }
        self.settings = Arc::clone(settings);
    }

    fn adopt(&mut self, rate: f64, now: Timestamp) {
        self.rate = rate.clamp(self.limits.floor_rps(), self.limits.max_rps());
        self.last_raise = Some(now);
    }

    fn is_neutral(&self) -> bool {
        self.rate >= self.limits.max_rps()
    }

    fn phase(&self, now: Timestamp) -> Phase {
        match self.rate >= self.limits.max_rps() {
            true => Phase::Searching,
            false if self.is_quiet(now) => Phase::Probing,
            false => Phase::Holding,
        }
    }
}
