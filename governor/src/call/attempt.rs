//! One send: what it holds, how it ends, and what follows.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use smallvec::SmallVec;

use super::core::Core;
use super::state::Current;
use super::{GiveUp, Outcome, Verdict};
use crate::backoff::Backoff;
use crate::breaker::Pass;
use crate::budget::{Charge, FREE_RETRIES};
use crate::classify::{Class, Classification, Resend};
use crate::clock::Timestamp;
use crate::events;
use crate::limiter::{Answer, AnswerKind, Bucket, NamedLimit, Report, Tickets, give_back};
use crate::scope::Scope;

/// One send of a call, holding its slot (and, of a half-open circuit, the probe) until it settles.
///
/// It settles once: by [`finish`](Self::finish), or by being dropped, which counts as cancelled, gives back what it
/// holds and records no failure.
#[derive(Debug)]
#[must_use = "an attempt that is dropped counts as cancelled"]
pub struct Attempt {
    core: Core,
    number: u32,
    sent_at: Timestamp,
    /// One for each of its buckets, where it took tokens.
    tickets: Tickets,
    probe: bool,
    /// Then there is nothing to give back when it is dropped.
    finished: AtomicBool,
}

impl Attempt {
    pub(super) fn new(core: Core, number: u32, sent_at: Timestamp, tickets: Tickets, probe: bool) -> Self {
        Attempt { core, number, sent_at, tickets, probe, finished: AtomicBool::new(false) }
    }

    /// Says how the attempt ended and is told what to do. A second call changes nothing and gets the first verdict.
    #[inline(always)]
    pub fn finish(&self, outcome: Outcome) -> Verdict {
        self.finished.store(true, Ordering::Relaxed);
        match outcome {
            Outcome::Success if !self.core.heeds_answers() => self.core.served(self.number),
            outcome => self.core.settle_now(self.number, &outcome),
        }
    }

    /// The server said in its answer that so many calls are `left` in the bucket that it calls `quota`: Azure Resource
    /// Manager's `x-ms-ratelimit-remaining-subscription-reads: 137`. To be told before [`finish`](Self::finish), of every
    /// answer that says so, a throttle's too.
    ///
    /// The scope is slowed before the bucket is empty, so that its calls are not throttled; it is never made faster.
    /// What is left beyond a small reserve is used up over some seconds, and the rate goes over into the refill, which is
    /// measured from one answer to the next. Others who draw on the same bucket show as a lower refill. How, and what
    /// happens where the server is wrong, is said in [`control`](crate::control).
    ///
    /// Four quotas are heeded for each scope, and each for a minute after it was told last. A throttle and new settings keep
    /// what was told, [`Governor::reset`](crate::Governor::reset) forgets it. What an earlier attempt's answer says is passed
    /// over once a later one's has come.
    ///
    /// Where the scope shares a bucket of that name ([`SharedLimit`](crate::SharedLimit)), that is what is slowed, and with it
    /// whoever shares it; else the scope itself. Where more is left of a shared bucket than its published limit would ever hold,
    /// that limit does not hold here.
    pub fn quota_left(&self, quota: &str, left: u64) {
        if self.core.governed() {
            let (index, bucket) = match self.shared(quota) {
                Some(found) => found,
                None => (0, self.core.leaf().bucket()),
            };
            let ticket = self.tickets.of_bucket(index);
            let report = Report { left, sent_at: self.sent_at, ticket };
            bucket.quota_left(self.core.now(), quota, report, index > 0);
        }
    }

    /// The bucket that the scope shares under this name, and which of its buckets that is.
    fn shared(&self, name: &str) -> Option<(usize, &Arc<Bucket>)> {
        let shared = self.core.buckets().iter().enumerate().skip(1);
        shared.into_iter().find(|(_, bucket)| bucket.scope().operation() == Some(name))
    }

