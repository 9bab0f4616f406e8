//! The way to one attempt: every control, in order.

use std::task::Waker;
use std::time::Duration;

use super::core::Core;
use super::state::{Current, State, Terms};
use super::{Attempt, GiveUp, Outcome, Verdict};
use crate::breaker::{Pass, Refused};
use crate::bulkhead::Slot;
use crate::classify::Classification;
use crate::clock::{Clock, Timestamp};
use crate::error::{Refusal, RefusalKind};
use crate::events;
use crate::limiter::{Acquire, Asked, Tickets, give_back};
use crate::registry::Leaf;
use crate::scope::Scope;
use crate::waiters::{Place, RECHECK};

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
pub(crate) struct Admission<'a> {
    core: &'a Core,
    waiting: Option<Waiting<'a>>,
}

/// What a waiting admission holds and knows.
#[derive(Debug)]
struct Waiting<'a> {
    acquire: Acquire<'a>,
    place: Place,
    pass: Option<Pass>,
    /// Since when it has been waiting for a token, a pause or a slot.
    since: Option<Timestamp>,
    deadline: Option<Timestamp>,
    not_before: Timestamp,
    takes_slot: bool,
    lease: Duration,
    /// The provider was switched off meanwhile: it takes nothing.
    is_free: bool,
}

impl<'a> Admission<'a> {
    pub(super) fn new(core: &'a Core) -> Self {
        Admission { core, waiting: None }
    }

    /// The attempt, if nothing stands in its way and it was not waiting. To be asked before [`look`](Self::look), which has
    /// the last word.
    #[inline(always)]
    pub(crate) fn at_once(&self, now: Timestamp) -> Option<Attempt> {
        if self.waiting.is_none() { self.core.admit_at_once(now) } else { None }
    }

    /// Looks at every control, in order, at one point in time. Called again after every wait, so nothing is sent into
    /// a pause or an open circuit.
    pub(crate) fn look(&mut self, now: Timestamp, waker: &Waker) -> Step {
        let core = self.core;
        let mut waiting = match self.waiting.take() {
            Some(waiting) => waiting,
            None => match core.begin_admission(now) {
                Ok(waiting) => waiting,
                Err(refusal) => return Step::Refused(refusal),
            },
        };
        match waiting.look(core, now, waker) {
            Ok(Look::Clear(slot)) => Step::Admitted(core.admitted(now, slot, &waiting)),
            Ok(Look::Wait(until)) => {
                self.waiting = Some(waiting);
                Step::Wait(until)
            }
            Err(reason) => {
                core.abandon(now, &waiting);
                Step::Refused(core.refused(now, reason))
            }
        }
    }

    /// A call that is dropped while it waits is cancelled: what it waited is counted, nothing else.
    #[inline]
    pub(crate) fn cancel(&mut self) {
        if self.waiting.is_some() {
            self.stop_waiting();
        }
    }

    #[inline(never)]
    fn stop_waiting(&mut self) {
        if let Some(waiting) = self.waiting.take() {
            self.core.abandon(self.core.now(), &waiting);
        }
    }

    pub(crate) fn scope(&self) -> &Scope {
        self.core.scope()
    }

    pub(crate) fn clock(&self) -> &'a dyn Clock {
        self.core.leaf().clock()
    }
}

/// What the controls say at one point in time, if they do not refuse.
#[derive(Debug)]
enum Look {
    Clear(Option<Slot>),
    Wait(Timestamp),
}

