use azure_core::http::headers::Headers;
use azure_core::http::{Method, Url};
use cloud_governor::{Scope, Verb};
use proptest::prelude::*;

use super::{Target, Targets};
use crate::hosts::{HostRule, is_reserved};

mod published;

const SUB: &str = "0b1f6471-1bf0-4dda-aec3-cb9272f09590";
const METHODS: [Method; 6] = [Method::Get, Method::Head, Method::Put, Method::Post, Method::Patch, Method::Delete];

fn targets(rules: Vec<HostRule>) -> Targets {
    Targets::new(Some("Contoso"), rules)
}

fn of(targets: &Targets, url: &str, method: Method, operation: Option<&str>) -> Target {
    targets.of(&Url::parse(url).unwrap(), method, &Headers::new(), operation)
}

fn scope(url: &str, operation: Option<&str>) -> String {
    of(&targets(vec![]), url, Method::Get, operation).scope.to_string()
}

#[test]
fn every_host_of_every_cloud_has_its_account_and_service() {
    let mut table: Vec<(String, &str, &str)> = Vec::new();
    let mut add = |host: &str, account: &'static str, service: &'static str| {
        table.push((host.to_owned(), account, service));
    };
    for (service, name) in [
        ("blob", "storage.blob"),
        ("queue", "storage.queue"),
        ("table", "storage.table"),
        ("file", "storage.file"),
        ("dfs", "storage.dfs"),
        ("web", "storage.web"),
    ] {
        for cloud in ["core.windows.net", "core.usgovcloudapi.net", "core.chinacloudapi.cn"] {
            for host in [
                "acct",
                "acct-secondary",
                "acct.privatelink",
                "acct-secondary.privatelink",
                "acct.z13",
                "acct-internetrouting",
            ] {
                add(&format!("{host}.{service}.{cloud}"), "acct", name);
            }
        }
        for host in ["acct.z13", "acct-secondary.z40"] {
            add(&format!("{host}.{service}.storage.azure.net"), "acct", name);
        }
    }
    for service in [("blob", "storage.blob"), ("queue", "storage.queue"), ("table", "storage.table")] {
        add(&format!("devstoreaccount1.{}.localhost:10000", service.0), "devstoreaccount1", service.1);
        add(&format!("devstoreaccount1-secondary.{}.localhost", service.0), "devstoreaccount1", service.1);
    }
    add("md-hdd-abc.z40.blob.storage.azure.net", "md-hdd-abc", "storage.blob");
    for cloud in ["azure.net", "usgovcloudapi.net", "azure.cn"] {
        add(&format!("my-vault.vault.{cloud}"), "my-vault", "keyvault");
        add(&format!("my-vault.privatelink.vaultcore.{cloud}"), "my-vault", "keyvault");
        add(&format!("my-hsm.managedhsm.{cloud}"), "my-hsm", "keyvault");
    }
    for cloud in ["azure.com", "azure.us", "azure.cn"] {
        add(&format!("my-db.documents.{cloud}"), "my-db", "cosmos");
        add(&format!("my-db-westus2.documents.{cloud}"), "my-db", "cosmos");
        add(&format!("my-db.privatelink.documents.{cloud}"), "my-db", "cosmos");
        add(&format!("my-db.table.cosmos.{cloud}"), "my-db", "cosmos");
    }
    for cloud in ["windows.net", "usgovcloudapi.net", "chinacloudapi.cn"] {
        add(&format!("ns-1.servicebus.{cloud}"), "ns-1", "servicebus");
    }
    for domain in ["azconfig.io", "azconfig.azure.us", "azconfig.azure.cn"] {
        add(&format!("store.{domain}"), "store", "appconfig");
    }
    for host in
        ["graph.microsoft.com", "graph.microsoft.us", "dod-graph.microsoft.us", "microsoftgraph.chinacloudapi.cn"]
    {
        add(host, "contoso", "msgraph");
    }
    for (host, account, service) in table {
        for url in [format!("https://{host}/x"), format!("https://{}/", host.to_uppercase()), format!("abc://{host}/x")]
        {
            assert_eq!(scope(&url, None), format!("azure/{account}/*/{service}/GET"), "{url}");
        }
    }
}

#[test]
fn a_root_dot_behind_a_host_changes_nothing() {
    assert_eq!(scope("https://acct.blob.core.windows.net./c", None), "azure/acct/*/storage.blob/GET");
}

