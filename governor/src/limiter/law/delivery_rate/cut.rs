//! Cuts: what a throttle does to the rate, and what those do that follow it.

use super::closed::Closed;
use super::epoch::Epoch;
use super::figures::{CLOSED_THROTTLED, EVENT_SECONDS, HOLD_AT, INSTANT, REOPEN_SHARE, STILL_SERVED, STILL_THROTTLED};
use super::{Coarse, DeliveryRate, Known, Learned, seconds};
use crate::clock::Timestamp;

/// The last cut, and what came of requests sent after it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cut {
    pub(super) at: Timestamp,
    pub(super) delivered: f64,
    pub(super) throttled: f64,
    /// It was halved again for want of any delivery.
    pub(super) halved_again: bool,
}

impl Cut {
    pub(super) fn new(now: Timestamp) -> Self {
        Cut { at: now, delivered: 0.0, throttled: 0.0, halved_again: false }
    }
}

impl DeliveryRate {
    /// Goes on at this rate, from an empty bucket.
    pub(super) fn cut(&mut self, now: Timestamp, rate: f64, known: Known) -> Option<(f64, f64)> {
        if let Some(learned) = &mut self.learned {
            learned.epoch = Epoch::new(now);
        }
        self.cut_within_epoch(now, rate, known)
    }

    /// The rate after the first throttle: half, or what the server was seen to grant by then where its burst is known.
    ///
    /// Since the bucket was full last, all that came was let through but for the `tokens` that lie ready. No more than the same
    /// burst lay ready at the server then, so the rest came there meanwhile, too; save that what is still under way may yet be
    /// throttled.
    pub(super) fn first_cut(&self, now: Timestamp, tokens: f64) -> f64 {
        let half = self.rate / 2.0;
        if self.limits.known_burst().is_none() {
            return half;
        }
        let unsure = tokens + self.rate * (self.latency + Coarse::SECONDS) + 1.0;
        let elapsed = seconds(now.since(self.full_at.time())).max(INSTANT);
        (self.rate - unsure / elapsed).clamp(half, self.rate * HOLD_AT)
    }

    /// Goes on at this rate; what has been delivered still counts.
    pub(super) fn cut_within_epoch(&mut self, now: Timestamp, rate: f64, known: Known) -> Option<(f64, f64)> {
        let before = self.rate;
        self.go_at(rate);
        let learned = self.learned.get_or_insert_with(|| Box::new(Learned::new(now, known)));
        learned.known = known;
        learned.cut = Cut::new(now);
        Some((before, self.rate))
    }

    /// The server names its limit: that is its rate, unless less was measured. The throttle that it comes with is of a request
    /// from before.
    pub(super) fn heed_limit(&mut self, now: Timestamp, limit: f64) {
        let limit = limit.max(self.limits.floor_rps());
        let is_measured = matches!(self.known(), Known::Rate(known) if known <= limit);
        if self.rate > limit || (!is_measured && self.rate > limit * HOLD_AT) {
            self.cut(now, limit * HOLD_AT, Known::Rate(limit));
        }
    }

    /// Nothing sent since the last cut was delivered.
    pub(super) fn barren(&mut self, now: Timestamp, cut: Cut) -> Option<(f64, f64)> {
        let few = cut.throttled < CLOSED_THROTTLED;
        if few && seconds(now.since(cut.at)) < EVENT_SECONDS {
            return None;
        }
        if few && !cut.halved_again && !matches!(self.known(), Known::Rate(_)) {
            let halved = self.cut_within_epoch(now, self.rate / 2.0, self.known());
            self.learned.iter_mut().for_each(|learned| learned.cut.halved_again = true);
            return halved;
        }
        self.learned.iter_mut().for_each(|learned| learned.closed = Some(Closed::new(now)));
        Some((self.rate, self.rate))
    }

    /// It serves again.
    pub(super) fn reopen(&mut self, now: Timestamp, closed: Closed) {
        // One probe that was served at once proves little.
        let slower = closed.probes >= 2 && matches!(self.known(), Known::Exceeded(_));
        if slower {
            // It was never measured, and may be far slower than anything that was tried.
            self.go_at(self.rate * REOPEN_SHARE);
        }
        let Some(learned) = &mut self.learned else { return };
        learned.epoch.begin_spell(now);
        if slower {
            learned.known = Known::Exceeded(self.rate);
        }
    }

    /// Throttled all the same soon after a cut.
    pub(super) fn cut_again(&mut self, now: Timestamp, cut: Cut) -> Option<(f64, f64)> {
        // Half a call more: so few say little.
        let served = (cut.delivered + 0.5) / (cut.delivered + cut.throttled + 0.5);
        if cut.throttled < STILL_THROTTLED || served >= STILL_SERVED {
            return None;
        }
        let learned = self.learned.as_ref()?;
        let rate = (self.rate * served).max(learned.epoch.lower(learned.spans(now, self.latency), 0.0));
        let known = match learned.known {
            Known::Rate(known) if known <= rate => learned.known,
            _ => Known::Exceeded(self.rate),
        };
        self.cut_within_epoch(now, rate.min(self.rate), known)
    }
}
