//! What one call is treated like, and what became of it.
//!
//! A client's methods take no argument for the governor, so what a call should be treated like is said around it.

use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use cloud_governor::{Call, Clock, GiveUp, Priority, Refusal, RefusalKind, RetryPolicy, Scope, Verdict};

use crate::client::Client;
use crate::store::Store;

tokio::task_local! {
    static CONTEXT: Arc<Context>;
}

/// Where the calls belong that are made outside of [`call`]: one for each clock that governors go by, because clients that
/// share a governor wait for each other's slots.
static OUTSIDE: Mutex<Vec<Weak<Context>>> = Mutex::new(Vec::new());

/// Runs a future whose calls, of any attached client, are governed by these options.
///
/// If it is dropped, everything that its calls hold goes back at once: slots, tokens of a wait, the place of a half-open
/// circuit's probe. Several calls may be made inside, one after the other or side by side: a paginator's pages, a poller's
/// polls, joined requests. The options hold for each of them: to bound all together, put `tokio::time::timeout` around
/// this. What is dropped inside while the rest goes on is leased, as outside
/// ([`GcpOptions::lease`](crate::GcpOptions::lease)). An inner `call` replaces an outer one. Task-locals do not enter
/// `tokio::spawn`: wrap the spawned future instead.
///
/// ```
/// # use google_cloud_asset_v1::client::AssetService;
/// # async fn demo(assets: AssetService) -> Result<(), Box<dyn std::error::Error>> {
/// use std::time::Duration;
/// use cloud_governor::{Priority, RetryPolicy};
/// use cloud_governor_gcp::{CallOptions, CallReport, call};
///
/// let report = CallReport::new();
/// let urgent = CallOptions::new()
///     .priority(Priority::High)
///     .policy(RetryPolicy::builder().deadline(Duration::from_secs(5)).build()?)
///     .report(&report);
/// let page = call(urgent, assets.list_assets().set_parent("projects/my-project").send()).await?;
/// println!("{} assets, {} attempts", page.assets.len(), report.attempts());
/// # Ok(())
/// # }
/// ```
pub fn call<F: Future>(options: impl Into<CallOptions>, future: F) -> impl Future<Output = F::Output> {
    let context = Arc::new(Context { options: options.into(), store: Store::inside() });
    async move {
        // When this ends, or is dropped, nobody else holds the context, and with it goes what its calls hold.
        let _ends = Ends(Arc::clone(&context));
        CONTEXT.scope(context, future).await
    }
}

/// How the calls inside [`call`] are governed.
#[derive(Debug, Clone, Default)]
pub struct CallOptions {
    pub(crate) policy: Option<RetryPolicy>,
    pub(crate) scope: Option<Scope>,
    pub(crate) idempotent: Option<bool>,
    pub(crate) skip: bool,
    priority: Option<Priority>,
    report: Option<CallReport>,
}

impl CallOptions {
    /// Nothing special.
    pub fn new() -> Self {
        CallOptions::default()
    }

    /// Retries, backoff, attempt timeout and deadline; what the policy leaves unset is the provider's.
    #[must_use]
    pub fn policy(mut self, policy: RetryPolicy) -> Self {
        self.policy = Some(policy);
        self
    }

    /// The place in line among those that wait for the same scope.
    #[must_use]
    pub fn priority(mut self, priority: Priority) -> Self {
        self.priority = Some(priority);
        self
    }

    /// The scope to charge, in place of the one that the request says.
    #[must_use]
    pub fn scope(mut self, scope: Scope) -> Self {
        self.scope = Some(scope);
        self
    }

    /// Whether the operation may be executed twice, in place of what the client says of it (`with_idempotency`, or by the
    /// request's method).
    #[must_use]
    pub fn idempotent(mut self, idempotent: bool) -> Self {
        self.idempotent = Some(idempotent);
        self
    }

    /// Tells `report` what becomes of the calls.
    #[must_use]
    pub fn report(mut self, report: &CallReport) -> Self {
        self.report = Some(report.clone());
        self
    }

