//! The rate is what the server was seen to deliver.
//!
//! Whenever a server throttles, its bucket is empty. So what it served between two throttles, divided by the time
//! between them, is its refill rate, however the calls were spread: nothing was left over at either end. The law sets
//! its rate to that, holds it for as long as the throttle cost, and probes for more. The chapter [`crate::control`]
//! says why each figure is what it is.

mod closed;
mod epoch;
mod figures;
mod learn;

use std::sync::Arc;
use std::time::Duration;

use super::{Answer, AnswerEffect, AnswerKind, Control, Phase};
use crate::clock::Timestamp;
use crate::config::{Limits, ThrottleSettings};
use closed::Closed;
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

/// The last cut, and what came of requests sent after it.
#[derive(Debug, Clone, Copy)]
struct Cut {
    at: Timestamp,
    delivered: f64,
    throttled: f64,
    /// It was halved again for want of any delivery.
    halved_again: bool,
}

impl Cut {
    fn new(now: Timestamp) -> Self {
        Cut { at: now, delivered: 0.0, throttled: 0.0, halved_again: false }
    }
}

/// See the module.
#[derive(Debug)]
pub(in crate::limiter) struct DeliveryRate {
    limits: Limits,
    rate: f64,
    /// The rate that was last told of.
    told: f64,
    fastest: f64,
    known: Known,
    epoch: Epoch,
    cut: Option<Cut>,
    closed: Option<Closed>,
    /// Calls and seconds of measurements that agree.
    agreed: (f64, f64),
    /// Before it was measured, calls came in spells, or the server closed.
    was_split: bool,
    /// It was closed since the last measurement that went on without a break.
    closes: bool,
    /// How often it was closed and opened again.
    closures: u32,
    /// The last answer was a failure: nothing can be learned.
    failing: bool,
    /// Whether the last measurement that did not agree was higher.
    last_rose: bool,
    /// When the rate last became another.
    changed_at: Option<Timestamp>,
    last_measured: Option<f64>,
    /// It was seen to rise, which has not been measured yet.
    rose: bool,
    /// How often rises were none, as a factor on the evidence that one takes.
    doubt: f64,
    /// From 0 to 1: how often others emptied the server's bucket.
    rivals: f64,
    /// In throttles; negative when owed.
    saved: f64,
    /// Seconds that an answer takes, smoothed.
    latency: f64,
    /// The rate at the last answer.
    answered_rate: f64,
    /// Up to when time has been accounted for.
    at: Timestamp,
}

impl DeliveryRate {
    pub(super) fn new(limits: Limits, now: Timestamp) -> Self {
        let rate = limits.max_rps();
        DeliveryRate {
            limits,
            rate,
            told: rate,
            fastest: rate,
            known: Known::Nothing,
            epoch: Epoch::new(now),
            cut: None,
            closed: None,
            agreed: (0.0, 0.0),
            was_split: false,
            closes: false,
            closures: 0,
            failing: false,
            last_rose: false,
            changed_at: None,
            last_measured: None,
            rose: false,
            doubt: 1.0,
            rivals: 0.0,
            saved: FIRST_SAVED,
            latency: 0.0,
            answered_rate: rate,
            at: now,
        }
    }

    fn most(&self) -> f64 {
        self.limits.ceiling().unwrap_or(MOST_RPS)
    }

    fn within(&self, rate: f64) -> f64 {
        rate.clamp(self.limits.floor_rps(), self.most())
    }

    /// So many of the requests that follow a cut meet those that were under way, and say nothing of the new rate.
    fn crowd(&self) -> f64 {
        self.rate * self.latency / 2.0
    }

    /// From now on at this rate, if it is within the limits.
    fn go_at(&mut self, rate: f64) {
        self.rate = self.within(rate);
        self.told = self.rate;
        self.answered_rate = self.rate;
        self.fastest = self.fastest.max(self.rate);
    }

    fn has_rivals(&self) -> bool {
        self.rivals > RIVALS
    }

