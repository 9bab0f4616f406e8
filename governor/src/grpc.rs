//! A tower [`Layer`] that governs gRPC clients: generated ones on tonic 0.14 and 0.12, over any channel.

mod body;
mod channel;
mod deadline;
mod outcome;
mod replay;

use std::sync::Arc;
use std::time::Duration;

use http::request::Parts;
use tower_layer::Layer;

use crate::by_hand::Resilience;
use crate::classify::Facts;
use crate::scope::Scope;

pub use body::GovernedBody;
pub use channel::GovernedChannel;
pub use replay::{ReplayBody, Resumed};

/// What a governed channel fails with: the inner channel's own error, or a [`Refusal`](crate::Refusal).
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// What is kept of a request or an answer, unless set: the size to which gRPC libraries limit a message by default.
const KEPT: usize = 4 * 1024 * 1024;

/// Says what the RPCs of a channel are charged to, and what is known of them.
///
/// A [`Scope`] charges all to one; a closure makes a scope of each.
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

    /// What a failure's status means, where it tells this service's more than any other's. `facts` are what every service's
    /// status tells ([`Facts::from_error`]).
    fn facts<'a>(&self, facts: Facts<'a>, _status: &'a tonic::Status) -> Facts<'a> {
        facts
    }

    /// Hears a failure's status; how many calls the exceeded limit allows in which time, if the status says so:
    /// see [`Attempt::limit_told`](crate::Attempt::limit_told).
    fn told(&self, _scope: &Scope, _status: &tonic::Status) -> Option<(u64, Duration)> {
        None
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

    /// How many bytes are kept of a request, so that it can be sent again, and of a unary answer, until it is known to be
    /// none to be retried; 4 MiB unless said. What is longer is passed on as it comes, and not retried.
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