    /// The server named its limit in its answer: so many `calls` in so long. A throttle of Google's does so in its ErrorInfo,
    /// with `quota_limit_value` `100` and a `quota_limit` per minute. To be told before [`finish`](Self::finish), of every answer
    /// that says so, and only where what the limit counts is what the scope's bucket holds.
    ///
    /// From then on the scope goes no faster, and after the first throttle at about this rate, without a search. A lower
    /// `max_rps` stays the lower, `floor_rps` the least, and what was measured to be less stays as it is. Of several limits
    /// the lowest holds; four are kept. One that was not named again for ten minutes, or twice its own span if that is
    /// longer, is forgotten, so that a limit that was raised is found out. A throttle and new settings keep it,
    /// [`Governor::reset`](crate::Governor::reset) forgets it.
    ///
    /// What is no pace is passed over: no calls or no time at all, more than a million calls a second, and a span of more
    /// than an hour, as what may be used in a day may well be used at once. More is said in [`control`](crate::control).
    pub fn limit_told(&self, calls: u64, per: Duration) {
        self.limit_of(self.core.leaf().bucket(), calls, per);
    }

    /// [`limit_told`](Self::limit_told) of a bucket that the scope shares, by its name: `organization-list-assets`. Passed over if it
    /// shares none of that name.
    pub fn shared_limit_told(&self, name: &str, calls: u64, per: Duration) {
        if let Some((_, bucket)) = self.shared(name) {
            self.limit_of(bucket, calls, per);
        }
    }

    fn limit_of(&self, bucket: &Bucket, calls: u64, per: Duration) {
        if self.core.governed()
            && let Some(limit) = NamedLimit::new(calls, per)
            && let Some((from, to)) = bucket.limit_named(self.core.now(), limit)
        {
            events::rate_lowered(bucket.scope(), from, to);
        }
    }

    /// Gives the slot back ahead of the outcome: for an answer whose body is read at leisure, and for an outcome that may
    /// never come to be known. Whenever it comes, [`finish`](Self::finish) takes it as of any attempt.
    pub fn release_slot(&self) {
        let slot = self.core.state().current(self.number).and_then(|current| current.slot.take());
        drop(slot);
    }

    /// Nothing was sent: gives the token back besides the slot and the probe, and takes the attempt out of the count.
    /// A retry that the budget paid for is still to be made, and still paid.
    pub fn unsent(self) {
        let current = {
            let mut state = self.core.state();
            let Some(current) = state.take_current(self.number) else { return };
            state.attempts = state.attempts.saturating_sub(1);
            current
        };
        if current.took > 0.0 {
            give_back(self.core.buckets(), current.took, &self.tickets, self.sent_at, self.core.now());
        }
        self.core.uncount(|counters| &counters.calls);
        if self.number > 1 {
            self.core.uncount(|counters| &counters.retries);
        }
        self.core.release(current);
    }

    /// [`Call::stop_retrying`](super::Call::stop_retrying), by who has the attempt.
    #[cfg(feature = "tonic")]
    pub(crate) fn stop_retrying(&self) {
        self.core.stop_retrying();
    }

    /// Which attempt of its call this is, from 1.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Whether it is a half-open circuit's one probe: until it settles, the scope's other calls are refused. A front end that
    /// leaves an answer open for long should settle a probe as soon as the service is seen to be there.
    pub fn is_probe(&self) -> bool {
        self.probe
    }

    /// How long the attempt may take, by its policy.
    pub fn timeout(&self) -> Option<Duration> {
        self.core.state().terms().policy.attempt_timeout(&self.core.target().settings.retry)
    }

    /// The call's scope.
    pub fn scope(&self) -> &Scope {
        self.core.scope()
    }
}

impl Drop for Attempt {
    #[inline]
    fn drop(&mut self) {
        if !*self.finished.get_mut() {
            self.core.cancel(self.number);
        }
        if !self.core.is_shared() {
            self.core.leave_spare();
        }
    }
}

impl Core {
    /// What the attempt holds, if it has not reported. It was sent, so what the budget paid is gone.
    fn take_current(&self, number: u32) -> Option<Current> {
        let (current, charge) = {
            let mut state = self.state();
            let current = state.take_current(number)?;
            (current, state.take_charge())
        };
        if let Some(charge) = charge {
            charge.spend();
        }
        Some(current)
    }

    /// The attempt counts as cancelled, if it has not reported.
    #[inline(never)]
    pub(super) fn cancel(&self, number: u32) {
        if let Some(current) = self.take_current(number) {
            self.release(current);
        }
    }

    /// Gives back the slot, and the probe.
    fn release(&self, current: Current) {
        if let Some(pass) = current.pass {
            self.leaf().breaker().release(pass);
        }
    }

