//! What the hooks of one attached client share.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Once, OnceLock, PoisonError};
use std::time::Duration;

use cloud_governor::{Classification, Governor, RetrySettings, Scope, get_governor};
use google_cloud_gax::error::Error;

use crate::call::Context;
use crate::facts::Told;
use crate::seen::Seen;
use crate::target::{PROVIDER, Targets};

/// What tokens are charged to: no service of Google's is called so.
const IDENTITY: &str = "identity";

/// One attached client.
pub(crate) struct Client {
    pub(crate) governor: Option<Governor>,
    pub(crate) targets: Targets,
    pub(crate) lease: Duration,
    pub(crate) resend_any: bool,
    /// Whether the client's recorder was switched on, and no call has come by with one yet.
    pub(crate) awaits_recorder: AtomicBool,
    /// The quota project that the credentials name.
    pub(crate) quota_project: OnceLock<String>,
    outside: Mutex<Option<Arc<Context>>>,
}

impl fmt::Debug for Client {
    // With tracing on, the SDK shows the whole client, policies and all, for each request.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").finish_non_exhaustive()
    }
}

impl Client {
    /// One with nothing but its own recorder.
    pub(crate) fn new(targets: Targets, lease: Duration) -> Self {
        Client {
            governor: None,
            targets,
            lease,
            resend_any: false,
            awaits_recorder: AtomicBool::new(false),
            quota_project: OnceLock::new(),
            outside: Mutex::default(),
        }
    }

    pub(crate) fn governor(&self) -> Governor {
        self.governor.clone().unwrap_or_else(get_governor)
    }

    /// What a call goes by; `None` where the provider is disabled.
    pub(crate) fn terms(&self, context: &Context) -> Option<RetrySettings> {
        let settings = self.governor().settings(PROVIDER);
        let policy = context.options().own_policy().unwrap_or_default();
        settings.enabled.then(|| policy.over(&settings.retry))
    }

    /// The scope of a request.
    pub(crate) fn scope(&self, seen: Option<&Seen<'_>>) -> Scope {
        self.targets.of(seen, self.quota_project.get().map(String::as_str))
    }

    /// The scope of the tokens that this client's credentials fetch.
    pub(crate) fn identity(&self) -> Scope {
        let account = format!("{IDENTITY}:{}", self.scope(None).account());
        Scope::new(PROVIDER, account, "", IDENTITY).with_operation("token")
    }

    /// Whether a failed request is worth sending again, by what its error says.
    pub(crate) fn classify(&self, error: &Error) -> Classification {
        self.governor().classify(&self.scope(None), Told::of(error).facts)
    }

    /// Where its calls belong that are made outside of [`call`](crate::call()).
    pub(crate) fn outside(&self) -> Arc<Context> {
        let governor = self.governor();
        let kept = || self.outside.lock().unwrap_or_else(PoisonError::into_inner);
        let known = kept().clone().filter(|context| context.store().goes_by(governor.clock()));
        known.unwrap_or_else(|| {
            // The first call, or the process-wide governor was replaced. What the old one's journeys hold goes without
            // the lock.
            let context = Context::outside(governor.clock());
            let replaced = kept().replace(Arc::clone(&context));
            drop(replaced);
            context
        })
    }

    /// Takes note of whether a call has a recorder, and says so once if the one that was switched on is not to be found.
    pub(crate) fn note_recorder(&self, has_one: bool) {
        static WARNED: Once = Once::new();
        if self.awaits_recorder.load(Ordering::Relaxed)
            && self.awaits_recorder.swap(false, Ordering::Relaxed)
            && !has_one
        {
            WARNED.call_once(|| {
                tracing::warn!(
                    target: "cloud_governor",
                    "a Google Cloud client keeps no request recorder that this version knows: its calls are charged to \
                     the client's scope, whatever their operation and resource"
                );
            });
        }
    }
}

#[cfg(test)]
mod tests;
