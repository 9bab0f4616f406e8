//! One logical operation, and one send of it: the state machine that every front end drives.
//!
//! A [`Call`] is asked to [`admit`](Call::admit) each attempt and told how it ended through
//! [`Attempt::finish`], whose [`Verdict`] says what to do next. Everything that decides is here and in the control
//! parts, takes the time as an argument and never waits; [`drive`](crate::drive) does the waiting.

use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use crate::backoff::Backoff;
use crate::breaker::{Pass, Refused};
use crate::budget::{Charge, FREE_RETRIES};
use crate::bulkhead::Slot;
use crate::classify::{Class, Classification, Resend};
use crate::clock::{Clock, Timestamp};
use crate::drive::{Admit, block_on_admission};
use crate::error::{Refusal, RefusalKind};
use crate::events;
use crate::governor::{Governor, Leaf};
use crate::limiter::{Acquire, Asked};
use crate::policy::{ResolvedPolicy, RetryPolicy};
use crate::scope::Scope;
use crate::stats::Recorder;
use crate::sync::Mutex;
use crate::waiters::{Place, Priority, RECHECK};

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
    core: Arc<Core>,
}

/// What a call and its attempts share.
#[derive(Debug)]
struct Core {
    leaf: Arc<Leaf>,
    clock: Arc<dyn Clock>,
    scope: Scope,
    recorder: Recorder,
    /// False where the provider is disabled: called once, directly.
    governed: bool,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    policy: ResolvedPolicy,
    priority: Priority,
    idempotent: Option<bool>,
    takes_slot: bool,
    /// In every line, from its first admission on.
    place: Option<Place>,
    deadline: Option<Timestamp>,
    attempts: u32,
    backoff: Option<Backoff>,
    not_before: Timestamp,
    /// Taken from the budget for the retry that was decided last.
    charge: Option<Charge>,
    /// The attempt that has not reported yet.
    current: Option<Current>,
    /// The last verdict and the number of the attempt that it was given to.
    verdict: Option<(u32, Verdict)>,
    last_pass: Option<Pass>,
}

#[derive(Debug)]
struct Current {
    number: u32,
    sent_at: Timestamp,
    slot: Option<Slot>,
    pass: Option<Pass>,
    acquire: Option<Acquire>,
    /// What the budget paid for it: spent once it is known to have been sent.
    charge: Option<Charge>,
}

impl Current {
    /// It was sent, so what the budget paid is gone.
    fn spend(&mut self) {
        if let Some(charge) = self.charge.take() {
            charge.spend();
        }
    }
}

impl Call {
    pub(crate) fn new(governor: &Governor, scope: &Scope) -> Self {
        let leaf = governor.leaf(scope);
        let settings = leaf.settings();
        let clock = Arc::clone(governor.clock());
        let policy = RetryPolicy::default().resolve(&settings.retry);
        let state = State {
            deadline: policy.deadline.map(|within| clock.now() + within),
            policy,
            priority: Priority::Normal,
            idempotent: None,
            takes_slot: true,
            place: None,
            attempts: 0,
            backoff: None,
            not_before: Timestamp::ZERO,
            charge: None,
            current: None,
            verdict: None,
            last_pass: None,
        };
        Call {
            core: Arc::new(Core {
                recorder: Recorder::for_leaf(leaf.scope(), leaf.counters()),
                governed: settings.enabled,
                scope: scope.clone(),
                leaf,
                clock,
                state: Mutex::new(state),
            }),
        }
    }

    /// With a policy of its own; what it leaves unset is the provider's. The deadline counts from now.
    #[must_use]
    pub fn policy(self, policy: RetryPolicy) -> Self {
        {
            let mut state = self.core.state.lock();
            state.policy = policy.resolve(&self.core.leaf.settings().retry);
            state.deadline = state.policy.deadline.map(|within| self.core.clock.now() + within);
        }
        self
    }

    /// With a priority among those that wait for the same scope.
    #[must_use]
    pub fn priority(self, priority: Priority) -> Self {
        self.core.state.lock().priority = priority;
        self
    }

    /// Whether the operation may be executed twice. Unknown unless said, and then failures that may have been
    /// executed are retried, as the vendors' own SDKs do.
    #[must_use]
    pub fn idempotent(self, idempotent: bool) -> Self {
        self.core.state.lock().idempotent = Some(idempotent);
        self
    }

