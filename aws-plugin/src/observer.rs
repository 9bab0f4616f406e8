//! The observer: an HTTP client that sends what was admitted and reports every outcome.
//!
//! A request finds its operation by invocation id. One that no gate has seen (signed with credentials of the
//! operation's own, or of a client with an identity cache of its own) is admitted here. Not for long at a time, though:
//! the SDK's protection against stalled streams fails an upload that nobody polls, and a signature ages. So the SDK is
//! told to come again while the call goes on waiting.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use aws_runtime::auth::sigv4::SCHEME_ID as SIGV4_SCHEME_ID;
use aws_smithy_runtime_api::box_error::BoxError;
use aws_smithy_runtime_api::client::auth::AuthScheme;
use aws_smithy_runtime_api::client::connector_metadata::ConnectorMetadata;
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpClient, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::identity::IdentityCachePartition;
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::{RuntimeComponents, RuntimeComponentsBuilder};
use aws_smithy_types::config_bag::ConfigBag;
use aws_smithy_types::retry::ErrorKind;
use cloud_governor::{Attempt, Call, within};

use crate::body::{Deadline, Watch, watched};
use crate::cost::Cost;
use crate::hooks::{Hooks, Replaced};
use crate::interceptor::Steered;
use crate::named::{Root, root};
use crate::operation::{Next, Operation, Step};
use crate::read_ahead::{ReadEnd, read_ahead, read_frames};
use crate::registry::REGISTRY;
use crate::replay::{KEPT_BODY, KeptError};
use crate::report::{Came, Report};
use crate::sniff::Seen;
use crate::task_scope::CallOptions;

/// How long a request whose body is a stream waits here at a time. Clients protect themselves against stalled streams
/// with a grace of 5 s by default (aws-smithy-runtime, `defaults.rs`).
const LONGEST_UPLOAD_WAIT: Duration = Duration::from_secs(4);

/// How long a failed answer's body is waited for, so that its code is known. It comes with its head as a rule. What is
/// later, the SDK reads, which has its own protection against streams that stall; the head has to tell then.
const LONGEST_LOOK: Duration = Duration::from_secs(5);

/// How long any other signed request waits here at a time. Signatures are good for five minutes.
const LONGEST_SIGNED_WAIT: Duration = Duration::from_secs(60);

/// The HTTP client of a hooked configuration.
pub(crate) struct Observer {
    hooks: Arc<Hooks>,
    inner: SharedHttpClient,
}

impl Observer {
    pub(crate) fn new(hooks: Arc<Hooks>, inner: SharedHttpClient) -> Self {
        Observer { hooks, inner }
    }
}

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.hooks.fmt(f)
    }
}

impl HttpClient for Observer {
    fn http_connector(&self, settings: &HttpConnectorSettings, components: &RuntimeComponents) -> SharedHttpConnector {
        let inner = self.inner.http_connector(settings, components);
        let scheme = components.auth_scheme(SIGV4_SCHEME_ID);
        let resolver = scheme.and_then(|scheme| scheme.identity_resolver(components));
        let provider = resolver.map(|resolver| resolver.cache_partition());
        SharedHttpConnector::new(Connector { hooks: Arc::clone(&self.hooks), inner, provider })
    }

    fn validate_base_client_config(
        &self,
        components: &RuntimeComponentsBuilder,
        bag: &ConfigBag,
    ) -> Result<(), BoxError> {
        self.inner.validate_base_client_config(components, bag)
    }

    fn validate_final_config(&self, components: &RuntimeComponents, bag: &ConfigBag) -> Result<(), BoxError> {
        self.inner.validate_final_config(components, bag)
    }

    fn connector_metadata(&self) -> Option<ConnectorMetadata> {
        self.inner.connector_metadata()
    }
}

#[derive(Debug)]
struct Connector {
    hooks: Arc<Hooks>,
    inner: SharedHttpConnector,
    /// Whose credentials the operation has.
    provider: Option<IdentityCachePartition>,
}

impl HttpConnector for Connector {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let sender = Sender {
            hooks: Arc::clone(&self.hooks),
            inner: self.inner.clone(),
            provider: self.provider,
            seen: Seen::of(&request),
        };
        HttpConnectorFuture::new(sender.send(request))
    }
}

