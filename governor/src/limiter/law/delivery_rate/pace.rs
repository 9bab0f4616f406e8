//! Between two throttles: how long the rate is held, and how fast it rises then.

use super::figures::*;
use super::{DeliveryRate, Known, seconds};
use crate::clock::Timestamp;

impl DeliveryRate {
    /// Whether the last cut is too fresh, or not paid for yet.
    pub(super) fn is_holding(&self, now: Timestamp) -> bool {
        let Some(learned) = &self.learned else { return false };
        let age = seconds(now.since(learned.cut.at));
        let is_paid = learned.epoch.delivered >= HOLD_ANSWERS && (self.saved >= 0.0 || age >= HOLD_AT_MOST);
        // With rivals a hold is as long for everyone, or the smallest would probe the least.
        age < HOLD_SECONDS || !(is_paid || learned.rivals > RIVALS)
    }

    /// How fast the rate rises, in calls per second, per second.
    pub(super) fn growth(&self) -> f64 {
        match self.known() {
            Known::Nothing if self.learned.is_some() => self.rate / RISE_SECONDS,
            Known::Nothing => self.rate / SEARCH_SECONDS,
            Known::Exceeded(at) if self.rate < at => self.rate / SEARCH_SECONDS,
            Known::Exceeded(_) | Known::Rate(_) => PROBE_STEP * (PROBE_LATENCY / self.latency.max(INSTANT)).min(1.0),
        }
    }

    /// A server that fails is not probed.
    pub(super) fn end_probe(&mut self) {
        if let Known::Rate(rate) = self.known() {
            self.go_at(self.rate.min(rate * HOLD_AT));
        }
    }
}
