//! One layer of configuration: what a document sets and what it leaves to the layers below.

use std::collections::BTreeMap;
use std::time::Duration;

use super::bounds;
use super::error::{ConfigOrigin, ConfigProblem};
use super::known;
use super::names::{check_provider, check_service, check_shared, operation, split_verb};
use super::node::{Entry, Node, Value};
use super::read::{
    At, Reading, Section, Source, boolean, count, duration, jitter, names, number, one_of, optional_duration,
    optional_number, several_of,
};
use super::rules;
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

    /// Reads a document; whatever is wrong with it goes to `problems`.
    pub(super) fn read(node: Node, source: &Source, problems: &mut Vec<ConfigProblem>) -> Layer {
        let reading = Reading { source, problems: Default::default() };
        let mut document = Section::new(&reading, String::new(), node);
        let mut ratelimit = document.section("ratelimit");
        document.finish();
        let mut layer = Layer {
            enabled: ratelimit.take("enabled", boolean),
            defaults: Provider::read(ratelimit.section("defaults"), None),
            providers: BTreeMap::new(),
        };
        for (path, Entry { key, line, node }) in ratelimit.rest() {
            let name = key.to_ascii_lowercase();
            if let Err(message) = check_provider(&name, &key, &node.value) {
                reading.report(path, line, message);
                continue;
            }
            let provider = Provider::read(Section::new(&reading, path.clone(), node), Some(&name));
            if layer.providers.insert(name, provider).is_some() {
                reading.report(path, line, "is given twice, in another case");
            }
        }
        let mut found = reading.problems.into_inner();
        found.sort_by_key(|problem| problem.origin().line());
        problems.append(&mut found);
        layer
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

    /// Of this name, or what holds for every provider.
    fn read(mut section: Section<'_>, name: Option<&str>) -> Provider {
        let mut breaker = section.section("breaker");
        let mut throttle = section.section("throttle");
        let provider = Provider {
            enabled: section.take("enabled", boolean),
            account_concurrency: section.take("account_concurrency", count(1)),
            retry_budget: section.take("retry_budget", count(0)),
            law: section.take("law", one_of(&LawName::ALL, LawName::name)),
            share: section.take("share", number(bounds::SHARE)),
            published: section.take("published", boolean),
            rates: Rates::read(&mut section),
            failures: breaker.take("failures", count(1)),
            cooldown: breaker.take("cooldown", duration),
            max_retries: section.take("max_retries", count(0)),
            base_delay: section.take("base_delay", duration),
            max_backoff: section.take("max_backoff", duration),
            jitter: section.take("jitter", jitter),
            deadline: section.take("deadline", optional_duration),
            attempt_timeout: section.take("attempt_timeout", optional_duration),
            factor: throttle.take("factor", number(bounds::FACTOR)),
            pause_cap: throttle.take("pause_cap", duration),
            cut_interval: throttle.take("cut_interval", duration),
            recovery_after: throttle.take("recovery_after", duration),
            recovery_step: throttle.take("recovery_step", number(bounds::STEP)),
            connect_timeout: section.take("connect_timeout", duration),
            read_timeout: section.take("read_timeout", duration),
            rules: read_rules(&mut section),
            services: read_services(section.section("services"), name),
            shared: read_shared(section.section("shared")),
        };
        breaker.finish();
        throttle.finish();
        section.finish();
        provider
    }
}

