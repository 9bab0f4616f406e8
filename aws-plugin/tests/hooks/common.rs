//! A server in memory, a clock that is Tokio's, and configurations for both.

use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, Once};
use std::task::{Context, Poll};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_sdk_ssm::config::{BehaviorVersion, Region};
use aws_smithy_async::time::TimeSource;
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpClient, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::byte_stream::ByteStream;
use aws_types::SdkConfig;
use aws_types::sdk_config::Builder;
use bytes::Bytes;
use cloud_governor::{Config, Governor, LawName, ProviderBuilder, Totals};
use http_body::Frame;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

pub(crate) const ACCOUNT: &str = "123456789012";

pub(crate) const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

// ===== answers =====

/// What the server does with one request.
#[derive(Clone)]
pub(crate) enum Reply {
    Answer {
        status: u16,
        headers: Vec<(&'static str, String)>,
        body: Bytes,
    },
    /// A head, some of the body, and then a broken connection.
    Broken {
        status: u16,
        start: Bytes,
    },
    /// The body's bytes come only after a while.
    SlowBody {
        status: u16,
        body: Bytes,
        after: Duration,
    },
    /// The connection breaks.
    Reset,
    /// The answer comes after a while.
    After(Duration, Box<Reply>),
    /// Another answer, with a header.
    With(&'static str, &'static str, Box<Reply>),
}

impl Reply {
    pub(crate) fn new(status: u16, body: impl Into<Bytes>) -> Self {
        Reply::Answer { status, headers: Vec::new(), body: body.into() }
    }

    pub(crate) fn header(self, name: &'static str, value: impl Into<String>) -> Self {
        match self {
            Reply::Answer { status, mut headers, body } => {
                headers.push((name, value.into()));
                Reply::Answer { status, headers, body }
            }
            other => other,
        }
    }

    pub(crate) fn after(self, delay: Duration) -> Self {
        Reply::After(delay, Box::new(self))
    }

