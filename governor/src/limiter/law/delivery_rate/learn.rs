//! What the deliveries say about the server: its rate, whether it has changed, and whether others take from it.

use super::epoch::Spans;
use super::figures::{EARLY, MEMORY_SECONDS};
use super::{Known, Learned, seconds};
use crate::clock::Timestamp;

impl Learned {
    /// The server's rate by what it has delivered, given what it was taken to be: `rate`, if nothing
    /// was measured yet.
    ///
    /// What was delivered in a spell of calls is an upper bound, as it may include what was saved up before; what was
    /// delivered in all is a lower one, as the server may have been full meanwhile. Each is one call more or less.
    pub(super) fn measure(&mut self, rate: f64, spans: Spans) -> f64 {
        let (highest, lowest) = (self.epoch.upper(spans, 1.0), self.epoch.lower(spans, 1.0));
        let (delivered, all) = (self.epoch.delivered, spans.all);
        let (old, is_known) = match self.known {
            Known::Rate(rate) => (rate, true),
            _ => (rate, false),
        };
        let agrees = (lowest..=highest).contains(&old);
        if is_known && spans.is_whole() && agrees {
            return self.average(delivered, all).clamp(lowest, highest);
        }
        self.agreed = (delivered, all);
        if agrees {
            old
        } else if old < lowest {
            self.epoch.lower(spans, 0.5)
        } else {
            self.epoch.upper(spans, 0.5)
        }
    }

    /// The mean rate of measurements that agree, of late.
    fn average(&mut self, delivered: f64, time: f64) -> f64 {
        let (calls, time) = (self.agreed.0 + delivered, self.agreed.1 + time);
        let shrink = (MEMORY_SECONDS / time).min(1.0);
        self.agreed = (calls * shrink, time * shrink);
        calls / time
    }

    /// Whether the throttle came before the server had delivered what it was to have: others take from the same bucket.
    pub(super) fn watch_rivals(&mut self, spans: Spans) {
        let Known::Rate(rate) = self.known else { return };
        let early = self.epoch.delivered < EARLY * rate * spans.all - 1.0;
        self.rivals = if early { self.rivals + 0.3 * (1.0 - self.rivals) } else { self.rivals * 0.93 };
    }

    /// Whether more was delivered, at `present` calls per second, than the known rate explains: then it has risen.
    pub(super) fn watch_rise(&mut self, now: Timestamp, present: f64, latency: f64) {
        let Known::Rate(rate) = self.known else { return };
        if present <= rate {
            return;
        }
        let explained = rate * (seconds(now.since(self.epoch.since)) - latency);
        let margin = (2.0 + rate * latency) * (1.0 + 20.0 * self.rivals);
        if self.epoch.delivered - self.epoch.failed > explained.max(0.0) + margin {
            self.known = Known::Nothing;
        }
    }
}
