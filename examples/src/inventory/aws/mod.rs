//! What is AWS's own: where to look, the clients, the calls, and how their failures are read.

mod calls;
mod clients;
mod failure;
mod kind;
mod world;

pub use clients::{Clients, Quotas};
pub use kind::Kind;

pub(super) use calls::Row;
pub(super) use world::Accounts;
