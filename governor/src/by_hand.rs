//! Calls governed by hand: for APIs without a plugin, and for code that sits above an SDK.
//!
//! [`call_with_resilience`] and its twins take a closure that sends one attempt; [`resilient`] wraps a function once.
//! [`Resilience`] holds what such calls may be given besides: a policy, a governor (and with it a clock), a
//! classification of their own.

use std::future::Future;
use std::num::NonZeroU32;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use tokio::sync::oneshot;

use crate::call::{Attempt, Call, Outcome, Verdict};
use crate::classify::{Classification, Classify};
use crate::drive::within;
use crate::error::{Error, Refusal, RefusalKind};
use crate::governor::{Governor, get_governor};
use crate::policy::RetryPolicy;
use crate::scope::Scope;
use crate::waiters::Priority;

/// Sends `operation` under the process-wide governor until it is answered, fails for good or retrying stops.
///
/// The error's source chain tells what a failure means, where it holds an error that is known. One of your own says nothing here,
/// not even if it has [`Classify`], and ends the call: see [`Resilience::classify_by_facts`] and
/// [`Resilience::classify_with`].
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// use cloud_governor::{Scope, call_with_resilience};
///
/// let scope = Scope::new("github", "octo-org", "", "rest").with_operation("ListRepos");
/// let repos = call_with_resilience(&scope, || async { Ok::<_, std::io::Error>(vec!["hello-world"]) }).await?;
/// # assert_eq!(repos.len(), 1);
/// # Ok::<_, cloud_governor::Error<std::io::Error>>(()) }).unwrap();
/// ```
///
/// # Errors
///
/// The operation's own last error, or a refusal if no attempt has one to give.
pub async fn call_with_resilience<F, Fut, T, E>(scope: &Scope, operation: F) -> Result<T, Error<E>>
where
    F: FnMut() -> Fut,
    Fut: Future<Output = Result<T, E>>,
    E: std::error::Error + 'static,
{
    Resilience::new().call(scope, operation).await
}

/// [`call_with_resilience`] for an operation that blocks, from async code: it runs on a blocking thread.
///
/// # Errors
///
/// As [`call_with_resilience`].
pub async fn call_with_resilience_blocking<F, T, E>(scope: &Scope, operation: F) -> Result<T, Error<E>>
where
    F: FnMut() -> Result<T, E> + Send + 'static,
    T: Send + 'static,
    E: std::error::Error + Send + 'static,
{
    Resilience::new().call_blocking(scope, operation).await
}

/// [`call_with_resilience`] for blocking code: waits on this thread.
///
/// # Errors
///
/// As [`call_with_resilience`]; and [`RefusalKind::RuntimeThread`] where async tasks would be stalled.
pub fn call_with_resilience_sync<F, T, E>(scope: &Scope, operation: F) -> Result<T, Error<E>>
where
    F: FnMut() -> Result<T, E>,
    E: std::error::Error + 'static,
{
    Resilience::new().call_sync(scope, operation)
}

/// Wraps a function once, so that every call of it is governed, under one scope or one made from its argument.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// use cloud_governor::{Scope, resilient};
///
/// let read_repo = resilient(
///     |org: &String| Scope::new("github", org, "", "rest").with_operation("ReadRepo"),
///     |org: String| async move { Ok::<_, std::io::Error>(format!("{org}/hello-world")) },
/// );
/// assert_eq!(read_repo.call("octo-org".to_owned()).await.unwrap(), "octo-org/hello-world");
/// # });
/// ```
pub fn resilient<S, F>(scope: S, function: F) -> Resilient<S, F> {
    Resilience::new().wrap(scope, function)
}

// ===== options =====

/// How by-hand calls are made.
#[derive(Debug, Clone, Default)]
pub struct Resilience<C = BySource> {
    governor: Option<Governor>,
    policy: RetryPolicy,
    priority: Priority,
    cost: Option<NonZeroU32>,
    idempotent: Option<bool>,
    classifier: C,
}

impl Resilience {
    /// The process-wide governor, the provider's policy, classification by the error's source chain.
    pub fn new() -> Self {
        Resilience::default()
    }
}

impl<C> Resilience<C> {
    /// With this policy; what it leaves unset is the provider's.
    #[must_use]
    pub fn policy(mut self, policy: RetryPolicy) -> Self {
        self.policy = policy;
        self
    }

