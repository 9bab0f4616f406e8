//! What a dropped call held comes back, wherever it was.

use cloud_governor::{BreakerState, Governor};
use tokio::time::timeout;

use crate::common::{governor, secs};
use crate::fake::*;

/// Fast enough that no call waits for a token, with a circuit that one failure would open.
const ROOMY: &str =
    "ratelimit: { gcp: { max_rps: 100000, burst: 100000, account_concurrency: 8, breaker: { failures: 1 } } }";

fn assert_nothing_is_held(governor: &Governor) {
    let seen = governor.inspect(&scope()).unwrap();
    assert_eq!((seen.slots_in_use, seen.breaker), (0, BreakerState::Closed));
    let totals = governor.summary().totals;
    assert_eq!((totals.gave_up, totals.transient_errors, totals.throttled), (0, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_thousand_streams_cancelled_in_the_middle_leave_no_permit_behind() {
    let bodies = [vec![Piece::Hangs], vec![Piece::Data("one"), Piece::Hangs], vec![Piece::Data(""), Piece::Hangs]];
    let (governor, channel) = (governor(ROOMY), Channel::new(bodies.map(pieces)));
    let mut open = Vec::new();
    for _ in 0..1_000 {
        let mut body = send(&governor, STREAM, retries(3), &channel).await.unwrap().into_body();
        // As far as it goes.
        while timeout(secs(0.001), http_body_util::BodyExt::frame(&mut body)).await.is_ok() {}
        open.push(body);
    }
    drop(open);
    assert_eq!((channel.times(), governor.summary().totals.calls), (1_000, 1_000));
    assert_nothing_is_held(&governor);
}

#[tokio::test(start_paused = true)]
async fn a_thousand_calls_cancelled_while_they_wait_for_an_answer_leave_no_permit_behind() {
    for hangs in [Plan::Never, pieces(vec![Piece::Data("mess"), Piece::Hangs])] {
        let (governor, channel) = (governor(ROOMY), Channel::new([hangs]));
        for _ in 0..1_000 {
            assert!(timeout(secs(0.001), send(&governor, UNARY, retries(3), &channel)).await.is_err());
        }
        assert_eq!(channel.times(), 1_000);
        assert_nothing_is_held(&governor);
    }
}

#[tokio::test(start_paused = true)]
async fn a_thousand_calls_cancelled_while_they_wait_for_a_slot_leave_their_line() {
    let governor = governor("ratelimit: { gcp: { max_rps: 100000, burst: 100000, account_concurrency: 1 } }");
    let channel = Channel::new([message(0)]);
    let held = crate::common::admit(&mut governor.call(&scope())).await;
    for _ in 0..1_000 {
        assert!(timeout(secs(0.001), send(&governor, UNARY, retries(3), &channel)).await.is_err());
    }
    drop(held);
    assert_eq!(code(send(&governor, UNARY, retries(0), &channel).await).await, 0);
    assert_eq!(channel.times(), 1);
    assert_nothing_is_held(&governor);
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_calls_at_once_are_all_answered_and_the_sums_agree() {
    let (governor, channel) = (governor(ROOMY), Channel::new([message(0)]));
    let calls: Vec<_> = (0..10_000)
        .map(|number| {
            let (governor, channel) = (governor.clone(), channel.clone());
            let target = if number % 2 == 0 { UNARY } else { STREAM };
            tokio::spawn(async move { code(send(&governor, target, retries(3), &channel).await).await })
        })
        .collect();
    for call in calls {
        assert_eq!(call.await.unwrap(), 0);
    }
    let totals = governor.summary().totals;
    assert_eq!((channel.times(), totals.operations, totals.calls), (10_000, 10_000, 10_000));
    assert_nothing_is_held(&governor);
}

#[tokio::test(start_paused = true)]
async fn calls_are_paced() {
    let governor = governor("ratelimit: { gcp: { max_rps: 10, burst: 1 } }");
    let channel = Channel::new([message(0)]);
    let start = tokio::time::Instant::now();
    for _ in 0..21 {
        assert_eq!(code(send(&governor, STREAM, retries(0), &channel).await).await, 0);
    }
    assert!(start.elapsed() >= secs(1.9), "{:?}", start.elapsed());
}
