//! What is listed of Google Cloud.

use std::fmt;

use serde::Serialize;

use crate::inventory::service::Service;

/// What a listing of Google Cloud lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Kind {
    /// Assets, as ListAssets has them.
    Assets,
    /// The same once more, as SearchAllResources finds them.
    SearchResults,
    /// Instances, zone by zone.
    Instances,
}

impl Kind {
    /// All kinds.
    pub const ALL: &[Kind] = &[Kind::Assets, Kind::SearchResults, Kind::Instances];

    /// The service it belongs to.
    pub fn service(self) -> Service {
        match self {
            Kind::Assets | Kind::SearchResults => Service::CloudAsset,
            Kind::Instances => Service::ComputeEngine,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Assets => "assets",
            Kind::SearchResults => "search results",
            Kind::Instances => "instances",
        })
    }
}
