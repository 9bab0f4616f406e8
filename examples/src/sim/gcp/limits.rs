//! The quotas, each with where its figure comes from.

use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, SystemTime};

use super::operation::Operation;
use crate::sim::{InvalidLimit, Limit, Quota, Source, UnknownBucket};

const MINUTE: Duration = Duration::from_secs(60);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// When a server starts that is not told otherwise, since 1970: the first second of 2026.
const MIDNIGHT: Duration = Duration::from_secs(1_767_225_600);

const ASSET: Source = Source::Published("cloud.google.com/asset-inventory/docs/quota: per consumer project");
const ASSET_ORGANIZATION: Source = Source::Published("the same page: per organization of the resources");
const COMPUTE: Source = Source::Published(
    "cloud.google.com/compute/docs/api-rate-limits, an older page whose successor gives no figures: per project",
);

/// One kind of bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Bucket {
    /// ListAssets of one consumer project.
    ListAssets,
    /// The same, in a day.
    ListAssetsPerDay,
    /// ListAssets of what one organization has.
    OrganizationListAssets,
    /// The same, in a day.
    OrganizationListAssetsPerDay,
    /// SearchAllResources of one consumer project.
    SearchAllResources,
    /// SearchAllResources of what one organization has.
    OrganizationSearchAllResources,
    /// Compute's lists in one project.
    ComputeLists,
    /// Compute's reads of single resources in one project.
    ComputeReads,
    /// Reads of objects in one bucket.
    StorageReads,
}

impl Bucket {
    /// All of them.
    pub const ALL: [Bucket; 9] = [
        Bucket::ListAssets,
        Bucket::ListAssetsPerDay,
        Bucket::OrganizationListAssets,
        Bucket::OrganizationListAssetsPerDay,
        Bucket::SearchAllResources,
        Bucket::OrganizationSearchAllResources,
        Bucket::ComputeLists,
        Bucket::ComputeReads,
        Bucket::StorageReads,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Bucket::ListAssets => "cloudasset.ListAssets",
            Bucket::ListAssetsPerDay => "cloudasset.ListAssets-per-day",
            Bucket::OrganizationListAssets => "cloudasset.organization-ListAssets",
            Bucket::OrganizationListAssetsPerDay => "cloudasset.organization-ListAssets-per-day",
            Bucket::SearchAllResources => "cloudasset.SearchAllResources",
            Bucket::OrganizationSearchAllResources => "cloudasset.organization-SearchAllResources",
            Bucket::ComputeLists => "compute.lists",
            Bucket::ComputeReads => "compute.reads",
            Bucket::StorageReads => "storage.reads",
        }
    }

    /// Whose buckets they are.
    pub(super) fn owner(self) -> Owner {
        match self {
            Bucket::OrganizationListAssets
            | Bucket::OrganizationListAssetsPerDay
            | Bucket::OrganizationSearchAllResources => Owner::Organization,
            Bucket::StorageReads => Owner::StorageBucket,
            _ => Owner::Project,
        }
    }

    /// Whether it is a day's.
    pub(super) fn is_daily(self) -> bool {
        matches!(self, Bucket::ListAssetsPerDay | Bucket::OrganizationListAssetsPerDay)
    }

    /// The published size, and where it is published.
    fn published(self) -> (Limit, Source) {
        match self {
            Bucket::ListAssets => (const { window(100.0, MINUTE) }, ASSET),
            Bucket::ListAssetsPerDay => (
                const { window(144_000.0, DAY) },
                Source::Reported("none there is, unless a project's owner sets one; so as much as the minutes allow"),
            ),
            Bucket::OrganizationListAssets => (const { window(800.0, MINUTE) }, ASSET_ORGANIZATION),
            Bucket::OrganizationListAssetsPerDay => (const { window(650_000.0, DAY) }, ASSET_ORGANIZATION),
            Bucket::SearchAllResources => (const { window(400.0, MINUTE) }, ASSET),
            Bucket::OrganizationSearchAllResources => (const { window(1_500.0, MINUTE) }, ASSET_ORGANIZATION),
            Bucket::ComputeLists | Bucket::ComputeReads => (const { window(1_500.0, MINUTE) }, COMPUTE),
            Bucket::StorageReads => (
                const { Limit::fixed(5_000.0, 5_000.0) },
                Source::Published("cloud.google.com/storage/docs/request-rate: initial reads a second of one bucket"),
            ),
        }
    }
}

