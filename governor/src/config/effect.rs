//! What is set and would have no effect: a mistake, which its writer should hear of.

use std::collections::{BTreeMap, BTreeSet};

use super::error::ConfigProblem;
use super::known;
use super::layer::{Provider, Rates, Service, Shared};
use super::names::{is_operation, service_of, split_verb};
use super::read::At;
use super::settings::ProviderSettings;
use crate::catalogue::{self, PublishedLimit};
use crate::scope::{Scope, Verb};

/// What a provider of this name sets without effect; without a name, what the defaults do, under which these providers are.
pub(super) fn problems(
    name: Option<&str>,
    provider: &Provider,
    settings: &ProviderSettings,
    providers: &BTreeMap<String, Provider>,
) -> Vec<ConfigProblem> {
    let bursts = provider.services.values().filter_map(|service| {
        let burst = lone_burst(&service.rates)?;
        let scopes = scopes(name.unwrap_or_default(), &service.key.value);
        let is_used = scopes.iter().any(|scope| settings.uses_burst(scope, &service.key.value));
        (!is_used).then(|| burst.problem(PER_MINUTE))
    });
    let shared = provider.shared_buckets().filter(|(_, _, set)| !set.rates.has_rate()).filter_map(|bucket| {
        // The defaults may hold a part of what a provider sets.
        let is_part = name.is_none() && providers.values().any(|provider| gives_a_rate(provider, bucket));
        if is_part { None } else { without_a_rate(name, bucket) }
    });
    // What a provider inherits may well have none there.
    let is_own = |problem: &ConfigProblem| name.is_none() || !problem.path().starts_with("ratelimit.defaults.");
    let hidden =
        provider.services.values().flat_map(|service| service.hidden.iter().map(|other| hides(service, other)));
    let services = services(name, provider);
    let operations = provider.shared_buckets().filter_map(|bucket| uncounted(name, &services, bucket));
    bursts.chain(shared).chain(hidden).chain(operations).filter(is_own).collect()
}

/// Layers that set an operation write its name alike.
fn hides(service: &Service, other: &At<String>) -> ConfigProblem {
    let (own, other, place) = (&service.key.value, &other.value, &other.origin);
    service.key.problem(format!(
        "hides `{other}` ({place}), as `{own}` differs from it in case alone, and operations are compared exactly: \
         write both alike"
    ))
}

/// A burst without a rate to go with it.
fn lone_burst(rates: &Rates) -> Option<&At<Option<f64>>> {
    rates.burst.as_ref().filter(|burst| burst.value.is_some() && !rates.has_rate())
}

const PER_MINUTE: &str = "has no effect: a per_minute holds here, set for more than this or published, and all that a minute \
                          brings may be used at once; leave it out, or set max_rps, too";

// ===== buckets in common =====

type Bucket<'a> = (Option<&'a str>, &'a str, &'a Shared);

fn is_same_service(one: Option<&str>, other: Option<&str>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => one.eq_ignore_ascii_case(other),
        (one, other) => one == other,
    }
}

fn gives_a_rate(provider: &Provider, (service, name, _): Bucket<'_>) -> bool {
    let mut set = provider.shared_buckets();
    set.any(|(of, other, set)| is_same_service(of, service) && other == name && set.rates.has_rate())
}

/// What is wrong with one that no rate is set for, of this provider or, without one, of any. It is for one that is published, also
/// while [`published`](ProviderSettings::published) is off: switching that does not make a configuration invalid.
fn without_a_rate(provider: Option<&str>, (service, name, set): Bucket<'_>) -> Option<ConfigProblem> {
    let of_provider = || catalogue::shared_buckets().filter(|limit| provider.is_none_or(|name| limit.provider == name));
    let here = || of_provider().filter(|limit| is_same_service(limit.of_service(), service));
    let mut same = here().filter(|limit| limit.shared_name() == Some(name)).peekable();
    if same.peek().is_some() {
        let by_the_minute = same.all(PublishedLimit::is_by_the_minute);
        return lone_burst(&set.rates).filter(|_| by_the_minute).map(|burst| burst.problem(PER_MINUTE));
    }
    let known: BTreeSet<&str> = here().filter_map(PublishedLimit::shared_name).collect();
    let known = known.into_iter().collect::<Vec<_>>().join(", ");
    let known =
        if known.is_empty() { String::new() } else { format!(", or write one that is published here: {known}") };
    let elsewhere = of_provider().filter(|limit| limit.shared_name() == Some(name)).map(PublishedLimit::of_service);
    let elsewhere: BTreeSet<Option<&str>> = elsewhere.collect();
    let elsewhere = match (elsewhere.first(), elsewhere.len()) {
        (Some(Some(service)), 1) => format!("; it is published for {service}, under which it is to be written"),
        (Some(None), 1) => "; it is published for all services, and not to be written under one".to_owned(),
        _ => String::new(),
    };
    Some(set.place.problem(format!(
        "unknown shared bucket `{name}`, and no rate is set for it: set max_rps or per_minute{known}{elsewhere}"
    )))
}

