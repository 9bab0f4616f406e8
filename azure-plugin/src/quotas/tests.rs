use azure_core::http::headers::Headers;
use proptest::prelude::*;

use super::{LONGEST_NAME, MOST_QUOTAS, quotas_left};

fn quotas(headers: &[(&'static str, &str)]) -> Vec<(String, u64)> {
    let mut all = Headers::new();
    for (name, value) in headers {
        all.insert(*name, (*value).to_owned());
    }
    let mut found: Vec<_> = quotas_left(&all).map(|(name, left)| (name.into_owned(), left)).collect();
    found.sort();
    found
}

fn one(name: &'static str, value: &str) -> Vec<(String, u64)> {
    quotas(&[(name, value)])
}

#[test]
fn each_remaining_header_of_the_resource_manager_is_a_quota() {
    let names = [
        "subscription-reads",
        "subscription-writes",
        "subscription-deletes",
        "subscription-global-reads",
        "subscription-global-writes",
        "subscription-global-deletes",
        "subscription-resource-requests",
        "tenant-reads",
        "tenant-writes",
        "tenant-deletes",
        "tenant-resource-requests",
    ];
    for name in names {
        let header: &'static str = format!("x-ms-ratelimit-remaining-{name}").leak();
        assert_eq!(one(header, "199"), [(name.to_owned(), 199)]);
    }
}

#[test]
fn what_counts_only_some_of_a_leafs_calls_is_none_of_its_quotas() {
    let policies = "Microsoft.Compute/HighCostGet3Min;159, Microsoft.Compute/LowCostGetResource;11";
    assert_eq!(one("x-ms-ratelimit-remaining-resource", policies), []);
    assert_eq!(one("x-ms-ratelimit-remaining-subscription-resource-entities-read", "4000"), []);
    assert_eq!(one("x-ms-ratelimit-remaining-tenant-resource-entities-read", "4000"), []);
}

#[test]
fn resource_graphs_user_quota_has_a_name_of_its_own() {
    assert_eq!(one("x-ms-user-quota-remaining", "14"), [("user-quota".to_owned(), 14)]);
}

#[test]
fn all_of_one_answer_are_found_and_other_headers_are_not() {
    let found = quotas(&[
        ("x-ms-ratelimit-remaining-subscription-reads", "249"),
        ("x-ms-ratelimit-remaining-resource", "Microsoft.Compute/GetVM3Min;0"),
        ("x-ms-ratelimit-remaining-calls-per-second", "12"),
        ("x-ms-request-charge", "1"),
        ("retry-after", "3"),
    ]);
    assert_eq!(found, [("subscription-reads".to_owned(), 249)]);
}

#[test]
fn garbage_is_passed_over_and_what_stands_beside_it_is_not() {
    for value in ["", "many", "-1", "1.5", "99999999999999999999999", "0x10"] {
        assert_eq!(one("x-ms-ratelimit-remaining-tenant-reads", value), [], "{value:?}");
    }
    let long: &'static str = format!("x-ms-ratelimit-remaining-subscription-{}", "x".repeat(LONGEST_NAME)).leak();
    assert_eq!(one(long, "1"), []);
}

#[test]
fn one_answer_names_a_bounded_number_of_quotas() {
    let many: Vec<&'static str> =
        (0..1000).map(|at| &*format!("x-ms-ratelimit-remaining-subscription-{at}").leak()).collect();
    let many: Vec<_> = many.into_iter().map(|name| (name, "7")).collect();
    assert_eq!(quotas(&many).len(), MOST_QUOTAS);
}

proptest! {
    #[test]
    fn any_value_is_read_without_a_panic_and_a_number_is_found(value in any::<String>(), left in any::<u64>()) {
        for name in ["x-ms-ratelimit-remaining-resource", "x-ms-ratelimit-remaining-subscription-reads", "x-ms-user-quota-remaining"] {
            prop_assert!(one(name, &value).len() <= 1);
        }
        let found = one("x-ms-ratelimit-remaining-subscription-reads", &left.to_string());
        prop_assert_eq!(found, [("subscription-reads".to_owned(), left)]);
    }
}
