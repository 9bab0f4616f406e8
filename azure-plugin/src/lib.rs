//! Governs every client of the Azure SDK for Rust.

mod arm;
mod hosts;
mod idempotence;
#[cfg_attr(not(test), expect(dead_code, reason = "the policy is not here yet"))]
mod operation;
#[cfg_attr(not(test), expect(dead_code, reason = "the policy is not here yet"))]
mod quotas;
#[cfg_attr(not(test), expect(dead_code, reason = "the policy is not here yet"))]
mod target;

pub use hosts::{HostRule, HostRuleError};
