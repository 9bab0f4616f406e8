//! Very many calls at once.

use std::fmt;
use std::future::{Future, poll_fn};
use std::num::NonZeroUsize;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;

use async_trait::async_trait;
use azure_core::credentials::{AccessToken, TokenCredential, TokenRequestOptions};
use azure_core::http::headers::Headers;
use azure_core::http::{AsyncRawResponse, ClientOptions, HttpClient, Request, Transport};
use azure_core::time::{Duration, OffsetDateTime};
use cloud_governor::BreakerState;
use cloud_governor_azure::governed;
use tokio::task::JoinSet;

use crate::common::{Client, Reply, Server, by, governor, seconds, service, totals};

const RATE: f64 = 100.0;

/// Serves so many a second, and throttles the rest.
struct Limited {
    /// Tokens, and when they were counted.
    bucket: Mutex<(f64, tokio::time::Instant)>,
    served: AtomicUsize,
    throttled: AtomicUsize,
}

impl Limited {
    fn new() -> Arc<Self> {
        let bucket = Mutex::new((RATE, tokio::time::Instant::now()));
        Arc::new(Limited { bucket, served: AtomicUsize::new(0), throttled: AtomicUsize::new(0) })
    }

    fn is_served(&self) -> bool {
        let mut bucket = self.bucket.lock().expect("no panic before");
        let tokens = (bucket.0 + bucket.1.elapsed().as_secs_f64() * RATE).min(RATE);
        let served = tokens >= 1.0;
        *bucket = (if served { tokens - 1.0 } else { tokens }, tokio::time::Instant::now());
        served
    }
}

impl fmt::Debug for Limited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Limited")
    }
}

#[async_trait]
impl HttpClient for Limited {
    async fn execute_request(&self, _: &Request) -> azure_core::Result<AsyncRawResponse> {
        let served = self.is_served();
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        let mut headers = Headers::new();
        let (status, counter) = if served { (200, &self.served) } else { (429, &self.throttled) };
        if !served {
            headers.insert("retry-after", "1");
        }
        counter.fetch_add(1, Ordering::Relaxed);
        Ok(AsyncRawResponse::from_bytes(u16::into(status), headers, "x"))
    }
}

/// Polls `future` at most so often.
async fn polled<F: Future>(most: u32, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    let mut left = most;
    poll_fn(|cx| {
        let Some(fewer) = left.checked_sub(1) else { return Poll::Ready(None) };
        left = fewer;
        future.as_mut().poll(cx).map(Some)
    })
    .await
}

#[tokio::test(start_paused = true)]
async fn three_thousand_calls_half_of_which_are_dropped_all_end_and_leave_nothing_behind() {
    let server = Limited::new();
    let transport = Transport::new(Arc::clone(&server) as Arc<dyn HttpClient>);
    let governor =
        governor(|azure| azure.max_rps(RATE).deadline(seconds(3600)).max_retries(1000).retry_budget(1_000_000));
    let options = ClientOptions { transport: Some(transport), ..Default::default() };
    let client = Arc::new(Client::new(governed(options, by(&governor))));
    let mut calls = JoinSet::new();
    let mut random = numbers(11);
    for call in 0..3_000_u32 {
        let client = Arc::clone(&client);
        let most = if call % 2 == 0 { u32::MAX } else { random() % 40 };
        calls.spawn(async move { (most, polled(most, client.get()).await) });
    }
    let began = tokio::time::Instant::now();
    let (mut served, mut dropped) = (0, 0);
    while let Some(ended) = calls.join_next().await {
        match ended.expect("no panic") {
            (_, Some(answer)) => {
                assert_eq!(u16::from(answer.expect("an answer").status()), 200);
                served += 1;
            }
            (most, None) => {
                assert!(most < u32::MAX);
                dropped += 1;
            }
        }
    }
    let leaf = service(&governor);
    assert_eq!(server.served.load(Ordering::Relaxed), served, "and none was served twice");
    assert!(served >= 1_500 && dropped > 0, "{served} served, {dropped} dropped");
    assert!(server.throttled.load(Ordering::Relaxed) <= 10);
    assert!(began.elapsed() < seconds(60), "they wait for each other, and for no more");
    assert_eq!((leaf.slots_in_use, leaf.waiting_for_slot, leaf.waiting_for_rate), (0, 0, 0));
    assert_eq!(leaf.breaker, BreakerState::Closed);
    assert_eq!(tokio::runtime::Handle::current().metrics().num_alive_tasks(), 0);
}

/// Numbers that look random and are always the same.
fn numbers(seed: u32) -> impl FnMut() -> u32 {
    let mut state = seed;
    move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state >> 8
    }
}

/// Fails in a way of its own, once.
#[derive(Debug)]
struct Panics(AtomicUsize);

#[async_trait]
impl TokenCredential for Panics {
    async fn get_token(&self, _: &[&str], _: Option<TokenRequestOptions<'_>>) -> azure_core::Result<AccessToken> {
        assert!(self.0.fetch_add(1, Ordering::Relaxed) > 0, "of its own");
        Ok(AccessToken::new("t", OffsetDateTime::now_utc() + Duration::hours(1)))
    }
}

#[tokio::test(start_paused = true)]
async fn a_credential_that_panics_holds_nothing_afterwards() {
    let server = Server::always(Reply::ok());
    let governor = governor(|azure| azure.account_concurrency(NonZeroUsize::MIN));
    let client =
        Arc::new(Client::authorized(governed(server.options(), by(&governor)), Arc::new(Panics(AtomicUsize::new(0)))));
    let first = Arc::clone(&client);
    let first = tokio::spawn(async move { first.get().await });
    assert!(first.await.expect_err("panics").is_panic());
    client.get().await.expect("the slot is there");
    assert_eq!((service(&governor).slots_in_use, totals(&governor).gave_up), (0, 0));
}
