//! The SDK's own loop, with recorder and all, around a wire that a test plays.

use std::collections::BTreeMap;
use std::fmt;
use std::future::{Future, ready};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Once, OnceLock};
use std::time::Duration;

use cloud_governor::{Config, Governor, Inspection, LawName, ProviderBuilder, Scope, Totals};
use futures_util::future::BoxFuture;
use google_cloud_auth::credentials::{CacheableResource, Credentials, CredentialsProvider, EntityTag};
use google_cloud_auth::errors::CredentialsError;
use google_cloud_gax::backoff_policy::BackoffPolicy;
use google_cloud_gax::error::Error;
use google_cloud_gax::error::rpc::{Code, Status};
use google_cloud_gax::retry_loop_internal::retry_loop;
use google_cloud_gax::retry_policy::RetryPolicy;
use google_cloud_gax::retry_throttler::SharedRetryThrottler;
use google_cloud_gax_internal::observability::{ClientRequestAttributes, RequestRecorder};
use google_cloud_gax_internal::options::InstrumentationClientInfo;
use http::{Extensions, HeaderMap, HeaderValue};
use tracing_subscriber::filter;
use tracing_subscriber::layer::SubscriberExt;

use crate::client::Client;
use crate::credentials::GovernedCredentials;
use crate::hooks::Hooks;
use crate::target::Targets;

pub(crate) const ACCOUNT: &str = "projects/home";

pub(crate) const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

// ===== governors =====

/// A governor with fast retries, changed by `set`.
pub(crate) fn governor(set: impl FnOnce(ProviderBuilder) -> ProviderBuilder) -> Governor {
    Governor::builder().config(config(set)).seed(7).build()
}

/// Without a subscriber of the process, one that a thread sets while another first comes by an event may miss it: the
/// event's place is then noted as of no interest to anybody. This one hears ours and keeps nothing.
fn listening() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let ours = filter::Targets::new().with_target("cloud_governor", tracing::Level::TRACE);
        let listener = tracing_subscriber::registry().with(ours);
        tracing::subscriber::set_global_default(listener).expect("nobody else sets one");
    });
}

pub(crate) fn config(set: impl FnOnce(ProviderBuilder) -> ProviderBuilder) -> Config {
    // Every test has a governor before it has events.
    listening();
    let config = Config::builder().defaults(|all| all.law(LawName::Aimd)).provider("gcp", |gcp| {
        set(gcp.published(false).base_delay(Duration::from_millis(10)).max_backoff(Duration::from_millis(100)))
    });
    config.build().expect("a sound configuration")
}

/// Nothing waits for a token.
pub(crate) fn fast(gcp: ProviderBuilder) -> ProviderBuilder {
    gcp.max_rps(1e6).burst(1e6)
}

pub(crate) fn totals(governor: &Governor) -> Totals {
    governor.summary().totals
}

pub(crate) fn by_scope(governor: &Governor) -> BTreeMap<Scope, Totals> {
    governor.summary().scopes
}

pub(crate) fn leaf(account: &str) -> Scope {
    Scope::new("gcp", account, "", "secretmanager")
}

pub(crate) fn inspect(governor: &Governor, account: &str) -> Inspection {
    governor.inspect(&leaf(account)).expect("a known scope")
}

// ===== errors =====

pub(crate) fn answered(status: u16) -> Error {
    answered_with(status, HeaderMap::new())
}

pub(crate) fn retry_after(status: u16, seconds: u64) -> Error {
    let mut headers = HeaderMap::new();
    headers.insert("retry-after", HeaderValue::from(seconds));
    answered_with(status, headers)
}

fn answered_with(status: u16, headers: HeaderMap) -> Error {
    let code = match status {
        429 => Code::ResourceExhausted,
        503 => Code::Unavailable,
        500 => Code::Internal,
        404 => Code::NotFound,
        _ => Code::Unknown,
    };
    let body = Status::default().set_code(code).set_message(format!("status {status}"));
    Error::service_with_http_metadata(body, Some(status), Some(headers))
}

pub(crate) fn no_connection() -> Error {
    Error::connect("no connection")
}

