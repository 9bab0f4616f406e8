//! The throttles, each with where its figure comes from.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use super::operation::{Class, Operation};
use crate::sim::{Limit, Quota, Source, UnknownBucket};

const MINUTE: Duration = Duration::from_secs(60);

const ARM: Source = Source::Published(
    "learn.microsoft.com/azure/azure-resource-manager/management/request-limits-and-throttling: per subscription (or \
     tenant), service principal and kind of operation",
);
const ARM_GLOBAL: Source =
    Source::Published("the same page: 15 times the one principal's, for all principals together");
const COMPUTE: Source = Source::Published("learn.microsoft.com/azure/virtual-machines/compute-throttling-limits");

/// One kind of bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Bucket {
    /// Requests of one client for tokens.
    Tokens,
    /// Reads of one principal that name no subscription.
    TenantReads,
    /// Reads of one principal in one subscription.
    Reads,
    /// Reads of all principals in one subscription.
    GlobalReads,
    /// Writes of one principal in one subscription.
    Writes,
    /// Writes of all principals in one subscription.
    GlobalWrites,
    /// Deletes of one principal in one subscription.
    Deletes,
    /// Deletes of all principals in one subscription.
    GlobalDeletes,
    /// Network's: reads of one principal in one subscription.
    NetworkReads,
    /// Compute's: lists of virtual machines in one subscription.
    HighCostGet,
    /// Compute's: reads of single virtual machines in one subscription.
    LowCostGet,
    /// Compute's: reads of one virtual machine.
    LowCostGetOfOne,
}

impl Bucket {
    /// All of them.
    pub const ALL: [Bucket; 12] = [
        Bucket::Tokens,
        Bucket::TenantReads,
        Bucket::Reads,
        Bucket::GlobalReads,
        Bucket::Writes,
        Bucket::GlobalWrites,
        Bucket::Deletes,
        Bucket::GlobalDeletes,
        Bucket::NetworkReads,
        Bucket::HighCostGet,
        Bucket::LowCostGet,
        Bucket::LowCostGetOfOne,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Bucket::Tokens => "identity.tokens",
            Bucket::TenantReads => "arm.tenant-reads",
            Bucket::Reads => "arm.reads",
            Bucket::GlobalReads => "arm.global-reads",
            Bucket::Writes => "arm.writes",
            Bucket::GlobalWrites => "arm.global-writes",
            Bucket::Deletes => "arm.deletes",
            Bucket::GlobalDeletes => "arm.global-deletes",
            Bucket::NetworkReads => "network.reads",
            Bucket::HighCostGet => "compute.list-vms",
            Bucket::LowCostGet => "compute.low-cost-get",
            Bucket::LowCostGetOfOne => "compute.low-cost-get-of-one-vm",
        }
    }

    /// Whose buckets they are, within an account.
    pub(super) fn owner(self) -> Owner {
        match self {
            Bucket::GlobalReads
            | Bucket::GlobalWrites
            | Bucket::GlobalDeletes
            | Bucket::HighCostGet
            | Bucket::LowCostGet => Owner::All,
            Bucket::LowCostGetOfOne => Owner::Resource,
            _ => Owner::Principal,
        }
    }

    /// The published size, and where it is published.
    fn published(self) -> (Limit, Source) {
        match self {
            Bucket::Tokens => (
                const { Limit::fixed_steps(60.0, 60.0, MINUTE) },
                Source::Reported("429 and Retry-After: 60 for client credentials (MSAL's wiki); 60 a minute chosen"),
            ),
            Bucket::TenantReads | Bucket::Reads => (const { Limit::fixed(250.0, 25.0) }, ARM),
            Bucket::Writes | Bucket::Deletes => (const { Limit::fixed(200.0, 10.0) }, ARM),
            Bucket::GlobalReads => (const { Limit::fixed(3_750.0, 375.0) }, ARM_GLOBAL),
            Bucket::GlobalWrites | Bucket::GlobalDeletes => (const { Limit::fixed(3_000.0, 150.0) }, ARM_GLOBAL),
            Bucket::NetworkReads => (
                const { Limit::fixed_steps(10_000.0, 10_000.0, Duration::from_secs(300)) },
                Source::Published("the page of Resource Manager's limits: Microsoft.Network, reads per five minutes"),
            ),
            Bucket::HighCostGet => (const { Limit::fixed_steps(900.0, 300.0, MINUTE) }, COMPUTE),
            Bucket::LowCostGet => (const { Limit::fixed_steps(24_000.0, 8_000.0, MINUTE) }, COMPUTE),
            Bucket::LowCostGetOfOne => (const { Limit::fixed_steps(36.0, 12.0, MINUTE) }, COMPUTE),
        }
    }
}

