//! What Azure publishes.
//!
//! Operations of Resource Manager are called as in the published specification, where a program gives its requests such a
//! name (`VirtualMachines.listAll`); a few are also known by method and types (`GET dnsZones`), as a request without a
//! name is called. Where a page gives a span and not how it is counted, a bucket of the span's calls is taken to fill up
//! at the end of each.
//!
//! Left out: Microsoft Graph and the accounts of Storage, whose figures are of second hand; Service Bus, which counts
//! credits; what Key Vault grants a whole subscription, as no scope of a vault names one; and keys there, as it depends on
//! a key's size how many are granted.

use std::time::Duration;

use super::{Grant, Per, PublishedLimit, Source};
use crate::scope::Verb;

/// Each principal has these buckets in each subscription and in each region of Resource Manager, which no URL names: they
/// are taken to be the account's. All principals together have 15 times as much. Of calls without a subscription the
/// tenant has as much as a subscription has.
const ARM: Source =
    Source::new("learn.microsoft.com/azure/azure-resource-manager/management/request-limits-and-throttling", "2026-11");
/// In its versions up to 2024. Since then it refers to the questions about Azure DNS.
const DNS: Source = ARM;
/// Of each subscription in each region. Each machine and each scale set has limits of its own besides.
const COMPUTE: Source = Source::new("learn.microsoft.com/azure/virtual-machines/compute-throttling-limits", "2026-11");
/// The user has them, whatever subscriptions a query is about. "Subject to change": each answer says what is left.
const GRAPH: Source = Source::new(
    "learn.microsoft.com/azure/governance/resource-graph/concepts/guidance-for-throttled-requests",
    "2026-11",
);
/// Of each subscription in each region.
const STORAGE: Source =
    Source::new("learn.microsoft.com/azure/storage/common/scalability-targets-resource-provider", "2026-12");
/// Of each vault.
const VAULT: Source = Source::new("learn.microsoft.com/azure/key-vault/general/service-limits", "2026-12");

const READS: &[Verb] = &[Verb::Read];
const WRITES: &[Verb] = &[Verb::Write];
const DELETES: &[Verb] = &[Verb::Delete];
const CHANGES: &[Verb] = &[Verb::Write, Verb::Delete];

/// Resource Manager's own, of all resource providers: a bucket for each, which nothing tells of more exactly, and
/// the one that they share. That has the name by which answers tell what is left of it.
const fn arm(verbs: &'static [Verb], name: Option<&'static str>, calls: f64, burst: f64) -> PublishedLimit {
    let grant = Grant::per_second(calls, burst);
    match name {
        Some(name) => PublishedLimit::together("azure", "*", name, Per::Account, grant, ARM),
        None => PublishedLimit::each("azure", "*", grant, ARM),
    }
    .with_verbs(verbs)
}

