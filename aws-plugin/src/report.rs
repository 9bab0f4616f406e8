//! How an attempt ended, reported to its operation, and what the SDK is told to make it come again.

use std::fmt;
use std::sync::Arc;

use aws_runtime::retries::classifiers::{THROTTLING_ERRORS, TRANSIENT_ERRORS};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::http::{Headers, StatusCode};
use aws_smithy_types::retry::ErrorKind;
use bytes::Bytes;
use cloud_governor::{Class, Classification, Facts, Transport, Verdict};

use crate::named::Named;
use crate::operation::Operation;
use crate::registry::REGISTRY;
use crate::replay::{Answer, KeptError, SharedError};

/// Whom to report to, and what is known of the request.
pub(crate) struct Report {
    pub(crate) operation: Arc<Operation>,
    /// Whether the operation passed the gate: its next attempt, or its end, settles the outcome then.
    pub(crate) gated: bool,
    /// Whether the interceptor will see the outcome.
    pub(crate) steered: bool,
    /// Whether the SDK can send the request once more.
    pub(crate) comes_again: bool,
    /// Whether the SDK's own retry policy is in force.
    pub(crate) observe_only: bool,
    /// Whether the request has an invocation id to be found by.
    pub(crate) has_id: bool,
}

/// How far the body of a failed answer came.
pub(crate) enum Came {
    /// All of it is here.
    Whole,
    /// Its start is.
    InPart,
    /// It broke.
    CutShort(SharedError),
}

impl Report {
    /// A failed answer came, with all or the start of its body. The SDK gets the returned error in its place, if any.
    pub(crate) fn failed(&self, status: StatusCode, headers: Headers, body: Bytes, came: Came) -> Option<Held> {
        let named = Named::of(&headers, &body);
        let number = status.as_u16();
        let mut classification = self.operation.classify(named.facts(number, &headers));
        let mut answer = Answer::Response { status, headers: headers.clone(), body };
        if let Came::CutShort(error) = &came
            && named.code.is_none()
            && classification.class == Class::Fatal
        {
            // What would have named it did not come.
            classification = self.operation.classify(Facts::new().transport(Transport::BodyCutShort));
            answer = Answer::CutShort { status, headers, error: Arc::new(error.clone()) };
        }
        // Without a code, and with a status that says nothing, the typed error may still know.
        let unnamed = self.steered && self.gated && named.code.is_none() && classification.class == Class::Fatal;
        let settled = (!unnamed).then(|| classification.clone());
        let verdict = self.operation.failed(settled, named.bare_code(), answer);
        let known = is_known(number, named.bare_code());
        self.keep(verdict, known);
        // A body that has no end in sight is not read to be thrown away.
        let is_held = self.is_retried(verdict) && (!known || matches!(came, Came::InPart));
        is_held.then(|| Held { status: number, kind: kind(&classification) })
    }

    /// No answer came. The SDK gets the returned error.
    pub(crate) fn no_answer(&self, error: KeptError) -> ConnectorError {
        let classification = self.classify(&error);
        let verdict = self.operation.failed(Some(classification.clone()), None, Answer::Error(error.clone()));
        self.keep(verdict, true);
        match self.is_retried(verdict) {
            true => error.deliver_retryable(kind(&classification)),
            false => error.deliver(),
        }
    }

    fn classify(&self, error: &KeptError) -> Classification {
        if error.is_user() {
            // The request was wrong, or what the caller uploads broke, with an error of any kind.
            return Classification::fatal();
        }
        let mut facts = Facts::from_error(error.error());
        if error.is_timeout() {
            facts = facts.transport(Transport::Timeout);
        }
        let found = self.operation.classify(facts);
        if found.class == Class::Fatal && (error.is_io() || error.other_kind().is_some()) {
            // The connector says more than the error's text: it broke on the way.
            return self.operation.classify(Facts::new().transport(Transport::Io));
        }
        found
    }

    fn is_retried(&self, verdict: Option<Verdict>) -> bool {
        matches!(verdict, Some(Verdict::Retry { .. })) && self.comes_again && !self.observe_only
    }

    /// Keeps an operation that nothing else keeps, if the SDK may come again.
    fn keep(&self, verdict: Option<Verdict>, known: bool) {
        let may_come = known || matches!(verdict, Some(Verdict::Retry { .. }));
        if !self.gated && may_come && self.has_id {
            REGISTRY.park(Arc::clone(&self.operation));
        }
    }
}

/// Whether the SDK's own classifiers retry such an answer: `TRANSIENT_ERROR_STATUS_CODES` of aws-smithy-runtime, and the
/// codes of aws-runtime.
fn is_known(status: u16, code: Option<&str>) -> bool {
    let by_code = code.is_some_and(|code| THROTTLING_ERRORS.contains(&code) || TRANSIENT_ERRORS.contains(&code));
    by_code || matches!(status, 500 | 502 | 503 | 504)
}

fn kind(classification: &Classification) -> ErrorKind {
    match classification.class {
        Class::Throttled => ErrorKind::ThrottlingError,
        _ => ErrorKind::TransientError,
    }
}

/// In place of an answer that the SDK's classifiers do not know to be worth retrying, or would have to read for too long;
/// the answer itself is replayed when retrying stops.
#[derive(Debug)]
pub(crate) struct Held {
    status: u16,
    kind: ErrorKind,
}

impl fmt::Display for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the answer with status {} is held back while the governor retries", self.status)
    }
}

impl std::error::Error for Held {}

impl From<Held> for ConnectorError {
    fn from(held: Held) -> Self {
        let kind = held.kind;
        ConnectorError::other(Box::new(held), Some(kind))
    }
}
