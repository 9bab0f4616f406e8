//! Calls that are dropped, and what they held.

use std::future::pending;
use std::sync::Arc;

use cloud_governor::{BreakerState, FakeClock, Governor};

use crate::testing::{ACCOUNT, Asked, Bench, Tokens, answered, config, fast, governor, inspect, seconds, totals};
use crate::{CallOptions, call};

fn one_slot() -> Governor {
    governor(|gcp| fast(gcp).account_concurrency(1.try_into().unwrap()))
}

fn never(_: usize) -> std::future::Pending<Result<u32, google_cloud_gax::error::Error>> {
    pending()
}

#[tokio::test(start_paused = true)]
async fn dropped_inside_call_everything_goes_back_at_once() {
    let governor = one_slot();
    let bench = Bench::new(&governor);
    let sent = call(CallOptions::new(), bench.send(Asked::of(ACCOUNT), never));
    tokio::time::timeout(seconds(1), sent).await.unwrap_err();
    assert_eq!(inspect(&governor, ACCOUNT).slots_in_use, 0);
    bench.play(Asked::of(ACCOUNT), &[|| Ok(1)]).await.unwrap();
    assert_eq!(totals(&governor).transient_errors, 0, "a cancelled attempt is no failure");
}

#[tokio::test(start_paused = true)]
async fn a_probe_dropped_inside_call_frees_its_place() {
    let governor = governor(|gcp| fast(gcp).max_retries(0).breaker_failures(1).breaker_cooldown(seconds(30)));
    let bench = Bench::new(&governor);
    bench.play(Asked::of(ACCOUNT), &[|| Err(answered(500))]).await.unwrap_err();
    tokio::time::advance(seconds(31)).await;
    let probe = call(CallOptions::new(), bench.send(Asked::of(ACCOUNT), never));
    tokio::time::timeout(seconds(1), probe).await.unwrap_err();
    bench.play(Asked::of(ACCOUNT), &[|| Ok(1)]).await.unwrap();
    assert_eq!(inspect(&governor, ACCOUNT).breaker, BreakerState::Closed);
}

#[tokio::test(start_paused = true)]
async fn dropped_in_line_it_leaves_the_line() {
    let governor = governor(|gcp| gcp.max_rps(0.01).burst(1.0).deadline(None));
    let bench = Bench::new(&governor);
    bench.play(Asked::of(ACCOUNT), &[|| Ok(1)]).await.unwrap();
    tokio::time::timeout(seconds(1), bench.play(Asked::of(ACCOUNT), &[|| Ok(1)])).await.unwrap_err();
    assert_eq!(inspect(&governor, ACCOUNT).waiting_for_rate, 0);
    assert_eq!(bench.sent(), 1);
}

#[tokio::test(start_paused = true)]
async fn dropped_outside_the_lease_ends_it_and_wakes_who_waits() {
    let governor = one_slot();
    let bench = Bench::new(&governor);
    // The one who waits is another client's.
    let other = Bench::new(&governor);
    tokio::time::timeout(seconds(1), bench.send(Asked::of(ACCOUNT), never)).await.unwrap_err();
    assert_eq!(inspect(&governor, ACCOUNT).slots_in_use, 1);
    let began = tokio::time::Instant::now();
    other.play(Asked::of(ACCOUNT), &[|| Ok(1)]).await.unwrap();
    let waited = began.elapsed();
    assert!((seconds(298)..seconds(301)).contains(&waited), "{waited:?}");
}

#[tokio::test]
async fn the_lease_goes_by_the_governors_clock() {
    let clock = FakeClock::new();
    let config = config(|gcp| fast(gcp).account_concurrency(1.try_into().unwrap()));
    let governor = Governor::builder().config(config).clock(clock.clone()).build();
    let bench = Bench::new(&governor);
    drop(tokio::time::timeout(std::time::Duration::ZERO, bench.send(Asked::of(ACCOUNT), never)).await);
    assert_eq!(inspect(&governor, ACCOUNT).slots_in_use, 1);
    let waits = tokio::spawn({
        let bench = bench.clone();
        async move { bench.play(Asked::of(ACCOUNT), &[|| Ok(1)]).await }
    });
    while clock.waiting() == 0 {
        tokio::task::yield_now().await;
    }
    clock.advance(seconds(300));
    waits.await.unwrap().unwrap();
    assert_eq!(inspect(&governor, ACCOUNT).slots_in_use, 0);
}

#[tokio::test(start_paused = true)]
async fn an_attempt_timeout_and_a_little_is_the_lease_where_the_policy_has_one() {
    let governor = governor(|gcp| fast(gcp).account_concurrency(1.try_into().unwrap()).attempt_timeout(seconds(20)));
    let bench = Bench::new(&governor);
    tokio::time::timeout(seconds(1), bench.send(Asked::of(ACCOUNT), never)).await.unwrap_err();
    let began = tokio::time::Instant::now();
    bench.play(Asked::of(ACCOUNT), &[|| Ok(1)]).await.unwrap();
    let waited = began.elapsed();
    assert!((seconds(20)..seconds(26)).contains(&waited), "{waited:?}");
}

#[tokio::test(start_paused = true)]
async fn an_outcome_after_the_lease_is_heeded_and_its_call_retried() {
    let governor = governor(fast);
    let bench = Bench::with(&governor, Tokens::default(), |client| client.lease = seconds(60));
    let answer = |number| async move {
        if number == 1 {
            tokio::time::sleep(seconds(120)).await;
            return Err(answered(500));
        }
        Ok(1)
    };
    let late = bench.send(Asked::of(ACCOUNT), answer);
    let (late, ()) = tokio::join!(late, async {
        tokio::time::sleep(seconds(90)).await;
        bench.client.outside().store().sweep();
        assert_eq!(inspect(&governor, ACCOUNT).slots_in_use, 0);
    });
    late.unwrap();
    assert_eq!(bench.sent(), 2);
    assert_eq!(totals(&governor).transient_errors, 1);
}

#[tokio::test(start_paused = true)]
async fn a_success_after_the_lease_is_heeded() {
    let governor = governor(|gcp| fast(gcp).max_retries(0).breaker_failures(2));
    let bench = Bench::with(&governor, Tokens::default(), |client| client.lease = seconds(60));
    bench.play(Asked::of(ACCOUNT), &[|| Err(answered(500))]).await.unwrap_err();
    let client = Arc::clone(&bench.client);
    let late = move |_| {
        let client = Arc::clone(&client);
        async move {
            tokio::time::sleep(seconds(120)).await;
            client.outside().store().sweep();
            Ok(1)
        }
    };
    bench.send(Asked::of(ACCOUNT), late).await.unwrap();
    // The success came between the two.
    bench.play(Asked::of(ACCOUNT), &[|| Err(answered(500))]).await.unwrap_err();
    assert_eq!(inspect(&governor, ACCOUNT).breaker, BreakerState::Closed);
}
