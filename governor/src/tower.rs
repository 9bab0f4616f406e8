//! A tower [`Layer`] that governs a service.
//!
//! Each request is one logical call, each use of the inner service one attempt. The slot is held until the inner
//! service's response future ends; a body that streams on afterwards is not part of the attempt.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tower_layer::Layer;
use tower_service::Service;

use crate::by_hand::{BySource, ClassifyError, Resilience, ScopeOf, timed_out};
use crate::call::{Outcome, Verdict};
use crate::classify::Classification;
use crate::drive::within;
use crate::error::Error;
use crate::governor::Governor;
use crate::scope::Scope;

/// Governs every request of the services it wraps.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// use cloud_governor::{Classification, Resilience, Scope, tower::GovernorLayer};
/// use tower_layer::Layer;
/// use tower_service::Service;
/// # #[derive(Clone)] struct Api;
/// # impl Service<String> for Api {
/// #     type Response = u16; type Error = std::io::Error; type Future = std::future::Ready<Result<u16, std::io::Error>>;
/// #     fn poll_ready(&mut self, _: &mut std::task::Context<'_>) -> std::task::Poll<Result<(), Self::Error>> { std::task::Poll::Ready(Ok(())) }
/// #     fn call(&mut self, _: String) -> Self::Future { std::future::ready(Ok(200)) }
/// # }
///
/// let layer = GovernorLayer::new(Scope::new("github", "octo-org", "", "rest"), Resilience::new())
///     .classify_response(|status: &u16| (*status == 429).then(Classification::throttled));
/// let mut api = layer.layer(Api);
/// assert_eq!(api.call("GET /repos".to_owned()).await.unwrap(), 200);
/// # });
/// ```
#[derive(Debug, Clone)]
pub struct GovernorLayer<S, C = BySource, R = AllSucceeded> {
    shared: Arc<Shared<S, C, R>>,
}

#[derive(Debug)]
struct Shared<S, C, R> {
    scope: S,
    resilience: Resilience<C>,
    responses: R,
}

impl<S, C> GovernorLayer<S, C> {
    /// Governs under `scope`, or the scope it makes from each request. Every response counts as a success and every
    /// error is classified as `resilience` says.
    pub fn new(scope: S, resilience: Resilience<C>) -> Self {
        GovernorLayer { shared: Arc::new(Shared { scope, resilience, responses: AllSucceeded }) }
    }

    /// Looks at responses too: what `classify` returns for one is what its failure means, `None` a success. For
    /// services whose errors arrive as responses, HTTP clients above all.
    #[must_use]
    pub fn classify_response<Res, F>(self, classify: F) -> GovernorLayer<S, C, ByResponse<F>>
    where
        S: Clone,
        C: Clone,
        F: Fn(&Res) -> Option<Classification>,
    {
        let Shared { scope, resilience, .. } = &*self.shared;
        let (scope, resilience) = (scope.clone(), resilience.clone());
        GovernorLayer { shared: Arc::new(Shared { scope, resilience, responses: ByResponse(classify) }) }
    }
}

impl<S, C, R, Inner> Layer<Inner> for GovernorLayer<S, C, R> {
    type Service = Governed<Inner, S, C, R>;

    fn layer(&self, inner: Inner) -> Self::Service {
        Governed { inner, shared: Arc::clone(&self.shared) }
    }
}

/// Says whether a response is a failure, and what it means.
pub trait ClassifyResponse<Res> {
    /// What the response's failure means; `None` if it is none.
    fn classify(&self, response: &Res) -> Option<Classification>;
}

/// Every response is a success.
#[derive(Debug, Clone, Copy, Default)]
pub struct AllSucceeded;

impl<Res> ClassifyResponse<Res> for AllSucceeded {
    fn classify(&self, _: &Res) -> Option<Classification> {
        None
    }
}

/// By a closure: see [`GovernorLayer::classify_response`].
#[derive(Clone, Copy)]
pub struct ByResponse<F>(F);

