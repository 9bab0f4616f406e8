//! Names that the catalogue knows: providers, services of theirs, and operations of those.

use super::names::service_of;
use crate::catalogue::{self, is_match};

/// Whether anything is published of a provider of this name.
pub(super) fn is_provider(name: &str) -> bool {
    catalogue::published().any(|limit| limit.provider == name)
}

/// The services of a provider of which something is published.
pub(super) fn services(provider: &str) -> impl Iterator<Item = &'static str> {
    let here = catalogue::published().filter(move |limit| limit.provider == provider);
    here.filter_map(|limit| limit.of_service())
}

/// The published operations, and patterns of such, of a provider's service in any case, or of all its services.
fn operations(provider: &str, service: Option<&str>) -> Vec<&'static str> {
    let is_its = |known: &str| service.is_none_or(|service| service.eq_ignore_ascii_case(known));
    let here = catalogue::published().filter(|limit| limit.provider == provider && is_its(limit.service));
    here.flat_map(|limit| limit.operations).copied().collect()
}

/// A key in two at each of its dots: a service's name and an operation's may both hold some.
fn splits(key: &str) -> impl Iterator<Item = (&str, &str)> {
    key.match_indices('.').filter_map(|(dot, _)| Some((key.get(..dot)?, key.get(dot + 1..)?)))
}

/// The service and the operation that a key names, if that is one of those that are published. It may be written without capitals.
pub(super) fn published_operation<'a>(provider: &str, key: &'a str) -> Option<(&'a str, &'a str)> {
    splits(key).find(|(service, operation)| {
        operations(provider, Some(service)).into_iter().any(|known| is_match(known, operation))
    })
}

/// What a key of `services` should have been, if its operation differs from what is published in case alone: it would match no call.
pub(super) fn meant_key(provider: &str, key: &str) -> Option<String> {
    let fits: Vec<(&str, Fit)> = splits(key)
        .map(|(service, operation)| (service, fit(&operations(provider, Some(service)), operation)))
        .collect();
    if fits.iter().any(|(_, fit)| *fit == Fit::Fits) {
        return None;
    }
    fits.into_iter().find_map(|(service, fit)| Some(format!("{service}.{}", fit.other()?)))
}

/// The same of an operation that a bucket in common counts, of this service or of all.
pub(super) fn meant_operation(provider: &str, service: Option<&str>, written: &str) -> Option<String> {
    fit(&operations(provider, service), written).other()
}

/// Whether an operation, or a pattern, is published that is written so.
pub(super) fn has_operation(provider: &str, service: Option<&str>, written: &str) -> bool {
    operations(provider, service).into_iter().any(|known| known == written)
}

/// The name of a service in a variable's name, where shells allow no dash: with dashes, if nothing else can be meant. Those of AWS
/// never have an underscore.
pub(super) fn with_dashes(provider: &str, key: &str) -> Option<String> {
    let service = service_of(key);
    let dashed = service.replace('_', "-");
    let is_meant = provider == "aws" || services(provider).any(|known| known.eq_ignore_ascii_case(&dashed));
    is_meant.then(|| format!("{dashed}{}", key.get(service.len()..).unwrap_or_default()))
}

/// How an operation, or a pattern that ends in a star, is written beside those that are known.
#[derive(Debug, PartialEq)]
enum Fit {
    Fits,
    /// In another case.
    Other(String),
    Unknown,
}

impl Fit {
    fn other(self) -> Option<String> {
        match self {
            Fit::Other(meant) => Some(meant),
            Fit::Fits | Fit::Unknown => None,
        }
    }
}

fn fit(known: &[&str], written: &str) -> Fit {
    // What is named by a method and a path is written as the caller wrote the path.
    let names = || known.iter().copied().filter(|name| !name.starts_with('*') && !name.contains(' '));
    let (stem, star) = written.strip_suffix('*').map_or((written, ""), |stem| (stem, "*"));
    let is_known = match star {
        "" => known.contains(&written),
        _ => known.iter().any(|name| is_match(name, stem) || name.starts_with(stem)),
    };
    if is_known || stem.starts_with('*') {
        return Fit::Fits;
    }
    if let Some(name) = names().find(|name| name.eq_ignore_ascii_case(stem)) {
        return Fit::Other(format!("{name}{star}"));
    }
    if star.is_empty() && known.iter().any(|name| is_match(name, written)) {
        return Fit::Fits;
    }
    let begins =
        |text: &str, start: &str| text.get(..start.len()).is_some_and(|found| found.eq_ignore_ascii_case(start));
    let beginnings = names().filter_map(|name| name.strip_suffix('*'));
    if let Some(start) = beginnings.into_iter().find(|start| begins(written, start)) {
        return Fit::Other(format!("{start}{}", written.get(start.len()..).unwrap_or_default()));
    }
    // A pattern may be meant for operations that nobody knows, unless all that are known begin in the other case.
    let is_upper = |text: &str| text.starts_with(|first: char| first.is_ascii_uppercase());
    let is_other = names().all(|name| is_upper(name) != is_upper(stem));
    // A request without a name is called by its method.
    let is_method = stem.chars().all(|c| c.is_ascii_uppercase());
    match names().find(|name| begins(name, stem)).and_then(|name| name.get(..stem.len())) {
        Some(start) if !star.is_empty() && is_other && !is_method => Fit::Other(format!("{start}*")),
        _ => Fit::Unknown,
    }
}
