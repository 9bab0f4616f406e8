//! The service itself, by clients that nothing governs.

use std::sync::Arc;

use cloud_governor_examples::sim::gcp::Telling;
use cloud_governor_examples::sim::gcp::pubsub::{Bucket, Limits, Project, Pubsub, Tally};
use cloud_governor_examples::sim::{Counts, Server};
use futures_util::{StreamExt, stream};
use gcloud_googleapis::pubsub::v1::publisher_client::PublisherClient;
use gcloud_googleapis::pubsub::v1::schema_service_client::SchemaServiceClient;
use gcloud_googleapis::pubsub::v1::subscriber_client::SubscriberClient;
use gcloud_googleapis::pubsub::v1::{
    AcknowledgeRequest, GetTopicRequest, ListSchemasRequest, PublishRequest, PubsubMessage, PullRequest,
    ReceivedMessage, StreamingPullRequest, Subscription, Topic,
};
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Status, Streaming};
use tonic_types::StatusExt;

const TOPIC: &str = "projects/orders-1/topics/t";
const SUBSCRIPTION: &str = "projects/orders-1/subscriptions/s";

struct Site {
    pubsub: Arc<Pubsub>,
    server: Server,
    channel: Channel,
}

impl Site {
    async fn start(pubsub: Pubsub) -> Self {
        let pubsub = Arc::new(pubsub);
        let server = Arc::clone(&pubsub).serve(1).await.expect("a free port");
        let channel = Endpoint::from_shared(server.url()).expect("a URL").connect_lazy();
        Site { pubsub, server, channel }
    }

    /// With a topic and a subscription.
    async fn ready(pubsub: Pubsub) -> Self {
        let site = Site::start(pubsub).await;
        let topic = Topic { name: TOPIC.to_owned(), ..Topic::default() };
        site.publisher().create_topic(site.signed(topic)).await.expect("a new topic");
        let (name, topic) = (SUBSCRIPTION.to_owned(), TOPIC.to_owned());
        let subscription = Subscription { name, topic, ..Subscription::default() };
        site.subscriber().create_subscription(site.signed(subscription)).await.expect("a new subscription");
        site
    }

    fn publisher(&self) -> PublisherClient<Channel> {
        PublisherClient::new(self.channel.clone())
    }

    fn subscriber(&self) -> SubscriberClient<Channel> {
        SubscriberClient::new(self.channel.clone())
    }

    /// A request of the first project's.
    fn signed<T>(&self, message: T) -> Request<T> {
        signed(&self.pubsub.projects()[0], message)
    }

    async fn publish(&self, messages: usize) -> Result<Vec<String>, Status> {
        let messages = vec![PubsubMessage { data: b"paid".to_vec(), ..PubsubMessage::default() }; messages];
        let request = self.signed(PublishRequest { topic: TOPIC.to_owned(), messages });
        Ok(self.publisher().publish(request).await?.into_inner().message_ids)
    }

    async fn pull(&self, max_messages: i32) -> Result<Vec<ReceivedMessage>, Status> {
        let request = PullRequest { subscription: SUBSCRIPTION.to_owned(), max_messages, ..PullRequest::default() };
        Ok(self.subscriber().pull(self.signed(request)).await?.into_inner().received_messages)
    }

    async fn acknowledge(&self, received: &[ReceivedMessage]) {
        let ack_ids = received.iter().map(|received| received.ack_id.clone()).collect();
        let request = AcknowledgeRequest { subscription: SUBSCRIPTION.to_owned(), ack_ids };
        self.subscriber().acknowledge(self.signed(request)).await.expect("acknowledged");
    }

    async fn open<S>(&self, requests: S) -> Streaming<gcloud_googleapis::pubsub::v1::StreamingPullResponse>
    where
        S: stream::Stream<Item = StreamingPullRequest> + Send + 'static,
    {
        self.subscriber().streaming_pull(self.signed(requests)).await.expect("a stream").into_inner()
    }

    fn counts(&self, rpc: &str) -> Counts {
        self.server.truth().snapshot().actions.get(&format!("pubsub.{rpc}")).copied().unwrap_or_default()
    }
}

fn signed<T>(project: &Project, message: T) -> Request<T> {
    let mut request = Request::new(message);
    request.metadata_mut().insert("authorization", project.bearer().parse().expect("a header"));
    request
}

fn plenty() -> Pubsub {
    Pubsub::new(2, Limits::default())
}

fn stream_of(most: i64) -> StreamingPullRequest {
    StreamingPullRequest {
        subscription: SUBSCRIPTION.to_owned(),
        stream_ack_deadline_seconds: 10,
        max_outstanding_messages: most,
        ..StreamingPullRequest::default()
    }
}

