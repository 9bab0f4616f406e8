//! Which published limits hold for a scope.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::{Counted, PublishedLimit, published};
use crate::scope::{Scope, Verb};

/// What is known of one service of one provider.
type Index = HashMap<(&'static str, &'static str), Vec<&'static PublishedLimit>>;

/// Limits with a condition are left out, as nothing tells whether it is met.
static INDEX: LazyLock<Index> = LazyLock::new(|| {
    let mut index = Index::new();
    for limit in published().filter(|limit| limit.condition.is_none()) {
        index.entry((limit.provider, limit.service)).or_default().push(limit);
    }
    index
});

/// What is known of the scope's service, and then of every service of its provider.
fn of_scope(scope: &Scope) -> impl Iterator<Item = &'static PublishedLimit> {
    let find = |service| INDEX.get(&(scope.provider(), service)).into_iter().flatten().copied();
    let every = (scope.service() != "*").then_some("*");
    find(scope.service()).chain(every.into_iter().flat_map(find))
}

/// The limit of the scope's own bucket: what names it most exactly. What a service grants each of its operations is no limit of
/// all together, so a scope without one has none of those.
pub(crate) fn own(scope: &Scope) -> Option<&'static PublishedLimit> {
    let is_its = |limit: &&PublishedLimit| scope.operation().is_some() || limit.service == "*";
    let each = of_scope(scope).filter(|limit| limit.counted == Counted::Each && limit.holds_for(scope)).filter(is_its);
    each.max_by_key(|limit| (limit.service != "*", limit.exactness(scope), !limit.verbs.is_empty()))
}

/// The buckets that operations, or services, share.
pub(crate) fn shared_buckets() -> impl Iterator<Item = &'static PublishedLimit> {
    INDEX.values().flatten().copied().filter(|limit| limit.shared_name().is_some())
}

/// Whether anything is known of the scope's service itself.
pub(crate) fn knows_service(scope: &Scope) -> bool {
    INDEX.contains_key(&(scope.provider(), scope.service()))
}

/// The operations of the scope's service of which something is known; of a pattern, what it has instead of the star is nothing.
pub(crate) fn operations(scope: &Scope) -> impl Iterator<Item = &'static str> {
    of_scope(scope).flat_map(|limit| limit.operations).map(|pattern| pattern.trim_matches('*'))
}

/// The limits that operations of the scope's service share, and that services of its provider do.
pub(crate) fn groups(scope: &Scope) -> impl Iterator<Item = &'static PublishedLimit> {
    of_scope(scope).filter(|limit| limit.shared_name().is_some())
}

/// Those that the scope itself shares.
pub(crate) fn together(scope: &Scope) -> impl Iterator<Item = &'static PublishedLimit> {
    groups(scope).filter(|limit| limit.holds_for(scope))
}

impl PublishedLimit {
    /// The name of the bucket, if it is one that operations or services share.
    pub(crate) fn shared_name(&self) -> Option<&'static str> {
        match self.counted {
            Counted::Together { name, .. } => Some(name),
            Counted::Each | Counted::Allowance => None,
        }
    }

    /// The service that it is of, if it is not of all.
    pub(crate) fn of_service(&self) -> Option<&'static str> {
        Some(self.service).filter(|service| *service != "*")
    }

    fn holds_for(&self, scope: &Scope) -> bool {
        fits(self.verbs, self.operations.iter().copied(), scope)
    }

    /// How exactly it names the scope's operation: by itself, by a longer pattern, by a shorter one, not at all.
    fn exactness(&self, scope: &Scope) -> usize {
        let operation = scope.operation().unwrap_or_default();
        let exactness = |pattern: &&str| if *pattern == operation { usize::MAX } else { pattern.len() };
        self.operations.iter().filter(|pattern| is_match(pattern, operation)).map(exactness).max().unwrap_or(0)
    }
}

/// Whether a limit of these verbs and operations, or of all where there are none, counts the scope's calls.
pub(crate) fn fits<'a>(verbs: &[Verb], operations: impl ExactSizeIterator<Item = &'a str>, scope: &Scope) -> bool {
    let verb_fits = verbs.is_empty() || scope.verb().is_some_and(|verb| verbs.contains(&verb));
    let any = operations.len() == 0;
    let mut operations = operations;
    verb_fits
        && (any || scope.operation().is_some_and(|operation| operations.any(|pattern| is_match(pattern, operation))))
}

/// One star, at the beginning or the end of a pattern, stands for any text.
pub(crate) fn is_match(pattern: &str, operation: &str) -> bool {
    match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        (Some(end), _) => operation.ends_with(end),
        (None, Some(start)) => operation.starts_with(start),
        (None, None) => pattern == operation,
    }
}
