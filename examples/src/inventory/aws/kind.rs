//! What is listed of AWS.

use std::fmt;

use serde::Serialize;

use crate::inventory::service::Service;

/// What a listing of AWS lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Kind {
    /// Who is calling.
    Identity,
    /// Log groups and their streams.
    LogGroups,
    /// Parameters, each of which is read. Values are not decrypted and not kept.
    Parameters,
    /// Secrets, each of which is described. Values are not asked for.
    Secrets,
    /// VPCs, and the subnets and security groups of each.
    #[cfg(feature = "ec2")]
    Vpcs,
    /// Instances.
    #[cfg(feature = "ec2")]
    Instances,
    /// Volumes.
    #[cfg(feature = "ec2")]
    Volumes,
}

impl Kind {
    /// All kinds that were compiled in.
    pub const ALL: &[Kind] = &[
        Kind::Identity,
        Kind::LogGroups,
        Kind::Parameters,
        Kind::Secrets,
        #[cfg(feature = "ec2")]
        Kind::Vpcs,
        #[cfg(feature = "ec2")]
        Kind::Instances,
        #[cfg(feature = "ec2")]
        Kind::Volumes,
    ];

    /// The service it belongs to; none for who is calling, which is asked in any case.
    pub fn service(self) -> Option<Service> {
        match self {
            Kind::Identity => None,
            Kind::LogGroups => Some(Service::Logs),
            Kind::Parameters => Some(Service::Ssm),
            Kind::Secrets => Some(Service::SecretsManager),
            #[cfg(feature = "ec2")]
            Kind::Vpcs | Kind::Instances | Kind::Volumes => Some(Service::Ec2),
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Identity => "identity",
            Kind::LogGroups => "log groups",
            Kind::Parameters => "parameters",
            Kind::Secrets => "secrets",
            #[cfg(feature = "ec2")]
            Kind::Vpcs => "VPCs",
            #[cfg(feature = "ec2")]
            Kind::Instances => "instances",
            #[cfg(feature = "ec2")]
            Kind::Volumes => "volumes",
        })
    }
}