#[tokio::test]
async fn what_is_published_is_pulled_and_acknowledged() {
    let site = Site::ready(plenty()).await;
    assert_eq!(site.publish(3).await.expect("published"), ["1", "2", "3"]);
    let received = site.pull(2).await.expect("pulled");
    assert_eq!(received.len(), 2);
    assert!(received.iter().all(|received| received.message.as_ref().is_some_and(|message| message.data == b"paid")));
    site.acknowledge(&received).await;
    assert_eq!(
        serde_json::to_value(site.pubsub.tally()).expect("JSON"),
        serde_json::json!({ "stored": 3, "delivered": 2, "acknowledged": 2, "left": 1 })
    );
    let published = site.counts("Publish");
    assert_eq!((published.requests, published.answered), (1, 1));
}

#[tokio::test]
async fn what_is_not_acknowledged_in_time_is_delivered_again() {
    let site = Site::ready(plenty().hurried(100)).await;
    site.publish(1).await.expect("published");
    let first = site.pull(1).await.expect("pulled");
    let again = site.pull(1).await.expect("pulled");
    assert_eq!((first[0].delivery_attempt, again[0].delivery_attempt), (1, 2));
    assert_ne!(first[0].ack_id, again[0].ack_id);
    site.acknowledge(&again).await;
    assert_eq!((site.pubsub.tally().acknowledged, site.pubsub.tally().left), (1, 0));
}

#[tokio::test]
async fn a_pull_waits_for_a_message() {
    let site = Site::ready(plenty()).await;
    let (pulled, published) = tokio::join!(site.pull(1), async {
        while site.counts("Pull").requests == 0 {
            tokio::task::yield_now().await;
        }
        site.publish(1).await
    });
    assert_eq!((pulled.expect("pulled").len(), published.expect("published").len()), (1, 1));
}

#[tokio::test]
async fn over_quota_a_call_is_refused_with_details_and_other_projects_are_not() {
    let slow = Limits::default().per_second(Bucket::Publish, 1.0, None).expect("a possible limit");
    let telling = Telling { retry_info: true, ..Telling::default() };
    let site = Site::ready(Pubsub::new(2, slow).telling(telling)).await;
    site.publish(1).await.expect("within the quota");
    let refused = site.publish(1).await.expect_err("over it");
    assert_eq!(refused.code(), Code::ResourceExhausted);
    let details = refused.get_error_details();
    let info = details.error_info().expect("an ErrorInfo");
    assert_eq!(info.reason, "RATE_LIMIT_EXCEEDED");
    assert_eq!(info.metadata["quota_metric"], "pubsub.googleapis.com/regionalpublisher");
    assert_eq!(info.metadata["quota_limit_value"], "60");
    assert!(details.retry_info().and_then(|info| info.retry_delay).is_some_and(|delay| !delay.is_zero()));

    // The other project publishes to the same topic, at its own expense.
    let message = PubsubMessage::default();
    let request = PublishRequest { topic: TOPIC.to_owned(), messages: vec![message] };
    let other = signed(&site.pubsub.projects()[1], request.clone());
    site.publisher().publish(other).await.expect("within its own quota");
    let mut charged = site.signed(request);
    charged.metadata_mut().insert("x-goog-user-project", "orders-2".parse().expect("a header"));
    let refused = site.publisher().publish(charged).await.expect_err("the other's quota is used up, too");
    assert_eq!(
        refused.get_error_details().error_info().expect("an ErrorInfo").metadata["consumer"],
        "projects/100000000002"
    );

    let counts = site.counts("Publish");
    assert_eq!((counts.requests, counts.answered, counts.throttled), (4, 2, 2));
    assert_eq!(site.pubsub.tally().stored, 2);
}

#[tokio::test]
async fn a_request_costs_what_it_has_of_kilobytes() {
    let limits = Limits::default().per_second(Bucket::Publish, 3.0, None).expect("a possible limit");
    let site = Site::ready(Pubsub::new(1, limits)).await;
    let publish = |bytes: usize| {
        let messages = vec![PubsubMessage { data: vec![0; bytes], ..PubsubMessage::default() }];
        let request = site.signed(PublishRequest { topic: TOPIC.to_owned(), messages });
        let mut publisher = site.publisher();
        async move { publisher.publish(request).await.map(drop).map_err(|status| status.code()) }
    };
    assert_eq!(publish(3_500).await, Err(Code::ResourceExhausted), "it is larger than the burst");
    assert_eq!(publish(2_500).await, Ok(()));
    assert_eq!(publish(100).await, Err(Code::ResourceExhausted));
}

#[tokio::test]
async fn nobody_s_requests_are_refused_and_counted_apart() {
    let site = Site::start(plenty()).await;
    let topic = GetTopicRequest { topic: TOPIC.to_owned() };
    let code = |result: Result<tonic::Response<Topic>, Status>| result.expect_err("refused").code();
    assert_eq!(code(site.publisher().get_topic(topic.clone()).await), Code::Unauthenticated);
    let mut forged = Request::new(topic.clone());
    forged.metadata_mut().insert("authorization", "Bearer ya29.other".parse().expect("a header"));
    assert_eq!(code(site.publisher().get_topic(forged).await), Code::Unauthenticated);
    let mut denied = site.signed(topic.clone());
    denied.metadata_mut().insert("x-goog-user-project", "orders-9".parse().expect("a header"));
    assert_eq!(code(site.publisher().get_topic(denied).await), Code::PermissionDenied);
    let schemas = SchemaServiceClient::new(site.channel.clone()).list_schemas(ListSchemasRequest::default()).await;
    assert_eq!(schemas.expect_err("refused").code(), Code::Unimplemented);
    assert_eq!(site.server.truth().snapshot().unrecognised.refused, 4);

    assert_eq!(code(site.publisher().get_topic(site.signed(topic)).await), Code::NotFound);
    assert_eq!(site.counts("GetTopic").refused, 1);
}

