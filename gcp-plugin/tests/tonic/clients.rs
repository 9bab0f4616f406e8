//! Generated clients on both versions of tonic, over every channel that they are used with, as one kind of client.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use cloud_governor::{CallOptions, Governor, RefusalKind};
use cloud_governor_gcp::{GcpOptions, grpc_layer};
use futures_util::future::BoxFuture;
use futures_util::stream::{self, BoxStream, Stream, StreamExt};
use gcloud_gax::conn::{ConnectionManager, ConnectionOptions, Environment};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tower::Layer;

use crate::governors::HOME;
use crate::server::Server;

pub(crate) mod tonic_0_12;
pub(crate) mod tonic_0_14;

// ===== calls =====

/// What a unary call is. The last two may not be executed twice, and of the last it is not known that it is unary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rpc {
    GetTopic,
    ListTopics,
    Publish,
    Pull,
    Acknowledge,
    GetBucket,
    CreateBucket,
    ComposeObject,
}

impl Rpc {
    pub(crate) const REPEATABLE: [Rpc; 6] =
        [Rpc::GetTopic, Rpc::ListTopics, Rpc::Publish, Rpc::Pull, Rpc::Acknowledge, Rpc::GetBucket];
    pub(crate) const ONCE: [Rpc; 2] = [Rpc::CreateBucket, Rpc::ComposeObject];
}

/// A call, of a project, and how it is made.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    pub(crate) project: String,
    pub(crate) timeout: Option<Duration>,
    pub(crate) options: Option<CallOptions>,
    /// How long a message that is published is.
    pub(crate) length: usize,
}

impl Default for Ask {
    fn default() -> Self {
        Ask::of("p1")
    }
}

impl Ask {
    pub(crate) fn of(project: &str) -> Self {
        Ask { project: project.to_owned(), timeout: None, options: None, length: 5 }
    }

    pub(crate) fn within(timeout: Duration) -> Self {
        Ask { timeout: Some(timeout), ..Ask::default() }
    }

    pub(crate) fn with(options: CallOptions) -> Self {
        Ask { options: Some(options), ..Ask::default() }
    }

    pub(crate) fn long(length: usize) -> Self {
        Ask { length, ..Ask::default() }
    }

    fn resource(&self, rest: &str) -> String {
        format!("projects/{}/{rest}", self.project)
    }
}

/// What an error says, whichever tonic made it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Said {
    pub(crate) code: tonic::Code,
    pub(crate) message: String,
    pub(crate) details: Vec<u8>,
    /// What the server set under `x-own`.
    pub(crate) own: Option<String>,
    pub(crate) refusal: Option<RefusalKind>,
    /// All that can be read out of it.
    pub(crate) text: String,
}

pub(crate) type Answer<T> = BoxFuture<'static, Result<T, Said>>;
/// An item for each message that comes.
pub(crate) type Coming = BoxStream<'static, Result<(), Said>>;
/// An item for each message that is to be sent.
pub(crate) type Going = BoxStream<'static, ()>;

/// The messages of a stream that goes. With a type of its own the compiler sees that it is as long-lived as it has to be.
struct Sending<M>(Going, fn() -> M);

impl<M> Stream for Sending<M> {
    type Item = M;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<M>> {
        self.0.poll_next_unpin(cx).map(|next| next.map(|()| (self.1)()))
    }
}

pub(crate) trait Calls: Send + Sync {
    fn call(&self, rpc: Rpc, ask: Ask) -> Answer<()>;
    /// Storage's ReadObject, which answers with a stream.
    fn read(&self, ask: Ask) -> Answer<Coming>;
    /// Storage's WriteObject, which takes a stream.
    fn write(&self, ask: Ask, going: Going) -> Answer<()>;
    /// Pub/Sub's StreamingPull, which does both.
    fn pull(&self, ask: Ask, going: Going) -> Answer<Coming>;
}

pub(crate) type Client = Arc<dyn Calls>;

/// Three messages that are there at once, and no end before what holds it is dropped.
pub(crate) fn held() -> (UnboundedSender<()>, Going) {
    let (held, mut more) = unbounded_channel();
    (held, stream::iter([(); 3]).chain(stream::poll_fn(move |cx| more.poll_recv(cx))).boxed())
}

/// How many messages came before the stream's end, or its error. Some streams say the same error for ever.
pub(crate) async fn received(mut coming: Coming) -> (usize, Option<Said>) {
    let mut came = 0;
    while let Some(part) = coming.next().await {
        match part {
            Ok(()) => came += 1,
            Err(said) => return (came, Some(said)),
        }
    }
    (came, None)
}

// ===== channels =====

