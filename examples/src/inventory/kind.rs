//! What a listing lists, and where.

use std::fmt;

use serde::Serialize;

use super::aws;
use super::azure;
use super::cloud::Cloud;
use super::gcp;
use super::service::Service;

/// What a listing lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum Kind {
    /// Something of AWS.
    Aws(aws::Kind),
    /// Something of Azure.
    Azure(azure::Kind),
    /// Something of Google Cloud.
    Gcp(gcp::Kind),
}

impl Kind {
    /// The cloud that has it.
    pub fn cloud(self) -> Cloud {
        match self {
            Kind::Aws(_) => Cloud::Aws,
            Kind::Azure(_) => Cloud::Azure,
            Kind::Gcp(_) => Cloud::Gcp,
        }
    }

    /// The service it belongs to; none for the account itself, which is asked for in any case.
    pub fn service(self) -> Option<Service> {
        match self {
            Kind::Aws(kind) => kind.service(),
            Kind::Azure(kind) => Some(kind.service()),
            Kind::Gcp(kind) => Some(kind.service()),
        }
    }

    /// Whether an account counts as listed only once every listing of this kind in it is complete. Of AWS, those that
    /// ask who is calling; Azure and Google Cloud have none such, and there it takes all.
    pub(super) fn vouches(self) -> bool {
        match self {
            Kind::Aws(kind) => kind == aws::Kind::Identity,
            Kind::Azure(_) | Kind::Gcp(_) => true,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::Aws(kind) => kind.fmt(f),
            Kind::Azure(kind) => kind.fmt(f),
            Kind::Gcp(kind) => kind.fmt(f),
        }
    }
}

/// One region of one account, a whole subscription, or a whole project.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Place {
    /// The account's id, or the profile that stands for it; the subscription's id; `projects/` and the project's id.
    pub account: String,
    /// The region; empty where the cloud has none.
    pub region: String,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.account)?;
        if self.region.is_empty() { Ok(()) } else { write!(f, " {}", self.region) }
    }
}
