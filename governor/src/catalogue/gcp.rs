//! What Google publishes.
//!
//! Its quotas are of a project and a minute, unless said otherwise. Whose project that is, the caller's or the resource's,
//! is the plugin's to know: it is the scope's account.
//!
//! Left out: Pub/Sub, which counts bytes, and of whose administration no figure was found; Cloud KMS, whose quotas follow
//! what a project used before; Service Usage and Monitoring, whose pages refer to the console; and what Storage grants, which
//! grows with use, but for buckets.

use super::{Grant, Per, PublishedLimit, Source};

const ASSET: Source = Source::new("docs.cloud.google.com/asset-inventory/docs/quota", "2026-11");
/// The groups are those of today's page, which has no figures for them; these are the ones that it had before.
const COMPUTE: Source = Source::new("cloud.google.com/compute/docs/api-rate-limits", "2026-11");
const COMPUTE_METHODS: Source = Source::new("docs.cloud.google.com/compute/docs/api-rate-limits", "2026-12");
const IAM: Source = Source::new("docs.cloud.google.com/iam/quotas", "2026-12");
/// Fixed: nobody is granted more.
const LOGGING: Source = Source::new("docs.cloud.google.com/logging/quotas", "2026-12");
/// Published per second and, 60 times that, per minute.
const RESOURCES: Source = Source::new("docs.cloud.google.com/resource-manager/docs/limits", "2026-12");
const SECRETS: Source = Source::new("docs.cloud.google.com/secret-manager/quotas", "2026-12");
/// "Approximately".
const STORAGE: Source = Source::new("cloud.google.com/storage/quotas", "2026-12");

/// The condition of what is no project's.
const OF_ORGANIZATION: &str = "all projects of an organization together";

/// Each of the operations, so many in a minute.
const fn each(
    service: &'static str,
    operations: &'static [&'static str],
    calls: f64,
    source: Source,
) -> PublishedLimit {
    PublishedLimit::each("gcp", service, Grant::per_minute(calls), source).of(operations)
}

/// A project's operations together, so many in a minute.
const fn together(
    service: &'static str,
    name: &'static str,
    operations: &'static [&'static str],
    calls: f64,
    source: Source,
) -> PublishedLimit {
    PublishedLimit::together("gcp", service, name, Per::Account, Grant::per_minute(calls), source).of(operations)
}

/// An organization's, of one operation of Cloud Asset.
const fn organization(name: &'static str, operations: &'static [&'static str], calls: f64) -> PublishedLimit {
    let grant = Grant::per_minute(calls);
    PublishedLimit::together("gcp", "cloudasset", name, Per::Organization, grant, ASSET).of(operations)
}

const fn daily(
    service: &'static str,
    operations: &'static [&'static str],
    calls: f64,
    source: Source,
) -> PublishedLimit {
    PublishedLimit::allowance("gcp", service, Grant::per_day(calls), source).of(operations)
}

