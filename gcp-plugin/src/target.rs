//! Whom a call is charged to.
//!
//! | | resource-based services (Compute, Storage, ..) | client-based services (Cloud Asset, ..) |
//! |---|---|---|
//! | 0 | whom the program says by `GcpOptions::account_from` | the same |
//! | 1 | the project, folder or organization of the resource that the request names | the quota project of the credentials |
//! | 2 | the account that the client was attached with | the account that the client was attached with |
//! | 3 | the quota project of the credentials | one that another client is known to be charged to, if an answer says it is the same |
//! | 4 | an account of this client alone | an account of this client alone |
//!
//! Each column begins with what Google goes by ("Quota project overview"): a resource-based service counts calls for the
//! project of the resource, whoever calls, and a client-based one for the caller's project, whatever the call is about. The
//! account that a client was attached with fills in where the request does not say; it never contradicts what is on the
//! wire. To charge a call to something else, its scope is given by hand. Of the official clients a quota project set on one
//! request is unseen here, as the hooks do not get the request.
//!
//! The quota project is the `x-goog-user-project` header that the credentials give, or the request has. Google's credentials fill it from the
//! credentials file and from `GOOGLE_CLOUD_QUOTA_PROJECT`, so no variable is read here.
//!
//! # What answers teach
//!
//! A refused call's `ErrorInfo` names whom it was charged to, as `projects/123456`: a number, while scopes have ids.
//! Moving a client's calls to a leaf of that name would have them forget what its leaf has just learnt, in the moment
//! of a throttle. So a leaf is never renamed. What is learnt is that two clients share a quota: the first that an answer
//! names a number for keeps the account that it has, and a later one of unknown account joins it there, once. It is
//! learnt of client-based services alone, since elsewhere it changes from resource to resource.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{LazyLock, Mutex, OnceLock, PoisonError};

use cloud_governor::{Governor, Scope, SharedLimit, ToldLimit};

use crate::facts::{Limit, Whose};
use crate::seen::Seen;
use crate::services;

pub(crate) const PROVIDER: &str = "gcp";
pub(crate) const COLLECTIONS: [&str; 3] = ["projects", "folders", "organizations"];

/// What Google's APIs take for "any" (AIP-159) and Storage for "whichever it is in".
const PLACEHOLDERS: [&str; 4] = ["", "*", "-", "_"];

/// The longest account that a request or a header is taken to name: ids of projects have no more than 30 characters, with a
/// domain before them for the oldest.
const LONGEST_ACCOUNT: usize = 128;

/// Storage's transfers are no rpc; by what the JSON API calls them.
const MEDIA: [(&str, &str); 2] =
    [("/storage/v1/b/{bucket}/o/{object}", "objects.get"), ("/upload/storage/v1/b/{bucket}/o", "objects.insert")];

/// What the poller of Compute's operations calls `get`.
const POLL: &str = "getOperation";

/// Finds the scope of each call of one client.
#[derive(Debug)]
pub(crate) struct Targets {
    account: Option<String>,
    /// No other client has it.
    own: String,
    /// The account of another client that is charged to the same project.
    joined: OnceLock<String>,
    service: Cow<'static, str>,
}

impl Targets {
    /// Of a client with this account, which may lack its `projects/`, and whose builder's factory has this type name.
    pub(crate) fn new(account: Option<&str>, factory: &str) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Targets {
            account: account.and_then(account_of).map(Cow::into_owned),
            own: format!("unknown-{}", NEXT.fetch_add(1, Ordering::Relaxed)),
            joined: OnceLock::new(),
            service: services::of_client(factory).unwrap_or_default(),
        }
    }

    /// The scope of a call. `quota_project` is what the credentials' headers name.
    pub(crate) fn of(&self, seen: Option<&Seen<'_>>, quota_project: Option<&str>) -> Scope {
        let service = seen.and_then(service_of).unwrap_or(Cow::Borrowed(&self.service));
        let told = seen.and_then(|seen| seen.account.as_deref()).and_then(short_account);
        let quota_project = quota_project.and_then(short_account);
        let resource = seen.and_then(|seen| seen.resource.as_deref()).and_then(resource_account);
        let known = self.account.as_deref().map(Cow::Borrowed);
        let account = if services::is_client_based(&service) {
            let joined = || self.joined.get().map(|joined| Cow::Borrowed(joined.as_str()));
            quota_project.or(known).or_else(joined)
        } else {
            resource.map(Cow::Borrowed).or(known).or(quota_project)
        };
        let account = told.or(account).unwrap_or(Cow::Borrowed(&self.own));
        let scope = Scope::new(PROVIDER, account, "", &service);
        match seen.and_then(operation_of) {
            Some(operation) => scope.with_operation(operation),
            None => scope,
        }
    }

    /// Takes note of what a failure told: whom the call was charged to, and the exceeded limit. That is given back if it is
    /// one of this scope's, or of a bucket that it shares.
    pub(crate) fn heard(
        &self,
        governor: &Governor,
        scope: &Scope,
        consumer: Option<&str>,
        limit: Option<&Limit>,
    ) -> Option<ToldLimit> {
        if let Some(consumer) = consumer {
            self.learn(scope, consumer);
        }
        let limit = limit?;
        let told = ToldLimit::new(limit.calls, limit.per);
        let settings = governor.settings(scope.provider());
        match shared_by(&settings.shared_for(scope), limit) {
            Some(name) => Some(told.of_shared(name)),
            // Google's limits are of methods or groups of them: one would hold back the others of a leaf that they share.
            None => Some(told).filter(|_| limit.whose == Whose::Project && settings.is_per_operation(scope)),
        }
    }

    /// Takes note of whom an answer says that a call in this scope was charged to.
    fn learn(&self, scope: &Scope, consumer: &str) {
        // A scope that was given by hand may be called anything, which says nothing of other clients.
        let is_ours = scope.account() == self.own || is_consumer(scope.account());
        if !is_ours || !services::is_client_based(scope.service()) || !is_consumer(consumer) {
            return;
        }
        let mut known = CHARGED.lock().unwrap_or_else(PoisonError::into_inner);
        match known.get(consumer) {
            Some(account) if scope.account() == self.own && *account != self.own => {
                // Somebody else may have been faster: the first holds.
                let _ = self.joined.set(account.clone());
            }
            None if known.len() < MOST_CHARGED => {
                known.insert(consumer.to_owned(), scope.account().to_owned());
            }
            _ => {}
        }
    }
}

