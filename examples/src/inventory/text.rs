//! Text forms of the command line: the fleet's size, a bucket's size.

use std::ops::RangeInclusive;
use std::str::FromStr;

use super::cloud::Cloud;
use crate::sim::aws::{Ec2Size, FleetSize, Limits};
use crate::sim::{InvalidLimit, Limit, Quota, UnknownBucket, azure, gcp};

/// A text that means nothing here.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TextError {
    /// Neither a size's name nor a resource with a count.
    #[error(
        "`{0}` is no size: write small, default or large, or log_groups=, log_streams=, parameters=, secrets=, vpcs=, subnets=, security_groups=, instances=, volumes=, resource_groups=, virtual_networks=, network_subnets=, virtual_machines=, zone_instances=, disks=, service_accounts= or storage_buckets= with a count such as 40 or 10..80"
    )]
    Size(String),
    /// Not a count.
    #[error("`{0}` is no count: write it such as 40 or 10..80")]
    Count(String),
    /// Not `BUCKET=CAPACITY/REFILL`.
    #[error(
        "`{0}` is no limit: write it such as logs.DescribeLogGroups=10/5, which is the burst and the calls per second, or =5 for both"
    )]
    Limit(String),
    /// There is no such bucket.
    #[error("no bucket is called `{0}`; there are {all}", all = buckets())]
    Bucket(String),
    /// A limit that no bucket can have.
    #[error(transparent)]
    Invalid(#[from] InvalidLimit),
}

/// How much the simulated accounts hold: `small`, `default`, `large`, or parts of the default that are set, such as
/// `log_groups=10..80,secrets=5`. Subnets and security groups are counted for each VPC, a network's subnets for each
/// virtual network, and zone instances for each zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Size {
    log_groups: RangeInclusive<u32>,
    log_streams: RangeInclusive<u32>,
    parameters: RangeInclusive<u32>,
    secrets: RangeInclusive<u32>,
    ec2: Ec2Size,
    azure: azure::FleetSize,
    gcp: gcp::FleetSize,
}

impl Default for Size {
    /// The largest regions and subscriptions keep their slowest bucket busy for some 20 to 25 seconds; the others are done
    /// before. The largest projects of Google Cloud have somewhat more pages of assets than a minute's quota grants, so that
    /// they go on in the next.
    fn default() -> Self {
        let ec2 =
            Ec2Size { vpcs: 2..=480, instances: 10..=800, volumes: 10..=1200, subnets: 0..=6, security_groups: 1..=6 };
        let azure = azure::FleetSize {
            resource_groups: 2..=60,
            virtual_networks: 10..=200,
            virtual_machines: 20..=700,
            ..azure::FleetSize::default()
        };
        let gcp = gcp::FleetSize {
            instances: 10..=200,
            disks: 3_000..=11_000,
            service_accounts: 5..=100,
            ..gcp::FleetSize::default()
        };
        Size { log_groups: 10..=620, log_streams: 0..=40, parameters: 10..=90, secrets: 5..=30, ec2, azure, gcp }
    }
}

impl Size {
    /// The size of a fleet of so many accounts and regions.
    pub fn fleet(&self, accounts: usize, regions: usize) -> FleetSize {
        FleetSize {
            accounts,
            regions,
            log_groups: self.log_groups.clone(),
            log_streams: self.log_streams.clone(),
            parameters: self.parameters.clone(),
            secrets: self.secrets.clone(),
            ec2: self.ec2.clone(),
        }
    }

    /// The size of a tenant of Azure with so many subscriptions.
    pub fn tenant(&self, subscriptions: usize) -> azure::FleetSize {
        azure::FleetSize { subscriptions, ..self.azure.clone() }
    }

    /// The size of an organization of Google Cloud with so many projects.
    pub fn organization(&self, projects: usize) -> gcp::FleetSize {
        gcp::FleetSize { projects, ..self.gcp.clone() }
    }

    fn small() -> Self {
        let ec2 = Ec2Size { vpcs: 1..=20, instances: 5..=150, volumes: 5..=200, ..Ec2Size::default() };
        Size {
            log_groups: 5..=60,
            log_streams: 0..=60,
            parameters: 5..=90,
            secrets: 5..=40,
            ec2,
            azure: azure::FleetSize::default(),
            gcp: gcp::FleetSize::default(),
        }
    }

    fn large() -> Self {
        let ec2 = Ec2Size { vpcs: 20..=2000, instances: 500..=20_000, volumes: 500..=30_000, ..Ec2Size::default() };
        let azure = azure::FleetSize {
            resource_groups: 50..=900,
            virtual_networks: 100..=1000,
            virtual_machines: 500..=5000,
            ..azure::FleetSize::default()
        };
        let gcp = gcp::FleetSize {
            instances: 200..=2000,
            disks: 10_000..=50_000,
            service_accounts: 50..=500,
            ..gcp::FleetSize::default()
        };
        Size {
            log_groups: 500..=2500,
            log_streams: 0..=60,
            parameters: 500..=4000,
            secrets: 100..=1000,
            ec2,
            azure,
            gcp,
        }
    }
}

