//! Servers that are not there: silent ones, and ports that nobody listens at.

use std::net::{Ipv4Addr, TcpListener};
use std::time::Duration;

use azure_core::error::ErrorKind;
use azure_core::http::Url;
use cloud_governor::{BreakerState, FakeClock, Governor, RefusalKind};
use cloud_governor_azure::refusal;
use tokio::net::TcpSocket;

use crate::common::{blob, blob_at, blobs, governor, millis, options, seconds, timed, totals, until};
use crate::server::{Reply, Server};

/// Longer than any answer takes, on the governor's clock.
const TIMEOUT: Duration = seconds(60);

fn impatient(clock: &FakeClock, retries: u32) -> Governor {
    timed(clock, |azure| azure.max_retries(retries).attempt_timeout(TIMEOUT).deadline(None))
}

/// Waits for this attempt to be sent, through the pause before it.
async fn attempt(clock: &FakeClock, sent: impl Fn() -> usize, number: usize) {
    let is_sent = || {
        clock.advance(millis(1));
        sent() == number
    };
    until("an attempt", is_sent).await;
}

#[tokio::test]
async fn a_server_that_never_answers_is_given_up_attempt_by_attempt() {
    let server = Server::always(Reply::Silence);
    let clock = FakeClock::new();
    let governor = impatient(&clock, 2);
    let client = blob_at(&server, &governor);
    let call = tokio::spawn(async move { client.get_properties(None).await.map(drop) });
    for number in 1..=3 {
        attempt(&clock, || server.count(), number).await;
        clock.advance(TIMEOUT);
    }
    let error = call.await.expect("no panic").expect_err("no answer");
    assert_eq!(*error.kind(), ErrorKind::Io);
    assert!(error.to_string().contains("attempt timeout"), "{error}");
    let totals = totals(&governor);
    assert_eq!((server.count(), totals.calls, totals.transient_errors, totals.gave_up), (3, 3, 3, 1));
    assert_eq!(blobs(&governor).slots_in_use, 0);
}

#[tokio::test]
async fn a_server_that_accepts_and_never_reads_is_given_up_attempt_by_attempt() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let url = format!("http://{}/acct/container/blob", listener.local_addr().expect("an address"));
    let clock = FakeClock::new();
    let governor = impatient(&clock, 2);
    let client = blob(Url::parse(&url).expect("a URL"), options(&governor));
    let call = tokio::spawn(async move { client.get_properties(None).await.map(drop) });
    for number in 1..=3 {
        attempt(&clock, || totals(&governor).calls as usize, number).await;
        clock.advance(TIMEOUT);
    }
    call.await.expect("no panic").expect_err("no answer");
    assert_eq!((totals(&governor).calls, totals(&governor).gave_up, blobs(&governor).slots_in_use), (3, 1, 0));
    drop(listener);
}

#[tokio::test]
async fn a_server_that_comes_to_itself_is_heard_by_the_next_attempt() {
    let server = Server::script([Reply::Silence, Reply::Silence, Reply::ok()]);
    let clock = FakeClock::new();
    let governor = impatient(&clock, 8);
    let client = blob_at(&server, &governor);
    let call = tokio::spawn(async move { client.get_properties(None).await.map(drop) });
    for number in 1..=2 {
        attempt(&clock, || server.count(), number).await;
        clock.advance(TIMEOUT);
    }
    attempt(&clock, || server.count(), 3).await;
    call.await.expect("no panic").expect("an answer");
    assert_eq!((server.count(), totals(&governor).transient_errors), (3, 2));
}

/// A port that nobody listens at, nor can while it is held.
fn dead_port() -> (TcpSocket, Url) {
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.bind((Ipv4Addr::LOCALHOST, 0).into()).expect("a port");
    let address = socket.local_addr().expect("an address");
    (socket, Url::parse(&format!("http://{address}/acct/container/blob")).expect("a URL"))
}

#[tokio::test]
async fn a_dead_port_opens_the_circuit_after_five_calls_given_up() {
    let governor = governor(|azure| azure.max_retries(1));
    let (_held, url) = dead_port();
    let client = blob(url, options(&governor));
    for _ in 0..5 {
        let error = client.get_properties(None).await.map(drop).expect_err("nobody there");
        assert_eq!((error.kind(), refusal(&error).is_none()), (&ErrorKind::Connection, true));
    }
    assert_eq!((blobs(&governor).breaker, totals(&governor).calls), (BreakerState::Open, 10));
    for _ in 0..10 {
        let error = client.get_properties(None).await.map(drop).expect_err("refused");
        let refused = refusal(&error).expect("a refusal behind the SDK's error");
        assert_eq!((error.kind(), refused.kind()), (&ErrorKind::Other, RefusalKind::CircuitOpen));
        assert!(refused.retry_after().is_some_and(|after| after <= seconds(30)));
        assert_eq!((refused.scope().account(), refused.scope().service()), ("acct", "storage.blob"));
    }
    let totals = totals(&governor);
    assert_eq!((totals.calls, totals.rejected, totals.breaker_trips), (10, 10, 1));
}

const COOLDOWN: Duration = seconds(30);

#[tokio::test]
async fn an_open_circuit_leaves_the_wire_alone_and_closes_by_one_probe() {
    let server = Server::start(|_, number| match number {
        1..=6 => Reply::coded(500, "InternalError"),
        _ => Reply::ok().after(millis(50)),
    });
    let clock = FakeClock::new();
    let governor = timed(&clock, |azure| azure.max_retries(0).breaker_cooldown(COOLDOWN));
    let client = blob_at(&server, &governor);
    for _ in 0..5 {
        client.get_properties(None).await.map(drop).expect_err("out of order");
    }
    clock.advance(COOLDOWN - millis(1));
    let error = client.get_properties(None).await.map(drop).expect_err("refused");
    assert_eq!(refusal(&error).and_then(|refusal| refusal.retry_after()), Some(millis(1)));
    assert_eq!((server.count(), blobs(&governor).breaker), (5, BreakerState::Open));

    // The first probe fails, and the circuit opens anew.
    clock.advance(millis(1));
    let error = client.get_properties(None).await.map(drop).expect_err("still out of order");
    assert!(refusal(&error).is_none());
    assert_eq!((server.count(), blobs(&governor).breaker), (6, BreakerState::Open));

    // Of many that come then, one is the probe.
    clock.advance(COOLDOWN);
    let calls = (0..8).map(|_| client.get_properties(None));
    let results = futures_util::future::join_all(calls).await;
    assert_eq!((results.iter().filter(|result| result.is_ok()).count(), server.count()), (1, 7));
    assert_eq!(blobs(&governor).breaker, BreakerState::Closed);
    client.get_properties(None).await.map(drop).expect("an answer");
}
