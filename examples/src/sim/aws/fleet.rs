//! Seeded accounts and what they hold. The same size and seed give the same fleet.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::ops::RangeInclusive;

use serde::Serialize;

mod ec2;
mod size;

pub use ec2::{Ec2Estate, Ec2Size, Instance, Vpc};
pub use size::{FleetError, FleetSize};

/// The regions a fleet can spread over, in the order they are taken.
pub const REGIONS: [&str; 12] = [
    "eu-west-1",
    "us-east-1",
    "us-west-2",
    "eu-central-1",
    "ap-southeast-1",
    "ap-northeast-1",
    "us-east-2",
    "eu-west-2",
    "ap-southeast-2",
    "ca-central-1",
    "eu-north-1",
    "sa-east-1",
];

/// Parts the draws for EC2 from the others, which come from the seed itself: neither moves when the other changes.
const EC2_STREAM: u64 = 0x6563_325f_666c_6565;

/// A log group.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LogGroup {
    /// Its name.
    pub name: String,
    /// How many streams it has.
    pub streams: u32,
}

impl LogGroup {
    /// The name of its nth stream, counted from 0. Names sort by their number.
    pub fn stream(&self, index: u32) -> String {
        format!("2026/01/01/[$LATEST]{index:08}")
    }
}

/// What one account holds in one region. All names are in ascending order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Estate {
    /// Log groups.
    pub log_groups: Vec<LogGroup>,
    /// Parameters' names.
    pub parameters: Vec<String>,
    /// Secrets' names.
    pub secrets: Vec<String>,
    /// What is in EC2, in no order.
    pub ec2: Ec2Estate,
}

/// One account.
#[derive(Clone, PartialEq, Eq)]
pub struct Account {
    id: String,
    access_key_id: String,
    secret_access_key: String,
    estates: BTreeMap<&'static str, Estate>,
}

static NOTHING: Estate = Estate {
    log_groups: Vec::new(),
    parameters: Vec::new(),
    secrets: Vec::new(),
    ec2: Ec2Estate { vpcs: Vec::new(), instances: Vec::new(), volumes: Vec::new() },
};

impl Account {
    /// The account's 12 digits.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The access key id to sign with: it is how the simulation knows the account.
    pub fn access_key_id(&self) -> &str {
        &self.access_key_id
    }

    /// The secret key to sign with. The simulation does not check signatures.
    pub fn secret_access_key(&self) -> &str {
        &self.secret_access_key
    }

    /// What the account holds in a region: nothing, in one it does not use.
    pub fn estate(&self, region: &str) -> &Estate {
        self.estates.get(region).unwrap_or(&NOTHING)
    }
}

impl fmt::Debug for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Account").field("id", &self.id).finish_non_exhaustive()
    }
}

/// What a complete inventory finds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Totals {
    /// Accounts.
    pub accounts: u64,
    /// Log groups.
    pub log_groups: u64,
    /// Log streams.
    pub log_streams: u64,
    /// Parameters.
    pub parameters: u64,
    /// Secrets.
    pub secrets: u64,
    /// VPCs.
    pub vpcs: u64,
    /// Subnets.
    pub subnets: u64,
    /// Security groups.
    pub security_groups: u64,
    /// Instances.
    pub instances: u64,
    /// Volumes.
    pub volumes: u64,
}

/// All accounts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fleet {
    accounts: Vec<Account>,
    regions: Vec<&'static str>,
    by_id: HashMap<String, usize>,
    by_key: HashMap<String, usize>,
}

