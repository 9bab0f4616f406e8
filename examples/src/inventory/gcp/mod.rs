//! What is Google Cloud's own: where to look, the clients, the calls, and how their failures are read.

mod calls;
mod failure;
mod kind;
mod world;

pub use calls::Clients;
pub use kind::Kind;

pub(crate) use failure::answer;

pub(super) use calls::{Pages, Zone};
pub(super) use world::Projects;
