//! One call from its beginning to its end: order of the controls, verdicts, cancellation.

mod common;

use std::time::Duration;

use cloud_governor::{
    BreakerState, Class, Classification, GiveUp, Outcome, Refusal, RefusalKind, RetryPolicy, Verdict,
};
use common::*;
use tokio::time::Instant;

const ONE_SLOT: &str = "ratelimit: { github: { account_concurrency: 1 } }";
const QUICK_BREAKER: &str =
    "ratelimit: { github: { max_retries: 0, breaker: { failures: 2, cooldown: 30 }, account_concurrency: 1 } }";

#[tokio::test(start_paused = true)]
async fn a_call_that_always_fails_is_sent_once_and_max_retries_times_more() {
    for class in [Class::Throttled, Class::Transient, Class::Locked] {
        let governor = governor("ratelimit: { github: { max_retries: 3 } }");
        let (verdict, sent) = run(&governor, &scope(), |_| fails(class)).await;
        assert_eq!((verdict, sent), (Some(Verdict::GiveUp(GiveUp::RetriesExhausted)), 4), "{class:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_fatal_answer_ends_the_call_at_once() {
    let governor = governor("");
    assert_eq!(run(&governor, &scope(), |_| fails(Class::Fatal)).await, (Some(Verdict::Done), 1));
}

#[tokio::test(start_paused = true)]
async fn backoff_is_waited_out_at_the_next_admission() {
    let governor = governor("ratelimit: { github: { base_delay: 2, max_backoff: 2 } }");
    let mut call = governor.call(&scope());
    let verdict = admit(&mut call).await.finish(fails(Class::Transient));
    let Verdict::Retry { delay, .. } = verdict else { panic!("{verdict:?}") };
    assert_eq!(delay, secs(2.0));
    let start = Instant::now();
    admit(&mut call).await.finish(Outcome::Success);
    assert_eq!(start.elapsed(), delay);
    assert_eq!(governor.summary().totals.wait_seconds, 0.0, "backoff is not waiting");
}

#[tokio::test(start_paused = true)]
async fn an_attempt_settles_once() {
    let governor = governor("");
    let mut call = governor.call(&scope());
    let attempt = admit(&mut call).await;
    assert_eq!(attempt.finish(Outcome::Success), Verdict::Done);
    assert_eq!(attempt.finish(fails(Class::Throttled)), Verdict::Done);
    assert_eq!(governor.summary().totals.throttled, 0);
    let refusal = call.admit().await.unwrap_err();
    assert_eq!(refusal.kind(), RefusalKind::CallEnded);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_attempt_frees_its_slot_and_records_no_failure() {
    let governor = governor(ONE_SLOT);
    let mut first = governor.call(&scope());
    let attempt = admit(&mut first).await;
    assert_eq!(governor.inspect(&scope()).unwrap().slots_in_use, 1);
    drop(attempt);
    assert_eq!(governor.inspect(&scope()).unwrap().slots_in_use, 0);
    let totals = governor.summary().totals;
    assert_eq!((totals.calls, totals.transient_errors, totals.gave_up), (1, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_was_not_sent_gives_its_token_back() {
    let governor = governor("ratelimit: { github: { max_rps: 1, burst: 1 } }");
    let mut call = governor.call(&scope());
    admit(&mut call).await.unsent();
    let start = Instant::now();
    drop(admit(&mut governor.call(&scope())).await);
    assert_eq!(start.elapsed(), Duration::ZERO);
    drop(admit(&mut governor.call(&scope())).await);
    assert!(start.elapsed() >= secs(1.0), "the second token was spent");
}

#[tokio::test(start_paused = true)]
async fn an_attempt_made_without_asking_waits_for_nothing_and_is_judged_like_any() {
    let yaml =
        "ratelimit: { github: { account_concurrency: 1, max_retries: 1, max_rps: 0.1, burst: 1, floor_rps: 0.01 } }";
    let governor = governor(yaml);
    let sent_at = governor.clock().now();
    let _in_flight = admit(&mut governor.call(&scope())).await;
    let mut call = governor.call(&scope()).without_slot();
    let attempt = call.attempted(sent_at);
    assert_eq!(attempt.number(), 1);
    assert!(matches!(attempt.finish(fails(Class::Throttled)), Verdict::Retry { .. }));
    let verdict = admit(&mut call).await.finish(fails(Class::Throttled));
    assert_eq!(verdict, Verdict::GiveUp(GiveUp::RetriesExhausted));
    let totals = governor.summary().totals;
    assert_eq!((totals.operations, totals.calls, totals.throttled, totals.gave_up), (2, 3, 2, 1));
    assert_eq!(governor.inspect(&scope()).map(|leaf| leaf.slots_in_use), Some(1), "the one in flight");
}

#[tokio::test(start_paused = true)]
async fn an_attempt_made_without_asking_into_an_open_circuit_is_recorded_and_not_repeated() {
    let governor = governor(QUICK_BREAKER);
    open_circuit(&governor).await;
    let mut call = governor.call(&scope()).policy(RetryPolicy::builder().max_retries(3).build().expect("sound"));
    let attempt = call.attempted(governor.clock().now());
    assert!(matches!(attempt.finish(fails(Class::Transient)), Verdict::Retry { .. }));
    assert_eq!(call.admit().await.map_err(|refusal| refusal.kind()).err(), Some(RefusalKind::CircuitOpen));
}

#[tokio::test(start_paused = true)]
async fn an_attempt_made_without_asking_gives_back_the_token_that_it_took_and_no_other() {
    let governor = governor("ratelimit: { github: { max_rps: 0.1, burst: 1, floor_rps: 0.01 } }");
    let tokens = || governor.inspect(&scope()).map(|leaf| leaf.tokens);
    let now = governor.clock().now();
    governor.call(&scope()).attempted(now).unsent();
    assert_eq!(tokens(), Some(1.0));
    let _sent = governor.call(&scope()).attempted(now);
    governor.call(&scope()).attempted(now).unsent();
    assert_eq!(tokens(), Some(0.0));
}

#[tokio::test(start_paused = true)]
async fn an_attempt_made_without_asking_takes_the_place_of_one_that_did_not_report() {
    let governor = governor(ONE_SLOT);
    let mut call = governor.call(&scope());
    let unreported = admit(&mut call).await;
    let attempt = call.attempted(governor.clock().now());
    assert_eq!(governor.inspect(&scope()).map(|leaf| leaf.slots_in_use), Some(0));
    assert_eq!(attempt.finish(Outcome::Success), Verdict::Done);
    assert_eq!(unreported.finish(fails(Class::Transient)), Verdict::Done);
    assert_eq!(governor.summary().totals.transient_errors, 0);
}

#[tokio::test(start_paused = true)]
async fn an_outcome_that_comes_after_its_attempt_was_dropped_is_judged_like_any() {
    let governor = governor("ratelimit: { github: { account_concurrency: 1, max_retries: 2 } }");
    let mut call = governor.call(&scope());
    let sent_at = governor.clock().now();
    drop(admit(&mut call).await);
    tokio::time::sleep(secs(300.0)).await;
    assert!(matches!(call.attempted(sent_at).finish(fails(Class::Throttled)), Verdict::Retry { .. }));
    assert_eq!(governor.inspect(&scope()).map(|leaf| leaf.slots_in_use), Some(0), "it holds none any more");
    assert_eq!(admit(&mut call).await.finish(Outcome::Success), Verdict::Done);
    let totals = governor.summary().totals;
    assert_eq!((totals.operations, totals.calls, totals.throttled, totals.gave_up), (1, 3, 1, 0));
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_gave_its_slot_back_early_is_judged_by_its_late_outcome_and_counted_once() {
    let governor = governor(ONE_SLOT);
    let mut call = governor.call(&scope());
    let late = admit(&mut call).await;
    late.release_slot();
    tokio::time::sleep(secs(300.0)).await;
    admit(&mut governor.call(&scope())).await.finish(Outcome::Success);
    assert!(matches!(late.finish(fails(Class::Throttled)), Verdict::Retry { .. }));
    let totals = governor.summary().totals;
    assert_eq!((totals.operations, totals.calls, totals.throttled, totals.retries), (2, 2, 1, 0));
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_never_reports_failed_and_its_slot_goes_back_first() {
    let governor = governor(ONE_SLOT);
    let mut call = governor.call(&scope());
    let lost = admit(&mut call).await;
    let next = admit(&mut call).await;
    assert_eq!(next.number(), 2);
    assert_eq!(governor.summary().totals.transient_errors, 1);
    drop(lost);
    assert_eq!(governor.inspect(&scope()).unwrap().slots_in_use, 1, "the late drop of the first frees nothing twice");
    assert_eq!(next.finish(Outcome::Success), Verdict::Done);
}

#[tokio::test(start_paused = true)]
async fn a_call_none_of_whose_attempts_report_ends_after_its_retries() {
    let governor = governor("ratelimit: { github: { max_retries: 2 } }");
    let mut call = governor.call(&scope());
    let mut attempts = Vec::new();
    let refusal = loop {
        match call.admit().await {
            Ok(attempt) => attempts.push(attempt),
            Err(refusal) => break refusal,
        }
    };
    assert_eq!((attempts.len(), refusal.kind()), (3, RefusalKind::AttemptTimedOut));
}

#[tokio::test(start_paused = true)]
async fn a_waiting_call_that_is_dropped_leaves_no_trace_in_the_lines() {
    let governor = governor(ONE_SLOT);
    let holder = admit(&mut governor.call(&scope())).await;
    let mut waiting = governor.call(&scope());
    assert!(tokio::time::timeout(secs(3.0), waiting.admit()).await.is_err());
    let seen = governor.inspect(&scope()).unwrap();
    assert_eq!((seen.waiting_for_slot, seen.waiting_for_rate), (0, 0));
    assert!((seen.tokens - seen.burst).abs() < 1e-6, "a token that waited for a slot is not lost");
    drop(holder);
    assert_eq!(governor.inspect(&scope()).unwrap().slots_in_use, 0);
    assert!((governor.summary().totals.wait_seconds - 3.0).abs() < 0.01);
}

#[tokio::test(start_paused = true)]
async fn the_slot_is_not_held_during_backoff() {
    let governor = governor(ONE_SLOT);
    let mut failing = governor.call(&scope());
    admit(&mut failing).await.finish(fails(Class::Transient));
    let start = Instant::now();
    admit(&mut governor.call(&scope())).await.finish(Outcome::Success);
    assert_eq!(start.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn tokens_that_waited_for_slots_do_not_burst_out_when_slots_come_free() {
    let governor = governor("ratelimit: { github: { account_concurrency: 2, max_rps: 10, burst: 2 } }");
    let held = [admit(&mut governor.call(&scope())).await, admit(&mut governor.call(&scope())).await];
    let sent: Vec<_> = (0..40)
        .map(|_| {
            let governor = governor.clone();
            tokio::spawn(async move {
                let mut call = governor.call(&scope());
                let attempt = admit(&mut call).await;
                attempt.finish(Outcome::Success);
                Instant::now()
            })
        })
        .collect();
    tokio::time::sleep(secs(60.0)).await;
    let freed = Instant::now();
    drop(held);
    let mut times = Vec::new();
    for sent in sent {
        times.push(sent.await.unwrap());
    }
    times.sort();
    for (index, time) in times.iter().enumerate() {
        let elapsed = time.duration_since(freed).as_secs_f64();
        assert!(index as f64 <= 2.0 + 10.0 * elapsed, "{index} sent after {elapsed} s");
    }
}

// ===== deadline =====

#[tokio::test(start_paused = true)]
async fn a_wait_that_cannot_end_before_the_deadline_is_refused_at_once_and_spends_no_token() {
    let governor = governor("ratelimit: { github: { max_rps: 0.1, burst: 1 } }");
    admit(&mut governor.call(&scope())).await.finish(Outcome::Success);
    let hurried = RetryPolicy::builder().deadline(secs(5.0)).build().unwrap();
    let start = Instant::now();
    let refusal = governor.call(&scope()).policy(hurried).admit().await.unwrap_err();
    assert_eq!((refusal.kind(), start.elapsed()), (RefusalKind::DeadlineExceeded, Duration::ZERO));
    assert!((refusal.retry_after().unwrap().as_secs_f64() - 10.0).abs() < 0.01);
    admit(&mut governor.call(&scope())).await.finish(Outcome::Success);
    assert!(start.elapsed() < secs(10.1));
    assert_eq!(governor.summary().totals.rejected, 1);
}

#[tokio::test(start_paused = true)]
async fn the_providers_deadline_begins_with_the_first_admission_and_a_policys_with_the_policy() {
    let governor = governor("ratelimit: { github: { deadline: 5, base_delay: 2, max_backoff: 2 } }");
    let (mut provided, policy) = (governor.call(&scope()), RetryPolicy::builder().deadline(secs(5.0)).build().unwrap());
    let mut own = governor.call(&scope()).policy(policy);
    tokio::time::sleep(secs(10.0)).await;
    assert_eq!(own.admit().await.unwrap_err().kind(), RefusalKind::DeadlineExceeded);
    for _ in 0..2 {
        let verdict = admit(&mut provided).await.finish(fails(Class::Transient));
        assert!(matches!(verdict, Verdict::Retry { .. }), "{verdict:?}");
    }
    let verdict = admit(&mut provided).await.finish(fails(Class::Transient));
    assert_eq!(verdict, Verdict::GiveUp(GiveUp::DeadlineExceeded), "it does not begin anew with each attempt");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_waits_for_a_slot_is_refused_at_its_deadline() {
    let governor = governor(ONE_SLOT);
    let _held = admit(&mut governor.call(&scope())).await;
    let policy = RetryPolicy::builder().deadline(secs(5.0)).build().unwrap();
    let start = Instant::now();
    let refusal = governor.call(&scope()).policy(policy).admit().await.unwrap_err();
    assert_eq!((refusal.kind(), start.elapsed()), (RefusalKind::DeadlineExceeded, secs(5.0)));
}

#[tokio::test(start_paused = true)]
async fn retrying_stops_when_the_next_attempt_would_come_after_the_deadline() {
    let governor = governor("ratelimit: { github: { deadline: 60 } }");
    let far = Classification::throttled().with_retry_after(secs(400.0));
    let mut call = governor.call(&scope());
    let verdict = admit(&mut call).await.finish(Outcome::Failure(far));
    assert_eq!(verdict, Verdict::GiveUp(GiveUp::DeadlineExceeded));
    let seen = governor.inspect(&scope()).unwrap();
    assert_eq!(seen.paused_for, Some(secs(300.0)), "the scope's pause is capped, the call's own wait is not");
}

#[tokio::test(start_paused = true)]
async fn the_callers_own_remaining_time_bounds_the_wait() {
    let governor = governor(ONE_SLOT);
    let _held = admit(&mut governor.call(&scope())).await;
    let mut call = governor.call(&scope());
    call.limit_deadline(secs(2.0));
    let start = Instant::now();
    assert_eq!(call.admit().await.unwrap_err().kind(), RefusalKind::DeadlineExceeded);
    assert_eq!(start.elapsed(), secs(2.0));
}

// ===== pause =====

#[tokio::test(start_paused = true)]
async fn nothing_of_the_scope_is_sent_into_a_pause() {
    let governor = governor("");
    let start = Instant::now();
    let throttled = Classification::throttled().with_retry_after(secs(30.0));
    admit(&mut governor.call(&scope())).await.finish(Outcome::Failure(throttled));
    let waiting: Vec<_> = (0..50)
        .map(|_| {
            let governor = governor.clone();
            tokio::spawn(async move {
                drop(admit(&mut governor.call(&scope())).await);
                Instant::now()
            })
        })
        .collect();
    for sent in waiting {
        assert!(sent.await.unwrap().duration_since(start) >= secs(30.0));
    }
}

// ===== breaker =====

async fn open_circuit(governor: &cloud_governor::Governor) {
    for _ in 0..2 {
        run(governor, &scope(), |_| fails(Class::Transient)).await;
    }
    let seen = governor.inspect(&scope()).expect("the scope is known");
    assert_eq!(seen.breaker, BreakerState::Open);
}

#[tokio::test(start_paused = true)]
async fn an_open_circuit_refuses_without_sending_and_says_when_to_come_back() {
    let governor = governor(QUICK_BREAKER);
    open_circuit(&governor).await;
    let calls = governor.summary().totals.calls;
    let refusal: Refusal = governor.call(&scope()).admit().await.unwrap_err();
    assert_eq!((refusal.kind(), refusal.retry_after()), (RefusalKind::CircuitOpen, Some(secs(30.0))));
    assert!(refusal.to_string().contains("client-side") && refusal.to_string().contains("github/octo/*/rest"));
    let totals = governor.summary().totals;
    assert_eq!((totals.calls, totals.rejected, totals.breaker_trips), (calls, 1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_calls_own_retries_do_not_trip_the_breaker() {
    let governor = governor("ratelimit: { github: { max_retries: 8, breaker: { failures: 2 } } }");
    run(&governor, &scope(), |_| fails(Class::Transient)).await;
    assert_eq!(governor.inspect(&scope()).unwrap().breaker, BreakerState::Closed);
}

/// opossum#119: half-open let all through.
#[tokio::test(start_paused = true)]
async fn one_of_a_hundred_is_sent_when_the_cooldown_ends_and_its_success_lets_all_through() {
    let governor =
        governor("ratelimit: { github: { max_retries: 0, breaker: { failures: 2, cooldown: 30 }, max_rps: 1000 } }");
    open_circuit(&governor).await;
    tokio::time::sleep(secs(30.0)).await;
    let calls = governor.summary().totals.calls;
    let mut probes = Vec::new();
    for _ in 0..100 {
        if let Ok(attempt) = governor.call(&scope()).admit().await {
            probes.push(attempt);
        }
    }
    assert_eq!((probes.len(), governor.summary().totals.calls - calls), (1, 1));
    assert!(probes[0].is_probe());
    assert_eq!(probes[0].finish(Outcome::Success), Verdict::Done);
    assert!(probes[0].is_probe() && !admit(&mut governor.call(&scope())).await.is_probe());
    assert!(governor.call(&scope()).admit().await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_probe_does_not_retry_and_a_throttled_one_opens_the_circuit_again() {
    let governor =
        governor("ratelimit: { github: { max_retries: 3, deadline: 100, breaker: { failures: 1, cooldown: 30 } } }");
    run(&governor, &scope(), |_| fails(Class::Transient)).await;
    tokio::time::sleep(secs(31.0)).await;
    assert_eq!(
        run(&governor, &scope(), |_| fails(Class::Throttled)).await,
        (Some(Verdict::GiveUp(GiveUp::ProbeFailed)), 1)
    );
    assert_eq!(governor.inspect(&scope()).unwrap().breaker, BreakerState::Open);
}

#[tokio::test(start_paused = true)]
async fn a_fatal_answer_to_the_probe_closes_the_circuit() {
    let governor = governor(QUICK_BREAKER);
    open_circuit(&governor).await;
    tokio::time::sleep(secs(30.0)).await;
    run(&governor, &scope(), |_| fails(Class::Fatal)).await;
    assert_eq!(governor.inspect(&scope()).unwrap().breaker, BreakerState::Closed);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_probe_frees_its_place() {
    let governor = governor(QUICK_BREAKER);
    open_circuit(&governor).await;
    tokio::time::sleep(secs(30.0)).await;
    drop(admit(&mut governor.call(&scope())).await);
    let probe = admit(&mut governor.call(&scope())).await;
    probe.finish(Outcome::Success);
    assert_eq!(governor.inspect(&scope()).unwrap().breaker, BreakerState::Closed);
}

#[tokio::test(start_paused = true)]
async fn the_late_outcome_of_a_dropped_probe_leaves_the_circuit_to_the_next_one() {
    let governor = governor(QUICK_BREAKER);
    open_circuit(&governor).await;
    tokio::time::sleep(secs(30.0)).await;
    let mut late = governor.call(&scope());
    let sent_at = governor.clock().now();
    let probe = admit(&mut late).await;
    assert!(probe.is_probe());
    drop(probe);
    let next = admit(&mut governor.call(&scope())).await;
    assert!(next.is_probe(), "its place is free again");
    assert_eq!(late.attempted(sent_at).finish(Outcome::Success), Verdict::Done);
    assert_ne!(governor.inspect(&scope()).unwrap().breaker, BreakerState::Closed);
    next.finish(Outcome::Success);
    assert_eq!(governor.inspect(&scope()).unwrap().breaker, BreakerState::Closed);
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_a_later_guard_refuses_frees_its_place() {
    let governor = governor(QUICK_BREAKER);
    let held = admit(&mut governor.call(&scope().with_operation("Other"))).await;
    held.release_slot();
    open_circuit(&governor).await;
    tokio::time::sleep(secs(30.0)).await;
    // Another scope of the account takes the only slot.
    let other = cloud_governor::Scope::new("github", "octo", "", "graphql");
    let busy = admit(&mut governor.call(&other)).await;
    let policy = RetryPolicy::builder().deadline(secs(1.0)).build().unwrap();
    let refusal = governor.call(&scope()).policy(policy).admit().await.unwrap_err();
    assert_eq!(refusal.kind(), RefusalKind::DeadlineExceeded);
    drop(busy);
    admit(&mut governor.call(&scope())).await.finish(Outcome::Success);
    assert_eq!(governor.inspect(&scope()).unwrap().breaker, BreakerState::Closed);
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_never_settles_loses_its_place_after_its_attempt_timeout() {
    let governor = governor(QUICK_BREAKER);
    open_circuit(&governor).await;
    tokio::time::sleep(secs(30.0)).await;
    let policy = RetryPolicy::builder().attempt_timeout(secs(10.0)).build().unwrap();
    let stuck = governor.call(&scope()).policy(policy).admit().await.unwrap();
    stuck.release_slot();
    tokio::time::sleep(secs(9.0)).await;
    assert!(governor.call(&scope()).admit().await.is_err());
    tokio::time::sleep(secs(1.0)).await;
    admit(&mut governor.call(&scope())).await.finish(Outcome::Success);
    assert_eq!(governor.inspect(&scope()).unwrap().breaker, BreakerState::Closed);
    stuck.finish(fails(Class::Transient));
    assert_eq!(governor.inspect(&scope()).unwrap().breaker, BreakerState::Closed, "its late failure decides nothing");
}

#[tokio::test(start_paused = true)]
async fn opening_refuses_those_in_line() {
    let governor =
        governor("ratelimit: { github: { max_retries: 0, max_rps: 0.1, burst: 3, breaker: { failures: 2 } } }");
    let failing = [admit(&mut governor.call(&scope())).await, admit(&mut governor.call(&scope())).await];
    drop(admit(&mut governor.call(&scope())).await);
    let queued = governor.clone();
    let waiting = tokio::spawn(async move { queued.call(&scope()).admit().await.map(drop) });
    tokio::time::sleep(secs(0.5)).await;
    let start = Instant::now();
    failing.iter().for_each(|attempt| {
        attempt.finish(fails(Class::Transient));
    });
    let refusal = waiting.await.unwrap().unwrap_err();
    assert_eq!((refusal.kind(), start.elapsed()), (RefusalKind::CircuitOpen, Duration::ZERO));
}

#[tokio::test(start_paused = true)]
async fn a_locked_answer_lowers_no_rate_and_counts_for_no_breaker() {
    let governor = governor("ratelimit: { github: { max_retries: 0, breaker: { failures: 1 } } }");
    for _ in 0..5 {
        run(&governor, &scope(), |_| fails(Class::Locked)).await;
    }
    let seen = governor.inspect(&scope()).unwrap();
    assert_eq!((seen.rate_rps, seen.breaker), (20.0, BreakerState::Closed));
}

// ===== budget =====

#[tokio::test(start_paused = true)]
async fn with_an_empty_budget_a_call_has_its_two_free_retries_and_no_more() {
    let governor = governor("ratelimit: { github: { retry_budget: 0 } }");
    assert_eq!(
        run(&governor, &scope(), |_| fails(Class::Transient)).await,
        (Some(Verdict::GiveUp(GiveUp::RetryBudgetExhausted)), 3)
    );
}

#[tokio::test(start_paused = true)]
async fn a_failure_that_always_pays_gets_no_free_retry() {
    let governor = governor("ratelimit: { github: { retry_budget: 0 } }");
    let bare = Classification::throttled().with_pays_budget(true);
    assert_eq!(run(&governor, &scope(), |_| Outcome::Failure(bare.clone())).await.1, 1);
}

#[tokio::test(start_paused = true)]
async fn a_storm_in_one_service_leaves_another_its_free_retries() {
    let governor = governor("ratelimit: { github: { retry_budget: 3 } }");
    run(&governor, &scope(), |_| fails(Class::Transient)).await;
    assert_eq!(governor.inspect(&scope()).unwrap().retry_budget, 0);
    let other = cloud_governor::Scope::new("github", "octo", "", "graphql");
    let (verdict, sent) =
        run(&governor, &other, |n| if n < 3 { fails(Class::Transient) } else { Outcome::Success }).await;
    assert_eq!((verdict, sent), (Some(Verdict::Done), 3));
}

#[tokio::test(start_paused = true)]
async fn retries_that_are_decided_but_never_sent_cost_nothing() {
    let governor = governor("ratelimit: { github: { retry_budget: 1 } }");
    let mut call = governor.call(&scope());
    for _ in 0..3 {
        admit(&mut call).await.finish(fails(Class::Transient));
    }
    assert_eq!(governor.inspect(&scope()).unwrap().retry_budget, 0, "charged when decided");
    drop(call);
    assert_eq!(governor.inspect(&scope()).unwrap().retry_budget, 1);
}

#[tokio::test(start_paused = true)]
async fn a_policy_may_leave_the_budget_alone() {
    let governor = governor("ratelimit: { github: { retry_budget: 0, max_retries: 4 } }");
    let policy = RetryPolicy::builder().use_budget(false).build().unwrap();
    let mut call = governor.call(&scope()).policy(policy);
    while let Verdict::Retry { .. } = admit(&mut call).await.finish(fails(Class::Transient)) {}
    assert_eq!(call.attempts(), 5);
}

#[tokio::test(start_paused = true)]
async fn one_exhausted_call_does_not_stop_the_next() {
    let governor = governor("ratelimit: { github: { max_retries: 1 } }");
    run(&governor, &scope(), |_| fails(Class::Transient)).await;
    let (verdict, sent) =
        run(&governor, &scope(), |n| if n < 2 { fails(Class::Transient) } else { Outcome::Success }).await;
    assert_eq!((verdict, sent), (Some(Verdict::Done), 2));
}

// ===== policy =====

#[tokio::test(start_paused = true)]
async fn a_request_that_may_have_been_executed_is_not_sent_twice_unless_idempotent() {
    let governor = governor("");
    let mut call = governor.call(&scope()).idempotent(false);
    assert_eq!(admit(&mut call).await.finish(fails(Class::Transient)), Verdict::GiveUp(GiveUp::NotIdempotent));
    let mut call = governor.call(&scope()).idempotent(false);
    assert!(matches!(admit(&mut call).await.finish(fails(Class::Throttled)), Verdict::Retry { .. }));
    let mut call = governor.call(&scope());
    assert!(matches!(admit(&mut call).await.finish(fails(Class::Transient)), Verdict::Retry { .. }));
}

#[tokio::test(start_paused = true)]
async fn what_is_learned_of_an_operation_with_its_outcome_decides_whether_it_is_sent_again() {
    let governor = governor("");
    let mut call = governor.call(&scope());
    let attempt = admit(&mut call).await;
    call.set_idempotent(false);
    assert_eq!(attempt.finish(fails(Class::Transient)), Verdict::GiveUp(GiveUp::NotIdempotent));
    let mut call = governor.call(&scope()).idempotent(false);
    let attempt = admit(&mut call).await;
    call.set_idempotent(true);
    assert!(matches!(attempt.finish(fails(Class::Transient)), Verdict::Retry { .. }));
}

#[tokio::test(start_paused = true)]
async fn a_failure_may_ask_for_a_long_backoff_which_pauses_nobody_else_and_stays_within_the_policy() {
    let governor = governor("ratelimit: { github: { max_rps: 20, max_backoff: 20 } }");
    let ambiguous = || Outcome::Failure(Classification::throttled().with_least_backoff(secs(5.0)));
    let mut call = governor.call(&scope());
    let Verdict::Retry { delay, .. } = admit(&mut call).await.finish(ambiguous()) else { panic!("retried") };
    assert!((secs(5.0)..=secs(5.5)).contains(&delay), "{delay:?}");
    assert_eq!(governor.inspect(&scope()).and_then(|leaf| leaf.paused_for), None);
    let policy = RetryPolicy::builder().max_backoff(secs(1.0)).build().unwrap();
    let mut call = governor.call(&scope()).policy(policy);
    let Verdict::Retry { delay, .. } = admit(&mut call).await.finish(ambiguous()) else { panic!("retried") };
    assert!(delay <= secs(1.5), "{delay:?}");
}

#[tokio::test(start_paused = true)]
async fn a_policy_may_retry_throttles_alone() {
    let governor = governor("");
    let policy = RetryPolicy::builder().retry_transient(false).build().unwrap();
    let mut call = governor.call(&scope()).policy(policy);
    assert_eq!(admit(&mut call).await.finish(fails(Class::Transient)), Verdict::GiveUp(GiveUp::TransientNotRetried));
    let mut call = governor.call(&scope()).policy(policy);
    assert!(matches!(admit(&mut call).await.finish(fails(Class::Throttled)), Verdict::Retry { .. }));
}

#[tokio::test(start_paused = true)]
async fn a_disabled_provider_is_called_once_directly() {
    let governor = governor("ratelimit: { github: { enabled: false, max_rps: 0.1, burst: 1 } }");
    let start = Instant::now();
    for _ in 0..10 {
        let mut call = governor.call(&scope());
        assert!(!call.is_governed());
        assert_eq!(admit(&mut call).await.finish(fails(Class::Throttled)), Verdict::Done);
    }
    assert_eq!(start.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_front_end_that_stops_after_a_failure_counts_as_giving_up() {
    let governor = governor("ratelimit: { github: { breaker: { failures: 1 } } }");
    let mut call = governor.call(&scope());
    admit(&mut call).await.finish(fails(Class::Transient));
    call.give_up();
    call.give_up();
    assert_eq!(governor.summary().totals.gave_up, 1);
    assert_eq!(governor.inspect(&scope()).unwrap().breaker, BreakerState::Open);
}

// ===== nothing sent, nothing failed =====

#[tokio::test(start_paused = true)]
async fn an_attempt_that_was_not_sent_is_not_counted_and_its_retry_is_still_paid() {
    let governor = governor("ratelimit: { github: { retry_budget: 1 } }");
    let mut call = governor.call(&scope());
    for _ in 0..3 {
        admit(&mut call).await.finish(fails(Class::Transient));
    }
    admit(&mut call).await.unsent();
    let totals = governor.summary().totals;
    assert_eq!((call.attempts(), totals.calls, totals.retries), (3, 3, 2));
    assert_eq!(governor.inspect(&scope()).unwrap().retry_budget, 0, "the retry is still to be made");
    let attempt = admit(&mut call).await;
    assert_eq!(attempt.number(), 4);
    assert_eq!(attempt.finish(fails(Class::Transient)), Verdict::GiveUp(GiveUp::RetryBudgetExhausted));
    drop(call);
    assert_eq!(governor.inspect(&scope()).unwrap().retry_budget, 0, "sent, and so spent");
}

#[tokio::test(start_paused = true)]
async fn a_paid_retry_that_was_never_sent_costs_nothing() {
    let governor = governor("ratelimit: { github: { retry_budget: 1 } }");
    let mut call = governor.call(&scope());
    for _ in 0..3 {
        admit(&mut call).await.finish(fails(Class::Transient));
    }
    admit(&mut call).await.unsent();
    drop(call);
    assert_eq!(governor.inspect(&scope()).unwrap().retry_budget, 1);
}

#[tokio::test(start_paused = true)]
async fn a_charge_does_not_outlive_its_call_in_an_attempt_that_is_kept() {
    let governor = governor("ratelimit: { github: { retry_budget: 1 } }");
    let mut call = governor.call(&scope());
    let mut kept = Vec::new();
    for _ in 0..3 {
        let attempt = admit(&mut call).await;
        attempt.finish(fails(Class::Transient));
        kept.push(attempt);
    }
    drop(call);
    assert_eq!((kept.len(), governor.inspect(&scope()).unwrap().retry_budget), (3, 1));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_refused_after_a_cancelled_attempt_is_no_failure_of_the_service() {
    let governor = governor("ratelimit: { github: { max_rps: 0.1, burst: 1, breaker: { failures: 1 } } }");
    let policy = RetryPolicy::builder().deadline(secs(5.0)).build().unwrap();
    let mut call = governor.call(&scope()).policy(policy);
    drop(admit(&mut call).await);
    assert_eq!(call.admit().await.unwrap_err().kind(), RefusalKind::DeadlineExceeded);
    let totals = governor.summary().totals;
    assert_eq!((totals.gave_up, totals.rejected), (0, 1));
    assert_eq!(governor.inspect(&scope()).unwrap().breaker, BreakerState::Closed);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_ends_while_it_waits_behind_a_lock_counts_for_no_breaker() {
    let governor = governor("ratelimit: { github: { breaker: { failures: 1 }, max_rps: 0.1, burst: 1 } }");
    let policy = RetryPolicy::builder().deadline(secs(5.0)).build().unwrap();
    let mut call = governor.call(&scope()).policy(policy);
    assert!(matches!(admit(&mut call).await.finish(fails(Class::Locked)), Verdict::Retry { .. }));
    assert!(call.admit().await.is_err());
    let mut stopped = governor.call(&scope());
    admit(&mut stopped).await.finish(fails(Class::Locked));
    stopped.give_up();
    assert_eq!(governor.summary().totals.gave_up, 2);
    assert_eq!(governor.inspect(&scope()).unwrap().breaker, BreakerState::Closed);
}

#[tokio::test(start_paused = true)]
async fn a_backoff_that_ends_exactly_at_the_deadline_is_not_waited_out() {
    let governor = governor("ratelimit: { github: { base_delay: 2, max_backoff: 2, deadline: 2 } }");
    let verdict = admit(&mut governor.call(&scope())).await.finish(fails(Class::Transient));
    assert_eq!(verdict, Verdict::GiveUp(GiveUp::DeadlineExceeded));
}

#[tokio::test(start_paused = true)]
async fn a_deadline_brought_forward_to_the_backoffs_end_is_refused_at_once() {
    let governor = governor("ratelimit: { github: { base_delay: 2, max_backoff: 2 } }");
    let mut call = governor.call(&scope());
    admit(&mut call).await.finish(fails(Class::Transient));
    call.limit_deadline(secs(2.0));
    let start = Instant::now();
    let refusal = call.admit().await.unwrap_err();
    assert_eq!((refusal.kind(), start.elapsed()), (RefusalKind::DeadlineExceeded, Duration::ZERO));
}

#[tokio::test(start_paused = true)]
async fn a_deadline_of_zero_is_refused_without_sending() {
    let governor = governor("");
    let mut call = governor.call(&scope());
    call.limit_deadline(Duration::ZERO);
    assert_eq!(call.admit().await.unwrap_err().kind(), RefusalKind::DeadlineExceeded);
    let totals = governor.summary().totals;
    assert_eq!((totals.operations, totals.calls, totals.rejected), (1, 0, 1));
}

/// A Retry-After without end is waited for by nobody: Azure/azure-sdk-for-net#50949 was told 114 hours.
#[tokio::test(start_paused = true)]
async fn a_retry_after_without_end_fails_now_or_waits_as_long_as_the_caller_allows() {
    let governor = governor("");
    let endless = || Outcome::Failure(Classification::throttled().with_retry_after(Duration::MAX));
    let verdict = admit(&mut governor.call(&scope())).await.finish(endless());
    assert_eq!(verdict, Verdict::GiveUp(GiveUp::DeadlineExceeded));
    assert_eq!(governor.inspect(&scope()).unwrap().paused_for, Some(secs(300.0)));
    let patient = RetryPolicy::builder().deadline(None).build().unwrap();
    let mut call = governor.call(&scope()).policy(patient);
    assert!(matches!(admit(&mut call).await.finish(endless()), Verdict::Retry { delay, .. } if delay == Duration::MAX));
    assert!(tokio::time::timeout(secs(86_400.0), call.admit()).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_call_like_another_has_its_policy_its_deadline_and_no_slot_if_that_takes_none() {
    let governor = governor(ONE_SLOT);
    let policy = RetryPolicy::builder().max_retries(1).deadline(secs(10.0)).build().expect("sound");
    let first = governor.call(&scope()).policy(policy).without_slot();
    tokio::time::advance(secs(6.0)).await;
    let mut second = governor.call(&scope()).like(&first);

    let mut other = governor.call(&scope());
    let _the_only_slot = admit(&mut other).await;
    assert!(!second.is_exhausted());
    let verdict = admit(&mut second).await.finish(fails(Class::Transient));
    assert!(matches!(verdict, Verdict::Retry { .. }), "{verdict:?}");
    assert!(!second.is_exhausted(), "a retry is left");

    tokio::time::advance(secs(4.0)).await;
    let refusal = second.admit().await.expect_err("the deadline is the first call's");
    assert_eq!(refusal.kind(), RefusalKind::DeadlineExceeded);
}

#[tokio::test(start_paused = true)]
async fn a_call_is_exhausted_with_the_last_attempt_that_its_policy_allows() {
    let governor = governor("ratelimit: { github: { max_retries: 1 } }");
    let mut call = governor.call(&scope());
    admit(&mut call).await.finish(fails(Class::Transient));
    assert!(!call.is_exhausted());
    let _last = admit(&mut call).await;
    assert!(call.is_exhausted());
}
