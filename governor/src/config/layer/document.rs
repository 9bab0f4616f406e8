//! A layer read from a document.

use std::collections::BTreeMap;

use super::super::bounds;
use super::super::error::ConfigProblem;
use super::super::known;
use super::super::names::{check_provider, check_service, check_shared, operation, split_verb};
use super::super::node::{Entry, Node, Value};
use super::super::read::{
    At, Reading, Section, Source, boolean, count, duration, jitter, names, number, one_of, optional_duration,
    optional_number, several_of,
};
use super::super::rules;
use super::super::settings::{Counts, LawName};
use super::{Layer, Provider, Rates, Service, Shared};
use crate::catalogue::Per;
use crate::classify::Rule;
use crate::scope::Verb;

impl Layer {
    /// Reads a document; whatever is wrong with it goes to `problems`.
    pub(in crate::config) fn read(node: Node, source: &Source, problems: &mut Vec<ConfigProblem>) -> Layer {
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
}

impl Provider {
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
