//! One logical operation, and one send of it: the state machine that every front end drives.
//!
//! A [`Call`] is asked to [`admit`](Call::admit) each attempt and told how it ended through
//! [`Attempt::finish`], whose [`Verdict`] says what to do next. Everything that decides is here and in the control
//! parts, takes the time as an argument and never waits; [`drive`](crate::drive) does the waiting.

mod admission;
mod attempt;
mod core;
mod state;
mod told;

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use self::core::Core;
pub(crate) use admission::{Admission, Step};
pub use attempt::Attempt;
pub use told::ToldLimit;

use crate::classify::Classification;
use crate::clock::Timestamp;
use crate::drive::{Admit, block_on_admission};
use crate::error::Refusal;
use crate::policy::RetryPolicy;
use crate::registry::Target;
use crate::scope::Scope;
use crate::waiters::Priority;

/// How an attempt ended.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Outcome {
    /// It was served.
    Success,
    /// It failed, and this is what the failure means.
    Failure(Classification),
}

/// What to do after an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// The call has its answer: a success, or a failure that sending again would not mend.
    Done,
    /// Ask to be admitted again; that waits the backoff out.
    #[non_exhaustive]
    Retry {
        /// The backoff, from now. A token, a pause or a slot may take longer.
        delay: Duration,
    },
    /// Return the caller's own error: it was worth retrying, but retrying stops.
    GiveUp(GiveUp),
}

/// Why retrying stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum GiveUp {
    /// `max_retries` retries were made.
    RetriesExhausted,
    /// The next attempt could not begin before the deadline.
    DeadlineExceeded,
    /// The provider's retry budget is empty.
    RetryBudgetExhausted,
    /// The circuit opened meanwhile.
    CircuitOpen,
    /// The attempt was a half-open circuit's probe, which does not retry.
    ProbeFailed,
    /// The request may have been executed and the operation is not idempotent.
    NotIdempotent,
    /// The policy does not retry transient errors.
    TransientNotRetried,
    /// The front end stopped for a reason of its own.
    Stopped,
}

impl GiveUp {
    /// A stable name in snake_case.
    pub const fn code(self) -> &'static str {
        match self {
            GiveUp::RetriesExhausted => "retries_exhausted",
            GiveUp::DeadlineExceeded => "deadline_exceeded",
            GiveUp::RetryBudgetExhausted => "retry_budget_exhausted",
            GiveUp::CircuitOpen => "circuit_open",
            GiveUp::ProbeFailed => "probe_failed",
            GiveUp::NotIdempotent => "not_idempotent",
            GiveUp::TransientNotRetried => "transient_not_retried",
            GiveUp::Stopped => "stopped",
        }
    }
}

// ===== the call =====

/// One logical operation: admitted, sent and judged as often as its policy allows.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// use cloud_governor::{Classification, Governor, Outcome, Scope, Verdict};
///
/// let governor = Governor::builder().build();
/// let mut call = governor.call(&Scope::new("github", "octo", "", "rest"));
/// let answer = loop {
///     let attempt = call.admit().await.expect("nothing is open or overdue");
///     let answer: Result<u32, u16> = Ok(7); // the request goes here
///     let outcome = match answer {
///         Ok(_) => Outcome::Success,
///         Err(_) => Outcome::Failure(Classification::transient()),
///     };
///     if let Verdict::Done | Verdict::GiveUp(_) = attempt.finish(outcome) {
///         break answer;
///     }
/// };
/// assert_eq!(answer, Ok(7));
/// # });
/// ```
#[derive(Debug)]
pub struct Call {
    core: Core,
}

impl Call {
    #[inline]
    pub(crate) fn new(target: Arc<Target>) -> Self {
        Call { core: Core::new(target) }
    }

    /// With a policy of its own; what it leaves unset is the provider's. Its deadline counts from now, the provider's
    /// from when the call first asks to be admitted.
    #[must_use]
    pub fn policy(self, policy: RetryPolicy) -> Self {
        let deadline = policy.deadline().map(|within| within.map(|within| self.core.now() + within));
        {
            let mut state = self.core.state();
            let terms = &mut state.more().terms;
            terms.policy = policy;
            terms.own_deadline = deadline.is_some();
            terms.deadline = deadline.flatten();
        }
        self
    }

    /// With a priority among those that wait for the same scope.
    #[must_use]
    pub fn priority(self, priority: Priority) -> Self {
        self.core.state().more().terms.priority = priority;
        self
    }

    /// Whether the operation may be executed twice. Unknown unless said, and then failures that may have been
    /// executed are retried, as the vendors' own SDKs do.
    #[must_use]
    pub fn idempotent(self, idempotent: bool) -> Self {
        self.core.state().more().terms.idempotent = Some(idempotent);
        self
    }

    /// [`idempotent`](Self::idempotent), for a front end that learns it on the way: with the outcome at the latest, before
    /// [`Attempt::finish`].
    pub fn set_idempotent(&mut self, idempotent: bool) {
        self.core.state().more().terms.idempotent = Some(idempotent);
    }

