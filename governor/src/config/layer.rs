//! One layer of configuration: what a document sets and what it leaves to the layers below.

mod document;

use std::collections::BTreeMap;
use std::time::Duration;

use super::error::{ConfigOrigin, ConfigProblem};
use super::names::operation;
use super::read::At;
use super::settings::{Counts, Jitter, LawName};
use crate::catalogue::Per;
use crate::classify::Rule;
use crate::scope::Verb;

/// Lays one layer's value over that of the layers below.
trait Over {
    fn over(self, below: Self) -> Self;
}

impl<T> Over for Option<At<T>> {
    fn over(self, below: Self) -> Self {
        self.or(below)
    }
}

impl Over for At<()> {
    fn over(self, _: Self) -> Self {
        self
    }
}

impl<V: Over> Over for BTreeMap<String, V> {
    fn over(self, mut below: Self) -> Self {
        for (key, value) in self {
            let value = match below.remove(&key) {
                Some(under) => value.over(under),
                None => value,
            };
            below.insert(key, value);
        }
        below
    }
}

/// A struct every field of which is laid over the one below.
macro_rules! partial {
    ($(#[$doc:meta])* $name:ident { $($field:ident: $type:ty,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Debug)]
        pub(super) struct $name {
            $(pub(super) $field: $type,)*
        }

        impl Over for $name {
            fn over(self, below: Self) -> Self {
                $name { $($field: self.$field.over(below.$field),)* }
            }
        }
    };
}

partial! {
    /// What stands under `ratelimit`.
    #[derive(Default)]
    Layer {
        enabled: Option<At<bool>>,
        defaults: Provider,
        providers: BTreeMap<String, Provider>,
    }
}

partial! {
    #[derive(Default)]
    Provider {
        enabled: Option<At<bool>>,
        account_concurrency: Option<At<u32>>,
        retry_budget: Option<At<u32>>,
        law: Option<At<LawName>>,
        share: Option<At<f64>>,
        published: Option<At<bool>>,
        rates: Rates,
        failures: Option<At<u32>>,
        cooldown: Option<At<Duration>>,
        max_retries: Option<At<u32>>,
        base_delay: Option<At<Duration>>,
        max_backoff: Option<At<Duration>>,
        jitter: Option<At<Jitter>>,
        deadline: Option<At<Option<Duration>>>,
        attempt_timeout: Option<At<Option<Duration>>>,
        factor: Option<At<f64>>,
        pause_cap: Option<At<Duration>>,
        cut_interval: Option<At<Duration>>,
        recovery_after: Option<At<Duration>>,
        recovery_step: Option<At<f64>>,
        connect_timeout: Option<At<Duration>>,
        read_timeout: Option<At<Duration>>,
        rules: Option<At<Vec<Rule>>>,
        services: BTreeMap<String, Service>,
        shared: BTreeMap<String, Shared>,
    }
}

/// The figures of one bucket. `per_minute` stands in place of `max_rps` and `burst`.
#[derive(Clone, Debug, Default)]
pub(super) struct Rates {
    pub(super) max_rps: Option<At<Option<f64>>>,
    pub(super) per_minute: Option<At<f64>>,
    pub(super) burst: Option<At<Option<f64>>>,
    pub(super) floor_rps: Option<At<f64>>,
    pub(super) counts: Option<At<Counts>>,
}

impl Over for Rates {
    /// A rate of either kind takes the place of one of the other kind below: only what one layer says is a contradiction.
    fn over(self, below: Self) -> Self {
        let (per_second, per_minute) = (self.max_rps.is_some(), self.per_minute.is_some());
        Rates {
            max_rps: self.max_rps.over(below.max_rps.filter(|_| !per_minute)),
            per_minute: self.per_minute.over(below.per_minute.filter(|_| !per_second)),
            burst: self.burst.over(below.burst.filter(|_| !per_minute)),
            floor_rps: self.floor_rps.over(below.floor_rps),
            counts: self.counts.over(below.counts),
        }
    }
}

partial! {
    /// What is set for a bucket that operations, or services, share, and the place where it is named.
    Shared {
        place: At<()>,
        enabled: Option<At<bool>>,
        operations: Option<At<Vec<String>>>,
        verbs: Option<At<Vec<Verb>>>,
        per: Option<At<Per>>,
        law: Option<At<LawName>>,
        rates: Rates,
    }
}

/// What is set for one `<service>`, `<service>:<verb>` or `<service>.<Operation>`.
#[derive(Clone, Debug)]
pub(super) struct Service {
    /// As it was written last; the map's key is the same in lower case, so that `EC2` in a variable's name meets
    /// `ec2` in a file.
    pub(super) key: At<String>,
    /// As layers below have written the operation, where that is not the same one.
    pub(super) hidden: Vec<At<String>>,
    pub(super) per_operation: Option<At<bool>>,
    pub(super) law: Option<At<LawName>>,
    pub(super) share: Option<At<f64>>,
    pub(super) rates: Rates,
    pub(super) shared: BTreeMap<String, Shared>,
}

impl Over for Service {
    fn over(self, below: Self) -> Self {
        let is_other = |key: &At<String>| match (operation(&self.key.value), operation(&key.value)) {
            (Some((_, own)), Some((_, other))) => own != other,
            _ => false,
        };
        let written = std::iter::once(below.key).chain(self.hidden).chain(below.hidden);
        Service {
            hidden: written.filter(is_other).collect(),
            key: self.key,
            per_operation: self.per_operation.over(below.per_operation),
            law: self.law.over(below.law),
            share: self.share.over(below.share),
            rates: self.rates.over(below.rates),
            shared: self.shared.over(below.shared),
        }
    }
}

impl Layer {
    /// What is set out of the box beyond the generic settings: AWS throttles EC2 by the operation
    /// (<https://docs.aws.amazon.com/ec2/latest/devguide/ec2-api-throttling.html>), and so does Google Cloud with Cloud Asset
    /// (<https://cloud.google.com/asset-inventory/docs/quota>) and, by kinds of operations, with Pub/Sub
    /// (<https://cloud.google.com/pubsub/quotas>: publishers, pulls, acknowledgements and administration apart).
    pub(super) fn built_in() -> Layer {
        const PER_OPERATION: [(&str, &str); 3] = [("aws", "ec2"), ("gcp", "cloudasset"), ("gcp", "pubsub")];
        let mut providers: BTreeMap<String, Provider> = BTreeMap::new();
        for (provider, service) in PER_OPERATION {
            let path = format!("ratelimit.{provider}.services.{service}");
            let marked = Service {
                per_operation: Some(At {
                    value: true,
                    path: format!("{path}.per_operation"),
                    origin: ConfigOrigin::Code,
                }),
                key: At { value: service.to_owned(), path, origin: ConfigOrigin::Code },
                hidden: Vec::new(),
                law: None,
                share: None,
                rates: Rates::default(),
                shared: BTreeMap::new(),
            };
            providers.entry(provider.to_owned()).or_default().services.insert(service.to_owned(), marked);
        }
        Layer { providers, ..Layer::default() }
    }

    /// This layer over those below it.
    pub(super) fn over(self, below: Layer) -> Layer {
        Over::over(self, below)
    }
}

impl Provider {
    /// What the provider of this name sets, over what is set for every provider. Rules add up, the provider's own
    /// before, so that naming one for a provider does not drop those for all.
    pub(super) fn over_defaults(mut self, name: &str, mut defaults: Provider) -> Provider {
        let shared = defaults.rules.take();
        self.rules = match self.rules {
            Some(mut own) => {
                own.value = own.value.into_iter().map(|rule| rule.for_provider(name)).collect();
                own.value.extend(shared.into_iter().flat_map(|at| at.value));
                Some(own)
            }
            None => shared,
        };
        self.over(defaults)
    }

    /// The buckets in common that are set, each with the key of the service whose operations share it, if it is not for services.
    pub(super) fn shared_buckets(&self) -> impl Iterator<Item = (Option<&str>, &str, &Shared)> {
        let of_services = self.services.values().flat_map(|service| {
            let key = Some(service.key.value.as_str());
            service.shared.iter().map(move |(name, set)| (key, name.as_str(), set))
        });
        of_services.chain(self.shared.iter().map(|(name, set)| (None, name.as_str(), set)))
    }
}

impl Rates {
    pub(super) fn has_rate(&self) -> bool {
        self.max_rps.is_some() || self.per_minute.is_some()
    }

    /// `per_minute` takes the place of `max_rps` and `burst`. Of two that are both set, one has no effect.
    pub(super) fn contradiction(&self) -> Option<ConfigProblem> {
        let per_minute = self.per_minute.as_ref()?;
        let other = self.max_rps.as_ref().map(|at| ("max_rps", &at.origin));
        let (key, origin) = other.or(self.burst.as_ref().map(|at| ("burst", &at.origin)))?;
        Some(
            per_minute
                .problem(format!("takes the place of {key}, which is set, too ({origin}): leave out one of them")),
        )
    }
}
