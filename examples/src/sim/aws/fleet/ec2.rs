//! What a place holds in EC2.

use std::ops::RangeInclusive;

/// How much EC2 holds. The ranges are drawn from anew for every account and region.
///
/// Real accounts have most of what they have in one region. So one of each account's has the top of the first three
/// ranges, and the others are drawn from their lowest sixteenths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ec2Size {
    /// VPCs per region.
    pub vpcs: RangeInclusive<u32>,
    /// Instances per region. A region without a subnet has none.
    pub instances: RangeInclusive<u32>,
    /// Volumes per region. The first ones are the instances' own.
    pub volumes: RangeInclusive<u32>,
    /// Subnets per VPC.
    pub subnets: RangeInclusive<u32>,
    /// Security groups per VPC.
    pub security_groups: RangeInclusive<u32>,
}

impl Default for Ec2Size {
    /// A handful of everything.
    fn default() -> Self {
        Ec2Size { vpcs: 1..=5, instances: 0..=120, volumes: 0..=180, subnets: 0..=6, security_groups: 1..=6 }
    }
}

impl Ec2Size {
    /// The ranges, by name.
    pub(super) fn ranges(&self) -> [(&'static str, &RangeInclusive<u32>); 5] {
        [
            ("vpcs", &self.vpcs),
            ("instances", &self.instances),
            ("volumes", &self.volumes),
            ("subnets", &self.subnets),
            ("security_groups", &self.security_groups),
        ]
    }

    /// The most that a region holds: the busiest of its account, or another.
    pub(super) fn most(&self, busiest: bool) -> u64 {
        let count = |range: &RangeInclusive<u32>| u64::from(if busiest { *range.end() } else { few(range) });
        let in_vpc = u64::from(*self.subnets.end()) + u64::from(*self.security_groups.end());
        count(&self.vpcs) * (1 + in_vpc) + count(&self.instances) + count(&self.volumes)
    }
}

/// A VPC.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Vpc {
    /// Its id.
    pub id: String,
    /// The ids of its subnets.
    pub subnets: Vec<String>,
    /// The ids of its security groups.
    pub security_groups: Vec<String>,
}

/// An instance.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Instance {
    /// Its id.
    pub id: String,
    /// The reservation it was launched in: one with its neighbours of the same number.
    pub reservation: u32,
    /// The id of its VPC.
    pub vpc: String,
    /// The id of its subnet.
    pub subnet: String,
}

/// What one account holds of EC2 in one region. Volume n is attached to instance n, where there is one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ec2Estate {
    /// VPCs.
    pub vpcs: Vec<Vpc>,
    /// Instances; those of one reservation stand together.
    pub instances: Vec<Instance>,
    /// Volumes' ids.
    pub volumes: Vec<String>,
}

impl Ec2Estate {
    /// The estate of one place. `busiest` is the one of its account that has the most.
    pub(super) fn seeded(rng: &mut fastrand::Rng, size: &Ec2Size, busiest: bool) -> Self {
        let mut count =
            |range: &RangeInclusive<u32>| if busiest { *range.end() } else { rng.u32(*range.start()..=few(range)) };
        let (vpcs, instances, volumes) = (count(&size.vpcs), count(&size.instances), count(&size.volumes));
        let vpcs: Vec<_> = (0..vpcs).map(|_| Vpc::seeded(rng, size)).collect();
        let instances = launched(rng, &vpcs, instances);
        let volumes = (0..volumes).map(|_| id(rng, "vol")).collect();
        Ec2Estate { vpcs, instances, volumes }
    }
}

impl Vpc {
    fn seeded(rng: &mut fastrand::Rng, size: &Ec2Size) -> Self {
        let mut ids = |range: &RangeInclusive<u32>, prefix: &str| -> Vec<_> {
            (0..rng.u32(range.clone())).map(|_| id(rng, prefix)).collect()
        };
        let (subnets, security_groups) = (ids(&size.subnets, "subnet"), ids(&size.security_groups, "sg"));
        Vpc { id: id(rng, "vpc"), subnets, security_groups }
    }
}

/// Launches one to four instances at a time, each time into another subnet.
fn launched(rng: &mut fastrand::Rng, vpcs: &[Vpc], count: u32) -> Vec<Instance> {
    let subnets: Vec<_> = vpcs.iter().flat_map(|vpc| vpc.subnets.iter().map(move |subnet| (vpc, subnet))).collect();
    let mut instances = Vec::new();
    let mut reservation = 0;
    while (instances.len() as u32) < count {
        let Some((vpc, subnet)) = rng.choice(&subnets) else { break };
        let left = count - instances.len() as u32;
        for _ in 0..rng.u32(1..=4).min(left) {
            let (vpc, subnet) = (vpc.id.clone(), (*subnet).clone());
            instances.push(Instance { id: id(rng, "i"), reservation, vpc, subnet });
        }
        reservation += 1;
    }
    instances
}

/// The top of the lowest sixteenth of the range.
fn few(range: &RangeInclusive<u32>) -> u32 {
    range.start() + (range.end() - range.start()) / 16
}

/// As EC2's own: a prefix and 17 hexadecimal digits.
fn id(rng: &mut fastrand::Rng, prefix: &str) -> String {
    format!("{prefix}-{:017x}", rng.u128(..) >> 60)
}
