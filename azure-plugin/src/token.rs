//! Failures of credentials.
//!
//! A credential fetches its token inside an attempt at a service, and its failure comes up through the service's pipeline.
//! The service has no part in it: what failed is identity.
//!
//! A credential whose own pipeline is governed has retried by then, and its error is the caller's. One that is not is
//! charged here, to a call of its own. Its first attempt was made before anyone asked, and is recorded as it was; each
//! further one is admitted before the service's attempt that will fetch the token.

use std::error::Error as StdError;

use azure_core::Error;
use azure_core::error::ErrorKind;
use cloud_governor::{Attempt, Call, Facts, Governor, Outcome, Refusal, Scope, Timestamp, Transport, Verdict};

use crate::answer::{Named, head_facts};

/// How far an error's sources are followed: one may name itself as its own source.
const DEEPEST: usize = 32;

/// The token fetches of one call at a service, by a credential that is not governed.
#[derive(Default)]
pub(crate) struct Token {
    call: Option<Call>,
    attempt: Option<Attempt>,
}

impl Token {
    /// The credential failed. True once it may be asked again, by sending again; false if the failure is the caller's.
    ///
    /// `service` is the call at the service, by whose terms the credential's goes, and `began` when its attempt did.
    pub(crate) async fn failed(
        &mut self,
        governor: &Governor,
        identity: &Scope,
        service: &Call,
        began: Timestamp,
        error: &Error,
    ) -> bool {
        let attempt = self.attempt.take();
        let Some(facts) = facts_of(error) else { return false };
        let meaning = governor.classify(identity, facts);
        let call =
            self.call.get_or_insert_with(|| governor.call(identity).like(service).idempotent(true).without_slot());
        let attempt = attempt.unwrap_or_else(|| call.attempted(began));
        match attempt.finish(Outcome::Failure(meaning)) {
            Verdict::Retry { .. } => self.attempt = call.admit().await.ok(),
            _ => return false,
        }
        self.attempt.is_some()
    }

    /// The credential gave a token, or was not asked for one.
    pub(crate) fn settle(&mut self, was_authorized: bool) {
        if let Some(attempt) = self.attempt.take()
            && was_authorized
        {
            attempt.finish(Outcome::Success);
        }
    }
}

/// The facts of the request that failed behind an error; `None` if none did.
pub(crate) fn facts_of(error: &Error) -> Option<Facts<'static>> {
    let mut next: Option<&(dyn StdError + 'static)> = Some(error);
    let mut transport = None;
    for _ in 0..DEEPEST {
        let Some(error) = next else { break };
        next = error.source();
        if error.is::<Refusal>() {
            return None;
        }
        match error.downcast_ref::<Error>().map(Error::kind) {
            Some(ErrorKind::HttpResponse { status, error_code, raw_response }) => {
                let named = raw_response.as_ref().map(|raw| Named::in_body(raw.body())).unwrap_or_default();
                let none = azure_core::http::headers::Headers::new();
                let headers = raw_response.as_ref().map_or(&none, |raw| raw.headers());
                return Some(head_facts(*status, headers, named.or_code(error_code.as_deref())));
            }
            Some(ErrorKind::Connection) => transport = transport.or(Some(Transport::Connect)),
            Some(ErrorKind::Io) => transport = transport.or(Some(Transport::Io)),
            _ => {}
        }
    }
    transport.map(|transport| Facts::new().transport(transport))
}

#[cfg(test)]
mod tests;
