//! The rate is what the server was seen to deliver.
//!
//! Whenever a server throttles, its bucket is empty. So what it served between two throttles, divided by the time
//! between them, is its refill rate, however the calls were spread: nothing was left over at either end. The law sets
//! its rate to that, holds it for as long as the throttle cost, and probes for more. The chapter [`crate::control`]
//! says why each figure is what it is.

mod closed;
mod cut;
mod epoch;
mod figures;
mod learn;
mod pace;

use std::sync::Arc;
use std::time::Duration;

use super::{Answer, AnswerEffect, AnswerKind, Control, Phase};
use crate::clock::Timestamp;
use crate::config::{Limits, MOST_RPS, ThrottleSettings};
use closed::Closed;
use cut::Cut;
use epoch::{Epoch, Spans};
use figures::*;

/// What is known of the server's rate.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Known {
    /// Nothing, or no more than that it has risen: the rate grows until something is throttled.
    Nothing,
    /// It was exceeded at this rate; what is delivered from then on measures it.
    Exceeded(f64),
    /// It was measured, in calls per second.
    Rate(f64),
}

/// See the module.
#[derive(Debug)]
pub(in crate::limiter) struct DeliveryRate {
    limits: Limits,
    rate: f64,
    /// The rate that was last told of.
    told: f64,
    fastest: f64,
    /// The server's limit; infinite if it named none.
    named: f64,
    /// The last answer was a failure: nothing can be learned.
    failing: bool,
    /// In throttles; negative when owed.
    saved: f64,
    /// Seconds that an answer takes, smoothed.
    latency: f64,
    /// The rate at the last answer.
    answered_rate: f64,
    /// Up to when time has been accounted for.
    at: Timestamp,
    /// When the bucket was full last, before anything was throttled.
    full_at: Coarse,
    /// Boxed, and not there before the first cut, as there is a law for each of very many scopes.
    learned: Option<Box<Learned>>,
}

/// What is known of the server once the rate was cut.
#[derive(Debug)]
struct Learned {
    known: Known,
    epoch: Epoch,
    cut: Cut,
    closed: Option<Closed>,
    /// Calls and seconds of measurements that agree.
    agreed: (f64, f64),
    /// From 0 to 1: how often others emptied the server's bucket.
    rivals: f64,
}

impl DeliveryRate {
    pub(super) fn new(limits: Limits, now: Timestamp) -> Self {
        let rate = limits.max_rps();
        DeliveryRate {
            limits,
            rate,
            told: rate,
            fastest: rate,
            named: f64::INFINITY,
            failing: false,
            saved: 0.0,
            latency: 0.0,
            answered_rate: rate,
            at: now,
            full_at: Coarse::of(now),
            learned: None,
        }
    }

    /// The highest rate: the configured one, or the server's limit if that is less.
    fn most(&self) -> f64 {
        let configured = self.limits.ceiling().unwrap_or(MOST_RPS);
        self.named.clamp(self.limits.floor_rps(), configured)
    }

    fn within(&self, rate: f64) -> f64 {
        rate.clamp(self.limits.floor_rps(), self.most())
    }

    fn known(&self) -> Known {
        self.learned.as_ref().map_or(Known::Nothing, |learned| learned.known)
    }

    fn closed(&self) -> Option<Closed> {
        self.learned.as_ref().and_then(|learned| learned.closed)
    }

    fn closed_mut(&mut self) -> Option<&mut Closed> {
        self.learned.as_mut().and_then(|learned| learned.closed.as_mut())
    }

    /// From now on at this rate, if it is within the limits.
    fn go_at(&mut self, rate: f64) {
        self.rate = self.within(rate);
        self.told = self.rate;
        self.answered_rate = self.rate;
        self.fastest = self.fastest.max(self.rate);
    }
}

impl Learned {
    /// Of a first cut.
    fn new(now: Timestamp, known: Known) -> Self {
        let (epoch, cut) = (Epoch::new(now), Cut::new(now));
        Learned { known, epoch, cut, closed: None, agreed: (0.0, 0.0), rivals: 0.0 }
    }

    /// Of answers that take `latency` seconds.
    fn spans(&self, now: Timestamp, latency: f64) -> Spans {
        self.epoch.spans(now, latency)
    }
}

impl Control for DeliveryRate {
    fn limits(&self) -> Limits {
        self.limits
    }

