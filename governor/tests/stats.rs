//! Counters: for the process, for one run, as JSON and as lines that a person reads.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

use std::io;

use cloud_governor::{
    Class, Classification, Governor, Outcome, Resilience, RetryPolicy, Scope, Stats, Verb, stats_scope,
};
use common::*;
use serde_json::json;

fn aws(service: &str, operation: &str) -> Scope {
    Scope::new("aws", "123456789012", "eu-west-1", service).with_operation(operation)
}

async fn succeed(governor: &Governor, scope: &Scope) {
    admit(&mut governor.call(scope)).await.finish(Outcome::Success);
}

fn calls(governor: &Governor, stats: &Stats) -> u64 {
    governor.summary_of(stats).totals.calls
}

/// The worked example: two throttled DescribeVpcs, then an answer, beside six secret lookups at 2 rps, burst 2.
#[tokio::test(start_paused = true)]
async fn the_worked_example_comes_to_its_figures() {
    let governor = governor(
        "ratelimit: { aws: { base_delay: 1, max_backoff: 1, services: { ec2: { per_operation: true, max_rps: 20 }, \
         secretsmanager: { max_rps: 2, burst: 2 } } } }",
    );
    let vpcs = aws("ec2", "DescribeVpcs");
    let start = tokio::time::Instant::now();
    let rates = std::sync::Mutex::new(Vec::new());
    let (_, stats) = stats_scope(async {
        let describe = async {
            let mut call = governor.call(&vpcs);
            for number in 1..=3 {
                let attempt = admit(&mut call).await;
                attempt.finish(if number < 3 { fails(Class::Throttled) } else { Outcome::Success });
                rates.lock().unwrap().push(governor.inspect(&vpcs).unwrap().rate_rps);
            }
        };
        let secret = || succeed(&governor, &SECRETS);
        tokio::join!(describe, secret(), secret(), secret(), secret(), secret(), secret());
    })
    .await;
    assert_eq!(*rates.lock().unwrap(), [10.0, 5.0, 5.0]);
    let summary = governor.summary_of(&stats);
    let totals = summary.totals;
    assert_eq!((totals.operations, totals.calls, totals.throttled, totals.retries), (7, 9, 2, 2));
    assert!((totals.wait_seconds - 5.0).abs() < 0.02, "{}", totals.wait_seconds);
    assert!((start.elapsed().as_secs_f64() - 2.0).abs() < 0.02, "{:?}", start.elapsed());
    assert_eq!(
        summary.messages(),
        [
            "aws/123456789012/eu-west-1/ec2: throttled 2x, slowed to 5.0 rps, 2 retries",
            "aws/123456789012/eu-west-1/secretsmanager: waited 5.0s for rate limit",
        ]
    );
    assert_eq!(governor.messages(), summary.messages());
}

static SECRETS: std::sync::LazyLock<Scope> = std::sync::LazyLock::new(|| aws("secretsmanager", "GetSecretValue"));

// ===== one run =====

