//! What a failed call means for the listing it belongs to.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use aws_smithy_runtime_api::client::result::SdkError;
use aws_smithy_types::error::metadata::ProvideErrorMetadata;
use cloud_governor::{Class, Facts, Refusal, RefusalKind, Rules, Transport};

/// Whether it is worth asking again later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Worth {
    /// Yes, and after this time, where that is known.
    Later(Option<Duration>),
    /// No: the answer would be the same.
    Never,
}

/// Why a call failed. It tells codes, never messages: a service may quote the request in one, signature and all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    operation: &'static str,
    text: String,
    worth: Worth,
    refusal: Option<RefusalKind>,
    answered: bool,
}

impl Failure {
    /// Reads an SDK's error.
    pub fn of<E>(operation: &'static str, error: &SdkError<E, HttpResponse>, rules: &Rules) -> Self
    where
        E: Error + ProvideErrorMetadata + 'static,
    {
        if let Some(refusal) = Refusal::find(error) {
            let worth = Worth::Later(refusal.retry_after());
            return Failure {
                operation,
                text: refusal.to_string(),
                worth,
                refusal: Some(refusal.kind()),
                answered: false,
            };
        }
        let (facts, text) = read(error);
        let worth = match facts {
            Some(facts) => {
                let verdict = rules.classify(&facts.provider("aws"));
                if verdict.class == Class::Fatal { Worth::Never } else { Worth::Later(verdict.retry_after) }
            }
            None => Worth::Never,
        };
        let answered = matches!(error, SdkError::ServiceError(_) | SdkError::ResponseError(_));
        Failure { operation, text, worth, refusal: None, answered }
    }

    /// Whether it is worth asking again.
    pub fn worth(&self) -> Worth {
        self.worth
    }

    /// Whether a service answered, if only to say no.
    pub fn answered(&self) -> bool {
        self.answered
    }

    /// The governor's refusal, if that is what it was.
    pub fn refusal(&self) -> Option<RefusalKind> {
        self.refusal
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.operation, self.text)
    }
}

/// The facts, unless the call failed for want of something that waiting does not bring; and what a person reads.
fn read<E>(error: &SdkError<E, HttpResponse>) -> (Option<Facts<'_>>, String)
where
    E: Error + ProvideErrorMetadata + 'static,
{
    match error {
        SdkError::ServiceError(failed) => {
            let (code, status) = (failed.err().code(), failed.raw().status().as_u16());
            let facts = Facts::new().status(status).headers(failed.raw().headers());
            let facts = match code {
                Some(code) => facts.code(code),
                None => facts,
            };
            // The message is a fact like any other, though it is not told to anybody.
            let facts = match failed.err().message() {
                Some(message) => facts.message(message),
                None => facts,
            };
            (Some(facts), format!("{} (HTTP {status})", code.unwrap_or("an error without a code")))
        }
        SdkError::ResponseError(_) => {
            (Some(Facts::new().transport(Transport::BodyCutShort)), "the answer did not come whole".to_owned())
        }
        SdkError::TimeoutError(_) => (Some(Facts::new().transport(Transport::Timeout)), "timed out".to_owned()),
        SdkError::DispatchFailure(failed) => {
            // Without a kind it is no failure of the network: credentials that cannot be had, for one.
            let passing = failed.is_io() || failed.is_timeout() || failed.as_other().is_some();
            let transport = if failed.is_timeout() { Transport::Timeout } else { Transport::Io };
            (passing.then(|| Facts::new().transport(transport)), chain(error))
        }
        _ => (None, chain(error)),
    }
}

/// The error and its sources in one line.
pub(super) fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text = format!("{text}: {error}");
        source = error.source();
    }
    text
}

#[cfg(test)]
mod tests;