const fn window(tokens: f64, period: Duration) -> Limit {
    Limit::fixed_steps(tokens, tokens, period)
}

/// Whose a bucket is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// The project's that the call is charged to.
    Project,
    /// The organization's that has the resources.
    Organization,
    /// The storage bucket's that is read.
    StorageBucket,
}

/// The buckets an operation draws on. They are one gate: a call that one of them refuses takes from none.
fn buckets(operation: Operation) -> &'static [Bucket] {
    match operation {
        Operation::ListAssets => &[
            Bucket::ListAssets,
            Bucket::ListAssetsPerDay,
            Bucket::OrganizationListAssets,
            Bucket::OrganizationListAssetsPerDay,
        ],
        Operation::SearchAllResources => &[Bucket::SearchAllResources, Bucket::OrganizationSearchAllResources],
        Operation::ListInstances | Operation::AggregatedListInstances => &[Bucket::ComputeLists],
        Operation::GetInstance => &[Bucket::ComputeReads],
        Operation::GetObject => &[Bucket::StorageReads],
    }
}

/// All the quotas. `Display` is a table with the sources.
#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    /// The buckets that are not of the size in the source.
    set: BTreeMap<Bucket, Limit>,
    minute: Duration,
    start: SystemTime,
    organization: bool,
}

impl Default for Limits {
    /// As published, with minutes and days that begin with the server: at midnight.
    fn default() -> Self {
        Limits { set: BTreeMap::new(), minute: MINUTE, start: SystemTime::UNIX_EPOCH + MIDNIGHT, organization: true }
    }
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

    /// With windows of this length wherever a minute's would be, and no fewer tokens in each. Refusals go on telling
    /// how many tokens come in a minute: 100 in two seconds are 3,000.
    ///
    /// # Errors
    /// [`InvalidLimit`] if it is zero.
    pub fn with_minute(self, minute: Duration) -> Result<Self, InvalidLimit> {
        Limit::window(1.0, minute)?;
        Ok(Limits { minute, ..self })
    }

    /// With a server that starts at this time of its clock, whose whole minutes and days the windows are. Google's
    /// minutes are the same for all the world: a program that starts a quarter past one has 45 seconds until the next.
    ///
    /// `SystemTime::now()` makes them those of the machine; the `Date` of answers tells the clock in any case. A day
    /// is one of UTC here, and one of the Pacific coast at Google.
    pub fn starting_at(self, start: SystemTime) -> Self {
        Limits { start, ..self }
    }

    /// What the clock shows when the server starts.
    pub fn start(&self) -> SystemTime {
        self.start
    }

    /// Without the organization's buckets, so that each project is alone.
    pub fn without_organization(self) -> Self {
        Limits { organization: false, ..self }
    }

    /// All buckets.
    pub fn quotas(&self) -> Vec<Quota> {
        Bucket::ALL.into_iter().filter(|bucket| self.has(*bucket)).map(|bucket| self.quota(bucket)).collect()
    }

    /// One bucket.
    pub fn quota(&self, bucket: Bucket) -> Quota {
        let (limit, source) = match self.set.get(&bucket) {
            Some(limit) => (*limit, Source::Set),
            None => bucket.published(),
        };
        let limit = match limit.period() {
            // No other minute gets here than one that is possible.
            Some(MINUTE) => limit.every(self.minute).unwrap_or(limit),
            _ => limit,
        };
        let begun = self.start.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Quota { bucket: bucket.name(), limit: limit.begun(begun), source }
    }

    /// The buckets an operation draws on.
    pub(super) fn buckets(&self, operation: Operation) -> impl Iterator<Item = Bucket> {
        buckets(operation).iter().copied().filter(|bucket| self.has(*bucket))
    }

    fn has(&self, bucket: Bucket) -> bool {
        self.organization || bucket.owner() != Owner::Organization
    }
}

impl fmt::Display for Limits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<43} {:<24}  source", "bucket", "holds, and regains")?;
        for Quota { bucket, limit, source } in self.quotas() {
            writeln!(f, "{bucket:<43} {:<24}  {source}", limit.to_string())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
