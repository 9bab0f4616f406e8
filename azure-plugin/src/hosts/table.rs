//! The hosts of Azure's clouds.
//!
//! From the environments that the Azure CLI and PowerShell know
//! (<https://learn.microsoft.com/azure/azure-government/compare-azure-government-global-azure>,
//! <https://learn.microsoft.com/azure/china/resources-developer-guide>), and the zones of private endpoints
//! (<https://learn.microsoft.com/azure/private-link/private-endpoint-dns>).

use std::borrow::Cow;

use super::{AccountAt, At, HostRule, Serves};

/// Hosts and domains (with their dot in front) of the public, the US government and the China cloud. What may stand
/// between the account and a domain (`privatelink`, a DNS zone such as `z13`, a region) needs no row of its own: the
/// account is the first label.
pub(crate) static HOSTS: &[HostRule] = &[
    // Azure Resource Manager, also by region.
    arm("management.azure.com"),
    arm(".management.azure.com"),
    arm("management.usgovcloudapi.net"),
    arm(".management.usgovcloudapi.net"),
    arm("management.chinacloudapi.cn"),
    arm(".management.chinacloudapi.cn"),
    // Storage accounts.
    account(".blob.core.windows.net", "storage.blob"),
    account(".blob.core.usgovcloudapi.net", "storage.blob"),
    account(".blob.core.chinacloudapi.cn", "storage.blob"),
    account(".blob.storage.azure.net", "storage.blob"),
    account(".blob.localhost", "storage.blob"),
    account(".queue.core.windows.net", "storage.queue"),
    account(".queue.core.usgovcloudapi.net", "storage.queue"),
    account(".queue.core.chinacloudapi.cn", "storage.queue"),
    account(".queue.storage.azure.net", "storage.queue"),
    account(".queue.localhost", "storage.queue"),
    account(".table.core.windows.net", "storage.table"),
    account(".table.core.usgovcloudapi.net", "storage.table"),
    account(".table.core.chinacloudapi.cn", "storage.table"),
    account(".table.storage.azure.net", "storage.table"),
    account(".table.localhost", "storage.table"),
    account(".file.core.windows.net", "storage.file"),
    account(".file.core.usgovcloudapi.net", "storage.file"),
    account(".file.core.chinacloudapi.cn", "storage.file"),
    account(".file.storage.azure.net", "storage.file"),
    account(".dfs.core.windows.net", "storage.dfs"),
    account(".dfs.core.usgovcloudapi.net", "storage.dfs"),
    account(".dfs.core.chinacloudapi.cn", "storage.dfs"),
    account(".dfs.storage.azure.net", "storage.dfs"),
    account(".web.core.windows.net", "storage.web"),
    account(".web.core.usgovcloudapi.net", "storage.web"),
    account(".web.core.chinacloudapi.cn", "storage.web"),
    account(".web.storage.azure.net", "storage.web"),
    // Key vaults and managed HSMs. `vaultcore` is the name behind a private endpoint.
    account(".vault.azure.net", "keyvault"),
    account(".vaultcore.azure.net", "keyvault"),
    account(".managedhsm.azure.net", "keyvault"),
    account(".vault.usgovcloudapi.net", "keyvault"),
    account(".vaultcore.usgovcloudapi.net", "keyvault"),
    account(".managedhsm.usgovcloudapi.net", "keyvault"),
    account(".vault.azure.cn", "keyvault"),
    account(".vaultcore.azure.cn", "keyvault"),
    account(".managedhsm.azure.cn", "keyvault"),
    // Cosmos DB. The account's label may end in a region.
    account(".documents.azure.com", "cosmos"),
    account(".documents.azure.us", "cosmos"),
    account(".documents.azure.cn", "cosmos"),
    account(".cosmos.azure.com", "cosmos"),
    account(".cosmos.azure.us", "cosmos"),
    account(".cosmos.azure.cn", "cosmos"),
    // Service Bus and Event Hubs share their namespaces' domain.
    account(".servicebus.windows.net", "servicebus"),
    account(".servicebus.usgovcloudapi.net", "servicebus"),
    account(".servicebus.chinacloudapi.cn", "servicebus"),
    // App Configuration.
    account(".azconfig.io", "appconfig"),
    account(".azconfig.azure.us", "appconfig"),
    account(".azconfig.azure.cn", "appconfig"),
    // Microsoft Graph: limits are per tenant and application, and neither is in the URL.
    graph("graph.microsoft.com"),
    graph("graph.microsoft.us"),
    graph("dod-graph.microsoft.us"),
    graph("microsoftgraph.chinacloudapi.cn"),
    // Microsoft Entra ID, by all the names that its clouds answer to.
    login("login.microsoftonline.com"),
    login("login.windows.net"),
    login("login.microsoft.com"),
    login(".login.microsoft.com"),
    login("sts.windows.net"),
    login(".b2clogin.com"),
    login(".ciamlogin.com"),
    login("login.microsoftonline.us"),
    login("login.usgovcloudapi.net"),
    login("login-us.microsoftonline.com"),
    login("login.chinacloudapi.cn"),
    login("login.partner.microsoftonline.cn"),
    // The instance metadata service, the same on every machine.
    HostRule { at: At::fixed("169.254.169.254"), serves: Serves::Imds },
];

