//! The governed channel.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::request::Parts;
use http::{Request, Response};
use http_body::Body;
use tower_service::Service;

use super::body::{GovernedBody, Watch};
use super::outcome::Judge;
use super::replay::{Outgoing, ReplayBody};
use super::{BoxError, GrpcTarget, Shared, deadline, outcome};
use crate::by_hand::timed_out;
use crate::call::{Attempt, Call, Outcome, Verdict};
use crate::classify::Classification;
use crate::clock::Timestamp;
use crate::drive::within;
use crate::options::CallOptions;

/// How long after a call's deadline an attempt is cut off. The channel's own timer and the server's answer come first: their
/// error is the one that callers know.
const GRACE: Duration = Duration::from_millis(100);

/// A channel whose RPCs are governed: see [`GrpcLayer`](super::GrpcLayer).
#[derive(Debug)]
pub struct GovernedChannel<Inner, T> {
    inner: Inner,
    shared: Arc<Shared<T>>,
}

impl<Inner, T> GovernedChannel<Inner, T> {
    pub(super) fn new(inner: Inner, shared: Arc<Shared<T>>) -> Self {
        GovernedChannel { inner, shared }
    }
}

impl<Inner: Clone, T> Clone for GovernedChannel<Inner, T> {
    fn clone(&self) -> Self {
        GovernedChannel { inner: self.inner.clone(), shared: Arc::clone(&self.shared) }
    }
}

type Answer<R> = Result<Response<GovernedBody<R>>, BoxError>;

impl<Inner, T, B, R> Service<Request<B>> for GovernedChannel<Inner, T>
where
    Inner: Service<Request<B>, Response = Response<R>> + Clone + Send + 'static,
    Inner::Future: Send,
    Inner::Error: Into<BoxError>,
    T: GrpcTarget,
    B: ReplayBody,
    B::Error: Send,
    R: Body + Send + 'static,
    R::Data: Send,
    R::Error: Into<BoxError>,
{
    type Response = Response<GovernedBody<R>>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Answer<R>> + Send>>;

    /// Always ready: the inner channel is asked after admission, as its readiness would otherwise be held through every wait.
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let (mut inner, shared) = (self.inner.clone(), Arc::clone(&self.shared));
        let (mut head, body) = request.into_parts();
        let options = head.extensions.get::<CallOptions>().cloned().unwrap_or_default();
        let is_governed = head.extensions.insert(AlreadyGoverned).is_some();
        if is_governed || options.is_skipped() {
            return Box::pin(async move { send(&mut inner, Request::from_parts(head, body), || ()).await });
        }
        Box::pin(async move {
            let body = Outgoing::take_in(body, shared.kept).await;
            shared.rpc(head, body, options).run(&mut inner).await
        })
    }
}

/// In a request's extensions: a governed channel around this one has it.
#[derive(Debug, Clone, Copy)]
struct AlreadyGoverned;

/// One use of the inner channel, its readiness included. `sent` hears that the request is on its way.
async fn send<Inner, B, R>(inner: &mut Inner, request: Request<B>, sent: impl FnOnce()) -> Answer<R>
where
    Inner: Service<Request<B>, Response = Response<R>>,
    Inner::Error: Into<BoxError>,
    R: Body,
    R::Error: Into<BoxError>,
{
    poll_fn(|cx| inner.poll_ready(cx)).await.map_err(Into::into)?;
    let answer = inner.call(request);
    sent();
    answer.await.map(|answer| answer.map(GovernedBody::new)).map_err(Into::into)
}

// ===== one RPC =====

/// One RPC on its way.
struct Rpc<B> {
    head: Parts,
    body: Outgoing<B>,
    call: Call,
    judge: Judge,
    options: CallOptions,
    is_unary: bool,
    /// By its `grpc-timeout`.
    deadline: Option<Timestamp>,
    kept: usize,
}

impl<T: GrpcTarget> Shared<T> {
    fn rpc<B: ReplayBody>(&self, head: Parts, body: Outgoing<B>, options: CallOptions) -> Rpc<B> {
        let scope = options.own_scope().cloned().unwrap_or_else(|| self.target.scope(&head));
        let (governor, call) = self.resilience.begin_knowing(&scope, self.target.idempotent(&head));
        let mut call = options.apply(call);
        let within = deadline::read(&head.headers);
        if let Some(within) = within {
            call.limit_deadline(within);
        }
        if !body.is_whole() {
            call.stop_retrying();
        }
        Rpc {
            deadline: within.map(|within| governor.clock().now() + within),
            is_unary: self.target.is_unary(&head),
            judge: Judge { governor, scope, target: Arc::clone(&self.target) as Arc<dyn GrpcTarget> },
            kept: self.kept,
            head,
            body,
            call,
            options,
        }
    }
}