    /// Whether it is taken for a server that counts by the minute.
    fn closes_by_turns(&self) -> bool {
        self.closes && self.closures >= BY_TURNS
    }

    /// Whether the last cut is too fresh, or not paid for yet.
    fn is_holding(&self, now: Timestamp) -> bool {
        let Some(cut) = self.cut else { return false };
        let age = seconds(now.since(cut.at));
        if self.has_rivals() {
            return age < HOLD_WITH_RIVALS;
        }
        let least = self.changed_at.map_or(HOLD_SECONDS, |changed_at| {
            (HOLD_SHARE * seconds(now.since(changed_at))).clamp(HOLD_CHANGED, HOLD_SECONDS)
        });
        age < least || self.epoch.delivered < HOLD_ANSWERS || (self.saved < 0.0 && age < HOLD_AT_MOST)
    }

    /// How fast the rate rises, in calls per second, per second.
    fn growth(&self) -> f64 {
        match self.known {
            Known::Rate(_) if self.closes_by_turns() => WINDOW_STEP * self.rate,
            Known::Nothing if self.cut.is_some() => self.rate / RISE_SECONDS,
            Known::Nothing => self.rate / SEARCH_SECONDS,
            Known::Exceeded(at) if self.rate < at => self.rate / SEARCH_SECONDS,
            Known::Exceeded(_) | Known::Rate(_) => {
                let step = PROBE_STEP * (PROBE_LATENCY / self.latency.max(INSTANT)).min(1.0);
                step + PROBE_SHARE * self.rate
            }
        }
    }

    fn spans(&self, now: Timestamp) -> Spans {
        self.epoch.spans(now, self.latency)
    }

    /// It was exceeded again before anything exact is known. The second time in a row it is a server that closes at
    /// times, or callers that come at times, and the mean counts.
    fn guess(&mut self, now: Timestamp, spans: Spans) -> Option<(f64, f64)> {
        let mean = self.within(self.epoch.lower(spans, 0.0));
        if std::mem::replace(&mut self.was_split, true) {
            self.agreed = (self.epoch.delivered, spans.all);
            return self.cut(now, mean * WINDOW_SHARE, Known::Rate(mean));
        }
        let rate = (self.rate / 2.0).max(mean).min(self.rate);
        self.cut(now, rate, Known::Exceeded(rate))
    }

    /// A server that fails is not probed.
    fn end_probe(&mut self) {
        if let Known::Rate(rate) = self.known {
            self.go_at(self.rate.min(rate * HOLD_AT));
        }
    }

    /// Goes on at this rate, from an empty bucket.
    fn cut(&mut self, now: Timestamp, rate: f64, known: Known) -> Option<(f64, f64)> {
        self.epoch = Epoch::new(now);
        self.cut_within_epoch(now, rate, known)
    }

    /// Goes on at this rate; what has been delivered still counts.
    fn cut_within_epoch(&mut self, now: Timestamp, rate: f64, known: Known) -> Option<(f64, f64)> {
        let before = self.rate;
        self.go_at(rate);
        self.known = known;
        self.cut = Some(Cut::new(now));
        Some((before, self.rate))
    }

    /// Nothing sent since the last cut was delivered.
    fn barren(&mut self, now: Timestamp, cut: Cut) -> Option<(f64, f64)> {
        let fresh = seconds(now.since(cut.at)) < EVENT_SECONDS;
        let few = cut.throttled < CLOSED_THROTTLED.max(self.crowd());
        if few && fresh {
            return None;
        }
        if few && !cut.halved_again && !matches!(self.known, Known::Rate(_)) {
            let halved = self.cut_within_epoch(now, self.rate / 2.0, self.known);
            self.cut = self.cut.map(|cut| Cut { halved_again: true, ..cut });
            return halved;
        }
        let closed = Closed { since: cut.at, noticed: now, probe_at: now, probes: 0, by_turns: self.closes_by_turns() };
        self.closed = Some(Closed { probe_at: now + closed.pause(), ..closed });
        Some((self.rate, self.rate))
    }

