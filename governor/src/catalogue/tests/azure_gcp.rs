use std::collections::{BTreeMap, BTreeSet};

use super::super::{azure, gcp};
use super::*;
use crate::scope::Scope;

const VERBS: [Verb; 3] = [Verb::Read, Verb::Write, Verb::Delete];

fn subscription(service: &str, verb: Verb, operation: &str) -> Scope {
    let scope = Scope::new("azure", "0b1f6471-1bf0-4dda-aec3-cb9272f09590", "", service).with_verb(verb);
    if operation.is_empty() { scope } else { scope.with_operation(operation) }
}

fn project(service: &str, operation: &str) -> Scope {
    Scope::new("gcp", "projects/p", "", service).with_operation(operation)
}

/// The buckets that a scope shares: `name, as the grant is written`.
fn shared(scope: &Scope) -> BTreeSet<String> {
    let name = |limit: &PublishedLimit| match limit.counted {
        Counted::Together { name, .. } => format!("{name}: {}", limit.grant),
        _ => unreachable!("a limit that is shared"),
    };
    together(scope).map(name).collect()
}

fn own_grant(scope: &Scope) -> Option<String> {
    own(scope).map(|limit| limit.grant.to_string())
}

#[test]
fn the_tables_are_sorted_by_service_and_what_holds_together_comes_first() {
    for table in [azure::LIMITS, gcp::LIMITS] {
        assert!(table.is_sorted_by_key(|limit| match limit.counted {
            Counted::Together { name, .. } => (limit.service, 0, name),
            _ => (limit.service, 1, limit.operations.first().copied().unwrap_or_default()),
        }));
    }
    assert!(azure::LIMITS.iter().all(|limit| limit.provider == "azure"));
    assert!(gcp::LIMITS.iter().all(|limit| limit.provider == "gcp"));
}

#[test]
fn operations_are_sorted_and_none_is_in_two_groups_of_compute() {
    for limit in azure::LIMITS.iter().chain(gcp::LIMITS) {
        assert!(limit.operations.is_sorted(), "{limit:?}");
    }
    let mut groups = BTreeMap::new();
    for limit in azure::LIMITS.iter().filter(|limit| limit.service == "compute") {
        for operation in limit.operations {
            assert_eq!(groups.insert(*operation, limit.counted), None, "{operation}");
        }
    }
}

#[test]
fn an_operation_is_a_name_as_scopes_have_it_or_a_pattern_with_one_star_at_an_end() {
    let is_word = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric());
    for limit in azure::LIMITS.iter().chain(gcp::LIMITS) {
        for operation in limit.operations {
            let name = operation.strip_prefix("*.").or(operation.strip_suffix(".*")).unwrap_or(operation);
            let plain = match name.strip_prefix("GET ") {
                Some(types) => types.strip_suffix('*').unwrap_or(types).split('/').all(is_word),
                None => name.split('.').count() <= 2 && name.split('.').all(is_word),
            };
            assert!(plain, "{}: {operation}", limit.service);
        }
    }
}

/// Each call of Resource Manager takes from the subscription's bucket for its verb, and no leaf is faster than that one.
#[test]
fn a_leaf_of_resource_manager_that_nothing_else_is_known_of_starts_at_its_subscriptions_bucket() {
    for (verb, own, bucket) in [
        (Verb::Read, "25/s, burst 250", "subscription-reads: 25/s, burst 250"),
        (Verb::Write, "10/s, burst 200", "subscription-writes: 10/s, burst 200"),
        (Verb::Delete, "10/s, burst 200", "subscription-deletes: 10/s, burst 200"),
    ] {
        let scope = subscription("cognitiveservices", verb, "");
        assert_eq!(own_grant(&scope).as_deref(), Some(own), "{scope}");
        assert_eq!(shared(&scope), BTreeSet::from([bucket.to_owned()]), "{scope}");
    }
}