    /// Under this governor, and its clock, instead of the process-wide one.
    #[must_use]
    pub fn governor(mut self, governor: &Governor) -> Self {
        self.governor = Some(governor.clone());
        self
    }

    /// With this priority among calls that wait for the same scope.
    #[must_use]
    pub fn priority(mut self, priority: Priority) -> Self {
        self.priority = priority;
        self
    }

    /// How many units each attempt costs, where the scope's limits count those: see [`Call::cost`].
    #[must_use]
    pub fn cost(mut self, units: NonZeroU32) -> Self {
        self.cost = Some(units);
        self
    }

    /// Whether the operation may be executed twice: see [`Call::idempotent`].
    #[must_use]
    pub fn idempotent(mut self, idempotent: bool) -> Self {
        self.idempotent = Some(idempotent);
        self
    }

    /// With the caller's own idea of what an error means: for error types that nobody can teach, such as strings.
    #[must_use]
    pub fn classify_with<E, F: Fn(&E) -> Classification>(self, classify: F) -> Resilience<ByClosure<F>> {
        self.with_classifier(ByClosure(classify))
    }

    /// For errors that know their facts: by their own [`Classify`].
    #[must_use]
    pub fn classify_by_facts(self) -> Resilience<ByFacts> {
        self.with_classifier(ByFacts)
    }

    fn with_classifier<D>(self, classifier: D) -> Resilience<D> {
        let Resilience { governor, policy, priority, cost, idempotent, classifier: _ } = self;
        Resilience { governor, policy, priority, cost, idempotent, classifier }
    }

    /// Wraps a function: see [`resilient`].
    pub fn wrap<S, F>(self, scope: S, function: F) -> Resilient<S, F, C> {
        Resilient { resilience: self, scope, function }
    }

    pub(crate) fn begin(&self, scope: &Scope) -> (Governor, Call) {
        self.begin_knowing(scope, None)
    }

    /// [`begin`](Self::begin), where something is known of whether the operation may be executed twice. The caller's word
    /// goes first.
    pub(crate) fn begin_knowing(&self, scope: &Scope, idempotent: Option<bool>) -> (Governor, Call) {
        let governor = self.governor.clone().unwrap_or_else(get_governor);
        let mut call = governor.call(scope).policy(self.policy).priority(self.priority);
        if let Some(units) = self.cost {
            call.set_cost(units);
        }
        let call = match self.idempotent.or(idempotent) {
            Some(idempotent) => call.idempotent(idempotent),
            None => call,
        };
        (governor, call)
    }

    /// Sends `operation` until it is answered, fails for good or retrying stops. An attempt that outlives the policy's
    /// attempt timeout is dropped and counts as a transient failure. The deadline bounds waiting and retrying; it
    /// does not cut an attempt short.
    ///
    /// # Errors
    ///
    /// The operation's own last error, or a refusal if no attempt has one to give.
    pub async fn call<F, Fut, T, E>(&self, scope: &Scope, mut operation: F) -> Result<T, Error<E>>
    where
        F: FnMut() -> Fut,
        Fut: Future<Output = Result<T, E>>,
        C: ClassifyError<E>,
    {
        let (governor, mut call) = self.begin(scope);
        let mut last = None;
        loop {
            let attempt = match call.admit().await {
                Ok(attempt) => attempt,
                Err(refusal) => return Err(last_or(last, refusal)),
            };
            let Some(result) = within(&**governor.clock(), attempt.timeout(), operation()).await else {
                match attempt.finish(Outcome::Failure(Classification::transient())) {
                    Verdict::Retry { .. } => continue,
                    _ => return Err(last_or(last, timed_out(&attempt))),
                }
            };
            match self.settle(&governor, attempt, result) {
                Settled::Return(result) => return result,
                Settled::Again(error) => last = Some(error),
            }
        }
    }