impl<Res, F: Fn(&Res) -> Option<Classification>> ClassifyResponse<Res> for ByResponse<F> {
    fn classify(&self, response: &Res) -> Option<Classification> {
        (self.0)(response)
    }
}

impl<F> std::fmt::Debug for ByResponse<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ByResponse")
    }
}

/// A governed service: see [`GovernorLayer`].
#[derive(Debug)]
pub struct Governed<Inner, S, C = BySource, R = AllSucceeded> {
    inner: Inner,
    shared: Arc<Shared<S, C, R>>,
}

impl<Inner: Clone, S, C, R> Clone for Governed<Inner, S, C, R> {
    fn clone(&self) -> Self {
        Governed { inner: self.inner.clone(), shared: Arc::clone(&self.shared) }
    }
}

impl<Req, Inner, S, C, R> Service<Req> for Governed<Inner, S, C, R>
where
    Req: Clone + Send + 'static,
    Inner: Service<Req> + Clone + Send + 'static,
    Inner::Future: Send,
    Inner::Response: Send,
    Inner::Error: Send,
    S: ScopeOf<Req> + Send + Sync + 'static,
    C: ClassifyError<Inner::Error> + Send + Sync + 'static,
    R: ClassifyResponse<Inner::Response> + Send + Sync + 'static,
{
    type Response = Inner::Response;
    type Error = Error<Inner::Error>;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    /// Always ready: the inner service is asked after admission, as its readiness would otherwise be held through
    /// every wait.
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Req) -> Self::Future {
        let (inner, shared) = (self.inner.clone(), Arc::clone(&self.shared));
        Box::pin(async move { shared.send(inner, request).await })
    }
}

impl<S, C, R> Shared<S, C, R> {
    async fn send<Req, Inner>(&self, mut inner: Inner, request: Req) -> Result<Inner::Response, Error<Inner::Error>>
    where
        Req: Clone,
        Inner: Service<Req>,
        S: ScopeOf<Req>,
        C: ClassifyError<Inner::Error>,
        R: ClassifyResponse<Inner::Response>,
    {
        let scope = self.scope.scope_of(&request);
        let mut last = None;
        let (governor, mut call) = self.resilience.begin(&scope);
        loop {
            let attempt = match call.admit().await {
                Ok(attempt) => attempt,
                Err(refusal) => return last.unwrap_or(Err(Error::Refused(refusal))),
            };
            let answer = send_once(&governor, &mut inner, request.clone(), attempt.timeout()).await;
            let outcome = match &answer {
                Some(answer) => self.outcome(&governor, &scope, answer),
                None => Some(Outcome::Failure(Classification::transient())),
            };
            let verdict = outcome.map_or(Verdict::Done, |outcome| attempt.finish(outcome));
            match (verdict, answer) {
                (Verdict::Retry { .. }, Some(answer)) => last = Some(answer.map_err(Error::Call)),
                (Verdict::Retry { .. }, None) => {}
                (_, Some(answer)) => return answer.map_err(Error::Call),
                (_, None) => return last.unwrap_or_else(|| Err(Error::Refused(timed_out(&attempt)))),
            }
        }
    }

    /// `None` if the answer says nothing of the service.
    fn outcome<Res, E>(&self, governor: &Governor, scope: &Scope, answer: &Result<Res, E>) -> Option<Outcome>
    where
        C: ClassifyError<E>,
        R: ClassifyResponse<Res>,
    {
        match answer {
            Ok(response) => Some(self.responses.classify(response).map_or(Outcome::Success, Outcome::Failure)),
            Err(error) => self.resilience.classify(governor, scope, error).map(Outcome::Failure),
        }
    }
}

/// One use of the inner service, its readiness included; `None` if the timeout passes first.
async fn send_once<Req, Inner: Service<Req>>(
    governor: &Governor,
    inner: &mut Inner,
    request: Req,
    timeout: Option<std::time::Duration>,
) -> Option<Result<Inner::Response, Inner::Error>> {
    let attempt = async {
        poll_fn(|cx| inner.poll_ready(cx)).await?;
        inner.call(request).await
    };
    within(&**governor.clock(), timeout, attempt).await
}