/// A policy of Compute: so many tokens come each minute, and so many are kept.
const fn compute(name: &'static str, calls: f64, capacity: f64, operations: &'static [&'static str]) -> PublishedLimit {
    let grant = Grant::steps(calls, Duration::from_secs(60), capacity);
    PublishedLimit::together("azure", "compute", name, Per::Region, grant, COMPUTE).of(operations)
}

/// So many in so many seconds, together.
const fn within(
    service: &'static str,
    name: &'static str,
    per: Per,
    calls: f64,
    seconds: u64,
    source: Source,
) -> PublishedLimit {
    let grant = Grant::steps(calls, Duration::from_secs(seconds), calls);
    PublishedLimit::together("azure", service, name, per, grant, source)
}

/// By service; what holds together comes first.
pub(super) const LIMITS: &[PublishedLimit] = &[
    arm(DELETES, Some("subscription-deletes"), 10.0, 200.0),
    arm(READS, Some("subscription-reads"), 25.0, 250.0),
    arm(WRITES, Some("subscription-writes"), 10.0, 200.0),
    arm(DELETES, None, 10.0, 200.0),
    arm(READS, None, 25.0, 250.0),
    arm(WRITES, None, 10.0, 200.0),
    // What a poll for the end of another operation is called; one that has that operation's name is not counted here,
    // and, being a read, not with that operation either.
    compute("get-operations", 5_000.0, 15_000.0, &["GET locations/operations"]).with_verbs(READS),
    compute(
        "scale-set-deletes",
        175.0,
        525.0,
        &["VirtualMachineScaleSets.deallocate", "VirtualMachineScaleSets.delete", "VirtualMachineScaleSets.powerOff"],
    )
    .with_verbs(CHANGES),
    compute(
        "scale-set-high-cost-gets",
        360.0,
        1_080.0,
        &[
            "VirtualMachineScaleSets.getInstanceView",
            "VirtualMachineScaleSets.list",
            "VirtualMachineScaleSets.listAll",
            "VirtualMachineScaleSets.listByLocation",
        ],
    ),
    compute(
        "scale-set-low-cost-gets",
        800.0,
        2_400.0,
        &[
            "VirtualMachineScaleSetRollingUpgrades.getLatest",
            "VirtualMachineScaleSets.get",
            "VirtualMachineScaleSets.getOSUpgradeHistory",
            "VirtualMachineScaleSets.listSkus",
        ],
    )
    .with_verbs(READS),
    // An existing scale set's is an update, and nothing in a call tells which it is.
    compute("scale-set-puts", 125.0, 375.0, &["VirtualMachineScaleSets.createOrUpdate"])
        .with_verbs(WRITES)
        .when("a new scale set"),
    compute(
        "scale-set-updates",
        500.0,
        1_500.0,
        &[
            "VirtualMachineScaleSetExtensions.createOrUpdate",
            "VirtualMachineScaleSetExtensions.delete",
            "VirtualMachineScaleSetExtensions.update",
            "VirtualMachineScaleSetRollingUpgrades.cancel",
            "VirtualMachineScaleSets.convertToSinglePlacementGroup",
            "VirtualMachineScaleSets.forceRecoveryServiceFabricPlatformUpdateDomainWalk",
            "VirtualMachineScaleSets.performMaintenance",
            "VirtualMachineScaleSets.redeploy",
            "VirtualMachineScaleSets.reimage",
            "VirtualMachineScaleSets.reimageAll",
            "VirtualMachineScaleSets.restart",
            "VirtualMachineScaleSets.setOrchestrationServiceState",
            "VirtualMachineScaleSets.start",
            "VirtualMachineScaleSets.update",
        ],
    )
    .with_verbs(CHANGES),
    compute(
        "scale-set-vm-deletes",
        500.0,
        1_500.0,
        &[
            "VirtualMachineScaleSetVMExtensions.delete",
            "VirtualMachineScaleSetVMRunCommands.delete",
            "VirtualMachineScaleSetVMs.deallocate",
            "VirtualMachineScaleSetVMs.delete",
            "VirtualMachineScaleSetVMs.powerOff",
        ],
    )
    .with_verbs(CHANGES),
    // Asking for diagnostics is a POST.
    compute(
        "scale-set-vm-gets",
        2_000.0,
        6_000.0,
        &[
            "VirtualMachineScaleSetVMExtensions.get",
            "VirtualMachineScaleSetVMRunCommands.get",
            "VirtualMachineScaleSetVMs.get",
            "VirtualMachineScaleSetVMs.getInstanceView",
            "VirtualMachineScaleSetVMs.retrieveBootDiagnosticsData",
        ],
    ),
    compute(
        "scale-set-vm-updates",
        500.0,
        1_500.0,
        &[
            "VirtualMachineScaleSetVMExtensions.createOrUpdate",
            "VirtualMachineScaleSetVMRunCommands.createOrUpdate",
            "VirtualMachineScaleSetVMRunCommands.update",
            "VirtualMachineScaleSetVMs.reimage",
            "VirtualMachineScaleSetVMs.reimageAll",
            "VirtualMachineScaleSetVMs.restart",
            "VirtualMachineScaleSetVMs.simulateEviction",
            "VirtualMachineScaleSetVMs.start",
            "VirtualMachineScaleSetVMs.update",
        ],
    )
    .with_verbs(WRITES),
    compute(
        "vm-deletes",
        500.0,
        1_500.0,
        &["VirtualMachines.deallocate", "VirtualMachines.delete", "VirtualMachines.simulateEviction"],
    )
    .with_verbs(CHANGES),
    compute("vm-guest-patches", 200.0, 600.0, &["VirtualMachines.assessPatches", "VirtualMachines.installPatches"])
        .with_verbs(WRITES),
    compute(
        "vm-high-cost-gets",
        300.0,
        900.0,
        &["VirtualMachines.list", "VirtualMachines.listAll", "VirtualMachines.listByLocation"],
    )
    .with_verbs(READS),
    compute(
        "vm-low-cost-gets",
        8_000.0,
        24_000.0,
        &[
            "VirtualMachineExtensions.get",
            "VirtualMachineRunCommands.getByVirtualMachine",
            "VirtualMachineRunCommands.listByVirtualMachine",
            "VirtualMachines.get",
            "VirtualMachines.instanceView",
            "VirtualMachines.listAvailableSizes",
            "VirtualMachines.retrieveBootDiagnosticsData",
        ],
    ),
    compute("vm-puts", 500.0, 1_500.0, &["VirtualMachines.createOrUpdate"]).with_verbs(WRITES),
    compute(
        "vm-updates",
        500.0,
        1_500.0,
        &[
            "VirtualMachineExtensions.createOrUpdate",
            "VirtualMachineExtensions.delete",
            "VirtualMachineExtensions.update",
            "VirtualMachineRunCommands.createOrUpdate",
            "VirtualMachineRunCommands.delete",
            "VirtualMachineRunCommands.update",
            "VirtualMachines.capture",
            "VirtualMachines.convertToManagedDisks",
            "VirtualMachines.generalize",
            "VirtualMachines.performMaintenance",
            "VirtualMachines.powerOff",
            "VirtualMachines.reapply",
            "VirtualMachines.redeploy",
            "VirtualMachines.reimage",
            "VirtualMachines.restart",
            "VirtualMachines.runCommand",
            "VirtualMachines.start",
            "VirtualMachines.update",
        ],
    )
    .with_verbs(CHANGES),
    // Importing keys and certificates counts with these.
    within("keyvault", "creates", Per::Account, 300.0, 10, VAULT).of(&["setSecret"]),
    within("keyvault", "transactions", Per::Account, 4_000.0, 10, VAULT).of(&[
        "backupSecret",
        "deleteSecret",
        "getDeletedSecret",
        "getDeletedSecrets",
        "getSecret",
        "getSecretVersions",
        "getSecrets",
        "purgeDeletedSecret",
        "recoverDeletedSecret",
        "restoreSecret",
        "updateSecret",
    ]),
    within("network", "changes", Per::Region, 1_000.0, 300, ARM).with_verbs(CHANGES),
    // Azure DNS and Private DNS both have record sets, and the page does not say that each has as much.
    within("network", "dns-reads", Per::Account, 500.0, 300, DNS)
        .of(&["GET dnsZones*", "GET privateDnsZones*", "PrivateZones.*", "RecordSets.*", "Zones.*"])
        .with_verbs(READS),
    within("network", "reads", Per::Region, 10_000.0, 300, ARM).with_verbs(READS),
    within("resourcegraph", "user-quota", Per::Account, 15.0, 5, GRAPH).with_verbs(READS),
    within("storage", "lists", Per::Region, 100.0, 300, STORAGE)
        .of(&["StorageAccounts.list", "StorageAccounts.listByResourceGroup"])
        .with_verbs(READS),
    within("storage", "reads", Per::Region, 800.0, 300, STORAGE)
        .of(&["StorageAccounts.getProperties"])
        .with_verbs(READS),
    PublishedLimit::together("azure", "storage", "writes", Per::Region, Grant::rate(10.0), STORAGE)
        .of(&["StorageAccounts.create", "StorageAccounts.update"])
        .with_verbs(WRITES),
    within("storage", "writes-in-an-hour", Per::Region, 1_200.0, 3_600, STORAGE)
        .of(&["StorageAccounts.create", "StorageAccounts.update"])
        .with_verbs(WRITES),
];
