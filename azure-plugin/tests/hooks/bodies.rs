//! The bodies of successes, and the slots that they hold.

use std::num::NonZeroUsize;

use azure_core::http::Context;
use cloud_governor::BreakerState;
use cloud_governor_azure::{CallOptions, governed};
use futures_util::StreamExt;
use tokio::time::timeout;

use crate::common::{Client, Download, Reply, Server, by, governor, seconds, service, totals};

async fn read(mut download: Download) -> Result<Vec<u8>, azure_core::Error> {
    let mut whole = Vec::new();
    while let Some(part) = download.next().await {
        whole.extend_from_slice(&part?);
    }
    assert!(download.next().await.is_none(), "a body that has ended stays ended");
    Ok(whole)
}

#[tokio::test(start_paused = true)]
async fn a_download_holds_its_slot_until_its_body_has_ended() {
    let server = Server::always(Reply::stream(200, [Some("first "), Some("second")]));
    let governor = governor(|azure| azure);
    let client = Client::governed(&server, &governor);
    let download = client.download().await.expect("a head");
    assert_eq!(service(&governor).slots_in_use, 1);
    assert_eq!(read(download).await.expect("whole"), b"first second");
    assert_eq!(service(&governor).slots_in_use, 0);
}

/// Two failures open the circuit unless a success comes between them.
async fn circuit_after(between: impl AsyncFn(Download)) -> BreakerState {
    let down = Reply::new(500, "");
    let server = Server::script([down.clone(), Reply::stream(200, [Some("first"), Some("second")]), down]);
    let governor = governor(|azure| azure.max_retries(0).breaker_failures(2));
    let client = Client::governed(&server, &governor);
    client.get().await.expect_err("down");
    between(client.download().await.expect("a head")).await;
    assert_eq!(service(&governor).slots_in_use, 0);
    client.get().await.expect_err("down");
    service(&governor).breaker
}

#[tokio::test(start_paused = true)]
async fn a_download_that_is_read_to_its_end_or_left_counts_as_a_success() {
    let to_its_end = async |download: Download| drop(read(download).await.expect("whole"));
    assert_eq!(circuit_after(to_its_end).await, BreakerState::Closed);
    let left_half_read = async |mut download: Download| drop(download.next().await.expect("a part"));
    assert_eq!(circuit_after(left_half_read).await, BreakerState::Closed);
    let left_unread = async |download: Download| drop(download);
    assert_eq!(circuit_after(left_unread).await, BreakerState::Closed);
}

#[tokio::test(start_paused = true)]
async fn a_download_that_is_cut_short_is_a_failure_that_was_given_up() {
    let server = Server::always(Reply::stream(200, [Some("first"), None]));
    let governor = governor(|azure| azure.breaker_failures(2));
    let client = Client::governed(&server, &governor);
    for _ in 0..2 {
        let error = read(client.download().await.expect("a head")).await.expect_err("cut short");
        assert_eq!(error.to_string(), "the connection was reset");
    }
    assert_eq!((totals(&governor).transient_errors, totals(&governor).gave_up, server.count()), (2, 2, 2));
    assert_eq!((service(&governor).slots_in_use, service(&governor).breaker), (0, BreakerState::Open));
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_read_whole_by_the_pipeline_is_retried_when_it_is_cut_short() {
    let server = Server::script([Reply::stream(200, [Some("first"), None]), Reply::ok()]);
    let governor = governor(|azure| azure);
    let answer = Client::governed(&server, &governor).get().await.expect("the second");
    assert_eq!(&answer.body()[..], b"content");
    assert_eq!((server.count(), totals(&governor).retries, totals(&governor).gave_up), (2, 1, 0));
}

#[tokio::test(start_paused = true)]
async fn unread_downloads_fill_the_account_unless_slots_go_back_at_the_head() {
    let server = Server::always(Reply::stream(200, [Some("part")]));
    let governor = governor(|azure| azure.account_concurrency(NonZeroUsize::MIN));
    let client = Client::governed(&server, &governor);
    let unread = client.download().await.expect("a head");
    assert!(timeout(seconds(5), client.get()).await.is_err(), "no slot");
    drop(unread);
    let at_head = Client::new(governed(server.options(), by(&governor).release_at_headers(true)));
    let unread = at_head.download().await.expect("a head");
    at_head.get().await.expect("a slot");
    let held = Context::new().with_value(CallOptions::new().release_at_headers(false));
    let other = at_head.download_with(held).await.expect("a head");
    assert_eq!(service(&governor).slots_in_use, 1, "this one call holds it");
    drop((unread, other));
    let call = Context::new().with_value(CallOptions::new().release_at_headers(true));
    let _unread = client.download_with(call).await.expect("a head");
    client.get().await.expect("a slot");
}

#[tokio::test(start_paused = true)]
async fn an_answer_on_its_way_is_in_flight_and_the_next_waits_for_it() {
    let server = Server::always(Reply::Parts { status: 200, parts: vec![(seconds(2), Some("late"))] });
    let governor = governor(|azure| azure.account_concurrency(NonZeroUsize::MIN));
    let client = Client::governed(&server, &governor);
    let (one, other) = tokio::join!(client.get(), client.get());
    assert!(one.is_ok() && other.is_ok());
    let requests = server.requests();
    assert!(requests[1].at - requests[0].at >= seconds(2));
}