    /// The verdict on an attempt that has settled already.
    #[inline(never)]
    fn verdict(&self) -> Verdict {
        self.state().verdict.unwrap_or(Verdict::GiveUp(GiveUp::Stopped))
    }

    /// Records a success that tells the limiter nothing, so that the time does not matter: what most calls end with.
    #[inline(always)]
    fn served(&self, number: u32) -> Verdict {
        let Some(pass) = self.plain().serve() else { return self.served_by_state(number) };
        self.leaf().bulkhead().give_back();
        self.answered(Some(pass));
        Verdict::Done
    }

    #[inline(never)]
    fn served_by_state(&self, number: u32) -> Verdict {
        let served = self.state().serve(number);
        let Some(Current { slot, pass, .. }) = served else { return self.verdict() };
        drop(slot);
        if self.governed() {
            self.answered(pass);
        }
        Verdict::Done
    }

    #[inline(never)]
    fn settle_now(&self, number: u32, outcome: &Outcome) -> Verdict {
        self.settle(number, self.now(), outcome)
    }

    /// Records an outcome and decides what follows.
    pub(super) fn settle(&self, number: u32, now: Timestamp, outcome: &Outcome) -> Verdict {
        let Some(mut current) = self.take_current(number) else { return self.verdict() };
        drop(current.slot.take());
        let verdict = match outcome {
            _ if !self.governed() => {
                self.count_failure(outcome);
                Verdict::Done
            }
            Outcome::Success => {
                self.let_through(now, &current, AnswerKind::Served);
                self.answered(current.pass);
                Verdict::Done
            }
            Outcome::Failure(failure) if failure.class == Class::Fatal => {
                self.let_through(now, &current, AnswerKind::Refused);
                self.answered(current.pass);
                Verdict::Done
            }
            Outcome::Failure(failure) => {
                self.count_failure(outcome);
                match failure.class {
                    Class::Throttled => self.throttled(now, number, &current, failure),
                    // It may have been executed, so it came past the server's limiter.
                    _ if failure.resend == Resend::IfIdempotent => self.let_through(now, &current, AnswerKind::Failed),
                    _ => {}
                }
                self.after_failure(now, number, &current, failure)
            }
        };
        self.state().verdict = Some(verdict);
        verdict
    }

    /// The server's limiter let it through, whatever came of it then.
    fn let_through(&self, now: Timestamp, current: &Current, kind: AnswerKind) {
        let units = if current.took > 0.0 { current.took } else { 1.0 };
        for bucket in self.buckets() {
            let answer = Answer { sent_at: current.sent_at, cost: bucket.price(units), kind };
            if let Some((from, to)) = bucket.answered(now, answer) {
                events::rate_raised(bucket.scope(), from, to);
            }
        }
    }

    #[inline]
    fn answered(&self, pass: Option<Pass>) {
        self.leaf().budget().refund();
        if pass.is_some_and(|pass| self.leaf().breaker().answered(pass)) {
            self.closed_circuit();
        }
    }

    #[inline(never)]
    fn closed_circuit(&self) {
        events::circuit_closed(self.leaf().scope());
    }

    fn count_failure(&self, outcome: &Outcome) {
        match outcome {
            Outcome::Failure(Classification { class: Class::Throttled, .. }) => {
                self.count(|counters| &counters.throttled);
            }
            Outcome::Failure(Classification { class: Class::Transient | Class::Locked, .. }) => {
                self.count(|counters| &counters.transient_errors);
            }
            _ => {}
        }
    }

    fn throttled(&self, now: Timestamp, number: u32, current: &Current, failure: &Classification) {
        events::throttled(self.scope(), number, failure.retry_after);
        for bucket in self.to_blame(now) {
            let effect = bucket.throttled(now, current.sent_at, failure.retry_after);
            if let Some((from, to)) = effect.lowered {
                events::rate_lowered(bucket.scope(), from, to);
            }
            if let Some(pause) = effect.paused {
                events::paused(bucket.scope(), pause);
            }
        }
    }

