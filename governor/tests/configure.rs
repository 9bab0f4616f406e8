//! New settings while calls are in flight: what is kept, what changes, what is forgotten.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

use cloud_governor::{
    BreakerState, Class, Classification, Config, Governor, Outcome, RetryPolicy, Scope, Verdict, configure,
    get_governor, reset_governor,
};
use common::*;
use tokio::time::Instant;

fn config(yaml: &str) -> Config {
    Config::from_yaml(yaml, "test").unwrap()
}

fn ec2(operation: &str) -> Scope {
    Scope::new("aws", "123456789012", "eu-west-1", "ec2").with_operation(operation)
}

/// Throttled once, with a paid retry spent, a circuit open elsewhere and a slot held.
async fn learned(governor: &Governor) -> cloud_governor::Attempt {
    run(governor, &scope(), |n| if n < 4 { fails(Class::Throttled) } else { Outcome::Success }).await;
    let down = Scope::new("github", "octo", "", "down");
    for _ in 0..5 {
        let mut call = governor.call(&down).policy(RetryPolicy::none());
        admit(&mut call).await.finish(fails(Class::Transient));
    }
    admit(&mut governor.call(&scope())).await
}

#[tokio::test(start_paused = true)]
async fn a_provider_whose_settings_did_not_change_keeps_everything() {
    let yaml = "ratelimit: { github: { max_rps: 16, retry_budget: 9, base_delay: 2, max_backoff: 2 } }";
    let governor = governor(yaml);
    let _held = learned(&governor).await;
    let before = governor.inspect(&scope()).unwrap();
    assert!(before.rate_rps < 16.0 && before.retry_budget < 9 && before.slots_in_use == 1, "{before:?}");
    governor.reconfigure(config(yaml));
    governor.reconfigure(config(&format!("{yaml}\n").replace("github", "gitlab").replace(
        "ratelimit: {",
        "ratelimit: { github: { max_rps: 16, retry_budget: 9, base_delay: 2, max_backoff: 2 },",
    )));
    assert_eq!(governor.inspect(&scope()).unwrap(), before);
    assert_eq!(governor.inspect(&Scope::new("github", "octo", "", "down")).unwrap().breaker, BreakerState::Open);
}

#[tokio::test(start_paused = true)]
async fn changed_limits_bound_what_was_learned_and_keep_it() {
    let governor = governor("ratelimit: { github: { max_rps: 20 } }");
    run(&governor, &scope(), |n| if n < 2 { fails(Class::Throttled) } else { Outcome::Success }).await;
    assert_eq!(governor.inspect(&scope()).unwrap().rate_rps, 10.0);
    governor.reconfigure(config("ratelimit: { github: { max_rps: 40 } }"));
    let seen = governor.inspect(&scope()).unwrap();
    assert_eq!((seen.rate_rps, seen.ceiling_rps), (10.0, 40.0));
    governor.reconfigure(config("ratelimit: { github: { max_rps: 4 } }"));
    let seen = governor.inspect(&scope()).unwrap();
    assert_eq!((seen.rate_rps, seen.ceiling_rps), (4.0, 4.0));
    assert!(seen.tokens <= 4.0);
}