// ===== credentials =====

/// Credentials that do as they are told.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tokens {
    inner: Arc<TokensInner>,
}

#[derive(Debug, Default)]
struct TokensInner {
    asked: AtomicUsize,
    failures: Mutex<Vec<bool>>,
    is_slow: AtomicBool,
    slots_when_fetching: Mutex<Vec<usize>>,
    governor: OnceLock<Governor>,
}

impl Tokens {
    /// Fails so often, transiently or not, before there is a token.
    pub(crate) fn failing(failures: &[bool]) -> Self {
        let tokens = Tokens::default();
        *tokens.inner.failures.lock().unwrap() = failures.iter().rev().copied().collect();
        tokens
    }

    /// Every token takes a while, and how many slots of `ACCOUNT` were held meanwhile is noted.
    pub(crate) fn slow(governor: &Governor) -> Self {
        let tokens = Tokens::default();
        tokens.inner.is_slow.store(true, Ordering::Relaxed);
        tokens.inner.governor.set(governor.clone()).unwrap();
        tokens
    }

    pub(crate) fn asked(&self) -> usize {
        self.inner.asked.load(Ordering::Relaxed)
    }

    pub(crate) fn slots_when_fetching(&self) -> Vec<usize> {
        self.inner.slots_when_fetching.lock().unwrap().clone()
    }
}

impl CredentialsProvider for Tokens {
    async fn headers(&self, _: Extensions) -> Result<CacheableResource<HeaderMap>, CredentialsError> {
        self.inner.asked.fetch_add(1, Ordering::Relaxed);
        if self.inner.is_slow.load(Ordering::Relaxed) {
            tokio::time::sleep(seconds(1)).await;
            let governor = self.inner.governor.get().unwrap();
            let held = governor.inspect(&leaf(ACCOUNT)).map_or(0, |inspection| inspection.slots_in_use);
            self.inner.slots_when_fetching.lock().unwrap().push(held);
        }
        let failure = self.inner.failures.lock().unwrap().pop();
        match failure {
            Some(is_transient) => Err(CredentialsError::from_msg(is_transient, "no token")),
            None => Ok(CacheableResource::New { entity_tag: EntityTag::new(), data: HeaderMap::new() }),
        }
    }

    async fn universe_domain(&self) -> Option<String> {
        None
    }
}

// ===== a client =====

/// What a generated client does for one request.
#[derive(Clone)]
pub(crate) struct Bench {
    pub(crate) client: Arc<Client>,
    pub(crate) credentials: Arc<GovernedCredentials>,
    pub(crate) policy: Arc<dyn RetryPolicy>,
    pub(crate) backoff: Arc<dyn BackoffPolicy>,
    pub(crate) throttler: SharedRetryThrottler,
    has_recorder: bool,
    sent: Arc<AtomicUsize>,
}

/// What an attempt comes to.
pub(crate) type Step = fn() -> Result<u32, Error>;

/// One request.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) rpc: Option<&'static str>,
    pub(crate) is_grpc: bool,
    pub(crate) account: String,
    pub(crate) idempotent: bool,
}

impl Asked {
    pub(crate) fn of(account: &str) -> Self {
        let rpc = Some("google.cloud.secretmanager.v1.SecretManagerService/ListSecrets");
        Asked { rpc, is_grpc: false, account: account.to_owned(), idempotent: true }
    }

    pub(crate) fn mutation(mut self) -> Self {
        self.idempotent = false;
        self
    }

    pub(crate) fn grpc(mut self) -> Self {
        self.is_grpc = true;
        self
    }

    pub(crate) fn rpc(mut self, rpc: Option<&'static str>) -> Self {
        self.rpc = rpc;
        self
    }
}

impl fmt::Debug for Bench {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Bench")
    }
}

impl Bench {
    pub(crate) fn new(governor: &Governor) -> Self {
        Bench::with(governor, Tokens::default(), |_| {})
    }

