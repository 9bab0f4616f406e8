//! A channel that is played, and what the tests send through it.

use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use bytes::Bytes;
use cloud_governor::grpc::{BoxError, GovernedBody, GovernedChannel, GrpcLayer, GrpcTarget, ReplayBody};
use cloud_governor::{Governor, Resilience, RetryPolicy, Scope};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response};
use http_body::{Body, Frame};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use tower_layer::Layer;
use tower_service::Service;

pub(crate) const PATH: &str = "/google.pubsub.v1.Publisher/GetTopic";

/// The request body of tonic 0.14, and of tonic 0.12 with another error.
pub(crate) type Body14 = tonic::body::Body;
pub(crate) type Body12 = UnsyncBoxBody<Bytes, io::Error>;

pub(crate) type Answered = Result<Response<GovernedBody<Played>>, BoxError>;

// ===== answers =====

#[derive(Debug, Clone)]
pub(crate) enum Piece {
    Data(&'static str),
    Trailers(HeaderMap),
    Breaks(io::ErrorKind),
    /// Nothing more ever comes.
    Hangs,
}

/// How the channel answers a request.
#[derive(Clone)]
pub(crate) enum Plan {
    Answer(u16, HeaderMap, Vec<Piece>),
    Error(Arc<dyn Fn() -> BoxError + Send + Sync>),
    Never,
}

pub(crate) fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
    let pair =
        |(name, value): &(&'static str, &str)| (HeaderName::from_static(name), HeaderValue::from_str(value).unwrap());
    pairs.iter().map(pair).collect()
}

fn status(code: u8) -> HeaderMap {
    headers(&[("grpc-status", &code.to_string())])
}

/// An answer that is all head.
pub(crate) fn in_headers(code: u8) -> Plan {
    Plan::Answer(200, status(code), Vec::new())
}

/// A message, then the status.
pub(crate) fn message(code: u8) -> Plan {
    pieces(vec![Piece::Data("mess"), Piece::Data("age"), Piece::Trailers(status(code))])
}

/// A head that says nothing, then the status.
pub(crate) fn in_trailers(code: u8) -> Plan {
    pieces(vec![Piece::Trailers(status(code))])
}

pub(crate) fn pieces(pieces: Vec<Piece>) -> Plan {
    Plan::Answer(200, HeaderMap::new(), pieces)
}

pub(crate) fn trailers(code: u8) -> Piece {
    Piece::Trailers(status(code))
}

pub(crate) fn error<E: Into<BoxError>>(error: impl Fn() -> E + Send + Sync + 'static) -> Plan {
    Plan::Error(Arc::new(move || error().into()))
}

/// A body that is played.
#[derive(Debug)]
pub(crate) struct Played(VecDeque<Piece>);

impl Body for Played {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        Poll::Ready(Some(match self.0.pop_front() {
            Some(Piece::Data(text)) => Ok(Frame::data(Bytes::from_static(text.as_bytes()))),
            Some(Piece::Trailers(trailers)) => Ok(Frame::trailers(trailers)),
            Some(Piece::Breaks(kind)) => Err(kind.into()),
            Some(Piece::Hangs) => {
                self.0.push_front(Piece::Hangs);
                return Poll::Pending;
            }
            None => return Poll::Ready(None),
        }))
    }
}

// ===== the channel =====

/// What came over the wire.
#[derive(Debug, Clone)]
pub(crate) struct Sent {
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// Answers as planned, the last plan for ever. It reads the request as far as it comes.
#[derive(Clone)]
pub(crate) struct Channel {
    plans: Arc<Vec<Plan>>,
    sent: Arc<Mutex<Vec<Sent>>>,
    /// Never ready.
    pub(crate) is_stuck: bool,
    was_asked: bool,
}

impl Channel {
    pub(crate) fn new(plans: impl IntoIterator<Item = Plan>) -> Self {
        let plans = Arc::new(plans.into_iter().collect());
        Channel { plans, sent: Arc::default(), is_stuck: false, was_asked: false }
    }

    pub(crate) fn sent(&self) -> Vec<Sent> {
        self.sent.lock().unwrap().clone()
    }

