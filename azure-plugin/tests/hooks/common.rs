//! A server in memory, a clock that is Tokio's, and clients of both.

use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, Once};
use std::time::Duration;

use async_trait::async_trait;
use azure_core::credentials::{Secret, TokenCredential};
use azure_core::error::{Error, ErrorKind};
use azure_core::http::headers::{HeaderName, Headers};
use azure_core::http::policies::Policy;
use azure_core::http::policies::auth::BearerTokenAuthorizationPolicy;
use azure_core::http::{
    AsyncRawResponse, Body, ClientOptions, Context, HttpClient, Method, Pipeline, RawResponse, Request, Transport, Url,
};
use azure_identity::{ClientSecretCredential, ClientSecretCredentialOptions};
use bytes::Bytes;
use cloud_governor::{Config, Governor, Inspection, LawName, ProviderBuilder, Scope, Totals};
use cloud_governor_azure::{AzureOptions, governed};
use futures_util::Stream;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

#[path = "common/replies.rs"]
mod replies;

pub(crate) use replies::Reply;
use replies::deliver;

pub(crate) const URL: &str = "https://acct.blob.core.windows.net/container/blob";
const TENANT: &str = "tenant-1";

pub(crate) const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

pub(crate) fn name(header: &'static str) -> HeaderName {
    HeaderName::from_static(header)
}

// ===== the server =====

/// One request as the server saw it.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) at: Duration,
    pub(crate) url: Url,
    pub(crate) headers: Headers,
    pub(crate) body: Vec<u8>,
}

impl Seen {
    pub(crate) fn is_for_token(&self) -> bool {
        self.url.path().ends_with("/token")
    }

    pub(crate) fn header(&self, header: &'static str) -> Option<String> {
        self.headers.get_optional_string(&name(header))
    }
}

type Answering = dyn Fn(&Seen, usize) -> Reply + Send + Sync;

/// A server that answers each request by its number among those to the same host, from 1.
#[derive(Clone)]
pub(crate) struct Server {
    answer: Arc<Answering>,
    seen: Arc<Mutex<Vec<Seen>>>,
    began: tokio::time::Instant,
}

impl Server {
    pub(crate) fn new(answer: impl Fn(&Seen, usize) -> Reply + Send + Sync + 'static) -> Self {
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
        Server::new(move |_, number| in_turn(&replies, number))
    }

    /// Tokens by one script, everything else by another.
    pub(crate) fn with_tokens(tokens: impl Into<Vec<Reply>>, replies: impl Into<Vec<Reply>>) -> Self {
        let (tokens, replies) = (tokens.into(), replies.into());
        Server::new(move |seen, number| match seen.is_for_token() {
            true => in_turn(&tokens, number),
            false => in_turn(&replies, number),
        })
    }

    pub(crate) fn requests(&self) -> Vec<Seen> {
        self.seen.lock().expect("no panic before").clone()
    }

    pub(crate) fn count(&self) -> usize {
        self.requests().len()
    }

    /// How many requests for tokens, and how many others.
    pub(crate) fn counts(&self) -> (usize, usize) {
        let requests = self.requests();
        let tokens = requests.iter().filter(|seen| seen.is_for_token()).count();
        (tokens, requests.len() - tokens)
    }

    pub(crate) fn options(&self) -> ClientOptions {
        ClientOptions { transport: Some(Transport::new(Arc::new(self.clone()))), ..Default::default() }
    }
}

fn in_turn(replies: &[Reply], number: usize) -> Reply {
    replies[(number - 1).min(replies.len() - 1)].clone()
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Server")
    }
}

#[async_trait]
impl HttpClient for Server {
    async fn execute_request(&self, request: &Request) -> azure_core::Result<AsyncRawResponse> {
        let at = self.began.elapsed();
        let body = match request.body() {
            Body::Bytes(bytes) => bytes.to_vec(),
            Body::SeekableStream(stream) => {
                let mut stream = stream.clone();
                let mut sent = Vec::new();
                futures_util::AsyncReadExt::read_to_end(&mut stream, &mut sent).await?;
                sent
            }
        };
        let seen = Seen { at, url: request.url().clone(), headers: request.headers().clone(), body };
        let number = {
            let mut requests = self.seen.lock().expect("no panic before");
            requests.push(seen.clone());
            requests.iter().filter(|other| other.url.host_str() == seen.url.host_str()).count()
        };
        deliver((self.answer)(&seen, number)).await
    }
}

// ===== events =====

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

// ===== governors =====

