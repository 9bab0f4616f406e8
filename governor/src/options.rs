//! What one call is treated like where a front end's methods take no argument for it, and what became of it.

use std::num::NonZeroU32;
use std::sync::Arc;

use crate::call::{Call, GiveUp, Verdict};
use crate::error::{Refusal, RefusalKind};
use crate::policy::RetryPolicy;
use crate::scope::Scope;
use crate::sync::{Mutex, MutexGuard};
use crate::waiters::Priority;

/// How one call is governed. How it travels with the call is the front end's to say: in the request's extensions, or
/// around the future.
///
/// ```
/// use std::time::Duration;
/// use cloud_governor::{CallOptions, CallReport, Priority, RetryPolicy};
///
/// let report = CallReport::new();
/// let urgent = CallOptions::new()
///     .priority(Priority::High)
///     .policy(RetryPolicy::builder().deadline(Duration::from_secs(5)).build()?)
///     .report(&report);
/// # let _ = urgent;
/// # Ok::<_, cloud_governor::PolicyError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct CallOptions {
    policy: Option<RetryPolicy>,
    scope: Option<Scope>,
    idempotent: Option<bool>,
    skip: bool,
    priority: Option<Priority>,
    cost: Option<NonZeroU32>,
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

    /// How many units each attempt costs, where the scope's limits count those: see [`Call::cost`].
    #[must_use]
    pub fn cost(mut self, units: NonZeroU32) -> Self {
        self.cost = Some(units);
        self
    }

    /// The scope to charge, in place of the one that the request says.
    #[must_use]
    pub fn scope(mut self, scope: Scope) -> Self {
        self.scope = Some(scope);
        self
    }

    /// Whether the operation may be executed twice, in place of what the front end knows of it.
    #[must_use]
    pub fn idempotent(mut self, idempotent: bool) -> Self {
        self.idempotent = Some(idempotent);
        self
    }

    /// Tells `report` what becomes of the call.
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

    // ===== for front ends =====

    /// Whether the call is not to be governed.
    pub fn is_skipped(&self) -> bool {
        self.skip
    }

    /// The scope to charge, if the caller named one.
    pub fn own_scope(&self) -> Option<&Scope> {
        self.scope.as_ref()
    }

    /// What the caller said of executing the operation twice, if anything.
    pub fn own_idempotence(&self) -> Option<bool> {
        self.idempotent
    }

    /// The policy, if the caller gave one.
    pub fn own_policy(&self) -> Option<RetryPolicy> {
        self.policy
    }

    /// The call with this policy, priority and cost, and idempotence if the caller said so.
    pub fn apply(&self, mut call: Call) -> Call {
        if let Some(policy) = self.policy {
            call = call.policy(policy);
        }
        if let Some(priority) = self.priority {
            call = call.priority(priority);
        }
        if let Some(units) = self.cost {
            call = call.cost(units);
        }
        match self.idempotent {
            Some(idempotent) => call.idempotent(idempotent),
            None => call,
        }
    }

    /// Tells the report, if there is one, that an attempt was admitted.
    pub fn note_admitted(&self, scope: &Scope) {
        self.tell(|told| {
            told.attempts = told.attempts.saturating_add(1);
            told.scope = Some(scope.clone());
        });
    }

    /// Tells the report, if there is one, what follows from an attempt's outcome.
    pub fn note_verdict(&self, verdict: Verdict) {
        match verdict {
            Verdict::GiveUp(reason) => self.note_given_up(reason),
            Verdict::Done => self.tell(|told| told.gave_up = None),
            Verdict::Retry { .. } => {}
        }
    }

    /// Tells the report, if there is one, that retrying stops.
    pub fn note_given_up(&self, reason: GiveUp) {
        self.tell(|told| told.gave_up = Some(reason));
    }

    /// Tells the report, if there is one, that the governor refused.
    pub fn note_refused(&self, refusal: &Refusal) {
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
        if let Some(report) = &self.report {
            what(&mut report.told());
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

/// What became of the calls that were made with [`CallOptions::report`]. Clones are the same report.
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
        self.told.lock()
    }
}

#[cfg(test)]
mod tests;
