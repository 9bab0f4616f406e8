//! The throttles, each with where its figure comes from.

use std::fmt;

use serde::Serialize;

use super::Operation;
use crate::sim::Limit;

/// Where a figure comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub enum Source {
    /// AWS publishes it.
    Published(&'static str),
    /// AWS publishes none, but callers report it. What they do not report is chosen.
    Reported(&'static str),
    /// Set by the program that started the simulation.
    Set,
}

/// One bucket of every account and region.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Quota {
    /// Its name: `service.Operation`, or `service.group` where operations share it.
    pub bucket: &'static str,
    /// Its size.
    pub limit: Limit,
    /// Where the size comes from.
    pub source: Source,
}

/// No bucket has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no bucket is called `{0}`")]
pub struct UnknownBucket(String);

/// All the throttles. `Display` is a table with the sources.
///
/// For these services AWS publishes a rate and no burst: a bucket holds one second's worth, except where callers
/// report another burst.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Limits {
    quotas: [Quota; 7],
}

const TABLE: [Quota; 7] = [
    Quota {
        bucket: "sts.GetCallerIdentity",
        limit: Limit::fixed(600.0, 600.0),
        source: Source::Reported("600/s per account and region; the STS documentation gives no figure"),
    },
    Quota {
        bucket: "logs.DescribeLogGroups",
        limit: Limit::fixed(5.0, 5.0),
        source: Source::Published("Service Quotas L-4284EEDE"),
    },
    Quota {
        bucket: "logs.DescribeLogStreams",
        limit: Limit::fixed(25.0, 25.0),
        source: Source::Published("Service Quotas L-3F243AD0"),
    },
    Quota {
        bucket: "ssm.DescribeParameters",
        limit: Limit::fixed(20.0, 5.0),
        source: Source::Reported(
            "bursts of about 20 (segmentio/chamber#34, trek10inc/serverless-secrets#40); 5/s chosen",
        ),
    },
    Quota {
        bucket: "ssm.parameter-reads",
        limit: Limit::fixed(40.0, 40.0),
        source: Source::Published("Systems Manager quotas: GetParameter, GetParameters, GetParametersByPath together"),
    },
    Quota {
        bucket: "secretsmanager.ListSecrets",
        limit: Limit::fixed(100.0, 100.0),
        source: Source::Published("AWS announcement of 2022-11-11"),
    },
    Quota {
        bucket: "secretsmanager.DescribeSecret",
        limit: Limit::fixed(40_000.0, 40_000.0),
        source: Source::Published("AWS announcement of 2025-03-04"),
    },
];

impl Default for Limits {
    fn default() -> Self {
        Limits { quotas: TABLE }
    }
}

impl Limits {
    /// With this bucket at another size.
    ///
    /// # Errors
    /// [`UnknownBucket`] if there is none of this name.
    pub fn with(mut self, bucket: &str, limit: Limit) -> Result<Self, UnknownBucket> {
        let quota = self.quotas.iter_mut().find(|quota| quota.bucket == bucket);
        let quota = quota.ok_or_else(|| UnknownBucket(bucket.to_owned()))?;
        quota.limit = limit;
        quota.source = Source::Set;
        Ok(self)
    }

    /// All buckets.
    pub fn quotas(&self) -> &[Quota] {
        &self.quotas
    }

    /// The bucket an operation draws on.
    pub fn of(&self, operation: Operation) -> &Quota {
        let [identity, groups, streams, parameters, reads, list, describe] = &self.quotas;
        match operation {
            Operation::GetCallerIdentity => identity,
            Operation::DescribeLogGroups => groups,
            Operation::DescribeLogStreams => streams,
            Operation::DescribeParameters => parameters,
            Operation::GetParameter => reads,
            Operation::ListSecrets => list,
            Operation::DescribeSecret => describe,
        }
    }
}

impl fmt::Display for Limits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<30} {:>8} {:>9}  source", "bucket", "capacity", "refill/s")?;
        for Quota { bucket, limit, source } in &self.quotas {
            let source = match source {
                Source::Published(place) => format!("published: {place}"),
                Source::Reported(place) => format!("not published; reported: {place}"),
                Source::Set => "set by this program".to_owned(),
            };
            writeln!(f, "{bucket:<30} {:>8} {:>9}  {source}", limit.capacity(), limit.refill_per_s())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_draws_on_a_bucket_of_its_service() {
        let limits = Limits::default();
        for operation in Operation::ALL {
            let bucket = limits.of(operation).bucket;
            assert!(bucket.starts_with(&format!("{}.", operation.service())), "{operation:?} draws on {bucket}");
        }
    }

    #[test]
    fn a_bucket_set_by_the_program_says_so() {
        let limit = Limit::new(2.0, 1.0).expect("a possible limit");
        let limits = Limits::default().with("logs.DescribeLogGroups", limit).expect("a known bucket");
        assert_eq!(limits.of(Operation::DescribeLogGroups).limit, limit);
        assert!(limits.to_string().contains("logs.DescribeLogGroups                2         1  set by this program"));
        assert_eq!(limits.with("logs.Nothing", limit), Err(UnknownBucket("logs.Nothing".into())));
    }
}