/// Resource Manager's, together, so many per second.
const fn resources(name: &'static str, operations: &'static [&'static str], calls: f64) -> PublishedLimit {
    let grant = Grant::rate(calls);
    PublishedLimit::together("gcp", "cloudresourcemanager", name, Per::Account, grant, RESOURCES).of(operations)
}

/// By service; what holds together comes first.
pub(super) const LIMITS: &[PublishedLimit] = &[
    together("cloudasset", "feeds", &["CreateFeed", "DeleteFeed", "GetFeed", "ListFeeds", "UpdateFeed"], 600.0, ASSET),
    organization("organization-batch-get-assets-history", &["BatchGetAssetsHistory"], 180.0),
    organization("organization-export-assets", &["ExportAssets"], 75.0),
    organization("organization-list-assets", &["ListAssets"], 800.0),
    organization("organization-search-all-iam-policies", &["SearchAllIamPolicies"], 3_000.0),
    organization("organization-search-all-resources", &["SearchAllResources"], 1_500.0),
    together(
        "cloudasset",
        "saved-queries",
        &["CreateSavedQuery", "DeleteSavedQuery", "GetSavedQuery", "ListSavedQueries", "UpdateSavedQuery"],
        600.0,
        ASSET,
    ),
    each("cloudasset", &["AnalyzeIamPolicy"], 100.0, ASSET),
    daily("cloudasset", &["AnalyzeIamPolicy"], 1_000.0, ASSET),
    each("cloudasset", &["AnalyzeIamPolicyLongrunning"], 100.0, ASSET),
    daily("cloudasset", &["AnalyzeIamPolicyLongrunning"], 1_000.0, ASSET),
    each("cloudasset", &["BatchGetAssetsHistory"], 100.0, ASSET),
    daily("cloudasset", &["BatchGetAssetsHistory"], 195_000.0, ASSET).when(OF_ORGANIZATION),
    each("cloudasset", &["BatchGetEffectiveIamPolicies"], 100.0, ASSET),
    each("cloudasset", &["ExportAssets"], 60.0, ASSET),
    daily("cloudasset", &["ExportAssets"], 6_000.0, ASSET),
    daily("cloudasset", &["ExportAssets"], 13_000.0, ASSET).when(OF_ORGANIZATION),
    each("cloudasset", &["ListAssets"], 100.0, ASSET),
    daily("cloudasset", &["ListAssets"], 650_000.0, ASSET).when(OF_ORGANIZATION),
    each("cloudasset", &["SearchAllIamPolicies"], 400.0, ASSET),
    each("cloudasset", &["SearchAllResources"], 400.0, ASSET),
    resources("lists", &["ListFolders", "ListProjects"], 10.0),
    resources(
        "reads",
        &[
            "GetFolder",
            "GetOrganization",
            "GetProject",
            "GetTagKey",
            "GetTagValue",
            "ListTagBindings",
            "ListTagKeys",
            "ListTagValues",
        ],
        10.0,
    ),
    resources("searches", &["SearchFolders", "SearchOrganizations", "SearchProjects"], 4.0),
    resources(
        "writes",
        &[
            "CreateTagBinding",
            "CreateTagKey",
            "CreateTagValue",
            "DeleteTagBinding",
            "DeleteTagKey",
            "DeleteTagValue",
            "UpdateFolder",
            "UpdateProject",
            "UpdateTagKey",
            "UpdateTagValue",
        ],
        10.0,
    ),
    PublishedLimit::each("gcp", "cloudresourcemanager", Grant::rate(0.1), RESOURCES).of(&["CreateFolder"]),
    // Each is ten of the writes.
    PublishedLimit::each("gcp", "cloudresourcemanager", Grant::rate(1.0), RESOURCES).of(&["CreateProject"]),
    PublishedLimit::each("gcp", "cloudresourcemanager", Grant::rate(0.1), RESOURCES).of(&["MoveFolder"]),
    together("compute", "lists", &["*.list"], 1_500.0, COMPUTE),
    together(
        "compute",
        "operation-reads",
        &["globalOperations.get", "regionOperations.get", "zoneOperations.get"],
        1_500.0,
        COMPUTE,
    ),
    // Those of operations, which no pattern leaves out, take from both.
    together("compute", "reads", &["*.get"], 1_500.0, COMPUTE),
    // Of what no group with a pattern counts: changes, and lists over all zones.
    each("compute", &[], 1_500.0, COMPUTE),
    each("compute", &["licenses.insert"], 150.0, COMPUTE_METHODS),
    daily("compute", &["licenses.insert"], 30.0, COMPUTE_METHODS),
    each("compute", &["projects.setCommonInstanceMetadata"], 36.0, COMPUTE_METHODS),
    // Deny policies, which are version 2 of the API.
    together("iam", "deny-policy-reads", &["GetPolicy", "ListPolicies"], 5.0, IAM),
    together("iam", "deny-policy-writes", &["CreatePolicy", "DeletePolicy", "UpdatePolicy"], 5.0, IAM),
    // Principal access boundaries, which are version 3.
    together(
        "iam",
        "principal-access-boundary-reads",
        &[
            "GetPolicyBinding",
            "GetPrincipalAccessBoundaryPolicy",
            "ListPolicyBindings",
            "ListPrincipalAccessBoundaryPolicies",
        ],
        5.0,
        IAM,
    ),
    together(
        "iam",
        "principal-access-boundary-writes",
        &[
            "CreatePolicyBinding",
            "CreatePrincipalAccessBoundaryPolicy",
            "DeletePolicyBinding",
            "DeletePrincipalAccessBoundaryPolicy",
            "UpdatePolicyBinding",
            "UpdatePrincipalAccessBoundaryPolicy",
        ],
        5.0,
        IAM,
    ),
    together(
        "iam",
        "reads",
        &[
            "GetIamPolicy",
            "GetRole",
            "GetServiceAccount",
            "GetServiceAccountKey",
            "ListRoles",
            "ListServiceAccountKeys",
            "ListServiceAccounts",
        ],
        6_000.0,
        IAM,
    ),
    together(
        "iam",
        "writes",
        &[
            "CreateRole",
            "CreateServiceAccount",
            "CreateServiceAccountKey",
            "DeleteRole",
            "DeleteServiceAccount",
            "DeleteServiceAccountKey",
            "DisableServiceAccount",
            "DisableServiceAccountKey",
            "EnableServiceAccount",
            "EnableServiceAccountKey",
            "PatchServiceAccount",
            "SetIamPolicy",
            "UndeleteRole",
            "UndeleteServiceAccount",
            "UpdateRole",
            "UpdateServiceAccount",
            "UploadServiceAccountKey",
        ],
        600.0,
        IAM,
    ),
    together("iamcredentials", "credentials", &["GenerateAccessToken", "GenerateIdToken"], 60_000.0, IAM),
    together("iamcredentials", "signatures", &["SignBlob", "SignJwt"], 60_000.0, IAM),
    each("logging", &["ListLogEntries"], 60.0, LOGGING),
    together(
        "secretmanager",
        "reads",
        &["GetSecret", "GetSecretVersion", "ListSecretVersions", "ListSecrets"],
        600.0,
        SECRETS,
    ),
    together(
        "secretmanager",
        "writes",
        &[
            "AddSecretVersion",
            "CreateSecret",
            "DeleteSecret",
            "DestroySecretVersion",
            "DisableSecretVersion",
            "EnableSecretVersion",
            "UpdateSecret",
        ],
        600.0,
        SECRETS,
    ),
    each("secretmanager", &["AccessSecretVersion"], 90_000.0, SECRETS),
    PublishedLimit::together("gcp", "storage", "buckets", Per::Account, Grant::rate(0.5), STORAGE).of(&[
        "CreateBucket",
        "DeleteBucket",
        "buckets.delete",
        "buckets.insert",
    ]),
];