#[tokio::test(start_paused = true)]
async fn those_in_line_go_by_the_new_rate_at_once() {
    let governor = governor("ratelimit: { github: { max_rps: 0.01, burst: 1 } }");
    admit(&mut governor.call(&scope())).await.finish(Outcome::Success);
    let waiting: Vec<_> = (0..3)
        .map(|_| {
            let governor = governor.clone();
            tokio::spawn(async move { drop(admit(&mut governor.call(&scope())).await) })
        })
        .collect();
    tokio::time::sleep(secs(1.0)).await;
    let start = Instant::now();
    governor.reconfigure(config("ratelimit: { github: { max_rps: 10, burst: 1 } }"));
    for call in waiting {
        call.await.unwrap();
    }
    assert!(start.elapsed() < secs(0.4), "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_lower_ceiling_refuses_those_in_line_who_can_no_longer_make_their_deadline() {
    let governor = governor("ratelimit: { github: { max_rps: 1, burst: 1 } }");
    admit(&mut governor.call(&scope())).await.finish(Outcome::Success);
    let hurried = governor.clone();
    let waiting = tokio::spawn(async move {
        let policy = RetryPolicy::builder().deadline(secs(5.0)).build().unwrap();
        hurried.call(&scope()).policy(policy).admit().await.map(drop)
    });
    tokio::time::sleep(secs(0.1)).await;
    let start = Instant::now();
    governor.reconfigure(config("ratelimit: { github: { max_rps: 0.01, burst: 1 } }"));
    assert!(waiting.await.unwrap().is_err());
    assert_eq!(start.elapsed(), secs(0.0));
}

#[tokio::test(start_paused = true)]
async fn a_lowered_account_cap_is_paid_off_by_returns_and_a_raised_one_lets_those_in_line_go() {
    let governor = governor("ratelimit: { github: { account_concurrency: 3 } }");
    let mut held = Vec::new();
    for _ in 0..3 {
        held.push(admit(&mut governor.call(&scope())).await);
    }
    governor.reconfigure(config("ratelimit: { github: { account_concurrency: 1 } }"));
    let seen = governor.inspect(&scope()).unwrap();
    assert_eq!((seen.slots_in_use, seen.slots), (3, 1));
    held.pop();
    held.pop();
    let mut call = governor.call(&scope());
    assert!(tokio::time::timeout(secs(2.0), call.admit()).await.is_err());
    let waiting = tokio::spawn(async move {
        drop(admit(&mut call).await);
        Instant::now()
    });
    tokio::time::sleep(secs(0.3)).await;
    let raised = Instant::now();
    governor.reconfigure(config("ratelimit: { github: { account_concurrency: 2 } }"));
    assert_eq!(waiting.await.unwrap(), raised);
}

#[tokio::test(start_paused = true)]
async fn operations_get_buckets_of_their_own_and_lose_them_again() {
    let governor = governor("");
    let throttle = |scope: Scope| {
        let governor = governor.clone();
        async move {
            let mut call = governor.call(&scope).policy(RetryPolicy::none());
            admit(&mut call).await.finish(fails(Class::Throttled));
        }
    };
    throttle(ec2("DescribeVpcs")).await;
    let rate = |operation: &str| governor.inspect(&ec2(operation)).map(|seen| (seen.scope, seen.rate_rps));
    assert_eq!(rate("DescribeVpcs"), Some((ec2("DescribeVpcs"), 10.0)), "out of the box");
    assert_eq!(rate("RunInstances"), None, "not called yet");
    governor.reconfigure(config("ratelimit: { aws: { services: { ec2: { per_operation: false } } } }"));
    throttle(ec2("RunInstances")).await;
    assert_eq!(rate("DescribeVpcs"), Some((ec2(""), 10.0)), "one for all");
    governor.reconfigure(config("ratelimit: { aws: { services: { ec2: { per_operation: true } } } }"));
    admit(&mut governor.call(&ec2("DescribeVpcs"))).await.finish(Outcome::Success);
    assert_eq!(rate("DescribeVpcs"), Some((ec2("DescribeVpcs"), 20.0)));
}

#[tokio::test(start_paused = true)]
async fn a_call_under_way_while_operations_are_regrouped_still_counts() {
    let governor = governor("");
    let mut call = governor.call(&ec2("DescribeVpcs"));
    let attempt = admit(&mut call).await;
    governor.reconfigure(config("ratelimit: { aws: { services: { ec2: { per_operation: false } } } }"));
    attempt.finish(fails(Class::Throttled));
    admit(&mut call).await.finish(Outcome::Success);
    let count = |governor: &Governor| {
        let totals = governor.summary().totals;
        (totals.operations, totals.calls, totals.throttled, totals.retries)
    };
    assert_eq!(count(&governor), (1, 2, 1, 1));
    drop((attempt, call));
    governor.reconfigure(config("ratelimit: { aws: { max_rps: 7 } }"));
    assert_eq!(count(&governor), (1, 2, 1, 1), "and is not counted twice when nobody counts there any more");
}

#[tokio::test(start_paused = true)]
async fn a_provider_may_be_switched_off_and_on_while_calls_are_in_flight() {
    let governor = governor("ratelimit: { github: { account_concurrency: 1 } }");
    let mut governed = governor.call(&scope());
    let attempt = admit(&mut governed).await;
    governor.reconfigure(config("ratelimit: { github: { enabled: false, account_concurrency: 1 } }"));
    let mut direct = governor.call(&scope());
    assert!(!direct.is_governed());
    assert_eq!(admit(&mut direct).await.finish(fails(Class::Throttled)), Verdict::Done);
    assert!(matches!(attempt.finish(fails(Class::Transient)), Verdict::Retry { .. }), "as it began");
    governor.reconfigure(config("ratelimit: { github: { account_concurrency: 1 } }"));
    admit(&mut governed).await.finish(Outcome::Success);
    let seen = governor.inspect(&scope()).unwrap();
    assert_eq!((seen.slots_in_use, seen.rate_rps), (0, 20.0));
}

#[tokio::test(start_paused = true)]
async fn everything_may_be_switched_off() {
    let governor = governor("ratelimit: { enabled: false }");
    for provider in ["aws", "github"] {
        assert!(!governor.call(&Scope::new(provider, "", "", "any")).is_governed());
    }
}

#[tokio::test(start_paused = true)]
async fn a_changed_budget_keeps_what_was_spent_spent() {
    let governor = governor("ratelimit: { github: { retry_budget: 5 } }");
    run(&governor, &scope(), |n| if n < 5 { fails(Class::Transient) } else { Outcome::Success }).await;
    assert_eq!(governor.inspect(&scope()).unwrap().retry_budget, 3);
    governor.reconfigure(config("ratelimit: { github: { retry_budget: 10 } }"));
    assert_eq!(governor.inspect(&scope()).unwrap().retry_budget, 8);
    governor.reconfigure(config("ratelimit: { github: { retry_budget: 0 } }"));
    assert_eq!(governor.inspect(&scope()).unwrap().retry_budget, 0);
}

#[tokio::test(start_paused = true)]
async fn reset_forgets_what_was_learned_and_keeps_settings_counts_and_slots() {
    let governor = governor("ratelimit: { github: { max_rps: 16, retry_budget: 9 } }");
    let _held = learned(&governor).await;
    let paused = Classification::throttled().with_retry_after(secs(60.0));
    admit(&mut governor.call(&scope())).await.finish(Outcome::Failure(paused));
    let totals = governor.summary().totals;
    governor.reset();
    let seen = governor.inspect(&scope()).unwrap();
    assert_eq!((seen.rate_rps, seen.ceiling_rps, seen.paused_for, seen.tokens), (16.0, 16.0, None, 16.0));
    assert_eq!((seen.retry_budget, seen.slots_in_use), (9, 1));
    assert_eq!(governor.inspect(&Scope::new("github", "octo", "", "down")).unwrap().breaker, BreakerState::Closed);
    assert_eq!(governor.summary().totals, totals);
    assert!(governor.summary().slowed_buckets.is_empty());
}

#[tokio::test(start_paused = true)]
async fn reset_lets_those_in_a_pause_go_at_once() {
    let governor = governor("");
    let paused = Classification::throttled().with_retry_after(secs(60.0));
    admit(&mut governor.call(&scope())).await.finish(Outcome::Failure(paused));
    let waiting = governor.clone();
    let waiting = tokio::spawn(async move { drop(admit(&mut waiting.call(&scope())).await) });
    tokio::time::sleep(secs(1.0)).await;
    let start = Instant::now();
    governor.reset();
    waiting.await.unwrap();
    assert_eq!(start.elapsed(), secs(0.0));
}

/// A bucket in common of these operations, of ten calls.
fn in_common(operations: &str) -> String {
    let set = format!("{operations}, max_rps: 0.001, burst: 10");
    format!("ratelimit: {{ x: {{ max_rps: 100, services: {{ a: {{ shared: {{ all: {{ {set} }} }} }} }} }} }}")
}

#[tokio::test(start_paused = true)]
async fn a_bucket_in_common_keeps_what_was_learned_also_if_whoever_took_from_it_first_no_longer_does() {
    let governor = governor(&in_common("operations: [List, Get]"));
    let of = |operation: &str| Scope::new("x", "1", "", "a").with_operation(operation);
    for operation in ["List", "List", "List", "List", "Get", "Get"] {
        admit(&mut governor.call(&of(operation))).await.finish(Outcome::Success);
    }
    let tokens = |operation: &str| {
        let shared = governor.inspect(&of(operation)).unwrap().shared;
        shared.iter().map(|bucket| bucket.tokens.round()).collect::<Vec<_>>()
    };
    assert_eq!(tokens("Get"), [4.0]);
    governor.reconfigure(config(&in_common("operations: [Get]")));
    admit(&mut governor.call(&of("Get"))).await.finish(Outcome::Success);
    assert_eq!((tokens("Get"), tokens("List")), (vec![3.0], vec![]));
    // Once more, and those who take from it now have not before.
    governor.reconfigure(config(&in_common("operations: [Put, List]")));
    admit(&mut governor.call(&of("Put"))).await.finish(Outcome::Success);
    assert_eq!((tokens("Put"), tokens("Get")), (vec![2.0], vec![]));
    // Taken away and set again, it is another one.
    governor.reconfigure(config(&in_common("enabled: false")));
    governor.reconfigure(config(&in_common("operations: [Get]")));
    admit(&mut governor.call(&of("Get"))).await.finish(Outcome::Success);
    assert_eq!(tokens("Get"), [9.0]);
}

#[tokio::test(start_paused = true)]
async fn a_bucket_in_common_that_becomes_the_accounts_is_another_one() {
    let governor = governor(&in_common("per: region"));
    let scope = Scope::new("x", "1", "north", "a");
    admit(&mut governor.call(&scope)).await.finish(Outcome::Success);
    governor.reconfigure(config(&in_common("per: account")));
    admit(&mut governor.call(&scope)).await.finish(Outcome::Success);
    let shared = governor.inspect(&scope).unwrap().shared;
    assert_eq!(
        shared.iter().map(|bucket| (bucket.scope.to_string(), bucket.tokens.round())).collect::<Vec<_>>(),
        [("x/1/*/a/all".to_owned(), 9.0)]
    );
}

/// The only test of the process-wide governor: it is one for all tests of this file.
#[test]
fn the_process_wide_governor_takes_the_last_settings_and_can_be_replaced() {
    let rps =
        || get_governor().settings("process-wide").limits_for(&Scope::new("process-wide", "", "", "any")).max_rps();
    let first = configure(config("ratelimit: { process-wide: { max_rps: 3 } }"));
    assert_eq!(rps(), 3.0);
    configure(config("ratelimit: { process-wide: { max_rps: 5 } }"));
    assert_eq!(
        (rps(), first.settings("process-wide").limits_for(&Scope::new("process-wide", "", "", "any")).max_rps()),
        (5.0, 5.0),
        "one governor"
    );
    let fresh = reset_governor();
    assert_eq!(rps(), 20.0);
    assert_eq!(fresh.summary().totals.calls, 0);
    assert_eq!(
        first.settings("process-wide").limits_for(&Scope::new("process-wide", "", "", "any")).max_rps(),
        5.0,
        "its holder keeps the old one"
    );
}
