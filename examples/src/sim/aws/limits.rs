//! The throttles, each with where its figure comes from.

use std::collections::BTreeMap;
use std::fmt;

use super::Operation;
use crate::sim::{Limit, Quota, Source, UnknownBucket};

/// All the throttles. `Display` is a table with the sources.
///
/// Where AWS publishes a rate and no burst, a bucket holds one second's worth, except where callers report another
/// burst.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Limits {
    /// The buckets that are not of the size in the source.
    set: BTreeMap<&'static str, Limit>,
}

/// EC2 gives each action a bucket, whose size is that of the action's category.
const EC2: Source = Source::Published("docs.aws.amazon.com/ec2/latest/devguide/ec2-api-throttling.html");

/// The bucket an operation draws on, with the size that its source gives.
fn quota(operation: Operation) -> Quota {
    let describe = |bucket| Quota { bucket, limit: const { Limit::fixed(100.0, 20.0) }, source: EC2 };
    match operation {
        Operation::GetCallerIdentity => Quota {
            bucket: "sts.GetCallerIdentity",
            limit: const { Limit::fixed(600.0, 600.0) },
            source: Source::Reported("600/s per account and region; the STS documentation gives no figure"),
        },
        Operation::DescribeLogGroups => Quota {
            bucket: "logs.DescribeLogGroups",
            limit: const { Limit::fixed(5.0, 5.0) },
            source: Source::Published("Service Quotas L-4284EEDE"),
        },
        Operation::DescribeLogStreams => Quota {
            bucket: "logs.DescribeLogStreams",
            limit: const { Limit::fixed(25.0, 25.0) },
            source: Source::Published("Service Quotas L-3F243AD0"),
        },
        Operation::DescribeParameters => Quota {
            bucket: "ssm.DescribeParameters",
            limit: const { Limit::fixed(20.0, 5.0) },
            source: Source::Reported(
                "bursts of about 20 (segmentio/chamber#34, trek10inc/serverless-secrets#40); 5/s chosen",
            ),
        },
        Operation::GetParameter => Quota {
            bucket: "ssm.parameter-reads",
            limit: const { Limit::fixed(40.0, 40.0) },
            source: Source::Published(
                "Systems Manager quotas: GetParameter, GetParameters, GetParametersByPath together",
            ),
        },
        Operation::ListSecrets => Quota {
            bucket: "secretsmanager.ListSecrets",
            limit: const { Limit::fixed(100.0, 100.0) },
            source: Source::Published("AWS announcement of 2022-11-11"),
        },
        Operation::DescribeSecret => Quota {
            bucket: "secretsmanager.DescribeSecret",
            limit: const { Limit::fixed(40_000.0, 40_000.0) },
            source: Source::Published("AWS announcement of 2025-03-04"),
        },
        Operation::DescribeVpcs => describe("ec2.DescribeVpcs"),
        Operation::DescribeSubnets => describe("ec2.DescribeSubnets"),
        Operation::DescribeSecurityGroups => describe("ec2.DescribeSecurityGroups"),
        Operation::DescribeInstances => describe("ec2.DescribeInstances"),
        Operation::DescribeVolumes => describe("ec2.DescribeVolumes"),
    }
}

/// The bucket of an operation's unfiltered and unpaginated requests, where they have one of their own.
fn unfiltered_quota(operation: Operation) -> Option<Quota> {
    let bucket = match operation {
        Operation::DescribeSecurityGroups => "ec2.DescribeSecurityGroups-unfiltered",
        Operation::DescribeInstances => "ec2.DescribeInstances-unfiltered",
        Operation::DescribeVolumes => "ec2.DescribeVolumes-unfiltered",
        _ => return None,
    };
    Some(Quota { bucket, limit: const { Limit::fixed(50.0, 10.0) }, source: EC2 })
}

impl Limits {
    /// With this bucket at another size.
    ///
    /// # Errors
    /// [`UnknownBucket`] if there is none of this name.
    pub fn with(mut self, bucket: &str, limit: Limit) -> Result<Self, UnknownBucket> {
        let known = self.quotas().into_iter().find(|quota| quota.bucket == bucket);
        let known = known.ok_or_else(|| UnknownBucket::new(bucket))?;
        self.set.insert(known.bucket, limit);
        Ok(self)
    }

    /// All buckets.
    pub fn quotas(&self) -> Vec<Quota> {
        let of = |operation| std::iter::once(quota(operation)).chain(unfiltered_quota(operation));
        Operation::ALL.into_iter().flat_map(of).map(|quota| self.sized(quota)).collect()
    }

    /// The bucket an operation draws on.
    pub fn of(&self, operation: Operation) -> Quota {
        self.sized(quota(operation))
    }

    /// The bucket that a request draws on which names no filter, no id and no page size.
    pub fn of_unfiltered(&self, operation: Operation) -> Quota {
        self.sized(unfiltered_quota(operation).unwrap_or_else(|| quota(operation)))
    }

    fn sized(&self, quota: Quota) -> Quota {
        match self.set.get(quota.bucket) {
            Some(limit) => Quota { limit: *limit, source: Source::Set, ..quota },
            None => quota,
        }
    }
}

impl fmt::Display for Limits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<38} {:>8} {:>9}  source", "bucket", "capacity", "refill/s")?;
        for Quota { bucket, limit, source } in self.quotas() {
            writeln!(f, "{bucket:<38} {:>8} {:>9}  {source}", limit.capacity(), limit.refill_per_s())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_operation_draws_on_a_bucket_of_its_service() {
        let limits = Limits::default();
        for operation in Operation::ALL {
            for bucket in [limits.of(operation).bucket, limits.of_unfiltered(operation).bucket] {
                assert!(bucket.starts_with(&format!("{}.", operation.service())), "{operation:?} draws on {bucket}");
            }
        }
    }

    #[test]
    fn no_two_operations_have_a_bucket_of_the_same_name() {
        let quotas = Limits::default().quotas();
        let names: BTreeSet<_> = quotas.iter().map(|quota| quota.bucket).collect();
        assert_eq!(names.len(), quotas.len());
    }

    #[test]
    fn some_requests_of_ec2_that_ask_for_everything_at_once_have_a_smaller_bucket() {
        let limits = Limits::default();
        let apart: Vec<_> = Operation::ALL
            .into_iter()
            .filter(|operation| limits.of_unfiltered(*operation) != limits.of(*operation))
            .collect();
        assert_eq!(
            apart,
            [Operation::DescribeSecurityGroups, Operation::DescribeInstances, Operation::DescribeVolumes]
        );
        for operation in apart {
            let (usual, unfiltered) = (limits.of(operation).limit, limits.of_unfiltered(operation).limit);
            assert_eq!((usual.capacity(), usual.refill_per_s()), (100.0, 20.0));
            assert_eq!((unfiltered.capacity(), unfiltered.refill_per_s()), (50.0, 10.0));
        }
    }

    #[test]
    fn a_bucket_set_by_the_program_says_so() {
        let limit = Limit::new(2.0, 1.0).expect("a possible limit");
        let limits = Limits::default().with("logs.DescribeLogGroups", limit).expect("a known bucket");
        assert_eq!(limits.of(Operation::DescribeLogGroups).limit, limit);
        assert!(
            limits
                .to_string()
                .contains("logs.DescribeLogGroups                        2         1  set by this program")
        );
        assert_eq!(limits.with("logs.Nothing", limit), Err(UnknownBucket::new("logs.Nothing")));
    }
}
