//! What a failed attempt says: its facts, whom the call was charged to, and which limit it hit.

#[cfg(feature = "clients")]
mod client;
mod details;
mod limit;
#[cfg(any(feature = "clients", feature = "reqwest-middleware"))]
pub(crate) mod payload;
#[cfg(feature = "tonic")]
mod status;

#[cfg(feature = "clients")]
pub(crate) use client::chain;
use cloud_governor::Facts;
pub(crate) use limit::{Limit, Whose};

/// What one failed attempt tells.
#[derive(Debug)]
pub(crate) struct Told<'a> {
    /// With the provider, without the service. A refusal of the governor's has none: it is no answer of any server.
    pub(crate) facts: Facts<'a>,
    /// Whom the call was charged to: `projects/123456`, mostly by number.
    pub(crate) consumer: Option<String>,
    /// The exceeded limit, where the answer leaves no doubt.
    pub(crate) limit: Option<Limit>,
}

#[cfg(feature = "clients")]
#[cfg(test)]
mod tests;