    /// Not governed at all: sent once, at once, and not counted.
    #[must_use]
    pub fn skip(mut self) -> Self {
        self.skip = true;
        self
    }

    pub(crate) fn apply(&self, mut call: Call) -> Call {
        if let Some(policy) = self.policy {
            call = call.policy(policy);
        }
        match self.priority {
            Some(priority) => call.priority(priority),
            None => call,
        }
    }
}

impl From<Scope> for CallOptions {
    fn from(scope: Scope) -> Self {
        CallOptions::new().scope(scope)
    }
}

impl From<RetryPolicy> for CallOptions {
    fn from(policy: RetryPolicy) -> Self {
        CallOptions::new().policy(policy)
    }
}

/// What became of the calls inside [`call`]. Clones are the same report.
#[derive(Debug, Clone, Default)]
pub struct CallReport {
    told: Arc<Mutex<Told>>,
}

#[derive(Debug, Default)]
struct Told {
    attempts: u32,
    scope: Option<Scope>,
    gave_up: Option<GiveUp>,
}

impl CallReport {
    /// Nothing yet.
    pub fn new() -> Self {
        CallReport::default()
    }

    /// Why retrying stopped, if the call that ended last failed with what was worth retrying.
    pub fn gave_up(&self) -> Option<GiveUp> {
        self.told().gave_up
    }

    /// How many attempts were admitted, of all calls together.
    pub fn attempts(&self) -> u32 {
        self.told().attempts
    }

    /// What the call was charged to that was admitted, or refused, last.
    pub fn scope(&self) -> Option<Scope> {
        self.told().scope.clone()
    }

    fn told(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the hooks of a call find around it.
#[derive(Debug)]
pub(crate) struct Context {
    options: CallOptions,
    store: Store,
}

impl Context {
    /// Of the task that is running.
    pub(crate) fn current(client: &Client) -> Arc<Context> {
        CONTEXT.try_with(Arc::clone).unwrap_or_else(|_| client.outside())
    }

    /// Of the calls that are made outside of [`call`].
    pub(crate) fn outside(clock: &Arc<dyn Clock>) -> Arc<Context> {
        let mut all = OUTSIDE.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|context| context.strong_count() > 0);
        all.iter().filter_map(Weak::upgrade).find(|context| context.store.goes_by(clock)).unwrap_or_else(|| {
            let context = Arc::new(Context { options: CallOptions::new(), store: Store::outside(Arc::clone(clock)) });
            all.push(Arc::downgrade(&context));
            context
        })
    }

    pub(crate) fn options(&self) -> &CallOptions {
        &self.options
    }

    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    // ===== the report =====

    pub(crate) fn note_admitted(&self, scope: &Scope) {
        self.tell(|told| {
            told.attempts = told.attempts.saturating_add(1);
            told.scope = Some(scope.clone());
        });
    }

    pub(crate) fn note_verdict(&self, verdict: Verdict) {
        match verdict {
            Verdict::GiveUp(reason) => self.note_given_up(reason),
            Verdict::Done => self.tell(|told| told.gave_up = None),
            _ => {}
        }
    }

    pub(crate) fn note_given_up(&self, reason: GiveUp) {
        self.tell(|told| told.gave_up = Some(reason));
    }

    pub(crate) fn note_refused(&self, refusal: &Refusal) {
        let reason = match refusal.kind() {
            RefusalKind::CircuitOpen => GiveUp::CircuitOpen,
            RefusalKind::DeadlineExceeded => GiveUp::DeadlineExceeded,
            RefusalKind::RetryBudgetExhausted => GiveUp::RetryBudgetExhausted,
            _ => GiveUp::Stopped,
        };
        self.tell(|told| {
            told.gave_up = Some(reason);
            told.scope = Some(refusal.scope().clone());
        });
    }

    fn tell(&self, what: impl FnOnce(&mut Told)) {
        if let Some(report) = &self.options.report {
            what(&mut report.told());
        }
    }
}

/// Ends a context, whoever else may still hold it.
struct Ends(Arc<Context>);

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.store.close();
    }
}

#[cfg(test)]
mod tests;
