//! The server's throttle: token buckets that start full.

use std::collections::HashMap;
use std::time::Duration;

use serde::Serialize;

mod limit;

pub use limit::{InvalidLimit, Limit};

/// Forgives rounding, so that a bucket which has been refilling for exactly long enough does grant.
const ROUNDING: f64 = 1e-9;

/// Names one bucket. Accounts never share one, and neither do regions.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct BucketKey {
    /// Account, subscription or project.
    pub account: String,
    /// Region; empty where the cloud has none.
    pub region: String,
    /// The bucket's name within both: an operation, or a group of operations that share it, and whose it is where
    /// callers have one each.
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

/// What the throttle says to one call.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Verdict {
    /// The first of the draws, counted from 0 over all gates, that its bucket refused; `None` if the call is granted.
    pub refused_by: Option<usize>,
    /// How long until the call would be granted if nobody else drew on its buckets: zero if it is, and the longest
    /// there is if no wait would do.
    pub wait: Duration,
    /// What is left in each bucket, in the order of the draws. Gates that the call did not come to are missing.
    pub left: Vec<f64>,
}

impl Verdict {
    /// Whether the call goes through.
    pub fn is_granted(&self) -> bool {
        self.refused_by.is_none()
    }
}

#[derive(Clone, Copy, Debug)]
struct Level {
    tokens: f64,
    at: Duration,
}

impl Level {
    fn refill(&mut self, limit: Limit, now: Duration) {
        self.tokens = (self.tokens + limit.gained(self.at, now)).min(limit.capacity());
        self.at = self.at.max(now);
    }
}

/// The levels of all buckets.
#[derive(Debug, Default)]
pub struct Throttle {
    levels: HashMap<BucketKey, Level>,
}

impl Throttle {
    /// Takes every draw of one gate at the time `now`, or none of them.
    ///
    /// A refused call costs nothing: the clouds refill their buckets whether or not callers keep knocking.
    pub fn admit(&mut self, now: Duration, draws: &[Draw]) -> Verdict {
        let mut verdict = Verdict::default();
        for (index, draw) in draws.iter().enumerate() {
            let full = Level { tokens: draw.limit.capacity(), at: now };
            let level = self.levels.entry(draw.key.clone()).or_insert(full);
            level.refill(draw.limit, now);
            level.tokens -= f64::from(draw.cost);
            if level.tokens < -ROUNDING {
                verdict.refused_by.get_or_insert(index);
                verdict.wait = verdict.wait.max(wait(now, draws, draw, level.tokens));
            }
        }
        if !verdict.is_granted() {
            for draw in draws {
                if let Some(level) = self.levels.get_mut(&draw.key) {
                    level.tokens += f64::from(draw.cost);
                }
            }
        }
        let left = |draw: &Draw| self.levels.get(&draw.key).map_or(0.0, |level| level.tokens.max(0.0));
        verdict.left = draws.iter().map(left).collect();
        verdict
    }

    /// Admits a call through one gate after the other, up to the first that refuses it. Gates that it has passed keep
    /// what they took: each belongs to another party, which knows nothing of the next.
    pub fn pass(&mut self, now: Duration, gates: &[Vec<Draw>]) -> Verdict {
        let mut passed = Verdict::default();
        for gate in gates {
            let Verdict { refused_by, wait, left } = self.admit(now, gate);
            passed.refused_by = refused_by.map(|index| passed.left.len() + index);
            passed.wait = wait;
            passed.left.extend(left);
            if !passed.is_granted() {
                break;
            }
        }
        passed
    }
}

/// How long until a bucket that is `tokens` below zero after these draws could have granted them all.
fn wait(now: Duration, draws: &[Draw], short: &Draw, tokens: f64) -> Duration {
    let cost: f64 = draws.iter().filter(|draw| draw.key == short.key).map(|draw| f64::from(draw.cost)).sum();
    if cost > short.limit.capacity() { Duration::MAX } else { short.limit.wait(now, -tokens) }
}

#[cfg(test)]
mod tests;
