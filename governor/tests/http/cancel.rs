//! Calls that their callers let go of.

use std::future::{Future, poll_fn};
use std::num::NonZeroUsize;
use std::pin::pin;
use std::task::Poll;

use cloud_governor::{BreakerState, FakeClock};

use crate::answers::Reader;
use crate::common::*;
use crate::server::{Reply, Server};

#[tokio::test]
async fn a_thousand_calls_dropped_at_any_point_leave_nothing_behind() {
    let replies = [
        Reply::ok(),
        Reply::new(503, "no"),
        Reply::new(200, "content").cut(),
        Reply::new(429, "more of this").cut(),
        Reply::closed(),
    ];
    let server = Server::start(move |_, number| replies[number % replies.len()].clone().after(millis(1)));
    let governor = governor(|api| api.account_concurrency(NonZeroUsize::MIN).breaker_failures(1_000_000));
    let client = client(&server, &governor);
    let (mut dropped, mut ended) = (0, 0);
    for number in 0..1_000 {
        let call = async { client.get(URL).send().await?.bytes().await.map_err(reqwest_middleware::Error::from) };
        match polled(1 + number % 10, call).await {
            Some(_) => ended += 1,
            None => dropped += 1,
        }
        assert!(is_at_rest(&governor), "after {} polls", 1 + number % 10);
    }
    assert!(dropped > 100 && ended > 100, "{dropped} dropped, {ended} ended");
    drop(client);
    // What is left in this runtime are the client's connections, which go with it.
    let tasks = tokio::runtime::Handle::current().metrics();
    until("no task left", || tasks.num_alive_tasks() == 0).await;
}

#[tokio::test]
async fn a_thousand_calls_dropped_while_they_wait_leave_no_line_and_take_no_token() {
    let server = Server::always(Reply::silence());
    let governor = governor(|api| api.account_concurrency(NonZeroUsize::MIN).max_rps(0.001).burst(2.0));
    let client = client(&server, &governor);
    let holder = {
        let client = client.clone();
        tokio::spawn(async move { client.get(URL).send().await })
    };
    until("the first to be sent", || server.count() == 1).await;
    for number in 0..1_000 {
        let mut call = pin!(client.get(URL).send());
        for _ in 0..=number % 3 {
            assert!(poll_fn(|cx| Poll::Ready(call.as_mut().poll(cx).is_pending())).await);
        }
    }
    let leaf = state(&governor);
    assert_eq!((leaf.waiting_for_slot, leaf.waiting_for_rate, leaf.slots_in_use), (0, 0, 1));
    holder.abort();
    until("the slot to come back", || is_at_rest(&governor)).await;
    // Of two tokens one is left.
    let second = tokio::spawn(client.get(URL).send());
    until("the second to be sent", || server.count() == 2).await;
    second.abort();
    until("the slot to come back", || is_at_rest(&governor)).await;
    assert_eq!(totals(&governor).calls, 2);
}

#[tokio::test]
async fn a_probe_that_is_dropped_while_its_answer_is_read_leaves_its_place_and_its_slot() {
    let server = Server::start(|_, number| match number {
        1 => Reply::new(500, "no"),
        2 => Reply::new(404, "half and half").stalled(),
        _ => Reply::ok(),
    });
    let clock = FakeClock::new();
    let governor = timed(&clock, |api| {
        api.account_concurrency(NonZeroUsize::MIN)
            .max_retries(0)
            .breaker_failures(1)
            .breaker_cooldown(seconds(30))
            .attempt_timeout(seconds(3))
    });
    let client = client_of(&server, &governor, Reader::default());
    assert_eq!(status(&client.get(URL).send().await), 500);
    clock.advance(seconds(30));
    let sleeping = clock.waiting();
    let probe = tokio::spawn(client.get(URL).send());
    until("the probe's answer", || server.count() == 2 && clock.waiting() > sleeping).await;
    // The head has to have come, so that it is the body that is waited for.
    tokio::time::sleep(millis(50)).await;
    assert_eq!(state(&governor).slots_in_use, 1);
    probe.abort();
    probe.await.unwrap_err();
    assert!(is_at_rest(&governor));
    assert_eq!(status(&client.get(URL).send().await), 200);
    assert_eq!(state(&governor).breaker, BreakerState::Closed);
}

#[tokio::test]
async fn a_call_that_is_dropped_while_a_failed_answer_is_put_aside_keeps_neither_slot_nor_connection() {
    let server = Server::always(Reply::new(503, "half and half").header("retry-after", "60").stalled());
    let clock = FakeClock::new();
    let governor =
        timed(&clock, |api| api.account_concurrency(NonZeroUsize::MIN).max_retries(3).deadline(seconds(100)));
    let client = client(&server, &governor);
    let call = tokio::spawn(client.get(URL).send());
    until("the first answer", || totals(&governor).throttled == 1 && clock.waiting() > 0).await;
    assert_eq!(server.connections(), 1);
    call.abort();
    call.await.unwrap_err();
    assert!(is_at_rest(&governor));
    until("the connection to be closed", || server.connections() == 0).await;
    assert_eq!((totals(&governor).calls, totals(&governor).retries), (1, 0));
}