    /// It serves again.
    fn reopen(&mut self, now: Timestamp, closed: Closed) {
        if self.rate * seconds(now.since(closed.since)) < CLOSED_CALLS {
            return;
        }
        self.epoch.begin_spell(now);
        self.epoch.was_closed = true;
        // One probe that was served at once proves little.
        if closed.probes < 2 {
            return;
        }
        self.closes = true;
        self.closures = self.closures.saturating_add(1);
        if let Known::Exceeded(_) = self.known {
            // Or it was slow, far slower than anything that is known of it.
            self.go_at(self.rate * REOPEN_SHARE);
        }
    }

    /// Throttled all the same soon after a cut.
    fn cut_again(&mut self, now: Timestamp, cut: Cut) -> Option<(f64, f64)> {
        // Half a call more: so few say little.
        let served = (cut.delivered + 0.5) / (cut.delivered + cut.throttled + 0.5);
        if cut.throttled < STILL_THROTTLED.max(self.crowd()) || served >= STILL_SERVED {
            return None;
        }
        let rate = (self.rate * served).max(self.epoch.lower(self.spans(now), 0.0));
        let known = match self.known {
            Known::Rate(known) if known <= rate => self.known,
            _ => Known::Exceeded(self.rate),
        };
        self.cut_within_epoch(now, rate.min(self.rate), known)
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
        if self.closed.is_some() {
            return 1.0;
        }
        let burst = match self.limits.known_burst() {
            Some(burst) => burst * (self.rate / self.limits.max_rps()).min(1.0),
            None if self.cut.is_none() => self.rate * FIRST_BURST_SECONDS,
            None => self.rate * BURST_SECONDS,
        };
        burst.max(1.0)
    }

    fn burst(&self) -> f64 {
        self.limits.known_burst().unwrap_or_else(|| self.capacity())
    }

    fn throttled(&mut self, now: Timestamp, sent_at: Timestamp) -> Option<(f64, f64)> {
        if self.epoch.charged < MOST_CHARGED {
            self.epoch.charged += 1.0;
            self.saved = (self.saved - 1.0).max(-MOST_OWED);
        }
        let Some(cut) = &mut self.cut else { return self.cut(now, self.rate / 2.0, Known::Exceeded(self.rate)) };
        if sent_at < cut.at {
            return None;
        }
        if let Some(closed) = &mut self.closed {
            if sent_at >= closed.noticed {
                closed.probe_at = closed.probe_at.max(now + closed.pause());
            }
            return None;
        }
        cut.throttled += 1.0;
        let cut = *cut;
        if cut.delivered == 0.0 {
            return self.barren(now, cut);
        }
        if seconds(now.since(cut.at)) < EVENT_SECONDS {
            return self.cut_again(now, cut);
        }
        let spans = self.spans(now);
        if matches!(self.known, Known::Exceeded(_)) && !spans.is_whole() {
            return self.guess(now, spans);
        }
        self.was_split = false;
        self.closes &= self.epoch.was_closed;
        let settled = self.agreed.0 >= SETTLED_CALLS;
        let measured = self.measure(spans);
        if self.known == Known::Nothing {
            // The bucket was not empty when this began, so it is an upper bound. What comes next measures.
            let rate = measured.max(self.rate / 2.0).min(self.rate);
            return self.cut(now, rate, Known::Exceeded(self.rate));
        }
        let measured = self.within(measured);
        self.watch_change(now, measured, settled);
        if settled && spans.is_whole() {
            self.watch_rivals(spans);
        }
        // A server that counts by the minute saves nothing up for later.
        let share = if self.closes_by_turns() { WINDOW_SHARE } else { HOLD_AT - RIVAL_SHARE * self.rivals };
        self.cut(now, measured * share, Known::Rate(measured))
    }

