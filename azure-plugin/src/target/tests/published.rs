//! What the governor's catalogue names is what the scopes of requests have.

use std::collections::BTreeSet;

use azure_core::http::Method;
use azure_core::http::headers::Headers;
use cloud_governor::{Config, Scope, catalogue};

use super::{SUB, of, targets};
use crate::quotas::quotas_left;

const ARM: &str = "https://management.azure.com";

fn scope(method: Method, url: &str, operation: Option<&str>) -> Scope {
    let url = url.replace("{sub}", &format!("{ARM}/subscriptions/{SUB}"));
    of(&targets(vec![]), &url, method, operation).scope
}

/// The names of the buckets that a scope's calls take from besides their own.
fn shared(scope: &Scope) -> Vec<String> {
    let config = Config::builder().build().expect("the defaults");
    let limits = config.provider("azure").shared_for(scope);
    limits.iter().filter_map(|limit| limit.scope.operation().map(str::to_owned)).collect()
}

#[test]
fn a_request_takes_from_the_buckets_that_are_published_for_it() {
    const MACHINES: &str = "{sub}/resourceGroups/g/providers/Microsoft.Compute/virtualMachines";
    let in_machines = |rest: &str| format!("{MACHINES}{rest}");
    for (method, url, operation, buckets) in [
        (
            Method::Get,
            "{sub}/providers/Microsoft.Compute/virtualMachines".to_owned(),
            Some("Compute.VirtualMachines.listAll"),
            vec!["vm-high-cost-gets", "subscription-reads"],
        ),
        (
            Method::Get,
            in_machines("/vm/instanceView"),
            Some("Compute.VirtualMachines.instanceView"),
            vec!["vm-low-cost-gets", "subscription-reads"],
        ),
        (
            Method::Post,
            in_machines("/vm/retrieveBootDiagnosticsData"),
            Some("Compute.VirtualMachines.retrieveBootDiagnosticsData"),
            vec!["vm-low-cost-gets", "subscription-writes"],
        ),
        (
            Method::Post,
            in_machines("/vm/restart"),
            Some("Compute.VirtualMachines.restart"),
            vec!["vm-updates", "subscription-writes"],
        ),
        (
            Method::Delete,
            in_machines("/vm"),
            Some("Compute.VirtualMachines.delete"),
            vec!["vm-deletes", "subscription-deletes"],
        ),
        // A poll for the end of an operation, without a name and with the operation's.
        (
            Method::Get,
            "{sub}/providers/Microsoft.Compute/locations/westeurope/operations/3f0a".to_owned(),
            None,
            vec!["get-operations", "subscription-reads"],
        ),
        (
            Method::Get,
            "{sub}/providers/Microsoft.Compute/locations/westeurope/operations/3f0a".to_owned(),
            Some("Compute.VirtualMachines.restart"),
            vec!["subscription-reads"],
        ),
        (
            Method::Get,
            "{sub}/providers/Microsoft.Network/virtualNetworks".to_owned(),
            Some("Network.VirtualNetworks.listAll"),
            vec!["reads", "subscription-reads"],
        ),
        (
            Method::Put,
            "{sub}/resourceGroups/g/providers/Microsoft.Network/virtualNetworks/n".to_owned(),
            None,
            vec!["changes", "subscription-writes"],
        ),
        (
            Method::Get,
            "{sub}/resourceGroups/g/providers/Microsoft.Network/dnsZones/example.com/A".to_owned(),
            None,
            vec!["reads", "dns-reads", "subscription-reads"],
        ),
        (
            Method::Post,
            format!("{ARM}/providers/Microsoft.ResourceGraph/resources"),
            None,
            vec!["user-quota", "subscription-reads"],
        ),
        (
            Method::Get,
            "{sub}/providers/Microsoft.Storage/storageAccounts".to_owned(),
            Some("Storage.StorageAccounts.list"),
            vec!["lists", "subscription-reads"],
        ),
        (Method::Get, "{sub}/resourceGroups".to_owned(), None, vec!["subscription-reads"]),
        (
            Method::Get,
            "https://my-vault.vault.azure.net/secrets/s".to_owned(),
            Some("KeyVault.getSecret"),
            vec!["transactions"],
        ),
        (
            Method::Put,
            "https://my-vault.vault.azure.net/secrets/s".to_owned(),
            Some("KeyVault.setSecret"),
            vec!["creates"],
        ),
        // Its accounts grant more than anything published here, and are not Resource Manager's.
        (
            Method::Get,
            "https://acct.blob.core.windows.net/c/b".to_owned(),
            Some("Storage.Blob.BlobClient.download"),
            vec![],
        ),
    ] {
        let scope = scope(method, &url, operation);
        assert_eq!(shared(&scope), buckets, "{scope}");
    }
}

#[test]
fn every_service_that_the_catalogue_names_is_one_of_a_request() {
    let called = [
        ("compute", "{sub}/providers/Microsoft.Compute/virtualMachines"),
        ("keyvault", "https://my-vault.vault.azure.net/secrets/s"),
        ("network", "{sub}/providers/Microsoft.Network/virtualNetworks"),
        ("resourcegraph", "https://management.azure.com/providers/Microsoft.ResourceGraph/resources"),
        ("storage", "{sub}/providers/Microsoft.Storage/storageAccounts"),
    ];
    for (service, url) in called {
        assert_eq!(scope(Method::Get, url, None).service(), service);
    }
    let azure = catalogue::published().filter(|limit| limit.provider == "azure");
    let named: BTreeSet<_> = azure.map(|limit| limit.service).filter(|service| *service != "*").collect();
    assert!(named.iter().eq(called.iter().map(|(service, _)| service)), "{named:?}");
}

#[test]
fn what_an_answer_says_of_a_quota_is_of_a_bucket_with_its_name() {
    for (header, method, url) in [
        ("x-ms-ratelimit-remaining-subscription-reads", Method::Get, "{sub}/resourceGroups/g"),
        ("x-ms-ratelimit-remaining-subscription-writes", Method::Put, "{sub}/resourceGroups/g"),
        ("x-ms-ratelimit-remaining-subscription-deletes", Method::Delete, "{sub}/resourceGroups/g"),
        (
            "x-ms-user-quota-remaining",
            Method::Post,
            "https://management.azure.com/providers/Microsoft.ResourceGraph/resources",
        ),
    ] {
        let mut headers = Headers::new();
        headers.insert(header, "7");
        let told: Vec<_> = quotas_left(&headers).map(|(name, _)| name.into_owned()).collect();
        let [quota] = told.as_slice() else { panic!("{header}: {told:?}") };
        assert!(shared(&scope(method, url, None)).contains(quota), "{header}");
    }
}
