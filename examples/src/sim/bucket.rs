//! The server's throttle: token buckets that refill continuously and start full.

use std::collections::HashMap;
use std::time::Duration;

use serde::Serialize;

/// Forgives rounding, so that a bucket which has been refilling for exactly long enough does grant.
const ROUNDING: f64 = 1e-9;

/// The size of one bucket.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Limit {
    capacity: f64,
    refill_per_s: f64,
}

/// A limit that no bucket can have.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("a bucket of {capacity} that refills at {refill_per_s}/s: the capacity must be 1 or more, the refill above 0")]
pub struct InvalidLimit {
    capacity: f64,
    refill_per_s: f64,
}

impl Limit {
    /// A bucket that holds `capacity` tokens and gains `refill_per_s` a second.
    ///
    /// # Errors
    /// A capacity below one token would never grant; neither may be infinite.
    pub fn new(capacity: f64, refill_per_s: f64) -> Result<Self, InvalidLimit> {
        let possible = capacity.is_finite() && refill_per_s.is_finite() && capacity >= 1.0 && refill_per_s > 0.0;
        if possible { Ok(Limit { capacity, refill_per_s }) } else { Err(InvalidLimit { capacity, refill_per_s }) }
    }

    /// A limit of a table in the source: an impossible one does not compile.
    pub(super) const fn fixed(capacity: f64, refill_per_s: f64) -> Self {
        assert!(capacity >= 1.0 && capacity < f64::INFINITY, "the capacity must be 1 or more");
        assert!(refill_per_s > 0.0 && refill_per_s < f64::INFINITY, "the refill must be above 0");
        Limit { capacity, refill_per_s }
    }

    /// Tokens the full bucket holds: the largest burst.
    pub fn capacity(&self) -> f64 {
        self.capacity
    }

    /// Tokens gained per second.
    pub fn refill_per_s(&self) -> f64 {
        self.refill_per_s
    }

    /// The least time in which a bucket that starts full grants `tokens`.
    pub fn least_time(&self, tokens: f64) -> Duration {
        let seconds = (tokens - self.capacity).max(0.0) / self.refill_per_s;
        Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
    }
}

/// Names one bucket. Accounts never share one, and neither do regions.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct BucketKey {
    /// Account, subscription or project.
    pub account: String,
    /// Region; empty where the cloud has none.
    pub region: String,
    /// The bucket's name within both: an operation, or a group of operations that share it.
    pub name: String,
}

/// What one call takes from one bucket.
#[derive(Clone, Debug, PartialEq)]
pub struct Draw {
    /// The bucket.
    pub key: BucketKey,
    /// The bucket's size.
    pub limit: Limit,
    /// Tokens taken.
    pub cost: u32,
}

#[derive(Clone, Copy, Debug)]
struct Level {
    tokens: f64,
    at: Duration,
}

impl Level {
    fn refill(&mut self, limit: Limit, now: Duration) {
        let gained = now.saturating_sub(self.at).as_secs_f64() * limit.refill_per_s;
        self.tokens = (self.tokens + gained).min(limit.capacity);
        self.at = self.at.max(now);
    }
}

/// The levels of all buckets.
#[derive(Debug, Default)]
pub struct Throttle {
    levels: HashMap<BucketKey, Level>,
}

impl Throttle {
    /// Takes every draw at the time `now`, or none of them. `true` means granted.
    ///
    /// A refused call costs nothing: AWS refills its buckets whether or not callers keep knocking.
    pub fn admit(&mut self, now: Duration, draws: &[Draw]) -> bool {
        let mut granted = true;
        for draw in draws {
            let level = self.levels.entry(draw.key.clone()).or_insert(Level { tokens: draw.limit.capacity, at: now });
            level.refill(draw.limit, now);
            level.tokens -= f64::from(draw.cost);
            granted &= level.tokens >= -ROUNDING;
        }
        if !granted {
            for draw in draws {
                if let Some(level) = self.levels.get_mut(&draw.key) {
                    level.tokens += f64::from(draw.cost);
                }
            }
        }
        granted
    }
}

#[cfg(test)]
mod tests;
