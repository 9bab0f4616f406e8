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
    /// The server's limit; infinite if it named none.
    named: f64,
    last_cut: Option<Timestamp>,
    /// Since when nothing has happened to the rate.
    quiet_since: Option<Timestamp>,
}

impl Aimd {
    pub(super) fn new(limits: Limits, settings: &Arc<ThrottleSettings>) -> Self {
        Aimd {
            limits,
            settings: Arc::clone(settings),
            rate: limits.max_rps(),
            named: f64::INFINITY,
            last_cut: None,
            quiet_since: None,
        }
    }

    /// The highest rate: the configured one, or the server's limit if that is less.
    fn most(&self) -> f64 {
        self.named.clamp(self.limits.floor_rps(), self.limits.max_rps())
    }

    /// Something happens to the rate.
    fn stir(&mut self, now: Timestamp) {
        self.quiet_since = self.quiet_since.max(Some(now));
    }

    fn is_quiet(&self, now: Timestamp) -> bool {
        self.quiet_since.is_some_and(|since| now.since(since) >= self.settings.recovery_after)
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

    fn throttled(&mut self, now: Timestamp, sent_at: Timestamp, _tokens: f64) -> Option<(f64, f64)> {
        self.stir(now);
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
        let ceiling = self.most();
        if answer.kind != AnswerKind::Served || self.rate >= ceiling || !self.is_quiet(now) {
            return AnswerEffect::default();
        }
        let before = self.rate;
        self.rate = (self.rate + ceiling * self.settings.recovery_step).min(ceiling);
        self.stir(now);
        AnswerEffect { raised: Some((before, self.rate)), reopened: false }
    }

    /// At the ceiling there is nothing to raise. A limit that the server named lapses without an event.
    fn heeds_answers(&self) -> bool {
        self.rate < self.limits.max_rps() || self.named.is_finite()
    }

    fn name_limit(&mut self, now: Timestamp, limit: f64) {
        self.named = limit;
        let most = self.most();
        if self.rate > most {
            // That is the cut; the throttle that it comes with is the same event.
            self.rate = most;
            self.last_cut = Some(now);
            self.stir(now);
        }
    }

    fn loosen_limit(&mut self, limit: Option<f64>) {
        self.named = limit.unwrap_or(f64::INFINITY);
    }

    fn reconfigure(&mut self, limits: Limits, settings: &Arc<ThrottleSettings>) {
        if limits != self.limits {
            let was_slowed = self.rate < self.most();
            self.limits = limits;
            self.rate = if was_slowed { self.rate.clamp(limits.floor_rps(), self.most()) } else { self.most() };
        }
        self.settings = Arc::clone(settings);
    }

    fn adopt(&mut self, rate: f64, now: Timestamp) {
        self.rate = rate.clamp(self.limits.floor_rps(), self.most());
        self.stir(now);
    }

    fn is_neutral(&self) -> bool {
        self.rate >= self.limits.max_rps() && self.named.is_infinite()
    }

    fn phase(&self, now: Timestamp) -> Phase {
        match self.rate >= self.limits.max_rps() {
            true => Phase::Searching,
            false if self.rate >= self.most() => Phase::Holding,
            false if self.is_quiet(now) => Phase::Probing,
            false => Phase::Holding,
        }
    }
}
