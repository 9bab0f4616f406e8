//! Who asks for what, and what becomes of it.

use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use gcloud_googleapis::pubsub::v1::ReceivedMessage;
use hyper::body::Incoming;
use hyper::{HeaderMap, Request, Response};
use tonic::Status;

use super::reply::{Reply, Reset};
use super::store::Want;
use super::visit::Visit;
use super::{Project, Pubsub, Rpc, SERVICE, answers, refusal};
use crate::sim::server::{Frame, Hangup};
use crate::sim::{Leaf, Outcome, Throttle};

/// The service, as it runs on one server.
#[derive(Debug)]
pub(super) struct Site {
    pub(super) pubsub: Arc<Pubsub>,
    pub(super) frame: Frame,
    throttle: Mutex<Throttle>,
}

impl Site {
    pub(super) fn new(pubsub: Arc<Pubsub>, frame: Frame) -> Self {
        Site { pubsub, frame, throttle: Mutex::default() }
    }

    /// One request and its answer. `Err` resets the stream.
    pub(super) async fn exchange(
        self: Arc<Self>,
        hangup: Hangup,
        request: Request<Incoming>,
    ) -> Result<Response<Reply>, Reset> {
        let now = self.frame.elapsed();
        let seat = self.frame.truth.arrive(now);
        let recognised = self.recognise(request.uri().path(), request.headers());
        let leaf = recognised.as_ref().ok().map(|(rpc, project)| leaf_of(*rpc, project));
        let fate = self.frame.faults.decide(now, leaf.as_ref());
        if fate.down {
            seat.record(leaf.as_ref(), Outcome::Faulted);
            hangup.notify_one();
            return Err(Reset);
        }
        let (rpc, project) = match recognised {
            Ok((rpc, project)) => (rpc, project.clone()),
            Err(status) => {
                seat.record(None, Outcome::Refused);
                return Ok(status.into_http().map(Reply::whole));
            }
        };
        let number = seat.number();
        let visit = Visit { leaf: leaf_of(rpc, &project), site: Arc::clone(&self), seat, rpc, project, fate };
        let response = answers::answer(Arc::new(visit), request).await;
        let is_failure = response.headers().contains_key("grpc-status");
        Ok(response.map(|body| match (fate.cut && !is_failure, number.is_multiple_of(2)) {
            (false, _) => Reply::whole(body),
            (true, true) => Reply::broken_off(body),
            (true, false) => Reply::reset(body),
        }))
    }

    fn recognise(&self, path: &str, headers: &HeaderMap) -> Result<(Rpc, &Project), Status> {
        let rpc = Rpc::find(path).ok_or_else(|| Status::unimplemented(format!("There is no {path} here.")))?;
        Ok((rpc, self.pubsub.charged(headers)?))
    }

    /// Takes what a call costs from its project's bucket.
    pub(super) fn charge(&self, rpc: Rpc, project: &Project, cost: u32, now: Duration) -> Result<(), Status> {
        let Some(bucket) = rpc.bucket() else { return Ok(()) };
        let draw = self.pubsub.draw(project, bucket, cost);
        let limit = draw.limit;
        let verdict = self.throttle.lock().unwrap_or_else(PoisonError::into_inner).admit(now, &[draw]);
        if verdict.is_granted() {
            return Ok(());
        }
        Err(refusal::used_up(bucket, limit, verdict.wait, project, self.pubsub.telling))
    }

    /// Messages as soon as there are any, and none if there are none until then.
    pub(super) async fn messages(
        &self,
        subscription: &str,
        want: Want,
        until: Duration,
    ) -> Result<Vec<ReceivedMessage>, Status> {
        let store = &self.pubsub.store;
        loop {
            // It listens before it looks, so that nothing is missed in between.
            let mut changed = pin!(store.changed().notified());
            changed.as_mut().enable();
            let now = self.frame.elapsed();
            let messages = store.pull(subscription, want, now)?;
            if !messages.is_empty() || now >= until {
                return Ok(messages);
            }
            let next = store.next_redelivery(subscription).unwrap_or(until).min(until);
            // It is never asked for twice in one millisecond, which is what timers are good for.
            let rest = next.saturating_sub(now).max(Duration::from_millis(1));
            tokio::select! {
                () = changed => {}
                () = tokio::time::sleep(rest) => {}
            }
        }
    }
}

fn leaf_of(rpc: Rpc, project: &Project) -> Leaf {
    Leaf {
        account: project.account(),
        region: String::new(),
        service: SERVICE.to_owned(),
        operation: rpc.name().to_owned(),
    }
}
