//! The calls to Azure Resource Manager.

use cloud_governor::Rules;

use super::kind::Kind;
use crate::arm::{ArmClient, NextLink, ResourceGroup, ResourceId, Subnet, VirtualMachine, VirtualNetwork};
use crate::inventory::calls;
use crate::inventory::failure::Failure;
use crate::inventory::found::{Found, FoundInAzure};

type Page = calls::Page<Row, Pages>;

/// The client of one subscription.
#[derive(Clone, Debug)]
pub struct Clients {
    arm: ArmClient,
    subscription: String,
    rules: Rules,
}

/// A page to ask for: the first one, or the one at a link.
#[derive(Clone, Debug)]
pub(in crate::inventory) enum Pages {
    ResourceGroups(Option<NextLink<ResourceGroup>>),
    VirtualNetworks(Option<NextLink<VirtualNetwork>>),
    VirtualMachines(Option<NextLink<VirtualMachine>>),
}

impl Pages {
    /// The first page.
    pub(in crate::inventory) fn of(kind: Kind) -> Self {
        match kind {
            Kind::ResourceGroups => Pages::ResourceGroups(None),
            Kind::VirtualNetworks => Pages::VirtualNetworks(None),
            Kind::VirtualMachines => Pages::VirtualMachines(None),
        }
    }

    /// What is listed.
    pub(in crate::inventory) fn kind(&self) -> Kind {
        match self {
            Pages::ResourceGroups(_) => Kind::ResourceGroups,
            Pages::VirtualNetworks(_) => Kind::VirtualNetworks,
            Pages::VirtualMachines(_) => Kind::VirtualMachines,
        }
    }
}

/// One row that needs something more, and how far that has come.
#[derive(Debug)]
pub(in crate::inventory) enum Row {
    /// A virtual network, which needs its subnets.
    Network { id: Named, next: Option<NextLink<Subnet>> },
    /// A virtual machine, which needs its instance view.
    Machine(Named),
}

/// What the path to a resource is made of, within its subscription.
#[derive(Debug)]
pub(in crate::inventory) struct Named {
    group: String,
    name: String,
}

impl Named {
    fn new(id: &ResourceId, name: String) -> Self {
        // No resource of these kinds is outside a group. If one were, its own call would say that there is no such thing.
        Named { group: id.resource_group().unwrap_or_default().to_owned(), name }
    }
}

impl Clients {
    /// A client of this subscription, and the rules by which its failures are read.
    pub fn new(arm: ArmClient, subscription: &str, rules: Rules) -> Self {
        Clients { arm, subscription: subscription.to_owned(), rules }
    }

    /// One page, and where the list goes on.
    pub(in crate::inventory) async fn page(&self, pages: &Pages) -> Result<Page, Failure> {
        let Clients { arm, subscription, rules } = self;
        match pages {
            Pages::ResourceGroups(at) => {
                let answer = arm.resource_groups(subscription, at.as_ref()).await;
                let page = answer.map_err(|error| Failure::of("resources.ResourceGroups.list", &error, rules))?;
                let found = FoundInAzure { resource_groups: page.rows.len() as u64, ..FoundInAzure::default() };
                let next = page.next.map(|link| Pages::ResourceGroups(Some(link)));
                Ok(Page { next, found: found.into(), ..Page::default() })
            }
            Pages::VirtualNetworks(at) => {
                let answer = arm.virtual_networks(subscription, at.as_ref()).await;
                let page = answer.map_err(|error| Failure::of("network.VirtualNetworks.listAll", &error, rules))?;
                let row =
                    |network: VirtualNetwork| Row::Network { id: Named::new(&network.id, network.name), next: None };
                let next = page.next.map(|link| Pages::VirtualNetworks(Some(link)));
                Ok(Page { rows: page.rows.into_iter().map(row).collect(), next, ..Page::default() })
            }
            Pages::VirtualMachines(at) => {
                let answer = arm.virtual_machines(subscription, at.as_ref()).await;
                let page = answer.map_err(|error| Failure::of("compute.VirtualMachines.listAll", &error, rules))?;
                let row = |machine: VirtualMachine| Row::Machine(Named::new(&machine.id, machine.name));
                let next = page.next.map(|link| Pages::VirtualMachines(Some(link)));
                Ok(Page { rows: page.rows.into_iter().map(row).collect(), next, ..Page::default() })
            }
        }
    }

    /// Everything that a row needs.
    pub(in crate::inventory) async fn complete(
        &self,
        row: &mut Row,
        count: impl Fn(Found) + Send + Sync,
    ) -> Result<(), Failure> {
        let Clients { arm, subscription, rules } = self;
        let count = |found: FoundInAzure| count(found.into());
        match row {
            Row::Network { id: Named { group, name }, next } => loop {
                let answer = arm.subnets(subscription, group, name, next.as_ref()).await;
                let page = answer.map_err(|error| Failure::of("network.Subnets.list", &error, rules))?;
                count(FoundInAzure { subnets: page.rows.len() as u64, ..FoundInAzure::default() });
                *next = page.next;
                if next.is_none() {
                    count(FoundInAzure { virtual_networks: 1, ..FoundInAzure::default() });
                    return Ok(());
                }
            },
            Row::Machine(Named { group, name }) => {
                let answer = arm.instance_view(subscription, group, name).await;
                answer.map_err(|error| Failure::of("compute.VirtualMachines.instanceView", &error, rules))?;
                count(FoundInAzure { virtual_machines: 1, ..FoundInAzure::default() });
                Ok(())
            }
        }
    }
}