#[test]
fn resource_manager_of_every_cloud_charges_the_subscription() {
    for host in [
        "management.azure.com",
        "westus.management.azure.com",
        "management.usgovcloudapi.net",
        "management.chinacloudapi.cn",
    ] {
        let url = format!(
            "https://{host}/Subscriptions/{}/resourceGroups/rg/providers/Microsoft.Network/virtualNetworks/v?api-version=1",
            SUB.to_uppercase()
        );
        assert_eq!(
            scope(&url, Some("Network.VirtualNetworks.get")),
            format!("azure/{SUB}/*/network:read/VirtualNetworks.get")
        );
        assert_eq!(scope(&url, None), format!("azure/{SUB}/*/network:read/GET%20virtualNetworks"));
        assert_eq!(
            scope(&format!("https://{host}/providers/Microsoft.ResourceGraph/resources"), Some("ResourceGraph.query")),
            "azure/contoso/*/resourcegraph:read/query"
        );
    }
}

#[test]
fn only_resource_manager_has_verbs() {
    let verbs = |url: &str| METHODS.map(|method| of(&targets(vec![]), url, method, None).scope.verb());
    let (read, write, delete) = (Some(Verb::Read), Some(Verb::Write), Some(Verb::Delete));
    assert_eq!(
        verbs("https://management.azure.com/subscriptions/s/resourceGroups/rg"),
        [read, read, write, write, write, delete]
    );
    let others = [
        "https://acct.blob.core.windows.net/c",
        "https://v.vault.azure.net/secrets",
        "https://graph.microsoft.com/v1.0/users",
        "https://login.microsoftonline.com/t/oauth2/v2.0/token",
        "http://169.254.169.254/metadata/identity/oauth2/token",
        "https://api.example.com/subscriptions/s",
    ];
    for url in others {
        assert_eq!(verbs(url), [None; 6], "{url}");
    }
}

#[test]
fn an_unknown_account_is_shared_with_no_other_install() {
    let url = "https://management.azure.com/subscriptions";
    let of_install = |account| of(&Targets::new(account, vec![]), url, Method::Get, None).scope.account().to_owned();
    let (one, two) = (of_install(None), of_install(Some("")));
    assert!(one.starts_with("unknown-") && two.starts_with("unknown-"));
    assert_ne!(one, two);
    assert_eq!(of_install(Some("0B1F6471-1BF0")), "0b1f6471-1bf0");
}

#[test]
fn tokens_are_charged_to_the_tenant_whatever_operation_waits_for_them() {
    let hosts = [
        "login.microsoftonline.com",
        "login.microsoftonline.us",
        "login.chinacloudapi.cn",
        "westus.login.microsoft.com",
        "sts.windows.net",
        "adfs.example.com",
    ];
    for host in hosts {
        let url = format!("https://{host}/Contoso.onmicrosoft.com/oauth2/v2.0/token");
        let target = of(&targets(vec![]), &url, Method::Post, Some("Storage.Blob.BlobClient.upload"));
        assert_eq!(target.scope.to_string(), "azure/identity:contoso.onmicrosoft.com/*/identity/token", "{url}");
        assert!(target.identity && target.idempotent);
    }
    let other =
        of(&targets(vec![]), "https://login.microsoftonline.com/t/oauth2/v2.0/devicecode", Method::Post, Some("x.y"));
    assert_eq!(other.scope.to_string(), "azure/identity:t/*/identity/POST");
    assert!(other.identity && !other.idempotent);
    let adfs = [HostRule::identity("adfs.example.com").unwrap()].to_vec();
    let url = "https://adfs.example.com/adfs/oauth2/token";
    for rules in [adfs, vec![]] {
        let target = of(&targets(rules), url, Method::Post, None);
        assert_eq!(target.scope.to_string(), "azure/identity:adfs.example.com/*/identity/token");
    }
    let pipeline =
        "https://dev.azure.com/Contoso/p/_apis/distributedtask/hubs/build/plans/1/jobs/2/oidctoken?api-version=7.1";
    let pipeline = of(&targets(vec![]), pipeline, Method::Post, Some("KeyVault.getSecret"));
    assert_eq!(pipeline.scope.to_string(), "azure/identity:contoso/*/identity/token");
    assert!(pipeline.identity && pipeline.idempotent);
    let registry = of(&targets(vec![]), "https://reg.azurecr.io/oauth2/token", Method::Post, None);
    assert_eq!(registry.scope.to_string(), "azure/identity:reg.azurecr.io/*/identity/token");
}

