//! The size of a bucket, and how it refills.

use std::fmt;
use std::time::Duration;

use serde::{Serialize, Serializer};

/// The size of one bucket, and how it refills. A bucket starts full.
///
/// | built by | refills | published by |
/// |---|---|---|
/// | [`new`](Limit::new) | continuously | Amazon EC2, Azure Resource Manager |
/// | [`stepped`](Limit::stepped) | so much at the end of every period | Azure Compute: every minute |
/// | [`window`](Limit::window) | to the brim at the end of every period | Azure Network: 10,000 reads per five minutes |
///
/// Periods are counted from the server's start, or from a moment [before it](Limit::begun).
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Limit {
    capacity: f64,
    refill: f64,
    /// How far the refills are apart; `None` if the bucket refills all the time.
    period: Option<Duration>,
    /// How long before the server's start the periods began.
    begun: Duration,
}

/// A limit that no bucket can have.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error(
    "a bucket of {capacity} that refills by {refill} every {} s: the capacity must be 1 or more, the others above 0",
    period.as_secs_f64()
)]
pub struct InvalidLimit {
    capacity: f64,
    refill: f64,
    period: Duration,
}

const SECOND: Duration = Duration::from_secs(1);

impl Limit {
    /// A bucket that holds `capacity` tokens and gains `refill_per_s` a second, a fraction at any moment.
    ///
    /// # Errors
    /// A capacity below one token would never grant; neither may be infinite.
    pub fn new(capacity: f64, refill_per_s: f64) -> Result<Self, InvalidLimit> {
        Limit { capacity, refill: refill_per_s, period: None, begun: Duration::ZERO }.checked()
    }

    /// A bucket that holds `capacity` tokens and gains `refill` of them at once at the end of every `period`.
    ///
    /// # Errors
    /// As [`new`](Limit::new); the period may not be zero.
    pub fn stepped(capacity: f64, refill: f64, period: Duration) -> Result<Self, InvalidLimit> {
        Limit { capacity, refill, period: Some(period), begun: Duration::ZERO }.checked()
    }

    /// `tokens` in every `period`, and none of those that are left over in the next.
    ///
    /// # Errors
    /// As [`stepped`](Limit::stepped).
    pub fn window(tokens: f64, period: Duration) -> Result<Self, InvalidLimit> {
        Limit::stepped(tokens, tokens, period)
    }

    /// A limit of a table in the source, as [`new`](Limit::new): an impossible one does not compile.
    pub(crate) const fn fixed(capacity: f64, refill_per_s: f64) -> Self {
        let limit = Limit { capacity, refill: refill_per_s, period: None, begun: Duration::ZERO };
        assert!(limit.is_possible(), "the capacity must be 1 or more, the refill above 0");
        limit
    }

    /// A limit of a table in the source, as [`stepped`](Limit::stepped).
    pub(crate) const fn fixed_steps(capacity: f64, refill: f64, period: Duration) -> Self {
        let limit = Limit { capacity, refill, period: Some(period), begun: Duration::ZERO };
        assert!(limit.is_possible(), "the capacity must be 1 or more, the refill and the period above 0");
        limit
    }

    /// As this one, of another size: `refill` is per second where this one refills continuously, and per its period
    /// where it has one.
    ///
    /// # Errors
    /// As [`new`](Limit::new).
    pub fn resized(self, capacity: f64, refill: f64) -> Result<Self, InvalidLimit> {
        Limit { capacity, refill, ..self }.checked()
    }

    /// As this one, with refills that are `period` apart.
    ///
    /// # Errors
    /// As [`stepped`](Limit::stepped).
    pub fn every(self, period: Duration) -> Result<Self, InvalidLimit> {
        Limit { period: Some(period), ..self }.checked()
    }

    /// As this one, with periods that began so long before the server's start: the first ends that much sooner. Clouds
    /// whose minutes are those of the clock on the wall have them under way when a program starts.
    pub fn begun(self, before: Duration) -> Self {
        Limit { begun: before, ..self }
    }

    /// Tokens the full bucket holds: the largest burst.
    pub fn capacity(&self) -> f64 {
        self.capacity
    }

    /// Tokens gained per second, on average.
    pub fn refill_per_s(&self) -> f64 {
        self.refill / self.period.unwrap_or(SECOND).as_secs_f64()
    }

    /// How far the refills are apart; `None` if the bucket refills all the time.
    pub fn period(&self) -> Option<Duration> {
        self.period
    }

    /// The least time in which a bucket that starts full grants `tokens`, counted from the server's start.
    pub fn least_time(&self, tokens: f64) -> Duration {
        self.wait(Duration::ZERO, tokens - self.capacity)
    }

    /// How long an empty bucket takes from `now` until it has gained so many tokens, if each is taken as it comes.
    pub(super) fn wait(&self, now: Duration, tokens: f64) -> Duration {
        if tokens <= 0.0 {
            return Duration::ZERO;
        }
        match self.period {
            None => seconds(tokens / self.refill),
            Some(period) => {
                // What does not fit is lost: more than the capacity never comes at once.
                let steps = (tokens / self.refill.min(self.capacity)).ceil();
                seconds(steps * period.as_secs_f64())
                    .saturating_sub(into_period(self.begun.saturating_add(now), period))
            }
        }
    }

    /// Tokens gained between two moments.
    pub(super) fn gained(&self, since: Duration, now: Duration) -> f64 {
        match self.period {
            None => now.saturating_sub(since).as_secs_f64() * self.refill,
            Some(period) => {
                let periods = |at: Duration| self.begun.saturating_add(at).as_nanos() / period.as_nanos().max(1);
                periods(now).saturating_sub(periods(since)) as f64 * self.refill
            }
        }
    }

    const fn is_possible(&self) -> bool {
        let lasts = match self.period {
            Some(period) => !period.is_zero(),
            None => true,
        };
        let finite = self.capacity < f64::INFINITY && self.refill < f64::INFINITY;
        self.capacity >= 1.0 && self.refill > 0.0 && finite && lasts
    }

    fn checked(self) -> Result<Self, InvalidLimit> {
        let Limit { capacity, refill, period, .. } = self;
        if self.is_possible() {
            Ok(self)
        } else {
            Err(InvalidLimit { capacity, refill, period: period.unwrap_or(SECOND) })
        }
    }
}

/// Rounded up to a whole nanosecond, so that the wait is never a moment too short.
fn seconds(seconds: f64) -> Duration {
    let nanos = (seconds * 1e9).ceil();
    if nanos < u64::MAX as f64 { Duration::from_nanos(nanos as u64) } else { Duration::MAX }
}

/// How much of its period has passed at this moment.
fn into_period(now: Duration, period: Duration) -> Duration {
    let nanos = now.as_nanos() % period.as_nanos().max(1);
    u64::try_from(nanos).map_or(Duration::ZERO, Duration::from_nanos)
}

/// The refill as people write it: `25/s`, `300/1m`.
impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Limit { capacity, refill, period, .. } = self;
        match period {
            None => write!(f, "{capacity} and {refill}/s"),
            Some(period) => write!(f, "{capacity} and {refill}/{}", humantime::format_duration(*period)),
        }
    }
}

impl Serialize for Limit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shown {
            capacity: f64,
            refill_per_s: f64,
            #[serde(skip_serializing_if = "Option::is_none")]
            period_s: Option<f64>,
        }
        let period_s = self.period.map(|period| period.as_secs_f64());
        Shown { capacity: self.capacity, refill_per_s: self.refill_per_s(), period_s }.serialize(serializer)
    }
}
