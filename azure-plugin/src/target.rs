//! Whom a request is charged to, and whether sending it twice does any harm.
//!
//! Where to look is data (`hosts`): the user's rules, then Azure's own hosts. A host that no rule knows is its own account.
//!
//! | host | account | service | operation |
//! |---|---|---|---|
//! | Resource Manager | the subscription in the path, or the install's | the last namespace in the path, or `resources` | the client's name for it, or method and types |
//! | a storage account's, a vault's, .. | its first label | by its domain | the client's name for it, or the method |
//! | an emulator's: loopback, an address, a name without a dot | the first segment of the path | by its port, or the operation's name | the same |
//! | one that gives tokens | `identity:` and the tenant | `identity` | `token`, or the method |
//! | the machine's own: metadata and managed identity | `identity:imds` | `imds` | `token`, or the method |
//! | any other | the host, with a port that is not the scheme's | by the operation's name, or `unknown` | the same |
//!
//! There is no region. Resource Manager alone counts reads, writes and deletes apart, so its scopes alone have a verb. Calls
//! to identity carry the context of the call that needs the token, so the operation that this
//! names is not theirs.

use std::borrow::Cow;
use std::sync::atomic::{AtomicU64, Ordering};

use azure_core::http::headers::{HeaderName, Headers};
use azure_core::http::{Method, Url};
use cloud_governor::{Scope, Verb};
use percent_encoding::percent_decode_str;

use crate::arm::ArmPath;
use crate::hosts::{
    AccountAt, EMULATOR_PORTS, HostRule, IDENTITY, IDENTITY_ACCOUNT, IMDS, LABEL_TAILS, REGIONS, Serves, is_reserved,
    rule_for,
};
use crate::idempotence::is_idempotent;
use crate::operation::{service_of, without_service};

/// The service of a host that nothing is known of.
const UNKNOWN: &str = "unknown";
const TOKEN: &str = "token";

/// App Service, Container Apps and their like give tokens at an address of their own, and know a request by this.
const IDENTITY_HEADER: HeaderName = HeaderName::from_static("x-identity-header");
/// Where a machine gives tokens to its own programs: App Service, Azure Arc and Service Fabric, Cloud Shell.
const MACHINE_TOKEN_PATHS: [&str; 3] = ["/msi/token", "/metadata/identity/oauth2/token", "/oauth2/token"];
/// How every OAuth authority of Azure's make ends its token endpoint, ADFS and registries among them; and how Azure
/// Pipelines ends where it gives the assertion that a token is asked for with.
const TOKEN_ENDS: [&str; 3] = ["/oauth2/token", "/oauth2/v2.0/token", "/oidctoken"];
/// What a token endpoint's path begins with where its host has no tenants.
const NO_TENANTS: [&str; 2] = ["adfs", "oauth2"];

/// What one request is, as far as limits and retries go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) scope: Scope,
    /// Whether a second execution changes nothing that the first did not.
    pub(crate) idempotent: bool,
    /// Whether this is a call for a token, made while another call waits for it.
    pub(crate) identity: bool,
}

/// Finds the target of each request of one install.
#[derive(Debug, Clone)]
pub(crate) struct Targets {
    account: String,
    rules: Vec<HostRule>,
}

impl Targets {
    /// Without an account, calls whose URL names none are charged to one that no other install shares.
    pub(crate) fn new(account: Option<&str>, rules: Vec<HostRule>) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let account = match account {
            Some(account) if !account.is_empty() => account.to_ascii_lowercase(),
            _ => format!("unknown-{}", NEXT.fetch_add(1, Ordering::Relaxed)),
        };
        Targets { account, rules }
    }

    /// What is charged where a URL names no account.
    pub(crate) fn account(&self) -> &str {
        &self.account
    }

    /// The target of a request. Reads the URL and the headers alone, and takes any.
    pub(crate) fn of(&self, url: &Url, method: Method, headers: &Headers, operation: Option<&str>) -> Target {
        let host = host_of(url);
        let serves = rule_for(&self.rules, &host, url.port_or_known_default());
        match serves {
            Some(Serves::Arm) => self.arm(url, method, operation),
            Some(Serves::Identity) => token_target(tenant(url, &host), IDENTITY, url, method),
            Some(Serves::Imds) => token_target(IMDS.to_owned(), IMDS, url, method),
            Some(Serves::Service(service, at)) => {
                let account = match at {
                    AccountAt::Label => label_account(service, &host),
                    AccountAt::Path => path_account(service, url, &host),
                    AccountAt::Install => self.account.clone(),
                    AccountAt::Fixed(account) => account.clone().into_owned(),
                };
                service_target(&account, service, url, method, headers, operation)
            }
            None if is_machine_token(url, &host, headers) => token_target(IMDS.to_owned(), IMDS, url, method),
            None if method == Method::Post && ends_in_token(url) => {
                token_target(tenant(url, &host), IDENTITY, url, method)
            }
            None => self.unruled(url, &host, method, headers, operation),
        }
    }

    fn arm(&self, url: &Url, method: Method, operation: Option<&str>) -> Target {
        let path = ArmPath::of(url);
        let account = unreserved(path.subscription.as_deref().unwrap_or(&self.account));
        let operation = match named(operation) {
            Some(operation) => Cow::Borrowed(without_service(operation, &path.service)),
            None => Cow::Owned(path.operation(method)),
        };
        let verb = path.verb(method);
        let scope = Scope::new("azure", account, "", &path.service).with_verb(verb).with_operation(operation);
        let idempotent = verb == Verb::Read || matches!(method, Method::Put | Method::Delete);
        Target { scope, idempotent, identity: false }
    }

    /// A host that no rule knows.
    fn unruled(&self, url: &Url, host: &str, method: Method, headers: &Headers, operation: Option<&str>) -> Target {
        let emulated = EMULATOR_PORTS.iter().find(|(port, _)| is_local(url, host) && url.port() == Some(*port));
        let service = match emulated {
            Some((_, service)) => Cow::Borrowed(*service),
            None => named(operation).and_then(service_of).unwrap_or(Cow::Borrowed(UNKNOWN)),
        };
        let account = if host.is_empty() {
            self.account.clone()
        } else if is_local(url, host) && service.starts_with("storage.") {
            path_account(&service, url, host)
        } else {
            authority(url, host)
        };
        service_target(&account, &service, url, method, headers, operation)
    }
}

