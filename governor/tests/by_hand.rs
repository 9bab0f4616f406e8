//! Async calls by hand: errors, timeouts, classification, wrapped functions.

mod common;

use std::cell::Cell;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use cloud_governor::{
    Classification, Classify, Error, Facts, Governor, Priority, RefusalKind, Resilience, RetryPolicy, Scope,
    call_with_resilience, resilient,
};
use common::*;
use tokio::time::Instant;

/// An error that knows its HTTP status.
#[derive(Debug, PartialEq)]
struct Status(u16);

impl Classify for Status {
    fn facts(&self) -> Facts<'_> {
        Facts::new().status(self.0)
    }
}

fn by_text(error: &&str) -> Classification {
    match *error {
        "slow down" => Classification::throttled(),
        "lost" => Classification::transient(),
        _ => Classification::fatal(),
    }
}

fn reset() -> io::Error {
    io::Error::from(io::ErrorKind::ConnectionReset)
}

#[tokio::test(start_paused = true)]
async fn a_call_is_sent_again_until_it_is_answered() {
    let governor = governor("");
    let sent = Cell::new(0);
    let answer = Resilience::new()
        .governor(&governor)
        .call(&scope(), || async {
            sent.set(sent.get() + 1);
            if sent.get() < 3 { Err(reset()) } else { Ok(sent.get()) }
        })
        .await;
    assert_eq!(answer.unwrap(), 3);
    let totals = governor.summary().totals;
    assert_eq!((totals.operations, totals.calls, totals.retries, totals.transient_errors), (1, 3, 2, 2));
}

#[tokio::test(start_paused = true)]
async fn the_last_error_comes_back_unchanged_when_retries_are_used_up() {
    let governor = governor("ratelimit: { github: { max_retries: 2 } }");
    let sent = Cell::new(0);
    let answer = Resilience::new()
        .governor(&governor)
        .classify_with(|_: &u32| Classification::transient())
        .call(&scope(), || async {
            sent.set(sent.get() + 1);
            Err::<(), u32>(sent.get())
        })
        .await;
    assert!(matches!(answer, Err(Error::Call(3))), "{answer:?}");
}

/// HKUDS/nanobot#2760, kubernetes-sigs/cloud-provider-azure#247: a server that always answers 429 sees as many
/// requests as the policy allows, and the caller gets that answer.
#[tokio::test(start_paused = true)]
async fn a_server_that_always_throttles_sees_as_many_requests_as_the_policy_allows() {
    let governor = governor("");
    let sent = Cell::new(0);
    let policy = RetryPolicy::builder().max_retries(3).build().unwrap();
    let answer = Resilience::new()
        .governor(&governor)
        .policy(policy)
        .classify_by_facts()
        .call(&scope(), || async {
            sent.set(sent.get() + 1);
            Err::<(), Status>(Status(429))
        })
        .await;
    assert_eq!((sent.get(), answer.unwrap_err().into_call()), (4, Some(Status(429))));
}

