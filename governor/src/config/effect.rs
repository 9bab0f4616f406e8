//! What is set and would have no effect: a mistake, which its writer should hear of.

use super::error::ConfigProblem;
use super::layer::Provider;
use super::names::{is_operation, split_verb};
use super::settings::ProviderSettings;
use crate::catalogue;
use crate::scope::{Scope, Verb};

/// What a provider of this name sets without effect; none is that of the defaults.
pub(super) fn problems(name: Option<&str>, provider: &Provider, settings: &ProviderSettings) -> Vec<ConfigProblem> {
    let name = name.unwrap_or_default();
    let services = provider.services.values();
    let bursts = services.filter_map(|service| {
        let burst = service.rates.burst.as_ref().filter(|burst| burst.value.is_some() && !service.rates.has_rate())?;
        let is_used = scopes(name, &service.key).iter().any(|scope| settings.uses_burst(scope, &service.key));
        (!is_used).then(|| burst.problem(PER_MINUTE))
    });
    // What a provider inherits may well have none there.
    let is_own = |problem: &ConfigProblem| name.is_empty() || !problem.path().starts_with("ratelimit.defaults.");
    bursts.filter(is_own).collect()
}

const PER_MINUTE: &str = "has no effect: a per_minute holds here, set for more than this or published, and all that a minute \
                          brings may be used at once; leave it out, or set max_rps, too";

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