// ===== operations of buckets in common =====

/// The services that are known of a provider, and those that are set for it.
fn services<'a>(name: Option<&str>, provider: &'a Provider) -> BTreeSet<&'a str> {
    let set = provider.services.values().map(|service| service_of(&service.key.value));
    let published = name.into_iter().flat_map(known::services);
    set.chain(published.map(|service| -> &'a str { service })).collect()
}

/// What is wrong with the operations of a bucket that could never be those of a call.
fn uncounted(
    provider: Option<&str>,
    services: &BTreeSet<&str>,
    (service, _, set): Bucket<'_>,
) -> Option<ConfigProblem> {
    let operations = set.operations.as_ref()?;
    let problems = operations.value.iter().filter_map(|written| {
        if provider.is_some_and(|provider| known::has_operation(provider, service, written)) {
            return None;
        }
        let named = match service {
            Some(service) => with_service(service, written),
            // Of two of which one begins as the other the longer is meant.
            None => services.iter().rev().find_map(|service| with_one_of_services(provider, service, written)),
        };
        named.or_else(|| {
            let meant = known::meant_operation(provider?, service, written)?;
            Some(format!("`{written}` counts no call, as operations are compared exactly: did you mean `{meant}`?"))
        })
    });
    let problems: Vec<String> = problems.collect();
    (!problems.is_empty()).then(|| operations.problem(problems.join("; ")))
}

/// What is wrong with an operation of a bucket of this service, if it is named with the service.
fn with_service(service: &str, written: &str) -> Option<String> {
    let (start, rest) = written.split_at_checked(service.len())?;
    let bare = rest.strip_prefix(['.', ':', '/']).filter(|bare| !bare.is_empty())?;
    if !start.eq_ignore_ascii_case(service) {
        return None;
    }
    Some(match split_verb(written) {
        Some((_, verb)) => format!("`{written}` is a verb and no operation: write `verbs: [{}]`", verb.code()),
        None => format!("`{written}` counts no call, as operations are named without their service: write `{bare}`"),
    })
}

/// The same of a bucket that services share, whose operations may be called as a service of another case is.
fn with_one_of_services(provider: Option<&str>, service: &str, written: &str) -> Option<String> {
    let alone = format!("set the bucket under `services.{service}.shared`");
    if written == service && provider.is_some_and(|provider| known::services(provider).any(|known| known == service)) {
        return Some(format!("`{written}` is a service and no operation: {alone}"));
    }
    let said = with_service(service, written).filter(|_| written.starts_with(service))?;
    Some(format!("{said}, or {alone} for that service alone"))
}

// ===== bursts =====

/// Scopes of every kind that a key of `services` names. A service's name and an operation's may both hold dots, so that a key
/// may be read in several ways: as one that is known, if there is any.
fn scopes(provider: &str, key: &str) -> Vec<Scope> {
    let (name, verbs) = match split_verb(key) {
        Some((name, verb)) => (name, vec![Some(verb)]),
        None => (key, std::iter::once(None).chain(Verb::ALL.map(Some)).collect()),
    };
    let split = name.match_indices('.').filter_map(|(dot, _)| Some((name.get(..dot)?, name.get(dot + 1..)?)));
    let whole = (!is_operation(key)).then_some((name, ""));
    let read: Vec<(Scope, &str)> = whole
        .into_iter()
        .chain(split)
        .map(|(service, operation)| (Scope::new(provider, "", "", service.to_ascii_lowercase()), operation))
        .collect();
    let is_known = |(service, _): &&(Scope, &str)| catalogue::knows_service(service);
    let known: Vec<&(Scope, &str)> = read.iter().filter(is_known).collect();
    let read = if known.is_empty() { read.iter().collect() } else { known };
    let with_operations = read.into_iter().flat_map(|(service, operation)| {
        let named = operations(service, operation).into_iter();
        named.map(|operation| service.clone().with_operation(operation))
    });
    with_operations.flat_map(|scope| verbs.iter().map(move |verb| scope.clone().with_verb(*verb))).collect()
}

/// The operations of a service that are written so: every one that something is published of, and one of which nothing is known.
fn operations(service: &Scope, written: &str) -> Vec<String> {
    // No pattern begins with what stands here.
    const UNKNOWN: &str = "?";
    let published = |start: &str| {
        let all = catalogue::operations(service).filter(|operation| operation.starts_with(start));
        all.map(str::to_owned).collect::<Vec<_>>()
    };
    match written.strip_suffix('*') {
        Some(start) => [vec![format!("{start}{UNKNOWN}")], published(start)].concat(),
        None if written.is_empty() => [vec![String::new(), UNKNOWN.to_owned()], published("")].concat(),
        None => vec![written.to_owned()],
    }
}
