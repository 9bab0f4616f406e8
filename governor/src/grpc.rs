//! A tower [`Layer`] that governs gRPC clients: generated ones on tonic 0.14 and 0.12, over any channel.
//!
//! Each RPC is one logical call, each use of the inner channel one attempt:
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
//! use cloud_governor::{Resilience, Scope, grpc::GrpcLayer};
//! use tower_layer::Layer;
//! # use tower_service::Service;
//! # #[derive(Clone)] struct Channel;
//! # impl Service<http::Request<tonic::body::Body>> for Channel {
//! #     type Response = http::Response<tonic::body::Body>; type Error = std::io::Error;
//! #     type Future = std::future::Ready<Result<Self::Response, std::io::Error>>;
//! #     fn poll_ready(&mut self, _: &mut std::task::Context<'_>) -> std::task::Poll<Result<(), Self::Error>> { std::task::Poll::Ready(Ok(())) }
//! #     fn call(&mut self, _: http::Request<tonic::body::Body>) -> Self::Future {
//! #         std::future::ready(Ok(tonic::Status::not_found("no such topic").into_http()))
//! #     }
//! # }
//! # let channel = Channel; // Endpoint::from_static("https://pubsub.googleapis.com").connect().await?
//!
//! // `channel` is tonic's, or a stack of layers over it.
//! let by_method = |request: &http::request::Parts| {
//!     let method = request.uri.path().rsplit('/').next().unwrap_or_default();
//!     Scope::new("gcp", "projects/my-project", "", "pubsub").with_operation(method)
//! };
//! let governed = GrpcLayer::new(by_method, Resilience::new()).layer(channel);
//! // let publisher = PublisherClient::new(governed);
//! # let mut publisher = governed;
//! # let request = http::Request::post("/google.pubsub.v1.Publisher/GetTopic").body(tonic::body::Body::empty()).unwrap();
//! # assert_eq!(publisher.call(request).await.unwrap().headers()["grpc-status"], "5");
//! # });
//! ```
//!
//! One request may be governed otherwise: put [`CallOptions`](crate::CallOptions) into its extensions
//! (`tonic::Request::extensions_mut`).
//!
//! # What is sent again
//!
//! A request whose body is there as a whole when the RPC begins, which a generated client's unary and server-streaming
//! requests are, and no longer than what is [kept](GrpcLayer::keep). What the request is a stream of messages for goes out as
//! it comes, once.
//!
//! | the answer fails | unary RPC ([`is_unary`](GrpcTarget::is_unary)) | any other |
//! |---|---|---|
//! | in place of headers: no connection, a reset, a timeout | sent again | sent again |
//! | in its headers, as most servers' errors do, or by an HTTP status | sent again | sent again |
//! | behind its headers, before the first message | sent again | counted, and passed on |
//! | behind the first message | sent again | passed on |
//!
//! Sent again means: as the rules of [`classify`](crate::classify) and the policy say, and whether the RPC may be executed
//! twice by the request's options, else by [`Resilience::idempotent`], else by [`GrpcTarget::idempotent`]. What the server
//! says that it has not looked at (REFUSED_STREAM, a GOAWAY that does not cover the stream) is safe in any case. A
//! server's `grpc-retry-pushback-ms` is heeded. When retrying stops the caller gets the last answer, or the channel's last
//! error, as it came; of an answer that was to be superseded, an HTTP error's page may be missing.
//!
//! # Streams
//!
//! They are paced like all RPCs, and open for hours, so that they hold no slot once the headers are there, and settle a
//! half-open circuit's probe with them. A request that is itself a stream, or longer than what is kept, and not known to
//! have one message for an answer, holds none from when it is on its way, and its attempt timeout does not apply: its headers may come with the
//! first message. The first message makes the attempt a success; dropped before it, it is cancelled and says nothing.
//!
//! What ends a stream that was delivering is not counted, neither for the circuit, as servers end long streams with
//! UNAVAILABLE as a matter of course, nor as a throttle: the limit that was met then is one on what is delivered, and
//! opening streams at a lower rate would not help. If opening is what is limited, the next one hears of it at its head.
//!
//! Who drops the answer of a bidirectional call ends the request's stream too: as long as that goes on, tonic keeps the call
//! open on the wire, with or without this layer.
//!
//! # Deadlines
//!
//! A `grpc-timeout` (`tonic::Request::set_timeout`) bounds the whole RPC, waits and retries included, and each send carries what
//! is left of it. Up to the headers tonic's channel fails then with its own error; a body that is late, and other channels,
//! are cut off a moment later, with the last attempt's error or a refusal. The policy's
//! deadline bounds waiting and retrying, its attempt timeout each attempt: up to the headers, and of a unary RPC up to
//! the end.
//!
//! # Refusals
//!
//! A [`Refusal`](crate::Refusal) is the error that the channel fails with. tonic makes a `Status` of it with the code UNKNOWN, as
//! it is no service's word, with the refusal's text for its message and the refusal in its source chain, where
//! [`Refusal::find`](crate::Refusal::find) finds it.
//!
//! # Where other layers go
//!
//! *Inside*, nearer to the channel: what is to be done for each attempt, above all authentication, so that a token that
//! expires while a call waits is a fresh one. A filter that fails says nothing of the service: its error is passed on,
//! and counts for no circuit. Its own calls may be governed too, and its wait is part of the attempt. *Outside*: what is done
//! once for each call. An outer layer that retries multiplies what this one does, as does a client's own retry
//! setting: switch it off. A channel that is wrapped twice is governed once, by the outer layer.