/// What a client is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum On {
    /// tonic 0.14.
    New,
    /// The channel of gcloud-gax, which is one of tonic 0.14 behind a filter that adds tokens.
    Gax,
    /// tonic 0.12.
    Old,
}

impl On {
    pub(crate) const ALL: [On; 3] = [On::New, On::Gax, On::Old];
}

/// A client whose calls go as they are.
pub(crate) async fn plain(on: On, server: &Server) -> Client {
    match on {
        On::New => tonic_0_14::over(tonic_0_14::channel(&server.url())),
        On::Gax => tonic_0_14::over(gax(server).await),
        On::Old => tonic_0_12::over(tonic_0_12::channel(&server.url())),
    }
}

/// The same under a layer of these options.
pub(crate) async fn client(on: On, server: &Server, options: GcpOptions) -> Client {
    let layer = grpc_layer(options);
    match on {
        On::New => tonic_0_14::over(layer.layer(tonic_0_14::channel(&server.url()))),
        On::Gax => tonic_0_14::over(layer.layer(gax(server).await)),
        On::Old => tonic_0_12::over(layer.layer(tonic_0_12::channel(&server.url()))),
    }
}

pub(crate) async fn gax(server: &Server) -> gcloud_gax::conn::Channel {
    connected(server, Environment::Emulator(server.host())).await
}

pub(crate) async fn connected(server: &Server, environment: Environment) -> gcloud_gax::conn::Channel {
    let (url, options) = (server.url(), ConnectionOptions::default());
    let connections = ConnectionManager::new(1, "localhost", &url, &environment, &options);
    connections.await.expect("a connection").conn()
}

/// Options of this governor's.
pub(crate) fn by(governor: &Governor) -> GcpOptions {
    GcpOptions::new().account(HOME).governor(governor.clone())
}

// ===== both versions =====

