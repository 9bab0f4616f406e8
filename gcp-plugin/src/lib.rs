//! Governs Google Cloud's clients for Rust.
//!
//! | client | how | feature |
//! |---|---|---|
//! | the official ones on `google-cloud-gax` 1.x, HTTP or gRPC | `attach` | `clients`, on by default |
//! | the official one of Storage | `attach_storage` | `storage` |
//! | generated gRPC clients over a channel of one's own: `gcloud-googleapis` 1.x (tonic 0.14), `google-cloud-googleapis` 0.16 (tonic 0.12), one's own | `grpc_layer` around the channel | `tonic` |
//! | `gcloud-storage`, and whatever else calls Google's JSON APIs by `reqwest-middleware` | `http_middleware` in its HTTP client | `reqwest-middleware` |
//! | `gcloud-pubsub`, `gcloud-spanner` and their like, which open their channels themselves | call by call, by hand | `tonic` |
//!
//! Without `clients` (`default-features = false`) none of `google-cloud-*` is compiled.

#![cfg_attr(feature = "clients", doc = include_str!("_guide/clients.md"))]
#![cfg_attr(feature = "tonic", doc = include_str!("_guide/tonic.md"))]
#![cfg_attr(feature = "reqwest-middleware", doc = include_str!("_guide/reqwest.md"))]
#![warn(clippy::unwrap_used)]
// Without any feature there is nobody to use what all have in common.
#![cfg_attr(not(any(feature = "clients", feature = "tonic", feature = "reqwest-middleware")), allow(dead_code))]

#[cfg(feature = "clients")]
mod attach;
#[cfg(feature = "clients")]
mod call;
#[cfg(feature = "clients")]
mod client;
#[cfg(feature = "clients")]
mod credentials;
#[cfg(feature = "clients")]
mod error;
mod facts;
#[cfg(feature = "tonic")]
mod grpc;
#[cfg(feature = "clients")]
mod handover;
#[cfg(feature = "clients")]
mod hooks;
#[cfg(feature = "clients")]
mod journey;
#[cfg(feature = "reqwest-middleware")]
mod json;
mod options;
#[cfg(feature = "clients")]
mod polling;
#[cfg(feature = "clients")]
mod recorder;
#[cfg(any(feature = "tonic", feature = "reqwest-middleware"))]
mod requests;
mod seen;
mod services;
#[cfg(feature = "clients")]
mod store;
mod target;
#[cfg(feature = "clients")]
#[cfg(test)]
mod testing;

#[cfg(feature = "clients")]
pub use attach::attach;
#[cfg(feature = "storage")]
pub use attach::attach_storage;
#[cfg(feature = "clients")]
pub use call::call;
pub use cloud_governor::{CallOptions, CallReport};
#[cfg(feature = "clients")]
pub use error::{facts, refusal};
#[cfg(feature = "tonic")]
pub use grpc::{GoogleRpcs, grpc_layer};
#[cfg(feature = "reqwest-middleware")]
pub use json::{GoogleJson, http_middleware};
pub use options::GcpOptions;
#[cfg(any(feature = "tonic", feature = "reqwest-middleware"))]
pub use requests::RequestHead;
