//! Calls that their callers let go of.

use std::future::{Future, poll_fn};
use std::num::NonZeroUsize;
use std::pin::pin;
use std::task::Poll;

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
