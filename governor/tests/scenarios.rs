//! What users of other tools ran into, each as a scenario with its right outcome. The reports that belong to one part
//! are with that part's tests.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use cloud_governor::{
    BreakerState, Class, Classification, Facts, GiveUp, Governor, Outcome, RetryPolicy, Scope, Verdict,
};
use common::*;
use tokio::time::Instant;

fn of(service: &str) -> Scope {
    Scope::new("aws", "123456789012", "eu-west-1", service)
}

fn means(governor: &Governor, facts: Facts<'static>) -> Outcome {
    let scope = of("route53");
    Outcome::Failure(governor.classify(&scope, facts))
}

// ===== retries multiplying =====

/// kubernetes/kubernetes#70865: seven attempts at one layer times three at another were 21 calls.
#[tokio::test(start_paused = true)]
async fn a_policy_of_seven_attempts_is_seven_attempts() {
    let governor = governor("ratelimit: { aws: { max_retries: 6 } }");
    let (verdict, sent) = run(&governor, &of("ec2"), |_| fails(Class::Transient)).await;
    assert_eq!((verdict, sent), (Some(Verdict::GiveUp(GiveUp::RetriesExhausted)), 7));
}

// ===== adaptive limiter =====

/// smithy-lang/smithy-rs#4749: a retry that cost more than the bucket could hold never came.
#[tokio::test(start_paused = true)]
async fn a_retry_at_the_floor_proceeds_and_pays_one_token() {
    let governor = governor(
        "ratelimit: { aws: { law: aimd, max_rps: 1, burst: 1, floor_rps: 0.1, base_delay: 2, max_backoff: 2 } }",
    );
    let mut call = governor.call(&of("sts"));
    for _ in 0..4 {
        admit(&mut call).await.finish(fails(Class::Throttled));
    }
    let floor = governor.inspect(&of("sts")).unwrap();
    assert!((floor.rate_rps - 0.1).abs() < 0.05, "{floor:?}");
    let start = Instant::now();
    admit(&mut call).await.finish(Outcome::Success);
    assert!(start.elapsed() <= secs(10.1), "{:?}", start.elapsed());
    let tokens = governor.inspect(&of("sts")).unwrap().tokens;
    assert!((0.0..0.01).contains(&tokens), "one token each, no more and no less: {tokens}");
}

/// aws/aws-sdk-go-v2#3550: a drained quota was never refilled.
#[tokio::test(start_paused = true)]
async fn a_drained_budget_is_full_again_after_enough_answers() {
    let governor =
        governor("ratelimit: { aws: { retry_budget: 20, max_rps: 100000, max_retries: 1000000, deadline: 100000 } }");
    let (verdict, sent) = run(&governor, &of("sqs"), |_| fails(Class::Transient)).await;
    assert_eq!((verdict, sent), (Some(Verdict::GiveUp(GiveUp::RetryBudgetExhausted)), 23));
    let left = || governor.inspect(&of("sqs")).unwrap().retry_budget;
    assert_eq!(left(), 0);
    for answer in 0..10_000 {
        let outcome = if answer % 2 == 0 { Outcome::Success } else { fails(Class::Fatal) };
        admit(&mut governor.call(&of("sqs"))).await.finish(outcome);
        assert_eq!(left(), ((answer + 1) / 10).min(20));
    }
}

/// ferrumio/pydynox#439: the throttle was never told to the limiter, whose rate only rose.
#[tokio::test(start_paused = true)]
async fn one_throttle_leaves_the_rate_strictly_lower() {
    let governor = governor("ratelimit: { aws: { max_retries: 0 } }");
    run(&governor, &of("dynamodb"), |_| Outcome::Success).await;
    let before = governor.inspect(&of("dynamodb")).unwrap().rate_rps;
    run(&governor, &of("dynamodb"), |_| fails(Class::Throttled)).await;
    assert!(governor.inspect(&of("dynamodb")).unwrap().rate_rps < before);
}

/// aws/aws-sdk-go#3119: Route 53 says "Throttling" with status 400, which was not retried.
#[tokio::test(start_paused = true)]
async fn a_throttling_code_with_status_400_is_retried_and_slows() {
    let governor = governor("");
    let throttling = means(&governor, Facts::new().code("Throttling").status(400));
    let (verdict, sent) =
        run(&governor, &of("route53"), |n| if n < 3 { throttling.clone() } else { Outcome::Success }).await;
    assert_eq!((verdict, sent), (Some(Verdict::Done), 3));
    assert!(governor.inspect(&of("route53")).unwrap().rate_rps < 20.0);
}

