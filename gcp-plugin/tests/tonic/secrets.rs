//! Tokens and bodies stay where they are.

use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use cloud_governor::grpc::GovernedChannel;
use cloud_governor::{Governor, Refusal};
use cloud_governor_gcp::{GoogleRpcs, grpc_layer, http_middleware};
use gcloud_gax::conn::{Channel, Environment};
use gcloud_googleapis::pubsub::v1::publisher_client::PublisherClient;
use gcloud_googleapis::pubsub::v1::{GetTopicRequest, PublishRequest, PubsubMessage};
use gcloud_storage::client::Client;
use gcloud_storage::http::objects::get::GetObjectRequest;
use gcloud_storage::http::objects::upload::{Media, UploadObjectRequest, UploadType};
use token_source::{TokenSource, TokenSourceProvider};
use tonic::{Code, Request, Status};
use tonic_types::ErrorDetails;
use tower::Layer;

use crate::clients::{by, connected};
use crate::governors::{TOKEN, governor, is_at_rest, totals};
use crate::log::logging;
use crate::reply::Reply;
use crate::server::Server;
use crate::storage;

/// Stands in bodies of requests and of answers, in headers and in trailers, in queries.
const SECRET: &str = "hunter2-of-a-body";

fn is_clean(what: &str, text: &str) {
    assert!(!text.contains(TOKEN) && !text.contains(SECRET), "{what}: {text}");
}

fn shows_nothing(what: &str, shown: &dyn Debug) {
    is_clean(what, &format!("{shown:?} {shown:#?}"));
}

// ===== tokens =====

/// Has a token, or fails with one in its text.
#[derive(Debug, Clone, Default)]
struct Tokens {
    are_had: bool,
    asked: Arc<AtomicUsize>,
}

#[async_trait]
impl TokenSource for Tokens {
    async fn token(&self) -> Result<String, Box<dyn std::error::Error + Send + Sync>> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        if self.are_had { Ok(format!("Bearer {TOKEN}")) } else { Err(format!("no {TOKEN}").into()) }
    }
}

impl TokenSourceProvider for Tokens {
    fn token_source(&self) -> Arc<dyn TokenSource> {
        Arc::new(self.clone())
    }
}

fn tokens() -> Tokens {
    Tokens { are_had: true, ..Tokens::default() }
}

// ===== calls =====

/// Failures of every kind, all of which hold the secret somewhere.
fn leaking() -> Server {
    Server::start(|asked, number| {
        let is_grpc = asked.path.starts_with("/google.");
        let details = || Some(ErrorDetails::with_error_info(SECRET, SECRET, [(SECRET.to_owned(), SECRET.to_owned())]));
        match number % 6 {
            1 if is_grpc => Reply::trailers(Code::Unavailable, details()).trailer("x-secret", SECRET),
            2 if is_grpc => Reply::trailers_only(Code::ResourceExhausted, details()),
            3 if is_grpc => Reply::new(503, SECRET),
            _ if is_grpc => Reply::trailers_only(Code::PermissionDenied, details()).header("x-secret", SECRET),
            1 => Reply::saying(503, "UNAVAILABLE", SECRET).header("x-secret", SECRET),
            2 => Reply::saying(429, "RESOURCE_EXHAUSTED", SECRET),
            3 => Reply::new(500, SECRET),
            4 => Reply::Reset,
            5 => Reply::new(503, SECRET).cut(),
            _ => Reply::saying(403, "PERMISSION_DENIED", SECRET),
        }
    })
}

type Publisher = PublisherClient<GovernedChannel<Channel, GoogleRpcs>>;

async fn publisher(server: &Server, governor: &Governor, tokens: Tokens) -> Publisher {
    let channel = connected(server, Environment::GoogleCloud(Box::new(tokens))).await;
    PublisherClient::new(grpc_layer(by(governor)).layer(channel))
}

async fn rpc_failures(server: &Server, governor: &Governor) -> Vec<Status> {
    let mut errors = Vec::new();
    let mut publisher = publisher(server, governor, tokens()).await;
    for _ in 0..8 {
        let message = PubsubMessage { data: SECRET.into(), ..PubsubMessage::default() };
        let publish = PublishRequest { topic: "projects/home/topics/t".to_owned(), messages: vec![message] };
        let mut publish = Request::new(publish);
        let routing = "topic=projects/home/topics/t".parse().expect("a header");
        publish.metadata_mut().insert("x-goog-request-params", routing);
        publish.metadata_mut().insert("x-secret", SECRET.parse().expect("a header"));
        errors.extend(publisher.publish(publish).await.err());
    }
    shows_nothing("a client on tonic", &publisher);
    errors
}

