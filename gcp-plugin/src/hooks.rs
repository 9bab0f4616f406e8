//! What the SDK's retry loop asks and tells: the policy, the backoff and the throttler.
//!
//! The loop goes on being the SDK's, but decides nothing. `on_error` learns of the outcome, settles the attempt and answers
//! with the governor's verdict; the backoff is none, because the wait is in [`credentials`](crate::credentials), by the
//! governor's clock; the throttler never throttles, and tells of the outcomes that no policy of ours sees.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use cloud_governor::{Attempt, GiveUp, Outcome, Verdict};
use google_cloud_gax::backoff_policy::BackoffPolicy;
use google_cloud_gax::error::Error;
use google_cloud_gax::retry_policy::RetryPolicy;
use google_cloud_gax::retry_result::RetryResult;
use google_cloud_gax::retry_state::RetryState;
use google_cloud_gax::retry_throttler::RetryThrottler;
use google_cloud_gax::throttle_result::ThrottleResult;
use tokio::time::Instant;

use crate::call::Context;
use crate::client::Client;
use crate::error::{Last, Refused, twin};
use crate::handover;
use crate::journey::{Journey, Request};
use crate::store::{Parked, Stage};

/// The answer to each part of a resumable upload but the last.
const RESUME_INCOMPLETE: u16 = 308;

/// Policy, backoff and throttler of one client.
#[derive(Debug, Clone)]
pub(crate) struct Hooks {
    client: Arc<Client>,
}

impl Hooks {
    pub(crate) fn new(client: &Arc<Client>) -> Self {
        Hooks { client: Arc::clone(client) }
    }

    /// The journey whose attempt has ended; `number` is its place among the attempts of its loop, where that is known.
    fn in_flight(&self, context: &Context, request: &Request, number: Option<u32>) -> Option<(Journey, Attempt)> {
        match context.store().take(&self.client, request, |parked| parked.if_in_flight(number))? {
            Parked { journey, stage: Stage::InFlight(attempt), .. } => Some((journey, attempt)),
            _ => None,
        }
    }

    /// One in the stead of a journey that was overdue and has been given up: it is counted a second time.
    fn late(&self, context: &Context, request: Request) -> (Journey, Attempt) {
        let mut journey = Journey::begin(&self.client, context, request, true);
        let attempt = journey.call.attempted(journey.clock().now());
        (journey, attempt)
    }

    fn go_on(&self, context: &Context, mut journey: Journey, last: Option<Last>) {
        journey.last = last;
        context.store().park(journey, Stage::Between, self.client.lease);
    }
}

impl RetryPolicy for Hooks {
    fn on_error(&self, state: &RetryState, error: Error) -> RetryResult {
        handover::judged(state.start);
        let context = Context::current(&self.client);
        if context.options().is_skipped() {
            return RetryResult::Permanent(error);
        }
        if let Some(refused) = Refused::of(&error) {
            return RetryResult::Exhausted(refused.for_loop(state.start));
        }
        // Neither got as far as an attempt. A token that is worth asking for again has been.
        if error.is_authentication() || error.is_binding() {
            return RetryResult::Permanent(error);
        }
        let request = Request::current();
        let in_flight = self.in_flight(&context, &request, Some(state.attempt_count));
        if error.is_serialization() {
            // What was to be sent is at fault.
            return RetryResult::Permanent(error);
        }
        let (mut journey, attempt) = in_flight.unwrap_or_else(|| self.late(&context, request));
        let idempotent = context.options().own_idempotence().unwrap_or(state.idempotent || self.client.resend_any);
        journey.call.set_idempotent(idempotent);
        match journey.failed(&self.client, &context, &attempt, &error) {
            Verdict::Retry { .. } => {}
            Verdict::Done => return RetryResult::Permanent(error),
            _ => return RetryResult::Exhausted(error),
        }
        // Of an upload, each request is a call, and the loop's count is what bounds their retries together.
        if self.client.terms(&context).is_none_or(|terms| state.attempt_count > terms.max_retries) {
            journey.call.give_up();
            context.options().note_given_up(GiveUp::RetriesExhausted);
            return RetryResult::Exhausted(error);
        }
        let stand_in = twin(&error);
        self.go_on(&context, journey, Some(Last { loop_start: state.start, error }));
        RetryResult::Continue(stand_in)
    }

