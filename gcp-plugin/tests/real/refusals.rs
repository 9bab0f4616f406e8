//! What the governor refuses, as the clients tell it.

use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use cloud_governor::{BreakerState, FakeClock, GiveUp, Governor, RefusalKind, RetryPolicy};
use cloud_governor_gcp::{CallOptions, CallReport, call, refusal};
use google_cloud_gax::Result;
use google_cloud_lro::Poller;
use tonic::Code;

use crate::common::{
    BUCKET, HOME, answered, assets, by, control, governor, inspect, instances, is_at_rest, millis, seconds, storage,
    timed, totals, until,
};
use crate::reply::Reply;
use crate::server::Server;

type Calls = Vec<(&'static str, Pin<Box<dyn Future<Output = Result<()>> + Send>>)>;

/// One call of each kind.
async fn calls(server: &Server, governor: &Governor) -> Calls {
    let (assets, instances) = (assets(server, by(governor)).await, instances(server, by(governor)).await);
    let (storage, control) = (storage(server, by(governor)).await, control(server, by(governor)).await);
    let (list, export) = (assets.list_assets().set_parent(HOME), assets.export_assets().set_parent(HOME).poller());
    let get = instances.get().set_project("home").set_zone("z").set_instance("i");
    let read = storage.read_object(BUCKET, "o");
    let write = |length| storage.write_object(BUCKET, "o", Bytes::from(vec![7; length])).send_buffered();
    let (small, large, bucket) = (write(10), write(1 << 20), control.get_bucket().set_name(BUCKET));
    vec![
        ("a list", Box::pin(async move { list.send().await.map(drop) })),
        ("an export", Box::pin(async move { export.until_done().await.map(drop) })),
        ("an instance", Box::pin(async move { get.send().await.map(drop) })),
        ("a read", Box::pin(async move { read.send().await.map(drop) })),
        ("an upload", Box::pin(async move { small.await.map(drop) })),
        ("an upload in parts", Box::pin(async move { large.await.map(drop) })),
        ("a bucket over gRPC", Box::pin(async move { bucket.send().await.map(drop) })),
    ]
}

#[tokio::test]
async fn an_open_circuit_refuses_every_kind_of_call_and_leaves_the_wire_alone() {
    let server = Server::start(|asked, _| match asked.path.starts_with("/google.storage") {
        true => Reply::trailers_only(Code::Unavailable, None),
        false => Reply::error(503, "UNAVAILABLE"),
    });
    let governor = governor(|gcp| gcp.max_retries(0).breaker_failures(1));
    for (name, call) in calls(&server, &governor).await {
        // The first of each service opens its circuit.
        let _failed = (name, call.await.expect_err(name));
    }
    let sent = server.count();
    for (name, refused) in calls(&server, &governor).await {
        let error = refused.await.expect_err(name);
        let found = refusal(&error).unwrap_or_else(|| panic!("{name}: {error:?}"));
        assert_eq!((found.kind(), found.code()), (RefusalKind::CircuitOpen, "circuit_open"), "{name}");
        assert!(found.retry_after().is_some_and(|after| after <= seconds(30)), "{name}");
        assert_eq!(found.scope().account(), HOME, "{name}");
        let mut texts = std::iter::successors(Some(&error as &(dyn std::error::Error + 'static)), |e| e.source());
        assert!(texts.any(|text| text.to_string().contains("client-side")), "{name}: {error}");
        assert!(!error.is_authentication(), "{name}: {error}");
        assert_eq!(answered(&error), (None, None), "{name}");
    }
    assert_eq!(server.count(), sent);
    assert!(is_at_rest(&governor));
}

#[tokio::test]
async fn the_text_of_a_refusal_says_that_it_is_client_side_and_names_the_scope() {
    let server = Server::always(Reply::error(500, "INTERNAL"));
    let governor = governor(|gcp| gcp.max_retries(0).breaker_failures(1));
    let client = assets(&server, by(&governor)).await;
    client.list_assets().set_parent(HOME).send().await.expect_err("out of order");
    let error = client.list_assets().set_parent(HOME).send().await.expect_err("refused");
    let text = error.to_string();
    assert!(text.contains("client-side") && text.contains("gcp/projects/home/*/cloudasset/ListAssets"), "{text}");
}

#[tokio::test]
async fn an_open_circuit_closes_by_one_probe_of_many_calls() {
    let server = Server::start(|_, number| match number {
        1..=6 => Reply::error(500, "INTERNAL"),
        _ => Reply::ok().after(millis(50)),
    });
    let clock = FakeClock::new();
    let governor = timed(&clock, |gcp| gcp.max_retries(0).breaker_cooldown(seconds(30)));
    let client = assets(&server, by(&governor)).await;
    let list = || client.list_assets().set_parent(HOME).send();
    for _ in 0..5 {
        list().await.expect_err("out of order");
    }
    let state = || inspect(&governor, HOME, "cloudasset", "ListAssets").breaker;
    assert_eq!(state(), BreakerState::Open);
    clock.advance(seconds(30) - millis(1));
    let error = list().await.expect_err("refused");
    assert_eq!(refusal(&error).and_then(|refusal| refusal.retry_after()), Some(millis(1)));
    clock.advance(millis(1));
    let error = list().await.expect_err("still out of order");
    assert_eq!((answered(&error).0, server.count(), state()), (Some(500), 6, BreakerState::Open));
    clock.advance(seconds(30));
    let results = futures_util::future::join_all((0..8).map(|_| list())).await;
    assert_eq!((results.iter().filter(|result| result.is_ok()).count(), server.count()), (1, 7));
    assert_eq!(state(), BreakerState::Closed);
}

#[tokio::test]
async fn a_call_that_cannot_be_sent_before_its_deadline_is_refused_at_once() {
    let server = Server::start(|asked, _| match asked.path.starts_with("/google.storage") {
        true => Reply::grpc(&[]),
        false => Reply::ok(),
    });
    let governor = governor(|gcp| gcp.max_rps(0.001).burst(1.0));
    let hasty = || CallOptions::from(RetryPolicy::builder().deadline(seconds(5)).build().expect("sound"));
    let assets = assets(&server, by(&governor)).await;
    let control = control(&server, by(&governor)).await;
    call(hasty(), assets.list_assets().set_parent(HOME).send()).await.expect("the first token");
    call(hasty(), control.get_bucket().set_name(BUCKET).send()).await.expect("the first token");
    let report = CallReport::new();
    let refused = [
        call(hasty().report(&report), assets.list_assets().set_parent(HOME).send()).await.map(drop),
        call(hasty().report(&report), control.get_bucket().set_name(BUCKET).send()).await.map(drop),
    ];
    for error in refused.map(|result| result.expect_err("refused")) {
        let found = refusal(&error).expect("a refusal");
        assert_eq!(found.kind(), RefusalKind::DeadlineExceeded);
        assert!(found.retry_after().is_some_and(|after| after > seconds(900)), "{found}");
    }
    assert_eq!((report.attempts(), report.gave_up()), (0, Some(GiveUp::DeadlineExceeded)));
    assert_eq!((server.count(), totals(&governor).rejected), (2, 2));
}

#[tokio::test]
async fn a_retry_that_would_come_after_the_deadline_is_not_made() {
    let wait = Reply::rate_limited("projects/1").header("retry-after", "60");
    let server = Server::always(wait);
    let governor = governor(|gcp| gcp);
    let client = assets(&server, by(&governor)).await;
    let report = CallReport::new();
    let hasty = RetryPolicy::builder().deadline(seconds(30)).build().expect("sound");
    let options = CallOptions::from(hasty).report(&report);
    let error = call(options, client.list_assets().set_parent(HOME).send()).await.expect_err("throttled");
    assert_eq!(answered(&error), (Some(429), Some("RESOURCE_EXHAUSTED")));
    assert!(refusal(&error).is_none());
    assert_eq!((server.count(), report.attempts(), report.gave_up()), (1, 1, Some(GiveUp::DeadlineExceeded)));
}

#[tokio::test]
async fn a_retry_that_the_budget_does_not_pay_is_not_made() {
    // Without a reason it may be a quota that is gone until tomorrow.
    for is_grpc in [false, true] {
        let server = Server::always(match is_grpc {
            true => Reply::trailers(Code::ResourceExhausted, None),
            false => Reply::error(429, "RESOURCE_EXHAUSTED"),
        });
        let governor = governor(|gcp| gcp.retry_budget(0));
        let report = CallReport::new();
        let options = CallOptions::new().report(&report);
        let result = match is_grpc {
            true => {
                let client = control(&server, by(&governor)).await;
                call(options, client.get_bucket().set_name(BUCKET).send()).await.map(drop)
            }
            false => {
                let client = assets(&server, by(&governor)).await;
                call(options, client.list_assets().set_parent(HOME).send()).await.map(drop)
            }
        };
        let error = result.expect_err("exhausted");
        assert_eq!(answered(&error).1, Some("RESOURCE_EXHAUSTED"));
        assert_eq!((server.count(), report.gave_up()), (1, Some(GiveUp::RetryBudgetExhausted)));
    }
}

/// One waits to be sent again while others open the circuit.
async fn refused_on_its_retry(first: Reply, others: Reply, is_grpc: bool) {
    let server = Arc::new(Server::start(move |_, number| if number == 1 { first.clone() } else { others.clone() }));
    let clock = FakeClock::new();
    let governor = timed(&clock, |gcp| gcp.base_delay(seconds(10)).max_backoff(seconds(10)).breaker_failures(1));
    let (assets, control) = (assets(&server, by(&governor)).await, control(&server, by(&governor)).await);
    let once = || -> Pin<Box<dyn Future<Output = Result<()>> + Send>> {
        let (list, get) = (assets.list_assets().set_parent(HOME), control.get_bucket().set_name(BUCKET));
        match is_grpc {
            true => Box::pin(async move { get.send().await.map(drop) }),
            false => Box::pin(async move { list.send().await.map(drop) }),
        }
    };
    let report = CallReport::new();
    let waiting = tokio::spawn(call(CallOptions::new().report(&report), once()));
    until("waiting for its retry", || server.count() == 1 && clock.waiting() > 0).await;
    call(RetryPolicy::none(), once()).await.expect_err("out of order");
    assert_eq!(server.count(), 2);
    clock.advance(seconds(10));
    let error = waiting.await.expect("no panic").expect_err("refused");
    assert_eq!(error.status().map(|status| status.code.name()), Some("UNAVAILABLE"), "{error:?}");
    assert!(refusal(&error).is_none(), "{error:?}");
    assert_eq!((server.count(), report.attempts(), report.gave_up()), (2, 1, Some(GiveUp::CircuitOpen)));
    assert!(is_at_rest(&governor));
}

#[tokio::test]
async fn a_refusal_after_an_outcome_gives_the_outcome() {
    refused_on_its_retry(Reply::error(503, "UNAVAILABLE"), Reply::error(500, "INTERNAL"), false).await;
    let internal = Reply::trailers(Code::Internal, None);
    refused_on_its_retry(Reply::trailers_only(Code::Unavailable, None), internal, true).await;
}
