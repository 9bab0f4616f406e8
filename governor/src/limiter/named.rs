//! The limit that a server names, and for how long it is believed.
//!
//! Some servers name their limit when they throttle: 100 calls a minute. The laws go no faster. The chapter
//! [`crate::control`] says what follows for a rate and why each figure is what it is.

use std::time::Duration;

use smallvec::SmallVec;

use crate::clock::Timestamp;
use crate::config::MOST_RPS;

/// So many limits are kept at once; of more, the lowest.
const MOST_LIMITS: usize = 4;

/// A limit is believed for so long after it was named last,
const BELIEVED: Duration = Duration::from_secs(600);
/// and for so many of its own spans, if that is longer.
const BELIEVED_SPANS: u32 = 2;

/// From then on it loosens evenly, to twice itself in so long, and is forgotten. Where it still holds, the server throttles the
/// first calls beyond it, and names it again.
const LOOSENED: Duration = Duration::from_secs(600);

/// A limit of a longer span than this is an allowance, which may be used up at once, and no pace.
const LONGEST_SPAN: Duration = Duration::from_secs(3600);

/// A limit that a server named: a rate from above zero to the highest that there is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct NamedLimit {
    rps: f64,
    believed: Duration,
}

impl NamedLimit {
    /// In calls per second.
    pub(super) fn rps(self) -> f64 {
        self.rps
    }

    /// So many calls in so long. None of what is no pace: nothing at all, more than anyone can use, or a span longer than an
    /// hour.
    pub(crate) fn new(calls: u64, per: Duration) -> Option<Self> {
        let is_pace = calls > 0 && !per.is_zero() && per <= LONGEST_SPAN;
        let rps = calls as f64 / per.as_secs_f64();
        let believed = BELIEVED.max(per.saturating_mul(BELIEVED_SPANS));
        (is_pace && rps <= MOST_RPS).then_some(NamedLimit { rps, believed })
    }
}

/// The limits that were named of late.
#[derive(Debug, Default)]
pub(super) struct NamedLimits {
    /// Each with until when it is believed.
    named: SmallVec<[(f64, Timestamp); MOST_LIMITS]>,
}

impl NamedLimits {
    /// The server names this one, again or anew. Those that it has not named for long are worth no more than that.
    pub(super) fn name(&mut self, now: Timestamp, limit: NamedLimit) {
        let until = now + limit.believed;
        self.named.retain(|(rps, known)| *known > now || *rps == limit.rps);
        match self.named.iter_mut().find(|(rps, _)| *rps == limit.rps) {
            Some((_, known)) => *known = until.max(*known),
            None => self.insert(limit.rps, until),
        }
    }

    fn insert(&mut self, rps: f64, until: Timestamp) {
        if self.named.len() < MOST_LIMITS {
            self.named.push((rps, until));
        } else if let Some(highest) = self.named.iter_mut().max_by(|(one, _), (other, _)| one.total_cmp(other))
            && rps < highest.0
        {
            *highest = (rps, until);
        }
    }

    /// The lowest that is not forgotten, in calls per second.
    pub(super) fn lowest(&self, now: Timestamp) -> Option<f64> {
        let loosened = |(rps, until): &(f64, Timestamp)| {
            let share = now.since(*until).as_secs_f64() / LOOSENED.as_secs_f64();
            (share < 1.0).then_some(rps * (1.0 + share))
        };
        self.named.iter().filter_map(loosened).reduce(f64::min)
    }
}

#[cfg(test)]
mod tests;