/// The engine takes what an answer says of a quota to the bucket of that name.
#[test]
fn the_buckets_of_a_subscription_are_called_as_resource_manager_calls_its_quotas() {
    for verb in VERBS {
        let scope = subscription("*", verb, "");
        let mut named = together(&scope);
        let counted = named.next().map(|limit| limit.counted);
        let name: &str = &format!("subscription-{verb}s");
        assert!(matches!(counted, Some(Counted::Together { name: found, per: Per::Account }) if found == name));
        assert_eq!(named.next(), None);
    }
}

#[test]
fn what_has_no_verb_is_none_of_resource_managers() {
    for service in ["storage.blob", "servicebus", "identity"] {
        let scope = Scope::new("azure", "account", "", service);
        assert_eq!((own(&scope), shared(&scope)), (None, BTreeSet::new()), "{scope}");
    }
    let secret = |operation: &str| shared(&Scope::new("azure", "vault", "", "keyvault").with_operation(operation));
    assert_eq!(secret("getSecret"), BTreeSet::from(["transactions: 4000 in 10 s, burst 4000".to_owned()]));
    assert_eq!(secret("setSecret"), BTreeSet::from(["creates: 300 in 10 s, burst 300".to_owned()]));
}

#[test]
fn a_group_of_compute_keeps_the_tokens_of_three_minutes() {
    for limit in azure::LIMITS.iter().filter(|limit| limit.service == "compute") {
        let Grant { calls, per, burst, refill } = limit.grant;
        assert_eq!((burst, per.as_secs(), refill), (3.0 * calls, 60, Refill::Steps), "{limit:?}");
    }
}

#[test]
fn calls_to_a_resource_provider_take_from_its_buckets_and_from_the_subscriptions() {
    let reads = "subscription-reads: 25/s, burst 250";
    let writes = "subscription-writes: 10/s, burst 200";
    for (service, verb, operation, buckets) in [
        ("compute", Verb::Read, "VirtualMachines.listAll", vec!["vm-high-cost-gets: 300/min, burst 900", reads]),
        ("compute", Verb::Read, "VirtualMachines.instanceView", vec!["vm-low-cost-gets: 8000/min, burst 24000", reads]),
        ("compute", Verb::Write, "VirtualMachines.restart", vec!["vm-updates: 500/min, burst 1500", writes]),
        // A poll for the end of it has its name.
        ("compute", Verb::Read, "VirtualMachines.restart", vec![reads]),
        // Whether the scale set is new is not told.
        ("compute", Verb::Write, "VirtualMachineScaleSets.createOrUpdate", vec![writes]),
        ("network", Verb::Read, "VirtualNetworks.listAll", vec!["reads: 10000 in 300 s, burst 10000", reads]),
        ("network", Verb::Write, "", vec!["changes: 1000 in 300 s, burst 1000", writes]),
        (
            "network",
            Verb::Read,
            "GET dnsZones/A",
            vec!["dns-reads: 500 in 300 s, burst 500", "reads: 10000 in 300 s, burst 10000", reads],
        ),
        ("resourcegraph", Verb::Read, "", vec!["user-quota: 15 in 5 s, burst 15", reads]),
        (
            "storage",
            Verb::Write,
            "StorageAccounts.create",
            vec!["writes: 10/s, burst 10", "writes-in-an-hour: 1200 in 3600 s, burst 1200", writes],
        ),
    ] {
        let scope = subscription(service, verb, operation);
        assert_eq!(shared(&scope), buckets.into_iter().map(str::to_owned).collect(), "{scope}");
    }
}

