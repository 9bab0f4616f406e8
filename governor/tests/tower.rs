//! The tower layer: retries, responses, timeouts, readiness of the inner service, cancellation.

#![cfg(feature = "tower")]

mod common;

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use cloud_governor::tower::GovernorLayer;
use cloud_governor::{
    BreakerState, Class, Classification, Error, Governor, RefusalKind, Resilience, RetryPolicy, Scope,
};
use common::*;
use tokio::time::Instant;
use tower_layer::Layer;
use tower_service::Service;

/// Answers with what is scripted, the last answer for ever; `None` never answers.
#[derive(Clone)]
struct Scripted {
    answers: Arc<Vec<Option<Result<u16, &'static str>>>>,
    sent: Arc<AtomicU32>,
    /// Pending so many times before each send.
    unready: u32,
    asked: u32,
    ready: bool,
}

impl Scripted {
    fn new(answers: &[Option<Result<u16, &'static str>>]) -> Self {
        Scripted { answers: Arc::new(answers.to_vec()), sent: Arc::default(), unready: 0, asked: 0, ready: false }
    }

    fn sent(&self) -> u32 {
        self.sent.load(Ordering::SeqCst)
    }
}

impl Service<&'static str> for Scripted {
    type Response = u16;
    type Error = &'static str;
    type Future = Pin<Box<dyn Future<Output = Result<u16, &'static str>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), &'static str>> {
        if self.asked < self.unready {
            self.asked += 1;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        self.ready = true;
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: &'static str) -> Self::Future {
        assert!(std::mem::take(&mut self.ready), "called before it was ready");
        self.asked = 0;
        let index = self.sent.fetch_add(1, Ordering::SeqCst) as usize;
        let answer = self.answers[index.min(self.answers.len() - 1)];
        Box::pin(async move {
            match answer {
                Some(answer) => answer,
                None => std::future::pending().await,
            }
        })
    }
}

fn by_text(error: &&'static str) -> Classification {
    if *error == "fatal" { Classification::fatal() } else { Classification::transient() }
}

fn meaning(status: &u16) -> Option<Classification> {
    match *status {
        429 => Some(Classification::throttled()),
        500.. => Some(Classification::transient()),
        400.. => Some(Classification::fatal()),
        _ => None,
    }
}

async fn send(governor: &Governor, inner: &Scripted, policy: RetryPolicy) -> Result<u16, Error<&'static str>> {
    let resilience = Resilience::new().governor(governor).policy(policy).classify_with(by_text);
    GovernorLayer::new(scope(), resilience).classify_response(meaning).layer(inner.clone()).call("GET /").await
}

#[tokio::test(start_paused = true)]
async fn errors_and_responses_that_are_worth_it_are_sent_again() {
    let governor = governor("");
    let inner = Scripted::new(&[Some(Err("lost")), Some(Ok(503)), Some(Ok(429)), Some(Ok(200))]);
    assert_eq!(send(&governor, &inner, RetryPolicy::default()).await.unwrap(), 200);
    let totals = governor.summary().totals;
    assert_eq!((inner.sent(), totals.transient_errors, totals.throttled, totals.retries), (4, 2, 1, 3));
    assert!(governor.inspect(&scope()).unwrap().rate_rps < 20.0);
}

#[tokio::test(start_paused = true)]
async fn the_last_answer_comes_back_as_it_is_when_retrying_stops() {
    let policy = RetryPolicy::builder().max_retries(1).build().unwrap();
    let (response, error) = (Scripted::new(&[Some(Ok(503))]), Scripted::new(&[Some(Ok(503)), Some(Err("lost"))]));
    assert_eq!(send(&governor(""), &response, policy).await.unwrap(), 503, "a response stays one");
    assert_eq!(send(&governor(""), &error, policy).await.unwrap_err().into_call(), Some("lost"));
    assert_eq!((response.sent(), error.sent()), (2, 2));
}

#[tokio::test(start_paused = true)]
async fn an_earlier_response_comes_back_when_the_next_attempt_is_refused() {
    let governor = governor("ratelimit: { github: { max_rps: 0.1, burst: 1, deadline: 5 } }");
    let inner = Scripted::new(&[Some(Ok(503))]);
    assert_eq!(send(&governor, &inner, RetryPolicy::default()).await.unwrap(), 503);
    assert_eq!(inner.sent(), 1);
}