mod body;
mod channel;
mod deadline;
mod outcome;
mod replay;

use std::sync::Arc;

use http::request::Parts;
use tower_layer::Layer;

use crate::by_hand::Resilience;
use crate::call::ToldLimit;
use crate::classify::Facts;
use crate::scope::Scope;

pub use body::GovernedBody;
pub use channel::GovernedChannel;
pub use replay::{ReplayBody, Resumed};

/// What a governed channel fails with: the inner channel's own error, or a [`Refusal`](crate::Refusal).
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// What is kept of a request or an answer, unless set: the size to which gRPC libraries limit a message by default.
const KEPT: usize = 4 * 1024 * 1024;

/// What a frame counts for at least: it takes memory however little is in it.
const FRAME: usize = 128;

/// Says what the RPCs of a channel are charged to, and what is known of them.
///
/// A [`Scope`] charges all to one; a closure makes a scope of each. Neither knows which RPCs are unary or idempotent.
pub trait GrpcTarget: Send + Sync + 'static {
    /// The scope of a request. Its path is `/package.Service/Method`.
    fn scope(&self, request: &Parts) -> Scope;

    /// Whether the RPC may be executed twice; `None` if that is not known.
    fn idempotent(&self, _request: &Parts) -> Option<bool> {
        None
    }

    /// Whether the RPC is known to answer with one message. Such an answer is held back until it is there as a whole, so that
    /// an error behind the headers can be retried too.
    fn is_unary(&self, _request: &Parts) -> bool {
        false
    }

    /// What a failure's status means, where it tells this service's more than any other's, and the exceeded limit, if it
    /// names one: see [`Attempt::limit_told`](crate::Attempt::limit_told). `facts` are what every service's status tells: its
    /// code, message, metadata and details.
    fn told<'a>(&self, _scope: &Scope, facts: Facts<'a>, _status: &'a tonic::Status) -> (Facts<'a>, Option<ToldLimit>) {
        (facts, None)
    }
}

impl GrpcTarget for Scope {
    fn scope(&self, _: &Parts) -> Scope {
        self.clone()
    }
}

impl<F: Fn(&Parts) -> Scope + Send + Sync + 'static> GrpcTarget for F {
    fn scope(&self, request: &Parts) -> Scope {
        self(request)
    }
}

/// Governs every RPC of the channels it wraps.
#[derive(Debug)]
pub struct GrpcLayer<T> {
    shared: Arc<Shared<T>>,
}

/// What a layer and the channels that it wraps go by.
#[derive(Debug)]
struct Shared<T> {
    target: Arc<T>,
    resilience: Resilience,
    kept: usize,
}

impl<T: GrpcTarget> GrpcLayer<T> {
    /// Charges RPCs to what `target` says.
    pub fn new(target: T, resilience: Resilience) -> Self {
        GrpcLayer { shared: Arc::new(Shared { target: Arc::new(target), resilience, kept: KEPT }) }
    }

    /// How many bytes are kept of a request, so that it can be sent again, and of a unary answer, until its status is known;
    /// 4 MiB unless said. What is longer is passed on as it comes: such a request is not sent again, and such an answer
    /// counts as a success. Whatever comes in pieces of less than 128 bytes counts as if they had as many.
    #[must_use]
    pub fn keep(self, bytes: usize) -> Self {
        let Shared { target, resilience, .. } = &*self.shared;
        let (target, resilience) = (Arc::clone(target), resilience.clone());
        GrpcLayer { shared: Arc::new(Shared { target, resilience, kept: bytes }) }
    }
}

impl<T> Clone for GrpcLayer<T> {
    fn clone(&self) -> Self {
        GrpcLayer { shared: Arc::clone(&self.shared) }
    }
}

impl<T, Inner> Layer<Inner> for GrpcLayer<T> {
    type Service = GovernedChannel<Inner, T>;

    fn layer(&self, inner: Inner) -> Self::Service {
        GovernedChannel::new(inner, Arc::clone(&self.shared))
    }
}