#[test]
fn the_machines_own_tokens_have_an_account_of_their_own() {
    let urls = [
        "http://169.254.169.254/metadata/identity/oauth2/token?resource=x",
        "http://127.0.0.1:41741/MSI/token/?resource=x",
        "http://localhost:40342/metadata/identity/oauth2/token",
        "https://10.0.0.4:2377/metadata/identity/oauth2/token",
        "http://localhost:50342/oauth2/token",
    ];
    for url in urls {
        let target = of(&targets(vec![]), url, Method::Get, Some("KeyVault.getSecret"));
        assert_eq!(target.scope.to_string(), "azure/identity:imds/*/imds/token", "{url}");
        assert!(target.identity && target.idempotent, "{url}");
    }
    assert_eq!(scope("http://169.254.169.254/metadata/instance", None), "azure/identity:imds/*/imds/GET");
    let mut headers = Headers::new();
    headers.insert("x-identity-header", "s3cr3t");
    let url = Url::parse("http://sidecar.internal.example:8081/token").unwrap();
    let target = targets(vec![]).of(&url, Method::Get, &headers, None);
    assert_eq!(target.scope.to_string(), "azure/identity:imds/*/imds/token");
}

#[test]
fn emulators_have_their_account_in_the_path() {
    for host in ["127.0.0.1", "localhost", "[::1]", "192.168.0.7", "azurite", "host.docker.internal"] {
        for (port, service) in [(10000, "storage.blob"), (10001, "storage.queue"), (10002, "storage.table")] {
            for account in ["devstoreaccount1", "/DevStoreAccount1", "devstoreaccount1-secondary", "dev%73toreaccount1"]
            {
                let url = format!("http://{host}:{port}/{account}/c");
                assert_eq!(scope(&url, None), format!("azure/devstoreaccount1/*/{service}/GET"), "{url}");
            }
            let root = format!("http://{host}:{port}/");
            assert_eq!(scope(&root, None), format!("azure/{host}:{port}/*/{service}/GET"));
        }
    }
    // The port of a host on the internet means nothing.
    assert_eq!(scope("http://a.example.com:10000/acct", None), "azure/a.example.com:10000/*/unknown/GET");
}

#[test]
fn on_an_unknown_host_the_operations_name_tells_the_service() {
    let table = [
        (
            "https://assets.example.com/c/b",
            "Storage.Blob.BlobClient.upload",
            "azure/assets.example.com/*/storage.blob/BlobClient.upload",
        ),
        (
            "http://127.0.0.1:49152/acct/c",
            "Storage.Queues.QueueClient.create",
            "azure/acct/*/storage.queue/QueueClient.create",
        ),
        (
            "http://127.0.0.1:49152",
            "Storage.Blob.BlobClient.upload",
            "azure/127.0.0.1:49152/*/storage.blob/BlobClient.upload",
        ),
        ("https://127.0.0.1:8443/secrets/x", "KeyVault.setSecret", "azure/127.0.0.1:8443/*/keyvault/setSecret"),
        ("https://v.localhost:8443/secrets/x", "KeyVault.setSecret", "azure/v.localhost:8443/*/keyvault/setSecret"),
        ("https://api.example.com/x", "Maps.Search.find", "azure/api.example.com/*/maps/Search.find"),
        ("https://api.example.com/x", "find", "azure/api.example.com/*/unknown/find"),
        ("https://api.example.com/x", "", "azure/api.example.com/*/unknown/GET"),
        ("https://api.example.com:443/x", "", "azure/api.example.com/*/unknown/GET"),
        ("data:text/plain,x", "", "azure/contoso/*/unknown/GET"),
        ("file:///etc/x", "", "azure/contoso/*/unknown/GET"),
    ];
    for (url, operation, expected) in table {
        assert_eq!(scope(url, Some(operation)), expected, "{url} {operation}");
    }
}

#[test]
fn the_users_rules_hold_before_everything_else() {
    let rules = vec![
        HostRule::fixed_account("assets.example.com", "storage.blob", "contosoassets").unwrap(),
        HostRule::account_in_path("127.0.0.1:10100", "storage.blob").unwrap(),
        HostRule::account_in_label("*.blob.local.azurestack.external", "storage.blob").unwrap(),
        HostRule::arm("management.local.azurestack.external").unwrap(),
        HostRule::account_in_path("127.0.0.1:10000", "storage.queue").unwrap(),
        HostRule::fixed_account("login.microsoftonline.com", "mock", "m").unwrap(),
    ];
    let targets = targets(rules);
    let table = [
        ("https://assets.example.com/c/b", "azure/contosoassets/*/storage.blob/GET".to_owned()),
        ("http://127.0.0.1:10100/acct/c", "azure/acct/*/storage.blob/GET".to_owned()),
        ("https://acct-secondary.blob.local.azurestack.external/c", "azure/acct/*/storage.blob/GET".to_owned()),
        (
            "https://management.local.azurestack.external/subscriptions/s/locations",
            "azure/s/*/resources:read/GET%20locations".to_owned(),
        ),
        ("http://127.0.0.1:10000/acct/q", "azure/acct/*/storage.queue/GET".to_owned()),
        ("https://login.microsoftonline.com/t/oauth2/v2.0/token", "azure/m/*/mock/GET".to_owned()),
    ];
    for (url, expected) in table {
        let target = of(&targets, url, Method::Get, None);
        assert_eq!(target.scope.to_string(), expected, "{url}");
        assert!(!target.identity);
    }
}