#[tokio::test(start_paused = true)]
async fn fatal_answers_come_back_at_once() {
    for answer in [Ok(404), Err("fatal")] {
        let inner = Scripted::new(&[Some(answer)]);
        let got = send(&governor(""), &inner, RetryPolicy::default()).await.map_err(|error| error.into_call().unwrap());
        assert_eq!((got, inner.sent()), (answer, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn every_response_is_a_success_unless_responses_are_classified() {
    let governor = governor("");
    let inner = Scripted::new(&[Some(Ok(429))]);
    let resilience = Resilience::new().governor(&governor).classify_with(by_text);
    let answer = GovernorLayer::new(scope(), resilience).layer(inner.clone()).call("GET /").await;
    assert_eq!((answer.unwrap(), governor.summary().totals.throttled), (429, 0));
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_outlives_its_timeout_is_sent_again_and_the_rest_is_told() {
    let policy = RetryPolicy::builder().attempt_timeout(secs(3.0)).max_retries(1).build().unwrap();
    let recovers = Scripted::new(&[None, Some(Ok(200))]);
    assert_eq!(send(&governor(""), &recovers, policy).await.unwrap(), 200);
    let hangs = Scripted::new(&[None]);
    let governor = governor("");
    let refused = send(&governor, &hangs, policy).await.unwrap_err();
    assert_eq!(refused.refusal().unwrap().kind(), RefusalKind::AttemptTimedOut);
    assert_eq!((hangs.sent(), governor.inspect(&scope()).unwrap().slots_in_use), (2, 0));
}

#[tokio::test(start_paused = true)]
async fn the_inner_service_is_asked_for_readiness_before_every_attempt_and_after_admission() {
    let mut inner = Scripted::new(&[Some(Err("lost")), Some(Ok(200))]);
    inner.unready = 3;
    assert_eq!(send(&governor(""), &inner, RetryPolicy::default()).await.unwrap(), 200);
    let mut never = Scripted::new(&[Some(Ok(200))]);
    never.unready = u32::MAX;
    let governor = governor("");
    let policy = RetryPolicy::builder().attempt_timeout(secs(1.0)).max_retries(0).build().unwrap();
    let slow = NeverReady(never.clone());
    let resilience = Resilience::new().governor(&governor).policy(policy).classify_with(by_text);
    let start = Instant::now();
    let refused = GovernorLayer::new(scope(), resilience).layer(slow).call("GET /").await.unwrap_err();
    assert_eq!(refused.refusal().unwrap().kind(), RefusalKind::AttemptTimedOut);
    assert_eq!((start.elapsed(), never.sent()), (secs(1.0), 0), "readiness is part of the attempt");
}

/// Not ready, and says nothing more.
#[derive(Clone)]
struct NeverReady(Scripted);

impl Service<&'static str> for NeverReady {
    type Response = u16;
    type Error = &'static str;
    type Future = <Scripted as Service<&'static str>>::Future;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), &'static str>> {
        Poll::Pending
    }

    fn call(&mut self, request: &'static str) -> Self::Future {
        self.0.call(request)
    }
}

/// linkerd2-proxy#751: what is held goes back when the answer is there, or when nobody waits for it any more.
#[tokio::test(start_paused = true)]
async fn a_dropped_response_future_gives_back_its_slot_and_an_unpolled_one_holds_none() {
    let governor = governor("ratelimit: { github: { account_concurrency: 1 } }");
    let inner = Scripted::new(&[None]);
    let resilience = Resilience::new().governor(&governor).classify_with(by_text);
    let mut service = GovernorLayer::new(scope(), resilience).layer(inner.clone());
    let unpolled = service.call("GET /");
    assert_eq!(governor.summary().totals.operations, 0);
    assert!(tokio::time::timeout(secs(1.0), service.call("GET /")).await.is_err());
    let seen = governor.inspect(&scope()).unwrap();
    assert_eq!((inner.sent(), seen.slots_in_use, seen.breaker), (1, 0, BreakerState::Closed));
    assert_eq!(governor.summary().totals.gave_up, 0);
    drop(unpolled);
}

#[tokio::test(start_paused = true)]
async fn the_scope_may_be_made_from_the_request() {
    let governor = governor("");
    let resilience = Resilience::new().governor(&governor).classify_with(by_text);
    let by_path = |request: &&'static str| Scope::new("github", *request, "", "rest");
    let mut service = GovernorLayer::new(by_path, resilience).layer(Scripted::new(&[Some(Ok(200))]));
    for owner in ["octo", "hooli", "octo"] {
        service.call(owner).await.unwrap();
    }
    let scopes = governor.summary().scopes;
    let calls = |owner: &str| scopes[&Scope::new("github", owner, "", "rest")].calls;
    assert_eq!((calls("octo"), calls("hooli")), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn clones_of_a_service_share_the_governors_state() {
    let governor = governor("ratelimit: { github: { account_concurrency: 1 } }");
    let resilience = Resilience::new().governor(&governor).classify_with(by_text);
    let service = GovernorLayer::new(scope(), resilience).layer(Scripted::new(&[Some(Ok(200))]));
    let order = Arc::new(Mutex::new(Vec::new()));
    let held = admit(&mut governor.call(&scope())).await;
    let calls: Vec<_> = (0..3)
        .map(|number| {
            let (mut service, order) = (service.clone(), Arc::clone(&order));
            tokio::spawn(async move {
                service.call("GET /").await.unwrap();
                order.lock().unwrap().push(number);
            })
        })
        .collect();
    tokio::time::sleep(secs(0.5)).await;
    assert!(order.lock().unwrap().is_empty());
    held.finish(fails(Class::Fatal));
    for call in calls {
        call.await.unwrap();
    }
    assert_eq!(*order.lock().unwrap(), [0, 1, 2]);
}
