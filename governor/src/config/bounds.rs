//! What each figure may be. The bounds are far from any real setting; they exist so that no product, quotient or
//! sum of settings and times leaves the range of its type.

use std::time::Duration;

/// The longest duration that may be set: 365 days.
pub(crate) const LONGEST: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// The most that a count (retries, budget, slots, failures) may be.
pub(crate) const MOST: u32 = 1_000_000;

/// The highest rate that may be set, in calls per second.
pub(crate) const MOST_RPS: f64 = 1e6;

pub(super) const RATE: Range =
    Range { least: 0.000_001, most: MOST_RPS, exclusive: false, what: "a number from 0.000001 to 1000000" };
pub(super) const BURST: Range = Range { least: 1.0, most: 1e6, exclusive: false, what: "a number from 1 to 1000000" };
pub(super) const FACTOR: Range = Range { least: 0.0, most: 1.0, exclusive: true, what: "a number above 0 and below 1" };
pub(super) const STEP: Range =
    Range { least: 0.000_001, most: 1.0, exclusive: false, what: "a number from 0.000001 to 1" };

pub(super) const SHARE: Range = Range { least: 0.01, most: 1.0, exclusive: false, what: "a number from 0.01 to 1" };

/// The range of a number that need not be whole.
#[derive(Clone, Copy)]
pub(super) struct Range {
    least: f64,
    most: f64,
    /// Neither end is part of it.
    exclusive: bool,
    what: &'static str,
}

impl Range {
    /// `value`, or what would be valid in its place. Not-a-number is in no range.
    pub(super) fn check(self, value: f64) -> Result<f64, String> {
        let within = match self.exclusive {
            true => value > self.least && value < self.most,
            false => value >= self.least && value <= self.most,
        };
        if within { Ok(value) } else { Err(format!("is {value}, but must be {}", self.what)) }
    }

    pub(super) fn what(self) -> &'static str {
        self.what
    }
}

/// `value`, or what would be valid in its place.
pub(crate) fn check_duration(value: Duration) -> Result<Duration, String> {
    match value {
        Duration::ZERO => Err("is 0, but must be above 0 s and at most 365 days".to_owned()),
        value if value > LONGEST => Err(format!("is {value:?}, but must be above 0 s and at most 365 days")),
        value => Ok(value),
    }
}