    /// How many units each attempt costs: instances to be started, points of a query. It takes as many tokens from the
    /// buckets that count units ([`Counts::Units`](crate::Counts::Units)), and one from those that count calls. More than a
    /// bucket holds is taken when it is full, and paid off afterwards. One if it is not said.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
    /// use std::num::NonZeroU32;
    /// use cloud_governor::{Governor, Outcome, Scope};
    ///
    /// // EC2 has 1000 tokens for the instances that RunInstances asks for, besides those for its calls.
    /// let governor = Governor::builder().build();
    /// let run = Scope::new("aws", "123456789012", "eu-west-1", "ec2").with_operation("RunInstances");
    /// let mut call = governor.call(&run).cost(NonZeroU32::new(40).unwrap());
    /// call.admit().await.unwrap().finish(Outcome::Success);
    /// # let seen = governor.inspect(&run).unwrap();
    /// # assert!(seen.shared.iter().any(|bucket| bucket.tokens > 900.0 && bucket.tokens < 961.0), "{seen:?}");
    /// # });
    /// ```
    #[must_use]
    pub fn cost(mut self, units: NonZeroU32) -> Self {
        self.set_cost(units);
        self
    }

    /// [`cost`](Self::cost), for a front end that learns it on the way: before [`admit`](Self::admit).
    pub fn set_cost(&mut self, units: NonZeroU32) {
        self.core.state().more().terms.cost = Some(units);
    }

    /// Without a slot of its account's bulkhead: for a call made inside another that holds one.
    #[must_use]
    pub fn without_slot(self) -> Self {
        self.core.state().more().terms.without_slot = true;
        self
    }

    /// Under the terms of another call: its policy, priority, idempotence, deadline and whether it takes a slot. For a
    /// second chance that a front end gives to the same operation.
    #[must_use]
    pub fn like(self, other: &Call) -> Self {
        let terms = other.core.state().terms_to_share(&other.core.target().settings.retry);
        self.core.state().more().terms = terms;
        self
    }

    /// Brings the deadline forward to `within` from now, if it is later.
    pub fn limit_deadline(&mut self, within: Duration) {
        let until = self.core.now() + within;
        self.core.state().more().terms.limit_deadline(until);
    }

    /// The scope.
    pub fn scope(&self) -> &Scope {
        self.core.scope()
    }

    /// How many attempts were admitted.
    pub fn attempts(&self) -> u32 {
        self.core.state().attempts
    }

    /// Whether its policy allows no more attempts than were admitted.
    pub fn is_exhausted(&self) -> bool {
        let state = self.core.state();
        state.attempts > self.core.policy(&state.terms()).max_retries
    }

    /// Whether the call is governed. If its provider is disabled, it is admitted at once and never retried.
    pub fn is_governed(&self) -> bool {
        self.core.governed()
    }

    /// Waits until the next attempt may be sent: breaker, deadline, backoff, pause and token, slot.
    ///
    /// Dropping the future gives back whatever it held and leaves every line. If the last attempt has not reported,
    /// it is taken for a transient failure first, and what it held goes back.
    ///
    /// # Errors
    ///
    /// A [`Refusal`], and nothing is to be sent: the circuit is open, the wait cannot end before the deadline, or the
    /// call has ended. Where an earlier attempt has an error, that is what the caller should get.
    pub fn admit(&mut self) -> Admit<'_> {
        Admit::new(Admission::new(&self.core))
    }

    /// [`admit`](Self::admit) for a thread that may block.
    ///
    /// # Errors
    ///
    /// As [`admit`](Self::admit); and [`RuntimeThread`](crate::RefusalKind::RuntimeThread) on a thread that runs async
    /// tasks.
    pub fn admit_blocking(&mut self) -> Result<Attempt, Refusal> {
        block_on_admission(Admission::new(&self.core))
    }

    /// An attempt that something else has made already, at `sent_at` by the governor's clock, without asking to be
    /// admitted: for a front end that learns of it by its outcome. Nothing is waited for, nothing is refused, and no slot
    /// is held. If an earlier attempt has not reported, it counts as cancelled. It is counted, and takes a token if one lies
    /// ready, also where it was admitted once and dropped since.
    pub fn attempted(&mut self, sent_at: Timestamp) -> Attempt {
        self.core.attempted(sent_at)
    }

    /// The front end stops for a reason of its own, after a failure that was worth retrying: counts as a give-up.
    /// Does nothing if the call has ended, or no attempt has failed.
    pub fn give_up(&mut self) {
        let core = &self.core;
        let pending = {
            let mut state = core.state();
            match state.verdict {
                Some(Verdict::Retry { .. }) if state.current.is_none() => {
                    state.verdict = Some(Verdict::GiveUp(GiveUp::Stopped));
                    Some((state.take_charge(), state.last_pass(), state.attempts))
                }
                _ => None,
            }
        };
        if let Some((_, pass, attempts)) = pending {
            core.record_give_up(core.now(), GiveUp::Stopped, pass, attempts);
        }
    }

    /// What is still under way is not retried, whatever comes of it: it cannot be sent again, or nobody waits for it any
    /// more.
    pub(crate) fn stop_retrying(&self) {
        self.core.stop_retrying();
    }
}

impl Drop for Call {
    #[inline]
    fn drop(&mut self) {
        if self.core.is_shared() {
            self.core.retry_no_more();
        } else {
            self.core.leave_spare();
        }
    }
}