type Answered = Result<HttpResponse, ConnectorError>;

/// One request on its way.
struct Sender {
    hooks: Arc<Hooks>,
    inner: SharedHttpConnector,
    provider: Option<IdentityCachePartition>,
    seen: Seen,
}

impl Sender {
    async fn send(self, request: HttpRequest) -> Answered {
        let id = self.seen.invocation_id.as_deref();
        let parked = id.and_then(|id| REGISTRY.unpark(id));
        let gated = parked.is_none();
        if let Some(operation) = parked.or_else(|| id.and_then(|id| REGISTRY.find(id))) {
            match operation.step() {
                Step::Send(attempt) => return self.transmit(operation, attempt, request, gated).await,
                Step::Replay(answer) => {
                    if !gated {
                        REGISTRY.park(operation);
                    }
                    return answer.deliver();
                }
                Step::Unknown if !gated => return self.come_again(operation, request).await,
                Step::Unknown => {}
            }
        }
        match self.seen.service.clone() {
            Some(service) => self.begin(&service, request).await,
            // Instance metadata, container credentials: never governed.
            None => self.inner.call(request).await,
        }
    }

    // ===== requests that no gate has seen =====

    async fn begin(self, service: &str, request: HttpRequest) -> Answered {
        let scope = self.hooks.scope_of_request(service, &self.seen, self.provider);
        if self.seen.signed {
            self.hooks.warn(Replaced::IdentityCache, &scope);
        }
        let options = CallOptions::current();
        let skips = options.skips();
        let operation = Operation::new(
            self.seen.invocation_id.clone(),
            scope.clone(),
            self.hooks.governor(),
            self.hooks.given.observe_only,
        );
        // An id that is taken already leaves this one unknown: it is governed for one attempt at a time.
        REGISTRY.register(&operation);
        let call = options.apply(operation.governor().call(&scope), request.extension::<Cost>().copied());
        if skips || (self.hooks.given.observe_only && call.is_governed()) {
            operation.ready(None, None);
            return self.claim(operation, request).await;
        }
        self.admit(operation, call, request).await
    }

    async fn come_again(self, operation: Arc<Operation>, request: HttpRequest) -> Answered {
        let next = if self.hooks.given.observe_only { Next::Admit(operation.observe_next()) } else { operation.next() };
        match next {
            Next::Admit(call) => self.admit(operation, call, request).await,
            Next::Stop => self.claim(operation, request).await,
        }
    }

    async fn admit(self, operation: Arc<Operation>, mut call: Call, mut request: HttpRequest) -> Answered {
        let may_stall = self.seen.has_body && !read_in_memory(&mut request).await;
        let limit = match may_stall {
            // To send it back would be its end.
            _ if !self.comes_again(&request) => None,
            true => Some(LONGEST_UPLOAD_WAIT),
            false => Some(LONGEST_SIGNED_WAIT).filter(|_| self.seen.signed),
        };
        let clock = Arc::clone(operation.governor().clock());
        match within(&*clock, limit, call.admit()).await {
            Some(Ok(attempt)) => operation.ready(Some(call), Some(attempt)),
            Some(Err(refusal)) if call.attempts() == 0 => return Err(ConnectorError::other(Box::new(refusal), None)),
            Some(Err(_refusal)) => {
                operation.postponed(call);
                operation.stop();
            }
            None => {
                operation.postponed(call);
                REGISTRY.park(operation);
                return Err(ConnectorError::other(Box::new(StillWaiting), Some(ErrorKind::ThrottlingError)));
            }
        }
        self.claim(operation, request).await
    }

    async fn claim(self, operation: Arc<Operation>, request: HttpRequest) -> Answered {
        match operation.step() {
            Step::Send(attempt) => self.transmit(operation, attempt, request, false).await,
            Step::Replay(answer) => {
                REGISTRY.park(operation);
                answer.deliver()
            }
            Step::Unknown => self.inner.call(request).await,
        }
    }