// ===== retry budget =====

/// awslabs/aws-sdk-rust#1234: the token bucket went missing in a refactor and nobody noticed.
#[tokio::test(start_paused = true)]
async fn a_budget_of_nothing_pays_for_no_retry_beyond_the_free_ones() {
    let governor = governor("ratelimit: { aws: { retry_budget: 0 } }");
    assert_eq!(run(&governor, &of("s3"), |_| fails(Class::Transient)).await.1, 3);
    let paying = Outcome::Failure(Classification::throttled().with_pays_budget(true));
    assert_eq!(run(&governor, &of("s3"), |_| paying.clone()).await.1, 1);
}

/// hashicorp/aws-sdk-go-base#915: one retryer for all services, so that a storm in one stopped the retries of all.
#[tokio::test(start_paused = true)]
async fn a_storm_in_one_service_leaves_the_others_their_retries() {
    let governor = governor("ratelimit: { aws: { retry_budget: 30, breaker: { failures: 1000 } } }");
    for _ in 0..50 {
        run(&governor, &of("ec2"), |_| fails(Class::Transient)).await;
    }
    assert_eq!(governor.inspect(&of("ec2")).unwrap().retry_budget, 0);
    let (verdict, sent) =
        run(&governor, &of("iam"), |n| if n < 3 { fails(Class::Transient) } else { Outcome::Success }).await;
    assert_eq!((verdict, sent), (Some(Verdict::Done), 3));
}

/// aws/aws-sdk-js-v3#4754: one call that used up its retries left none for those that came after it.
#[tokio::test(start_paused = true)]
async fn a_call_that_used_up_its_retries_takes_none_from_the_next() {
    let governor = governor("ratelimit: { aws: { max_retries: 4 } }");
    for _ in 0..3 {
        assert_eq!(run(&governor, &of("sqs"), |_| fails(Class::Transient)).await.1, 5);
    }
    let (verdict, sent) =
        run(&governor, &of("sqs"), |n| if n < 5 { fails(Class::Transient) } else { Outcome::Success }).await;
    assert_eq!((verdict, sent), (Some(Verdict::Done), 5));
}

/// envoyproxy/envoy#30205: a thousand calls failed at once and those asleep in their backoff were not counted.
#[tokio::test(start_paused = true)]
async fn retries_asleep_in_their_backoff_are_counted() {
    let governor = governor(
        "ratelimit: { aws: { retry_budget: 50, account_concurrency: 2000, max_rps: 100000, breaker: { failures: 100000 } } }",
    );
    let paying = || Outcome::Failure(Classification::transient().with_pays_budget(true));
    let mut calls: Vec<_> = (0..1_000).map(|_| governor.call(&of("sqs"))).collect();
    let mut retrying = 0;
    for call in &mut calls {
        match admit(call).await.finish(paying()) {
            Verdict::Retry { .. } => retrying += 1,
            verdict => assert_eq!(verdict, Verdict::GiveUp(GiveUp::RetryBudgetExhausted)),
        }
    }
    assert_eq!(retrying, 50);
    drop(calls);
    assert_eq!(governor.inspect(&of("sqs")).unwrap().retry_budget, 50, "what was not sent was not spent");
}

// ===== throttled loops =====

/// kubernetes/kubernetes#31858: a delay that grew with each throttle never came down again.
#[tokio::test(start_paused = true)]
async fn after_a_storm_the_rate_comes_back_to_its_ceiling() {
    let governor = governor("ratelimit: { aws: { law: aimd, max_retries: 0, breaker: { failures: 1000 } } }");
    for _ in 0..3 {
        run(&governor, &of("sqs"), |_| fails(Class::Throttled)).await;
        tokio::time::sleep(secs(1.0)).await;
    }
    assert_eq!(governor.inspect(&of("sqs")).unwrap().rate_rps, 2.5);
    let start = Instant::now();
    while governor.inspect(&of("sqs")).unwrap().rate_rps < 20.0 {
        run(&governor, &of("sqs"), |_| Outcome::Success).await;
        tokio::time::sleep(secs(0.2)).await;
    }
    assert!(start.elapsed() <= secs(95.0), "eighteen steps of five seconds: {:?}", start.elapsed());
    assert!(governor.summary().slowed_buckets.is_empty());
    let again = Instant::now();
    run(&governor, &of("sqs"), |_| Outcome::Success).await;
    assert_eq!(again.elapsed(), Duration::ZERO);
}