async fn json_failures(server: &Server, governor: &Governor) -> Vec<gcloud_storage::http::Error> {
    let mut errors = Vec::new();
    let mut config = storage::config(server, by(governor));
    config.token_source_provider = Some(Box::new(tokens()));
    let storage = Client::new(config);
    for _ in 0..6 {
        let object = SECRET.to_owned();
        let get = GetObjectRequest { bucket: SECRET.to_owned(), object, ..GetObjectRequest::default() };
        errors.extend(storage.get_object(&get).await.err());
        let to = UploadObjectRequest { bucket: "b".to_owned(), ..UploadObjectRequest::default() };
        let media = UploadType::Simple(Media::new(SECRET));
        errors.extend(storage.upload_object(&to, SECRET, &media).await.err());
    }
    errors
}

fn governor_is_clean(governor: &Governor) {
    shows_nothing("the summary", &governor.summary());
    shows_nothing("the messages", &governor.messages());
    shows_nothing("the governor", governor);
    for scope in governor.summary().scopes.keys() {
        is_clean("a scope", &scope.to_string());
        shows_nothing("a leaf", &governor.inspect(scope));
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_of_ours_logs_a_token_or_a_body() {
    let (log, _guard) = logging();
    let server = leaking();
    for breaker_failures in [1, 1_000_000] {
        let governor = governor(|gcp| gcp.max_retries(2).breaker_failures(breaker_failures));
        let statuses = rpc_failures(&server, &governor).await;
        let errors = json_failures(&server, &governor).await;
        assert!(statuses.len() + errors.len() > 15, "{} and {} failures", statuses.len(), errors.len());
        let totals = totals(&governor);
        assert!(totals.throttled + totals.transient_errors > 0, "{totals:?}");
        governor_is_clean(&governor);
        shows_nothing("the layer", &grpc_layer(by(&governor)));
        shows_nothing("the middleware", &http_middleware(by(&governor)));
    }
    let has_token = |value: &str| value.contains(TOKEN);
    assert!(server.count_of(|asked| asked.header("authorization").is_some_and(has_token)) > 20);
    let text = log.text();
    assert!(text.contains("cloud_governor") && text.contains("circuit"), "{text}");
    is_clean("the log", &text);
}

#[tokio::test(start_paused = true)]
async fn no_refusal_holds_a_token_or_a_body() {
    let server = leaking();
    let governor = governor(|gcp| gcp.max_retries(0).breaker_failures(1));
    let statuses = rpc_failures(&server, &governor).await;
    let errors = json_failures(&server, &governor).await;
    let mut refused = 0;
    for status in statuses.iter().filter(|status| Refusal::find(*status).is_some()) {
        refused += 1;
        shows_nothing("a refused call's status", status);
        is_clean("its text", &status.to_string());
    }
    for error in errors {
        if let gcloud_storage::http::Error::HttpMiddleware(error) = error {
            refused += 1;
            shows_nothing("a refused request's error", &error);
            is_clean("its text", &format!("{error:#}"));
        }
    }
    assert!(refused > 5, "{refused} refused");
}

/// Its error is the caller's, with whatever it says; it says nothing of the service.
#[tokio::test(start_paused = true)]
async fn a_token_that_cannot_be_had_is_no_failure_of_the_service() {
    let (log, _guard) = logging();
    let server = Server::always(Reply::grpc(b""));
    let governor = governor(|gcp| gcp.max_retries(3).breaker_failures(1));
    let source = Tokens::default();
    let mut publisher = publisher(&server, &governor, source.clone()).await;
    for number in 1..=3 {
        let status = publisher.get_topic(GetTopicRequest::default()).await.expect_err("no token");
        assert_eq!(status.code(), Code::Unauthenticated);
        assert!(Refusal::find(&status).is_none(), "{status:?}");
        assert_eq!((server.count(), source.asked.load(Ordering::SeqCst)), (0, number));
    }
    let totals = totals(&governor);
    assert_eq!((totals.throttled, totals.transient_errors, totals.breaker_trips, totals.retries), (0, 0, 0, 0));
    assert!(is_at_rest(&governor));
    is_clean("the log", &log.text());
    governor_is_clean(&governor);
}

/// A token may run out while a call waits for its turn.
#[tokio::test(start_paused = true)]
async fn each_attempt_has_a_token_of_its_own() {
    let server = Server::script([Reply::trailers_only(Code::Unavailable, None), Reply::grpc(b"")]);
    let governor = governor(|gcp| gcp);
    let source = tokens();
    let mut publisher = publisher(&server, &governor, source.clone()).await;
    publisher.get_topic(GetTopicRequest::default()).await.expect("a topic");
    assert_eq!((server.count(), source.asked.load(Ordering::SeqCst)), (2, 2));
}
