//! A seeded organization: its projects, what they hold, and who may look. The same size and seed give the same fleet.

use std::collections::HashMap;
use std::fmt;

use serde::Serialize;

mod asset;
mod object;
mod size;

pub use asset::AssetKind;
pub use object::{ObjectState, StorageBucket};
pub use size::{FleetError, FleetSize};

/// Where there are instances, in ascending order.
const ZONES: [&str; 12] = [
    "asia-southeast1-a",
    "asia-southeast1-b",
    "asia-southeast1-c",
    "europe-west1-b",
    "europe-west1-c",
    "europe-west1-d",
    "us-central1-a",
    "us-central1-b",
    "us-central1-c",
    "us-east1-b",
    "us-east1-c",
    "us-east1-d",
];

const TEAMS: [&str; 6] = ["billing", "checkout", "identity", "search", "shipping", "warehouse"];

const MACHINE_TYPES: [&str; 4] = ["e2-medium", "e2-standard-4", "n2-standard-2", "n2-highmem-8"];

/// A virtual machine.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Instance {
    /// Its name.
    pub name: String,
    /// Its zone.
    pub zone: &'static str,
    /// Its machine type.
    pub machine_type: &'static str,
    /// Whether it runs.
    pub running: bool,
}

/// One project.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Project {
    /// Its id.
    pub id: String,
    /// Its number, by which Google calls it in errors and in assets.
    pub number: u64,
    /// The zones in use, in ascending order.
    pub zones: Vec<&'static str>,
    /// Instances, in ascending order of zone and name.
    pub instances: Vec<Instance>,
    /// How many disks it has.
    pub disks: u32,
    /// How many service accounts it has.
    pub service_accounts: u32,
    /// Storage buckets, in ascending order of name.
    pub buckets: Vec<StorageBucket>,
}

impl Project {
    /// What leaves and scopes call it: `projects/` and its id.
    pub fn account(&self) -> String {
        format!("projects/{}", self.id)
    }

    /// The instances of one zone.
    pub fn instances_in(&self, zone: &str) -> &[Instance] {
        let from = self.instances.partition_point(|instance| instance.zone < zone);
        let to = self.instances.partition_point(|instance| instance.zone <= zone);
        self.instances.get(from..to).unwrap_or_default()
    }

    /// The instance of this name in this zone.
    pub fn instance(&self, zone: &str, name: &str) -> Option<&Instance> {
        let instances = self.instances_in(zone);
        let index = instances.binary_search_by(|instance| instance.name.as_str().cmp(name)).ok()?;
        instances.get(index)
    }

    /// The name of its nth disk, counted from 0, and the disk's zone.
    pub fn disk(&self, index: u32) -> (String, &'static str) {
        let zone = self.zones.get(index as usize % self.zones.len().max(1)).copied().unwrap_or_default();
        (format!("disk-{index:06}"), zone)
    }

    /// The address of its nth service account, counted from 0.
    pub fn service_account(&self, index: u32) -> String {
        format!("sa-{index:06}@{}.iam.gserviceaccount.com", self.id)
    }
}

/// A service account of the first project that may read everything in the organization and change nothing.
#[derive(Clone, PartialEq, Eq)]
pub struct Caller {
    email: String,
    token: String,
}

impl Caller {
    /// Its address.
    pub fn email(&self) -> &str {
        &self.email
    }

    /// Its bearer token.
    pub fn token(&self) -> &str {
        &self.token
    }
}

impl fmt::Debug for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Caller").field("email", &self.email).finish_non_exhaustive()
    }
}

/// What a complete inventory finds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Totals {
    /// Projects.
    pub projects: u64,
    /// Instances.
    pub instances: u64,
    /// Disks.
    pub disks: u64,
    /// Service accounts.
    pub service_accounts: u64,
    /// Storage buckets.
    pub buckets: u64,
    /// Objects in them.
    pub objects: u64,
    /// Assets: all of the above but the objects.
    pub assets: u64,
}

/// One organization.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fleet {
    organization: u64,
    projects: Vec<Project>,
    caller: Caller,
    /// Projects by id and by number.
    by_id: HashMap<String, usize>,
    by_bucket: HashMap<String, usize>,
}

