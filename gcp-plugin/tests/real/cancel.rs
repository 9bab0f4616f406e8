//! Calls that their callers let go of.

use std::num::NonZeroUsize;

use cloud_governor::{FakeClock, Governor};
use cloud_governor_gcp::{CallOptions, CallReport, call};

use crate::common::{
    BUCKET, HOME, assets, by, control, governor, inspect, is_at_rest, millis, polled, seconds, slots_in_use, timed,
    totals, until,
};
use crate::reply::{Reply, message};
use crate::server::Server;

const ONE: NonZeroUsize = NonZeroUsize::MIN;

/// Answers of every kind in turn, each after a moment.
fn mixed() -> Server {
    let replies =
        [Reply::json("{}"), Reply::error(503, "UNAVAILABLE"), Reply::rate_limited("projects/1"), Reply::Reset];
    Server::start(move |_, number| replies[number % replies.len()].clone().after(millis(1)))
}

fn narrow() -> Governor {
    governor(|gcp| gcp.account_concurrency(ONE).breaker_failures(1_000_000))
}

#[tokio::test]
async fn a_thousand_calls_dropped_at_any_point_inside_call_leave_nothing_behind() {
    let server = mixed();
    let governor = narrow();
    let client = assets(&server, by(&governor)).await;
    let (mut dropped, mut ended) = (0, 0);
    while dropped < 1000 {
        let most = 1 + (dropped + ended) % 9;
        match polled(most, call(CallOptions::new(), client.list_assets().set_parent("projects/p1").send())).await {
            Some(_) => ended += 1,
            None => dropped += 1,
        }
        // With the one slot still held, the next would never be sent.
        assert!(is_at_rest(&governor), "after {most} polls");
    }
    assert!(ended > 10, "{ended} ended");
    drop(client);
    // What is left in this runtime are the client's connections, which go with it.
    let tasks = tokio::runtime::Handle::current().metrics();
    until("no task left", || tasks.num_alive_tasks() == 0).await;
}

#[tokio::test]
async fn grpc_calls_dropped_at_any_point_inside_call_leave_nothing_behind() {
    let replies = [
        Reply::grpc(&message(1, b"bucket")),
        Reply::trailers(tonic::Code::Unavailable, None),
        Reply::trailers_only(tonic::Code::Unavailable, None),
    ];
    let server = Server::start(move |_, number| replies[number % replies.len()].clone().after(millis(1)));
    let governor = narrow();
    let client = control(&server, by(&governor)).await;
    let (mut dropped, mut ended) = (0, 0);
    while dropped < 300 {
        let most = 1 + (dropped + ended) % 12;
        match polled(most, call(CallOptions::new(), client.get_bucket().set_name(BUCKET).send())).await {
            Some(_) => ended += 1,
            None => dropped += 1,
        }
        assert!(is_at_rest(&governor), "after {most} polls");
    }
    assert!(ended > 10, "{ended} ended");
}

#[tokio::test]
async fn calls_joined_inside_one_call_go_down_with_it() {
    let server = mixed();
    let governor = governor(|gcp| gcp.breaker_failures(1_000_000));
    let client = assets(&server, by(&governor)).await;
    for number in 0..60 {
        let calls = (0..20).map(|_| client.list_assets().set_parent("projects/p1").send());
        let all = futures_util::future::join_all(calls);
        polled(1 + number, call(CallOptions::new(), all)).await;
        assert!(is_at_rest(&governor), "after {} polls", 1 + number);
    }
    assert!(server.count() > 20);
}

#[tokio::test]
async fn calls_dropped_in_line_take_no_token_and_no_place() {
    let server = Server::script([Reply::Silence, Reply::json("{}")]);
    let governor = governor(|gcp| gcp.account_concurrency(ONE).max_rps(0.001).burst(2.0));
    let client = assets(&server, by(&governor)).await;
    let first = tokio::spawn(call(CallOptions::new(), client.list_assets().set_parent("projects/p1").send()));
    until("on its way", || server.count() == 1).await;
    for number in 0..100 {
        let waiting = client.list_assets().set_parent("projects/p1").send();
        let dropped = match number % 2 {
            0 => tokio::time::timeout(millis(1), call(CallOptions::new(), waiting)).await,
            _ => tokio::time::timeout(millis(1), waiting).await,
        };
        dropped.expect_err("no slot");
        let leaf = inspect(&governor, HOME, "cloudasset", "ListAssets");
        assert_eq!((leaf.waiting_for_slot, leaf.waiting_for_rate), (0, 0));
    }
    first.abort();
    first.await.expect_err("aborted");
    client.list_assets().set_parent("projects/p1").send().await.expect("the second token is there");
    assert_eq!((server.count(), totals(&governor).calls), (2, 2));
}