    /// Without a slot of its account's bulkhead: for a call made inside another that holds one.
    #[must_use]
    pub fn without_slot(self) -> Self {
        self.core.state.lock().takes_slot = false;
        self
    }

    /// Brings the deadline forward to `within` from now, if it is later.
    pub fn limit_deadline(&mut self, within: Duration) {
        let until = self.core.clock.now() + within;
        let mut state = self.core.state.lock();
        state.deadline = Some(state.deadline.map_or(until, |deadline| deadline.min(until)));
    }

    /// The scope.
    pub fn scope(&self) -> &Scope {
        &self.core.scope
    }

    /// How many attempts were admitted.
    pub fn attempts(&self) -> u32 {
        self.core.state.lock().attempts
    }

    /// Whether the call is governed. If its provider is disabled, it is admitted at once and never retried.
    pub fn is_governed(&self) -> bool {
        self.core.governed
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
        Admit::new(self.admission(), &self.core.clock)
    }

    /// [`admit`](Self::admit) for a thread that may block.
    ///
    /// # Errors
    ///
    /// As [`admit`](Self::admit); and [`RefusalKind::RuntimeThread`] on a thread that runs async tasks.
    pub fn admit_blocking(&mut self) -> Result<Attempt, Refusal> {
        block_on_admission(self.admission(), &*self.core.clock)
    }

    /// The front end stops for a reason of its own, after a failure that was worth retrying: counts as a give-up.
    /// Does nothing if the call has ended, or no attempt has failed.
    pub fn give_up(&mut self) {
        let core = &self.core;
        let pending = {
            let mut state = core.state.lock();
            match state.verdict {
                Some((number, Verdict::Retry { .. })) if state.current.is_none() => {
                    state.verdict = Some((number, Verdict::GiveUp(GiveUp::Stopped)));
                    Some((state.charge.take(), state.last_pass, state.attempts))
                }
                _ => None,
            }
        };
        if let Some((_, pass, attempts)) = pending {
            core.record_give_up(core.clock.now(), GiveUp::Stopped, pass, attempts);
        }
    }

    /// What is still under way is not retried, whatever comes of it: nobody waits for it any more.
    pub(crate) fn stop_retrying(&self) {
        self.core.state.lock().policy.max_retries = 0;
    }

    fn admission(&self) -> Admission {
        Admission { core: Arc::clone(&self.core), waiting: None }
    }
}

impl Drop for Call {
    /// A settled attempt may outlive its call; what was charged for a retry that will not happen does not.
    fn drop(&mut self) {
        let charge = self.core.state.lock().charge.take();
        drop(charge);
    }
}

// ===== admission =====

/// What one look at the controls came to.
#[derive(Debug)]
pub(crate) enum Step {
    Admitted(Attempt),
    Refused(Refusal),
    /// Look again when woken, and at this time at the latest.
    Wait(Timestamp),
}

/// The way to one attempt.
#[derive(Debug)]
pub(crate) struct Admission {
    core: Arc<Core>,
    waiting: Option<Waiting>,
}

/// What a waiting admission holds and knows.
#[derive(Debug)]
struct Waiting {
    acquire: Acquire,
    place: Place,
    pass: Option<Pass>,
    /// Since when it has been waiting for a token, a pause or a slot.
    since: Option<Timestamp>,
    deadline: Option<Timestamp>,
    not_before: Timestamp,
    takes_slot: bool,
    lease: Duration,
}

impl Admission {
    /// Looks at every control, in order, at one point in time. Called again after every wait, so nothing is sent into
    /// a pause or an open circuit.
    pub(crate) fn look(&mut self, now: Timestamp, waker: &Waker) -> Step {
        let core = &self.core;
        let waiting = match &mut self.waiting {
            Some(waiting) => waiting,
            none => match core.begin_admission(now) {
                Ok(waiting) => none.insert(waiting),
                Err(refusal) => return Step::Refused(refusal),
            },
        };
        let slot = match waiting.look(core, now, waker) {
            Ok(Look::Clear(slot)) => slot,
            Ok(Look::Wait(until)) => return Step::Wait(until),
            Err(reason) => return self.refuse(now, reason),
        };
        match self.waiting.take() {
            Some(waiting) => Step::Admitted(core.admitted(now, slot, waiting)),
            None => Step::Wait(now),
        }
    }