impl Fleet {
    /// The fleet of this size that the seed gives.
    ///
    /// # Errors
    /// [`FleetError`] names the part of the size that is impossible.
    pub fn seeded(seed: u64, size: &FleetSize) -> Result<Self, FleetError> {
        size.validate()?;
        let mut rng = fastrand::Rng::with_seed(seed);
        let first_id = rng.u64(100_000_000_000..900_000_000_000);
        let regions: Vec<_> = REGIONS.into_iter().take(size.regions).collect();
        let mut ec2 = fastrand::Rng::with_seed(seed ^ EC2_STREAM);
        let mut estates = |rng: &mut fastrand::Rng| {
            let busiest = ec2.usize(0..size.regions);
            let mut estate =
                |n| Estate { ec2: Ec2Estate::seeded(&mut ec2, &size.ec2, n == busiest), ..Estate::seeded(rng, size) };
            (0..).zip(&regions).map(|(n, region)| (*region, estate(n))).collect()
        };
        let accounts: Vec<_> = (0..size.accounts)
            .map(|index| {
                let number = first_id + 1_000_003 * index as u64;
                Account {
                    id: format!("{number:012}"),
                    access_key_id: format!("AKIASIM{:013}", index + 1),
                    secret_access_key: format!("simulated/{:030x}", rng.u128(..) >> 8),
                    estates: estates(&mut rng),
                }
            })
            .collect();
        let index = |name: fn(&Account) -> &String| {
            accounts.iter().enumerate().map(|(index, account)| (name(account).clone(), index)).collect()
        };
        let (by_id, by_key) = (index(|account| &account.id), index(|account| &account.access_key_id));
        Ok(Fleet { accounts, regions, by_id, by_key })
    }

    /// The accounts.
    pub fn accounts(&self) -> &[Account] {
        &self.accounts
    }

    /// The regions every account uses.
    pub fn regions(&self) -> &[&'static str] {
        &self.regions
    }

    /// The account with these 12 digits.
    pub fn account(&self, id: &str) -> Option<&Account> {
        self.by_id.get(id).and_then(|index| self.accounts.get(*index))
    }

    /// The account that signs with this access key id.
    pub fn account_of_key(&self, access_key_id: &str) -> Option<&Account> {
        self.by_key.get(access_key_id).and_then(|index| self.accounts.get(*index))
    }

    /// What a complete inventory finds.
    pub fn totals(&self) -> Totals {
        let mut totals = Totals { accounts: self.accounts.len() as u64, ..Totals::default() };
        for estate in self.accounts.iter().flat_map(|account| account.estates.values()) {
            totals.log_groups += estate.log_groups.len() as u64;
            totals.log_streams += estate.log_groups.iter().map(|group| u64::from(group.streams)).sum::<u64>();
            totals.parameters += estate.parameters.len() as u64;
            totals.secrets += estate.secrets.len() as u64;
            totals.vpcs += estate.ec2.vpcs.len() as u64;
            for vpc in &estate.ec2.vpcs {
                totals.subnets += vpc.subnets.len() as u64;
                totals.security_groups += vpc.security_groups.len() as u64;
            }
            totals.instances += estate.ec2.instances.len() as u64;
            totals.volumes += estate.ec2.volumes.len() as u64;
        }
        totals
    }
}

const TEAMS: [&str; 6] = ["billing", "checkout", "identity", "search", "shipping", "warehouse"];

impl Estate {
    fn seeded(rng: &mut fastrand::Rng, size: &FleetSize) -> Self {
        let mut names = |range: &RangeInclusive<u32>, prefix: &str| {
            let count = rng.u32(range.clone());
            let mut names: Vec<_> = (0..count)
                .map(|index| format!("{prefix}{}/{index:06}", rng.choice(TEAMS).unwrap_or_default()))
                .collect();
            names.sort_unstable();
            names
        };
        let groups = names(&size.log_groups, "/aws/lambda/");
        let parameters = names(&size.parameters, "/");
        let secrets = names(&size.secrets, "");
        let log_groups =
            groups.into_iter().map(|name| LogGroup { name, streams: rng.u32(size.log_streams.clone()) }).collect();
        Estate { log_groups, parameters, secrets, ec2: Ec2Estate::default() }
    }
}

#[cfg(test)]
mod tests;
