//! The operations the simulated Azure knows.

/// What an operation does, as Resource Manager counts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Class {
    /// GET.
    Read,
    /// PUT and PATCH.
    Write,
    /// DELETE.
    Delete,
    /// Not Resource Manager's: a request for a token.
    Token,
}

/// One operation of one service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Operation {
    /// Entra ID: a token for a client's secret.
    Token,
    /// The tenant's subscriptions.
    ListSubscriptions,
    /// A subscription's resource groups.
    ListResourceGroups,
    /// A subscription's virtual networks.
    ListVirtualNetworks,
    /// A virtual network's subnets.
    ListSubnets,
    /// A subscription's virtual machines.
    ListVirtualMachines,
    /// A virtual machine's state.
    InstanceView,
    /// A virtual machine.
    GetVirtualMachine,
    /// Makes or replaces a virtual machine; or would.
    PutVirtualMachine,
    /// Changes a virtual machine; or would.
    UpdateVirtualMachine,
    /// Deletes a virtual machine; or would.
    DeleteVirtualMachine,
}

impl Operation {
    /// All of them.
    pub const ALL: [Operation; 11] = [
        Operation::Token,
        Operation::ListSubscriptions,
        Operation::ListResourceGroups,
        Operation::ListVirtualNetworks,
        Operation::ListSubnets,
        Operation::ListVirtualMachines,
        Operation::InstanceView,
        Operation::GetVirtualMachine,
        Operation::PutVirtualMachine,
        Operation::UpdateVirtualMachine,
        Operation::DeleteVirtualMachine,
    ];

    /// The provider's namespace in lower case, without its `Microsoft.`; `identity` for Entra ID.
    pub fn service(self) -> &'static str {
        match self {
            Operation::Token => "identity",
            Operation::ListSubscriptions | Operation::ListResourceGroups => "resources",
            Operation::ListVirtualNetworks | Operation::ListSubnets => "network",
            Operation::ListVirtualMachines
            | Operation::InstanceView
            | Operation::GetVirtualMachine
            | Operation::PutVirtualMachine
            | Operation::UpdateVirtualMachine
            | Operation::DeleteVirtualMachine => "compute",
        }
    }

    /// The operation id of the published specification, with a dot for its underscore and the method in lower case.
    pub fn name(self) -> &'static str {
        match self {
            Operation::Token => "token",
            Operation::ListSubscriptions => "Subscriptions.list",
            Operation::ListResourceGroups => "ResourceGroups.list",
            Operation::ListVirtualNetworks => "VirtualNetworks.listAll",
            Operation::ListSubnets => "Subnets.list",
            Operation::ListVirtualMachines => "VirtualMachines.listAll",
            Operation::InstanceView => "VirtualMachines.instanceView",
            Operation::GetVirtualMachine => "VirtualMachines.get",
            Operation::PutVirtualMachine => "VirtualMachines.createOrUpdate",
            Operation::UpdateVirtualMachine => "VirtualMachines.update",
            Operation::DeleteVirtualMachine => "VirtualMachines.delete",
        }
    }

    /// As what it is counted.
    pub fn class(self) -> Class {
        match self {
            Operation::Token => Class::Token,
            Operation::PutVirtualMachine | Operation::UpdateVirtualMachine => Class::Write,
            Operation::DeleteVirtualMachine => Class::Delete,
            _ => Class::Read,
        }
    }

    /// The operation of this name in this service.
    pub fn find(service: &str, name: &str) -> Option<Self> {
        Operation::ALL.into_iter().find(|operation| operation.service() == service && operation.name() == name)
    }
}