/// A governor with fast retries, changed by `set`.
pub(crate) fn governor(set: impl FnOnce(ProviderBuilder) -> ProviderBuilder) -> Governor {
    // What these tests pin of rates are the plain halving and climbing.
    let config = Config::builder().defaults(|all| all.law(LawName::Aimd)).provider("azure", |azure| {
        set(azure.base_delay(Duration::from_millis(10)).max_backoff(Duration::from_millis(100)))
    });
    Governor::builder().config(config.build().expect("a sound configuration")).seed(7).build()
}

pub(crate) fn totals(governor: &Governor) -> Totals {
    governor.summary().totals
}

/// The state of the service's leaf.
pub(crate) fn service(governor: &Governor) -> Inspection {
    governor.inspect(&Scope::new("azure", "acct", "", "storage.blob")).expect("a leaf that was called")
}

/// The state of the tenant's identity.
pub(crate) fn identity(governor: &Governor) -> Inspection {
    let scope = Scope::new("azure", format!("identity:{TENANT}"), "", "identity");
    governor.inspect(&scope).expect("a leaf that was called")
}

/// The state of identity as an install with this account knows it, whose credential is not governed.
pub(crate) fn identity_of(governor: &Governor, account: &str) -> Inspection {
    let scope = Scope::new("azure", format!("identity:{account}"), "", "identity");
    governor.inspect(&scope).expect("a leaf that was charged")
}

// ===== clients =====

/// A client made by hand, as the SDK's own are made.
pub(crate) struct Client {
    pipeline: Pipeline,
}

impl Client {
    pub(crate) fn new(options: ClientOptions) -> Self {
        Client::with_auth(options, Vec::new())
    }

    pub(crate) fn governed(server: &Server, governor: &Governor) -> Self {
        Client::new(governed(server.options(), by(governor)))
    }

    pub(crate) fn authorized(options: ClientOptions, credential: Arc<dyn TokenCredential>) -> Self {
        let policy = BearerTokenAuthorizationPolicy::new(credential, ["https://storage.azure.com/.default"]);
        Client::with_auth(options, vec![Arc::new(policy)])
    }

    fn with_auth(options: ClientOptions, auth: Vec<Arc<dyn Policy>>) -> Self {
        Client { pipeline: Pipeline::new(Some("test"), Some("0"), options, Vec::new(), auth, None) }
    }

    pub(crate) async fn send(&self, ctx: Context<'_>, mut request: Request) -> azure_core::Result<RawResponse> {
        self.pipeline.send(&ctx, &mut request, None).await
    }

    pub(crate) async fn get(&self) -> azure_core::Result<RawResponse> {
        self.send(Context::new(), get()).await
    }

    pub(crate) async fn get_with(&self, options: cloud_governor_azure::CallOptions) -> azure_core::Result<RawResponse> {
        self.send(Context::new().with_value(options), get()).await
    }

    pub(crate) async fn post(&self) -> azure_core::Result<RawResponse> {
        self.send(Context::new(), request(Method::Post)).await
    }

    pub(crate) async fn download(&self) -> azure_core::Result<Download> {
        self.download_with(Context::new()).await
    }

    pub(crate) async fn download_with(&self, ctx: Context<'_>) -> azure_core::Result<Download> {
        let response = self.pipeline.stream(&ctx, &mut get(), None).await?;
        Ok(Box::pin(response.into_body()))
    }
}

pub(crate) type Download = Pin<Box<dyn Stream<Item = azure_core::Result<Bytes>> + Send>>;

pub(crate) fn by(governor: &Governor) -> AzureOptions {
    AzureOptions::new().governor(governor.clone()).account("sub-1")
}

pub(crate) fn request(method: Method) -> Request {
    Request::new(Url::parse(URL).expect("a URL"), method)
}

pub(crate) fn get() -> Request {
    request(Method::Get)
}

pub(crate) fn credential(options: ClientOptions) -> Arc<dyn TokenCredential> {
    let options = ClientSecretCredentialOptions { client_options: options };
    let secret = Secret::new("passwordPRIVATE");
    ClientSecretCredential::new(TENANT, "client".to_owned(), secret, Some(options)).expect("a sound credential")
}

/// The status of an SDK error that is an answer.
pub(crate) fn status(error: &Error) -> Option<u16> {
    error.http_status().map(u16::from)
}

/// The error code that the SDK found in an answer.
pub(crate) fn code(error: &Error) -> Option<&str> {
    match error.kind() {
        ErrorKind::HttpResponse { error_code, .. } => error_code.as_deref(),
        _ => None,
    }
}
