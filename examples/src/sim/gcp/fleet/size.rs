//! How large a fleet is.

use std::ops::RangeInclusive;

use super::ZONES;

/// The most zones in use in one project.
const MAX_ZONES: usize = ZONES.len();
/// The most projects of one fleet.
const MAX_PROJECTS: usize = 10_000;
/// The most resources of one kind in one place.
const MAX_RESOURCES: u32 = 1_000_000;
/// The largest object, in bytes.
const MAX_OBJECT: u32 = 16 * 1024 * 1024;
/// The most that a fleet may keep: what is only counted left out, some two gigabytes of names.
const MAX_FLEET: u64 = 20_000_000;

/// How large a fleet is. Each range is drawn from anew for every place that has the resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FleetSize {
    /// Projects, 1 to 10,000.
    pub projects: usize,
    /// Zones in use per project, 1 to 12.
    pub zones: usize,
    /// Instances per zone.
    pub instances: RangeInclusive<u32>,
    /// Disks per project.
    pub disks: RangeInclusive<u32>,
    /// Service accounts per project.
    pub service_accounts: RangeInclusive<u32>,
    /// Storage buckets per project.
    pub buckets: RangeInclusive<u32>,
    /// Objects per storage bucket.
    pub objects: RangeInclusive<u32>,
    /// An object's bytes, up to 16 MiB.
    pub object_bytes: RangeInclusive<u32>,
    /// How many of a bucket's objects, the last but `broken_objects`, nobody may read.
    pub forbidden_objects: u32,
    /// How many of a bucket's objects, the last, are never to be had: each read fails with 503.
    pub broken_objects: u32,
}

impl Default for FleetSize {
    /// Three projects, each with some hundreds of resources.
    fn default() -> Self {
        FleetSize {
            projects: 3,
            zones: 4,
            instances: 0..=40,
            disks: 20..=200,
            service_accounts: 1..=30,
            buckets: 1..=8,
            objects: 0..=50,
            object_bytes: 0..=4096,
            forbidden_objects: 0,
            broken_objects: 0,
        }
    }
}

/// A size that no fleet can have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FleetError {
    /// None, or more than 10,000.
    #[error("projects: {0} is not from 1 to {MAX_PROJECTS}")]
    Projects(usize),
    /// None, or more than 12.
    #[error("zones: {0} is not from 1 to {MAX_ZONES}")]
    Zones(usize),
    /// A range that is empty or goes beyond its bound.
    #[error("{0}: {1:?} is empty or goes beyond {2}")]
    Resources(&'static str, RangeInclusive<u32>, u32),
    /// Each part is possible, and all together are too many to keep.
    #[error("projects and sizes may come to {0} resources, more than {MAX_FLEET}")]
    Whole(u64),
}

impl FleetSize {
    pub(super) fn validate(&self) -> Result<(), FleetError> {
        if !(1..=MAX_PROJECTS).contains(&self.projects) {
            return Err(FleetError::Projects(self.projects));
        }
        if !(1..=MAX_ZONES).contains(&self.zones) {
            return Err(FleetError::Zones(self.zones));
        }
        let ranges = [
            ("instances", &self.instances, MAX_RESOURCES),
            ("disks", &self.disks, MAX_RESOURCES),
            ("service_accounts", &self.service_accounts, MAX_RESOURCES),
            ("buckets", &self.buckets, MAX_RESOURCES),
            ("objects", &self.objects, MAX_RESOURCES),
            ("object_bytes", &self.object_bytes, MAX_OBJECT),
        ];
        for (name, range, most) in ranges {
            if range.is_empty() || *range.end() > most {
                return Err(FleetError::Resources(name, range.clone(), most));
            }
        }
        let each = self.zones as u64 * u64::from(*self.instances.end()) + u64::from(*self.buckets.end());
        let most = self.projects as u64 * each;
        if most > MAX_FLEET { Err(FleetError::Whole(most)) } else { Ok(()) }
    }
}
