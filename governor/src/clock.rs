//! Time, passed in.
//!
//! Control parts never read a clock: every one of their methods takes a [`Timestamp`]. The driver reads one
//! [`Clock`], the governor's, and is the only code that waits on it. [`SystemClock`] follows Tokio's clock, a
//! paused one included; [`FakeClock`] moves only when a test says so, for async and blocking callers alike.

mod fake;
mod system;

use std::fmt;
use std::future::Future;
use std::ops::Add;
use std::pin::Pin;
use std::time::{Duration, SystemTime};

pub use fake::FakeClock;
pub use system::SystemClock;

/// A monotone point in time: nanoseconds since its clock's origin.
///
/// Sums saturate at [`Timestamp::MAX`], about 584 years, so no header or setting can overflow one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(u64);

impl Timestamp {
    /// The clock's origin.
    pub const ZERO: Timestamp = Timestamp(0);
    /// Later than anything that happens: "never".
    pub const MAX: Timestamp = Timestamp(u64::MAX);

    /// The point `nanos` nanoseconds after the clock's origin.
    pub const fn from_nanos(nanos: u64) -> Self {
        Timestamp(nanos)
    }

    /// Nanoseconds since the clock's origin.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// How long after `earlier` this is; zero if it is not after it.
    pub fn since(self, earlier: Timestamp) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    /// The same in seconds. Not by way of a [`Duration`], whose parts take longer to part and to join than every call should.
    pub(crate) fn seconds_since(self, earlier: Timestamp) -> f64 {
        self.0.saturating_sub(earlier.0) as f64 / 1e9
    }

    /// How long from `now` until this; zero if it has passed.
    pub fn until(self, now: Timestamp) -> Duration {
        self.since(now)
    }
}

impl Add<Duration> for Timestamp {
    type Output = Timestamp;

    fn add(self, duration: Duration) -> Timestamp {
        // Not by way of 128 bits: every reading of the clock comes through here.
        let nanos = duration.as_secs().saturating_mul(1_000_000_000).saturating_add(u64::from(duration.subsec_nanos()));
        Timestamp(self.0.saturating_add(nanos))
    }
}

/// A future that a [`Clock`] completes.
pub type Sleep = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Where a governor takes its time from.
///
/// An implementation must be monotone; a step back is tolerated (no control part mints tokens from one) but
/// delays whatever waits.
pub trait Clock: fmt::Debug + Send + Sync + 'static {
    /// The current time.
    fn now(&self) -> Timestamp;

    /// The time of day, for limits that count by the clock's full minutes: the system's, unless a clock has its own.
    fn time_of_day(&self) -> SystemTime {
        SystemTime::now()
    }

    /// Completes once `until` has come. Dropping the future leaves nothing behind.
    fn sleep_until(&self, until: Timestamp) -> Sleep;

    /// Blocks this thread until `until` has come or the thread is unparked; may return early.
    fn park_until(&self, until: Timestamp);
}

/// The time of day since 1970, whose minutes are full when the world's are. Before that it is as good as none.
pub(crate) fn wall(clock: &dyn Clock) -> Duration {
    clock.time_of_day().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}
