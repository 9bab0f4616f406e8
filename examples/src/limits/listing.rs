//! What is listed.

use std::collections::BTreeSet;

use cloud_governor::catalogue::PublishedLimit;
use serde::Serialize;

/// Of all services of a provider.
const EVERY: &str = "*";

/// Published limits, in the catalogue's order. As JSON it is an array of them; shown, it is a table.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Listing(Vec<&'static PublishedLimit>);

/// Nothing is known of what the command line names.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UnknownName {
    /// The catalogue has nothing of such a provider.
    #[error("--provider: nothing is known of {name:?}; there are {known}")]
    Provider {
        /// As it was given.
        name: String,
        /// Those that there are, with commas between.
        known: String,
    },
    /// It has nothing of such a service of the provider, or of any provider.
    #[error("--service: nothing is known of {name:?}; there are {known}")]
    Service {
        /// As it was given.
        name: String,
        /// Those that there are, with commas between.
        known: String,
    },
}

impl Listing {
    /// These.
    pub fn of(limits: impl IntoIterator<Item = &'static PublishedLimit>) -> Self {
        Listing(limits.into_iter().collect())
    }

    /// The limits, in their order.
    pub fn limits(&self) -> &[&'static PublishedLimit] {
        &self.0
    }

    /// Those of one provider.
    ///
    /// # Errors
    /// [`UnknownName::Provider`] if there is none.
    pub fn of_provider(self, name: &str) -> Result<Self, UnknownName> {
        let known = self.names(|limit| limit.provider);
        self.only(|limit| limit.provider.eq_ignore_ascii_case(name))
            .ok_or_else(|| UnknownName::Provider { name: name.to_owned(), known })
    }

    /// Those of one service, and those of every service of its provider, as they hold for it too.
    ///
    /// # Errors
    /// [`UnknownName::Service`] if there is none of its own.
    pub fn of_service(self, name: &str) -> Result<Self, UnknownName> {
        let is_own = |limit: &PublishedLimit| limit.service.eq_ignore_ascii_case(name);
        let providers: BTreeSet<_> = self.0.iter().filter(|limit| is_own(limit)).map(|limit| limit.provider).collect();
        let known = self.names(|limit| limit.service);
        self.only(|limit| is_own(limit) || (limit.service == EVERY && providers.contains(limit.provider)))
            .ok_or_else(|| UnknownName::Service { name: name.to_owned(), known })
    }

    /// Those that fit, if any does.
    fn only(mut self, fits: impl Fn(&PublishedLimit) -> bool) -> Option<Self> {
        self.0.retain(|limit| fits(limit));
        (!self.0.is_empty()).then_some(self)
    }

    fn names(&self, name: impl Fn(&PublishedLimit) -> &'static str) -> String {
        let names: BTreeSet<_> = self.0.iter().map(|limit| name(limit)).filter(|name| *name != EVERY).collect();
        names.into_iter().collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use cloud_governor::catalogue;

    use super::*;

    #[test]
    fn what_holds_for_every_service_of_the_provider_is_listed_with_one() {
        let network = Listing::of(catalogue::published()).of_service("network").expect("network");
        let services: BTreeSet<_> = network.limits().iter().map(|limit| (limit.provider, limit.service)).collect();
        assert_eq!(services, BTreeSet::from([("azure", "*"), ("azure", "network")]));
        let secrets = Listing::of(catalogue::published()).of_service("secretmanager").expect("secrets");
        assert!(secrets.limits().iter().all(|limit| limit.service == "secretmanager"));
    }

    #[test]
    fn as_json_it_is_the_limits() {
        let listing = Listing::of(catalogue::published()).of_service("resourcegraph").expect("resource graph");
        let json = serde_json::to_value(&listing).expect("JSON");
        let graph = json.as_array().expect("an array").last().expect("a limit");
        assert_eq!(graph["service"], "resourcegraph");
        assert_eq!(graph["counted"]["together"]["name"], "user-quota");
        assert_eq!((&graph["grant"]["calls"], &graph["grant"]["per_seconds"]), (&15.0.into(), &5.0.into()));
    }
}
