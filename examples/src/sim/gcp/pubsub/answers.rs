//! What each RPC answers.

use std::sync::Arc;
use std::time::Duration;

use gcloud_googleapis::pubsub::v1::{
    AcknowledgeRequest, GetSubscriptionRequest, GetTopicRequest, ModifyAckDeadlineRequest, PublishRequest,
    PublishResponse, PullRequest, PullResponse, Subscription, Topic,
};
use hyper::body::Incoming;
use hyper::{Request, Response};
use tonic::Status;
use tonic::body::Body;
use tonic::server::Grpc;
use tonic_prost::ProstCodec;
use tonic_prost::prost::Message;
use tower::service_fn;

use super::store::{MOST_MESSAGES, Want};
use super::visit::Visit;
use super::{Pubsub, Rpc, kilobytes, streaming};

/// How long a Pull waits for a message.
const PULL_WAIT: Duration = Duration::from_secs(1);

/// The time to acknowledge a message in where a subscription does not say, and the least and the most that it may say, in
/// seconds: `ack_deadline_seconds` in google/pubsub/v1/pubsub.proto.
const DEADLINE: i32 = 10;
const LONGEST_DEADLINE: i32 = 600;

pub(super) async fn answer(visit: Arc<Visit>, request: Request<Incoming>) -> Response<Body> {
    match visit.rpc {
        Rpc::CreateTopic => visit.unary(request, |_| 1, create_topic).await,
        Rpc::GetTopic => visit.unary(request, |_| 1, get_topic).await,
        Rpc::Publish => visit.unary(request, size_of_messages, publish).await,
        Rpc::CreateSubscription => visit.unary(request, |_| 1, create_subscription).await,
        Rpc::GetSubscription => visit.unary(request, |_| 1, get_subscription).await,
        Rpc::Pull => pull(visit, request).await,
        Rpc::StreamingPull => streaming::pull(visit, request).await,
        Rpc::Acknowledge => visit.unary(request, size, acknowledge).await,
        Rpc::ModifyAckDeadline => visit.unary(request, size, modify_ack_deadline).await,
    }
}

fn size(request: &impl Message) -> u32 {
    kilobytes(request.encoded_len())
}

fn size_of_messages(request: &PublishRequest) -> u32 {
    kilobytes(request.messages.iter().map(Message::encoded_len).sum())
}

fn create_topic(pubsub: &Pubsub, topic: Topic, _: Duration) -> Result<Topic, Status> {
    pubsub.store.create_topic(&topic.name)?;
    Ok(topic)
}

fn get_topic(pubsub: &Pubsub, request: GetTopicRequest, _: Duration) -> Result<Topic, Status> {
    pubsub.store.has_topic(&request.topic)?;
    Ok(Topic { name: request.topic, ..Topic::default() })
}

fn create_subscription(pubsub: &Pubsub, asked: Subscription, _: Duration) -> Result<Subscription, Status> {
    let seconds = if asked.ack_deadline_seconds == 0 { DEADLINE } else { asked.ack_deadline_seconds };
    pubsub.store.create_subscription(&asked.name, &asked.topic, pubsub.deadline(seconds, DEADLINE)?)?;
    Ok(Subscription { ack_deadline_seconds: seconds, ..asked })
}

fn get_subscription(pubsub: &Pubsub, request: GetSubscriptionRequest, _: Duration) -> Result<Subscription, Status> {
    let topic = pubsub.store.topic_of(&request.subscription)?;
    Ok(Subscription { name: request.subscription, topic, ..Subscription::default() })
}

fn publish(pubsub: &Pubsub, request: PublishRequest, _: Duration) -> Result<PublishResponse, Status> {
    if !(1..=MOST_MESSAGES).contains(&request.messages.len()) {
        return Err(Status::invalid_argument("A request has 1 to 1000 messages."));
    }
    let message_ids = pubsub.store.publish(&request.topic, request.messages)?;
    Ok(PublishResponse { message_ids })
}

fn acknowledge(pubsub: &Pubsub, request: AcknowledgeRequest, now: Duration) -> Result<(), Status> {
    pubsub.store.acknowledge(&request.subscription, &request.ack_ids, now)
}

fn modify_ack_deadline(pubsub: &Pubsub, request: ModifyAckDeadlineRequest, now: Duration) -> Result<(), Status> {
    let until = now.saturating_add(pubsub.deadline(request.ack_deadline_seconds, 0)?);
    pubsub.store.put_off(&request.subscription, &request.ack_ids, until, now)
}

/// Waits for a message, unlike the others.
async fn pull(visit: Arc<Visit>, request: Request<Incoming>) -> Response<Body> {
    let service = service_fn(|request: tonic::Request<PullRequest>| {
        let (visit, request) = (Arc::clone(&visit), request.into_inner());
        async move {
            let PullRequest { subscription, max_messages, .. } = request;
            let most = usize::try_from(max_messages).unwrap_or(0);
            visit
                .serve(1, |pubsub, _| {
                    if most == 0 {
                        return Err(Status::invalid_argument("max_messages must be 1 or more."));
                    }
                    pubsub.store.topic_of(&subscription)
                })
                .await?;
            let until = visit.site.frame.elapsed().saturating_add(PULL_WAIT);
            let want = Want { most, deadline: None, stream: None };
            let received_messages = visit.site.messages(&subscription, want, until).await?;
            Ok(tonic::Response::new(PullResponse { received_messages }))
        }
    });
    Grpc::new(ProstCodec::<PullResponse, PullRequest>::default()).unary(service, request).await
}

impl Pubsub {
    /// The time to acknowledge in that a client asks for.
    pub(super) fn deadline(&self, seconds: i32, least: i32) -> Result<Duration, Status> {
        match u64::try_from(seconds) {
            Ok(length) if (least..=LONGEST_DEADLINE).contains(&seconds) => Ok(Duration::from_secs(length) / self.hurry),
            _ => Err(Status::invalid_argument(format!(
                "The ack deadline of {seconds} s is not from {least} to {LONGEST_DEADLINE} s."
            ))),
        }
    }
}