impl Fleet {
    /// The fleet of this size that the seed gives.
    ///
    /// # Errors
    /// [`FleetError`] names the part of the size that is impossible.
    pub fn seeded(seed: u64, size: &FleetSize) -> Result<Self, FleetError> {
        size.validate()?;
        let rng = &mut fastrand::Rng::with_seed(seed);
        let organization = number(rng);
        let token = format!("simulated.{:032x}", rng.u128(..));
        let projects: Vec<_> = (0..size.projects).map(|index| Project::seeded(rng, index, size)).collect();
        let home = projects.first().map(|project| project.id.as_str()).unwrap_or_default();
        let caller = Caller { email: format!("inventory@{home}.iam.gserviceaccount.com"), token };
        let mut fleet = Fleet { organization, projects, caller, by_id: HashMap::new(), by_bucket: HashMap::new() };
        for (index, project) in fleet.projects.iter().enumerate() {
            fleet.by_id.extend([(project.id.clone(), index), (project.number.to_string(), index)]);
            fleet.by_bucket.extend(project.buckets.iter().map(|bucket| (bucket.name.clone(), index)));
        }
        Ok(fleet)
    }

    /// The organization's number.
    pub fn organization(&self) -> u64 {
        self.organization
    }

    /// Its projects: one at least.
    pub fn projects(&self) -> &[Project] {
        &self.projects
    }

    /// Who may look.
    pub fn caller(&self) -> &Caller {
        &self.caller
    }

    /// The caller's own project, which calls are charged to that name no other.
    pub fn home(&self) -> Option<&Project> {
        self.projects.first()
    }

    /// The project of this id or number.
    pub fn project(&self, id: &str) -> Option<&Project> {
        self.by_id.get(id).and_then(|index| self.projects.get(*index))
    }

    /// The storage bucket of this name, and whose it is.
    pub fn bucket(&self, name: &str) -> Option<(&Project, &StorageBucket)> {
        let project = self.projects.get(*self.by_bucket.get(name)?)?;
        let index = project.buckets.binary_search_by(|bucket| bucket.name.as_str().cmp(name)).ok()?;
        Some((project, project.buckets.get(index)?))
    }

    /// What a complete inventory finds.
    pub fn totals(&self) -> Totals {
        let mut totals = Totals { projects: self.projects.len() as u64, ..Totals::default() };
        for project in &self.projects {
            totals.instances += project.instances.len() as u64;
            totals.disks += u64::from(project.disks);
            totals.service_accounts += u64::from(project.service_accounts);
            totals.buckets += project.buckets.len() as u64;
            totals.objects += project.buckets.iter().map(|bucket| u64::from(bucket.objects)).sum::<u64>();
            totals.assets += AssetKind::ALL.into_iter().map(|kind| project.assets(kind)).sum::<u64>();
        }
        totals
    }
}

impl Project {
    fn seeded(rng: &mut fastrand::Rng, index: usize, size: &FleetSize) -> Self {
        let team = rng.choice(TEAMS).unwrap_or_default();
        let id = format!("{team}-{index:04}-{:06x}", rng.u32(..) >> 8);
        let number = number(rng);
        let mut zones = rng.choose_multiple(ZONES, size.zones);
        zones.sort_unstable();
        let mut instances = Vec::new();
        for zone in &zones {
            let mut names: Vec<_> = (0..rng.u32(size.instances.clone()))
                .map(|index| format!("vm-{}-{index:06}", rng.choice(TEAMS).unwrap_or_default()))
                .collect();
            names.sort_unstable();
            instances.extend(names.into_iter().map(|name| {
                let (machine_type, running) = (rng.choice(MACHINE_TYPES).unwrap_or_default(), rng.u8(..4) > 0);
                Instance { name, zone, machine_type, running }
            }));
        }
        let disks = rng.u32(size.disks.clone());
        let service_accounts = rng.u32(size.service_accounts.clone());
        let buckets = (0..rng.u32(size.buckets.clone()))
            .map(|index| StorageBucket::seeded(rng, format!("{id}-{index:06}"), size))
            .collect();
        Project { id, number, zones, instances, disks, service_accounts, buckets }
    }
}

/// Twelve digits, as numbers of projects and organizations have.
fn number(rng: &mut fastrand::Rng) -> u64 {
    rng.u64(100_000_000_000..1_000_000_000_000)
}

#[cfg(test)]
mod tests;