impl<B: ReplayBody> Rpc<B> {
    async fn run<Inner, R>(mut self, inner: &mut Inner) -> Answer<R>
    where
        Inner: Service<Request<B>, Response = Response<R>> + Clone,
        Inner::Error: Into<BoxError>,
        R: Body,
        R::Error: Into<BoxError>,
    {
        let mut last: Option<Answer<R>> = None;
        loop {
            let attempt = match self.call.admit().await {
                Ok(attempt) => attempt,
                Err(refusal) => {
                    self.options.note_refused(&refusal);
                    return last.unwrap_or_else(|| Err(refusal.into()));
                }
            };
            self.options.note_admitted(&self.judge.scope);
            // One of its own: what an attempt is cut off from in the channel's line must not keep its place there meanwhile.
            let answer = match self.send_once(&mut inner.clone(), &attempt).await {
                Some(Ok(answer)) if !self.is_unary && !outcome::is_told_by_head(&answer) => {
                    return Ok(self.watched(answer, attempt));
                }
                answer => answer,
            };
            // What says nothing of the service leaves the attempt unsettled, and it goes back as if cancelled.
            let verdict =
                self.outcome(answer.as_ref(), &attempt).map_or(Verdict::Done, |outcome| attempt.finish(outcome));
            self.options.note_verdict(verdict);
            match (verdict, answer) {
                (Verdict::Retry { .. }, Some(answer)) => {
                    last = Some(answer.map(|answer| answer.map(GovernedBody::without_rest)))
                }
                (Verdict::Retry { .. }, None) => {}
                (_, Some(answer)) => return answer,
                (_, None) => return last.unwrap_or_else(|| Err(timed_out(&attempt).into())),
            }
        }
    }

    /// `None` if there is no answer in time.
    async fn send_once<Inner, R>(&mut self, inner: &mut Inner, attempt: &Attempt) -> Option<Answer<R>>
    where
        Inner: Service<Request<B>, Response = Response<R>>,
        Inner::Error: Into<BoxError>,
        R: Body,
        R::Error: Into<BoxError>,
    {
        let mut request = Request::from_parts(self.head.clone(), self.body.next()?);
        let clock = self.judge.governor.clock();
        let left = self.deadline.map(|deadline| deadline.until(clock.now()));
        if let (Some(left), Some(sent)) =
            (left.and_then(deadline::write), request.headers_mut().get_mut(deadline::HEADER))
        {
            // In its place: a map that is full takes no insertion.
            *sent = left;
        }
        // What is sent as long as it is answered may be answered late.
        let is_live = !self.is_unary && !self.body.is_whole();
        let timeout = if is_live { None } else { attempt.timeout() };
        let limit = [timeout, left.map(|left| left + GRACE)].into_iter().flatten().min();
        let sent = || {
            if is_live {
                attempt.release_slot()
            }
        };
        let (is_unary, kept) = (self.is_unary, self.kept);
        let answering = async {
            let mut answer = send(inner, request, sent).await?;
            if is_unary && !outcome::is_told_by_head(&answer) {
                answer.body_mut().take_in(kept).await;
            }
            Ok(answer)
        };
        within(&**clock, limit, answering).await
    }

    /// What an answer means that is there as a whole; `None` if it says nothing of the service.
    fn outcome<R>(&self, answer: Option<&Answer<R>>, attempt: &Attempt) -> Option<Outcome>
    where
        R: Body,
        R::Error: Into<BoxError>,
    {
        match answer {
            None => Some(Outcome::Failure(Classification::transient())),
            Some(Err(error)) => self.judge.error(&**error),
            Some(Ok(answer)) => {
                self.judge.head(answer, attempt).or_else(|| self.judge.body(answer.body().seen(), attempt))
            }
        }
    }

    /// A stream may be open for hours, and what holds a slot, or a circuit's probe, would keep all other calls waiting.
    fn watched<R>(self, answer: Response<GovernedBody<R>>, attempt: Attempt) -> Response<GovernedBody<R>>
    where
        R: Body,
        R::Error: Into<BoxError>,
    {
        self.call.stop_retrying();
        let Rpc { judge, options, .. } = self;
        attempt.release_slot();
        if attempt.is_probe() {
            options.note_verdict(attempt.finish(Outcome::Success));
            return answer;
        }
        answer.map(|body| body.watched(Watch { judge, attempt, options }))
    }
}