    pub(crate) fn with(governor: &Governor, tokens: Tokens, set: impl FnOnce(&mut Client)) -> Self {
        let factory = "google_cloud_secretmanager_v1::builder::secret_manager_service::client::Factory";
        let mut client = Client::new(Targets::new(Some(ACCOUNT), factory), seconds(300));
        client.governor = Some(governor.clone());
        set(&mut client);
        let client = Arc::new(client);
        let hooks = Hooks::new(&client);
        Bench {
            credentials: Arc::new(GovernedCredentials::new(&client, Credentials::from(tokens))),
            policy: Arc::new(hooks.clone()),
            backoff: Arc::new(hooks.clone()),
            throttler: Arc::new(Mutex::new(hooks)),
            client,
            has_recorder: true,
            sent: Arc::default(),
        }
    }

    pub(crate) fn without_recorder(mut self) -> Self {
        self.has_recorder = false;
        self
    }

    /// With a policy of the call site's own.
    pub(crate) fn policy(mut self, policy: impl RetryPolicy + 'static) -> Self {
        self.policy = Arc::new(policy);
        self
    }

    /// How many requests went out.
    pub(crate) fn sent(&self) -> usize {
        self.sent.load(Ordering::SeqCst)
    }

    /// A request whose attempts get these answers, by their number, from 1.
    pub(crate) fn send<A: Future<Output = Result<u32, Error>> + Send + 'static>(
        &self,
        asked: Asked,
        answer: impl Fn(usize) -> A + Send + Sync + 'static,
    ) -> BoxFuture<'static, Result<u32, Error>> {
        let bench = self.clone();
        let mut number = 0;
        let inner = async move |_| {
            bench.headers().await?;
            bench.sent.fetch_add(1, Ordering::SeqCst);
            number += 1;
            let answer = answer(number).await;
            noted();
            answer
        };
        let bench = self.clone();
        let looped = self.looped(asked.idempotent, inner);
        Box::pin(async move { bench.recorded(&asked, looped).await })
    }

    /// The same, by a script whose last answer is for ever.
    pub(crate) fn play(&self, asked: Asked, script: &[Step]) -> BoxFuture<'static, Result<u32, Error>> {
        let script = script.to_vec();
        self.send(asked, move |number| ready(script[(number - 1).min(script.len() - 1)]()))
    }

    /// The SDK's loop with this bench's policies, around attempts of any kind.
    pub(crate) fn looped<I>(&self, idempotent: bool, inner: I) -> impl Future<Output = Result<u32, Error>> + use<I>
    where
        I: AsyncFnMut(Option<Duration>) -> Result<u32, Error> + Send,
    {
        let sleep = async |delay| tokio::time::sleep(delay).await;
        let (throttler, policy) = (Arc::clone(&self.throttler), Arc::clone(&self.policy));
        retry_loop(inner, sleep, idempotent, throttler, policy, Arc::clone(&self.backoff))
    }

    /// What the transport does before each send.
    pub(crate) async fn headers(&self) -> Result<(), Error> {
        self.credentials.headers(Extensions::new()).await.map(|_| ()).map_err(Error::authentication)
    }

    /// What the tracing layer of a client does around each request.
    pub(crate) async fn recorded(
        &self,
        asked: &Asked,
        request: impl Future<Output = Result<u32, Error>>,
    ) -> Result<u32, Error> {
        if !self.has_recorder {
            return request.await;
        }
        let mut info = InstrumentationClientInfo::default();
        info.service_name = "secretmanager";
        info.default_host = "secretmanager.googleapis.com";
        let recorder = RequestRecorder::new(info);
        let mut attributes = ClientRequestAttributes::default()
            .set_resource_name(format!("//secretmanager.googleapis.com/{}", asked.account));
        attributes.rpc_method = asked.rpc;
        attributes.url_template = (!asked.is_grpc).then_some("/v1/{parent}/secrets");
        recorder
            .clone()
            .scope(async {
                recorder.on_client_request(attributes);
                request.await
            })
            .await
    }
}

/// As the transport does after each answer.
fn noted() {
    if let Some(recorder) = RequestRecorder::current() {
        recorder.on_http_error(&no_connection());
    }
}