    fn rate(&self) -> f64 {
        self.rate
    }

    fn ceiling(&self) -> f64 {
        self.limits.ceiling().unwrap_or(self.fastest)
    }

    /// It follows the rate, up to what is configured.
    fn capacity(&self) -> f64 {
        if self.closed().is_some() {
            return 1.0;
        }
        let burst = match self.limits.known_burst() {
            Some(burst) => burst * (self.rate / self.limits.max_rps()).min(1.0),
            None if self.learned.is_none() => self.rate * FIRST_BURST_SECONDS,
            None => self.rate * BURST_SECONDS,
        };
        burst.max(1.0)
    }

    fn burst(&self) -> f64 {
        self.limits.known_burst().unwrap_or_else(|| self.capacity())
    }

    fn throttled(&mut self, now: Timestamp, sent_at: Timestamp, tokens: f64) -> Option<(f64, f64)> {
        if self.learned.as_mut().is_none_or(|learned| learned.epoch.charge()) {
            self.saved = (self.saved - 1.0).max(-MOST_OWED);
        }
        let Some(learned) = &mut self.learned else {
            return self.cut(now, self.first_cut(now, tokens), Known::Exceeded(self.rate));
        };
        if sent_at < learned.cut.at {
            return None;
        }
        if let Some(closed) = &mut learned.closed {
            if sent_at >= closed.noticed {
                closed.probe_at = closed.probe_at.max(now + closed.pause());
            }
            return None;
        }
        learned.cut.throttled += 1.0;
        let cut = learned.cut;
        if cut.delivered == 0.0 {
            return self.barren(now, cut);
        }
        if seconds(now.since(cut.at)) < EVENT_SECONDS {
            return self.cut_again(now, cut);
        }
        let spans = learned.spans(now, self.latency);
        let settled = learned.agreed.0 >= SETTLED_CALLS;
        let measured = learned.measure(self.rate, spans);
        if learned.known == Known::Nothing {
            // The bucket was not empty when this began, so it is an upper bound. What comes next measures.
            let rate = measured.max(self.rate / 2.0).min(self.rate);
            return self.cut(now, rate, Known::Exceeded(self.rate));
        }
        if settled && spans.is_whole() {
            learned.watch_rivals(spans);
        }
        let share = HOLD_AT - RIVAL_SHARE * learned.rivals;
        let measured = self.within(measured);
        self.cut(now, measured * share, Known::Rate(measured))
    }

    fn answered(&mut self, now: Timestamp, answer: Answer) -> AnswerEffect {
        let Answer { sent_at, cost, kind } = answer;
        self.failing = kind == AnswerKind::Failed;
        self.saved = (self.saved + PAID_PER_ANSWER).min(MOST_SAVED);
        if kind == AnswerKind::Served {
            let took = seconds(now.since(sent_at));
            self.latency = if self.latency == 0.0 { took } else { self.latency + (took - self.latency) * 0.1 };
        }
        let mut effect = AnswerEffect::default();
        if let Some(learned) = &mut self.learned {
            learned.epoch.deliver(sent_at, cost, self.failing);
            if sent_at >= learned.cut.at {
                learned.cut.delivered += cost;
                if let Some(closed) = learned.closed.take() {
                    effect.reopened = true;
                    learned.cut = Cut { delivered: cost, ..Cut::new(now) };
                    self.reopen(now, closed);
                }
            }
        }
        if self.failing {
            self.end_probe();
        } else {
            self.answered_rate = self.rate;
            if let Some(learned) = &mut self.learned {
                learned.watch_rise(now, self.rate, self.latency);
            }
        }
        if self.rate >= self.told * TOLD {
            effect.raised = Some((self.told, self.rate));
            self.told = self.rate;
        }
        effect
    }

    /// Before anything was throttled an answer pays into the savings, and lets the rate grow on. With those full, and a
    /// rate that does not grow, it adds to nothing but the smoothed latency, which the next ones tell as well.
    fn heeds_answers(&self) -> bool {
        self.learned.is_some() || self.failing || self.saved < MOST_SAVED || self.rate != self.answered_rate
    }

