//! A bucket of a simulated cloud, and where its size comes from.

use std::fmt;

use serde::Serialize;

use super::Limit;

/// Where a figure comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub enum Source {
    /// The vendor publishes it.
    Published(&'static str),
    /// The vendor publishes none, but callers report it. What they do not report is chosen.
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

impl UnknownBucket {
    pub(crate) fn new(bucket: &str) -> Self {
        UnknownBucket(bucket.to_owned())
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Published(place) => write!(f, "published: {place}"),
            Source::Reported(place) => write!(f, "not published; reported: {place}"),
            Source::Set => f.write_str("set by this program"),
        }
    }
}
