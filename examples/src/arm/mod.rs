//! A small client of Azure Resource Manager on `azure_core`, for want of one in the Azure SDK for Rust: what the
//! programs here ask for, and no more.
//!
//! It is built as the SDK's own clients are: a credential and `ClientOptions`, governed or not. Each call names its
//! operation as the published specification does, such as `Network.VirtualNetworks.listAll`, in the context that the
//! pipeline's policies see.

mod client;
mod page;
mod rows;

pub use client::ArmClient;
pub use page::{NextLink, Page};
pub use rows::{InstanceView, ResourceGroup, ResourceId, Status, Subnet, Subscription, VirtualMachine, VirtualNetwork};
