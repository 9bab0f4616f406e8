//! Servers that are silent, and ports that nobody listens at.

use std::net::Ipv4Addr;
use std::num::NonZeroUsize;

use cloud_governor::{BreakerState, Config, FakeClock, Governor, Refusal, RefusalKind, Scope};
use futures_util::future::join_all;
use reqwest_middleware::ClientBuilder;
use tokio::net::TcpSocket;

use crate::common::*;
use crate::server::{Reply, Server};

#[tokio::test]
async fn a_server_that_never_answers_is_given_up_attempt_by_attempt() {
    let server = Server::always(Reply::silence());
    let clock = FakeClock::new();
    let governor = timed(&clock, |api| api.max_retries(2).attempt_timeout(seconds(60)).deadline(None));
    let client = client(&server, &governor);
    let call = tokio::spawn(async move { client.get(URL).send().await });
    for number in 1..=3 {
        let is_sent = || {
            clock.advance(millis(1));
            server.count() == number
        };
        until("an attempt", is_sent).await;
        clock.advance(seconds(60));
    }
    let error = call.await.unwrap().unwrap_err();
    assert_eq!(Refusal::find(&error).map(Refusal::kind), Some(RefusalKind::AttemptTimedOut));
    let totals = totals(&governor);
    assert_eq!((server.count(), totals.calls, totals.transient_errors, totals.gave_up), (3, 3, 3, 1));
    assert!(is_at_rest(&governor));
}

#[tokio::test]
async fn a_refused_connection_is_retried_even_for_a_post_and_opens_the_circuit() {
    let yaml = "ratelimit: { defaults: { max_retries: 2, base_delay: 1ms, max_backoff: 2ms } }";
    let governor = Governor::builder().config(Config::from_yaml(yaml, "test").unwrap()).build();
    // A port that nobody listens at, nor can while it is held.
    let held = TcpSocket::new_v4().unwrap();
    held.bind((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
    let address = held.local_addr().unwrap();
    let direct = reqwest::Client::builder().no_proxy().build().unwrap();
    let client = ClientBuilder::new(direct).with(by_host(&governor)).build();
    let url = format!("http://{address}/things");
    for _ in 0..5 {
        let error = client.post(&url).body("thing").send().await.unwrap_err();
        assert!(error.is_connect() && Refusal::find(&error).is_none(), "{error:?}");
    }
    let scope = Scope::new("127.0.0.1", "", "", address.port().to_string());
    assert_eq!(governor.inspect(&scope).unwrap().breaker, BreakerState::Open);
    let error = client.post(&url).body("thing").send().await.unwrap_err();
    let refusal = Refusal::find(&error).unwrap();
    assert_eq!((refusal.kind(), refusal.scope()), (RefusalKind::CircuitOpen, &scope));
    let totals = totals(&governor);
    assert_eq!((totals.calls, totals.gave_up, totals.rejected, totals.breaker_trips), (15, 5, 1, 1));
}

#[tokio::test]
async fn an_open_circuit_closes_by_one_probe() {
    let cooldown = seconds(30);
    let server = Server::start(|_, number| match number {
        1..=5 => Reply::new(500, "no"),
        _ => Reply::ok().after(millis(50)),
    });
    let clock = FakeClock::new();
    let governor = timed(&clock, |api| api.max_retries(0).breaker_cooldown(cooldown));
    let client = client(&server, &governor);
    for _ in 0..5 {
        assert_eq!(status(&client.get(URL).send().await), 500);
    }
    let error = client.get(URL).send().await.unwrap_err();
    assert_eq!(Refusal::find(&error).and_then(Refusal::retry_after), Some(cooldown));
    clock.advance(cooldown);
    let results = join_all((0..8).map(|_| client.get(URL).send())).await;
    assert_eq!((results.iter().filter(|result| result.is_ok()).count(), server.count()), (1, 6));
    assert_eq!(state(&governor).breaker, BreakerState::Closed);
}

#[tokio::test]
async fn a_probe_that_is_dropped_leaves_the_way_to_the_next() {
    let server = Server::start(|_, number| match number {
        1 => Reply::new(500, "no"),
        2 => Reply::silence(),
        _ => Reply::ok(),
    });
    let clock = FakeClock::new();
    let governor = timed(&clock, |api| api.max_retries(0).breaker_failures(1).breaker_cooldown(seconds(30)));
    let client = client(&server, &governor);
    assert_eq!(status(&client.get(URL).send().await), 500);
    clock.advance(seconds(30));
    let probe = {
        let client = client.clone();
        tokio::spawn(async move { client.get(URL).send().await })
    };
    until("the probe to be sent", || server.count() == 2).await;
    probe.abort();
    probe.await.unwrap_err();
    clock.advance(seconds(30));
    assert_eq!(status(&client.get(URL).send().await), 200);
    assert_eq!(state(&governor).breaker, BreakerState::Closed);
}

#[tokio::test]
async fn one_slow_host_holds_up_no_other() {
    let server = Server::start(|asked, _| match asked.uri.host() {
        Some("slow.example.com") => Reply::silence(),
        _ => Reply::ok(),
    });
    let yaml = "ratelimit: { defaults: { account_concurrency: 4 } }";
    let governor = Governor::builder().config(Config::from_yaml(yaml, "test").unwrap()).build();
    let client = client(&server, &governor);
    let slow: Vec<_> = (0..50).map(|_| tokio::spawn(client.get("http://slow.example.com/").send())).collect();
    let held = Scope::new("slow.example.com", "", "", "http");
    let in_use = || governor.inspect(&held).map_or((0, 0), |leaf| (leaf.slots_in_use, leaf.waiting_for_slot));
    until("its slots to be in use", || in_use().0 == 4).await;
    for _ in 0..10 {
        assert_eq!(status(&client.get("http://fast.example.com/").send().await), 200);
    }
    slow.iter().for_each(tokio::task::JoinHandle::abort);
    join_all(slow).await;
    assert_eq!(in_use(), (0, 0));
}

#[tokio::test]
async fn no_more_are_under_way_at_once_than_there_are_slots() {
    let server = Server::always(Reply::ok().after(millis(5)));
    let governor = governor(|api| api.account_concurrency(NonZeroUsize::new(3).unwrap()));
    let client = client(&server, &governor);
    let results = join_all((0..60).map(|_| async {
        let result = client.get(URL).send().await;
        assert!(state(&governor).slots_in_use <= 3);
        result
    }))
    .await;
    assert!(results.iter().all(|result| status(result) == 200));
    assert!(server.connections() <= 3, "{} connections", server.connections());
}
