//! Google's services: which of them charge the caller's project, and what each is called.
//!
//! Names are the first label of the service's host, which is what the clients' recorders say: `cloudasset`, not `asset`.

use std::borrow::Cow;

/// Named by Google's pages: Translation as its example of a client-based API ("Quota project overview"), Cloud Asset by
/// its table of quotas per consumer project ("Asset Inventory quotas and limits").
const DOCUMENTED: &[&str] = &["cloudasset", "translate"];

/// Named by Google's own answer to callers without a quota project ("The .. API requires a quota project, which is not
/// set by default"), which only a client-based API gives. Seen in reports of users, with the names in it.
const ANSWERED: &[&str] = &[
    "accesscontextmanager",
    "apikeys",
    "billingbudgets",
    "cloudidentity",
    "cloudquotas",
    "discoveryengine",
    "documentai",
    "fcm",
    "firebaseappcheck",
    "firebasedatabase",
    "identitytoolkit",
    "orgpolicy",
    "vision",
];

/// Inferred. Resource Manager: a 429 for one project named another, the caller's, as its consumer. The others: their
/// requests name no project's resource, or read other projects' from outside; no page says it of them.
const INFERRED: &[&str] = &[
    "cloudbilling",
    "cloudresourcemanager",
    "essentialcontacts",
    "language",
    "policyanalyzer",
    "policytroubleshooter",
    "recommender",
    "serviceusage",
    "speech",
    "texttospeech",
    "videointelligence",
];

/// Whether calls are counted for the project of the caller, not for that of the resource.
///
/// Google publishes the rule and no list ("Quota project overview": what is not resource-based is client-based), so a
/// service that is not known here is taken for resource-based as soon as its request names a project.
pub(crate) fn is_client_based(service: &str) -> bool {
    [DOCUMENTED, ANSWERED, INFERRED].iter().any(|list| list.binary_search(&service).is_ok())
}

/// Packages and crates whose service is not called after them: the parts of the name between `google`, `cloud` and the
/// version, joined by underscores.
const NAMES: &[(&str, &str)] = &[
    ("api_apikeys", "apikeys"),
    ("api_cloudquotas", "cloudquotas"),
    ("api_servicemanagement", "servicemanagement"),
    ("api_serviceusage", "serviceusage"),
    ("asset", "cloudasset"),
    ("billing", "cloudbilling"),
    ("billing_budgets", "billingbudgets"),
    ("build", "cloudbuild"),
    ("deploy", "clouddeploy"),
    ("devtools_artifactregistry", "artifactregistry"),
    ("devtools_cloudbuild", "cloudbuild"),
    ("devtools_cloudtrace", "cloudtrace"),
    ("devtools_containeranalysis", "containeranalysis"),
    ("firestore_admin", "firestore"),
    ("functions", "cloudfunctions"),
    ("iam_admin", "iam"),
    ("iam_credentials", "iamcredentials"),
    ("identity_accesscontextmanager", "accesscontextmanager"),
    ("kms", "cloudkms"),
    ("resourcemanager", "cloudresourcemanager"),
    ("scheduler", "cloudscheduler"),
    ("security_privateca", "privateca"),
    ("spanner_admin_database", "spanner"),
    ("spanner_admin_instance", "spanner"),
    ("sql", "sqladmin"),
    ("storage_control", "storage"),
    ("support", "cloudsupport"),
    ("tasks", "cloudtasks"),
    ("trace", "cloudtrace"),
];

/// Packages that every service serves for its own.
const SHARED: &[&str] = &["iam", "location", "longrunning"];

/// The service of a host, or of a host's first label.
pub(crate) fn of_host(host: &str) -> Option<&str> {
    host.split('.').next().filter(|label| !label.is_empty())
}

/// The service of one of Google's hosts: `pubsub` of `pubsub.googleapis.com`, of `us-east1-pubsub.googleapis.com` and of
/// `pubsub.us-east1.rep.googleapis.com`, `storage` of `bucket.storage.googleapis.com`.
#[cfg(any(feature = "tonic", feature = "reqwest-middleware"))]
pub(crate) fn of_google_host(host: &str) -> Option<&str> {
    let labels = host.strip_suffix(".googleapis.com")?;
    if labels.ends_with(".storage") {
        return Some("storage");
    }
    let (first, rest) = labels.split_once('.').unwrap_or((labels, ""));
    let service = match rest {
        // Private Service Connect: what follows is the endpoint's name.
        "p" => first.split('-').next(),
        // What precedes is a location, or `content`.
        _ => first.rsplit('-').next(),
    };
    service.filter(|service| is_label(service))
}

/// Whether a text may be the name of a service.
#[cfg(any(feature = "tonic", feature = "reqwest-middleware"))]
pub(crate) fn is_label(text: &str) -> bool {
    (1..=LONGEST_LABEL).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
}

/// A label of a host has no more (RFC 1035, section 2.3.4).
#[cfg(any(feature = "tonic", feature = "reqwest-middleware"))]
const LONGEST_LABEL: usize = 63;

/// The service that serves an rpc, by its package: `google.cloud.asset.v1.AssetService/ListAssets`.
pub(crate) fn of_rpc(rpc: &str) -> Option<Cow<'static, str>> {
    let (full_name, _) = rpc.split_once('/')?;
    let (package, _) = full_name.rsplit_once('.')?;
    let name = name_of(package.split('.'))?;
    if SHARED.contains(&name.as_str()) { None } else { Some(service_named(name)) }
}

/// The service of a client, by the crate that a type of its comes from:
/// `google_cloud_asset_v1::builder::asset_service::client::Factory`.
pub(crate) fn of_client(type_name: &str) -> Option<Cow<'static, str>> {
    let (crate_name, _) = type_name.split_once("::")?;
    name_of(crate_name.split('_')).map(service_named)
}

/// What is left without `google`, `cloud` and the version.
fn name_of<'a>(mut parts: impl Iterator<Item = &'a str>) -> Option<String> {
    if parts.next() != Some("google") {
        return None;
    }
    let parts: Vec<&str> = parts.skip_while(|part| *part == "cloud").take_while(|part| !is_version(part)).collect();
    // Of nothing but dots there is no name left.
    Some(parts.join("_")).filter(|name| name.bytes().any(|byte| byte != b'_'))
}

fn is_version(part: &str) -> bool {
    part.strip_prefix('v').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

fn service_named(name: String) -> Cow<'static, str> {
    match NAMES.binary_search_by_key(&name.as_str(), |(known, _)| known) {
        Ok(place) => NAMES.get(place).map_or(Cow::Owned(name), |(_, service)| Cow::Borrowed(*service)),
        Err(_) => Cow::Owned(name.replace('_', "")),
    }
}

#[cfg(test)]
mod tests;