    fn refuse(&mut self, now: Timestamp, reason: Reason) -> Step {
        let waited = self.waiting.as_ref().and_then(|waiting| waiting.since);
        self.abandon(now);
        Step::Refused(self.core.refused(now, waited, reason))
    }

    /// Leaves every line and frees the probe's place.
    pub(crate) fn abandon(&mut self, now: Timestamp) {
        let Some(waiting) = self.waiting.take() else { return };
        if !self.core.governed {
            return;
        }
        waiting.acquire.leave(now);
        self.core.leaf.bulkhead().leave(waiting.place);
        if let Some(pass) = waiting.pass {
            self.core.leaf.breaker().release(pass);
        }
    }

    /// A call that is dropped while it waits is cancelled: what it waited is counted, nothing else.
    pub(crate) fn cancel(&mut self) {
        let now = self.core.clock.now();
        if let Some(since) = self.waiting.as_ref().and_then(|waiting| waiting.since) {
            self.core.recorder.waited(now.since(since));
        }
        self.abandon(now);
    }

    pub(crate) fn scope(&self) -> &Scope {
        &self.core.scope
    }
}

/// What the controls say at one point in time, if they do not refuse.
#[derive(Debug)]
enum Look {
    Clear(Option<Slot>),
    Wait(Timestamp),
}

impl Waiting {
    fn look(&mut self, core: &Core, now: Timestamp, waker: &Waker) -> Result<Look, Reason> {
        if !core.governed {
            return Ok(Look::Clear(None));
        }
        let leaf = &core.leaf;
        if self.deadline.is_some_and(|deadline| deadline <= now) {
            return Err(Reason::Late(None));
        }
        if now < self.not_before {
            if let Some(refused) = leaf.breaker().refusal(now) {
                return Err(Reason::Circuit(refused));
            }
            return match self.deadline {
                Some(deadline) if deadline <= self.not_before => Err(Reason::Late(Some(self.not_before))),
                _ => Ok(Look::Wait(self.not_before)),
            };
        }
        let pass = leaf.breaker().check(now, self.pass, self.lease).map_err(Reason::Circuit)?;
        if pass.probe && self.pass != Some(pass) {
            events::circuit_half_open(leaf.scope());
        }
        self.pass = Some(pass);
        match self.acquire.ask(now, waker) {
            Asked::Taken => {}
            Asked::TooLate(ready_at) => return Err(Reason::Late(Some(ready_at))),
            Asked::Wait(until) => {
                // It may have come from the slots' line, which it must not hold up from here.
                leaf.bulkhead().leave(self.place);
                return Ok(self.wait(leaf, now, until));
            }
        }
        if !self.takes_slot {
            return Ok(Look::Clear(None));
        }
        match leaf.bulkhead().ask(self.place, now, waker) {
            Some(slot) => Ok(Look::Clear(Some(slot))),
            None => {
                // Tokens kept over a wait would all be sent at once when slots come free.
                self.acquire.give_back(now);
                Ok(self.wait(leaf, now, now + RECHECK))
            }
        }
    }

    fn wait(&mut self, leaf: &Leaf, now: Timestamp, until: Timestamp) -> Look {
        self.since.get_or_insert(now);
        if let Some(pass) = self.pass.filter(|pass| pass.probe) {
            leaf.breaker().extend(pass, until + self.lease);
        }
        Look::Wait(self.deadline.map_or(until, |deadline| until.min(deadline)))
    }
}

/// Why an admission is refused.
#[derive(Debug)]
enum Reason {
    Circuit(Refused),
    /// It could be sent at this time at the earliest, where that is known.
    Late(Option<Timestamp>),
}

impl Core {
    fn begin_admission(&self, now: Timestamp) -> Result<Waiting, Refusal> {
        let unreported = self.settle_unreported(now);
        let mut state = self.state.lock();
        if let Some((_, verdict)) = state.verdict
            && !matches!(verdict, Verdict::Retry { .. })
        {
            return Err(self.ended(verdict, unreported));
        }
        if state.place.is_none() {
            self.recorder.count(|counters| &counters.operations);
        }
        // A retry comes before calls that began later: it has waited its turn already.
        let priority = state.priority;
        let place = *state.place.get_or_insert_with(|| Place::next(priority));
        let timeout = state.policy.attempt_timeout;
        Ok(Waiting {
            acquire: Acquire::new(self.leaf.buckets(), 1.0, place, state.deadline),
            place,
            pass: None,
            since: None,
            deadline: state.deadline,
            not_before: state.not_before,
            takes_slot: state.takes_slot,
            lease: timeout.unwrap_or_else(|| self.leaf.longest_attempt()),
        })
    }

