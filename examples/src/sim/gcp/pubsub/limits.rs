//! The quotas, each with where its figure comes from.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use crate::sim::{InvalidLimit, Limit, Quota, Source, UnknownBucket};

const MINUTE: Duration = Duration::from_secs(60);

/// What quotas count bytes in.
const KILOBYTE: usize = 1_000;

/// What so many bytes cost: a kilobyte that was begun is one, and nothing costs less.
pub fn kilobytes(bytes: usize) -> u32 {
    u32::try_from(bytes.div_ceil(KILOBYTE).max(1)).unwrap_or(u32::MAX)
}

/// One kind of bucket. Every project has one of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Bucket {
    /// What is published, in kilobytes.
    Publish,
    /// Pulls.
    Pull,
    /// Requests to acknowledge and to put off the ack deadline, in kilobytes.
    Acknowledge,
    /// Requests that make, change and show topics and subscriptions.
    Administrator,
}

impl Bucket {
    /// All of them.
    pub const ALL: [Bucket; 4] = [Bucket::Publish, Bucket::Pull, Bucket::Acknowledge, Bucket::Administrator];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Bucket::Publish => "pubsub.Publish",
            Bucket::Pull => "pubsub.Pull",
            Bucket::Acknowledge => "pubsub.Acknowledge",
            Bucket::Administrator => "pubsub.administrator",
        }
    }

    /// The size that a project has in a large region, and where it is published.
    fn published(self) -> (Limit, Source) {
        match self {
            Bucket::Publish => (
                const { Limit::fixed_steps(12e6, 12e6, MINUTE) },
                Source::Published("cloud.google.com/pubsub/quotas: publisher throughput in a large region, kB"),
            ),
            Bucket::Pull | Bucket::Acknowledge => (
                const { Limit::fixed_steps(12e6, 12e6, MINUTE) },
                Source::Reported("the same page counts their kB, too; here they have as many as Publish"),
            ),
            Bucket::Administrator => (
                const { Limit::fixed_steps(6_000.0, 6_000.0, MINUTE) },
                Source::Published("the same page: administrator operations"),
            ),
        }
    }
}

/// All the quotas. `Display` is a table with the sources.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Limits {
    /// The buckets that are not of the size in the source.
    set: BTreeMap<Bucket, Limit>,
}

impl Limits {
    /// With this bucket at another size.
    ///
    /// # Errors
    /// [`UnknownBucket`] if there is none of this name.
    pub fn with(mut self, bucket: &str, limit: Limit) -> Result<Self, UnknownBucket> {
        let known = Bucket::ALL.into_iter().find(|known| known.name() == bucket);
        self.set.insert(known.ok_or_else(|| UnknownBucket::new(bucket))?, limit);
        Ok(self)
    }

    /// With so much per second in this bucket: at any moment, with a burst of what a second brings, or all at once at the end
    /// of each window of the server's clock, which is how a minute's quota is.
    ///
    /// # Errors
    /// [`InvalidLimit`] if that is less than one, in a second or a window.
    pub fn per_second(mut self, bucket: Bucket, rate: f64, window: Option<Duration>) -> Result<Self, InvalidLimit> {
        let limit = match window {
            None => Limit::new(rate, rate),
            Some(window) => Limit::window(rate * window.as_secs_f64(), window),
        };
        self.set.insert(bucket, limit?);
        Ok(self)
    }

    /// All buckets.
    pub fn quotas(&self) -> Vec<Quota> {
        Bucket::ALL.into_iter().map(|bucket| self.quota(bucket)).collect()
    }

    /// One bucket.
    pub fn quota(&self, bucket: Bucket) -> Quota {
        let (limit, source) = match self.set.get(&bucket) {
            Some(limit) => (*limit, Source::Set),
            None => bucket.published(),
        };
        Quota { bucket: bucket.name(), limit, source }
    }
}

impl fmt::Display for Limits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<22} {:<30}  source", "bucket", "holds, and regains")?;
        for Quota { bucket, limit, source } in self.quotas() {
            writeln!(f, "{bucket:<22} {:<30}  {source}", limit.to_string())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kilobyte_that_was_begun_counts_as_one_and_nothing_costs_less() {
        assert_eq!([0, 1, 1_000, 1_001, 5_030].map(kilobytes), [1, 1, 1, 2, 6]);
        assert_eq!(kilobytes(usize::MAX), u32::MAX);
    }

    #[test]
    fn a_bucket_can_be_set_by_its_name_and_by_its_rate() {
        let limit = Limit::new(3.0, 2.0).expect("a possible limit");
        let limits = Limits::default().with("pubsub.Pull", limit).expect("a known bucket");
        assert_eq!((limits.quota(Bucket::Pull).limit, limits.quota(Bucket::Pull).source), (limit, Source::Set));
        assert!(limits.clone().with("pubsub.pull", limit).is_err());

        let second = Duration::from_secs(2);
        let limits = limits.per_second(Bucket::Publish, 20.0, Some(second)).expect("a possible limit");
        let limit = limits.quota(Bucket::Publish).limit;
        assert_eq!((limit.capacity(), limit.refill_per_s(), limit.period()), (40.0, 20.0, Some(second)));
        assert!(limits.per_second(Bucket::Publish, 0.5, None).is_err());
    }
}
