//! One operation's state, shared by the gate and the observer.
//!
//! The SDK runs the loop; this remembers where it stands: which attempt was admitted, whether it was sent, how it ended,
//! and the last answer, for a replay. An operation that passed the gate is ended by a [`Handle`](crate::handle::Handle) in its config bag; one
//! that only the observer knows is ended when the last owner lets go of it.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use aws_smithy_runtime_api::client::identity::Identity;
use cloud_governor::{Attempt, Call, Classification, Facts, Governor, Outcome, Scope, Transport, Verdict};

use crate::replay::Answer;

mod ending;

/// Codes after which the SDK itself comes again with a corrected clock: `CLOCK_SKEW_ERROR_CODES` of aws-runtime
/// (`service_clock_skew.rs`). It does so only if it measured a skew of over four minutes.
const CLOCK_SKEW_CODES: [&str; 5] = [
    "InvalidSignatureException",
    "SignatureDoesNotMatch",
    "AuthFailure",
    "RequestTimeTooSkewed",
    "AccessDeniedException",
];

/// The state of one operation over all its attempts.
pub(crate) struct Operation {
    key: Option<String>,
    scope: Scope,
    governor: Governor,
    observed: bool,
    state: Mutex<State>,
}

struct State {
    /// Away while it is being admitted.
    call: Option<Call>,
    phase: Phase,
    answer: Option<Answer>,
    /// What the last attempt was signed with. An attempt that is not sent needs no better one.
    identity: Option<Identity>,
    code: Option<String>,
    skew_mended: bool,
    /// Its identity could not carry the state, or was dropped on the way: the registry keeps it between attempts.
    loose: bool,
    /// The body of the success did not come whole.
    cut_short: bool,
    /// The body of the success is being read.
    reading: bool,
    /// The caller's operation is over; a body may still be read.
    over: bool,
}

/// Where the current attempt stands. Without an [`Attempt`] it is sent ungoverned.
#[derive(Debug)]
enum Phase {
    /// Not admitted yet.
    Waiting,
    /// Admitted, and not seen at the HTTP client yet.
    Ready(Option<Arc<Attempt>>),
    /// On its way.
    Sent(Option<Arc<Attempt>>),
    /// A head of success came. A body cut short, or an answer that does not parse, would make the SDK come again.
    Answered(Option<Arc<Attempt>>),
    /// A failure came that only the interceptor can name.
    Unnamed(Arc<Attempt>),
    /// The outcome is known.
    Settled(Verdict),
    /// The next attempt gets the last answer again.
    Stopping {
        /// It has got it.
        replayed: bool,
    },
}

/// What the gate does with the next attempt.
#[derive(Debug)]
pub(crate) enum Next {
    /// Ask to be admitted.
    Admit(Call),
    /// Let it pass; the observer replays the last answer.
    Stop,
}

/// What the observer does with a request.
#[derive(Debug)]
pub(crate) enum Step {
    /// Send it.
    Send(Option<Arc<Attempt>>),
    /// Do not send it; this is the answer.
    Replay(Answer),
    /// It belongs to no admitted attempt.
    Unknown,
}

impl Operation {
    pub(crate) fn new(key: Option<String>, scope: Scope, governor: Governor, observed: bool) -> Arc<Self> {
        let state = State {
            call: None,
            phase: Phase::Waiting,
            answer: None,
            identity: None,
            code: None,
            skew_mended: false,
            loose: false,
            cut_short: false,
            reading: false,
            over: false,
        };
        Arc::new(Operation { key, scope, governor, observed, state: Mutex::new(state) })
    }

    pub(crate) fn key(&self) -> Option<&str> {
        self.key.as_deref()
    }

    pub(crate) fn scope(&self) -> &Scope {
        &self.scope
    }

