//! A quota that comes all at once, at each full minute of the clock.
//!
//! Google counts so: 100 calls in each minute, all of which may be used at its first second, and whoever is refused waits for
//! the next. A rate that is measured between two throttles says little of that. What is learned here instead is how many a
//! whole window served; and a throttle means that there is nothing before the next one.

use std::time::Duration;

use crate::clock::Timestamp;

/// How much later than by the clock here a window is taken to begin: clocks differ a little, and a call that comes before its
/// minute costs a refusal and a wait.
const GUARD: Duration = Duration::from_millis(250);

/// What a window without a throttle adds to the next, as a share of the limit.
const GROWTH: f64 = 0.05;

/// A window in which others drew much says no more than this of the next.
const LEAST_KEPT: f64 = 0.5;

/// The window that is under way, and what those before it served.
#[derive(Debug)]
pub(super) struct Window {
    period: Duration,
    began: Timestamp,
    ends: Timestamp,
    /// How many tokens each has.
    size: f64,
    /// What was served of what was sent in this one.
    served: f64,
    throttled: bool,
    /// This began before it: others may have used it up.
    partial: bool,
}

impl Window {
    /// The one under way, `since_full` after the clock's last full period.
    pub(super) fn new(now: Timestamp, period: Duration, since_full: Duration, size: f64) -> Self {
        let ends = now + (period.saturating_sub(since_full) + GUARD);
        Window { period, began: now, ends, size, served: 0.0, throttled: false, partial: true }
    }

    pub(super) fn period(&self) -> Duration {
        self.period
    }

    pub(super) fn size(&self) -> f64 {
        self.size
    }

    pub(super) fn rate(&self) -> f64 {
        self.size / self.period.as_secs_f64()
    }

    /// Each has so many from this one on. Says how many more that are.
    pub(super) fn resize(&mut self, size: f64) -> f64 {
        let more = size - self.size;
        self.size = size;
        more
    }

    /// Whether another has begun, of at most so many tokens.
    pub(super) fn turn_over(&mut self, now: Timestamp, most: f64) -> bool {
        if now < self.ends {
            self.size = self.size.min(most);
            return false;
        }
        let passed = now.since(self.ends).as_nanos() / self.period.as_nanos().max(1);
        self.began = self.ends + saturating(self.period, passed);
        self.ends = self.began + self.period;
        let size = match (self.throttled, self.partial) {
            (false, _) => self.size + (most * GROWTH).max(1.0),
            (true, true) => self.size,
            (true, false) => self.served.max(self.size * LEAST_KEPT),
        };
        self.size = size.min(most).max(1.0);
        (self.served, self.throttled, self.partial) = (0.0, false, false);
        true
    }

    pub(super) fn served(&mut self, sent_at: Timestamp, cost: f64) {
        if sent_at >= self.began {
            self.served += cost;
        }
    }

    /// Something that was sent then was throttled. Says until when nothing is to be had, if it was sent in this window.
    pub(super) fn throttled(&mut self, sent_at: Timestamp) -> Option<Timestamp> {
        let is_of_this = sent_at >= self.began;
        self.throttled |= is_of_this;
        is_of_this.then_some(self.ends)
    }

    /// When so many tokens more than lie ready will have come.
    pub(super) fn ready_at(&self, missing: f64) -> Timestamp {
        let windows = (missing / self.size).ceil().max(1.0) - 1.0;
        self.ends + saturating(self.period, windows as u128)
    }

    pub(super) fn is_neutral(&self, most: f64) -> bool {
        self.size >= most && !self.throttled
    }
}

fn saturating(period: Duration, times: u128) -> Duration {
    Duration::from_nanos(u64::try_from(period.as_nanos().saturating_mul(times)).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests;
