//! Other middlewares above and below, and the same one twice.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use cloud_governor::{CallOptions, Refusal, RefusalKind, RetryPolicy};
use http::Extensions;
use reqwest::{Request, Response};
use reqwest_middleware::{ClientBuilder, ClientWithMiddleware, Middleware, Next, Result};

use crate::common::*;
use crate::server::{Reply, Server};

#[tokio::test]
async fn put_into_a_client_twice_it_governs_once() {
    let server = Server::always(Reply::new(503, "no"));
    let governor = governor(|api| api.max_retries(2));
    let client = ClientBuilder::new(plain(&server)).with(by_host(&governor)).with(by_host(&governor)).build();
    for call in 1..=3 {
        assert_eq!(status(&client.get(URL).send().await), 503);
        assert_eq!((server.count(), totals(&governor).operations), (3 * call, call as u64));
    }
}

#[tokio::test]
async fn extensions_that_are_used_again_are_governed_again() {
    let server = Server::always(Reply::ok());
    let governor = governor(|api| api);
    let client = client(&server, &governor);
    let mut extensions = Extensions::new();
    for call in 1..=3 {
        let request = Request::new(reqwest::Method::GET, URL.parse().unwrap());
        client.execute_with_extensions(request, &mut extensions).await.unwrap();
        assert_eq!(totals(&governor).operations, call);
    }
    assert!(extensions.is_empty());
}

/// How many attempts came by, in the extensions.
#[derive(Clone, Debug, PartialEq)]
struct Seen(u32);

struct Counts;

#[async_trait]
impl Middleware for Counts {
    async fn handle(&self, request: Request, extensions: &mut Extensions, next: Next<'_>) -> Result<Response> {
        extensions.get_or_insert_with(|| Seen(0)).0 += 1;
        next.run(request, extensions).await
    }
}

#[tokio::test]
async fn no_attempt_finds_what_another_left_and_the_caller_what_the_last_did() {
    let server = Server::script([Reply::new(503, ""), Reply::closed(), Reply::ok()]);
    let governor = governor(|api| api);
    let client = ClientBuilder::new(plain(&server)).with(by_host(&governor)).with(Counts).build();
    let request = Request::new(reqwest::Method::GET, URL.parse().unwrap());
    let mut extensions = Extensions::new();
    assert_eq!(status(&client.execute_with_extensions(request, &mut extensions).await), 200);
    assert_eq!((server.count(), extensions.get::<Seen>()), (3, Some(&Seen(1))));
}

/// Fails before anything is sent, so many times.
struct Auth {
    failures: AtomicUsize,
}

#[derive(Debug)]
struct NoToken;

impl std::fmt::Display for NoToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("no token: too many requests")
    }
}

impl std::error::Error for NoToken {}

#[async_trait]
impl Middleware for Auth {
    async fn handle(&self, request: Request, extensions: &mut Extensions, next: Next<'_>) -> Result<Response> {
        let left = self.failures.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        match left {
            Ok(_) => Err(reqwest_middleware::Error::middleware(NoToken)),
            Err(_) => next.run(request, extensions).await,
        }
    }
}

#[tokio::test]
async fn the_failure_of_another_middleware_is_passed_on_and_opens_no_circuit() {
    let server = Server::always(Reply::ok());
    let governor = governor(|api| api.max_retries(3).breaker_failures(1));
    let auth = Auth { failures: AtomicUsize::new(5) };
    let client = ClientBuilder::new(plain(&server)).with(by_host(&governor)).with(auth).build();
    for _ in 0..5 {
        let error = client.get(URL).send().await.unwrap_err();
        assert!(error.is_middleware() && error.to_string().contains("no token"), "{error:?}");
    }
    assert_eq!(status(&client.get(URL).send().await), 200);
    let totals = totals(&governor);
    assert_eq!((server.count(), totals.throttled, totals.transient_errors, totals.gave_up), (1, 0, 0, 0));
}

/// Wraps what the client says in an error of its own, as middlewares that retry do.
struct Wraps;

#[derive(Debug)]
struct Wrapped(reqwest_middleware::Error);

impl std::fmt::Display for Wrapped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("wrapped")
    }
}

impl std::error::Error for Wrapped {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

#[async_trait]
impl Middleware for Wraps {
    async fn handle(&self, request: Request, extensions: &mut Extensions, next: Next<'_>) -> Result<Response> {
        next.run(request, extensions).await.map_err(|error| reqwest_middleware::Error::middleware(Wrapped(error)))
    }
}

#[tokio::test]
async fn the_clients_own_error_is_known_in_that_of_another_middleware() {
    let server = Server::script([Reply::closed(), Reply::closed(), Reply::ok()]);
    let governor = governor(|api| api);
    let client = ClientBuilder::new(plain(&server)).with(by_host(&governor)).with(Wraps).build();
    assert_eq!(status(&client.get(URL).send().await), 200);
    assert_eq!((server.count(), totals(&governor).transient_errors), (3, 2));
}

/// Asks another governed client first.
struct Asks(ClientWithMiddleware);

#[async_trait]
impl Middleware for Asks {
    async fn handle(&self, request: Request, extensions: &mut Extensions, next: Next<'_>) -> Result<Response> {
        self.0.get("http://tokens.example.com/").send().await?;
        next.run(request, extensions).await
    }
}

#[tokio::test]
async fn the_refusal_of_a_call_inside_is_neither_counted_nor_sent_again() {
    let server = Server::start(|asked, _| match asked.uri.host() {
        Some("tokens.example.com") => Reply::new(500, "no"),
        _ => Reply::ok(),
    });
    let governor = governor(|api| api.max_retries(3).breaker_failures(1));
    let tokens = client(&server, &governor);
    let impatient = CallOptions::new().policy(RetryPolicy::none());
    while tokens.get("http://tokens.example.com/").with_extension(impatient.clone()).send().await.is_ok() {}
    let before = server.count();
    let client = ClientBuilder::new(plain(&server)).with(by_host(&governor)).with(Asks(tokens)).build();
    let error = client.get(URL).send().await.unwrap_err();
    let refusal = Refusal::find(&error).unwrap();
    assert_eq!((refusal.kind(), refusal.scope().provider()), (RefusalKind::CircuitOpen, "tokens.example.com"));
    assert_eq!(server.count(), before);
    let ours = governor.summary().scopes[&scope()];
    assert_eq!((ours.calls, ours.retries, ours.gave_up, ours.transient_errors), (1, 0, 0, 0));
    assert!(is_at_rest(&governor));
}

#[tokio::test]
async fn a_middleware_below_sees_every_attempt_and_one_above_the_call() {
    struct Passes(Arc<AtomicUsize>);

    #[async_trait]
    impl Middleware for Passes {
        async fn handle(&self, request: Request, extensions: &mut Extensions, next: Next<'_>) -> Result<Response> {
            self.0.fetch_add(1, Ordering::SeqCst);
            next.run(request, extensions).await
        }
    }

    let server = Server::script([Reply::new(503, ""), Reply::ok()]);
    let governor = governor(|api| api);
    let (above, below) = (Arc::default(), Arc::default());
    let client = ClientBuilder::new(plain(&server))
        .with(Passes(Arc::clone(&above)))
        .with(by_host(&governor))
        .with(Passes(Arc::clone(&below)))
        .build();
    assert_eq!(status(&client.get(URL).send().await), 200);
    assert_eq!((above.load(Ordering::SeqCst), below.load(Ordering::SeqCst)), (1, 2));
}