/// Azurite's ports: <https://learn.microsoft.com/azure/storage/common/storage-use-azurite>. They mean a service only on
/// a host that cannot be Azure's.
pub(crate) const EMULATOR_PORTS: &[(u16, &str)] =
    &[(10000, "storage.blob"), (10001, "storage.queue"), (10002, "storage.table")];

/// What may follow a storage account's name in its label: the read-only copy, the choice of a route, the address family.
/// The name itself has no hyphen.
pub(crate) const LABEL_TAILS: &[&str] = &["-secondary", "-internetrouting", "-microsoftrouting", "-ipv6", "-dualstack"];

/// Regions by the names that a regional Cosmos DB host ends in: <https://learn.microsoft.com/azure/reliability/regions-list>.
pub(crate) const REGIONS: &[&str] = &[
    "australiacentral",
    "australiacentral2",
    "australiaeast",
    "australiasoutheast",
    "austriaeast",
    "belgiumcentral",
    "brazilsouth",
    "brazilsoutheast",
    "canadacentral",
    "canadaeast",
    "centralindia",
    "centralus",
    "centraluseuap",
    "chilecentral",
    "chinaeast",
    "chinaeast2",
    "chinaeast3",
    "chinanorth",
    "chinanorth2",
    "chinanorth3",
    "eastasia",
    "eastus",
    "eastus2",
    "eastus2euap",
    "francecentral",
    "francesouth",
    "germanynorth",
    "germanywestcentral",
    "indonesiacentral",
    "israelcentral",
    "italynorth",
    "japaneast",
    "japanwest",
    "jioindiacentral",
    "jioindiawest",
    "koreacentral",
    "koreasouth",
    "malaysiawest",
    "mexicocentral",
    "newzealandnorth",
    "northcentralus",
    "northeurope",
    "norwayeast",
    "norwaywest",
    "polandcentral",
    "qatarcentral",
    "southafricanorth",
    "southafricawest",
    "southcentralus",
    "southeastasia",
    "southindia",
    "spaincentral",
    "swedencentral",
    "swedensouth",
    "switzerlandnorth",
    "switzerlandwest",
    "uaecentral",
    "uaenorth",
    "uksouth",
    "ukwest",
    "usdodcentral",
    "usdodeast",
    "usgovarizona",
    "usgoviowa",
    "usgovtexas",
    "usgovvirginia",
    "westcentralus",
    "westeurope",
    "westindia",
    "westus",
    "westus2",
    "westus3",
];

const fn account(domain: &'static str, service: &'static str) -> HostRule {
    HostRule { at: At::fixed(domain), serves: Serves::Service(Cow::Borrowed(service), AccountAt::Label) }
}

const fn graph(host: &'static str) -> HostRule {
    HostRule { at: At::fixed(host), serves: Serves::Service(Cow::Borrowed("msgraph"), AccountAt::Install) }
}

const fn arm(host: &'static str) -> HostRule {
    HostRule { at: At::fixed(host), serves: Serves::Arm }
}

const fn login(host: &'static str) -> HostRule {
    HostRule { at: At::fixed(host), serves: Serves::Identity }
}