#[test]
fn idempotence_follows_the_method_and_knows_the_queries() {
    let idempotent = |url: &str| METHODS.map(|method| of(&targets(vec![]), url, method, None).idempotent);
    let by_method = [true, true, true, false, false, true];
    assert_eq!(idempotent("https://management.azure.com/subscriptions/s/resourceGroups/rg"), by_method);
    assert_eq!(idempotent("https://acct.blob.core.windows.net/c/b"), by_method);
    assert_eq!(idempotent("https://graph.microsoft.com/v1.0/users"), by_method);
    assert_eq!(
        idempotent("https://management.azure.com/providers/Microsoft.ResourceGraph/resources"),
        [true, true, true, true, false, true]
    );
    assert_eq!(
        idempotent("https://acct.blob.core.windows.net/c/b?comp=appendblock"),
        [true, true, false, false, false, true]
    );
}

#[test]
fn no_account_from_a_url_or_a_user_can_be_a_tenants() {
    let urls = [
        "https://management.azure.com/subscriptions/identity:contoso/locations",
        "http://127.0.0.1:10000/identity%3Acontoso/c",
        "http://127.0.0.1:10000/Identity:contoso/c",
        "http://identity:8080/x",
    ];
    for url in urls {
        assert!(!is_reserved(of(&targets(vec![]), url, Method::Get, None).scope.account()), "{url}");
    }
    let targets = Targets::new(Some("identity:contoso"), vec![]);
    for url in ["https://management.azure.com/", "https://graph.microsoft.com/v1.0/me", "data:x"] {
        assert!(!is_reserved(of(&targets, url, Method::Get, None).scope.account()), "{url}");
    }
}

fn host() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-zA-Z0-9.-]{1,20}",
        "[a-z0-9-]{0,8}\\.(blob\\.core\\.windows\\.net|vault\\.azure\\.net|documents\\.azure\\.com|blob\\.localhost)",
        Just("management.azure.com".to_owned()),
        Just("login.microsoftonline.com".to_owned()),
        Just("169.254.169.254".to_owned()),
        "(127\\.0\\.0\\.1|\\[::1\\]|localhost|identity|[0-9.]{1,9}|é[a-z]|%[0-9a-f]{2})(:[0-9]{0,5})?",
        Just(String::new()),
    ]
}

proptest! {
    #[test]
    fn any_url_has_a_target(
        scheme in "https?|ftp|file|azure|data|mailto",
        host in host(),
        rest in "((/|//)([A-Za-z:]{0,9}|%[0-9A-F]{2}|%|é|providers|subscriptions|identity:x|Microsoft\\.Web|token)){0,8}(\\?[a-z=&%]{0,12})?",
        slashes in "//|/|",
        operation in prop::option::of("[A-Za-z.é]{0,12}|Storage\\.Blob\\.x|KeyVault\\.y"),
        method in 0..METHODS.len(),
    ) {
        let Ok(url) = Url::parse(&format!("{scheme}:{slashes}{host}{rest}")) else { return Ok(()) };
        let target = targets(vec![]).of(&url, METHODS[method], &Headers::new(), operation.as_deref());
        let scope = &target.scope;
        prop_assert_eq!(scope.provider(), "azure");
        prop_assert_eq!(scope.region(), "*");
        prop_assert_ne!(scope.service(), "*");
        prop_assert!(scope.operation().is_some());
        prop_assert_eq!(&scope.to_string().parse::<Scope>().unwrap(), scope);
        prop_assert_eq!(target.identity, is_reserved(scope.account()));
        prop_assert!(!target.identity || ["identity", "imds"].contains(&scope.service()));
    }

    #[test]
    fn any_text_that_is_a_url_has_a_target(text in any::<String>()) {
        if let Ok(url) = Url::parse(&format!("x{text}")).or_else(|_| Url::parse(&format!("http://{text}"))) {
            let target = targets(vec![]).of(&url, Method::Get, &Headers::new(), None);
            prop_assert!(!target.scope.service().is_empty());
        }
    }
}
