//! The per-call policy: the loop over one call's attempts.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use azure_core::Error;
use azure_core::error::ErrorKind;
use azure_core::http::policies::{Policy, PolicyResult};
use azure_core::http::{AsyncRawResponse, Context, Request};
use cloud_governor::{
    Attempt, Call, Classification, Facts, Governor, Outcome, Scope, Transport, Verdict, get_governor,
};

use crate::answer::{Answer, Named, head_facts};
use crate::body::{Held, guarded};
use crate::call_options::CallOptions;
use crate::error::{nothing_follows, refused};
use crate::journey::{Came, Journey};
use crate::operation::operation;
use crate::quotas::quotas_left;
use crate::target::{Target, Targets};
use crate::token::{Token, facts_of};
use crate::wire::is_failure;

/// Governs the calls of the pipelines that it is put into.
pub(crate) struct GovernorPolicy {
    pub(crate) governor: Option<Governor>,
    pub(crate) targets: Targets,
    /// What the failures of credentials are charged to that are not governed themselves.
    pub(crate) identity: Scope,
    pub(crate) release_at_headers: bool,
    pub(crate) resend_any: bool,
    pub(crate) learn: bool,
}

impl fmt::Debug for GovernorPolicy {
    // It is shown with every `ClientOptions`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("GovernorPolicy")
    }
}

#[async_trait]
impl Policy for GovernorPolicy {
    async fn send(&self, ctx: &Context, request: &mut Request, next: &[Arc<dyn Policy>]) -> PolicyResult {
        let Some((first, rest)) = next.split_first() else { return Err(nothing_follows()) };
        let outer = Journey::of(ctx);
        let mut options = CallOptions::of(ctx, outer.is_some());
        let live = outer.filter(|outer| !outer.is_over());
        if options.skips() || live.is_some_and(|outer| outer.is_along(next)) {
            return first.send(ctx, request, rest).await;
        }
        let governor = self.governor.clone().unwrap_or_else(get_governor);
        let named = operation(ctx);
        let target = self.targets.of(request.url(), request.method(), request.headers(), named.as_deref());
        let Target { scope, idempotent, identity } = target;
        let scope = options.own_scope().unwrap_or(scope);
        let idempotent = options.is_idempotent(idempotent || self.resend_any);
        let call = options.apply(governor.call(&scope), idempotent);
        let call = match live {
            // An account of identity is nobody else's, so its slots cannot be held by those who wait for them here; unless
            // one identity service is asked on the way to another.
            Some(outer) if !identity || outer.is_to_identity() => call.without_slot(),
            _ => call,
        };
        if !call.is_governed() {
            return observed(&governor, call, first.send(ctx, request, rest)).await;
        }
        let token = Token::default();
        let release_at_headers = options.releases_at_headers().unwrap_or(self.release_at_headers);
        let calling =
            Calling { policy: self, governor, call, idempotent, identity, release_at_headers, token, last: None };
        let result = calling.run(ctx, request, next).await;
        if let Some(outer) = outer
            && result.as_ref().map_or(true, |response| is_failure(response.status()))
        {
            outer.note_inner_failure();
        }
        result
    }
}

/// A call of a provider that is disabled: sent once, and counted.
async fn observed(governor: &Governor, mut call: Call, send: impl Future<Output = PolicyResult>) -> PolicyResult {
    let attempt = call.admit().await.map_err(refused)?;
    let result = send.await;
    let facts = match &result {
        Ok(response) if is_failure(response.status()) => {
            Some(head_facts(response.status(), response.headers(), Named::default()))
        }
        Ok(_) => None,
        Err(error) => match facts_of(error) {
            None => return result,
            facts => facts,
        },
    };
    let meaning = facts.map(|facts| governor.classify(attempt.scope(), facts));
    attempt.finish(meaning.map_or(Outcome::Success, Outcome::Failure));
    result
}

/// One call on its way.
struct Calling<'a> {
    policy: &'a GovernorPolicy,
    governor: Governor,
    call: Call,
    idempotent: bool,
    identity: bool,
    release_at_headers: bool,
    token: Token,
    /// The outcome that is the caller's if no later one takes its place.
    last: Option<PolicyResult>,
}

