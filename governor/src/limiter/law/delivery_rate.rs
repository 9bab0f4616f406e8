//! The rate is what the server was seen to deliver.
//!
//! Whenever a server throttles, its bucket is empty. So what it served between two throttles, divided by the time
//! between them, is its refill rate, however the calls were spread: nothing was left over at either end. The law sets
//! its rate to that, holds it for as long as the throttle cost, and probes for more. The chapter [`crate::control`]
//! says why each figure is what it is.

use std::time::Duration;

use super::{Answer, AnswerEffect, Control, Phase};
use crate::clock::Timestamp;
use crate::config::{Limits, ThrottleSettings};

/// Above this no rate makes sense; what a configuration may set at most.
const MOST_RPS: f64 = 1e6;

/// How many seconds' worth of calls may go at once where no burst is configured.
const BURST_SECONDS: f64 = 0.25;

/// Before the first throttle the rate grows by a factor of e in this many seconds of callers waiting.
const SEARCH_SECONDS: f64 = 4.0;

/// The same once the server was seen to deliver more than it used to.
const RISE_SECONDS: f64 = 2.0;

/// How fast the rate rises while it probes, in calls per second, per second.
const PROBE_STEP: f64 = 0.7;

/// The part of that which follows the rate, per second.
const PROBE_SHARE: f64 = 0.01;

/// The answer time up to which a probe rises at full speed: with a longer one, more is sent before the throttle is seen.
const PROBE_LATENCY: f64 = 0.1;

/// Between two answers the rate rises by this factor at most.
const PER_ANSWER: f64 = 1.25;

/// The share of the measured rate that is held.
const HOLD_AT: f64 = 0.97;

/// How much less is held with rivals that take all the time.
const RIVAL_SHARE: f64 = 0.1;

/// The throttles that each answer pays for: the share of calls that may be wasted in the long run.
const PAID_PER_ANSWER: f64 = 0.008;

/// The same that each answer pays in addition with rivals.
const PAID_WITH_RIVALS: f64 = 0.02;

/// Saved up, in throttles: what lets a changed rate be found again sooner.
const MOST_SAVED: f64 = 20.0;

/// Saved at the start.
const FIRST_SAVED: f64 = 0.0;

/// Owed at most, in throttles: a storm is paid for at the next probes, not for ever.
const MOST_OWED: f64 = 4.0;

/// What one event costs at most, in throttles: how many were under way is not the probe's doing.
const MOST_CHARGED: f64 = 3.0;

/// A hold lasts this many seconds and this many answers at least,
const HOLD_SECONDS: f64 = 9.0;
/// or this many seconds where the rate has changed of late, as it may again: that many, or a share of the time since,
const HOLD_CHANGED: f64 = 5.5;
const HOLD_SHARE: f64 = 0.025;
const HOLD_ANSWERS: f64 = 12.0;
/// and this many seconds at most, however much is owed.
const HOLD_AT_MOST: f64 = 28.0;

/// With rivals a hold is as long for everyone, or the smallest would probe the least.
const HOLD_WITH_RIVALS: f64 = 9.0;

/// A rate that was measured by this many calls is settled: what contradicts it means something.
const SETTLED_CALLS: f64 = 20.0;

/// Rivals, above this.
const RIVALS: f64 = 0.4;

/// Throttles of one second are one congestion event,
const EVENT_SECONDS: f64 = 1.0;
/// unless this many of requests sent after the cut show that it was not enough.
const STILL_THROTTLED: f64 = 3.0;
/// or this many while none was served.
const CLOSED_THROTTLED: f64 = 2.0;
/// In the former case no more than this share of them is served.
const STILL_SERVED: f64 = 0.6;

/// A measurement that agrees with those before is averaged with them, over this many seconds.
const MEMORY_SECONDS: f64 = 120.0;

/// The first wait for a closed server, in seconds; each is twice the one before.
const FIRST_PROBE: Duration = Duration::from_secs(1);
/// The longest.
const LAST_PROBE: Duration = Duration::from_secs(64);

/// A server that is believed to have earned so many calls while closed was closed, not slow.
const CLOSED_CALLS: f64 = 4.0;

/// What of its rate a server gets that was closed before it was measured.
const REOPEN_SHARE: f64 = 0.125;

