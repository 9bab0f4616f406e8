//! Storage buckets and their objects, which are made when they are read.

use std::hash::{DefaultHasher, Hash, Hasher};

use super::FleetSize;

const LOCATIONS: [&str; 4] = ["asia-southeast1", "europe-west1", "us-central1", "us-east1"];

/// Whether an object can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ObjectState {
    /// It can.
    Readable,
    /// Nobody may: each read is a 403.
    Forbidden,
    /// It is never to be had: each read is a 503.
    Broken,
}

/// A storage bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StorageBucket {
    /// Its name.
    pub name: String,
    /// Where it is.
    pub location: &'static str,
    /// How many objects it has.
    pub objects: u32,
    /// The bytes of the least object, and of the greatest.
    bytes: (u32, u32),
    /// The first object that nobody may read, and the first that is never to be had.
    bad: (u32, u32),
}

impl StorageBucket {
    pub(super) fn seeded(rng: &mut fastrand::Rng, name: String, size: &FleetSize) -> Self {
        let location = rng.choice(LOCATIONS).unwrap_or_default();
        let objects = rng.u32(size.objects.clone());
        let broken = objects.saturating_sub(size.broken_objects);
        let forbidden = broken.saturating_sub(size.forbidden_objects);
        let bytes = (*size.object_bytes.start(), *size.object_bytes.end());
        StorageBucket { name, location, objects, bytes, bad: (forbidden, broken) }
    }

    /// The name of its nth object, counted from 0.
    pub fn object(&self, index: u32) -> String {
        format!("exports/part {index:06}.csv")
    }

    /// Which object has this name.
    pub fn find(&self, object: &str) -> Option<u32> {
        let digits = object.strip_prefix("exports/part ")?.strip_suffix(".csv")?;
        let index = digits.parse().ok().filter(|index| *index < self.objects)?;
        (self.object(index) == object).then_some(index)
    }

    /// Whether its nth object can be read.
    pub fn state(&self, index: u32) -> ObjectState {
        let (forbidden, broken) = self.bad;
        match index {
            index if index >= broken => ObjectState::Broken,
            index if index >= forbidden => ObjectState::Forbidden,
            _ => ObjectState::Readable,
        }
    }

    /// The bytes of its nth object: letters, the same each time.
    pub fn content(&self, index: u32) -> Vec<u8> {
        let mut hasher = DefaultHasher::new();
        (&self.name, index).hash(&mut hasher);
        let mut rng = fastrand::Rng::with_seed(hasher.finish());
        let (least, most) = self.bytes;
        let length = rng.u32(least..=most);
        (0..length).map(|_| rng.u8(b'a'..=b'z')).collect()
    }

    /// The version of its nth object.
    pub(in crate::sim::gcp) fn generation(&self, index: u32) -> u64 {
        1_767_225_600_000_000 + u64::from(index)
    }
}
