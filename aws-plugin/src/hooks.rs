//! What one install knows: shared by its gate and its observer.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError, Weak};
use std::time::Duration;

use aws_smithy_runtime_api::client::http::SharedHttpClient;
use aws_smithy_runtime_api::client::identity::{Identity, IdentityCachePartition, SharedIdentityCache};
use aws_smithy_types::retry::RetryConfig;
use aws_smithy_types::timeout::TimeoutConfig;
use cloud_governor::{Governor, Scope, get_governor};

use crate::identity::{account, is_anonymous};
use crate::names::scope_region;
use crate::sniff::Seen;

/// How many foreign credentials providers of one install get a label of their own. More than that share one.
const MOST_LABELS: usize = 64;

static NEXT_ID: AtomicU64 = AtomicU64::new(1);

/// Every install that is alive, so that a second one can be put in its place.
static INSTALLS: LazyLock<Mutex<Vec<Weak<Hooks>>>> = LazyLock::new(Mutex::default);

/// What the user said, and what the install replaced.
#[derive(Clone)]
pub(crate) struct Given {
    /// The configuration's own identity cache, or the SDK's default.
    pub(crate) cache: SharedIdentityCache,
    /// The configuration's own HTTP client, or the SDK's default, if this build has one.
    pub(crate) client: Option<SharedHttpClient>,
    pub(crate) retry: Option<RetryConfig>,
    pub(crate) timeouts: Option<TimeoutConfig>,
    /// Holds for the credentials of `provider` alone: a client may be given others.
    pub(crate) account: Option<String>,
    pub(crate) provider: Option<IdentityCachePartition>,
    pub(crate) region: Option<String>,
    /// Unset: the process-wide one, looked up for every call.
    pub(crate) governor: Option<Governor>,
    /// Taken off the configuration, applied around the HTTP call.
    pub(crate) attempt_timeout: Option<Duration>,
    pub(crate) observe_only: bool,
    /// Stands for an account that is not known; kept when the install is replaced by another for the same provider.
    pub(crate) label: Option<u64>,
}

/// One install.
pub(crate) struct Hooks {
    id: u64,
    pub(crate) given: Given,
    foreign: Mutex<Vec<IdentityCachePartition>>,
    warned: [AtomicBool; 3],
}

/// What replaces a part of the install, each reported once.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Replaced {
    RetryConfig,
    IdentityCache,
    HttpClient,
}

impl Hooks {
    pub(crate) fn install(mut given: Given) -> Arc<Self> {
        let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
        given.label.get_or_insert(id);
        let hooks = Arc::new(Hooks { id, given, foreign: Mutex::default(), warned: Default::default() });
        let mut installs = INSTALLS.lock().unwrap_or_else(PoisonError::into_inner);
        installs.retain(|install| install.strong_count() > 0);
        installs.push(Arc::downgrade(&hooks));
        hooks
    }

    /// The install whose gate or observer prints itself like this.
    ///
    /// The SDK's shared types cannot be asked what they hold; their `Debug` text is all that shows it. A wrapper of
    /// somebody else's around a hook shows the hook too, but cannot be taken off: that is the second answer.
    pub(crate) fn behind(hook: &impl fmt::Debug) -> Option<(Arc<Self>, Wrapped)> {
        let shown = format!("{hook:?}");
        let (before, after) = shown.split_once(MARK)?;
        let id: u64 = after.split(')').next()?.parse().ok()?;
        // Directly inside the SDK's own shared type, or deeper.
        let wrapped = if before.matches(['(', '{']).count() <= 1 { Wrapped::No } else { Wrapped::ByOthers };
        let installs = INSTALLS.lock().unwrap_or_else(PoisonError::into_inner);
        let hooks = installs.iter().filter_map(Weak::upgrade).find(|hooks| hooks.id == id)?;
        Some((hooks, wrapped))
    }

    pub(crate) fn governor(&self) -> Governor {
        self.given.governor.clone().unwrap_or_else(get_governor)
    }

    /// The scope of an operation that passes the gate.
    pub(crate) fn scope(
        &self,
        service: &str,
        operation: &str,
        region: Option<&str>,
        identity: &Identity,
        provider: IdentityCachePartition,
    ) -> Scope {
        // An operation without a signature has no credentials that could say otherwise.
        let own = is_anonymous(identity) || self.given.provider.is_none_or(|own| own == provider);
        let account = match &self.given.account {
            Some(account) if own => account.clone(),
            None if own => account(identity).map_or_else(|| self.unknown(), str::to_owned),
            _ => account(identity).map_or_else(|| self.label(provider), str::to_owned),
        };
        Scope::new("aws", account, scope_region(service, region), service).with_operation(operation)
    }

    /// The scope of a request that no gate has seen, of an operation with this provider's credentials.
    pub(crate) fn scope_of_request(
        &self,
        service: &str,
        seen: &Seen,
        provider: Option<IdentityCachePartition>,
    ) -> Scope {
        let own = match (self.given.provider, provider) {
            (Some(own), Some(provider)) => own == provider,
            _ => true,
        };
        let account = match &self.given.account {
            Some(account) if own || !seen.signed => account.clone(),
            None if !seen.signed => self.unknown(),
            // Signed with credentials that nobody here knows: they may belong to any account.
            _ => format!("{}-other", self.unknown()),
        };
        let region = seen.signing_region.as_deref().or(self.given.region.as_deref());
        let scope = Scope::new("aws", account, scope_region(service, region), service);
        match &seen.operation {
            Some(operation) => scope.with_operation(operation),
            None => scope,
        }
    }

    /// A stand-in for the unknown account of credentials that are not the configuration's.
    fn label(&self, provider: IdentityCachePartition) -> String {
        let mut foreign = self.foreign.lock().unwrap_or_else(PoisonError::into_inner);
        let at = foreign.iter().position(|other| *other == provider).unwrap_or_else(|| {
            let next = foreign.len();
            if next < MOST_LABELS {
                foreign.push(provider);
            }
            next
        });
        format!("{}-{}", self.unknown(), at + 1)
    }

    fn unknown(&self) -> String {
        format!("unknown-{}", self.given.label.unwrap_or(self.id))
    }

    /// Says once that a client's own setting replaces a part of the install.
    pub(crate) fn warn(&self, replaced: Replaced, scope: &Scope) {
        let (warned, text) = match replaced {
            Replaced::RetryConfig => {
                (0, "a client's own retry configuration replaces the governor's: its backoff adds to every retry")
            }
            Replaced::IdentityCache => (
                1,
                "a signed request passed no gate: the client or the operation has its own identity cache or credentials",
            ),
            Replaced::HttpClient => {
                (2, "an admitted attempt was never seen at the HTTP client: the client's own replaces the governor's")
            }
        };
        let first = self.warned.get(warned).is_some_and(|warned| !warned.swap(true, Ordering::Relaxed));
        if first {
            tracing::warn!(target: "cloud_governor", %scope, "{text}");
        }
    }
}

/// Whether a hook is wrapped by a type that is neither the SDK's nor ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wrapped {
    No,
    ByOthers,
}

const MARK: &str = "CloudGovernorHook(";

impl fmt::Debug for Hooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{MARK}{})", self.id)
    }
}

#[cfg(test)]
mod tests;