    fn advance(&mut self, now: Timestamp, waiting: bool) {
        let since = self.at;
        self.at = since.max(now);
        if !waiting || now <= since || self.failing || self.closed().is_some() || self.is_holding(now) {
            return;
        }
        // Callers that wait ask at least once a second.
        let elapsed = seconds(now.since(since)).min(1.0);
        let grown = (self.rate + self.growth() * elapsed).min(self.answered_rate * PER_ANSWER);
        self.rate = self.within(grown.max(self.rate));
        self.fastest = self.fastest.max(self.rate);
    }

    /// The server's bucket fills up meanwhile: what comes now is no measure of its refill.
    fn unused(&mut self, now: Timestamp, seconds: f64) {
        // Every call to a rested bucket comes here.
        let Some(learned) = &mut self.learned else {
            self.full_at = Coarse::of(now);
            return;
        };
        // The conversion that can fail costs four times as much.
        let time = Duration::from_nanos((seconds * 1e9) as u64);
        learned.epoch.leave_unused(time);
        if time >= PAUSE_OF_CALLERS {
            learned.epoch.begin_spell(now);
        }
    }

    fn closed_until(&self) -> Option<Timestamp> {
        self.closed().map(|closed| closed.probe_at)
    }

    /// A probe is under way. Should it be lost, the next one does not wait for it.
    fn taken(&mut self, now: Timestamp) {
        if let Some(closed) = self.closed_mut() {
            closed.probes = closed.probes.saturating_add(1);
            closed.probe_at = now + closed.pause();
        }
    }

    fn given_back(&mut self, taken_at: Timestamp, now: Timestamp) {
        // One from before is no probe.
        if let Some(closed) = self.closed_mut().filter(|closed| taken_at >= closed.noticed) {
            closed.probes = closed.probes.saturating_sub(1);
            closed.probe_at = now;
        }
    }

    fn name_limit(&mut self, now: Timestamp, limit: f64) {
        self.named = limit;
        self.heed_limit(now, limit);
    }

    fn loosen_limit(&mut self, limit: Option<f64>) {
        self.named = limit.unwrap_or(f64::INFINITY);
    }

    fn reconfigure(&mut self, limits: Limits, _settings: &Arc<ThrottleSettings>) {
        if limits == self.limits {
            return;
        }
        let untouched = self.is_neutral();
        self.limits = limits;
        // What was let through tells nothing of a bucket of another size.
        self.full_at = Coarse::NEVER;
        let rate = if untouched { limits.max_rps() } else { self.rate };
        self.go_at(rate);
        self.fastest = self.rate;
        if let Known::Rate(known) = self.known() {
            let known = Known::Rate(self.within(known));
            self.learned.iter_mut().for_each(|learned| learned.known = known);
        }
    }

    fn adopt(&mut self, rate: f64, _now: Timestamp) {
        self.go_at(rate);
    }

    fn is_neutral(&self) -> bool {
        self.learned.is_none() && self.named.is_infinite() && self.rate == self.limits.max_rps()
    }

    fn phase(&self, now: Timestamp) -> Phase {
        match self.closed() {
            Some(_) => Phase::Closed,
            None if self.is_holding(now) => Phase::Holding,
            None if matches!(self.known(), Known::Rate(_)) => Phase::Probing,
            None => Phase::Searching,
        }
    }

    fn measured(&self) -> Option<f64> {
        match self.known() {
            Known::Rate(rate) => Some(rate),
            _ => None,
        }
    }
}

/// A time in steps of some 67 ms, which a shift makes: with a whole [`Timestamp`] more, an idle scope would take more memory than it may.
#[derive(Debug, Clone, Copy)]
struct Coarse(u32);

impl Coarse {
    const NEVER: Coarse = Coarse(u32::MAX);
    /// How much earlier it may be.
    const SECONDS: f64 = (1 << Coarse::BITS) as f64 / 1e9;
    const BITS: u32 = 26;

    /// No later than `at`. Begins anew after nine years: what is longer ago than the burst takes to refill says no more.
    fn of(at: Timestamp) -> Self {
        Coarse((at.as_nanos() >> Coarse::BITS) as u32)
    }

    fn time(self) -> Timestamp {
        if self.0 == u32::MAX { Timestamp::MAX } else { Timestamp::from_nanos(u64::from(self.0) << Coarse::BITS) }
    }
}

fn seconds(duration: Duration) -> f64 {
    duration.as_secs_f64()
}

#[cfg(test)]
mod tests;