    /// [`call`](Self::call) for an operation that blocks: each attempt runs on a blocking thread and keeps its slot until
    /// it ends, even if this future is dropped or the attempt timeout passes. After an attempt timeout there is no
    /// retry, as the work may still be going on.
    ///
    /// # Errors
    ///
    /// As [`call`](Self::call).
    pub async fn call_blocking<F, T, E>(&self, scope: &Scope, operation: F) -> Result<T, Error<E>>
    where
        F: FnMut() -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: Send + 'static,
        C: ClassifyError<E> + Clone + Send + 'static,
    {
        let (governor, mut call) = self.begin(scope);
        let mut last = None;
        let mut operation = operation;
        loop {
            let attempt = match call.admit().await {
                Ok(attempt) => attempt,
                Err(refusal) => return Err(last_or(last, refusal)),
            };
            let timeout = attempt.timeout();
            let refusal = timed_out(&attempt);
            let (resilience, judge) = (self.clone(), governor.clone());
            let work = on_blocking_thread(move || {
                let result = operation();
                (resilience.settle(&judge, attempt, result), operation)
            });
            match within(&**governor.clock(), timeout, work).await {
                Some(Some((Settled::Return(result), _))) => return result,
                Some(Some((Settled::Again(error), returned))) => {
                    last = Some(error);
                    operation = returned;
                }
                Some(None) => return Err(last_or(last, no_thread(scope))),
                None => {
                    // The work settles its attempt when it ends, and that is then the call's end.
                    call.stop_retrying();
                    return Err(last_or(last, refusal));
                }
            }
        }
    }

    /// [`call`](Self::call) for blocking code: waits, and sends, on this thread. A blocking operation cannot be cut off,
    /// so the policy's attempt timeout does not apply.
    ///
    /// # Errors
    ///
    /// As [`call`](Self::call); and [`RefusalKind::RuntimeThread`] where async tasks would be stalled.
    pub fn call_sync<F, T, E>(&self, scope: &Scope, mut operation: F) -> Result<T, Error<E>>
    where
        F: FnMut() -> Result<T, E>,
        C: ClassifyError<E>,
    {
        let (governor, mut call) = self.begin(scope);
        let mut last = None;
        loop {
            let attempt = match call.admit_blocking() {
                Ok(attempt) => attempt,
                Err(refusal) => return Err(last_or(last, refusal)),
            };
            match self.settle(&governor, attempt, operation()) {
                Settled::Return(result) => return result,
                Settled::Again(error) => last = Some(error),
            }
        }
    }

    pub(crate) fn classify<E>(&self, governor: &Governor, scope: &Scope, error: &E) -> Option<Classification>
    where
        C: ClassifyError<E>,
    {
        self.classifier.classify(governor, scope, error)
    }

    fn settle<T, E>(&self, governor: &Governor, attempt: Attempt, result: Result<T, E>) -> Settled<T, E>
    where
        C: ClassifyError<E>,
    {
        match result {
            Ok(value) => {
                attempt.finish(Outcome::Success);
                Settled::Return(Ok(value))
            }
            Err(error) => {
                // What says nothing of the service is as good as a cancelled attempt.
                let Some(meaning) = self.classify(governor, attempt.scope(), &error) else {
                    return Settled::Return(Err(Error::Call(error)));
                };
                match attempt.finish(Outcome::Failure(meaning)) {
                    Verdict::Retry { .. } => Settled::Again(error),
                    Verdict::Done | Verdict::GiveUp(_) => Settled::Return(Err(Error::Call(error))),
                }
            }
        }
    }
}

/// What one attempt came to.
enum Settled<T, E> {
    Return(Result<T, Error<E>>),
    Again(E),
}

fn last_or<E>(last: Option<E>, refusal: Refusal) -> Error<E> {
    last.map_or(Error::Refused(refusal), Error::Call)
}

fn no_thread(scope: &Scope) -> Refusal {
    let reason = "there is no thread for a blocking call";
    Refusal::new(RefusalKind::RuntimeThread, scope.clone(), reason, None)
}

pub(crate) fn timed_out(attempt: &Attempt) -> Refusal {
    let reason = format!("attempt {} was not answered within its timeout", attempt.number());
    Refusal::new(RefusalKind::AttemptTimedOut, attempt.scope().clone(), reason, None)
}

