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

mod calls;
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