    pub(crate) fn times(&self) -> usize {
        self.sent().len()
    }
}

impl<B> Service<Request<B>> for Channel
where
    B: Body<Data = Bytes> + Send + Unpin + 'static,
    B::Error: std::fmt::Debug,
{
    type Response = Response<Played>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Played>, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.was_asked = true;
        if self.is_stuck { Poll::Pending } else { Poll::Ready(Ok(())) }
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        assert!(std::mem::take(&mut self.was_asked), "called before it was ready");
        let (head, mut body) = request.into_parts();
        let mut cx = Context::from_waker(std::task::Waker::noop());
        let mut read = Vec::new();
        while let Poll::Ready(Some(Ok(frame))) = Pin::new(&mut body).poll_frame(&mut cx) {
            read.extend(frame.into_data().into_iter().flatten());
        }
        let mut sent = self.sent.lock().unwrap();
        let plan = self.plans[sent.len().min(self.plans.len() - 1)].clone();
        sent.push(Sent { headers: head.headers, body: read.into() });
        Box::pin(async move {
            match plan {
                Plan::Answer(status, headers, pieces) => {
                    let mut answer = Response::builder().status(status).body(Played(pieces.into())).unwrap();
                    *answer.headers_mut() = headers;
                    Ok(answer)
                }
                Plan::Error(error) => Err(error()),
                Plan::Never => {
                    // The request's body goes with the future, as on a real channel.
                    let _body = body;
                    std::future::pending().await
                }
            }
        })
    }
}

// ===== the governed channel =====

/// One scope for all; everything else as the test says.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub(crate) is_unary: bool,
    pub(crate) idempotent: Option<bool>,
}

pub(crate) fn scope() -> Scope {
    Scope::new("gcp", "projects/p", "", "pubsub").with_operation("GetTopic")
}

impl GrpcTarget for Target {
    fn scope(&self, request: &Parts) -> Scope {
        assert_eq!(request.uri.path(), PATH);
        scope()
    }

    fn idempotent(&self, _: &Parts) -> Option<bool> {
        self.idempotent
    }

    fn is_unary(&self, _: &Parts) -> bool {
        self.is_unary
    }

    /// Every throttle's status names a limit of 5 a second.
    fn told<'a>(
        &self,
        _: &Scope,
        facts: cloud_governor::Facts<'a>,
        status: &'a tonic::Status,
    ) -> (cloud_governor::Facts<'a>, Option<cloud_governor::ToldLimit>) {
        let is_throttle = status.code() == tonic::Code::ResourceExhausted;
        (facts, is_throttle.then(|| cloud_governor::ToldLimit::new(5, std::time::Duration::from_secs(1))))
    }
}

pub(crate) const UNARY: Target = Target { is_unary: true, idempotent: Some(true) };
pub(crate) const STREAM: Target = Target { is_unary: false, idempotent: Some(true) };

pub(crate) fn governed(
    governor: &Governor,
    target: Target,
    policy: RetryPolicy,
    channel: &Channel,
) -> GovernedChannel<Channel, Target> {
    GrpcLayer::new(target, Resilience::new().governor(governor).policy(policy)).layer(channel.clone())
}

pub(crate) fn retries(most: u32) -> RetryPolicy {
    RetryPolicy::builder().max_retries(most).build().unwrap()
}

/// A request of one message, as a generated client's unary call makes it.
pub(crate) fn request() -> Request<Body14> {
    with_body(Body14::new(Full::from("request")))
}

pub(crate) fn with_body<B: ReplayBody>(body: B) -> Request<B> {
    Request::post(PATH).body(body).unwrap()
}

/// Sends a request of one message.
pub(crate) async fn send(governor: &Governor, target: Target, policy: RetryPolicy, channel: &Channel) -> Answered {
    governed(governor, target, policy, channel).call(request()).await
}

/// What a client reads: the message and the status, or the error as tonic's client would give it.
pub(crate) async fn read(answered: Answered) -> (String, tonic::Status) {
    let answer = match answered {
        Ok(answer) => answer,
        Err(error) => return (String::new(), tonic::Status::from_error(error)),
    };
    if let Some(status) = tonic::Status::from_header_map(answer.headers()) {
        return (String::new(), status);
    }
    let mut text = Vec::new();
    let mut body = answer.into_body();
    while let Some(frame) = body.frame().await {
        match frame.map(Frame::into_data) {
            Ok(Ok(data)) => text.extend(data),
            Ok(Err(frame)) => {
                let status = tonic::Status::from_header_map(frame.trailers_ref().unwrap()).unwrap();
                return (String::from_utf8(text).unwrap(), status);
            }
            Err(error) => return (String::from_utf8(text).unwrap(), tonic::Status::from_error(error)),
        }
    }
    (String::from_utf8(text).unwrap(), tonic::Status::unknown("no status"))
}

pub(crate) async fn code(answered: Answered) -> u8 {
    i32::from(read(answered).await.1.code()).try_into().unwrap()
}