#[tokio::test]
async fn a_failure_comes_in_the_headers_or_behind_them_or_the_stream_is_reset() {
    let site = Site::ready(plenty()).await;
    let fault = |text: &str| {
        site.server.faults().clear();
        site.server.faults().add(text.parse().expect("a fault"));
    };
    fault("fail=503");
    assert_eq!(site.publish(1).await.expect_err("it fails").code(), Code::Unavailable);
    assert_eq!(site.pubsub.tally().stored, 0);

    // One after the other is reset and ends in trailers, and both have done what was asked for.
    fault("cut=1/1");
    let mut codes = [site.publish(1).await, site.publish(1).await].map(|result| result.expect_err("it fails").code());
    codes.sort_by_key(|code| *code as i32);
    assert_eq!(codes.iter().filter(|code| **code == Code::Unavailable).count(), 1, "{codes:?}");
    assert_eq!(site.pubsub.tally().stored, 2);

    fault("down");
    site.publish(1).await.expect_err("there is no answer");
    assert_eq!(site.pubsub.tally().stored, 2);
    assert_eq!(site.counts("Publish").faulted, 4);
    site.server.faults().clear();
    // It connects anew.
    while site.publish(1).await.is_err() {}
    assert_eq!(site.pubsub.tally().stored, 3);
}

#[tokio::test]
async fn a_stream_brings_messages_as_they_come_and_no_more_than_it_wants_at_once() {
    let site = Site::ready(plenty()).await;
    let (say, said) = requests();
    let mut stream = site.open(stream::iter([stream_of(2)]).chain(said)).await;
    site.publish(5).await.expect("published");
    let mut received = Vec::new();
    while received.len() < 2 {
        received.extend(stream.message().await.expect("no failure").expect("a message").received_messages);
    }
    assert_eq!((received.len(), site.pubsub.tally().delivered), (2, 2));

    // Acknowledged by a call of its own, or by the stream: either makes room.
    site.acknowledge(&received[..1]).await;
    received.extend(stream.message().await.expect("no failure").expect("a message").received_messages);
    let ack_ids = vec![received[1].ack_id.clone()];
    say.send(StreamingPullRequest { ack_ids, ..StreamingPullRequest::default() }).expect("the stream is open");
    received.extend(stream.message().await.expect("no failure").expect("a message").received_messages);
    assert_eq!((received.len(), site.pubsub.tally().acknowledged), (4, 2));

    drop(say);
    assert!(stream.message().await.expect("no failure").is_none(), "the client closed its half");
    let counts = site.counts("StreamingPull");
    assert_eq!((counts.requests, counts.answered), (1, 1));
}

#[tokio::test]
async fn a_stream_ends_by_itself_after_a_while_and_with_the_server() {
    let site = Site::ready(plenty().hurried(100_000)).await;
    let mut stream = site.open(stream::iter([stream_of(0)]).chain(stream::pending())).await;
    assert_eq!(stream.message().await.expect_err("it is closed").code(), Code::Unavailable);

    let site = Site::ready(plenty()).await;
    let mut stream = site.open(stream::iter([stream_of(0)]).chain(stream::pending())).await;
    drop(site.server);
    assert!(stream.message().await.is_err(), "the connection is closed");
}

#[tokio::test]
async fn a_client_that_leaves_a_stream_or_a_pull_leaves_nothing_behind() {
    let site = Site::ready(plenty()).await;
    for _ in 0..100 {
        drop(site.open(stream::iter([stream_of(0)]).chain(stream::pending())).await);
        let mut subscriber = site.subscriber();
        let request = PullRequest { subscription: SUBSCRIPTION.to_owned(), max_messages: 1, ..PullRequest::default() };
        let pull = subscriber.pull(site.signed(request));
        tokio::select! {
            biased;
            _ = pull => unreachable!("nothing was published"),
            () = tokio::task::yield_now() => {}
        }
    }
    while site.server.truth().snapshot().concurrent > 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(site.counts("StreamingPull").requests, 100);
    assert_eq!(site.pubsub.tally(), Tally::default());
}

/// A stream of requests, and how to say one.
fn requests() -> (
    tokio::sync::mpsc::UnboundedSender<StreamingPullRequest>,
    impl stream::Stream<Item = StreamingPullRequest> + Send + 'static,
) {
    let (say, said) = tokio::sync::mpsc::unbounded_channel();
    (say, stream::unfold(said, |mut said| async { Some((said.recv().await?, said)) }))
}