/// Whose a bucket is, within a subscription or tenant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// Everybody's.
    All,
    /// The caller's.
    Principal,
    /// The resource's that is asked for.
    Resource,
}

/// The buckets an operation draws on, gate by gate: Resource Manager's, then the provider's. A write comes to no
/// provider here, because no principal may write.
pub(super) fn gates(operation: Operation) -> &'static [&'static [Bucket]] {
    const READ: &[Bucket] = &[Bucket::Reads, Bucket::GlobalReads];
    match (operation, operation.class()) {
        (_, Class::Token) => &[&[Bucket::Tokens]],
        (_, Class::Write) => &[&[Bucket::Writes, Bucket::GlobalWrites]],
        (_, Class::Delete) => &[&[Bucket::Deletes, Bucket::GlobalDeletes]],
        (Operation::ListSubscriptions, _) => &[&[Bucket::TenantReads]],
        (Operation::ListVirtualNetworks | Operation::ListSubnets, _) => &[READ, &[Bucket::NetworkReads]],
        (Operation::ListVirtualMachines, _) => &[READ, &[Bucket::HighCostGet]],
        (Operation::InstanceView | Operation::GetVirtualMachine, _) => {
            &[READ, &[Bucket::LowCostGetOfOne, Bucket::LowCostGet]]
        }
        _ => &[READ],
    }
}

/// All the throttles. `Display` is a table with the sources.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Limits {
    /// The buckets that are not of the size in the source.
    set: BTreeMap<Bucket, Limit>,
}

impl Limits {
    /// With this bucket at another size. [`Limit::resized`] makes one that refills as the bucket did before.
    ///
    /// # Errors
    /// [`UnknownBucket`] if there is none of this name.
    pub fn with(mut self, bucket: &str, limit: Limit) -> Result<Self, UnknownBucket> {
        let known = Bucket::ALL.into_iter().find(|known| known.name() == bucket);
        self.set.insert(known.ok_or_else(|| UnknownBucket::new(bucket))?, limit);
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
        writeln!(f, "{:<31} {:<20}  source", "bucket", "holds, and regains")?;
        for Quota { bucket, limit, source } in self.quotas() {
            writeln!(f, "{bucket:<31} {:<20}  {source}", limit.to_string())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_bucket_is_drawn_on_and_has_a_name_of_its_own() {
        let drawn: BTreeSet<_> = Operation::ALL.into_iter().flat_map(gates).copied().flatten().copied().collect();
        assert_eq!(drawn, Bucket::ALL.into_iter().collect());
        let names: BTreeSet<_> = Bucket::ALL.into_iter().map(Bucket::name).collect();
        assert_eq!(names.len(), Bucket::ALL.len());
    }

    #[test]
    fn a_bucket_set_by_the_program_says_so() {
        let limits = Limits::default();
        let limit = limits.quota(Bucket::HighCostGet).limit.resized(20.0, 6.0).expect("a possible limit");
        let limits = limits.with("compute.list-vms", limit).expect("a known bucket");
        assert_eq!(limits.quota(Bucket::HighCostGet).limit, limit);
        let table = limits.to_string();
        assert!(table.contains("compute.list-vms                20 and 6/1m           set by this program"), "{table}");
        assert!(table.contains("arm.reads                       250 and 25/s          published: "), "{table}");
        assert_eq!(limits.with("arm.nothing", limit), Err(UnknownBucket::new("arm.nothing")));
    }
}
