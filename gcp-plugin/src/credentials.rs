//! The gate: every attempt of every request asks its client's credentials for headers before it is sent, and nothing else
//! before the first attempt can wait.

use std::fmt;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use cloud_governor::{Attempt, Call, Classification, Outcome, Verdict};
use google_cloud_auth::credentials::{CacheableResource, Credentials, CredentialsProvider};
use google_cloud_auth::errors::CredentialsError;
use http::{Extensions, HeaderMap};

use crate::call::Context;
use crate::client::Client;
use crate::error::Refused;
use crate::handover;
use crate::journey::{Journey, Request};
use crate::store::{Parked, Stage};

/// The header by which credentials name the project that is charged.
const QUOTA_PROJECT: &str = "x-goog-user-project";

/// How long to remember an attempt whose outcome may never be told: a stream's.
const UNTOLD: Duration = Duration::from_secs(10);

/// By how much an attempt timeout may be overdue: it begins with the send, and its outcome has to be noticed.
const GRACE: Duration = Duration::from_secs(5);

/// A token this old is as good as new: Google's credentials renew theirs minutes before they run out.
const FRESH: Duration = Duration::from_secs(60);

type Headers = CacheableResource<HeaderMap>;

/// Credentials that wait for admission.
pub(crate) struct GovernedCredentials {
    client: Arc<Client>,
    inner: Credentials,
}

impl fmt::Debug for GovernedCredentials {
    // The SDK shows a client with its credentials.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("GovernedCredentials")
    }
}

impl GovernedCredentials {
    pub(crate) fn new(client: &Arc<Client>, inner: Credentials) -> Self {
        GovernedCredentials { client: Arc::clone(client), inner }
    }
}

impl CredentialsProvider for GovernedCredentials {
    async fn headers(&self, extensions: Extensions) -> Result<Headers, CredentialsError> {
        let is_first = handover::take_begun(&self.client);
        let context = Context::current(&self.client);
        if context.options().is_skipped() {
            return self.inner.headers(extensions).await;
        }
        let request = Request::current();
        self.client.note_recorder(request.recorder.is_some());
        let journey = if is_first { None } else { self.continued(&context, &request) };
        // Before admission: a token that cannot be had takes no slot and says nothing of the service.
        let headers = match self.token(&context, &extensions).await {
            Ok(headers) => headers,
            Err(error) => {
                if let Some(mut journey) = journey {
                    journey.call.give_up();
                }
                return Err(error);
            }
        };
        self.note_quota_project(&headers);
        let journey = journey.unwrap_or_else(|| Journey::begin(&self.client, &context, request, is_first));
        self.admitted(&context, journey, headers, &extensions).await
    }

    async fn universe_domain(&self) -> Option<String> {
        self.inner.universe_domain().await
    }
}

impl GovernedCredentials {
    /// The journey whose next attempt this is.
    fn continued(&self, context: &Context, request: &Request) -> Option<Journey> {
        let store = context.store();
        let between = store.take(&self.client, request, Parked::if_between);
        if let Some(parked) = between {
            return Some(parked.journey);
        }
        // A resumable upload sends several requests, one after the other, before it tells of an outcome: each is a call,
        // and the one before was served.
        request.recorder.as_ref()?;
        let before = store
            .take(&self.client, request, |parked| parked.if_in_flight(None).filter(|_| !parked.journey.is_looped))?;
        if let Stage::InFlight(attempt) = before.stage
            && before.journey.is_media
        {
            context.options().note_verdict(attempt.finish(Outcome::Success));
        }
        None
    }

    /// Waits for admission, and hands the journey on to the hooks that learn of the outcome.
    async fn admitted(
        &self,
        context: &Context,
        mut journey: Journey,
        mut headers: Headers,
        extensions: &Extensions,
    ) -> Result<Headers, CredentialsError> {
        loop {
            let before = journey.clock().now();
            let attempt = match journey.admit(&self.client, context).await {
                Ok(attempt) => attempt,
                Err(refusal) => {
                    context.options().note_refused(&refusal);
                    return Err(Refused::into_error(refusal, journey.last.take()));
                }
            };
            if journey.clock().now().since(before) < FRESH {
                self.sent(context, journey, attempt);
                return Ok(headers);
            }
            // A token may have run out while this was in line. No slot is held while another is fetched.
            let mut token = pin!(self.inner.headers(extensions.clone()));
            let at_hand = poll_fn(|cx| match token.as_mut().poll(cx) {
                Poll::Ready(token) => Poll::Ready(Some(token)),
                Poll::Pending => Poll::Ready(None),
            });
            match at_hand.await {
                Some(Ok(token)) => {
                    self.sent(context, journey, attempt);
                    return Ok(token);
                }
                Some(Err(error)) => {
                    attempt.unsent();
                    journey.call.give_up();
                    return Err(error);
                }
                None => attempt.unsent(),
            }
            headers = token.await.inspect_err(|_| journey.call.give_up())?;
        }
    }

    /// From here on the request is on its way, and the hooks are what learns of it.
    fn sent(&self, context: &Context, journey: Journey, attempt: Attempt) {
        context.options().note_admitted(attempt.scope());
        let lease = if !journey.has_outcome {
            // A stream is open for long, and nobody says when it ends.
            attempt.release_slot();
            UNTOLD.min(self.client.lease)
        } else if journey.is_media {
            // The SDK sets no limit to these.
            self.client.lease
        } else {
            attempt.timeout().map_or(self.client.lease, |timeout| timeout + GRACE)
        };
        context.store().park(journey, Stage::InFlight(attempt), lease);
    }

    fn note_quota_project(&self, headers: &Headers) {
        if let CacheableResource::New { data, .. } = headers
            && self.client.quota_project.get().is_none()
            && let Some(Ok(project)) = data.get(QUOTA_PROJECT).map(http::HeaderValue::to_str)
        {
            // Somebody else may have been faster, with the same.
            let _ = self.client.quota_project.set(project.to_owned());
        }
    }

    /// The token, asked for again while that is worth it. What is charged for the failures is identity, not the service.
    async fn token(&self, context: &Context, extensions: &Extensions) -> Result<Headers, CredentialsError> {
        let began = self.client.governor().clock().now();
        let mut failing: Option<Failing> = None;
        loop {
            let error = match self.inner.headers(extensions.clone()).await {
                Ok(headers) => {
                    if let Some(Failing { attempt, .. }) = failing {
                        attempt.finish(Outcome::Success);
                    }
                    return Ok(headers);
                }
                Err(error) => error,
            };
            if self.client.terms(context).is_none() {
                return Err(error);
            }
            let meaning = if error.is_transient() { Classification::transient() } else { Classification::fatal() };
            let (mut call, attempt) = match failing {
                Some(Failing { call, attempt }) => (call, attempt),
                // Only now is it known that it was asked for. A token may be asked for twice, whatever is said of the call.
                None => {
                    let call = self.client.governor().call(&self.client.identity());
                    let mut call = context.options().apply(call).without_slot().idempotent(true);
                    let attempt = call.attempted(began);
                    (call, attempt)
                }
            };
            if !matches!(attempt.finish(Outcome::Failure(meaning)), Verdict::Retry { .. }) {
                return Err(error);
            }
            match call.admit().await {
                Ok(attempt) => failing = Some(Failing { call, attempt }),
                Err(_) => return Err(error),
            }
        }
    }
}

/// A token that could not be had, and is asked for again.
struct Failing {
    call: Call,
    attempt: Attempt,
}
