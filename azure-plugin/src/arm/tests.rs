use azure_core::http::{Method, Url};
use cloud_governor::Verb;
use proptest::prelude::*;

use super::{ArmPath, MOST_TYPES};

const SUB: &str = "0b1f6471-1bf0-4dda-aec3-cb9272f09590";

fn path(path: &str) -> ArmPath {
    ArmPath::of(&Url::parse(&format!("https://management.azure.com{path}")).unwrap())
}

/// Path behind the subscription, service, operation of a GET.
const TABLE: &[(&str, &str, &str)] = &[
    ("", "resources", "GET subscriptions"),
    ("/", "resources", "GET subscriptions"),
    ("/locations", "resources", "GET locations"),
    ("/resourceGroups", "resources", "GET resourceGroups"),
    ("/resourcegroups/rg-1", "resources", "GET resourcegroups"),
    ("/resourceGroups/rg/resources", "resources", "GET resourceGroups/resources"),
    ("/providers", "resources", "GET providers"),
    ("/providers/Microsoft.Network", "network", "GET"),
    ("/providers/Microsoft.Network/register", "network", "GET register"),
    ("/providers/Microsoft.Network/virtualNetworks", "network", "GET virtualNetworks"),
    ("/PROVIDERS/MICROSOFT.NETWORK/virtualNetworks", "network", "GET virtualNetworks"),
    (
        "/resourceGroups/rg/providers/Microsoft.Network/virtualNetworks/v/subnets/s",
        "network",
        "GET virtualNetworks/subnets",
    ),
    (
        "/resourceGroups/rg/providers/Microsoft.Network/virtualNetworks/v/subnets/",
        "network",
        "GET virtualNetworks/subnets",
    ),
    (
        "/resourceGroups/rg/providers/Microsoft.Compute/virtualMachines/vm/restart",
        "compute",
        "GET virtualMachines/restart",
    ),
    ("/providers/Microsoft.Compute/locations/westus/vmSizes", "compute", "GET locations/vmSizes"),
    ("/providers/Microsoft%2ECompute/locations/westus/vmSizes", "compute", "GET locations/vmSizes"),
    ("/providers/NewRelic.Observability/monitors/m", "newrelic.observability", "GET monitors"),
    ("/providers/Microsoft.ResourceGraph/resources", "resourcegraph", "GET resources"),
    // Extension resources belong to the last provider.
    (
        "/resourceGroups/rg/providers/Microsoft.Storage/storageAccounts/a/providers/Microsoft.Authorization/roleAssignments/x",
        "authorization",
        "GET roleAssignments",
    ),
    ("/providers/Microsoft.Storage/storageAccounts/providers/Microsoft.Insights/metrics", "insights", "GET metrics"),
    // The keyword as somebody's name.
    ("/resourceGroups/providers/providers/Microsoft.Web/sites/providers/config/web", "web", "GET sites/config"),
    ("/resourceGroups/rg/providers/Microsoft.Web/sites/providers", "web", "GET sites"),
    ("/resourceGroups/providers", "resources", "GET resourceGroups"),
    // What does not look like a type may be a name.
    ("/providers/Microsoft.Web/sites/a/s3cr3t-k3y/b", "web", "GET sites/*"),
    ("/providers/Microsoft.Web/sites/a/7f8a9b0c1d/b", "web", "GET sites/*"),
    ("/providers/Microsoft.Web/sites/a/two%20words/b", "web", "GET sites/*"),
    ("/providers/Microsoft.Network/p2svpnGateways/g", "network", "GET p2svpnGateways"),
];

#[test]
fn the_path_tells_subscription_service_and_types() {
    for (rest, service, operation) in TABLE {
        for keyword in ["subscriptions", "SUBSCRIPTIONS", "/subscriptions"] {
            let found = path(&format!("/{keyword}/{}{rest}", SUB.to_uppercase()));
            assert_eq!(found.subscription.as_deref(), Some(SUB), "{rest}");
            assert_eq!(found.service, *service, "{rest}");
            assert!(found.operation(Method::Get).eq_ignore_ascii_case(operation), "{found:?}, expected {operation}");
        }
    }
}

#[test]
fn a_path_without_a_subscription_has_its_namespace_all_the_same() {
    let table = [
        ("", "resources", "GET"),
        ("/", "resources", "GET"),
        ("/subscriptions", "resources", "GET subscriptions"),
        ("/subscriptions/", "resources", "GET subscriptions"),
        ("/subscriptions//providers/Microsoft.Network/routeTables", "network", "GET routeTables"),
        ("/tenants", "resources", "GET tenants"),
        ("/providers/Microsoft.ResourceGraph/resources", "resourcegraph", "GET resources"),
        (
            "/providers/Microsoft.Management/managementGroups/mg/subscriptions/s",
            "management",
            "GET managementGroups/subscriptions",
        ),
        (
            "/providers/Microsoft.Management/managementGroups/mg/providers/Microsoft.Authorization/policyAssignments",
            "authorization",
            "GET policyAssignments",
        ),
    ];
    for (text, service, operation) in table {
        let found = path(text);
        assert_eq!(found.subscription, None, "{text}");
        assert_eq!(found.service, service, "{text}");
        assert_eq!(found.operation(Method::Get), operation, "{text}");
    }
}

#[test]
fn the_method_tells_the_verb_except_where_a_query_is_posted() {
    use Verb::{Delete, Read, Write};
    let methods = [Method::Get, Method::Head, Method::Post, Method::Put, Method::Patch, Method::Delete];
    let verbs = |path: ArmPath| methods.map(|method| path.verb(method));
    assert_eq!(verbs(path("/subscriptions/s/resourceGroups")), [Read, Read, Write, Write, Write, Delete]);
    let queries = path("/providers/Microsoft.ResourceGraph/resources");
    assert_eq!(verbs(queries), [Read, Read, Read, Write, Write, Delete]);
}

proptest! {
    #[test]
    fn names_of_resources_are_never_part_of_the_operation(
        names in prop::collection::vec("[a-z0-9-]{1,6}~[A-Za-z0-9._-]{1,12}|providers", 1..8),
        slash in "/?",
    ) {
        let mut text = format!("/subscriptions/{SUB}/resourceGroups/~rg/providers/Microsoft.Fabric");
        for name in &names {
            text.push_str(&format!("/kinds/{name}"));
        }
        let found = path(&format!("{text}{slash}"));
        prop_assert_eq!(&found.service, "fabric");
        prop_assert_eq!(found.operation(Method::Put), format!("PUT {}", vec!["kinds"; names.len()].join("/")));
    }

    #[test]
    fn any_path_gives_a_bounded_operation_of_words(text in "(/([a-zA-Z]{0,5}|providers|Microsoft\\.[A-Z]|subscriptions|%[0-9A-F]{2}|é|\\.|[0-9-]{1,9})){0,30}") {
        let found = path(&text);
        prop_assert!(found.types.len() <= MOST_TYPES);
        prop_assert!(found.operation(Method::Get).chars().all(|c| c.is_ascii_alphanumeric() || " /*".contains(c)));
        prop_assert!(!found.service.is_empty());
        prop_assert!(found.subscription.is_none_or(|id| !id.is_empty()));
    }
}