impl Calling<'_> {
    async fn run(mut self, ctx: &Context<'_>, request: &Request, next: &[Arc<dyn Policy>]) -> PolicyResult {
        let mut is_first = true;
        loop {
            let attempt = match self.call.admit().await {
                Ok(attempt) => attempt,
                Err(refusal) => return self.last.unwrap_or_else(|| Err(refused(refusal))),
            };
            // A policy below may take the body out and not put it back, as Key Vault's does.
            let mut request = request.clone();
            if !std::mem::take(&mut is_first)
                && let Err(error) = request.body_mut().reset().await
            {
                attempt.unsent();
                self.call.give_up();
                return self.last.unwrap_or(Err(error));
            }
            let journey = Arc::new(Journey::new(next, self.governor.clock(), attempt.timeout(), self.identity));
            let result = send(ctx, &journey, &mut request, next).await;
            let came = journey.came(result);
            if !matches!(came, Came::Above(_)) {
                self.token.settle(journey.was_authorized());
            }
            let ended = match came {
                Came::Answer(response) => {
                    self.learn(&attempt, &response);
                    if !is_failure(response.status()) {
                        return Ok(self.succeeded(attempt, response));
                    }
                    self.refused(&attempt, response, &journey).await
                }
                Came::Broken(error) => self.broken(attempt, error),
                Came::Late(error) => self.late(&attempt, error),
                Came::Above(error) => self.above(attempt, error, &journey).await,
            };
            if let Some(result) = ended {
                return result;
            }
        }
    }

    /// What the answer says of the quotas that are left.
    fn learn(&self, attempt: &Attempt, response: &AsyncRawResponse) {
        if self.policy.learn {
            for (quota, left) in quotas_left(response.headers()) {
                attempt.quota_left(&quota, left);
            }
        }
    }

    fn succeeded(self, attempt: Attempt, response: AsyncRawResponse) -> AsyncRawResponse {
        if attempt.is_probe() {
            // The service is there again. Nobody else is to wait until this body has been read.
            attempt.finish(Outcome::Success);
            return response;
        }
        if self.release_at_headers {
            attempt.release_slot();
        }
        guarded(response, Held { attempt, call: self.call, governor: self.governor })
    }

    // ===== failures: the caller's result, or none if there is to be another attempt =====

    async fn refused(
        &mut self,
        attempt: &Attempt,
        response: AsyncRawResponse,
        journey: &Journey,
    ) -> Option<PolicyResult> {
        let answer = Answer::read(response, &**self.governor.clock(), journey.time_left()).await;
        let facts = answer.facts(answer.named());
        let meaning = self.governor.classify(attempt.scope(), facts);
        match attempt.finish(Outcome::Failure(meaning)) {
            Verdict::Retry { .. } => {
                self.last = Some(Ok(answer.kept()));
                None
            }
            _ => Some(Ok(answer.passed_on())),
        }
    }

    fn broken(&mut self, attempt: Attempt, error: Error) -> Option<PolicyResult> {
        let facts = match error.kind() {
            ErrorKind::Connection | ErrorKind::Io | ErrorKind::HttpResponse { .. } => facts_of(&error),
            _ => None,
        };
        // What is neither an answer nor the way's failure says nothing of the service.
        let Some(facts) = facts else { return Some(Err(error)) };
        let meaning = self.governor.classify(attempt.scope(), facts);
        let verdict = attempt.finish(Outcome::Failure(meaning));
        self.kept_if(matches!(verdict, Verdict::Retry { .. }), Err(error))
    }

    fn late(&mut self, attempt: &Attempt, error: Error) -> Option<PolicyResult> {
        let facts = Facts::new().transport(Transport::Timeout);
        let meaning = self.governor.classify(attempt.scope(), facts);
        let verdict = attempt.finish(Outcome::Failure(meaning));
        // An answer that did come tells the caller more.
        let last = self.last.take().unwrap_or(Err(error));
        self.kept_if(matches!(verdict, Verdict::Retry { .. }), last)
    }

    async fn above(&mut self, attempt: Attempt, error: Error, journey: &Journey) -> Option<PolicyResult> {
        let was_retried = journey.inner_failed();
        let is_credentials = was_retried || *error.kind() == ErrorKind::Credential || facts_of(&error).is_some();
        if !is_credentials && journey.reached_the_wire() {
            // The service did answer, with what the SDK could make nothing of.
            attempt.finish(Outcome::Failure(Classification::fatal()));
            return Some(Err(error));
        }
        attempt.unsent();
        // Where a policy did not pass the context on, the wire was not seen, and this may be the wire's as well as that of a
        // credential that does not say so.
        let is_of_a_request = matches!(error.kind(), ErrorKind::Io | ErrorKind::HttpResponse { .. });
        let may_be_done = is_of_a_request && !journey.reached_the_wire() && !self.idempotent;
        if was_retried || may_be_done {
            return Some(Err(error));
        }
        let began = journey.began();
        let may_go_on = self.token.failed(&self.governor, &self.policy.identity, &self.call, began, &error).await;
        self.kept_if(may_go_on, Err(error))
    }

    /// The caller's result, unless there is to be another attempt: then it is kept for if none is admitted.
    fn kept_if(&mut self, goes_on: bool, result: PolicyResult) -> Option<PolicyResult> {
        if goes_on {
            self.last = Some(result);
            return None;
        }
        Some(result)
    }
}

/// One pass through the rest of the pipeline, with the journey in the context.
async fn send(
    ctx: &Context<'_>,
    journey: &Arc<Journey>,
    request: &mut Request,
    next: &[Arc<dyn Policy>],
) -> PolicyResult {
    let Some((first, rest)) = next.split_first() else { return Err(nothing_follows()) };
    let mut ctx = ctx.to_borrowed();
    ctx.insert(Arc::clone(journey));
    let _under_way = journey.under_way();
    first.send(&ctx, request, rest).await
}
