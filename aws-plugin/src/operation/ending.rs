//! How attempts end, and operations.

use std::sync::Arc;

use cloud_governor::{Classification, Outcome, RetryPolicy, Transport, Verdict};

use super::{Operation, Phase, State};
use crate::registry::REGISTRY;
use crate::replay::Answer;

impl Operation {
    // ===== as the HTTP client sees it =====

    /// The attempt on its way failed. `None`: the interceptor will name the failure, and settle it.
    pub(crate) fn failed(
        &self,
        classification: Option<Classification>,
        code: Option<&str>,
        answer: Answer,
    ) -> Option<Verdict> {
        let mut state = self.lock();
        state.answer = Some(answer);
        state.code = code.map(str::to_owned);
        let verdict = match (std::mem::replace(&mut state.phase, Phase::Waiting), classification) {
            (Phase::Sent(Some(attempt)) | Phase::Answered(Some(attempt)), Some(classification)) => {
                attempt.finish(Outcome::Failure(classification))
            }
            (Phase::Sent(Some(attempt)), None) => {
                attempt.release_slot();
                state.phase = Phase::Unnamed(attempt);
                return None;
            }
            (Phase::Sent(None) | Phase::Answered(None), _) => Verdict::Done,
            (other, _) => {
                state.phase = other;
                return None;
            }
        };
        state.phase = Phase::Settled(verdict);
        Some(verdict)
    }

    /// A head of success came: the outcome stays open, if there is a body to be read. The slot goes back now if only the
    /// body's end would tell that the operation is over: the caller may read that at leisure.
    pub(crate) fn answered(&self, gated: bool, reading: bool) {
        let mut state = self.lock();
        state.reading = reading;
        if let Phase::Sent(attempt) = std::mem::replace(&mut state.phase, Phase::Waiting) {
            if let Some(attempt) = attempt.as_ref().filter(|_| !gated) {
                attempt.release_slot();
            }
            state.phase = Phase::Answered(attempt);
        }
    }

    /// The SDK is done with the operation but for the body, which the caller reads.
    pub(crate) fn is_the_callers(&self) {
        self.lock().over = true;
    }

    /// The answer was a success after all.
    pub(crate) fn succeeded(&self) {
        let mut state = self.lock();
        if let Phase::Answered(Some(attempt)) = &state.phase {
            let verdict = attempt.finish(Outcome::Success);
            state.phase = Phase::Settled(verdict);
        }
    }

    /// The body of a success came whole.
    pub(crate) fn was_read(&self, gated: bool) {
        self.lock().reading = false;
        // The SDK may find that it does not parse, and come again.
        if !gated || self.is_over() {
            self.succeeded();
        }
    }

    /// The body of a success was left before its end.
    pub(crate) fn was_left(&self) {
        self.lock().reading = false;
        if self.is_over() {
            self.succeeded();
        }
    }

    /// The body of a success did not come whole. If the caller was reading it, the call ends with that failure: nothing
    /// makes the SDK come again.
    pub(crate) fn cut_short(&self, answer: Answer) {
        let mut state = self.lock();
        state.reading = false;
        if matches!(state.phase, Phase::Answered(_)) {
            state.answer = Some(answer);
            state.cut_short = true;
        }
        if state.over {
            self.finish(&mut state);
        }
    }

    /// Whether the SDK is done with the operation, though its body may still be read.
    pub(crate) fn is_over(&self) -> bool {
        self.lock().over
    }

    // ===== as the interceptor sees it =====

    /// Whether the SDK's own retry policy is in force.
    pub(crate) fn is_observed(&self) -> bool {
        self.observed
    }

    /// Whether the SDK may come again with a corrected clock, once.
    pub(crate) fn may_mend_clock(&self) -> bool {
        let state = self.lock();
        !state.skew_mended && state.is_skewed()
    }

    /// Settles what the observer left open, by the typed result. A client's own HTTP client in place of the observer
    /// leaves all of it open: `sent` says that the result is not one of before the send.
    pub(crate) fn settle(&self, outcome: Outcome, sent: bool) -> Option<Verdict> {
        let mut state = self.lock();
        let attempt = match &state.phase {
            // The caller reads the rest.
            Phase::Answered(_) if state.reading && outcome == Outcome::Success => return None,
            Phase::Ready(Some(attempt)) if sent => attempt,
            Phase::Sent(Some(attempt)) | Phase::Answered(Some(attempt)) | Phase::Unnamed(attempt) => attempt,
            Phase::Settled(verdict) => return Some(*verdict),
            Phase::Stopping { .. } => return Some(Verdict::Done),
            _ => return None,
        };
        let verdict = attempt.finish(outcome);
        state.phase = Phase::Settled(verdict);
        Some(verdict)
    }

    // ===== the end =====

    /// The SDK is done with the operation, or its caller dropped it.
    pub(crate) fn end(self: &Arc<Self>) {
        let mut state = self.lock();
        state.over = true;
        let keeps = match &state.phase {
            // S3 Express resolves an identity through the gate and drops it before the send: the request is still to
            // come, with the same invocation id. It keeps its token, and no slot.
            Phase::Ready(Some(attempt)) if state.loose || self.scope.service() == "s3" => {
                attempt.release_slot();
                true
            }
            Phase::Answered(Some(attempt)) if state.reading => {
                // A stream: the caller reads on, with no slot. A probe has its answer: the service is there.
                attempt.release_slot();
                if !attempt.is_probe() {
                    return;
                }
                false
            }
            Phase::Stopping { replayed: false } => state.loose || self.scope.service() == "s3",
            Phase::Settled(Verdict::Retry { .. }) => state.loose,
            _ => false,
        };
        if keeps {
            state.loose = true;
            state.over = false;
            drop(state);
            REGISTRY.park(Arc::clone(self));
            return;
        }
        self.finish(&mut state);
    }

    /// Lets go of everything: an open success is one, unless its body broke; a retry that never came was given up; the
    /// rest was cancelled.
    pub(super) fn finish(&self, state: &mut State) {
        let verdict = match std::mem::replace(&mut state.phase, Phase::Stopping { replayed: true }) {
            Phase::Answered(Some(attempt)) if state.cut_short => {
                // Nobody comes again.
                state.call = state.call.take().map(|call| call.policy(RetryPolicy::none()));
                attempt.finish(Outcome::Failure(self.transport_failure(Transport::BodyCutShort)))
            }
            Phase::Answered(Some(attempt)) => attempt.finish(Outcome::Success),
            Phase::Settled(verdict) => verdict,
            _ => return,
        };
        if let (Verdict::Retry { .. }, Some(call)) = (verdict, &mut state.call) {
            call.give_up();
        }
    }
}

impl Drop for Operation {
    fn drop(&mut self) {
        self.finish(&mut self.lock());
        if let Some(key) = &self.key {
            REGISTRY.forget(key);
        }
    }
}
