//! What a front end tells of the limit that a server named.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

use cloud_governor::{Class, Config, Governor, Inspection, Outcome, Verdict};
use common::*;
use proptest::prelude::*;
use tokio::time::Instant;

const LISTS: f64 = 100.0 / 60.0;

fn seen(governor: &Governor) -> Inspection {
    governor.inspect(&scope()).unwrap()
}

/// One call that is throttled with the limit named, and not made again.
async fn throttled_with(governor: &Governor, calls: u64, per: f64) {
    let mut call = governor.call(&scope());
    let attempt = admit(&mut call).await;
    attempt.limit_told(calls, secs(per));
    assert!(matches!(attempt.finish(fails(Class::Throttled)), Verdict::Retry { .. }));
}

#[tokio::test(start_paused = true)]
async fn after_one_throttle_that_names_its_limit_a_scope_goes_at_that() {
    for law in ["delivery_rate", "aimd"] {
        let governor = governor(&format!("ratelimit: {{ github: {{ law: {law} }} }}"));
        throttled_with(&governor, 100, 60.0).await;
        let start = Instant::now();
        for _ in 0..50 {
            admit(&mut governor.call(&scope())).await.finish(Outcome::Success);
        }
        let rate = 50.0 / start.elapsed().as_secs_f64();
        assert!((0.95 * LISTS..=LISTS).contains(&rate), "{law}: {rate}");
    }
}

#[tokio::test(start_paused = true)]
async fn who_asks_is_told_the_limit_and_the_summary_names_it_for_a_scope_that_it_slows() {
    let governor = governor("");
    throttled_with(&governor, 120, 60.0).await;
    assert_eq!((seen(&governor).limit_rps, seen(&governor).rate_rps), (Some(2.0), 0.97 * 2.0));
    let json = serde_json::to_value(governor.summary()).unwrap();
    assert_eq!(json["slowed_buckets"][0]["limit_rps"], 2.0);
    assert_eq!(governor.messages(), ["github/octo/*/rest: throttled 1x, slowed to 1.9 rps"]);
    let untold = common::governor("");
    run(&untold, &scope(), |_| Outcome::Success).await;
    assert_eq!(seen(&untold).limit_rps, None);
}

#[tokio::test(start_paused = true)]
async fn a_limit_is_kept_by_new_settings_forgotten_by_a_reset_and_loosens_when_it_is_named_no_more() {
    let governor = governor("");
    throttled_with(&governor, 120, 60.0).await;
    governor.reconfigure(Config::builder().provider("github", |own| own.max_rps(30.0)).build().unwrap());
    assert_eq!(seen(&governor).limit_rps, Some(2.0));
    tokio::time::sleep(secs(900.0)).await;
    assert_eq!(seen(&governor).limit_rps, Some(3.0));
    tokio::time::sleep(secs(300.0)).await;
    assert_eq!(seen(&governor).limit_rps, None);
    throttled_with(&governor, 120, 60.0).await;
    governor.reset();
    assert_eq!((seen(&governor).limit_rps, seen(&governor).rate_rps), (None, 30.0));
}

#[tokio::test(start_paused = true)]
async fn a_lower_ceiling_of_the_users_stays_the_lower_and_the_floor_the_least() {
    let governor = governor("ratelimit: { github: { max_rps: 1, floor_rps: 0.5 } }");
    throttled_with(&governor, 600, 60.0).await;
    assert!(seen(&governor).rate_rps <= 1.0);
    throttled_with(&governor, 1, 3_600.0).await;
    assert_eq!(seen(&governor).rate_rps, 0.5);
}

#[tokio::test(start_paused = true)]
async fn a_scope_without_a_ceiling_grows_past_where_it_started_up_to_the_limit() {
    let governor = governor("ratelimit: { github: { account_concurrency: 1000 } }");
    let attempt = admit(&mut governor.call(&scope())).await;
    attempt.limit_told(2_400, secs(60.0));
    attempt.finish(Outcome::Success);
    assert_eq!(seen(&governor).rate_rps, 20.0);
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..3_000 {
        let governor = governor.clone();
        calls.spawn(async move { admit(&mut governor.call(&scope())).await.finish(Outcome::Success) });
    }
    calls.join_all().await;
    assert_eq!(seen(&governor).rate_rps, 40.0);
}

#[tokio::test(start_paused = true)]
async fn what_is_no_pace_changes_nothing_nor_does_anything_where_nothing_is_governed() {
    let governor = governor("");
    let attempt = admit(&mut governor.call(&scope())).await;
    for (calls, per) in [(0, 60.0), (100, 0.0), (u64::MAX, 60.0), (6_000, 86_400.0), (1, 1e-9)] {
        attempt.limit_told(calls, secs(per));
        assert_eq!((seen(&governor).limit_rps, seen(&governor).rate_rps), (None, 20.0), "{calls} per {per} s");
    }
    let off = common::governor("ratelimit: { enabled: false }");
    let attempt = admit(&mut off.call(&scope())).await;
    attempt.limit_told(100, secs(60.0));
    assert!(off.inspect(&scope()).is_none_or(|seen| seen.limit_rps.is_none()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Whatever limits are named, and however often the server throttles: what is admitted in a minute is no more than the
    /// lowest of them, or the floor, and who waits is served.
    #[test]
    fn no_more_is_admitted_than_the_lowest_limit_allows(
        law in prop::sample::select(vec!["aimd", "delivery_rate"]),
        limits in prop::collection::vec(20_u64..2_000, 1..4),
        throttled in prop::collection::vec(any::<bool>(), 60),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        runtime.unwrap().block_on(async move {
            let yaml = format!("ratelimit: {{ github: {{ law: {law}, floor_rps: 0.3, deadline: none }} }}");
            let governor = governor(&yaml);
            for calls in &limits {
                throttled_with(&governor, *calls, 60.0).await;
            }
            let lowest = *limits.iter().min().unwrap() as f64 / 60.0;
            let start = Instant::now();
            let mut admitted = 0.0;
            for throttled in throttled {
                let attempt = admit(&mut governor.call(&scope())).await;
                // The first one, a timer's millisecond and a burst of a tenth of a second.
                let most = (lowest.max(0.3) * (start.elapsed().as_secs_f64() + 0.1 + 0.02)).max(1.0) + 1.0;
                admitted += 1.0;
                assert!(admitted <= most + 1.0, "{admitted} of {most}");
                attempt.finish(if throttled { fails(Class::Throttled) } else { Outcome::Success });
            }
        });
    }
}
