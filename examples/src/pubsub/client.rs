//! The client of one project.

use std::future::Future;
use std::time::Duration;

use cloud_governor_gcp::{GcpOptions, grpc_layer};
use futures_util::stream::{self, Stream, StreamExt};
use gcloud_gax::create_request;
use gcloud_gax::retry::{MapErr, RetrySetting, invoke};
use gcloud_googleapis::pubsub::v1::publisher_client::PublisherClient;
use gcloud_googleapis::pubsub::v1::subscriber_client::SubscriberClient;
use gcloud_googleapis::pubsub::v1::{
    AcknowledgeRequest, PublishRequest, PubsubMessage, PullRequest, ReceivedMessage, StreamingPullRequest,
    StreamingPullResponse, Subscription, Topic,
};
use hyper::http::{Request, Response};
use tonic::body::Body;
use tonic::metadata::AsciiMetadataValue;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, IntoRequest, IntoStreamingRequest, Status, Streaming};
use tower::util::BoxCloneSyncService;
use tower::{BoxError, Layer, ServiceExt};

use super::options::Mode;
use crate::sim::gcp::pubsub::Project;

/// The time to acknowledge what a stream brings, in seconds.
const STREAM_DEADLINE: i32 = 10;

/// The most messages that a stream brings at once before they are acknowledged.
const OUTSTANDING: i64 = 1_000;

/// A channel, governed or not.
type Wire = BoxCloneSyncService<Request<Body>, Response<Body>, BoxError>;