    /// Whether the SDK can send the request once more. Attempts that are used up, or a body that cannot be sent twice, end
    /// its loop with whatever it is given now.
    fn comes_again(&self, request: &HttpRequest) -> bool {
        self.seen.attempt < self.seen.max_attempts && request.try_clone().is_some()
    }

    // ===== the send =====

    async fn transmit(
        self,
        operation: Arc<Operation>,
        attempt: Option<Arc<Attempt>>,
        request: HttpRequest,
        gated: bool,
    ) -> Answered {
        let clock = Arc::clone(operation.governor().clock());
        let own = attempt.as_ref().and_then(|attempt| attempt.timeout());
        drop(attempt);
        let limit = [own, self.hooks.given.attempt_timeout].into_iter().flatten().min();
        let until = limit.map(|limit| (limit, clock.now() + limit));
        let report = Report {
            gated,
            steered: request.extension::<Steered>().is_some(),
            comes_again: self.comes_again(&request),
            observe_only: self.hooks.given.observe_only,
            has_id: self.seen.invocation_id.is_some(),
            operation: Arc::clone(&operation),
        };
        let exchange = async {
            let mut response = self.inner.call(request).await?;
            if self.is_success(&response) {
                return Ok((response, None));
            }
            // The attempt's time ends the look, not the attempt: what the head says counts.
            let longest = clock.now() + LONGEST_LOOK;
            let patience = clock.sleep_until(until.map_or(longest, |(_, until)| until.min(longest)));
            let read = read_ahead(response.take_body(), KEPT_BODY, patience).await;
            Ok((response, Some(read)))
        };
        let (mut response, read) = match within(&*clock, limit, exchange).await {
            Some(Ok(answered)) => answered,
            Some(Err(error)) => return Err(report.no_answer(KeptError::new(error))),
            None => {
                let text = format!("no answer came within the attempt timeout of {:?}", limit.unwrap_or_default());
                return Err(report.no_answer(KeptError::timeout(text)));
            }
        };
        let deadline = until.map(|(limit, until)| Deadline::new(limit, clock.sleep_until(until), operation));
        let Some(read) = read else {
            report.operation.answered(gated, response.body().bytes().is_none());
            if !gated && self.seen.is_download {
                // No end of it will be heard of: the body is all that is to come.
                report.operation.is_the_callers();
            }
            if response.headers().get("content-type") == Some("application/vnd.amazon.eventstream") {
                // The stream keeps its operation alive for as long as it lasts.
                report.operation.succeeded();
            }
            let watch = Watch::new(report, &response, self.seen.may_fail_with_200);
            return Ok(watched(response, watch, deadline.filter(|_| gated)));
        };
        let came = match &read.end {
            ReadEnd::Whole => Came::Whole,
            ReadEnd::More(_) => Came::InPart,
            ReadEnd::Broken(error) => Came::CutShort(error.clone()),
        };
        match report.failed(response.status(), response.headers().clone(), read.start.clone(), came) {
            Some(held) => Err(held.into()),
            None => {
                *response.body_mut() = read.into_body(deadline);
                Ok(response)
            }
        }
    }

    /// Whether the answer is a success as far as it is here: S3's may have an error in the body.
    fn is_success(&self, response: &HttpResponse) -> bool {
        let is_error = || response.body().bytes().is_some_and(|body| root(body) == Root::Error);
        response.status().is_success() && !(self.seen.may_fail_with_200 && is_error())
    }
}

/// Reads a body that is in memory ahead of the wait: to the SDK's protection against stalled streams it is sent then, and
/// cannot stall. Says whether there was one.
async fn read_in_memory(request: &mut HttpRequest) -> bool {
    if request.body().bytes().is_none() {
        return false;
    }
    let read = read_frames(request.take_body(), usize::MAX, std::future::pending()).await;
    *request.body_mut() = read.into_body(None);
    true
}

// ===== errors that only the SDK's loop sees =====

/// A request that waits for admission at the HTTP client is sent back for a fresh signature.
#[derive(Debug)]
struct StillWaiting;

impl fmt::Display for StillWaiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("nothing was sent: the client-side governor has not admitted the request yet")
    }
}

impl std::error::Error for StillWaiting {}
