//! A seeded tenant: its subscriptions, what they hold, and who may look. The same size and seed give the same fleet.

use std::collections::HashMap;
use std::fmt;
use std::ops::RangeInclusive;

use serde::Serialize;

mod size;

pub use size::{FleetError, FleetSize};

/// Where subscriptions keep what they have, each in one place.
const LOCATIONS: [&str; 6] = ["westeurope", "eastus", "northeurope", "westus2", "southeastasia", "swedencentral"];

const TEAMS: [&str; 6] = ["billing", "checkout", "identity", "search", "shipping", "warehouse"];

const SIZES: [&str; 4] = ["Standard_B2s", "Standard_D2s_v5", "Standard_D4s_v5", "Standard_E8s_v5"];

/// A virtual network.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct VirtualNetwork {
    /// Its name.
    pub name: String,
    /// Its resource group.
    pub group: String,
    /// How many subnets it has.
    pub subnets: u32,
}

impl VirtualNetwork {
    /// The name of its nth subnet, counted from 0.
    pub fn subnet(&self, index: u32) -> String {
        format!("subnet-{index:04}")
    }
}

/// A virtual machine.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct VirtualMachine {
    /// Its name.
    pub name: String,
    /// Its resource group.
    pub group: String,
    /// Its size.
    pub size: &'static str,
    /// Whether it runs.
    pub running: bool,
}

/// One subscription. All names are in lower case and in ascending order.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Subscription {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Where everything in it is. Compute's limits are per region, so they are the subscription's.
    pub location: &'static str,
    /// Resource groups.
    pub groups: Vec<String>,
    /// Virtual networks.
    pub networks: Vec<VirtualNetwork>,
    /// Virtual machines.
    pub machines: Vec<VirtualMachine>,
}

impl Subscription {
    /// The virtual network of this name in this group.
    pub fn network(&self, group: &str, name: &str) -> Option<&VirtualNetwork> {
        let index = self.networks.binary_search_by(|network| network.name.as_str().cmp(name)).ok()?;
        self.networks.get(index).filter(|network| network.group == group)
    }

    /// The virtual machine of this name in this group.
    pub fn machine(&self, group: &str, name: &str) -> Option<&VirtualMachine> {
        let index = self.machines.binary_search_by(|machine| machine.name.as_str().cmp(name)).ok()?;
        self.machines.get(index).filter(|machine| machine.group == group)
    }
}

/// A service principal that may read everything in the tenant and change nothing.
#[derive(Clone, PartialEq, Eq)]
pub struct Principal {
    client_id: String,
    object_id: String,
    secret: String,
}

impl Principal {
    /// The client id to ask for a token with.
    pub fn client_id(&self) -> &str {
        &self.client_id
    }

    /// Its id among the tenant's objects.
    pub fn object_id(&self) -> &str {
        &self.object_id
    }

    /// The client secret.
    pub fn secret(&self) -> &str {
        &self.secret
    }
}

impl fmt::Debug for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Principal").field("client_id", &self.client_id).finish_non_exhaustive()
    }
}

/// What a complete inventory finds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Totals {
    /// Subscriptions.
    pub subscriptions: u64,
    /// Resource groups.
    pub resource_groups: u64,
    /// Virtual networks.
    pub virtual_networks: u64,
    /// Subnets.
    pub subnets: u64,
    /// Virtual machines.
    pub virtual_machines: u64,
}

/// One tenant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fleet {
    tenant: String,
    subscriptions: Vec<Subscription>,
    principals: Vec<Principal>,
    by_id: HashMap<String, usize>,
}