/// The name of the bucket that a limit is of, if it is one of those that a scope shares: the organization's, where there is
/// just one, or that of the group of operations that the limit's name begins with. Google has `Read`, and here it is `reads`.
fn shared_by<'a>(shared: &'a [SharedLimit], limit: &Limit) -> Option<&'a str> {
    let of_organization = |bucket: &&SharedLimit| bucket.scope.account() == NO_ACCOUNT;
    match limit.whose {
        Whose::Organization => {
            let mut found = shared.iter().filter(of_organization);
            found.next().filter(|_| found.next().is_none())?.scope.operation()
        }
        Whose::Project => {
            let group = limit.group.as_deref()?;
            let of_project = shared.iter().filter(|bucket| !of_organization(bucket));
            of_project.filter_map(|bucket| bucket.scope.operation()).find(|name| is_called(name, group))
        }
    }
}

/// What a scope has for an account where it is nobody's.
const NO_ACCOUNT: &str = "*";

/// Whether a bucket's name is that of a group, but for its hyphens and that it is in the plural.
fn is_called(bucket: &str, group: &str) -> bool {
    let letters = || bucket.chars().filter(|letter| *letter != '-');
    letters().eq(group.chars()) || letters().eq(group.chars().chain(['s']))
}

/// What the clients of this process charge to the projects that answers named.
static CHARGED: LazyLock<Mutex<HashMap<String, String>>> = LazyLock::new(Mutex::default);

/// How many such projects are remembered: whoever answers must not fill the memory.
const MOST_CHARGED: usize = 1024;

fn is_consumer(account: &str) -> bool {
    resource_account(account) == Some(account)
}

// ===== accounts =====

/// The account that a user or a header means: `projects/p`, or `p` alone.
fn account_of(text: &str) -> Option<Cow<'_, str>> {
    let text = text.trim();
    let id = COLLECTIONS.iter().find_map(|kind| text.strip_prefix(kind)?.strip_prefix('/')).unwrap_or(text);
    if PLACEHOLDERS.contains(&id) {
        None
    } else if text.contains('/') {
        Some(Cow::Borrowed(text))
    } else {
        Some(Cow::Owned(format!("projects/{text}")))
    }
}

/// The same, of a text that may be anything.
fn short_account(text: &str) -> Option<Cow<'_, str>> {
    if text.len() <= LONGEST_ACCOUNT { account_of(text) } else { None }
}

/// The first `projects/p`, `folders/f` or `organizations/o` in the full name of a resource, or in a relative one.
pub(crate) fn resource_account(resource: &str) -> Option<&str> {
    let path = match resource.strip_prefix("//") {
        Some(full) => full.split_once('/')?.1,
        None => resource,
    };
    let mut start = 0;
    // Collections and ids take turns.
    loop {
        let rest = path.get(start..)?;
        let (collection, after) = rest.split_once('/')?;
        let id = after.split('/').next().unwrap_or_default();
        let length = collection.len() + 1 + id.len();
        if COLLECTIONS.contains(&collection) {
            let names_one = !PLACEHOLDERS.contains(&id) && length <= LONGEST_ACCOUNT;
            return if names_one { rest.get(..length) } else { None };
        }
        start += length + 1;
    }
}

// ===== services and operations =====

fn service_of<'a>(seen: &'a Seen<'_>) -> Option<Cow<'a, str>> {
    let host = || seen.resource.as_deref()?.strip_prefix("//")?.split('/').next();
    Some(seen.service)
        .filter(|service| !service.is_empty())
        .or_else(|| services::of_host(host()?))
        .or_else(|| services::of_host(seen.host))
        .map(Cow::Borrowed)
        .or_else(|| services::of_rpc(seen.rpc?))
}

/// `ListAssets`, `instances.list`, `objects.get`.
fn operation_of<'a>(seen: &Seen<'a>) -> Option<Cow<'a, str>> {
    let Some(rpc) = seen.rpc else {
        let template = seen.template?;
        return MEDIA.iter().find(|(known, _)| *known == template).map(|(_, name)| Cow::Borrowed(*name));
    };
    let Some((service, method)) = rpc.rsplit_once('/') else { return Some(Cow::Borrowed(rpc)) };
    let collection = service.rsplit_once('.').map_or(service, |(_, last)| last);
    // The APIs that are described by discovery documents have collections, in lower case, where others have services.
    if !collection.starts_with(|first: char| first.is_ascii_lowercase()) {
        return Some(Cow::Borrowed(method));
    }
    let method = if method == POLL { "get" } else { method };
    Some(Cow::Owned(format!("{collection}.{method}")))
}

#[cfg(test)]
mod tests;
