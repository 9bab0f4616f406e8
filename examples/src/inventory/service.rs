//! Which services are listed.

use clap::ValueEnum;
use serde::Serialize;

/// A service to list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Service {
    /// CloudWatch Logs: log groups and their streams.
    Logs,
    /// Systems Manager: parameters.
    Ssm,
    /// Secrets Manager: secrets.
    #[value(name = "secretsmanager")]
    SecretsManager,
    /// EC2: VPCs with their subnets and security groups, instances, volumes.
    #[cfg(feature = "ec2")]
    Ec2,
}

impl Service {
    /// All that were compiled in.
    pub fn all() -> &'static [Service] {
        Service::value_variants()
    }

    /// The service's signing name, which is botocore's name for it too.
    pub fn name(self) -> &'static str {
        match self {
            Service::Logs => "logs",
            Service::Ssm => "ssm",
            Service::SecretsManager => "secretsmanager",
            #[cfg(feature = "ec2")]
            Service::Ec2 => "ec2",
        }
    }
}