impl Fleet {
    /// The fleet of this size that the seed gives.
    ///
    /// # Errors
    /// [`FleetError`] names the part of the size that is impossible.
    pub fn seeded(seed: u64, size: &FleetSize) -> Result<Self, FleetError> {
        size.validate()?;
        let rng = &mut fastrand::Rng::with_seed(seed);
        let tenant = uuid(rng);
        let principals = (0..size.principals)
            .map(|_| Principal {
                client_id: uuid(rng),
                object_id: uuid(rng),
                secret: format!("simulated~{:030x}", rng.u128(..) >> 8),
            })
            .collect();
        let subscriptions: Vec<_> =
            (0..size.subscriptions).map(|index| Subscription::seeded(rng, index, size)).collect();
        let by_id = subscriptions.iter().enumerate().map(|(index, one)| (one.id.clone(), index)).collect();
        Ok(Fleet { tenant, subscriptions, principals, by_id })
    }

    /// The tenant's id.
    pub fn tenant(&self) -> &str {
        &self.tenant
    }

    /// Its subscriptions.
    pub fn subscriptions(&self) -> &[Subscription] {
        &self.subscriptions
    }

    /// Its service principals: one at least.
    pub fn principals(&self) -> &[Principal] {
        &self.principals
    }

    /// The subscription of this id.
    pub fn subscription(&self, id: &str) -> Option<&Subscription> {
        self.by_id.get(id).and_then(|index| self.subscriptions.get(*index))
    }

    /// The principal of this client id.
    pub fn principal(&self, client_id: &str) -> Option<&Principal> {
        self.principals.iter().find(|principal| principal.client_id == client_id)
    }

    /// What a complete inventory finds.
    pub fn totals(&self) -> Totals {
        let mut totals = Totals { subscriptions: self.subscriptions.len() as u64, ..Totals::default() };
        for subscription in &self.subscriptions {
            totals.resource_groups += subscription.groups.len() as u64;
            totals.virtual_networks += subscription.networks.len() as u64;
            totals.subnets += subscription.networks.iter().map(|network| u64::from(network.subnets)).sum::<u64>();
            totals.virtual_machines += subscription.machines.len() as u64;
        }
        totals
    }
}

impl Subscription {
    /// One without a resource group has nothing.
    fn seeded(rng: &mut fastrand::Rng, index: usize, size: &FleetSize) -> Self {
        let id = uuid(rng);
        let location = rng.choice(LOCATIONS).unwrap_or_default();
        let groups = named(rng, "rg", &size.resource_groups);
        let mut in_groups = |prefix, range| -> Vec<(String, String)> {
            let names = if groups.is_empty() { Vec::new() } else { named(rng, prefix, range) };
            names.into_iter().map(|name| (name, rng.choice(&groups).cloned().unwrap_or_default())).collect()
        };
        let (networks, machines) = (in_groups("vnet", &size.virtual_networks), in_groups("vm", &size.virtual_machines));
        let networks = networks
            .into_iter()
            .map(|(name, group)| VirtualNetwork { name, group, subnets: rng.u32(size.subnets.clone()) })
            .collect();
        let machines = machines
            .into_iter()
            .map(|(name, group)| {
                let (size, running) = (rng.choice(SIZES).unwrap_or_default(), rng.u8(..4) > 0);
                VirtualMachine { name, group, size, running }
            })
            .collect();
        Subscription { id, name: format!("subscription-{index:04}"), location, groups, networks, machines }
    }
}

fn named(rng: &mut fastrand::Rng, prefix: &str, range: &RangeInclusive<u32>) -> Vec<String> {
    let mut names: Vec<_> = (0..rng.u32(range.clone()))
        .map(|index| format!("{prefix}-{}-{index:06}", rng.choice(TEAMS).unwrap_or_default()))
        .collect();
    names.sort_unstable();
    names
}

fn uuid(rng: &mut fastrand::Rng) -> String {
    let (high, low) = (rng.u64(..), rng.u64(..));
    let (version, variant) = (high & 0xfff, low >> 48 & 0x3fff | 0x8000);
    format!(
        "{:08x}-{:04x}-4{version:03x}-{variant:04x}-{:012x}",
        high >> 32,
        high >> 16 & 0xffff,
        low & 0xffff_ffff_ffff
    )
}

#[cfg(test)]
mod tests;
