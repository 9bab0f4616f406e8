//! How large a fleet is.

use std::ops::RangeInclusive;

use super::{Ec2Size, REGIONS};

/// The most accounts of one fleet.
const MAX_ACCOUNTS: usize = 10_000;
/// The most resources of one kind in one place.
const MAX_RESOURCES: u32 = 1_000_000;
/// The most that a fleet may come to: some two gigabytes of names and ids.
const MAX_FLEET: u64 = 20_000_000;

/// How large a fleet is. Each range is drawn from anew for every account and region.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FleetSize {
    /// Accounts, 1 to 10,000.
    pub accounts: usize,
    /// Regions of each account, 1 to 12.
    pub regions: usize,
    /// Log groups per region.
    pub log_groups: RangeInclusive<u32>,
    /// Log streams per log group.
    pub log_streams: RangeInclusive<u32>,
    /// Parameters per region.
    pub parameters: RangeInclusive<u32>,
    /// Secrets per region.
    pub secrets: RangeInclusive<u32>,
    /// What is in EC2.
    pub ec2: Ec2Size,
}

impl Default for FleetSize {
    /// Three accounts of two regions, each with some dozens of resources.
    fn default() -> Self {
        FleetSize {
            accounts: 3,
            regions: 2,
            log_groups: 20..=80,
            log_streams: 0..=60,
            parameters: 20..=120,
            secrets: 10..=60,
            ec2: Ec2Size::default(),
        }
    }
}

/// A size that no fleet can have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FleetError {
    /// None, or more than 10,000.
    #[error("accounts: {0} is not from 1 to {MAX_ACCOUNTS}")]
    Accounts(usize),
    /// None, or more than there are names for.
    #[error("regions: {0} is not from 1 to {max}", max = REGIONS.len())]
    Regions(usize),
    /// A range that is empty or goes beyond a million.
    #[error("{0}: {1:?} is empty or goes beyond {MAX_RESOURCES}")]
    Resources(&'static str, RangeInclusive<u32>),
    /// Each part is possible, and all together are too many to keep.
    #[error("accounts, regions and sizes may come to {0} resources, more than {MAX_FLEET}")]
    Whole(u64),
}

impl FleetSize {
    pub(super) fn validate(&self) -> Result<(), FleetError> {
        if !(1..=MAX_ACCOUNTS).contains(&self.accounts) {
            return Err(FleetError::Accounts(self.accounts));
        }
        if !(1..=REGIONS.len()).contains(&self.regions) {
            return Err(FleetError::Regions(self.regions));
        }
        let ranges = [
            ("log_groups", &self.log_groups),
            ("log_streams", &self.log_streams),
            ("parameters", &self.parameters),
            ("secrets", &self.secrets),
        ];
        for (name, range) in ranges.into_iter().chain(self.ec2.ranges()) {
            if range.is_empty() || *range.end() > MAX_RESOURCES {
                return Err(FleetError::Resources(name, range.clone()));
            }
        }
        let most = self.most();
        if most > MAX_FLEET { Err(FleetError::Whole(most)) } else { Ok(()) }
    }

    /// How many resources the fleet may have at most, log streams apart, which are only counted.
    pub(super) fn most(&self) -> u64 {
        let (accounts, regions) = (self.accounts as u64, self.regions as u64);
        let region: u64 =
            [&self.log_groups, &self.parameters, &self.secrets].into_iter().map(|range| u64::from(*range.end())).sum();
        let (busiest, other) = (self.ec2.most(true), self.ec2.most(false));
        accounts * (regions * region + busiest + regions.saturating_sub(1) * other)
    }
}