/// No client: the endpoint or the token cannot be.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// Of the endpoint.
    #[error("no channel: {0}")]
    Endpoint(#[from] tonic::transport::Error),
    /// Of the token.
    #[error("no token: {0}")]
    Token(#[from] tonic::metadata::errors::InvalidMetadataValue),
}

/// Calls Pub/Sub for one project, each RPC as `gcloud-pubsub` does.
#[derive(Clone, Debug)]
pub struct Client {
    wire: Wire,
    bearer: AsciiMetadataValue,
    mode: Mode,
}

impl Client {
    /// A client of a project. It connects when it is first needed.
    ///
    /// # Errors
    /// [`ClientError`].
    pub fn new(url: &str, project: &Project, mode: Mode) -> Result<Self, ClientError> {
        let channel = Endpoint::from_shared(url.to_owned())?.connect_lazy();
        let wire = match mode {
            Mode::Governed => boxed(grpc_layer(GcpOptions::new()).layer(channel)),
            Mode::Ungoverned => boxed(channel),
        };
        let mut bearer = AsciiMetadataValue::try_from(project.bearer())?;
        bearer.set_sensitive(true);
        Ok(Client { wire, bearer, mode })
    }

    /// Makes a topic; one that exists already is fine.
    ///
    /// # Errors
    /// The service's, or the governor's behind a status.
    pub async fn create_topic(&self, name: &str) -> Result<(), Status> {
        let topic = Topic { name: name.to_owned(), ..Topic::default() };
        let made = self.invoke(RetrySetting::default(), || {
            let (mut client, topic) = (self.publisher(), self.request("name", name, topic.clone()));
            async move { client.create_topic(topic).await }
        });
        made.await.map(drop).or_else(exists)
    }

    /// Makes a subscription; one that exists already is fine.
    ///
    /// # Errors
    /// As [`create_topic`](Client::create_topic).
    pub async fn create_subscription(&self, name: &str, topic: &str) -> Result<(), Status> {
        let (name, topic) = (name.to_owned(), topic.to_owned());
        let subscription = Subscription { name: name.clone(), topic, ..Subscription::default() };
        let made = self.invoke(RetrySetting::default(), || {
            let (mut client, request) = (self.subscriber(), self.request("name", &name, subscription.clone()));
            async move { client.create_subscription(request).await }
        });
        made.await.map(drop).or_else(exists)
    }

    /// Publishes messages; the ids that the service gave them.
    ///
    /// # Errors
    /// As [`create_topic`](Client::create_topic).
    pub async fn publish(&self, topic: &str, messages: Vec<PubsubMessage>) -> Result<Vec<String>, Status> {
        let request = PublishRequest { topic: topic.to_owned(), messages };
        let published = self.invoke(publish_retries(), || {
            let (mut client, request) = (self.publisher(), self.request("name", topic, request.clone()));
            async move { client.publish(request).await }
        });
        Ok(published.await?.message_ids)
    }

    /// Messages that are there, or come soon.
    ///
    /// # Errors
    /// As [`create_topic`](Client::create_topic).
    pub async fn pull(&self, subscription: &str, most: i32) -> Result<Vec<ReceivedMessage>, Status> {
        let (subscription, max_messages) = (subscription.to_owned(), most);
        let request = PullRequest { subscription: subscription.clone(), max_messages, ..PullRequest::default() };
        let pulled = self.invoke(RetrySetting::default(), || {
            let (mut client, request) =
                (self.subscriber(), self.request("subscription", &subscription, request.clone()));
            async move { client.pull(request).await }
        });
        Ok(pulled.await?.received_messages)
    }

    /// Acknowledges messages.
    ///
    /// # Errors
    /// As [`create_topic`](Client::create_topic).
    pub async fn acknowledge(&self, subscription: &str, ack_ids: Vec<String>) -> Result<(), Status> {
        let request = AcknowledgeRequest { subscription: subscription.to_owned(), ack_ids };
        let acknowledged = self.invoke(RetrySetting::default(), || {
            let (mut client, request) =
                (self.subscriber(), self.request("subscription", subscription, request.clone()));
            async move { client.acknowledge(request).await }
        });
        acknowledged.await
    }

    /// Opens a stream of messages, which stays open until either side closes it.
    ///
    /// # Errors
    /// As [`create_topic`](Client::create_topic).
    pub async fn streaming_pull(&self, subscription: &str) -> Result<Streaming<StreamingPullResponse>, Status> {
        let first = StreamingPullRequest {
            subscription: subscription.to_owned(),
            stream_ack_deadline_seconds: STREAM_DEADLINE,
            max_outstanding_messages: OUTSTANDING,
            ..StreamingPullRequest::default()
        };
        self.invoke(RetrySetting::default(), || {
            let mut client = self.subscriber();
            let requests = self.request("subscription", subscription, open(first.clone()));
            async move { client.streaming_pull(requests).await }
        })
        .await
    }

    fn publisher(&self) -> PublisherClient<Wire> {
        PublisherClient::new(self.wire.clone())
    }

    fn subscriber(&self) -> SubscriberClient<Wire> {
        SubscriberClient::new(self.wire.clone())
    }

    /// A request that names its resource and its caller.
    fn request<T>(&self, parameter: &str, resource: &str, message: T) -> tonic::Request<T> {
        let mut request = create_request(format!("{parameter}={resource}"), tonic::Request::new(message));
        request.metadata_mut().insert("authorization", self.bearer.clone());
        request
    }

    /// One call, with the library's retry around it: governed calls have it off.
    async fn invoke<A, F>(&self, retries: RetrySetting, mut send: impl FnMut() -> F) -> Result<A, Status>
    where
        F: Future<Output = Result<tonic::Response<A>, Status>>,
    {
        let retries = match self.mode {
            Mode::Governed => RetrySetting { take: 0, codes: Vec::new(), ..RetrySetting::default() },
            Mode::Ungoverned => retries,
        };
        let action = || {
            let sent = send();
            async move { sent.await.map_transient_err() }
        };
        invoke(Some(retries), action).await.map(tonic::Response::into_inner)
    }
}

/// What `gcloud-pubsub` takes for publishing unless it is told otherwise.
fn publish_retries() -> RetrySetting {
    let codes = vec![
        Code::Unavailable,
        Code::Unknown,
        Code::Aborted,
        Code::Cancelled,
        Code::DeadlineExceeded,
        Code::ResourceExhausted,
        Code::Internal,
    ];
    RetrySetting { codes, ..RetrySetting::default() }
}

/// The requests of a stream: the first, and then none, without an end.
fn open(first: StreamingPullRequest) -> impl Stream<Item = StreamingPullRequest> + Send + 'static {
    stream::iter([first]).chain(stream::pending())
}

fn exists(status: Status) -> Result<(), Status> {
    if status.code() == Code::AlreadyExists { Ok(()) } else { Err(status) }
}

fn boxed<S, B>(service: S) -> Wire
where
    S: tower::Service<Request<Body>, Response = Response<B>> + Clone + Send + Sync + 'static,
    S::Error: Into<BoxError>,
    S::Future: Send + 'static,
    B: http_body::Body<Data = bytes::Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    let service = service.map_response(|response: Response<B>| response.map(Body::new)).map_err(Into::into);
    BoxCloneSyncService::new(service)
}
