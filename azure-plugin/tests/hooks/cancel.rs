//! Calls that are dropped.

use std::future::Future;
use std::num::NonZeroUsize;
use std::task::{Context, Poll, Waker};

use cloud_governor::{BreakerState, Governor};
use cloud_governor_azure::governed;
use futures_util::StreamExt;
use tokio::time::timeout;

use crate::common::{Client, Reply, Server, by, credential, governor, seconds, service, totals};

#[tokio::test(start_paused = true)]
async fn a_call_dropped_while_it_is_sent_gives_its_slot_back_and_counts_as_no_failure() {
    let server = Server::script([Reply::ok().after(seconds(60)), Reply::ok()]);
    let governor = governor(|azure| azure.account_concurrency(NonZeroUsize::MIN));
    let client = Client::governed(&server, &governor);
    timeout(seconds(1), client.get()).await.expect_err("dropped");
    assert_eq!(service(&governor).slots_in_use, 0);
    client.get().await.expect("an answer");
    assert_eq!((totals(&governor).transient_errors, totals(&governor).gave_up), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_call_dropped_in_line_leaves_it_and_spends_nothing() {
    let server = Server::always(Reply::ok());
    let governor = governor(|azure| azure.max_rps(0.1).burst(1.0).floor_rps(0.01));
    let client = Client::governed(&server, &governor);
    client.get().await.expect("the one token");
    timeout(seconds(5), client.get()).await.expect_err("dropped");
    assert_eq!(service(&governor).waiting_for_rate, 0);
    client.get().await.expect("the next token");
    assert!(server.requests()[1].at < seconds(11), "the dropped call took no token");
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_is_dropped_frees_its_place() {
    let server = Server::script([Reply::new(500, ""), Reply::ok().after(seconds(60)), Reply::ok()]);
    let governor = governor(|azure| azure.max_retries(0).breaker_failures(1).breaker_cooldown(seconds(30)));
    let client = Client::governed(&server, &governor);
    client.get().await.expect_err("opens");
    tokio::time::sleep(seconds(31)).await;
    timeout(seconds(1), client.get()).await.expect_err("the probe, dropped");
    client.get().await.expect("another probe");
    assert_eq!(service(&governor).breaker, BreakerState::Closed);
}

/// A failing token, a token, an answer that is slow to fail, one that breaks, and one whose body comes in parts.
fn troubled() -> Server {
    let refused = Reply::new(503, r#"{"error":"e","error_description":"d","error_codes":[1]}"#).after(seconds(1));
    let failed = Reply::Parts { status: 500, parts: vec![(seconds(1), Some("no")), (seconds(1), Some("!"))] };
    let parts = Reply::Parts { status: 200, parts: vec![(seconds(1), Some("a")), (seconds(1), Some("b"))] };
    Server::with_tokens([refused, Reply::token().after(seconds(1))], [failed, Reply::Reset.after(seconds(1)), parts])
}

async fn whole_call(client: Client) {
    let mut body = client.download().await.expect("the third");
    while let Some(part) = body.next().await {
        part.expect("a part");
    }
}

fn client(server: &Server, governor: &Governor, is_governed: bool) -> Client {
    let options = governed(server.options(), by(governor));
    let plain = azure_core::http::ClientOptions { retry: azure_core::http::RetryOptions::none(), ..server.options() };
    let credential = credential(if is_governed { options.clone() } else { plain });
    Client::authorized(options, credential)
}

/// Polls `future` this often, letting time pass between; whether it ended before.
async fn poll_for(polls: usize, future: impl Future<Output = ()>) -> bool {
    let mut future = Box::pin(future);
    for _ in 0..polls {
        if let Poll::Ready(()) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return true;
        }
        tokio::time::advance(std::time::Duration::from_millis(137)).await;
    }
    false
}

#[tokio::test(start_paused = true)]
async fn a_call_dropped_at_any_of_its_polls_gives_everything_back() {
    for is_governed in [true, false] {
        let mut polls = 0;
        loop {
            let (server, governor) = (troubled(), governor(|azure| azure.account_concurrency(NonZeroUsize::MIN)));
            let ended = poll_for(polls, whole_call(client(&server, &governor, is_governed))).await;
            if polls > 0 {
                let leaf = service(&governor);
                assert_eq!(
                    (leaf.slots_in_use, leaf.waiting_for_slot, leaf.waiting_for_rate),
                    (0, 0, 0),
                    "poll {polls}"
                );
            }
            assert_eq!(totals(&governor).gave_up, 0);
            let fresh = Server::with_tokens([Reply::token()], [Reply::ok()]);
            client(&fresh, &governor, is_governed).get().await.expect("the slot is there");
            if ended {
                break;
            }
            polls += 1;
            assert!(polls < 500, "the call ends at last");
        }
        assert!(polls > 20, "many places to be dropped at: {polls}");
    }
}