/// kubernetes/kubernetes#41671, terraform-provider-azurerm#7694: retries during a Retry-After kept it going for ever.
#[tokio::test(start_paused = true)]
async fn during_a_pause_the_whole_scope_sends_nothing() {
    let governor = governor("ratelimit: { azure: { account_concurrency: 100, max_rps: 100 } }");
    let scope = Scope::new("azure", "sub", "", "compute");
    let sent = Arc::new(Mutex::new(Vec::new()));
    let start = Instant::now();
    let tasks: Vec<_> = (0..60)
        .map(|number| {
            let (governor, scope, sent) = (governor.clone(), scope.clone(), Arc::clone(&sent));
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_millis(500) * number).await;
                let told = Classification::throttled().with_retry_after(secs(20.0));
                let first =
                    move |n: u32| if number == 0 && n == 1 { Outcome::Failure(told.clone()) } else { Outcome::Success };
                let mut call = governor.call(&scope);
                loop {
                    let attempt = admit(&mut call).await;
                    sent.lock().unwrap().push(start.elapsed());
                    if attempt.finish(first(attempt.number())) == Verdict::Done {
                        break;
                    }
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let sent = sent.lock().unwrap();
    assert_eq!(sent.len(), 61);
    let during: Vec<_> = sent.iter().filter(|at| **at > Duration::ZERO && **at < secs(20.0)).collect();
    assert!(during.is_empty(), "{during:?}");
}

/// terraform-provider-azurerm#19146, cloud-custodian#6349: a 429 without Retry-After was not retried.
#[tokio::test(start_paused = true)]
async fn a_429_without_retry_after_is_retried_after_the_calls_own_backoff() {
    let governor = governor("");
    let bare = means(&governor, Facts::new().status(429));
    let mut call = governor.call(&of("route53"));
    let Verdict::Retry { delay, .. } = admit(&mut call).await.finish(bare) else { panic!("not retried") };
    assert!(delay >= secs(0.5) && delay <= secs(20.0), "{delay:?}");
    assert_eq!(governor.inspect(&of("route53")).unwrap().paused_for, None);
}

// ===== breakers =====

/// resilience4j#935, OmniRoute#13836: a probe that never settled kept the circuit half-open for six days.
#[tokio::test(start_paused = true)]
async fn a_probe_that_never_settles_does_not_keep_the_circuit_for_ever() {
    let governor = governor("ratelimit: { aws: { max_retries: 0, breaker: { failures: 1, cooldown: 30 } } }");
    run(&governor, &of("sqs"), |_| fails(Class::Transient)).await;
    tokio::time::sleep(secs(30.0)).await;
    let mut stuck = governor.call(&of("sqs"));
    let _held = admit(&mut stuck).await;
    let start = Instant::now();
    let mut refused = 0;
    while governor.call(&of("sqs")).admit().await.is_err() {
        refused += 1;
        tokio::time::sleep(secs(1.0)).await;
    }
    assert_eq!((start.elapsed(), refused), (secs(63.0), 63), "connect and read timeout together");
}

/// nodeshift/opossum#388: a probe that was answered "no such thing" left the circuit open.
#[tokio::test(start_paused = true)]
async fn a_probe_answered_not_found_closes_the_circuit() {
    let governor = governor("ratelimit: { aws: { max_retries: 0, breaker: { failures: 1, cooldown: 30 } } }");
    run(&governor, &of("route53"), |_| fails(Class::Transient)).await;
    tokio::time::sleep(secs(30.0)).await;
    let missing = means(&governor, Facts::new().status(404));
    run(&governor, &of("route53"), |_| missing.clone()).await;
    assert_eq!(governor.inspect(&of("route53")).unwrap().breaker, BreakerState::Closed);
}

/// opossum#119, smallrye-fault-tolerance#323, antflydb/termite#27: when the cooldown ended, all were let through.
#[tokio::test(start_paused = true)]
async fn of_a_hundred_tasks_that_come_when_the_cooldown_ends_one_is_sent() {
    let governor =
        governor("ratelimit: { aws: { max_retries: 0, max_rps: 1000, breaker: { failures: 1, cooldown: 30 } } }");
    run(&governor, &of("sqs"), |_| fails(Class::Transient)).await;
    let before = governor.summary().totals.calls;
    let tasks: Vec<_> = (0..100)
        .map(|_| {
            let governor = governor.clone();
            tokio::spawn(async move {
                tokio::time::sleep(secs(30.0)).await;
                let mut call = governor.call(&of("sqs"));
                let Ok(attempt) = call.admit().await else { return false };
                tokio::time::sleep(secs(1.0)).await;
                attempt.finish(fails(Class::Transient));
                true
            })
        })
        .collect();
    let mut sent = 0;
    for task in tasks {
        sent += u32::from(task.await.unwrap());
    }
    assert_eq!((sent, governor.summary().totals.calls - before), (1, 1));
    assert_eq!(governor.inspect(&of("sqs")).unwrap().circuit_open_for, Some(secs(30.0)), "a whole cooldown again");
}

/// linkerd2-proxy: throttles opened the breaker before the client had slowed, and a throttled probe closed it.
#[tokio::test(start_paused = true)]
async fn a_throttle_storm_slows_first_and_a_throttled_probe_does_not_close() {
    let governor = governor("ratelimit: { aws: { breaker: { failures: 2, cooldown: 30 }, deadline: 1000 } }");
    run(&governor, &of("sqs"), |n| if n < 7 { fails(Class::Throttled) } else { Outcome::Success }).await;
    let seen = governor.inspect(&of("sqs")).unwrap();
    assert!(seen.breaker == BreakerState::Closed && seen.rate_rps < 5.0, "{seen:?}");
    for _ in 0..2 {
        let mut call = governor.call(&of("sqs")).policy(RetryPolicy::none());
        admit(&mut call).await.finish(fails(Class::Throttled));
    }
    assert_eq!(governor.inspect(&of("sqs")).unwrap().breaker, BreakerState::Open);
    tokio::time::sleep(secs(30.0)).await;
    let (verdict, sent) = run(&governor, &of("sqs"), |_| fails(Class::Throttled)).await;
    assert_eq!((verdict, sent), (Some(Verdict::GiveUp(GiveUp::ProbeFailed)), 1));
    assert_eq!(governor.inspect(&of("sqs")).unwrap().breaker, BreakerState::Open);
}

// ===== Retry-After and arithmetic =====

/// java#43882, msrestazure#128, azure-sdk-for-go#19118: a server that asks for a day paused the client for a day.
#[tokio::test(start_paused = true)]
async fn a_day_of_retry_after_pauses_others_for_the_cap_and_fails_the_call_now() {
    let governor = governor("");
    let day = Classification::throttled().with_retry_after(secs(86_400.0));
    let start = Instant::now();
    let verdict = admit(&mut governor.call(&of("sqs"))).await.finish(Outcome::Failure(day));
    assert_eq!((verdict, start.elapsed()), (Verdict::GiveUp(GiveUp::DeadlineExceeded), Duration::ZERO));
    assert_eq!(governor.inspect(&of("sqs")).unwrap().paused_for, Some(secs(300.0)));
    admit(&mut governor.call(&of("sqs"))).await.finish(Outcome::Success);
    assert!(start.elapsed() >= secs(300.0) && start.elapsed() < secs(300.2));
}

/// aws-sdk-rust#960, djc/tokio-retry#1, tryhard#24, mulligan#31: far out, the backoff overflowed, or wrapped to a spin.
#[tokio::test(start_paused = true)]
async fn thousands_of_retries_never_spin_and_never_wait_beyond_the_cap() {
    for jitter in ["full", "decorrelated"] {
        let governor = governor(&format!(
            "ratelimit: {{ aws: {{ jitter: {jitter}, base_delay: 0.5, max_backoff: 20, max_rps: 1000, max_retries: 1000000, \
             retry_budget: 1000000, deadline: 30000000 }} }}"
        ));
        let mut call = governor.call(&of("sqs"));
        let mut slept = Duration::ZERO;
        for _ in 0..5_000 {
            let Verdict::Retry { delay, .. } = admit(&mut call).await.finish(fails(Class::Transient)) else {
                panic!("given up")
            };
            assert!(delay > Duration::ZERO && delay <= secs(20.0), "{delay:?}");
            slept += delay;
        }
        assert!(slept > secs(5.0) * 5_000, "{jitter}: {slept:?}");
    }
}