fn service_target(
    account: &str,
    service: &str,
    url: &Url,
    method: Method,
    headers: &Headers,
    operation: Option<&str>,
) -> Target {
    let operation = named(operation).map_or(method.as_str(), |operation| without_service(operation, service));
    Target {
        scope: Scope::new("azure", unreserved(account), "", service).with_operation(operation),
        idempotent: is_idempotent(service, url, method, headers),
        identity: false,
    }
}

/// The operation that the context names is the one that needs the token: it says nothing of this call.
fn token_target(who: String, service: &'static str, url: &Url, method: Method) -> Target {
    let is_token = ends_in_token(url) || lower_path(url).ends_with("/token");
    let operation = if is_token { TOKEN } else { method.as_str() };
    Target {
        scope: Scope::new("azure", format!("{IDENTITY_ACCOUNT}{who}"), "", service).with_operation(operation),
        idempotent: is_token || !matches!(method, Method::Post | Method::Patch),
        identity: true,
    }
}

fn named(operation: Option<&str>) -> Option<&str> {
    operation.filter(|operation| !operation.is_empty())
}

/// The account as it is, or so written that it is none of identity's.
fn unreserved(account: &str) -> Cow<'_, str> {
    if is_reserved(account) { Cow::Owned(account.replacen(':', "%3A", 1)) } else { Cow::Borrowed(account) }
}

// ===== hosts =====

/// The host in lower case, without the root's dot; empty where the URL has none.
fn host_of(url: &Url) -> Cow<'_, str> {
    let host = url.host_str().unwrap_or_default();
    let host = host.strip_suffix('.').unwrap_or(host);
    // The hosts of schemes that no browser knows are left as they were written.
    if host.bytes().any(|byte| byte.is_ascii_uppercase()) {
        Cow::Owned(host.to_ascii_lowercase())
    } else {
        Cow::Borrowed(host)
    }
}

/// The host, and its port if that is not the scheme's: what an unknown host's account is.
fn authority(url: &Url, host: &str) -> String {
    match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}

/// Whether a host cannot be Azure's: an address, a name without a dot (`localhost`, a container's), or the name by which
/// a container knows its host.
fn is_local(url: &Url, host: &str) -> bool {
    let is_address = url.host_str().is_some() && url.domain().is_none();
    let is_short = !host.is_empty() && !host.contains('.');
    is_address || is_short || host.ends_with(".localhost") || host == "host.docker.internal"
}

fn is_machine_token(url: &Url, host: &str, headers: &Headers) -> bool {
    let path = lower_path(url);
    headers.get_optional_str(&IDENTITY_HEADER).is_some()
        || (is_local(url, host) && MACHINE_TOKEN_PATHS.contains(&path.as_str()))
}

fn ends_in_token(url: &Url) -> bool {
    let path = lower_path(url);
    TOKEN_ENDS.iter().any(|end| path.ends_with(end))
}

fn lower_path(url: &Url) -> String {
    url.path().trim_end_matches('/').to_ascii_lowercase()
}

// ===== accounts =====

fn label_account(service: &str, host: &str) -> String {
    match host.split('.').next() {
        Some(label) if !label.is_empty() => without_tail(service, label).to_owned(),
        _ => host.to_owned(),
    }
}

fn path_account(service: &str, url: &Url, host: &str) -> String {
    match first_segment(url) {
        Some(segment) => without_tail(service, &segment.to_ascii_lowercase()).to_owned(),
        None => authority(url, host),
    }
}

/// The account without what its host adds to it for a copy, a route or a region.
fn without_tail<'a>(service: &str, label: &'a str) -> &'a str {
    let mut account = label;
    if service.starts_with("storage.") {
        while let Some(shorter) = LABEL_TAILS.iter().find_map(|tail| account.strip_suffix(tail)) {
            account = shorter;
        }
    } else if service == "cosmos"
        && let Some((shorter, region)) = label.rsplit_once('-')
        && REGIONS.contains(&region)
    {
        account = shorter;
    }
    if account.is_empty() { label } else { account }
}

/// The tenant, or the host where the path names none.
fn tenant(url: &Url, host: &str) -> String {
    match first_segment(url).map(|segment| segment.to_ascii_lowercase()) {
        Some(tenant) if !NO_TENANTS.contains(&tenant.as_str()) => tenant,
        _ => authority(url, host),
    }
}

fn first_segment(url: &Url) -> Option<Cow<'_, str>> {
    let segment = url.path().split('/').find(|segment| !segment.is_empty())?;
    Some(percent_decode_str(segment).decode_utf8_lossy())
}

#[cfg(test)]
mod tests;