    /// An attempt that never reported failed in passing; what it held goes back before the next asks for the same.
    /// Says whether there was one.
    fn settle_unreported(&self, now: Timestamp) -> bool {
        let unreported = self.state.lock().current.as_ref().map(|current| current.number);
        if let Some(number) = unreported {
            self.settle(number, now, &Outcome::Failure(Classification::transient()));
        }
        unreported.is_some()
    }

    /// The refusal of a call that asks for more after its end.
    fn ended(&self, verdict: Verdict, unreported: bool) -> Refusal {
        let (kind, reason) = match verdict {
            Verdict::GiveUp(GiveUp::DeadlineExceeded) => {
                (RefusalKind::DeadlineExceeded, "the deadline leaves no time to retry")
            }
            Verdict::GiveUp(GiveUp::RetryBudgetExhausted) => {
                (RefusalKind::RetryBudgetExhausted, "the provider's retry budget is empty")
            }
            Verdict::GiveUp(GiveUp::CircuitOpen | GiveUp::ProbeFailed) => {
                (RefusalKind::CircuitOpen, "the circuit breaker is open")
            }
            Verdict::GiveUp(_) if unreported => {
                (RefusalKind::AttemptTimedOut, "the last attempt it may have was not answered")
            }
            _ => (RefusalKind::CallEnded, "the call has ended"),
        };
        Refusal::new(kind, self.scope.clone(), reason, None)
    }

    fn admitted(self: &Arc<Self>, now: Timestamp, slot: Option<Slot>, waiting: Waiting) -> Attempt {
        let Waiting { acquire, pass, since, .. } = waiting;
        let number = {
            let mut state = self.state.lock();
            state.attempts = state.attempts.saturating_add(1);
            let number = state.attempts;
            state.last_pass = pass;
            let acquire = Some(acquire).filter(|_| self.governed);
            let charge = state.charge.take();
            state.current = Some(Current { number, sent_at: now, slot, pass, acquire, charge });
            number
        };
        if let Some(since) = since {
            self.recorder.waited(now.since(since));
        }
        self.recorder.count(|counters| &counters.calls);
        if number > 1 {
            self.recorder.count(|counters| &counters.retries);
        }
        Attempt { core: Arc::clone(self), number }
    }

    fn refused(&self, now: Timestamp, waited_since: Option<Timestamp>, reason: Reason) -> Refusal {
        if let Some(since) = waited_since {
            self.recorder.waited(now.since(since));
        }
        let (kind, give_up, text, retry_after) = match reason {
            Reason::Circuit(Refused { retry_after, probing }) => {
                let text = if probing {
                    "the circuit breaker is half-open and its probe is under way"
                } else {
                    "the circuit breaker is open"
                };
                (RefusalKind::CircuitOpen, GiveUp::CircuitOpen, text, Some(retry_after))
            }
            Reason::Late(Some(ready_at)) => (
                RefusalKind::DeadlineExceeded,
                GiveUp::DeadlineExceeded,
                "the wait for the rate limit cannot end before the deadline",
                Some(ready_at.until(now)),
            ),
            Reason::Late(None) => (
                RefusalKind::DeadlineExceeded,
                GiveUp::DeadlineExceeded,
                "the deadline passed while waiting to send",
                None,
            ),
        };
        let (charge, failed, attempts, pass) = {
            let mut state = self.state.lock();
            let number = state.attempts;
            let failed = state.verdict.replace((number, Verdict::GiveUp(give_up))).is_some();
            (state.charge.take(), failed, number, state.last_pass)
        };
        drop(charge);
        // An attempt that was cancelled says nothing about the service.
        if !failed {
            self.recorder.count(|counters| &counters.rejected);
            if kind == RefusalKind::CircuitOpen {
                events::circuit_rejected(&self.scope, retry_after);
            } else {
                events::retry_deadline_exceeded(&self.scope, attempts);
            }
        } else {
            self.record_give_up(now, give_up, pass, attempts);
        }
        Refusal::new(kind, self.scope.clone(), text, retry_after)
    }
}