impl FromStr for Size {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        match text {
            "small" => return Ok(Size::small()),
            "default" => return Ok(Size::default()),
            "large" => return Ok(Size::large()),
            _ => {}
        }
        let mut size = Size::default();
        for part in text.split(',') {
            let (name, value) = part.split_once('=').ok_or_else(|| TextError::Size(part.to_owned()))?;
            let range = match name {
                "log_groups" => &mut size.log_groups,
                "log_streams" => &mut size.log_streams,
                "parameters" => &mut size.parameters,
                "secrets" => &mut size.secrets,
                "vpcs" => &mut size.ec2.vpcs,
                "subnets" => &mut size.ec2.subnets,
                "security_groups" => &mut size.ec2.security_groups,
                "instances" => &mut size.ec2.instances,
                "volumes" => &mut size.ec2.volumes,
                "resource_groups" => &mut size.azure.resource_groups,
                "virtual_networks" => &mut size.azure.virtual_networks,
                "network_subnets" => &mut size.azure.subnets,
                "virtual_machines" => &mut size.azure.virtual_machines,
                "zone_instances" => &mut size.gcp.instances,
                "disks" => &mut size.gcp.disks,
                "service_accounts" => &mut size.gcp.service_accounts,
                "storage_buckets" => &mut size.gcp.buckets,
                _ => return Err(TextError::Size(part.to_owned())),
            };
            *range = count(value).ok_or_else(|| TextError::Count(value.to_owned()))?;
        }
        Ok(size)
    }
}

fn count(text: &str) -> Option<RangeInclusive<u32>> {
    let (from, to) = text.split_once("..").unwrap_or((text, text));
    let range = from.parse().ok()?..=to.strip_prefix('=').unwrap_or(to).parse().ok()?;
    (!range.is_empty()).then_some(range)
}

/// A bucket of the simulation at another size: `logs.DescribeLogGroups=10/5` holds ten calls and gains five a second.
///
/// Where the bucket refills once in a period, the second figure is what it gains then.
#[derive(Clone, Debug, PartialEq)]
pub struct BucketSize {
    cloud: Cloud,
    bucket: &'static str,
    limit: Limit,
}

impl BucketSize {
    /// The cloud whose bucket it is.
    pub fn cloud(&self) -> Cloud {
        self.cloud
    }

    /// The bucket's name.
    pub fn bucket(&self) -> &'static str {
        self.bucket
    }

    /// AWS's limits with this one in place of what they had; the same if it is not AWS's.
    pub fn apply(&self, limits: Limits) -> Limits {
        self.set(Cloud::Aws, limits, Limits::with)
    }

    /// Azure's limits with this one in place of what they had; the same if it is not Azure's.
    pub fn apply_to_azure(&self, limits: azure::Limits) -> azure::Limits {
        self.set(Cloud::Azure, limits, azure::Limits::with)
    }

    /// Google Cloud's limits with this one in place of what they had; the same if it is not Google Cloud's.
    pub fn apply_to_gcp(&self, limits: gcp::Limits) -> gcp::Limits {
        self.set(Cloud::Gcp, limits, gcp::Limits::with)
    }

    fn set<L: Clone>(&self, cloud: Cloud, limits: L, with: impl Fn(L, &str, Limit) -> Result<L, UnknownBucket>) -> L {
        if self.cloud != cloud {
            return limits;
        }
        with(limits.clone(), self.bucket, self.limit).unwrap_or(limits)
    }
}

impl FromStr for BucketSize {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        let invalid = || TextError::Limit(text.to_owned());
        let (bucket, size) = text.split_once('=').ok_or_else(invalid)?;
        let (capacity, refill) = size.split_once('/').unwrap_or((size, size));
        let (capacity, refill) = (capacity.parse().map_err(|_| invalid())?, refill.parse().map_err(|_| invalid())?);
        let known = quotas().into_iter().find(|(_, quota)| quota.bucket == bucket);
        let (cloud, quota) = known.ok_or_else(|| TextError::Bucket(bucket.to_owned()))?;
        Ok(BucketSize { cloud, bucket: quota.bucket, limit: quota.limit.resized(capacity, refill)? })
    }
}

/// Every bucket there is, and whose it is.
fn quotas() -> Vec<(Cloud, Quota)> {
    let aws = Limits::default().quotas().into_iter().map(|quota| (Cloud::Aws, quota));
    let azure = azure::Limits::default().quotas().into_iter().map(|quota| (Cloud::Azure, quota));
    let gcp = gcp::Limits::default().quotas().into_iter().map(|quota| (Cloud::Gcp, quota));
    aws.chain(azure).chain(gcp).collect()
}

fn buckets() -> String {
    quotas().iter().map(|(_, quota)| quota.bucket).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests;
