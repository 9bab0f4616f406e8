//! What a front end tells of the server's own count.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

use cloud_governor::{Class, Outcome};
use common::*;

/// Makes so many calls whose answers say what is left, from this many downwards.
async fn calls(governor: &cloud_governor::Governor, count: u64, left: u64) {
    for call in 1..=count {
        let attempt = admit(&mut governor.call(&scope())).await;
        attempt.quota_left("reads", left.saturating_sub(call));
        attempt.finish(Outcome::Success);
    }
}

#[tokio::test(start_paused = true)]
async fn a_scope_with_little_left_is_slowed_before_it_is_throttled_and_says_why() {
    let governor = governor("ratelimit: { github: { max_rps: 20 } }");
    calls(&governor, 1, 21).await;
    let seen = governor.inspect(&scope()).unwrap();
    let quota = seen.quota.unwrap();
    assert_eq!((&*quota.name, quota.left, quota.refill_rps), ("reads", 20, None));
    assert!(quota.allows_rps < 4.0 && seen.rate_rps == quota.allows_rps, "{quota:?}");
    assert!(seen.tokens <= 20.0 && seen.ceiling_rps == 20.0);
    let summary = governor.summary();
    assert_eq!(summary.slowed_buckets[0].quota.as_ref().map(|quota| &*quota.name), Some("reads"));
    let json = serde_json::to_value(&summary).unwrap();
    assert_eq!(json["slowed_buckets"][0]["quota"]["left"], 20);
    assert_eq!(governor.messages(), ["github/octo/*/rest: slowed to 3.6 rps"]);
}

#[tokio::test(start_paused = true)]
async fn a_scope_with_plenty_left_goes_at_its_own_rate() {
    let governor = governor("ratelimit: { github: { max_rps: 20 } }");
    calls(&governor, 100, 5_000).await;
    let seen = governor.inspect(&scope()).unwrap();
    assert_eq!((seen.rate_rps, seen.quota.unwrap().left), (20.0, 4_900));
    assert!(governor.summary().slowed_buckets.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_reset_forgets_what_was_told_and_new_settings_and_a_throttle_do_not() {
    let governor = governor("ratelimit: { github: { max_rps: 20 } }");
    calls(&governor, 1, 3).await;
    let told = || governor.inspect(&scope()).and_then(|seen| seen.quota);
    governor
        .reconfigure(cloud_governor::Config::builder().provider("github", |own| own.max_rps(30.0)).build().unwrap());
    let attempt = admit(&mut governor.call(&scope())).await;
    attempt.finish(fails(Class::Throttled));
    assert_eq!(told().unwrap().left, 2);
    governor.reset();
    assert_eq!(told(), None);
}

#[tokio::test(start_paused = true)]
async fn what_is_told_after_the_end_still_counts_and_where_nothing_is_governed_nothing_is_heeded() {
    let governor = governor("ratelimit: { github: { max_rps: 20 } }");
    let attempt = admit(&mut governor.call(&scope())).await;
    attempt.finish(Outcome::Success);
    attempt.quota_left("reads", 2);
    assert_eq!(governor.inspect(&scope()).unwrap().quota.unwrap().left, 2);
    let off = common::governor("ratelimit: { enabled: false }");
    calls(&off, 3, 2).await;
    assert!(off.inspect(&scope()).is_none_or(|seen| seen.quota.is_none()));
}

#[tokio::test(start_paused = true)]
async fn a_word_that_nothing_is_left_refuses_nobody_whom_a_throttle_would_not() {
    let governor = governor("ratelimit: { github: { max_rps: 20, deadline: 60s, account_concurrency: 1000 } }");
    let mut calls = tokio::task::JoinSet::new();
    for call in 0..200_u64 {
        let governor = governor.clone();
        calls.spawn(async move {
            let mut operation = governor.call(&scope());
            let attempt = operation.admit().await?;
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            // Once, the server says that nothing is left.
            attempt.quota_left("reads", if call == 25 { 0 } else { 200 });
            attempt.finish(Outcome::Success);
            Ok::<_, cloud_governor::Refusal>(())
        });
    }
    let mut refused = 0;
    while let Some(ended) = calls.join_next().await {
        refused += usize::from(ended.unwrap().is_err());
    }
    assert_eq!(refused, 0);
}
