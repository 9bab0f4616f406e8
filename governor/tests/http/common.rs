//! Governors, and clients under them.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use cloud_governor::middleware::{ByHost, GovernorMiddleware, HttpTarget};
use cloud_governor::{Config, FakeClock, Governor, Inspection, LawName, ProviderBuilder, Resilience, Scope, Totals};
use reqwest_middleware::{ClientBuilder, ClientWithMiddleware, Middleware, Result};

use crate::server::Server;

/// The host that requests are for, and so their provider.
pub(crate) const HOST: &str = "api.example.com";

pub(crate) const URL: &str = "http://api.example.com/things";

pub(crate) const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

pub(crate) const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

// ===== governors =====

/// A governor with fast retries and plenty of rate, changed by `set`.
pub(crate) fn governor(set: impl FnOnce(ProviderBuilder) -> ProviderBuilder) -> Governor {
    Governor::builder().config(config(set)).build()
}

/// The same by a clock that moves when it is told to. Connections do not wait for it.
pub(crate) fn timed(clock: &FakeClock, set: impl FnOnce(ProviderBuilder) -> ProviderBuilder) -> Governor {
    Governor::builder().config(config(set)).clock(clock.clone()).build()
}

fn config(set: impl FnOnce(ProviderBuilder) -> ProviderBuilder) -> Config {
    let config = Config::builder().provider(HOST, |api| {
        let api = api.law(LawName::Aimd).max_rps(100_000.0);
        set(api.base_delay(millis(1)).max_backoff(millis(2)).deadline(seconds(20)))
    });
    config.build().unwrap()
}

pub(crate) fn scope() -> Scope {
    Scope::new(HOST, "", "", "http")
}

pub(crate) fn totals(governor: &Governor) -> Totals {
    governor.summary().totals
}

pub(crate) fn state(governor: &Governor) -> Inspection {
    governor.inspect(&scope()).unwrap()
}

/// Whether nothing is held and nobody waits.
pub(crate) fn is_at_rest(governor: &Governor) -> bool {
    let mut scopes = governor.summary().scopes.into_keys();
    scopes.all(|scope| {
        governor
            .inspect(&scope)
            .is_none_or(|leaf| leaf.slots_in_use == 0 && leaf.waiting_for_slot == 0 && leaf.waiting_for_rate == 0)
    })
}

// ===== clients =====

pub(crate) fn under(governor: &Governor) -> Resilience {
    Resilience::new().governor(governor)
}

pub(crate) fn by_host(governor: &Governor) -> GovernorMiddleware {
    GovernorMiddleware::new(ByHost, under(governor))
}

/// A client whose requests all go to this server, whatever their host.
pub(crate) fn plain(server: &Server) -> reqwest::Client {
    let proxy = reqwest::Proxy::http(format!("http://{}", server.address())).unwrap();
    reqwest::Client::builder().proxy(proxy).build().unwrap()
}

pub(crate) fn with(server: &Server, middleware: impl Middleware) -> ClientWithMiddleware {
    ClientBuilder::new(plain(server)).with(middleware).build()
}

pub(crate) fn client(server: &Server, governor: &Governor) -> ClientWithMiddleware {
    with(server, by_host(governor))
}

pub(crate) fn client_of(server: &Server, governor: &Governor, target: impl HttpTarget) -> ClientWithMiddleware {
    with(server, GovernorMiddleware::new(target, under(governor)))
}

/// The status of the answer, or what stands in the error.
pub(crate) fn status(result: &Result<reqwest::Response>) -> u16 {
    result.as_ref().unwrap().status().as_u16()
}

// ===== time =====

/// The future's output, or nothing if it is not there after so many polls: then it is dropped at the next.
pub(crate) async fn polled<F: Future>(most: usize, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    let mut left = most;
    poll_fn(|cx| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        future.as_mut().poll(cx).map(Some)
    })
    .await
}

/// Waits until this holds: what another thread is about to do has no other sign.
pub(crate) async fn until(what: &str, holds: impl Fn() -> bool) {
    for _ in 0..2000 {
        if holds() {
            return;
        }
        tokio::time::sleep(millis(1)).await;
    }
    panic!("never came: {what}");
}