impl Rates {
    fn read(section: &mut Section<'_>) -> Rates {
        let rates = Rates {
            max_rps: section.take("max_rps", optional_number(bounds::RATE)),
            per_minute: section.take("per_minute", number(bounds::BURST)),
            burst: section.take("burst", optional_number(bounds::BURST)),
            floor_rps: section.take("floor_rps", number(bounds::RATE)),
            counts: section.take("counts", one_of(&Counts::ALL, Counts::name)),
        };
        // Here, as another layer may take away the one that contradicts.
        section.reading().problems.borrow_mut().extend(rates.contradiction());
        rates
    }

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

fn read_shared(section: Section<'_>) -> BTreeMap<String, Shared> {
    let reading = section.reading();
    let whose = section.path().strip_suffix(".shared").unwrap_or_default().to_owned();
    let mut buckets = BTreeMap::new();
    for (path, Entry { key, line, node }) in section.rest() {
        if let Err(message) = check_shared(&key) {
            reading.report(path, line, message);
            continue;
        }
        let place = At { value: (), path: path.clone(), origin: reading.source.at(line) };
        let mut section = Section::new(reading, path, node);
        section.belongs("share", format!("a bucket in common has that of what it is set under: write `{whose}.share`"));
        let shared = Shared {
            place,
            enabled: section.take("enabled", boolean),
            operations: section.take("operations", names),
            verbs: section.take("verbs", several_of(&Verb::ALL, Verb::code)),
            per: section.take("per", one_of(&Per::ALL, Per::name)),
            law: section.take("law", one_of(&LawName::ALL, LawName::name)),
            rates: Rates::read(&mut section),
        };
        section.finish();
        buckets.insert(key, shared);
    }
    buckets
}

/// Of the provider of this name, or of every provider.
fn read_services(section: Section<'_>, provider: Option<&str>) -> BTreeMap<String, Service> {
    let reading = section.reading();
    let place = section.path().to_owned();
    let mut services = BTreeMap::new();
    for (path, Entry { key, line, node }) in section.rest() {
        let identity = key.to_ascii_lowercase();
        if let Err(message) = check_service(&key) {
            reading.report(path, line, message);
            continue;
        }
        if services.contains_key(&identity) {
            reading.report(path, line, format!("`{key}` is given twice, in another case"));
            continue;
        }
        if let Some(meant) = provider.and_then(|name| known::meant_key(name, &key)) {
            let message = format!("`{key}` names no call, as operations are compared exactly: did you mean `{meant}`?");
            reading.report(path, line, message);
            continue;
        }
        let written = At { value: key.clone(), path: path.clone(), origin: reading.source.at(line) };
        let mut section = Section::new(reading, path, node);
        let published = provider.and_then(|name| known::published_operation(name, &key));
        let (operation, verb) = (published.or(operation(&key)), split_verb(&key));
        if let Some((service, operation)) = operation {
            let operation = if operation.contains('*') { format!("'{operation}'") } else { operation.to_owned() };
            section.belongs(
                "per_operation",
                format!(
                    "it marks a service, and what this key names has a bucket of its own already: write \
                     `{place}.{service}.per_operation`"
                ),
            );
            section.belongs(
                "shared",
                format!(
                    "operations share buckets under their service: write `{place}.{service}.shared`, with \
                     `operations: [{operation}]` in the bucket"
                ),
            );
        } else if let Some((service, verb)) = verb {
            section.belongs(
                "shared",
                format!(
                    "calls of a verb share buckets under their service: write `{place}.{service}.shared`, with \
                     `verbs: [{}]` in the bucket",
                    verb.code()
                ),
            );
        }
        let per_operation = if operation.is_none() { section.take("per_operation", boolean) } else { None };
        let law = section.take("law", one_of(&LawName::ALL, LawName::name));
        let share = section.take("share", number(bounds::SHARE));
        let rates = Rates::read(&mut section);
        // What is written under an operation or a verb would be taken for another bucket than the service's.
        let is_service = operation.is_none() && verb.is_none();
        let shared = if is_service { read_shared(section.section("shared")) } else { BTreeMap::new() };
        section.finish();
        let hidden = Vec::new();
        services.insert(identity, Service { key: written, hidden, per_operation, law, share, rates, shared });
    }
    services
}

fn read_rules(section: &mut Section<'_>) -> Option<At<Vec<Rule>>> {
    let reading = section.reading();
    let (path, node) = section.node("rules")?;
    let origin = reading.source.at(node.line);
    let rules = match node.value {
        Value::Null => Vec::new(),
        Value::Rules(rules) => rules,
        Value::List(items) => {
            let read = |(index, item): (usize, &Node)| match rules::rule(item) {
                Ok(rule) => Some(rule),
                Err(error) => {
                    reading.report(format!("{path}[{index}]"), error.line, error.message);
                    None
                }
            };
            items.iter().enumerate().filter_map(read).collect()
        }
        other => {
            reading.report(path, node.line, format!("is {}, but must be a list of rules", other.describe()));
            return None;
        }
    };
    Some(At { value: rules, path, origin })
}