#[tokio::test]
async fn calls_dropped_in_flight_outside_call_give_their_slots_back_when_the_lease_ends() {
    let server = Server::always(Reply::Silence);
    let clock = FakeClock::new();
    let governor = timed(&clock, |gcp| gcp.account_concurrency(1000.try_into().expect("some")));
    let client = assets(&server, by(&governor).lease(seconds(60))).await;
    for number in 1..=50 {
        let sending = tokio::spawn(client.list_assets().set_parent("projects/p1").send());
        until("on its way", || server.count() == number).await;
        sending.abort();
        let _aborted = sending.await;
    }
    assert_eq!(slots_in_use(&governor), 50);
    clock.advance(seconds(59));
    let sending = tokio::spawn(client.list_assets().set_parent("projects/p1").send());
    until("on its way", || server.count() == 51).await;
    assert_eq!(slots_in_use(&governor), 51);
    clock.advance(seconds(1));
    let next = tokio::spawn(client.list_assets().set_parent("projects/p1").send());
    until("on its way", || server.count() == 52).await;
    // Those two that wait for their answer.
    until("the leases have ended", || slots_in_use(&governor) == 2).await;
    assert_eq!(totals(&governor).gave_up, 0);
    sending.abort();
    next.abort();
}

#[tokio::test]
async fn who_waits_for_a_slot_gets_the_one_of_a_call_dropped_in_flight_when_its_lease_ends() {
    let server = Server::script([Reply::Silence, Reply::json("{}")]);
    let clock = FakeClock::new();
    let governor = timed(&clock, |gcp| gcp.account_concurrency(ONE));
    let client = assets(&server, by(&governor).lease(seconds(60))).await;
    let lost = tokio::spawn(client.list_assets().set_parent("projects/p1").send());
    until("on its way", || server.count() == 1).await;
    lost.abort();
    let _aborted = lost.await;
    let waiting = tokio::spawn(client.list_assets().set_parent("projects/p1").send());
    until("in line", || inspect(&governor, HOME, "cloudasset", "ListAssets").waiting_for_slot == 1).await;
    clock.advance(seconds(59));
    tokio::task::yield_now().await;
    assert_eq!(server.count(), 1);
    clock.advance(seconds(1));
    waiting.await.expect("no panic").expect("an answer");
    assert_eq!((server.count(), slots_in_use(&governor)), (2, 0));
}

#[tokio::test]
async fn an_answer_that_comes_after_the_lease_is_the_callers_all_the_same() {
    let server = Server::start(|_, number| match number {
        1 => Reply::json(r#"{"assets":[{"name":"late"}]}"#).after(millis(50)),
        _ => Reply::json("{}"),
    });
    let clock = FakeClock::new();
    let governor = timed(&clock, |gcp| gcp.account_concurrency(ONE));
    let client = assets(&server, by(&governor).lease(seconds(60))).await;
    let late = tokio::spawn(client.list_assets().set_parent("projects/p1").send());
    until("on its way", || server.count() == 1).await;
    clock.advance(seconds(61));
    let report = CallReport::new();
    let options = CallOptions::new().report(&report);
    call(options, client.list_assets().set_parent("projects/p1").send()).await.expect("an answer");
    let answer = late.await.expect("no panic").expect("an answer");
    assert_eq!(answer.assets.first().map(|asset| asset.name.as_str()), Some("late"));
    assert_eq!((server.count(), report.attempts(), slots_in_use(&governor)), (2, 1, 0));
    assert_eq!(totals(&governor).gave_up, 0);
}