/// Runs `work` on a thread that may block; the runtime's, where there is one. A panic in it goes on here. `None` if there
/// is no thread to be had: the runtime is shutting down, or the system has no more.
async fn on_blocking_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let (sender, receiver) = oneshot::channel();
    let work = move || {
        // Nobody to tell if the caller was dropped: the work has settled its attempt itself.
        let _ = sender.send(catch_unwind(AssertUnwindSafe(work)));
    };
    match tokio::runtime::Handle::try_current() {
        Ok(runtime) => drop(runtime.spawn_blocking(work)),
        // If it fails, the sender goes with the work, which the receiver sees.
        Err(_) => drop(std::thread::Builder::new().spawn(work)),
    }
    match receiver.await {
        Ok(Ok(output)) => Some(output),
        Ok(Err(panic)) => resume_unwind(panic),
        Err(_) => None,
    }
}

// ===== classification =====

/// Says what a by-hand call's error means.
pub trait ClassifyError<E> {
    /// What `error` means in `scope`; `None` if it says nothing of the service, as the refusal of another governed call
    /// inside this one.
    fn classify(&self, governor: &Governor, scope: &Scope, error: &E) -> Option<Classification>;
}

/// By the facts in the error's source chain and the governor's rules.
#[derive(Debug, Clone, Copy, Default)]
pub struct BySource;

impl<E: std::error::Error + 'static> ClassifyError<E> for BySource {
    fn classify(&self, governor: &Governor, scope: &Scope, error: &E) -> Option<Classification> {
        match Refusal::find(error) {
            Some(_) => None,
            None => Some(governor.rules(scope.provider()).classify_error(scope, error)),
        }
    }
}

/// By the error's own facts: see [`Resilience::classify_by_facts`].
#[derive(Debug, Clone, Copy, Default)]
pub struct ByFacts;

impl<E: Classify> ClassifyError<E> for ByFacts {
    fn classify(&self, governor: &Governor, scope: &Scope, error: &E) -> Option<Classification> {
        Some(error.classify(&governor.rules(scope.provider()), scope))
    }
}

/// By a closure: see [`Resilience::classify_with`].
#[derive(Clone, Copy)]
pub struct ByClosure<F>(F);

impl<E, F: Fn(&E) -> Classification> ClassifyError<E> for ByClosure<F> {
    fn classify(&self, _: &Governor, _: &Scope, error: &E) -> Option<Classification> {
        Some((self.0)(error))
    }
}

impl<F> std::fmt::Debug for ByClosure<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ByClosure")
    }
}

// ===== a wrapped function =====

/// Where a wrapped function's calls go: one scope, or one made from the argument.
pub trait ScopeOf<A: ?Sized> {
    /// The scope of a call with this argument.
    fn scope_of(&self, argument: &A) -> Scope;
}

impl<A: ?Sized> ScopeOf<A> for Scope {
    fn scope_of(&self, _: &A) -> Scope {
        self.clone()
    }
}

impl<A: ?Sized, F: Fn(&A) -> Scope> ScopeOf<A> for F {
    fn scope_of(&self, argument: &A) -> Scope {
        self(argument)
    }
}

/// A function whose calls are governed: see [`resilient`]. Several arguments go in a tuple.
#[derive(Debug, Clone)]
pub struct Resilient<S, F, C = BySource> {
    resilience: Resilience<C>,
    scope: S,
    function: F,
}

impl<S, F, C> Resilient<S, F, C> {
    /// Calls an async function; each attempt gets a clone of the argument.
    ///
    /// # Errors
    ///
    /// As [`Resilience::call`].
    pub async fn call<A, Fut, T, E>(&self, argument: A) -> Result<T, Error<E>>
    where
        A: Clone,
        S: ScopeOf<A>,
        F: Fn(A) -> Fut,
        Fut: Future<Output = Result<T, E>>,
        C: ClassifyError<E>,
    {
        let scope = self.scope.scope_of(&argument);
        self.resilience.call(&scope, || (self.function)(argument.clone())).await
    }

    /// Calls a blocking function, on this thread.
    ///
    /// # Errors
    ///
    /// As [`Resilience::call_sync`].
    pub fn call_sync<A, T, E>(&self, argument: A) -> Result<T, Error<E>>
    where
        A: Clone,
        S: ScopeOf<A>,
        F: Fn(A) -> Result<T, E>,
        C: ClassifyError<E>,
    {
        let scope = self.scope.scope_of(&argument);
        self.resilience.call_sync(&scope, || (self.function)(argument.clone()))
    }
}