/// boto/botocore#2635: a bare 429, without a code, is a throttle.
#[tokio::test(start_paused = true)]
async fn a_bare_429_lowers_the_rate_and_a_500_does_not() {
    for (status, throttled) in [(429, 1), (500, 0)] {
        let governor = governor("ratelimit: { github: { max_retries: 0 } }");
        let resilience = Resilience::new().governor(&governor).classify_by_facts();
        resilience.call(&scope(), || async { Err::<(), Status>(Status(status)) }).await.unwrap_err();
        let rate = governor.inspect(&scope()).unwrap().rate_rps;
        assert_eq!((governor.summary().totals.throttled, rate < 20.0), (throttled, throttled == 1), "{status}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_fatal_error_comes_back_at_once() {
    let governor = governor("");
    let sent = Cell::new(0);
    let answer = Resilience::new()
        .governor(&governor)
        .classify_with(by_text)
        .call(&scope(), || async {
            sent.set(sent.get() + 1);
            Err::<(), _>("no such repository")
        })
        .await;
    assert!(matches!(answer, Err(Error::Call("no such repository"))));
    assert_eq!(sent.get(), 1);
}

/// aws/aws-sdk-go-v2#1665, #3189: an exhausted client-side quota read like a server's error and hid the original.
#[tokio::test(start_paused = true)]
async fn an_empty_budget_gives_the_callers_own_error_and_an_open_circuit_says_that_it_is_client_side() {
    let governor = governor("ratelimit: { github: { retry_budget: 0, breaker: { failures: 1 } } }");
    let resilience = Resilience::new().governor(&governor).classify_with(by_text);
    let answer = resilience.call(&scope(), || async { Err::<(), _>("lost") }).await;
    assert!(matches!(answer, Err(Error::Call("lost"))), "{answer:?}");
    let refused = resilience.call(&scope(), || async { Ok::<(), &str>(()) }).await.unwrap_err();
    let refusal = refused.refusal().expect("nothing was sent");
    assert_eq!((refusal.kind(), refusal.code(), refusal.exit_code()), (RefusalKind::CircuitOpen, "circuit_open", 69));
    assert_eq!(refusal.scope(), &scope());
    assert!(refused.to_string().contains("client-side") && refused.to_string().contains("github/octo/*/rest"));
}

#[test]
fn every_refusal_has_a_code_and_an_exit_code_of_its_own() {
    let kinds = [
        RefusalKind::CircuitOpen,
        RefusalKind::DeadlineExceeded,
        RefusalKind::RetryBudgetExhausted,
        RefusalKind::AttemptTimedOut,
        RefusalKind::CallEnded,
        RefusalKind::RuntimeThread,
    ];
    let codes: std::collections::BTreeSet<_> = kinds.iter().map(|kind| kind.code()).collect();
    let exits: std::collections::BTreeSet<_> = kinds.iter().map(|kind| kind.exit_code()).collect();
    assert_eq!((codes.len(), exits.len()), (kinds.len(), kinds.len()));
    assert!(exits.iter().all(|code| (64..=113).contains(code)), "clear of the shell's own: {exits:?}");
}

// ===== attempt timeout =====

#[tokio::test(start_paused = true)]
async fn an_attempt_that_outlives_its_timeout_is_dropped_and_sent_again() {
    let governor = governor("ratelimit: { github: { account_concurrency: 1 } }");
    let policy = RetryPolicy::builder().attempt_timeout(secs(2.0)).max_retries(1).build().unwrap();
    let sent = Cell::new(0);
    let answer = Resilience::new()
        .governor(&governor)
        .policy(policy)
        .call(&scope(), || {
            sent.set(sent.get() + 1);
            let hangs = sent.get() == 1;
            async move {
                if hangs {
                    std::future::pending::<()>().await;
                }
                Ok::<_, io::Error>("answered")
            }
        })
        .await;
    assert_eq!((answer.unwrap(), sent.get()), ("answered", 2));
    assert_eq!(governor.summary().totals.transient_errors, 1);
}

#[tokio::test(start_paused = true)]
async fn a_call_whose_every_attempt_timed_out_is_refused_as_such_after_its_retries() {
    let governor = governor("ratelimit: { github: { base_delay: 1, max_backoff: 1 } }");
    let policy = RetryPolicy::builder().attempt_timeout(secs(2.0)).max_retries(2).build().unwrap();
    let start = Instant::now();
    let answer = Resilience::new()
        .governor(&governor)
        .policy(policy)
        .call(&scope(), std::future::pending::<Result<(), io::Error>>)
        .await;
    assert_eq!(answer.unwrap_err().refusal().unwrap().kind(), RefusalKind::AttemptTimedOut);
    assert_eq!(start.elapsed(), secs(8.0), "three attempts of 2 s, two backoffs of 1 s");
    assert_eq!(governor.summary().totals.gave_up, 1);
}

#[tokio::test(start_paused = true)]
async fn an_earlier_error_is_given_back_when_the_last_attempt_times_out() {
    let governor = governor("");
    let policy = RetryPolicy::builder().attempt_timeout(secs(2.0)).max_retries(1).build().unwrap();
    let sent = Cell::new(0);
    let answer = Resilience::new()
        .governor(&governor)
        .policy(policy)
        .classify_with(by_text)
        .call(&scope(), || {
            sent.set(sent.get() + 1);
            let fails = sent.get() == 1;
            async move { if fails { Err("lost") } else { std::future::pending::<Result<(), _>>().await } }
        })
        .await;
    assert!(matches!(answer, Err(Error::Call("lost"))), "{answer:?}");
}

#[tokio::test(start_paused = true)]
async fn an_answer_at_the_very_timeout_counts() {
    let governor = governor("");
    let policy = RetryPolicy::builder().attempt_timeout(secs(2.0)).build().unwrap();
    let answer = Resilience::new()
        .governor(&governor)
        .policy(policy)
        .call(&scope(), || async {
            tokio::time::sleep(secs(2.0)).await;
            Ok::<_, io::Error>(1)
        })
        .await;
    assert_eq!((answer.unwrap(), governor.summary().totals.calls), (1, 1));
}

// ===== classification =====

#[tokio::test(start_paused = true)]
async fn a_source_chain_is_looked_through_for_what_is_known() {
    #[derive(Debug)]
    struct Wrapped(io::Error);
    impl std::fmt::Display for Wrapped {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("request failed")
        }
    }
    impl std::error::Error for Wrapped {
        fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
            Some(&self.0)
        }
    }
    for (kind, sent) in [(io::ErrorKind::ConnectionReset, 2), (io::ErrorKind::InvalidData, 1)] {
        let governor = governor("ratelimit: { github: { max_retries: 1 } }");
        let resilience = Resilience::new().governor(&governor);
        resilience.call(&scope(), || async { Err::<(), _>(Wrapped(io::Error::from(kind))) }).await.unwrap_err();
        assert_eq!(governor.summary().totals.calls, sent, "{kind:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_operation_that_must_not_be_executed_twice_is_not() {
    let governor = governor("");
    let resilience = Resilience::new().governor(&governor).idempotent(false).classify_with(by_text);
    resilience.call(&scope(), || async { Err::<(), _>("lost") }).await.unwrap_err();
    assert_eq!(governor.summary().totals.calls, 1);
}

#[tokio::test(start_paused = true)]
async fn a_governed_call_inside_another_is_refused_without_counting_as_an_answer() {
    let governor = governor("ratelimit: { github: { breaker: { failures: 1 } } }");
    let inner = Scope::new("github", "octo", "", "graphql");
    let resilience = Resilience::new().governor(&governor);
    let once = RetryPolicy::none();
    let failing = Resilience::new().governor(&governor).policy(once);
    failing.call(&inner, || async { Err::<(), _>(reset()) }).await.unwrap_err();
    let answer = resilience
        .call(&scope(), || async { resilience.call(&inner, || async { Ok::<_, io::Error>(()) }).await })
        .await
        .unwrap_err();
    assert_eq!(cloud_governor::Refusal::find(&answer).unwrap().scope(), &inner);
    assert_eq!(governor.summary().scopes[&scope()].calls, 1, "asking again is not for the outer call");
}

// ===== wrapped functions, other forms =====

#[tokio::test(start_paused = true)]
async fn a_wrapped_function_is_governed_under_one_scope_or_one_made_from_its_argument() {
    let governor = governor("");
    let sent = AtomicU32::new(0);
    let flaky = |n: u32| {
        let first = sent.fetch_add(1, Ordering::SeqCst) == 0;
        async move { if first { Err(reset()) } else { Ok(n * 2) } }
    };
    let fixed = Resilience::new().governor(&governor).wrap(scope(), flaky);
    assert_eq!(fixed.call(4).await.unwrap(), 8);
    assert_eq!(governor.summary().scopes[&scope()].calls, 2);
    let by_owner = Resilience::new().governor(&governor).wrap(
        |(owner, _): &(String, u32)| Scope::new("github", owner, "", "rest"),
        |(_, n): (String, u32)| async move { Ok::<_, io::Error>(n) },
    );
    assert_eq!(by_owner.call(("hooli".to_owned(), 3)).await.unwrap(), 3);
    assert_eq!(governor.summary().scopes[&Scope::new("github", "hooli", "", "rest")].calls, 1);
}

#[tokio::test(start_paused = true)]
async fn futures_may_be_spawned_where_their_parts_may() {
    fn spawnable<T: Send + 'static>(_: &T) {}
    let governor = governor("");
    let resilience = Resilience::new().governor(&governor);
    let wrapped = Arc::new(resilient(scope(), |n: u32| async move { Ok::<_, io::Error>(n) }));
    let by_hand = async move { resilience.call(&scope(), || async { Ok::<_, io::Error>(1) }).await };
    let shared = Arc::clone(&wrapped);
    let by_wrapper = async move { shared.call(2).await };
    let by_function = async { call_with_resilience(&scope(), || async { Ok::<_, io::Error>(3) }).await };
    let mut call = governor.call(&scope());
    let by_call = async move { call.admit().await.map(|attempt| attempt.number()) };
    spawnable(&by_hand);
    spawnable(&by_wrapper);
    spawnable(&by_function);
    spawnable(&by_call);
    assert_eq!(tokio::spawn(by_hand).await.unwrap().unwrap(), 1);
    assert_eq!(tokio::spawn(by_wrapper).await.unwrap().unwrap(), 2);
    assert_eq!(tokio::spawn(by_function).await.unwrap().unwrap(), 3);
    assert_eq!(tokio::spawn(by_call).await.unwrap().unwrap(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_high_priority_call_goes_before_those_that_wait() {
    let governor = governor("ratelimit: { github: { max_rps: 1, burst: 1 } }");
    admit(&mut governor.call(&scope())).await.finish(cloud_governor::Outcome::Success);
    let begin = |priority| {
        let resilience = Resilience::new().governor(&governor).priority(priority);
        tokio::spawn(async move {
            resilience.call(&scope(), || async { Ok::<_, io::Error>(Instant::now()) }).await.unwrap()
        })
    };
    let mut calls = Vec::new();
    for priority in [Priority::Low, Priority::Normal, Priority::High] {
        calls.push(begin(priority));
        tokio::task::yield_now().await;
    }
    let mut served = Vec::new();
    for call in calls {
        served.push(call.await.unwrap());
    }
    assert!(served[2] < served[1] && served[1] < served[0], "{served:?}");
}

fn caller_of(governor: &Governor, deadline: Duration) -> Resilience {
    Resilience::new().governor(governor).policy(RetryPolicy::builder().deadline(deadline).build().unwrap())
}

/// boto/botocore#3179: to fail fast when the bucket is empty, with the wait in the error and no token spent.
#[tokio::test(start_paused = true)]
async fn a_deadline_shorter_than_the_wait_fails_at_once_says_how_long_and_spends_no_token() {
    let governor = governor("ratelimit: { github: { max_rps: 0.5, burst: 1 } }");
    let send = || async { Ok::<_, io::Error>(()) };
    caller_of(&governor, secs(60.0)).call(&scope(), send).await.unwrap();
    let start = Instant::now();
    let hurried = caller_of(&governor, secs(1.0)).call(&scope(), send).await.unwrap_err();
    let refusal = hurried.refusal().unwrap();
    assert_eq!((refusal.kind(), start.elapsed()), (RefusalKind::DeadlineExceeded, Duration::ZERO));
    let wait = refusal.retry_after().unwrap().as_secs_f64();
    assert!((wait - 2.0).abs() < 0.01, "{wait}");
    caller_of(&governor, secs(60.0)).call(&scope(), send).await.unwrap();
    assert!(start.elapsed() < secs(2.1), "the refused call took no token: {:?}", start.elapsed());
}
