//! StreamingPull: messages as they come, for as long as the stream lives.

use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{self, Stream};
use gcloud_googleapis::pubsub::v1::{StreamingPullRequest, StreamingPullResponse};
use hyper::body::Incoming;
use hyper::{Request, Response};
use tonic::body::Body;
use tonic::server::Grpc;
use tonic::{Status, Streaming};
use tonic_prost::ProstCodec;
use tower::service_fn;

use super::site::Site;
use super::store::Want;
use super::visit::Visit;

/// How long a stream lives. Google does not say how long one may last; callers see them closed after half an hour.
const LIFE: Duration = Duration::from_secs(30 * 60);

/// The least time to acknowledge in that a stream may ask for, in seconds.
const SHORTEST_DEADLINE: i32 = 10;

pub(super) async fn pull(visit: Arc<Visit>, request: Request<Incoming>) -> Response<Body> {
    let service = service_fn(|request: tonic::Request<Streaming<StreamingPullRequest>>| {
        let visit = Arc::clone(&visit);
        async move { Opened::of(&visit, request.into_inner()).await.map(|opened| tonic::Response::new(opened.stream())) }
    });
    Grpc::new(ProstCodec::<StreamingPullResponse, StreamingPullRequest>::default()).streaming(service, request).await
}

/// A stream that was let in.
struct Opened {
    site: Arc<Site>,
    inbound: Streaming<StreamingPullRequest>,
    subscription: String,
    want: Want,
    until: Duration,
}

impl Opened {
    async fn of(visit: &Visit, mut inbound: Streaming<StreamingPullRequest>) -> Result<Self, Status> {
        let first = inbound.message().await?;
        let first = first.ok_or_else(|| Status::invalid_argument("The first request is missing."))?;
        let want = visit
            .serve(0, |pubsub, _| {
                pubsub.store.topic_of(&first.subscription)?;
                let deadline = pubsub.deadline(first.stream_ack_deadline_seconds, SHORTEST_DEADLINE)?;
                let most = usize::try_from(first.max_outstanding_messages).ok().filter(|most| *most > 0);
                Ok(Want {
                    most: most.unwrap_or(usize::MAX),
                    deadline: Some(deadline),
                    stream: Some(visit.seat.number()),
                })
            })
            .await?;
        let site = Arc::clone(&visit.site);
        let until = site.frame.elapsed().saturating_add(LIFE / site.pubsub.hurry);
        let opened = Opened { site, inbound, subscription: first.subscription.clone(), want, until };
        opened.take(&first)?;
        Ok(opened)
    }

    /// What the client says after the stream was opened: messages that are done, and deadlines that move.
    fn take(&self, request: &StreamingPullRequest) -> Result<(), Status> {
        let (pubsub, now) = (&self.site.pubsub, self.site.frame.elapsed());
        if !request.ack_ids.is_empty() {
            pubsub.store.acknowledge(&self.subscription, &request.ack_ids, now)?;
        }
        for (id, seconds) in request.modify_deadline_ack_ids.iter().zip(&request.modify_deadline_seconds) {
            let until = now.saturating_add(pubsub.deadline(*seconds, 0)?);
            pubsub.store.put_off(&self.subscription, std::slice::from_ref(id), until, now)?;
        }
        Ok(())
    }

    fn stream(self) -> impl Stream<Item = Result<StreamingPullResponse, Status>> + Send {
        stream::unfold(Some(self), |opened| async {
            let mut opened = opened?;
            match opened.next().await? {
                Ok(response) => Some((Ok(response), Some(opened))),
                Err(status) => Some((Err(status), None)),
            }
        })
    }

    /// `None` once the client has closed its half.
    async fn next(&mut self) -> Option<Result<StreamingPullResponse, Status>> {
        loop {
            tokio::select! {
                biased;
                request = self.inbound.message() => match request {
                    Ok(Some(request)) => {
                        if let Err(status) = self.take(&request) {
                            return Some(Err(status));
                        }
                    }
                    Ok(None) => return None,
                    Err(status) => return Some(Err(status)),
                },
                messages = self.site.messages(&self.subscription, self.want, self.until) => {
                    return Some(messages.and_then(|messages| {
                        if messages.is_empty() {
                            return Err(Status::unavailable("The StreamingPull stream closed and should be opened again."));
                        }
                        let received_messages = messages;
                        Ok(StreamingPullResponse { received_messages, ..StreamingPullResponse::default() })
                    }));
                }
            }
        }
    }
}
