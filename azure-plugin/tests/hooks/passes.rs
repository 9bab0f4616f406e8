//! Ways through a pipeline that the SDK does not take itself: policies of a program's own that copy, keep and send anew.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, OnceLock, Weak};

use async_trait::async_trait;
use azure_core::http::policies::{Policy, PolicyResult};
use azure_core::http::{ClientOptions, Context, Method, Request};
use cloud_governor::BreakerState;
use cloud_governor_azure::{CallOptions, governed};

use crate::common::{Client, Reply, Server, by, get, governor, request, seconds, service, totals};

/// Sends on through a copy of what follows.
#[derive(Debug)]
struct Copies;

#[async_trait]
impl Policy for Copies {
    async fn send(&self, ctx: &Context, request: &mut Request, next: &[Arc<dyn Policy>]) -> PolicyResult {
        let copy = next.to_vec();
        copy[0].send(ctx, request, &copy[1..]).await
    }
}

/// Options with a policy that copies what follows it, behind the governor's own per-call policy.
fn copied(server: &Server, governor: &cloud_governor::Governor) -> ClientOptions {
    let mut options = governed(server.options(), by(governor));
    options.per_call_policies.push(Arc::new(Copies));
    options
}

#[tokio::test(start_paused = true)]
async fn the_wire_is_watched_through_a_policy_that_copies_what_follows_it() {
    let server = Server::always(Reply::Reset);
    let governor = governor(|azure| azure.max_retries(2).breaker_failures(1));
    Client::new(copied(&server, &governor)).get().await.expect_err("always broken");
    assert_eq!((server.count(), totals(&governor).calls), (3, 3));
    assert_eq!(service(&governor).breaker, BreakerState::Open, "the service's own way failed");

    let slow = Server::always(Reply::ok().after(seconds(60)));
    let governor = crate::common::governor(|azure| azure.max_retries(0).attempt_timeout(seconds(5)));
    let began = tokio::time::Instant::now();
    Client::new(copied(&slow, &governor)).get().await.expect_err("late");
    assert!(began.elapsed() < seconds(6));
}

#[tokio::test(start_paused = true)]
async fn a_second_install_behind_a_policy_that_copies_what_follows_it_governs_nothing_twice() {
    let server = Server::always(Reply::new(503, ""));
    let (outer, inner) = (governor(|azure| azure.max_retries(2)), governor(|azure| azure.max_retries(5)));
    let client = Client::new(governed(copied(&server, &outer), by(&inner)));
    client.get().await.expect_err("fails for ever");
    assert_eq!((server.count(), totals(&outer).calls, totals(&inner).calls), (3, 3, 0));
}