/// What was delivered in a spell of calls measures the rate if the spell takes this share of the time.
const WHOLE: f64 = 0.9;

/// Callers have stopped coming when tokens have gone unused for this long.
const PAUSE_OF_CALLERS: Duration = Duration::from_millis(500);

/// A raise is told once it is this large.
const TOLD: f64 = 1.1;

/// A rate below this share of another is not the same.
const CHANGED: f64 = 0.7;

/// The least time anything is divided by.
const INSTANT: f64 = 1e-3;

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

/// What was delivered since the server's bucket was last known to be empty.
#[derive(Debug, Clone, Copy)]
struct Epoch {
    since: Timestamp,
    delivered: f64,
    /// The beginning of the present spell of calls; not before `since`.
    busy_since: Timestamp,
    busy_delivered: f64,
    /// Throttles that were charged to it.
    charged: f64,
}

impl Epoch {
    fn new(now: Timestamp) -> Self {
        Epoch { since: now, delivered: 0.0, busy_since: now, busy_delivered: 0.0, charged: 0.0 }
    }

    /// A new spell of calls begins, before which the server's bucket may have filled up.
    fn begin_spell(&mut self, now: Timestamp) {
        self.busy_since = now;
        self.busy_delivered = 0.0;
    }
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

/// A server that serves nothing.
#[derive(Debug, Clone, Copy)]
struct Closed {
    /// Since when nothing was delivered.
    since: Timestamp,
    /// When that was noticed.
    noticed: Timestamp,
    probe_at: Timestamp,
    every: Duration,
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

    fn has_rivals(&self) -> bool {
        self.rivals > RIVALS
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
            Known::Nothing if self.cut.is_some() => self.rate / RISE_SECONDS,
            Known::Nothing => self.rate / SEARCH_SECONDS,
            Known::Exceeded(at) if self.rate < at => self.rate / SEARCH_SECONDS,
            Known::Exceeded(_) | Known::Rate(_) => {
                let step = PROBE_STEP * (PROBE_LATENCY / self.latency.max(INSTANT)).min(1.0);
                step + PROBE_SHARE * self.rate
            }
        }
    }

    // ===== measuring =====

    /// Seconds from then to now in which what was sent can have been answered.
    fn answerable(&self, since: Timestamp, now: Timestamp) -> f64 {
        let elapsed = seconds(now.since(since));
        (elapsed - self.latency.min(elapsed / 2.0)).max(INSTANT)
    }

    /// The server's rate by what it has delivered, given what it was taken to be.
    ///
    /// What was delivered in a spell of calls is an upper bound, as it may include what was saved up before; what was
    /// delivered in all is a lower one, as the server may have been full meanwhile. Each is one call more or less.
    fn measure(&mut self, now: Timestamp) -> f64 {
        let (all, busy) = (self.answerable(self.epoch.since, now), self.answerable(self.epoch.busy_since, now));
        let Epoch { delivered, busy_delivered, .. } = self.epoch;
        let highest = ((delivered + 1.0) / all).max((busy_delivered + 1.0) / busy);
        let lowest = (delivered - 1.0) / all;
        let (old, is_known) = match self.known {
            Known::Rate(rate) => (rate, true),
            _ => (self.rate, false),
        };
        let agrees = (lowest..=highest).contains(&old);
        let rose = old < lowest;
        // Up and down in turn is one rate seen at odd times: a quota per minute, or others that come and go.
        let averages = is_known && busy >= WHOLE * all && (agrees || rose != self.last_rose);
        if !agrees {
            self.last_rose = rose;
        }
        if !averages {
            self.agreed = (delivered, all);
            return match agrees {
                true => old,
                false if rose => (delivered - 0.5) / all,
                false => ((delivered + 0.5) / all).max((busy_delivered + 0.5) / busy),
            };
        }
        let (calls, time) = (self.agreed.0 + delivered, self.agreed.1 + all);
        let shrink = (MEMORY_SECONDS / time).min(1.0);
        self.agreed = (calls * shrink, time * shrink);
        if agrees { (calls / time).clamp(lowest.max(0.0), highest) } else { calls / time }
    }

