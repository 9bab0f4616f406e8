//! What a front end tells of the server's own count.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

use cloud_governor::{Class, Outcome};
use common::*;
use proptest::prelude::*;

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
    assert!(quota.allows_rps < 7.0 && seen.rate_rps == quota.allows_rps, "{quota:?}");
    assert!(seen.tokens <= 20.0 && seen.ceiling_rps == 20.0);
    let summary = governor.summary();
    assert_eq!(summary.slowed_buckets[0].quota.as_ref().map(|quota| &*quota.name), Some("reads"));
    let json = serde_json::to_value(&summary).unwrap();
    assert_eq!(json["slowed_buckets"][0]["quota"]["left"], 20);
    assert_eq!(governor.messages(), ["github/octo/*/rest: slowed to 6.0 rps"]);
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

/// What may happen while callers wait.
#[derive(Debug, Clone)]
enum Event {
    Wait(u64),
    Tell(u8, u64),
    Throttle,
    Reset,
    MaxRps(f64),
    /// Some of those in line are dropped.
    Drop(usize),
}

fn event() -> impl Strategy<Value = Event> {
    let left = prop_oneof![0..4_u64, 0..1000_u64, any::<u64>()];
    prop_oneof![
        4 => (0..5_000_u64).prop_map(Event::Wait),
        6 => (0..6_u8, left).prop_map(|(quota, left)| Event::Tell(quota, left)),
        1 => Just(Event::Throttle),
        1 => Just(Event::Reset),
        1 => (10.0..100.0_f64).prop_map(Event::MaxRps),
        1 => (0..20_usize).prop_map(Event::Drop),
    ]
}

/// Whatever was told, those who wait are served at the slowest rate that there is, or faster.
async fn serve_all(law: &str, events: Vec<Event>) {
    const CALLERS: usize = 300;
    let settings = |max_rps: f64| {
        format!("ratelimit: {{ github: {{ max_rps: {max_rps}, burst: 5, floor_rps: 1, deadline: none, law: {law} }} }}")
    };
    let governor = governor(&settings(20.0));
    let mut callers = tokio::task::JoinSet::new();
    let mut handles = Vec::new();
    let teller = admit(&mut governor.call(&scope())).await;
    for _ in 0..CALLERS {
        let governor = governor.clone();
        handles.push(callers.spawn(async move {
            admit(&mut governor.call(&scope())).await.finish(Outcome::Success);
        }));
    }
    tokio::task::yield_now().await;
    for event in events {
        match event {
            Event::Wait(millis) => tokio::time::sleep(std::time::Duration::from_millis(millis)).await,
            Event::Tell(quota, left) => teller.quota_left(&quota.to_string(), left),
            Event::Throttle => {
                governor.call(&scope()).attempted(governor.clock().now()).finish(fails(Class::Throttled));
            }
            Event::Reset => governor.reset(),
            Event::MaxRps(max_rps) => {
                governor.reconfigure(cloud_governor::Config::from_yaml(settings(max_rps), "test").unwrap());
            }
            Event::Drop(every) => handles.iter().step_by(every + 10).for_each(tokio::task::AbortHandle::abort),
        }
    }
    // Not under one a second, by the floor; and the closed server of a law is asked every few seconds at least.
    let served = tokio::time::timeout(secs(CALLERS as f64 * 1.1 + 60.0), async {
        while let Some(ended) = callers.join_next().await {
            assert!(ended.is_ok() || ended.unwrap_err().is_cancelled());
        }
    });
    assert!(served.await.is_ok(), "{:?}", governor.inspect(&scope()));
    let seen = governor.inspect(&scope()).unwrap();
    assert_eq!((seen.waiting_for_rate, seen.waiting_for_slot, seen.slots_in_use), (0, 0, 1));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn all_who_wait_are_served_whatever_is_told_meanwhile(
        law in prop::sample::select(vec!["aimd", "delivery_rate"]),
        events in prop::collection::vec(event(), 0..40),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        runtime.unwrap().block_on(serve_all(law, events));
    }
}