    /// Only a throttler of the call site's own comes here.
    fn on_throttle(&self, state: &RetryState, error: Error) -> ThrottleResult {
        let context = Context::current(&self.client);
        let Some(parked) = context.store().take(&self.client, &Request::current(), Parked::if_between) else {
            return ThrottleResult::Exhausted(error);
        };
        let mut journey = parked.journey;
        journey.call.give_up();
        context.options().note_given_up(GiveUp::Stopped);
        ThrottleResult::Exhausted(journey.last.and_then(|last| last.of(state.start)).unwrap_or(error))
    }

    fn remaining_time(&self, state: &RetryState) -> Option<Duration> {
        if state.attempt_count == 0 {
            handover::begins(&self.client);
        }
        let context = Context::current(&self.client);
        if context.options().is_skipped() {
            return None;
        }
        let terms = self.client.terms(&context)?;
        let spent = Instant::now().into_std().saturating_duration_since(state.start);
        let left = terms.deadline.map(|deadline| deadline.saturating_sub(spent));
        match (left, terms.attempt_timeout) {
            (Some(left), Some(timeout)) => Some(left.min(timeout)),
            (left, timeout) => left.or(timeout),
        }
    }
}

impl BackoffPolicy for Hooks {
    fn on_failure(&self, state: &RetryState) -> Duration {
        handover::still_judged(state.start);
        Duration::ZERO
    }
}

impl RetryThrottler for Hooks {
    fn throttle_retry_attempt(&self) -> bool {
        false
    }

    fn on_retry_failure(&mut self, flow: &RetryResult) {
        unharmed(|| self.failed(flow));
    }

    fn on_success(&mut self) {
        unharmed(|| self.succeeded());
    }
}

/// The SDK holds the client's throttler by a lock that a panic would poison, and with it each call that comes later. What
/// may panic here is the program's own: who listens to events, and who is woken.
fn unharmed(what: impl FnOnce()) {
    // The panic has been told to the program's hook.
    let _panic = catch_unwind(AssertUnwindSafe(what));
}

impl Hooks {
    /// Accounts for what `on_error` has not seen: the polls of a long-running operation, a part of an upload, a call with a
    /// policy of its own.
    fn failed(&self, flow: &RetryResult) {
        if handover::take_judged() {
            return;
        }
        let (RetryResult::Permanent(error) | RetryResult::Exhausted(error) | RetryResult::Continue(error)) = flow;
        let context = Context::current(&self.client);
        if context.options().is_skipped() || error.is_authentication() || error.is_binding() {
            return;
        }
        let Some((mut journey, attempt)) = self.in_flight(&context, &Request::current(), None) else { return };
        if error.is_serialization() {
            return;
        }
        if error.http_status_code() == Some(RESUME_INCOMPLETE) {
            context.options().note_verdict(attempt.finish(Outcome::Success));
            return;
        }
        let verdict = journey.failed(&self.client, &context, &attempt, error);
        match (verdict, flow) {
            (Verdict::Retry { .. }, RetryResult::Continue(_)) => self.go_on(&context, journey, None),
            (Verdict::Retry { .. }, _) => {
                journey.call.give_up();
                context.options().note_given_up(GiveUp::Stopped);
            }
            _ => {}
        }
    }

    fn succeeded(&self) {
        let context = Context::current(&self.client);
        if context.options().is_skipped() {
            return;
        }
        let request = Request::current();
        let in_flight = self.in_flight(&context, &request, None);
        let (_journey, attempt) = in_flight.unwrap_or_else(|| self.late(&context, request));
        context.options().note_verdict(attempt.finish(Outcome::Success));
    }
}

#[cfg(test)]
mod tests;