#[tokio::test(start_paused = true)]
async fn a_run_tells_nothing_of_operations_that_it_did_not_call() {
    let governor = governor("ratelimit: { aws: { services: { sqs: { per_operation: true } } } }");
    admit(&mut governor.call(&aws("sqs", "SendMessage"))).await.finish(fails(Class::Throttled));
    let (_, stats) = stats_scope(succeed(&governor, &aws("sqs", "ListQueues"))).await;
    let summary = governor.summary_of(&stats);
    assert_eq!((summary.slowed_buckets.len(), summary.messages().len()), (0, 0), "{summary:?}");
    assert_eq!(governor.summary().slowed_buckets.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn debug_says_which_scope_and_not_all_that_is_known_of_it() {
    let governor = governor("");
    for account in 0..100 {
        succeed(&governor, &Scope::new("aws", account.to_string(), "eu-west-1", "sqs")).await;
    }
    let (handle, call) = (governor.handle(&SECRETS), governor.call(&SECRETS));
    assert!(format!("{governor:?}").len() < 200, "{governor:?}");
    for shown in [format!("{handle:?}"), format!("{call:?}")] {
        assert!(shown.contains("secretsmanager") && shown.len() < 1_000, "{shown}");
    }
}

#[tokio::test(start_paused = true)]
async fn two_runs_side_by_side_do_not_mix() {
    let governor = governor("");
    let work = |times: u32| {
        let governor = governor.clone();
        async move {
            for _ in 0..times {
                succeed(&governor, &scope()).await;
                tokio::task::yield_now().await;
            }
        }
    };
    let (((), one), ((), two)) = tokio::join!(stats_scope(work(3)), stats_scope(work(5)));
    work(1).await;
    assert_eq!((calls(&governor, &one), calls(&governor, &two), governor.summary().totals.calls), (3, 5, 9));
}

#[tokio::test(start_paused = true)]
async fn a_binding_crosses_into_a_spawned_task_only_if_carried() {
    let governor = governor("");
    let stats = Stats::new();
    stats
        .bind(async {
            let (plain, carried) = (governor.clone(), governor.clone());
            tokio::spawn(async move { succeed(&plain, &scope()).await }).await.unwrap();
            assert_eq!(calls(&governor, &stats), 0);
            tokio::spawn(stats.bind(async move { succeed(&carried, &scope()).await })).await.unwrap();
        })
        .await;
    assert_eq!(calls(&governor, &stats), 1);
}

#[tokio::test(start_paused = true)]
async fn the_collector_is_the_one_bound_where_the_call_began() {
    let governor = governor("");
    let stats = Stats::new();
    let mut call = stats.bind_sync(|| governor.call(&scope()));
    admit(&mut call).await.finish(fails(Class::Transient));
    tokio::spawn(async move { drop(admit(&mut call).await) }).await.unwrap();
    let totals = governor.summary_of(&stats).totals;
    assert_eq!((totals.operations, totals.calls, totals.retries), (1, 2, 1));
}

#[tokio::test(start_paused = true)]
async fn bindings_nest_and_each_collector_counts_a_call_once() {
    let governor = governor("");
    let (outer, inner) = (Stats::new(), Stats::new());
    outer
        .bind(async {
            succeed(&governor, &scope()).await;
            inner.bind(succeed(&governor, &scope())).await;
            outer.bind(inner.bind(succeed(&governor, &scope()))).await;
        })
        .await;
    assert_eq!((calls(&governor, &outer), calls(&governor, &inner)), (3, 2));
    outer.bind_sync(|| outer.bind_sync(|| drop(governor.call(&scope()))));
    succeed(&governor, &scope()).await;
    assert_eq!((calls(&governor, &outer), governor.summary().totals.calls), (3, 4));
}

#[tokio::test(start_paused = true)]
async fn a_panic_inside_a_binding_undoes_it() {
    let governor = governor("");
    let stats = Stats::new();
    let bound = std::panic::AssertUnwindSafe(|| stats.bind_sync(|| panic!("inside")));
    assert!(std::panic::catch_unwind(bound).is_err());
    succeed(&governor, &scope()).await;
    assert_eq!(calls(&governor, &stats), 0);
}

#[tokio::test(start_paused = true)]
async fn a_wrapped_call_counts_where_it_is_polled_first() {
    let governor = governor("");
    let resilience = Resilience::new().governor(&governor);
    let scope = scope();
    let call = resilience.call(&scope, || async { Ok::<_, io::Error>(()) });
    let (answer, stats) = stats_scope(call).await;
    answer.unwrap();
    assert_eq!(calls(&governor, &stats), 1);
}

// ===== counting =====

#[tokio::test(start_paused = true)]
async fn every_ending_is_counted_once() {
    let governor = governor("ratelimit: { github: { max_retries: 1, breaker: { failures: 2 } } }");
    run(&governor, &scope(), |_| Outcome::Success).await;
    run(&governor, &scope(), |_| fails(Class::Fatal)).await;
    run(&governor, &scope(), |_| fails(Class::Locked)).await;
    run(&governor, &scope(), |_| fails(Class::Transient)).await;
    run(&governor, &scope(), |_| fails(Class::Throttled)).await;
    run(&governor, &scope(), |_| Outcome::Success).await;
    let totals = governor.summary().totals;
    assert_eq!((totals.operations, totals.calls, totals.retries), (6, 8, 3));
    assert_eq!((totals.transient_errors, totals.throttled), (4, 2));
    assert_eq!((totals.gave_up, totals.rejected, totals.breaker_trips), (3, 1, 1));
    assert_eq!(governor.summary().scopes[&scope()], totals);
}

#[tokio::test(start_paused = true)]
async fn waiting_for_a_pause_and_for_a_slot_count_and_backoff_does_not() {
    let governor = governor("ratelimit: { github: { account_concurrency: 1, base_delay: 3, max_backoff: 3 } }");
    let held = admit(&mut governor.call(&scope())).await;
    let waiting = governor.clone();
    let waiting = tokio::spawn(async move {
        run(&waiting, &scope(), |n| if n == 1 { fails(Class::Transient) } else { Outcome::Success }).await
    });
    tokio::time::sleep(secs(2.0)).await;
    held.finish(Outcome::Success);
    waiting.await.unwrap();
    assert!((governor.summary().totals.wait_seconds - 2.0).abs() < 0.01);
    let paused = Classification::throttled().with_retry_after(secs(4.0));
    admit(&mut governor.call(&scope())).await.finish(Outcome::Failure(paused));
    succeed(&governor, &scope()).await;
    let waited = governor.summary().totals.wait_seconds;
    assert!((waited - 6.1).abs() < 0.02, "four seconds of pause and a token at half the rate: {waited}");
}

#[tokio::test(start_paused = true)]
async fn scopes_forgotten_while_idle_keep_their_counts_in_the_totals() {
    let governor = governor("");
    let of = |index: u32| Scope::new("github", index.to_string(), "", "rest");
    for index in 0..1_024 {
        succeed(&governor, &of(index)).await;
    }
    tokio::time::sleep(secs(601.0)).await;
    succeed(&governor, &of(5_000)).await;
    let summary = governor.summary();
    assert_eq!((summary.scopes.len(), summary.totals.calls), (1, 1_025));
    assert_eq!(governor.inspect(&of(1)), None);
    succeed(&governor, &of(1)).await;
    assert_eq!((governor.summary().totals.calls, governor.summary().scopes[&of(1)].calls), (1_026, 1));
}

#[tokio::test(start_paused = true)]
async fn scopes_that_learned_something_or_are_in_use_are_not_forgotten() {
    let governor = governor("ratelimit: { github: { breaker: { failures: 1 } } }");
    let of = |index: u32| Scope::new("github", index.to_string(), "", "rest");
    let mut throttled = governor.call(&of(0)).policy(RetryPolicy::none());
    admit(&mut throttled).await.finish(fails(Class::Throttled));
    drop(throttled);
    let mut used = governor.call(&of(1));
    let attempt = admit(&mut used).await;
    for index in 2..1_024 {
        succeed(&governor, &of(index)).await;
    }
    tokio::time::sleep(secs(700.0)).await;
    succeed(&governor, &of(5_000)).await;
    assert_eq!(governor.summary().scopes.len(), 3);
    assert_eq!(governor.inspect(&of(0)).unwrap().rate_rps, 10.0);
    assert_eq!(governor.inspect(&of(1)).unwrap().slots_in_use, 1);
    attempt.finish(Outcome::Success);
}

// ===== the picture =====

#[tokio::test(start_paused = true)]
async fn a_summary_is_json_with_scopes_as_text() {
    let governor = governor("ratelimit: { github: { max_retries: 0, breaker: { failures: 1, cooldown: 30 } } }");
    let paused = Classification::throttled().with_retry_after(secs(8.0));
    admit(&mut governor.call(&scope())).await.finish(Outcome::Failure(paused));
    let totals = json!({
        "operations": 1, "calls": 1, "throttled": 1, "transient_errors": 0, "retries": 0, "gave_up": 1,
        "rejected": 0, "breaker_trips": 1, "wait_seconds": 0.0
    });
    let expected = json!({
        "totals": totals,
        "scopes": { "github/octo/*/rest": totals },
        "slowed_buckets": [{
            "scope": "github/octo/*/rest", "rate_rps": 10.0, "ceiling_rps": 20.0, "paused_for_seconds": 8.0,
            "breaker": "open"
        }],
    });
    assert_eq!(serde_json::to_value(governor.summary()).unwrap(), expected);
}

#[tokio::test(start_paused = true)]
async fn a_runs_summary_shows_the_scopes_it_met_alone() {
    let governor = governor("");
    let other = Scope::new("github", "octo", "", "graphql");
    let throttle = |scope: Scope| {
        let governor = governor.clone();
        async move {
            let mut call = governor.call(&scope).policy(RetryPolicy::none());
            admit(&mut call).await.finish(fails(Class::Throttled));
        }
    };
    throttle(other.clone()).await;
    let (_, stats) = stats_scope(throttle(scope())).await;
    let summary = governor.summary_of(&stats);
    assert_eq!(summary.slowed_buckets.iter().map(|slowed| &slowed.scope).collect::<Vec<_>>(), [&scope()]);
    assert_eq!(governor.summary().slowed_buckets.len(), 2);
}

/// nccgroup/ScoutSuite#1396: pages of lines, one for each hit.
#[tokio::test(start_paused = true)]
async fn a_storm_is_one_line_for_each_service() {
    let governor = governor("ratelimit: { aws: { max_retries: 2 } }");
    for operation in ["DescribeVpcs", "DescribeSubnets", "DescribeInstances"] {
        for _ in 0..10 {
            run(&governor, &aws("ec2", operation), |n| if n < 3 { fails(Class::Throttled) } else { Outcome::Success })
                .await;
        }
    }
    let messages = governor.messages();
    assert_eq!(messages.len(), 1);
    assert!(messages[0].starts_with("aws/123456789012/eu-west-1/ec2: throttled 60x, slowed to "), "{messages:?}");
}

#[tokio::test(start_paused = true)]
async fn reads_and_writes_of_a_service_that_counts_them_apart_share_no_bucket_and_have_lines_of_their_own() {
    let governor = governor("ratelimit: { azure: { max_retries: 0, services: { 'network:write': { max_rps: 4 } } } }");
    let network = Scope::new("azure", "sub", "", "network");
    let [reads, writes] = [Verb::Read, Verb::Write].map(|verb| network.with_verb(verb));
    run(&governor, &writes.with_operation("PutSubnet"), |_| fails(Class::Throttled)).await;
    run(&governor, &reads.with_operation("ListSubnets"), |_| fails(Class::Transient)).await;
    run(&governor, &network.with_operation("ByHand"), |_| Outcome::Success).await;
    let rate = |scope: &Scope| governor.inspect(scope).unwrap().rate_rps;
    assert_eq!((rate(&writes), rate(&reads), rate(&network)), (2.0, 25.0, 20.0));
    assert_eq!(
        governor.messages(),
        [
            "azure/sub/*/network:read: 1 transient error, gave up 1x",
            "azure/sub/*/network:write: throttled 1x, slowed to 2.0 rps, gave up 1x",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_quiet_service_has_no_line_and_each_trouble_has_its_words() {
    let governor = governor("ratelimit: { github: { max_retries: 0, breaker: { failures: 1 } } }");
    succeed(&governor, &scope()).await;
    assert!(governor.messages().is_empty());
    run(&governor, &scope(), |_| fails(Class::Transient)).await;
    run(&governor, &scope(), |_| Outcome::Success).await;
    assert_eq!(
        governor.messages(),
        ["github/octo/*/rest: 1 transient error, gave up 1x, refused 1x, circuit opened 1x, circuit open now"]
    );
}

#[tokio::test(start_paused = true)]
async fn a_rate_below_one_is_told_with_the_digits_it_needs() {
    for (floor, told) in [("0.05", "0.05"), ("0.5", "0.5"), ("0.0125", "0.013"), ("1.25", "1.2")] {
        let yaml = format!(
            "ratelimit: {{ github: {{ law: aimd, max_rps: 2, floor_rps: {floor}, throttle: {{ factor: 0.000001 }} }} }}"
        );
        let governor = governor(&yaml);
        let mut call = governor.call(&scope()).policy(RetryPolicy::none());
        admit(&mut call).await.finish(fails(Class::Throttled));
        let expected = format!("github/octo/*/rest: throttled 1x, slowed to {told} rps, gave up 1x");
        assert_eq!(governor.messages(), [expected]);
    }
}