    /// An error of an AWS JSON service.
    pub(crate) fn json_error(status: u16, code: &str) -> Self {
        Reply::new(status, format!(r#"{{"__type":"{code}","message":"no"}}"#))
            .header("content-type", "application/x-amz-json-1.1")
            .header("x-amzn-requestid", "r-42")
    }

    /// `GetParameter`'s answer.
    pub(crate) fn parameter() -> Self {
        Reply::new(200, r#"{"Parameter":{"Name":"a","Value":"v"}}"#)
            .header("content-type", "application/x-amz-json-1.1")
    }

    /// `GetCallerIdentity`'s answer.
    pub(crate) fn caller() -> Self {
        Reply::new(
            200,
            "<GetCallerIdentityResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><GetCallerIdentityResult>\
             <Account>123456789012</Account></GetCallerIdentityResult></GetCallerIdentityResponse>",
        )
    }
}

async fn reply(reply: Reply) -> Result<HttpResponse, ConnectorError> {
    let mut reply = reply;
    let mut extra = Vec::new();
    loop {
        reply = match reply {
            Reply::After(delay, then) => {
                tokio::time::sleep(delay).await;
                *then
            }
            Reply::With(name, value, then) => {
                extra.push((name, value.to_owned()));
                *then
            }
            reply => return reply_now(reply, extra),
        };
    }
}

fn reply_now(reply: Reply, extra: Vec<(&'static str, String)>) -> Result<HttpResponse, ConnectorError> {
    let (status, headers, body) = match reply {
        Reply::Answer { status, headers, body } => (status, headers, SdkBody::from(body)),
        Reply::Broken { status, start } => {
            let parts = vec![(Duration::ZERO, Ok(start)), (Duration::ZERO, Err("connection reset"))];
            (status, Vec::new(), SdkBody::from_body_1_x(Parts::new(parts)))
        }
        Reply::SlowBody { status, body, after } => {
            (status, Vec::new(), SdkBody::from_body_1_x(Parts::new(vec![(after, Ok(body))])))
        }
        Reply::Reset | Reply::After(..) | Reply::With(..) => return Err(ConnectorError::io("connection reset".into())),
    };
    let mut response = HttpResponse::new(status.try_into().expect("a status"), body);
    for (name, value) in headers.into_iter().chain(extra) {
        response.headers_mut().insert(name, value);
    }
    Ok(response)
}

/// A body whose parts come one by one.
struct Parts {
    parts: std::vec::IntoIter<(Duration, Result<Bytes, &'static str>)>,
    wait: Option<Waiting>,
}

type Waiting = Mutex<(Pin<Box<tokio::time::Sleep>>, Option<Result<Bytes, &'static str>>)>;

impl Parts {
    fn new(parts: Vec<(Duration, Result<Bytes, &'static str>)>) -> Self {
        Parts { parts: parts.into_iter(), wait: None }
    }
}

impl http_body::Body for Parts {
    type Data = Bytes;
    type Error = Box<dyn std::error::Error + Send + Sync>;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let this = &mut *self;
        if this.wait.is_none() {
            let Some((delay, part)) = this.parts.next() else { return Poll::Ready(None) };
            this.wait = Some(Mutex::new((Box::pin(tokio::time::sleep(delay)), Some(part))));
        }
        let Some(wait) = &mut this.wait else { return Poll::Ready(None) };
        let (sleep, part) = wait.get_mut().expect("no panic before");
        if std::future::Future::poll(sleep.as_mut(), cx).is_pending() {
            return Poll::Pending;
        }
        let part = part.take();
        this.wait = None;
        Poll::Ready(part.map(|part| part.map(Frame::data).map_err(Into::into)))
    }
}

// ===== the server =====

/// One request as the server saw it.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) at: Duration,
    pub(crate) uri: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(key, _)| key == name).map_or("", |(_, value)| value)
    }
}

type Answering = dyn Fn(&Request, usize) -> Reply + Send + Sync;

/// A server that answers each request by its number, from 1.
#[derive(Clone)]
pub(crate) struct Server {
    answer: Arc<Answering>,
    seen: Arc<Mutex<Vec<Request>>>,
    began: tokio::time::Instant,
}

impl Server {
    pub(crate) fn new(answer: impl Fn(&Request, usize) -> Reply + Send + Sync + 'static) -> Self {
        listening();
        Server { answer: Arc::new(answer), seen: Arc::default(), began: tokio::time::Instant::now() }
    }

    /// The same answer to every request.
    pub(crate) fn always(reply: Reply) -> Self {
        Server::new(move |_, _| reply.clone())
    }

    /// These answers in turn, the last one for ever.
    pub(crate) fn script(replies: impl Into<Vec<Reply>>) -> Self {
        let replies = replies.into();
        Server::new(move |_, number| replies[(number - 1).min(replies.len() - 1)].clone())
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.seen.lock().expect("no panic before").clone()
    }

    pub(crate) fn count(&self) -> usize {
        self.requests().len()
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Server")
    }
}

impl HttpClient for Server {
    fn http_connector(&self, _: &HttpConnectorSettings, _: &RuntimeComponents) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }
}

impl HttpConnector for Server {
    fn call(&self, mut request: HttpRequest) -> HttpConnectorFuture {
        let server = self.clone();
        HttpConnectorFuture::new(async move {
            let at = server.began.elapsed();
            // Unread, an upload would count as stalled.
            let sent =
                ByteStream::new(request.take_body()).collect().await.map_err(|e| ConnectorError::user(e.into()))?;
            let headers = request.headers().iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
            let seen = Request { at, uri: request.uri().to_owned(), headers, body: sent.to_vec() };
            let number = {
                let mut requests = server.seen.lock().expect("no panic before");
                requests.push(seen.clone());
                requests.len()
            };
            reply((server.answer)(&seen, number)).await
        })
    }
}

// ===== clocks, configurations, governors =====

/// Wall-clock time that moves with Tokio's clock.
#[derive(Debug, Clone)]
pub(crate) struct TokioTime {
    origin: tokio::time::Instant,
}

/// Where [`TokioTime`] begins: 2026-11-30T00:53:20Z.
const EPOCH: Duration = Duration::from_secs(1_796_000_000);

impl TokioTime {
    pub(crate) fn new() -> Self {
        TokioTime { origin: tokio::time::Instant::now() }
    }
}

impl TimeSource for TokioTime {
    fn now(&self) -> SystemTime {
        UNIX_EPOCH + EPOCH + self.origin.elapsed()
    }
}

pub(crate) fn credentials() -> Credentials {
    Credentials::builder()
        .access_key_id("AKIDEXAMPLE")
        .secret_access_key("secret")
        .account_id(ACCOUNT)
        .provider_name("test")
        .build()
}

/// A configuration without hooks.
pub(crate) fn plain(server: &Server) -> Builder {
    SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("eu-west-1"))
        .credentials_provider(SharedCredentialsProvider::new(credentials()))
        .time_source(TokioTime::new())
        .http_client(SharedHttpClient::new(server.clone()))
}

/// Hears everything and keeps nothing.
struct Listener;

impl Subscriber for Listener {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// Without a subscriber of the process, one that a thread sets while another first comes by an event may miss it: the
/// event's place is then noted as of no interest to anybody. Every test has a server before it has events.
fn listening() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| tracing::subscriber::set_global_default(Listener).expect("nobody else sets one"));
}

/// A governor with fast retries, changed by `set`.
pub(crate) fn governor(set: impl FnOnce(ProviderBuilder) -> ProviderBuilder) -> Governor {
    // What these tests pin of rates are the plain halving and climbing.
    let config = Config::builder()
        .defaults(|all| all.law(LawName::Aimd))
        .provider("aws", |aws| set(aws.base_delay(Duration::from_millis(10)).max_backoff(Duration::from_millis(100))));
    Governor::builder().config(config.build().expect("a sound configuration")).seed(7).build()
}

pub(crate) fn totals(governor: &Governor) -> Totals {
    governor.summary().totals
}

/// A governed client of a server, by a governor.
pub(crate) fn ssm(server: &Server, governor: &Governor) -> aws_sdk_ssm::Client {
    aws_sdk_ssm::Client::new(&governed(server, governor))
}

pub(crate) fn governed(server: &Server, governor: &Governor) -> SdkConfig {
    cloud_governor_aws::AwsHooks::builder().governor(governor.clone()).install(&plain(server).build())
}
