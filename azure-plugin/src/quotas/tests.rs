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
        "subscription-resource-entities-read",
        "tenant-reads",
        "tenant-writes",
        "tenant-deletes",
        "tenant-resource-requests",
        "tenant-resource-entities-read",
    ];
    for name in names {
        let header: &'static str = format!("x-ms-ratelimit-remaining-{name}").leak();
        assert_eq!(one(header, "199"), [(name.to_owned(), 199)]);
    }
}

#[test]
fn each_policy_of_a_resource_provider_is_a_quota() {
    let header = "Microsoft.Compute/HighCostGet3Min;159, Microsoft.Compute/HighCostGet30Min;1297";
    let expected = [
        ("Microsoft.Compute/HighCostGet30Min".to_owned(), 1297),
        ("Microsoft.Compute/HighCostGet3Min".to_owned(), 159),
    ];
    assert_eq!(one("x-ms-ratelimit-remaining-resource", header), expected);
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
    assert_eq!(found, [("Microsoft.Compute/GetVM3Min".to_owned(), 0), ("subscription-reads".to_owned(), 249)]);
}

#[test]
fn garbage_is_passed_over_and_what_stands_beside_it_is_not() {
    for value in ["", "many", "-1", "1.5", "99999999999999999999999", "0x10"] {
        assert_eq!(one("x-ms-ratelimit-remaining-tenant-reads", value), [], "{value:?}");
    }
    for value in ["", ";", ",;,", "A", "A;", ";7", "A;B", "a b;7", "A;-1"] {
        assert_eq!(one("x-ms-ratelimit-remaining-resource", value), [], "{value:?}");
    }
    assert_eq!(one("x-ms-ratelimit-remaining-resource", "A;x,B;2,;3,C"), [("B".to_owned(), 2)]);
    let long = format!("{};1", "x".repeat(LONGEST_NAME + 1));
    assert_eq!(one("x-ms-ratelimit-remaining-resource", &long), []);
}

#[test]
fn one_answer_names_a_bounded_number_of_quotas() {
    let many: Vec<String> = (0..1000).map(|at| format!("P{at};{at}")).collect();
    assert_eq!(one("x-ms-ratelimit-remaining-resource", &many.join(",")).len(), MOST_QUOTAS);
}

proptest! {
    #[test]
    fn any_value_is_read_without_a_panic(value in any::<String>(), other in ".{0,40}[,;][0-9]{1,4}") {
        for name in ["x-ms-ratelimit-remaining-resource", "x-ms-ratelimit-remaining-subscription-reads", "x-ms-user-quota-remaining"] {
            for value in [&value, &other] {
                let found = one(name, value);
                prop_assert!(found.len() <= MOST_QUOTAS);
                prop_assert!(found.iter().all(|(name, _)| !name.is_empty() && name.len() <= LONGEST_NAME));
            }
        }
    }

    #[test]
    fn whatever_is_well_formed_is_found(policies in prop::collection::btree_map("[A-Za-z./]{1,20}", any::<u64>(), 0..MOST_QUOTAS)) {
        let value: Vec<String> = policies.iter().map(|(name, left)| format!("{name};{left}")).collect();
        prop_assert_eq!(one("x-ms-ratelimit-remaining-resource", &value.join(",")), policies.into_iter().collect::<Vec<_>>());
    }
}