// ===== the attempt =====

/// One send of a call, holding its slot (and, of a half-open circuit, the probe) until it settles.
///
/// It settles once: by [`finish`](Self::finish), or by being dropped, which counts as cancelled, gives back what it
/// holds and records no failure.
#[derive(Debug)]
#[must_use = "an attempt that is dropped counts as cancelled"]
pub struct Attempt {
    core: Arc<Core>,
    number: u32,
}

impl Attempt {
    /// Says how the attempt ended and is told what to do. A second call changes nothing and gets the first verdict.
    pub fn finish(&self, outcome: Outcome) -> Verdict {
        self.core.settle(self.number, self.core.clock.now(), &outcome)
    }

    /// Gives the slot back ahead of the outcome: for an answer whose body is read at leisure.
    pub fn release_slot(&self) {
        let slot = self.core.with_current(self.number, |current| current.slot.take());
        drop(slot);
    }

    /// Nothing was sent: gives the token back besides the slot and the probe, and takes the attempt out of the count.
    /// A retry that the budget paid for is still to be made, and still paid.
    pub fn unsent(self) {
        let Some(mut current) = self.core.take_current(self.number) else { return };
        if let Some(acquire) = &current.acquire {
            acquire.give_back(self.core.clock.now());
        }
        {
            let mut state = self.core.state.lock();
            state.attempts = state.attempts.saturating_sub(1);
            state.charge = current.charge.take();
        }
        self.core.recorder.uncount(|counters| &counters.calls);
        if self.number > 1 {
            self.core.recorder.uncount(|counters| &counters.retries);
        }
        self.core.cancelled(current);
    }

    /// Which attempt of its call this is, from 1.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// How long the attempt may take, by its policy.
    pub fn timeout(&self) -> Option<Duration> {
        self.core.state.lock().policy.attempt_timeout
    }

    /// The call's scope.
    pub fn scope(&self) -> &Scope {
        &self.core.scope
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        if let Some(current) = self.core.take_current(self.number) {
            self.core.cancelled(current);
        }
    }
}

impl Core {
    fn with_current<T>(&self, number: u32, take: impl FnOnce(&mut Current) -> Option<T>) -> Option<T> {
        let mut state = self.state.lock();
        state.current.as_mut().filter(|current| current.number == number).and_then(take)
    }

    fn take_current(&self, number: u32) -> Option<Current> {
        let mut state = self.state.lock();
        state.current.take_if(|current| current.number == number)
    }

    fn cancelled(&self, mut current: Current) {
        current.spend();
        if let Some(pass) = current.pass {
            self.leaf.breaker().release(pass);
        }
    }

    /// Records an outcome and decides what follows.
    fn settle(&self, number: u32, now: Timestamp, outcome: &Outcome) -> Verdict {
        let Some(mut current) = self.take_current(number) else {
            let known = self.state.lock().verdict;
            return known.map_or(Verdict::GiveUp(GiveUp::Stopped), |(_, verdict)| verdict);
        };
        current.spend();
        drop(current.slot.take());
        let verdict = match outcome {
            _ if !self.governed => {
                self.count_failure(outcome);
                Verdict::Done
            }
            Outcome::Success => {
                if let Some((from, to)) = self.leaf.bucket().succeeded(now) {
                    events::rate_raised(self.leaf.scope(), from, to);
                }
                self.answered(current.pass);
                Verdict::Done
            }
            Outcome::Failure(failure) if failure.class == Class::Fatal => {
                self.answered(current.pass);
                Verdict::Done
            }
            Outcome::Failure(failure) => {
                self.count_failure(outcome);
                if failure.class == Class::Throttled {
                    self.throttled(now, &current, failure);
                }
                self.after_failure(now, &current, failure)
            }
        };
        self.state.lock().verdict = Some((number, verdict));
        verdict
    }

    fn answered(&self, pass: Option<Pass>) {
        self.leaf.budget().refund();
        if pass.is_some_and(|pass| self.leaf.breaker().answered(pass)) {
            events::circuit_closed(self.leaf.scope());
        }
    }

