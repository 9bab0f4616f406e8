//! What a listing lists, and where.

use std::fmt;

use serde::Serialize;

use super::aws;
use super::cloud::Cloud;
use super::service::Service;

/// What a listing lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum Kind {
    /// Something of AWS.
    Aws(aws::Kind),
}

impl Kind {
    /// The cloud that has it.
    pub fn cloud(self) -> Cloud {
        match self {
            Kind::Aws(_) => Cloud::Aws,
        }
    }

    /// The service it belongs to; none for the account itself, which is asked for in any case.
    pub fn service(self) -> Option<Service> {
        match self {
            Kind::Aws(kind) => kind.service(),
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::Aws(kind) => kind.fmt(f),
        }
    }
}

/// One region of one account.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Place {
    /// The account's id, or the profile that stands for it.
    pub account: String,
    /// The region.
    pub region: String,
}
