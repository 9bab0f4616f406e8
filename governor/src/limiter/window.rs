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
    /// Of its tokens, those that the server's own count does not leave.
    withheld: f64,
}

/// How long ago the clock's last full period was, at this time of day.
pub(super) fn since_full(period: Duration, wall: Duration) -> Duration {
    Duration::from_nanos((wall.as_nanos() % period.as_nanos().max(1)) as u64)
}

impl Window {
    /// The one under way, `since_full` after the clock's last full period.
    pub(super) fn new(now: Timestamp, period: Duration, since_full: Duration, size: f64) -> Self {
        let ends = now + (period.saturating_sub(since_full) + GUARD);
        Window { period, began: now, ends, size, served: 0.0, throttled: false, partial: true, withheld: 0.0 }
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

    /// How many others have begun, each of at most so many tokens.
    pub(super) fn turn_over(&mut self, now: Timestamp, most: f64) -> u128 {
        if now < self.ends {
            self.size = self.size.min(most);
            return 0;
        }
        let passed = self.passed(now);
        self.began = self.ends + saturating(self.period, passed);
        self.ends = self.began + self.period;
        let size = match (self.throttled, self.partial) {
            (false, _) => self.size + (most * GROWTH).max(1.0),
            (true, true) => self.size,
            (true, false) => self.served.max(self.size * LEAST_KEPT),
        };
        self.size = size.min(most).max(1.0);
        (self.served, self.throttled, self.partial) = (0.0, false, false);
        self.withheld = 0.0;
        passed.saturating_add(1)
    }

    /// How many whole ones lie between the end of this and then.
    fn passed(&self, then: Timestamp) -> u128 {
        then.since(self.ends).as_nanos() / self.period.as_nanos().max(1)
    }

    /// What lies ready once so many have begun, if it is `tokens` now: what was taken beyond one of them is paid off by the next,
    /// and what was left over is lost.
    pub(super) fn tokens_after(&self, begun: u128, tokens: f64) -> f64 {
        (self.size * begun as f64 + tokens.min(0.0)).min(self.size)
    }

    /// Takes back, or gives, what is withheld.
    pub(super) fn withhold(&mut self, tokens: f64) -> f64 {
        std::mem::replace(&mut self.withheld, tokens)
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

    /// Whether the one that was under way then is over.
    pub(super) fn is_over(&self, then: Timestamp) -> bool {
        then < self.began
    }

    /// When `wanted` tokens will have come, of which so many lie ready and of which nothing can be had before `start`.
    pub(super) fn ready_at(&self, wanted: f64, tokens: f64, start: Timestamp) -> Timestamp {
        let begun = if start < self.ends { 0 } else { self.passed(start).saturating_add(1) };
        let tokens = if begun == 0 { tokens } else { self.tokens_after(begun, tokens) };
        let missing = wanted - tokens;
        if missing <= 0.0 {
            return start;
        }
        let windows = (missing / self.size).ceil().max(1.0) - 1.0;
        self.ends + saturating(self.period, begun.saturating_add(windows as u128))
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