    fn count_failure(&self, outcome: &Outcome) {
        match outcome {
            Outcome::Failure(Classification { class: Class::Throttled, .. }) => {
                self.recorder.count(|counters| &counters.throttled);
            }
            Outcome::Failure(Classification { class: Class::Transient | Class::Locked, .. }) => {
                self.recorder.count(|counters| &counters.transient_errors);
            }
            _ => {}
        }
    }

    fn throttled(&self, now: Timestamp, current: &Current, failure: &Classification) {
        let scope = self.leaf.scope();
        events::throttled(&self.scope, current.number, failure.retry_after);
        let effect = self.leaf.bucket().throttled(now, current.sent_at, failure.retry_after);
        if let Some((from, to)) = effect.lowered {
            events::rate_lowered(scope, from, to);
        }
        if let Some(pause) = effect.paused {
            events::paused(scope, pause);
        }
    }

    fn after_failure(&self, now: Timestamp, current: &Current, failure: &Classification) -> Verdict {
        match self.decide(now, current, failure) {
            Ok((delay, charge)) => {
                if let Some(pass) = current.pass {
                    // Only a locked answer gets here with the probe: it says nothing about the service's health.
                    self.leaf.breaker().release(pass);
                }
                let previous = {
                    let mut state = self.state.lock();
                    state.not_before = now + delay;
                    if failure.class == Class::Locked {
                        // Should the call end here, it ends with a lock, which counts for no breaker.
                        state.last_pass = None;
                    }
                    std::mem::replace(&mut state.charge, charge)
                };
                drop(previous);
                events::retrying(&self.scope, current.number, delay, failure.class);
                Verdict::Retry { delay }
            }
            Err(reason) => {
                let counts = failure.class != Class::Locked;
                if let (false, Some(pass)) = (counts, current.pass) {
                    self.leaf.breaker().release(pass);
                }
                self.record_give_up(now, reason, current.pass.filter(|_| counts), current.number);
                Verdict::GiveUp(reason)
            }
        }
    }

    /// The delay before the retry and what was charged for it, or why there is none.
    fn decide(
        &self,
        now: Timestamp,
        current: &Current,
        failure: &Classification,
    ) -> Result<(Duration, Option<Charge>), GiveUp> {
        let mut state = self.state.lock();
        if current.pass.is_some_and(|pass| pass.probe) && failure.class != Class::Locked {
            return Err(GiveUp::ProbeFailed);
        }
        if failure.class == Class::Transient && !state.policy.retry_transient {
            return Err(GiveUp::TransientNotRetried);
        }
        if failure.resend == Resend::IfIdempotent && state.idempotent == Some(false) {
            return Err(GiveUp::NotIdempotent);
        }
        if current.number > state.policy.max_retries {
            return Err(GiveUp::RetriesExhausted);
        }
        let (base, cap, jitter) = (state.policy.base_delay, state.policy.max_backoff, state.policy.jitter);
        let backoff = state.backoff.get_or_insert_with(|| Backoff::new(base, cap, jitter, self.leaf.fork_rng()));
        let delay = backoff.next(failure.retry_after);
        if state.deadline.is_some_and(|deadline| deadline <= now + delay) {
            return Err(GiveUp::DeadlineExceeded);
        }
        let pays = state.policy.use_budget && (failure.pays_budget || current.number > FREE_RETRIES);
        let charge = if pays { Some(self.leaf.budget().charge().ok_or(GiveUp::RetryBudgetExhausted)?) } else { None };
        Ok((delay, charge))
    }

    /// A logical call ended with a failure that was worth retrying.
    fn record_give_up(&self, now: Timestamp, reason: GiveUp, pass: Option<Pass>, attempts: u32) {
        self.recorder.count(|counters| &counters.gave_up);
        match reason {
            GiveUp::DeadlineExceeded => events::retry_deadline_exceeded(&self.scope, attempts),
            GiveUp::RetryBudgetExhausted => events::retry_budget_exhausted(&self.scope, attempts),
            GiveUp::CircuitOpen => events::circuit_rejected(&self.scope, None),
            _ => events::retries_exhausted(&self.scope, attempts, reason),
        }
        let Some(cooldown) = pass.and_then(|pass| self.leaf.breaker().gave_up(now, pass)) else { return };
        self.recorder.count(|counters| &counters.breaker_trips);
        events::circuit_opened(self.leaf.scope(), cooldown);
        self.leaf.bucket().wake_all();
        self.leaf.bulkhead().wake_all();
    }
}
