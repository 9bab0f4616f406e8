//! One request on its way: the loop over its attempts.

use std::convert::Infallible;
use std::future::Future;
use std::time::Duration;

use http::Extensions;
use reqwest::{Request, Response};
use reqwest_middleware::{Next, Result};

use super::answer::{Seen, detached, look_into};
use super::target::HttpTarget;
use crate::by_hand::timed_out;
use crate::call::{Attempt, Call, Outcome, Verdict};
use crate::classify::{Facts, Transport, chain};
use crate::drive::within;
use crate::error::{Error, Refusal};
use crate::governor::Governor;
use crate::options::CallOptions;

/// In the extensions of a request that is governed already.
#[derive(Clone, Copy)]
pub(super) struct Governed;

pub(super) struct Calling<'a, T> {
    pub(super) target: &'a T,
    pub(super) governor: Governor,
    pub(super) call: Call,
    pub(super) options: CallOptions,
}

/// What an attempt came to, and what the middlewares below left in its extensions.
struct Came {
    result: Result<Response>,
    extensions: Extensions,
}

/// What follows an attempt.
struct Ended {
    /// None if it was not answered in time.
    result: Option<Result<Response>>,
    may_go_on: bool,
}

impl<T: HttpTarget> Calling<'_, T> {
    pub(super) async fn run(
        mut self,
        mut request: Request,
        extensions: &mut Extensions,
        next: Next<'_>,
    ) -> Result<Response> {
        let mut last: Option<Came> = None;
        let came = loop {
            let attempt = match self.call.admit().await {
                Ok(attempt) => attempt,
                Err(refusal) => {
                    self.options.note_refused(&refusal);
                    match last {
                        Some(last) => break last,
                        None => return Err(refused(refusal)),
                    }
                }
            };
            self.options.note_admitted(attempt.scope());
            let is_last = self.call.is_exhausted();
            let again = if is_last { None } else { request.try_clone() };
            if again.is_none() && !is_last {
                self.call.stop_retrying();
            }
            // A copy, so that no attempt finds what an earlier one left.
            let mut own = extensions.clone();
            own.insert(Governed);
            let ended = self.attempt(&attempt, next.clone().run(request, &mut own)).await;
            own.remove::<Governed>();
            // An earlier answer tells the caller more than that none came.
            let came = ended.result.map(|result| Came { result, extensions: own }).or(last);
            match (again, came) {
                (Some(again), came) if ended.may_go_on => {
                    last = came;
                    request = again;
                }
                (_, Some(came)) => break came,
                (_, None) => return Err(refused(timed_out(&attempt))),
            }
        };
        *extensions = came.extensions;
        came.result
    }

    async fn attempt(&self, attempt: &Attempt, send: impl Future<Output = Result<Response>>) -> Ended {
        let clock = &**self.governor.clock();
        let (began, timeout) = (clock.now(), attempt.timeout());
        match within(clock, timeout, send).await {
            Some(Ok(response)) if response.status().as_u16() < 400 => {
                self.options.note_verdict(attempt.finish(Outcome::Success));
                Ended { result: Some(Ok(response)), may_go_on: false }
            }
            Some(Ok(response)) => {
                let left = timeout.map(|timeout| timeout.saturating_sub(clock.now().since(began)));
                self.failed(attempt, response, left).await
            }
            Some(Err(error)) => {
                // What says nothing of the service is as good as a cancelled attempt.
                let again = facts_of(&error).and_then(|facts| self.judge(attempt, facts));
                Ended { result: Some(Err(error)), may_go_on: again.is_some() }
            }
            None => {
                let again = self.judge(attempt, Facts::new().transport(Transport::Timeout));
                Ended { result: None, may_go_on: again.is_some() }
            }
        }
    }

    async fn failed(&self, attempt: &Attempt, response: Response, time_left: Option<Duration>) -> Ended {
        let clock = &**self.governor.clock();
        let facts = Facts::new().status(response.status().as_u16()).headers(response.headers());
        let (response, seen) = if self.target.looks_into_bodies() {
            look_into(response, clock, time_left).await
        } else {
            (response, Seen::Start)
        };
        let facts = match seen {
            // A status that says nothing of a retry says less than that the rest did not come.
            Seen::Broke => facts.transport(Transport::BodyCutShort),
            Seen::Whole(_) | Seen::Start => facts,
        };
        let body: &[u8] = if let Seen::Whole(body) = &seen { body } else { &[] };
        let (facts, limit) = self.target.told(attempt.scope(), facts, body);
        if let Some(limit) = limit {
            attempt.told(&limit);
        }
        match self.judge(attempt, facts) {
            // It would be waited for anyway.
            Some(delay) => {
                let response = detached(response, clock, delay).await;
                Ended { result: Some(Ok(response)), may_go_on: true }
            }
            None => Ended { result: Some(Ok(response)), may_go_on: false },
        }
    }

    /// Settles the attempt; the backoff, if there may be another.
    fn judge(&self, attempt: &Attempt, facts: Facts<'_>) -> Option<Duration> {
        let meaning = self.governor.classify(attempt.scope(), facts);
        let verdict = attempt.finish(Outcome::Failure(meaning));
        self.options.note_verdict(verdict);
        match verdict {
            Verdict::Retry { delay } => Some(delay),
            Verdict::Done | Verdict::GiveUp(_) => None,
        }
    }
}

/// `None` if the error says nothing of the service: the refusal of a governed call inside this one, a request that could
/// not be built or whose own body broke, or the failure of another middleware.
fn facts_of(error: &reqwest_middleware::Error) -> Option<Facts<'_>> {
    let is_the_callers = chain(error).any(|error| {
        error.is::<Refusal>()
            // No answer's body has been read yet.
            || error.downcast_ref::<reqwest::Error>().is_some_and(|error| error.is_builder() || error.is_body())
    });
    if is_the_callers { None } else { Facts::known_in(error) }
}

/// Found by [`Refusal::find`]: the middleware's own error passes over what it wraps.
fn refused(refusal: Refusal) -> reqwest_middleware::Error {
    reqwest_middleware::Error::middleware(Error::<Infallible>::Refused(refusal))
}
