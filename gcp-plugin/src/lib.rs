//! Governs the official Google Cloud clients for Rust.

#![warn(clippy::unwrap_used)]

mod attach;
mod call;
mod client;
mod credentials;
mod error;
mod facts;
mod handover;
mod hooks;
mod journey;
mod polling;
mod recorder;
mod services;
mod store;
mod target;
#[cfg(test)]
mod testing;

#[cfg(feature = "storage")]
pub use attach::attach_storage;
pub use attach::{GcpOptions, attach};
pub use call::{CallOptions, CallReport, call};
pub use error::{facts, refusal};