#[test]
fn cloud_asset_counts_each_operation_for_the_project_and_once_more_for_the_organization() {
    for (operation, own, bucket) in [
        ("BatchGetAssetsHistory", "100/min", Some("organization-batch-get-assets-history: 180/min")),
        ("ExportAssets", "60/min", Some("organization-export-assets: 75/min")),
        ("ListAssets", "100/min", Some("organization-list-assets: 800/min")),
        ("SearchAllIamPolicies", "400/min", Some("organization-search-all-iam-policies: 3000/min")),
        ("SearchAllResources", "400/min", Some("organization-search-all-resources: 1500/min")),
        ("AnalyzeIamPolicy", "100/min", None),
    ] {
        let scope = project("cloudasset", operation);
        assert_eq!(own_grant(&scope).as_deref(), Some(own), "{scope}");
        assert_eq!(shared(&scope), bucket.into_iter().map(str::to_owned).collect(), "{scope}");
    }
    let organizations = gcp::LIMITS.iter().filter_map(|limit| match limit.counted {
        Counted::Together { name, per: Per::Organization } => Some(name),
        _ => None,
    });
    assert!(
        organizations.clone().count() == 5 && organizations.into_iter().all(|name| name.starts_with("organization-"))
    );
}

#[test]
fn a_days_allowance_is_told_and_paces_nothing() {
    let export = gcp::LIMITS.iter().filter(|limit| limit.operations == ["ExportAssets"]);
    let daily: BTreeSet<_> = export
        .filter(|limit| limit.counted == Counted::Allowance)
        .map(|limit| (limit.grant.to_string(), limit.condition))
        .collect();
    let organization = Some("all projects of an organization together");
    assert_eq!(daily, BTreeSet::from([("13000/day".to_owned(), organization), ("6000/day".to_owned(), None)]));
    assert_eq!(own_grant(&project("cloudasset", "ExportAssets")).as_deref(), Some("60/min"));
}

#[test]
fn compute_engine_counts_lists_reads_and_polls_by_how_their_names_end() {
    for (operation, own, buckets) in [
        ("instances.list", "1500/min", vec!["lists: 1500/min"]),
        ("instances.aggregatedList", "1500/min", vec![]),
        ("instances.get", "1500/min", vec!["reads: 1500/min"]),
        ("instances.insert", "1500/min", vec![]),
        ("zoneOperations.get", "1500/min", vec!["operation-reads: 1500/min", "reads: 1500/min"]),
        ("projects.setCommonInstanceMetadata", "36/min", vec![]),
        ("licenses.insert", "150/min", vec![]),
    ] {
        let scope = project("compute", operation);
        assert_eq!(own_grant(&scope).as_deref(), Some(own), "{scope}");
        assert_eq!(shared(&scope), buckets.into_iter().map(str::to_owned).collect(), "{scope}");
    }
}

#[test]
fn other_services_of_google_cloud_have_their_groups() {
    for (service, operation, bucket) in [
        ("cloudasset", "ListFeeds", "feeds: 600/min"),
        ("cloudresourcemanager", "ListProjects", "lists: 10/s, burst 10"),
        ("cloudresourcemanager", "SearchProjects", "searches: 4/s, burst 4"),
        ("cloudresourcemanager", "GetProject", "reads: 10/s, burst 10"),
        ("iam", "ListServiceAccounts", "reads: 6000/min"),
        ("iam", "ListPolicies", "deny-policy-reads: 5/min"),
        ("iam", "ListPolicyBindings", "principal-access-boundary-reads: 5/min"),
        ("iamcredentials", "GenerateAccessToken", "credentials: 60000/min"),
        ("secretmanager", "ListSecrets", "reads: 600/min"),
        ("storage", "buckets.insert", "buckets: 0.5/s, burst 1"),
    ] {
        assert_eq!(shared(&project(service, operation)), BTreeSet::from([bucket.to_owned()]), "{operation}");
    }
    for (service, operation, own) in [
        ("cloudresourcemanager", "MoveFolder", "0.1/s, burst 1"),
        ("logging", "ListLogEntries", "60/min"),
        ("secretmanager", "AccessSecretVersion", "90000/min"),
    ] {
        assert_eq!(own_grant(&project(service, operation)).as_deref(), Some(own), "{operation}");
    }
}
