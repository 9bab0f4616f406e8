//! Governs every client of the Azure SDK for Rust.

#![warn(clippy::unwrap_used)]

mod answer;
mod arm;
mod body;
mod call_options;
mod error;
mod hosts;
mod idempotence;
mod install;
mod journey;
mod operation;
mod policy;
mod quotas;
mod target;
mod token;
mod wire;

pub use call_options::CallOptions;
pub use error::refusal;
pub use hosts::{HostRule, HostRuleError};
pub use install::{AzureOptions, build_azure_client, governed};
