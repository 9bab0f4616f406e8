//! What is listed of Azure.

use std::fmt;

use serde::Serialize;

use crate::inventory::service::Service;

/// What a listing of Azure lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Kind {
    /// Resource groups.
    ResourceGroups,
    /// Virtual networks, and the subnets of each.
    VirtualNetworks,
    /// Virtual machines, and what each is doing.
    VirtualMachines,
}

impl Kind {
    /// All kinds.
    pub const ALL: &[Kind] = &[Kind::ResourceGroups, Kind::VirtualNetworks, Kind::VirtualMachines];

    /// The service it belongs to.
    pub fn service(self) -> Service {
        match self {
            Kind::ResourceGroups => Service::Resources,
            Kind::VirtualNetworks => Service::Network,
            Kind::VirtualMachines => Service::Compute,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::ResourceGroups => "resource groups",
            Kind::VirtualNetworks => "virtual networks",
            Kind::VirtualMachines => "virtual machines",
        })
    }
}
