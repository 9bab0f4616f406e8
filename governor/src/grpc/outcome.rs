//! What an RPC's answer means.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, Response, StatusCode};
use tonic::metadata::MetadataMap;
use tonic::{Code, Status};

use super::GrpcTarget;
use super::body::Seen;
use crate::call::{Attempt, Outcome};
use crate::classify::{Class, Classification, Facts, Transport};
use crate::error::Refusal;
use crate::governor::Governor;
use crate::scope::Scope;

const STATUS: &str = "grpc-status";
const DETAILS: &str = "grpc-status-details-bin";
const PUSHBACK: &str = "grpc-retry-pushback-ms";

/// Who says what an answer means to one call.
pub(super) struct Judge {
    pub(super) governor: Governor,
    pub(super) scope: Scope,
    pub(super) target: Arc<dyn GrpcTarget>,
}

impl Judge {
    /// What the head alone says: `None` if the body decides.
    pub(super) fn head<R>(&self, answer: &Response<R>, attempt: &Attempt) -> Option<Outcome> {
        match status_in(answer.headers()) {
            Some(status) => Some(self.status(&status, attempt)),
            None if is_told_by_head(answer) => {
                // Not from the service but from what stands before it.
                Some(self.facts(Facts::new().status(answer.status().as_u16()).headers(answer.headers())))
            }
            None => None,
        }
    }

    /// What the body says; `None` if that says nothing of the service.
    pub(super) fn body(&self, seen: Seen<'_>, attempt: &Attempt) -> Option<Outcome> {
        let status = match seen {
            Seen::Data => return Some(Outcome::Success),
            Seen::Failed(error) => return self.judged(known(error)?.of_begun_answer()),
            Seen::Trailers(trailers) => status_in(trailers),
            Seen::End => None,
        };
        // An answer that ends without a status is not whole.
        let cut_short = || self.facts(Facts::new().transport(Transport::BodyCutShort));
        Some(status.map_or_else(cut_short, |status| self.status(&status, attempt)))
    }

    /// What an error means that came in place of an answer. `None` if it says nothing of the service: a refusal of another
    /// governed call, or something that went wrong on this side, as a token that could not be had. A service answers with
    /// a response, so that no error's mere text can be its word.
    pub(super) fn error(&self, error: &(dyn Error + 'static)) -> Option<Outcome> {
        self.judged(known(error)?)
    }

    fn judged(&self, facts: Facts<'_>) -> Option<Outcome> {
        let meaning = self.meaning(facts);
        (meaning.class != Class::Fatal).then_some(Outcome::Failure(meaning))
    }

    fn status(&self, status: &Status, attempt: &Attempt) -> Outcome {
        if status.code() == Code::Ok {
            return Outcome::Success;
        }
        let (facts, limit) = self.target.told(&self.scope, Facts::of_answered(status), status);
        if let Some(limit) = limit {
            attempt.told(&limit);
        }
        match pushback(status) {
            None => self.facts(facts),
            Some(Pushback::After(delay)) => self.facts(facts.retry_info(delay)),
            Some(Pushback::Never) => {
                attempt.stop_retrying();
                self.facts(facts)
            }
        }
    }

    fn facts(&self, facts: Facts<'_>) -> Outcome {
        Outcome::Failure(self.meaning(facts))
    }

    fn meaning(&self, facts: Facts<'_>) -> Classification {
        self.governor.classify(&self.scope, facts)
    }
}

/// What is known of an error, if it is not another governed call's refusal.
fn known<'a>(error: &'a (dyn Error + 'static)) -> Option<Facts<'a>> {
    if Refusal::find(error).is_some() { None } else { Facts::known_in(error) }
}

/// Whether the head says how the RPC ended.
pub(super) fn is_told_by_head<R>(answer: &Response<R>) -> bool {
    answer.headers().contains_key(STATUS) || answer.status() != StatusCode::OK
}

/// The status in headers or trailers, if there is one. Details that are not in Base64 are left out: tonic would panic.
fn status_in(headers: &HeaderMap) -> Option<Status> {
    if !headers.contains_key(STATUS) {
        return None;
    }
    let mut headers = MetadataMap::from_headers(headers.clone());
    if headers.get_bin(DETAILS).is_some_and(|details| details.to_bytes().is_err()) {
        headers.remove_bin(DETAILS);
    }
    Status::from_header_map(&headers.into_headers())
}

/// What the server says of a retry (github.com/grpc/proposal, A6, "Pushback").
enum Pushback {
    After(Duration),
    Never,
}

/// A value that is no number of milliseconds, a negative one included, means that there is to be no retry.
fn pushback(status: &Status) -> Option<Pushback> {
    let value = status.metadata().get(PUSHBACK)?;
    let millis = value.to_str().ok().and_then(|text| text.parse().ok());
    Some(millis.map_or(Pushback::Never, |millis| Pushback::After(Duration::from_millis(millis))))
}