    /// Whether the throttle came before the server had delivered what it was to have: others take from the same bucket.
    fn watch_rivals(&mut self, now: Timestamp) {
        let Known::Rate(rate) = self.known else { return };
        let early = self.epoch.delivered < rate * self.answerable(self.epoch.since, now) - 1.0;
        self.rivals = if early { self.rivals + 0.3 * (1.0 - self.rivals) } else { self.rivals * 0.93 };
    }

    /// Whether more was delivered than the known rate explains: then it has risen.
    fn watch_rise(&mut self, now: Timestamp) {
        let Known::Rate(rate) = self.known else { return };
        if self.rate <= rate {
            return;
        }
        let explained = rate * seconds(now.since(self.epoch.busy_since)) - rate * self.latency;
        let margin = (2.0 + rate * self.latency).max(0.1 * rate) * (1.0 + 20.0 * self.rivals) * self.doubt;
        if self.epoch.busy_delivered > explained.max(0.0) + margin {
            self.rose = true;
            self.doubt = (self.doubt * 2.0).min(64.0);
            self.known = Known::Nothing;
        }
    }

    /// Measured: is it another rate than before, where that was `settled`?
    fn watch_change(&mut self, now: Timestamp, measured: f64, settled: bool) {
        let Some(before) = self.last_measured.replace(measured) else { return };
        let rose = measured * CHANGED > before;
        if settled && (rose || measured < before * CHANGED) {
            self.changed_at = Some(now);
        }
        if rose && std::mem::take(&mut self.rose) {
            self.doubt = (self.doubt / 4.0).max(1.0);
        }
    }

    // ===== cutting =====

    /// Goes on at this rate, from an empty bucket.
    fn cut(&mut self, now: Timestamp, rate: f64, known: Known) -> Option<(f64, f64)> {
        self.epoch = Epoch::new(now);
        self.cut_within_epoch(now, rate, known)
    }

    /// Goes on at this rate; what has been delivered still counts.
    fn cut_within_epoch(&mut self, now: Timestamp, rate: f64, known: Known) -> Option<(f64, f64)> {
        let before = self.rate;
        self.rate = self.within(rate);
        self.told = self.rate;
        self.answered_rate = self.rate;
        self.known = known;
        self.cut = Some(Cut { at: now, delivered: 0.0, throttled: 0.0, halved_again: false });
        Some((before, self.rate))
    }

    /// Nothing sent since the last cut was delivered.
    fn barren(&mut self, now: Timestamp, cut: Cut) -> Option<(f64, f64)> {
        let fresh = seconds(now.since(cut.at)) < EVENT_SECONDS;
        let few = cut.throttled < CLOSED_THROTTLED;
        if few && fresh {
            return None;
        }
        if few && !cut.halved_again && !matches!(self.known, Known::Rate(_)) {
            let halved = self.cut_within_epoch(now, self.rate / 2.0, self.known);
            self.cut = self.cut.map(|cut| Cut { halved_again: true, ..cut });
            return halved;
        }
        self.closed = Some(Closed { since: cut.at, noticed: now, probe_at: now + FIRST_PROBE, every: FIRST_PROBE });
        Some((self.rate, self.rate))
    }

    /// Throttled all the same soon after a cut.
    fn cut_again(&mut self, now: Timestamp, cut: Cut) -> Option<(f64, f64)> {
        let served = cut.delivered / (cut.delivered + cut.throttled);
        if cut.throttled < STILL_THROTTLED || served >= STILL_SERVED {
            return None;
        }
        let rate = (self.rate * served).max(self.epoch.delivered / self.answerable(self.epoch.since, now));
        let known = match self.known {
            Known::Rate(known) if known <= rate => self.known,
            _ => Known::Exceeded(self.rate),
        };
        self.cut_within_epoch(now, rate.min(self.rate), known)
    }
}