impl Waiting<'_> {
    fn look(&mut self, core: &Core, now: Timestamp, waker: &Waker) -> Result<Look, Reason> {
        if !core.governed() {
            return Ok(Look::Clear(None));
        }
        let leaf = core.leaf();
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
        if !leaf.is_enabled() {
            // Switched off meanwhile, as new calls find it.
            self.leave(leaf, now);
            self.is_free = true;
            return Ok(Look::Clear(None));
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

    /// Leaves every line.
    fn leave(&self, leaf: &Leaf, now: Timestamp) {
        self.acquire.leave(now);
        leaf.bulkhead().leave(self.place);
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
    /// What most calls meet: nothing waits, the circuit is closed, a token lies ready and a slot is free. One look, and nothing
    /// here calls a waker. In all other cases the controls are asked one by one.
    #[inline(always)]
    fn admit_at_once(&self, now: Timestamp) -> Option<Attempt> {
        if !self.plain().is_new() {
            return self.admit_on_terms_at_once(now);
        }
        let leaf = self.leaf();
        if !self.governed() {
            return None;
        }
        let pass = leaf.breaker().pass_if_closed()?;
        let tickets = self.take_at_once(1.0, now)?;
        if !leaf.bulkhead().take() {
            give_back(self.buckets(), 1.0, &tickets, now, now);
            return None;
        }
        leaf.touch(now);
        self.plain().send(now, pass);
        Some(self.attempt(1, now, tickets, true, false))
    }

    /// The same of a call that has terms of its own, or is asked for again.
    #[inline(never)]
    fn admit_on_terms_at_once(&self, now: Timestamp) -> Option<Attempt> {
        let leaf = self.leaf();
        let mut state = self.state();
        if !self.governed() || !state.may_go(now, &self.target().settings.retry) {
            return None;
        }
        let pass = leaf.breaker().pass_if_closed()?;
        let units = state.units();
        let tickets = self.take_at_once(units, now)?;
        let slot = if state.takes_slot() {
            let Some(slot) = leaf.bulkhead().take_at_once() else {
                drop(state);
                give_back(self.buckets(), units, &tickets, now, now);
                return None;
            };
            Some(slot)
        } else {
            None
        };
        leaf.touch(now);
        let begins = self.begin(&mut state, now);
        let number = state.sent(Current { sent_at: now, slot, pass: Some(pass), took: units });
        drop(state);
        Some(self.attempt(number, now, tickets, begins, false))
    }

    /// An attempt that was made without asking, by someone who did not know of this. It takes the token that it used, if
    /// there is one, and has a part in the circuit if that is closed.
    pub(super) fn attempted(&self, sent_at: Timestamp) -> Attempt {
        let leaf = self.leaf();
        let now = self.now();
        leaf.touch(now);
        let (unreported, units) = {
            let state = self.state();
            (state.current.is_some().then_some(state.attempts), state.units())
        };
        let tickets = if self.governed() { self.take_at_once(units, now) } else { None };
        let pass = leaf.breaker().pass_if_closed();
        if let Some(number) = unreported {
            self.cancel(number);
        }
        let sent_at = sent_at.min(now);
        let mut state = self.state();
        let begins = self.begin(&mut state, now);
        let took = if tickets.is_some() { units } else { 0.0 };
        let number = state.sent(Current { sent_at, slot: None, pass, took });
        drop(state);
        self.attempt(number, sent_at, tickets.unwrap_or_default(), begins, false)
    }

    /// Notes when the call began. Says whether that is now.
    #[inline(always)]
    fn begin(&self, state: &mut State, now: Timestamp) -> bool {
        let begins = state.begun.is_none();
        if begins {
            state.begun = Some(now);
        }
        begins
    }

    fn begin_admission(&self, now: Timestamp) -> Result<Waiting<'_>, Refusal> {
        self.leaf().touch(now);
        let mut state = self.state();
        let unreported = state.current.is_some().then_some(state.attempts);
        if let Some(number) = unreported {
            // It failed in passing; what it held goes back before this asks for the same.
            drop(state);
            self.settle(number, now, &Outcome::Failure(Classification::transient()));
            state = self.state();
        }
        if let Some(verdict) = state.verdict
            && !matches!(verdict, Verdict::Retry { .. })
        {
            return Err(self.ended(verdict, unreported.is_some()));
        }
        if self.begin(&mut state, now) {
            self.count(|counters| &counters.operations);
        }
        let Terms { policy, priority, without_slot, .. } = state.terms();
        let deadline = state.deadline(&self.target().settings.retry);
        let units = state.units();
        // A retry comes before calls that began later: it has waited its turn already.
        let begun = state.begun.unwrap_or(now);
        let more = state.more();
        let place = *more.place.get_or_insert_with(|| Place::next(priority).since(begun));
        let timeout = policy.attempt_timeout(&self.target().settings.retry);
        Ok(Waiting {
            acquire: Acquire::new(self.buckets(), units, place, deadline),
            place,
            pass: None,
            since: None,
            deadline,
            not_before: more.not_before,
            takes_slot: !without_slot,
            lease: timeout.unwrap_or_else(|| self.target().longest_attempt()),
            is_free: false,
        })
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
        Refusal::new(kind, self.scope().clone(), reason, None)
    }

    fn admitted(&self, now: Timestamp, slot: Option<Slot>, waiting: &Waiting<'_>) -> Attempt {
        let took = if self.governed() && !waiting.is_free { waiting.acquire.units() } else { 0.0 };
        let current = Current { sent_at: now, slot, pass: waiting.pass, took };
        let number = self.state().sent(current);
        self.count_waited(waiting.since, now);
        let tickets = waiting.acquire.tickets().clone();
        self.attempt(number, now, tickets, false, waiting.pass.is_some_and(|pass| pass.probe))
    }

    /// Counts an attempt, and the call if it `begins` with this.
    #[inline(always)]
    fn attempt(&self, number: u32, sent_at: Timestamp, tickets: Tickets, begins: bool, probe: bool) -> Attempt {
        self.count_each(|counters| {
            if begins {
                counters.count(|counters| &counters.operations);
            }
            counters.count(|counters| &counters.calls);
            if number > 1 {
                counters.count(|counters| &counters.retries);
            }
        });
        Attempt::new(self.clone(), number, sent_at, tickets, probe)
    }

    /// Counts what was waited, leaves every line and frees the probe's place.
    fn abandon(&self, now: Timestamp, waiting: &Waiting<'_>) {
        let leaf = self.leaf();
        self.count_waited(waiting.since, now);
        if !self.governed() {
            return;
        }
        waiting.leave(leaf, now);
        if let Some(pass) = waiting.pass {
            leaf.breaker().release(pass);
        }
    }

    fn count_waited(&self, since: Option<Timestamp>, now: Timestamp) {
        if let Some(since) = since {
            self.count_wait(now.since(since));
        }
    }

    fn refused(&self, now: Timestamp, reason: Reason) -> Refusal {
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
            let mut state = self.state();
            let number = state.attempts;
            let failed = state.verdict.replace(Verdict::GiveUp(give_up)).is_some();
            (state.take_charge(), failed, number, state.last_pass())
        };
        drop(charge);
        // An attempt that was cancelled says nothing about the service.
        if !failed {
            self.count(|counters| &counters.rejected);
            if kind == RefusalKind::CircuitOpen {
                events::circuit_rejected(self.scope(), retry_after);
            } else {
                events::retry_deadline_exceeded(self.scope(), attempts);
            }
        } else {
            self.record_give_up(now, give_up, pass, attempts);
        }
        Refusal::new(kind, self.scope().clone(), text, retry_after)
    }
}
