//! How large a fleet is.

use std::ops::RangeInclusive;

/// The most subscriptions of one fleet.
const MAX_SUBSCRIPTIONS: usize = 10_000;
/// The most principals of one fleet.
const MAX_PRINCIPALS: usize = 100;
/// The most resources of one kind in one place.
const MAX_RESOURCES: u32 = 1_000_000;
/// The most that a fleet may come to, subnets apart, which are only counted: some two gigabytes of names.
const MAX_FLEET: u64 = 20_000_000;

/// How large a fleet is. Each range is drawn from anew for every subscription, and the subnets' for every network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FleetSize {
    /// Subscriptions, 1 to 10,000.
    pub subscriptions: usize,
    /// Service principals, 1 to 100.
    pub principals: usize,
    /// Resource groups per subscription. One that has none has nothing else either.
    pub resource_groups: RangeInclusive<u32>,
    /// Virtual networks per subscription.
    pub virtual_networks: RangeInclusive<u32>,
    /// Subnets per virtual network.
    pub subnets: RangeInclusive<u32>,
    /// Virtual machines per subscription.
    pub virtual_machines: RangeInclusive<u32>,
}

impl Default for FleetSize {
    /// Three subscriptions, each with some dozens of resources.
    fn default() -> Self {
        FleetSize {
            subscriptions: 3,
            principals: 1,
            resource_groups: 2..=20,
            virtual_networks: 1..=30,
            subnets: 0..=6,
            virtual_machines: 0..=120,
        }
    }
}

/// A size that no fleet can have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FleetError {
    /// None, or more than 10,000.
    #[error("subscriptions: {0} is not from 1 to {MAX_SUBSCRIPTIONS}")]
    Subscriptions(usize),
    /// None, or more than 100.
    #[error("principals: {0} is not from 1 to {MAX_PRINCIPALS}")]
    Principals(usize),
    /// A range that is empty or goes beyond a million.
    #[error("{0}: {1:?} is empty or goes beyond {MAX_RESOURCES}")]
    Resources(&'static str, RangeInclusive<u32>),
    /// Each part is possible, and all together are too many to keep.
    #[error("subscriptions and sizes may come to {0} resources, more than {MAX_FLEET}")]
    Whole(u64),
}

impl FleetSize {
    pub(super) fn validate(&self) -> Result<(), FleetError> {
        if !(1..=MAX_SUBSCRIPTIONS).contains(&self.subscriptions) {
            return Err(FleetError::Subscriptions(self.subscriptions));
        }
        if !(1..=MAX_PRINCIPALS).contains(&self.principals) {
            return Err(FleetError::Principals(self.principals));
        }
        let kept = [
            ("resource_groups", &self.resource_groups),
            ("virtual_networks", &self.virtual_networks),
            ("virtual_machines", &self.virtual_machines),
        ];
        for (name, range) in kept.into_iter().chain([("subnets", &self.subnets)]) {
            if range.is_empty() || *range.end() > MAX_RESOURCES {
                return Err(FleetError::Resources(name, range.clone()));
            }
        }
        let each: u64 = kept.iter().map(|(_, range)| u64::from(*range.end())).sum();
        let most = self.subscriptions as u64 * each;
        if most > MAX_FLEET { Err(FleetError::Whole(most)) } else { Ok(()) }
    }
}