    fn answered(&mut self, now: Timestamp, answer: Answer) -> AnswerEffect {
        let Answer { sent_at, cost, kind } = answer;
        self.failing = kind == AnswerKind::Failed;
        self.saved = (self.saved + PAID_PER_ANSWER + PAID_WITH_RIVALS * self.rivals).min(MOST_SAVED);
        if kind == AnswerKind::Served {
            let took = seconds(now.since(sent_at));
            self.latency = if self.latency == 0.0 { took } else { self.latency + (took - self.latency) * 0.1 };
        }
        self.epoch.deliver(sent_at, cost, self.failing);
        let mut effect = AnswerEffect::default();
        if let Some(cut) = &mut self.cut
            && sent_at >= cut.at
        {
            cut.delivered += cost;
            if let Some(closed) = self.closed.take() {
                effect.reopened = true;
                self.reopen(now, closed);
                self.cut = Some(Cut { delivered: cost, ..Cut::new(now) });
            }
        }
        if self.failing {
            self.end_probe();
        } else {
            self.answered_rate = self.rate;
            self.watch_rise(now);
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
        self.cut.is_some() || self.failing || self.saved < MOST_SAVED || self.rate != self.answered_rate
    }

    fn advance(&mut self, now: Timestamp, waiting: bool) {
        // Callers that wait ask at least once a second.
        let elapsed = seconds(now.since(self.at)).min(1.0);
        self.at = self.at.max(now);
        if !waiting || elapsed <= 0.0 || self.failing || self.closed.is_some() || self.is_holding(now) {
            return;
        }
        let grown = (self.rate + self.growth() * elapsed).min(self.answered_rate * PER_ANSWER);
        self.rate = self.within(grown.max(self.rate));
        self.fastest = self.fastest.max(self.rate);
    }

    /// The server's bucket fills up meanwhile: what comes now is no measure of its refill.
    fn unused(&mut self, now: Timestamp, time: Duration) {
        self.epoch.leave_unused(time);
        if time >= PAUSE_OF_CALLERS {
            self.epoch.begin_spell(now);
        }
    }

    fn closed_until(&self) -> Option<Timestamp> {
        self.closed.map(|closed| closed.probe_at)
    }

    /// A probe is under way. Should it be lost, the next one does not wait for it.
    fn taken(&mut self, now: Timestamp) {
        if let Some(closed) = &mut self.closed {
            closed.probes = closed.probes.saturating_add(1);
            closed.probe_at = now + closed.pause();
        }
    }

    fn given_back(&mut self, now: Timestamp) {
        if let Some(closed) = &mut self.closed {
            closed.probes = closed.probes.saturating_sub(1);
            closed.probe_at = now;
        }
    }

    fn reconfigure(&mut self, limits: Limits, _settings: &Arc<ThrottleSettings>) {
        if limits == self.limits {
            return;
        }
        let untouched = self.is_neutral();
        self.limits = limits;
        let rate = if untouched { limits.max_rps() } else { self.rate };
        self.go_at(rate);
        self.fastest = self.rate;
        if let Known::Rate(known) = self.known {
            self.known = Known::Rate(self.within(known));
        }
    }

    fn adopt(&mut self, rate: f64, _now: Timestamp) {
        self.go_at(rate);
    }

    fn is_neutral(&self) -> bool {
        self.cut.is_none() && self.rate == self.limits.max_rps()
    }

    fn phase(&self, now: Timestamp) -> Phase {
        match self.closed {
            Some(_) => Phase::Closed,
            None if self.is_holding(now) => Phase::Holding,
            None if matches!(self.known, Known::Rate(_)) => Phase::Probing,
            None => Phase::Searching,
        }
    }

    fn measured(&self) -> Option<f64> {
        match self.known {
            Known::Rate(rate) => Some(rate),
            _ => None,
        }
    }
}

fn seconds(duration: Duration) -> f64 {
    duration.as_secs_f64()
}

#[cfg(test)]
mod tests;
