//! One request that was recognised.

use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::{Request, Response};
use tonic::Status;
use tonic::body::Body;
use tonic::server::Grpc;
use tonic_prost::ProstCodec;
use tonic_prost::prost::Message;
use tower::service_fn;

use super::refusal::failed;
use super::site::Site;
use super::{Project, Pubsub, Rpc};
use crate::sim::truth::Seat;
use crate::sim::{Fate, Leaf, Outcome};

pub(super) struct Visit {
    pub(super) site: Arc<Site>,
    pub(super) seat: Seat,
    pub(super) rpc: Rpc,
    pub(super) project: Project,
    pub(super) leaf: Leaf,
    pub(super) fate: Fate,
}

impl Visit {
    /// Answers one message with one.
    pub(super) async fn unary<Q, A>(
        self: Arc<Self>,
        request: Request<Incoming>,
        cost: fn(&Q) -> u32,
        answer: fn(&Pubsub, Q, Duration) -> Result<A, Status>,
    ) -> Response<Body>
    where
        Q: Message + Default + Send + 'static,
        A: Message + Default + Send + 'static,
    {
        let service = service_fn(|request: tonic::Request<Q>| {
            let (visit, request) = (Arc::clone(&self), request.into_inner());
            async move {
                let cost = cost(&request);
                visit.serve(cost, |pubsub, now| answer(pubsub, request, now)).await.map(tonic::Response::new)
            }
        });
        Grpc::new(ProstCodec::<A, Q>::default()).unary(service, request).await
    }

    /// Charges the call, and answers it if nothing is in the way. The outcome is settled and counted before any delay, so that
    /// a client which hangs up is counted, too.
    pub(super) async fn serve<A>(
        &self,
        cost: u32,
        answer: impl FnOnce(&Pubsub, Duration) -> Result<A, Status>,
    ) -> Result<A, Status> {
        let Visit { site, rpc, project, fate, .. } = self;
        let now = site.frame.elapsed();
        let (outcome, answer) = match (site.charge(*rpc, project, cost, now), fate.failure) {
            (Err(refused), _) => (Outcome::Throttled, Err(refused)),
            (Ok(()), Some(status)) => (Outcome::Faulted, Err(failed(status))),
            (Ok(()), None) => match answer(&site.pubsub, now) {
                Ok(answer) => (if fate.cut { Outcome::Faulted } else { Outcome::Answered }, Ok(answer)),
                Err(status) => (Outcome::Refused, Err(status)),
            },
        };
        self.seat.record(Some(&self.leaf), outcome);
        if !fate.delay.is_zero() {
            tokio::time::sleep(fate.delay).await;
        }
        answer
    }
}
