//! Which services are listed.

use clap::ValueEnum;
use serde::Serialize;

use super::cloud::Cloud;

/// A service to list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Service {
    /// AWS CloudWatch Logs: log groups and their streams.
    Logs,
    /// AWS Systems Manager: parameters.
    Ssm,
    /// AWS Secrets Manager: secrets.
    #[value(name = "secretsmanager")]
    SecretsManager,
    /// AWS EC2: VPCs with their subnets and security groups, instances, volumes.
    #[cfg(feature = "ec2")]
    Ec2,
    /// Azure Resource Manager itself: resource groups.
    Resources,
    /// Azure Network: virtual networks and their subnets.
    Network,
    /// Azure Compute: virtual machines and what they are doing.
    Compute,
    /// Google's Cloud Asset Inventory: assets, listed and searched for.
    #[value(name = "cloudasset")]
    CloudAsset,
    /// Google Compute Engine: instances.
    #[serde(rename = "compute-engine")]
    ComputeEngine,
}

impl Service {
    /// All of a cloud that were compiled in.
    pub fn of(cloud: Cloud) -> impl Iterator<Item = Service> {
        Service::value_variants().iter().copied().filter(move |service| service.cloud() == cloud)
    }

    /// The cloud that has it.
    pub fn cloud(self) -> Cloud {
        match self {
            Service::Logs | Service::Ssm | Service::SecretsManager => Cloud::Aws,
            #[cfg(feature = "ec2")]
            Service::Ec2 => Cloud::Aws,
            Service::Resources | Service::Network | Service::Compute => Cloud::Azure,
            Service::CloudAsset | Service::ComputeEngine => Cloud::Gcp,
        }
    }

    /// Its name in the governor's scopes: with AWS the signing name, which is botocore's too; with Azure the namespace
    /// without `Microsoft.`; with Google the first label of its host.
    pub fn name(self) -> &'static str {
        match self {
            Service::Logs => "logs",
            Service::Ssm => "ssm",
            Service::SecretsManager => "secretsmanager",
            #[cfg(feature = "ec2")]
            Service::Ec2 => "ec2",
            Service::Resources => "resources",
            Service::Network => "network",
            Service::Compute | Service::ComputeEngine => "compute",
            Service::CloudAsset => "cloudasset",
        }
    }

    /// Its name on the command line, where each has one of its own.
    pub fn id(self) -> &'static str {
        match self {
            Service::ComputeEngine => "compute-engine",
            service => service.name(),
        }
    }
}