impl Control for DeliveryRate {
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
            None => self.rate * BURST_SECONDS,
        };
        burst.max(1.0)
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
                closed.probe_at = closed.probe_at.max(now + closed.every);
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
        let spell = self.answerable(self.epoch.busy_since, now) / self.answerable(self.epoch.since, now);
        if matches!(self.known, Known::Exceeded(_)) && spell < WHOLE {
            let rate = (self.rate / 3.0).max(self.epoch.delivered / self.answerable(self.epoch.since, now));
            return self.cut(now, rate.min(self.rate), Known::Exceeded(rate));
        }
        let settled = self.agreed.0 >= SETTLED_CALLS;
        let measured = self.measure(now);
        if self.known == Known::Nothing {
            // The bucket was not empty when this began, so it is an upper bound. What comes next measures.
            let rate = measured.max(self.rate / 2.0).min(self.rate);
            return self.cut(now, rate, Known::Exceeded(self.rate));
        }
        let measured = self.within(measured);
        self.watch_change(now, measured, settled);
        if settled {
            self.watch_rivals(now);
        }
        self.cut(now, measured * (HOLD_AT - RIVAL_SHARE * self.rivals), Known::Rate(measured))
    }

    fn answered(&mut self, now: Timestamp, answer: Answer) -> AnswerEffect {
        let Answer { sent_at, cost, .. } = answer;
        self.saved = (self.saved + PAID_PER_ANSWER + PAID_WITH_RIVALS * self.rivals).min(MOST_SAVED);
        let took = seconds(now.since(sent_at));
        self.latency = if self.latency == 0.0 { took } else { self.latency + (took - self.latency) * 0.1 };
        self.answered_rate = self.rate;
        if sent_at >= self.epoch.since {
            self.epoch.delivered += cost;
        }
        if sent_at >= self.epoch.busy_since {
            self.epoch.busy_delivered += cost;
        }
        let mut effect = AnswerEffect::default();
        let mut unsure = false;
        if let Some(cut) = &mut self.cut
            && sent_at >= cut.at
        {
            cut.delivered += cost;
            if let Some(closed) = self.closed.take() {
                effect.reopened = true;
                let closed_for = now.since(closed.since);
                if self.rate * seconds(closed_for) >= CLOSED_CALLS {
                    self.epoch.begin_spell(now);
                    if closed.every > FIRST_PROBE * 2 && matches!(self.known, Known::Exceeded(_)) {
                        // Or it was slow, far slower than anything that is known of it.
                        self.rate *= REOPEN_SHARE;
                        unsure = true;
                    }
                }
                *cut = Cut { at: now, delivered: cost, throttled: 0.0, halved_again: false };
            }
        }
        if unsure {
            self.rate = self.within(self.rate);
            self.told = self.rate;
            self.answered_rate = self.rate;
        }
        self.watch_rise(now);
        if self.rate >= self.told * TOLD {
            effect.raised = Some((self.told, self.rate));
            self.told = self.rate;
        }
        effect
    }

    fn advance(&mut self, now: Timestamp, waiting: bool) {
        // Callers that wait ask at least once a second.
        let elapsed = seconds(now.since(self.at)).min(1.0);
        self.at = self.at.max(now);
        if !waiting || elapsed <= 0.0 || self.closed.is_some() || self.is_holding(now) {
            return;
        }
        let grown = (self.rate + self.growth() * elapsed).min(self.answered_rate * PER_ANSWER);
        self.rate = self.within(grown.max(self.rate));
        self.fastest = self.fastest.max(self.rate);
    }

    /// The server's bucket fills up meanwhile: what comes now is no measure of its refill.
    fn unused(&mut self, now: Timestamp, time: Duration) {
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
            closed.every = (closed.every * 2).min(LAST_PROBE);
            closed.probe_at = now + closed.every;
        }
    }

    fn given_back(&mut self, now: Timestamp) {
        if let Some(closed) = &mut self.closed {
            closed.every = (closed.every / 2).max(FIRST_PROBE);
            closed.probe_at = now;
        }
    }

    fn reconfigure(&mut self, limits: Limits, _settings: &ThrottleSettings) {
        if limits == self.limits {
            return;
        }
        let untouched = self.is_neutral();
        self.limits = limits;
        let rate = if untouched { limits.max_rps() } else { self.rate };
        self.rate = self.within(rate);
        self.told = self.rate;
        self.answered_rate = self.rate;
        self.fastest = self.rate;
        if let Known::Rate(known) = self.known {
            self.known = Known::Rate(self.within(known));
        }
    }

    fn adopt(&mut self, rate: f64, _now: Timestamp) {
        self.rate = self.within(rate);
        self.told = self.rate;
        self.answered_rate = self.rate;
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
