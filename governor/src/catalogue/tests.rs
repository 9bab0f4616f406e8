use std::collections::BTreeSet;

use super::*;

mod aws;
mod azure_gcp;

/// The operations of a limit; one that is empty stands for all.
fn operations(limit: &PublishedLimit) -> &[&'static str] {
    if limit.operations.is_empty() { &[""] } else { limit.operations }
}

#[test]
fn no_operation_is_counted_twice_in_the_same_way() {
    let mut seen = BTreeSet::new();
    for limit in published() {
        let verbs = if limit.verbs.is_empty() { vec![None] } else { limit.verbs.iter().copied().map(Some).collect() };
        for operation in operations(limit) {
            for verb in &verbs {
                let key = (
                    limit.provider,
                    limit.service,
                    operation,
                    *verb,
                    format!("{:?}", (limit.counted, limit.condition)),
                );
                assert!(seen.insert(key.clone()), "{key:?} is there twice");
            }
        }
    }
}

#[test]
fn every_limit_says_where_it_is_published_and_when_that_was_read() {
    for limit in published() {
        let Source { page, read, code } = limit.source;
        let (host, path) = page.split_once('/').unwrap_or_default();
        assert!(host.contains('.') && !path.is_empty() && !page.contains(char::is_whitespace), "{limit:?}");
        let (year, month) = read.split_once('-').unwrap_or_default();
        assert!(year.len() == 4 && month.len() == 2, "{limit:?}");
        assert!(year.parse::<u16>().is_ok() && month.parse::<u8>().is_ok_and(|month| month <= 12), "{limit:?}");
        assert!(code.is_none_or(|code| !code.is_empty()), "{limit:?}");
    }
}

#[test]
fn a_bucket_that_is_shared_has_a_name_in_kebab_case() {
    for limit in published() {
        let Counted::Together { name, .. } = limit.counted else { continue };
        let plain = |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
        assert!(name.split('-').all(plain), "{name}");
    }
}

#[test]
fn no_two_buckets_that_are_shared_are_the_same() {
    let mut seen = BTreeSet::new();
    for limit in published().filter(|limit| limit.condition.is_none()) {
        let Counted::Together { name, .. } = limit.counted else { continue };
        // Two of one name are told apart by the one verb that each counts.
        let verb = if let [verb] = limit.verbs { Some(*verb) } else { None };
        let key = (limit.provider, limit.service, name, verb);
        assert!(seen.insert(key), "{key:?} is there twice");
    }
}