    /// The buckets whose like at the server may have been empty. A throttle does not say which it was: those that are nearly
    /// empty here, too; or else the scope's own, of which least is known.
    fn to_blame(&self, now: Timestamp) -> SmallVec<[&Arc<Bucket>; 2]> {
        let buckets = self.buckets();
        if let [own] = buckets {
            return SmallVec::from_iter([own]);
        }
        let scarce: SmallVec<_> = buckets.iter().filter(|bucket| bucket.is_scarce(now)).collect();
        if scarce.is_empty() { SmallVec::from_iter([self.leaf().bucket()]) } else { scarce }
    }

    fn after_failure(&self, now: Timestamp, number: u32, current: &Current, failure: &Classification) -> Verdict {
        match self.decide(now, number, current, failure) {
            Ok((delay, charge)) => {
                if let Some(pass) = current.pass {
                    // Only a locked answer gets here with the probe: it says nothing about the service's health.
                    self.leaf().breaker().release(pass);
                }
                let previous = {
                    let mut state = self.state();
                    let more = state.more();
                    more.not_before = now + delay;
                    // Should the call end here after a lock, that counts for no breaker.
                    more.last_pass = current.pass.filter(|_| failure.class != Class::Locked);
                    std::mem::replace(&mut more.charge, charge)
                };
                drop(previous);
                events::retrying(self.scope(), number, delay, failure.class);
                Verdict::Retry { delay }
            }
            Err(reason) => {
                let counts = failure.class != Class::Locked;
                if let (false, Some(pass)) = (counts, current.pass) {
                    self.leaf().breaker().release(pass);
                }
                self.record_give_up(now, reason, current.pass.filter(|_| counts), number);
                Verdict::GiveUp(reason)
            }
        }
    }

    /// The delay before the retry and what was charged for it, or why there is none.
    fn decide(
        &self,
        now: Timestamp,
        number: u32,
        current: &Current,
        failure: &Classification,
    ) -> Result<(Duration, Option<Charge>), GiveUp> {
        let mut state = self.state();
        if current.pass.is_some_and(|pass| pass.probe) && failure.class != Class::Locked {
            return Err(GiveUp::ProbeFailed);
        }
        let terms = state.terms();
        if terms.stopped {
            return Err(GiveUp::Stopped);
        }
        let policy = self.policy(&terms);
        if failure.class == Class::Transient && !policy.retry_transient {
            return Err(GiveUp::TransientNotRetried);
        }
        if failure.resend == Resend::IfIdempotent && terms.idempotent == Some(false) {
            return Err(GiveUp::NotIdempotent);
        }
        if number > policy.max_retries {
            return Err(GiveUp::RetriesExhausted);
        }
        let (base, cap, jitter) = (policy.base_delay, policy.max_backoff, policy.jitter);
        let deadline = state.deadline(&self.target().settings.retry);
        let backoff = &mut state.more().backoff;
        let backoff = backoff.get_or_insert_with(|| Backoff::new(base, cap, jitter, self.leaf().fork_rng()));
        let delay = backoff.next(failure.retry_after.max(failure.least_backoff.map(|least| least.min(cap))));
        if deadline.is_some_and(|deadline| deadline <= now + delay) {
            return Err(GiveUp::DeadlineExceeded);
        }
        let pays = policy.use_budget && (failure.pays_budget || number > FREE_RETRIES);
        let charge = if pays { Some(self.leaf().budget().charge().ok_or(GiveUp::RetryBudgetExhausted)?) } else { None };
        Ok((delay, charge))
    }

    /// A logical call ended with a failure that was worth retrying.
    pub(super) fn record_give_up(&self, now: Timestamp, reason: GiveUp, pass: Option<Pass>, attempts: u32) {
        self.count(|counters| &counters.gave_up);
        match reason {
            GiveUp::DeadlineExceeded => events::retry_deadline_exceeded(self.scope(), attempts),
            GiveUp::RetryBudgetExhausted => events::retry_budget_exhausted(self.scope(), attempts),
            GiveUp::CircuitOpen => events::circuit_rejected(self.scope(), None),
            _ => events::retries_exhausted(self.scope(), attempts, reason),
        }
        let Some(cooldown) = pass.and_then(|pass| self.leaf().breaker().gave_up(now, pass)) else { return };
        self.count(|counters| &counters.breaker_trips);
        events::circuit_opened(self.leaf().scope(), cooldown);
        self.buckets().iter().for_each(|bucket| bucket.wake_all());
        self.leaf().bulkhead().wake_all();
    }
}