    pub(crate) fn governor(&self) -> &Governor {
        &self.governor
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    // ===== before an attempt =====

    /// An attempt was admitted, or passes ungoverned.
    pub(crate) fn ready(&self, call: Option<Call>, attempt: Option<Attempt>) {
        let mut state = self.lock();
        state.call = call;
        state.phase = Phase::Ready(attempt.map(Arc::new));
        state.cut_short = false;
    }

    /// Another attempt of the call that is here was admitted.
    pub(crate) fn ready_again(&self, attempt: Attempt) {
        let mut state = self.lock();
        state.phase = Phase::Ready(Some(Arc::new(attempt)));
        state.cut_short = false;
    }

    /// The call is back from waiting, and may go on waiting at the next attempt, at the place in line that it has.
    pub(crate) fn postponed(&self, call: Call) {
        self.lock().call = Some(call);
    }

    /// The call was refused: the answer that it has is the last one.
    pub(crate) fn stop(&self) {
        self.lock().phase = Phase::Stopping { replayed: false };
    }

    /// Keeps the identity that an attempt goes on with.
    pub(crate) fn keep_identity(&self, identity: &Identity) {
        self.lock().identity = Some(identity.clone());
    }

    /// The identity that the last attempt went on with.
    pub(crate) fn identity(&self) -> Option<Identity> {
        self.lock().identity.clone()
    }

    /// Ends the operation without an answer: the call, to say why.
    pub(crate) fn take_call(&self) -> Option<Call> {
        self.lock().call.take()
    }

    /// Whether an attempt was admitted that the HTTP client has not seen. S3 Express drops identities on the way.
    pub(crate) fn is_unseen(&self) -> bool {
        matches!(self.lock().phase, Phase::Ready(_)) && self.scope.service() != "s3"
    }

    /// Settles the attempt before this one and says how to go on. Its slot goes back here, ahead of all that the next
    /// attempt may wait for.
    pub(crate) fn next(&self) -> Next {
        let mut state = self.lock();
        let verdict = match std::mem::replace(&mut state.phase, Phase::Waiting) {
            Phase::Ready(Some(attempt)) | Phase::Sent(Some(attempt)) | Phase::Unnamed(attempt) => {
                state.answer = Some(Answer::dropped());
                attempt.finish(Outcome::Failure(self.transport_failure(Transport::Timeout)))
            }
            Phase::Answered(Some(attempt)) => {
                state.answer.get_or_insert_with(Answer::dropped);
                attempt.finish(Outcome::Failure(self.transport_failure(Transport::BodyCutShort)))
            }
            Phase::Settled(verdict) => verdict,
            Phase::Waiting => match state.call.take() {
                Some(call) => return Next::Admit(call),
                None => Verdict::Done,
            },
            Phase::Ready(None) | Phase::Sent(None) | Phase::Answered(None) | Phase::Stopping { .. } => Verdict::Done,
        };
        state.loose = false;
        match (verdict, state.call.take()) {
            (Verdict::Retry { .. }, Some(call)) => Next::Admit(call),
            (Verdict::Done, Some(call)) if call.is_governed() && state.mends_clock() => {
                Next::Admit(self.governor.call(&self.scope).like(&call))
            }
            (_, call) => {
                state.call = call;
                state.phase = Phase::Stopping { replayed: false };
                Next::Stop
            }
        }
    }

    /// The next attempt of an operation that is only observed, as a call of its own: the SDK decides.
    pub(crate) fn observe_next(&self) -> Call {
        self.finish(&mut self.lock());
        self.governor.call(&self.scope)
    }

    fn transport_failure(&self, transport: Transport) -> Classification {
        self.classify(Facts::new().transport(transport))
    }

    /// What a failure means, by the governor's rules.
    pub(crate) fn classify<'a>(&'a self, facts: Facts<'a>) -> Classification {
        self.governor.classify(&self.scope, facts)
    }

    // ===== at the HTTP client =====

    /// Claims the admitted attempt for a request.
    pub(crate) fn step(&self) -> Step {
        let mut state = self.lock();
        match std::mem::replace(&mut state.phase, Phase::Waiting) {
            Phase::Ready(attempt) => {
                state.phase = Phase::Sent(attempt.clone());
                Step::Send(attempt)
            }
            Phase::Stopping { .. } => {
                state.phase = Phase::Stopping { replayed: true };
                Step::Replay(state.answer.clone().unwrap_or_else(Answer::dropped))
            }
            other => {
                state.phase = other;
                Step::Unknown
            }
        }
    }

    /// The registry has to keep this operation between attempts.
    pub(crate) fn loosen(&self) {
        self.lock().loose = true;
    }
}

impl State {
    fn mends_clock(&mut self) -> bool {
        self.is_skewed() && !std::mem::replace(&mut self.skew_mended, true)
    }

    fn is_skewed(&self) -> bool {
        self.code.as_deref().is_some_and(|code| CLOCK_SKEW_CODES.contains(&code))
    }
}

impl fmt::Debug for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.lock();
        f.debug_struct("Operation").field("scope", &self.scope).field("phase", &state.phase).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