/// What is the same in both, over the crate that a version is and the clients that are generated for it.
macro_rules! calls {
    ($tonic:ident, $apis:ident, $body:ty) => {
        use std::error::Error;
        use std::sync::Arc;
        use std::time::Duration;

        use bytes::Bytes;
        use cloud_governor::Refusal;
        use futures_util::StreamExt;
        use hyper::body::Body;
        use $apis::pubsub::v1::publisher_client::PublisherClient;
        use $apis::pubsub::v1::subscriber_client::SubscriberClient;
        use $apis::pubsub::v1::{
            AcknowledgeRequest, GetTopicRequest, ListTopicsRequest, PublishRequest, PubsubMessage, PullRequest,
            StreamingPullRequest,
        };
        use $apis::storage::v2::storage_client::StorageClient;
        use $apis::storage::v2::{
            ComposeObjectRequest, CreateBucketRequest, GetBucketRequest, ReadObjectRequest, WriteObjectRequest,
        };
        use $tonic::client::GrpcService;
        use $tonic::transport::{Channel, Endpoint};
        use $tonic::{Request, Status};

        use super::{Answer, Ask, Calls, Client, Coming, Going, Rpc, Said, Sending};

        type StdError = Box<dyn Error + Send + Sync>;

        /// Connects when it is first used.
        pub(crate) fn channel(url: &str) -> Channel {
            Endpoint::from_shared(url.to_owned()).expect("an address").connect_lazy()
        }

        /// The same, which bounds each request by this.
        pub(crate) fn within(url: &str, timeout: Duration) -> Channel {
            Endpoint::from_shared(url.to_owned()).expect("an address").timeout(timeout).connect_lazy()
        }

        /// Clients over a channel.
        struct Over<S>(S);

        pub(crate) fn over<S>(channel: S) -> Client
        where
            Over<S>: Calls + 'static,
        {
            Arc::new(Over(channel))
        }

        fn said(status: Status) -> Said {
            let error: &(dyn Error + 'static) = &status;
            let mut text = format!("{status:?}");
            let mut next = Some(error);
            while let Some(error) = next {
                text += &format!("; {error}; {error:?}");
                next = error.source();
            }
            Said {
                code: i32::from(status.code()).into(),
                message: status.message().to_owned(),
                details: status.details().to_vec(),
                own: status.metadata().get("x-own").map(|own| own.to_str().expect("text").to_owned()),
                refusal: Refusal::find(error).map(Refusal::kind),
                text,
            }
        }

        fn ask<T>(mut request: Request<T>, ask: Ask, key: &str, resource: String) -> Request<T> {
            let parameters = format!("{key}={resource}").parse().expect("a header");
            request.metadata_mut().append("x-goog-request-params", parameters);
            if let Some(timeout) = ask.timeout {
                request.set_timeout(timeout);
            }
            if let Some(options) = ask.options {
                request.extensions_mut().insert(options);
            }
            request
        }

        impl<S> Calls for Over<S>
        where
            S: GrpcService<$body, Future: Send, Error: Into<StdError>> + Clone + Send + Sync + 'static,
            S::ResponseBody: Body<Data = Bytes, Error: Into<StdError> + Send> + Send + 'static,
        {
            fn call(&self, rpc: Rpc, how: Ask) -> Answer<()> {
                let mut publisher = PublisherClient::new(self.0.clone());
                let mut subscriber = SubscriberClient::new(self.0.clone());
                let mut storage = StorageClient::new(self.0.clone());
                let topic = how.resource("topics/t");
                let subscription = how.resource("subscriptions/s");
                let bucket = "projects/_/buckets/b".to_owned();
                Box::pin(async move {
                    let result = match rpc {
                        Rpc::GetTopic => {
                            let get = GetTopicRequest { topic: topic.clone() };
                            publisher.get_topic(ask(Request::new(get), how, "topic", topic)).await.map(drop)
                        }
                        Rpc::ListTopics => {
                            let project = format!("projects/{}", how.project);
                            let list = ListTopicsRequest { project: project.clone(), ..Default::default() };
                            publisher.list_topics(ask(Request::new(list), how, "project", project)).await.map(drop)
                        }
                        Rpc::Publish => {
                            let message = PubsubMessage { data: vec![b'x'; how.length], ..Default::default() };
                            let publish = PublishRequest { topic: topic.clone(), messages: vec![message] };
                            publisher.publish(ask(Request::new(publish), how, "topic", topic)).await.map(drop)
                        }
                        Rpc::Pull => {
                            let pull = PullRequest {
                                subscription: subscription.clone(),
                                max_messages: 1,
                                ..Default::default()
                            };
                            let pull = ask(Request::new(pull), how, "subscription", subscription);
                            subscriber.pull(pull).await.map(drop)
                        }
                        Rpc::Acknowledge => {
                            let ids = vec!["1".to_owned()];
                            let request = AcknowledgeRequest { subscription: subscription.clone(), ack_ids: ids };
                            let request = ask(Request::new(request), how, "subscription", subscription);
                            subscriber.acknowledge(request).await.map(drop)
                        }
                        Rpc::GetBucket => {
                            let get = GetBucketRequest { name: bucket.clone(), ..Default::default() };
                            storage.get_bucket(ask(Request::new(get), how, "bucket", bucket)).await.map(drop)
                        }
                        Rpc::CreateBucket => {
                            let parent = format!("projects/{}", how.project);
                            let create = CreateBucketRequest { parent: parent.clone(), ..Default::default() };
                            storage.create_bucket(ask(Request::new(create), how, "project", parent)).await.map(drop)
                        }
                        Rpc::ComposeObject => {
                            let compose = ComposeObjectRequest::default();
                            storage.compose_object(ask(Request::new(compose), how, "bucket", bucket)).await.map(drop)
                        }
                    };
                    result.map_err(said)
                })
            }

            fn read(&self, how: Ask) -> Answer<Coming> {
                let mut storage = StorageClient::new(self.0.clone());
                let bucket = "projects/_/buckets/b".to_owned();
                let read = ReadObjectRequest { bucket: bucket.clone(), object: "o".to_owned(), ..Default::default() };
                Box::pin(async move {
                    let coming = storage.read_object(ask(Request::new(read), how, "bucket", bucket)).await;
                    Ok(coming.map_err(said)?.into_inner().map(|part| part.map(drop).map_err(said)).boxed())
                })
            }

            fn write(&self, how: Ask, going: Going) -> Answer<()> {
                let mut storage = StorageClient::new(self.0.clone());
                let going = Sending(going, || WriteObjectRequest { write_offset: 1, ..Default::default() });
                let going = ask(Request::new(going), how, "bucket", "projects/_/buckets/b".to_owned());
                Box::pin(async move { storage.write_object(going).await.map(drop).map_err(said) })
            }

            fn pull(&self, how: Ask, going: Going) -> Answer<Coming> {
                let mut subscriber = SubscriberClient::new(self.0.clone());
                let subscription = how.resource("subscriptions/s");
                let going =
                    Sending(going, || StreamingPullRequest { stream_ack_deadline_seconds: 10, ..Default::default() });
                let going = ask(Request::new(going), how, "subscription", subscription);
                Box::pin(async move {
                    let coming = subscriber.streaming_pull(going).await.map_err(said)?.into_inner();
                    Ok(coming.map(|part| part.map(drop).map_err(said)).boxed())
                })
            }
        }
    };
}

use calls;
