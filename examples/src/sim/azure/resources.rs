//! What the operations answer: rows of JSON in the shape of the published specifications, as far as an inventory
//! shows them.

use hyper::StatusCode;
use serde_json::{Value, json};

use super::fleet::{Subscription, VirtualMachine, VirtualNetwork};
use super::route::Ask;
use super::wire::Error;
use super::{Fleet, Operation, PAGE};
use crate::sim::Leaf;
use crate::sim::page::List;

/// When every machine was last started.
const STARTED: &str = "2026-01-01T00:00:00+00:00";

/// One page of a list, and the link to the next, if there is one.
fn page(leaf: &Leaf, ask: &Ask, rows: usize, row: impl Fn(usize) -> Option<Value>) -> Result<Value, Error> {
    let list = List { leaf, filter: &[&ask.group, &ask.resource] };
    let (rows, next) = list
        .page(rows, PAGE, ask.link.skip.as_deref())
        .map_err(|_| Error::bad_request("InvalidSkipToken", "The provided skip token is invalid."))?;
    let value: Vec<_> = rows.filter_map(row).collect();
    Ok(match next {
        Some(token) => json!({ "value": value, "nextLink": ask.link.next(&token) }),
        None => json!({ "value": value }),
    })
}

/// The tenant's subscriptions.
pub(super) fn subscriptions(fleet: &Fleet, leaf: &Leaf, ask: &Ask) -> Result<Value, Error> {
    page(leaf, ask, fleet.subscriptions().len(), |index| {
        let Subscription { id, name, .. } = fleet.subscriptions().get(index)?;
        Some(json!({
            "id": format!("/subscriptions/{id}"),
            "subscriptionId": id,
            "tenantId": fleet.tenant(),
            "displayName": name,
            "state": "Enabled",
            "authorizationSource": "RoleBased",
        }))
    })
}

/// Everything that is within one subscription.
pub(super) fn within(fleet: &Fleet, subscription: &Subscription, leaf: &Leaf, ask: &Ask) -> Result<Value, Error> {
    let Subscription { groups, networks, machines, .. } = subscription;
    match ask.operation {
        Operation::ListResourceGroups => {
            page(leaf, ask, groups.len(), |index| Some(group(subscription, groups.get(index)?)))
        }
        Operation::ListVirtualNetworks => {
            page(leaf, ask, networks.len(), |index| Some(network(subscription, networks.get(index)?)))
        }
        Operation::ListVirtualMachines => {
            page(leaf, ask, machines.len(), |index| Some(machine(subscription, machines.get(index)?)))
        }
        Operation::ListSubnets => {
            let found = subscription.network(&ask.group, &ask.resource);
            let network = found.ok_or_else(|| missing(subscription, ask, "Microsoft.Network/virtualNetworks"))?;
            page(leaf, ask, network.subnets as usize, |index| {
                Some(subnet(subscription, network, u32::try_from(index).ok()?))
            })
        }
        Operation::InstanceView => asked_machine(subscription, ask).map(instance_view),
        Operation::GetVirtualMachine => asked_machine(subscription, ask).map(|found| machine(subscription, found)),
        operation => Err(forbidden(fleet, operation, ask)),
    }
}

fn asked_machine<'a>(subscription: &'a Subscription, ask: &Ask) -> Result<&'a VirtualMachine, Error> {
    let found = subscription.machine(&ask.group, &ask.resource);
    found.ok_or_else(|| missing(subscription, ask, "Microsoft.Compute/virtualMachines"))
}

fn missing(subscription: &Subscription, ask: &Ask, kind: &str) -> Error {
    let Ask { group, resource, .. } = ask;
    if !subscription.groups.contains(group) {
        return Error::not_found("ResourceGroupNotFound", format!("Resource group '{group}' could not be found."));
    }
    let message = format!("The Resource '{kind}/{resource}' under resource group '{group}' was not found.");
    Error::not_found("ResourceNotFound", message)
}

/// Every principal may read, and no more.
fn forbidden(fleet: &Fleet, operation: Operation, ask: &Ask) -> Error {
    let object = fleet.principal(&ask.caller).map(|principal| principal.object_id()).unwrap_or_default();
    let action = if operation == Operation::DeleteVirtualMachine { "delete" } else { "write" };
    let message = format!(
        "The client '{}' with object id '{object}' does not have authorization to perform action \
         'Microsoft.Compute/virtualMachines/{action}' over scope '{}' or the scope is invalid. If access was recently \
         granted, please refresh your credentials.",
        ask.caller,
        ask.link.path()
    );
    Error::new(StatusCode::FORBIDDEN, "AuthorizationFailed", message)
}

fn group(subscription: &Subscription, name: &str) -> Value {
    json!({
        "id": format!("/subscriptions/{}/resourceGroups/{name}", subscription.id),
        "name": name,
        "type": "Microsoft.Resources/resourceGroups",
        "location": subscription.location,
        "properties": { "provisioningState": "Succeeded" },
    })
}

fn id(subscription: &Subscription, group: &str, kind: &str, name: &str) -> String {
    format!("/subscriptions/{}/resourceGroups/{group}/providers/{kind}/{name}", subscription.id)
}

fn network(subscription: &Subscription, network: &VirtualNetwork) -> Value {
    let kind = "Microsoft.Network/virtualNetworks";
    json!({
        "id": id(subscription, &network.group, kind, &network.name),
        "name": network.name,
        "type": kind,
        "location": subscription.location,
        "properties": {
            "addressSpace": { "addressPrefixes": ["10.0.0.0/8"] },
            "provisioningState": "Succeeded",
        },
    })
}

fn subnet(subscription: &Subscription, network: &VirtualNetwork, index: u32) -> Value {
    let (name, [_, _, high, low]) = (network.subnet(index), index.to_be_bytes());
    json!({
        "id": format!(
            "{}/subnets/{name}",
            id(subscription, &network.group, "Microsoft.Network/virtualNetworks", &network.name)
        ),
        "name": name,
        "type": "Microsoft.Network/virtualNetworks/subnets",
        "properties": {
            "addressPrefix": format!("10.{high}.{low}.0/24"),
            "provisioningState": "Succeeded",
        },
    })
}

fn machine(subscription: &Subscription, machine: &VirtualMachine) -> Value {
    let kind = "Microsoft.Compute/virtualMachines";
    json!({
        "id": id(subscription, &machine.group, kind, &machine.name),
        "name": machine.name,
        "type": kind,
        "location": subscription.location,
        "properties": {
            "hardwareProfile": { "vmSize": machine.size },
            "provisioningState": "Succeeded",
        },
    })
}

fn instance_view(machine: &VirtualMachine) -> Value {
    let (code, shown) = if machine.running {
        ("PowerState/running", "VM running")
    } else {
        ("PowerState/deallocated", "VM deallocated")
    };
    json!({
        "statuses": [
            {
                "code": "ProvisioningState/succeeded",
                "level": "Info",
                "displayStatus": "Provisioning succeeded",
                "time": STARTED,
            },
            { "code": code, "level": "Info", "displayStatus": shown },
        ],
    })
}