/// Keeps the context of the first call, and what else a call is made with.
#[derive(Debug, Default)]
struct Keeps(Mutex<Option<Context<'static>>>);

#[async_trait]
impl Policy for Keeps {
    async fn send(&self, ctx: &Context, request: &mut Request, next: &[Arc<dyn Policy>]) -> PolicyResult {
        *self.0.lock().expect("no panic before") = Some(ctx.clone().into_owned());
        next[0].send(ctx, request, &next[1..]).await
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_with_a_context_kept_from_an_earlier_one_is_governed_like_any() {
    let server = Server::script([Reply::ok(), Reply::new(503, ""), Reply::ok()]);
    let governor = governor(|azure| azure.account_concurrency(NonZeroUsize::MIN));
    let keeps = Arc::new(Keeps::default());
    let mut options = governed(server.options(), by(&governor));
    options.per_try_policies.push(Arc::clone(&keeps) as Arc<dyn Policy>);
    let client = Client::new(options);
    client.get().await.expect("an answer");
    let kept = keeps.0.lock().expect("no panic before").take().expect("a context");
    client.send(kept, get()).await.expect("a retry");
    assert_eq!((server.count(), totals(&governor).calls, totals(&governor).retries), (3, 3, 1));
}

/// Once, asks for something else first, through the very client that it is part of.
#[derive(Default)]
struct AsksFirst {
    client: OnceLock<Weak<Client>>,
    asked: Mutex<bool>,
}

impl std::fmt::Debug for AsksFirst {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("AsksFirst")
    }
}

#[async_trait]
impl Policy for AsksFirst {
    async fn send(&self, ctx: &Context, request: &mut Request, next: &[Arc<dyn Policy>]) -> PolicyResult {
        let asked = std::mem::replace(&mut *self.asked.lock().expect("no panic before"), true);
        if !asked {
            let url = "https://acct.blob.core.windows.net/container/first".parse().expect("a URL");
            let client = self.client.get().and_then(Weak::upgrade).expect("the client that sends this");
            client.send(ctx.clone().into_owned(), Request::new(url, Method::Get)).await?;
        }
        next[0].send(ctx, request, &next[1..]).await
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_inside_another_through_the_same_client_is_governed() {
    let server = Server::new(|seen, number| match seen.url.path() {
        "/container/first" if number == 1 => Reply::new(503, ""),
        _ => Reply::ok(),
    });
    let governor = governor(|azure| azure.account_concurrency(NonZeroUsize::MIN));
    let first = Arc::new(AsksFirst::default());
    let mut options = governed(server.options(), by(&governor));
    options.per_try_policies.push(Arc::clone(&first) as Arc<dyn Policy>);
    let client = Arc::new(Client::new(options));
    assert!(first.client.set(Arc::downgrade(&client)).is_ok());
    client.get().await.expect("an answer");
    assert_eq!((server.count(), totals(&governor).calls, totals(&governor).retries), (3, 3, 1));
}

#[tokio::test(start_paused = true)]
async fn a_skipped_call_inside_another_is_none_of_its_sends() {
    let server = Server::new(|seen, _| match seen.url.path() {
        "/container/first" => Reply::ok().after(seconds(20)),
        _ => Reply::ok().after(seconds(4)),
    });
    let governor = governor(|azure| azure.max_retries(0).attempt_timeout(seconds(5)));
    let skips = Arc::new(SkipsFirst(Client::new(governed(server.options(), by(&governor)))));
    let mut options = governed(server.options(), by(&governor));
    options.per_try_policies.insert(0, skips);
    Client::new(options).get().await.expect("in its time");
    assert_eq!((server.count(), totals(&governor).calls), (2, 1));
}

/// Asks for something else first, without the governor.
struct SkipsFirst(Client);

impl std::fmt::Debug for SkipsFirst {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SkipsFirst")
    }
}

#[async_trait]
impl Policy for SkipsFirst {
    async fn send(&self, ctx: &Context, request: &mut Request, next: &[Arc<dyn Policy>]) -> PolicyResult {
        let url = "https://acct.blob.core.windows.net/container/first".parse().expect("a URL");
        let inner = ctx.to_borrowed().with_value(CallOptions::new().skip());
        self.0.send(inner.into_owned(), Request::new(url, Method::Get)).await?;
        next[0].send(ctx, request, &next[1..]).await
    }
}

/// Sends on with a context of its own.
#[derive(Debug)]
struct Forgets;

#[async_trait]
impl Policy for Forgets {
    async fn send(&self, _: &Context, request: &mut Request, next: &[Arc<dyn Policy>]) -> PolicyResult {
        next[0].send(&Context::new(), request, &next[1..]).await
    }
}

#[tokio::test(start_paused = true)]
async fn what_may_have_been_done_is_not_done_again_where_the_wire_cannot_be_seen() {
    for (method, sends) in [(Method::Post, 1), (Method::Get, 3)] {
        let server = Server::always(Reply::Reset);
        let governor = governor(|azure| azure.max_retries(2));
        let mut options = governed(server.options(), by(&governor));
        options.per_call_policies.push(Arc::new(Forgets));
        Client::new(options).send(Context::new(), request(method)).await.expect_err("always broken");
        assert_eq!((server.count(), service(&governor).slots_in_use), (sends, 0));
    }
}
