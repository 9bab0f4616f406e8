//! Calls that take from several buckets, cost more than one, or go by what is published.

use std::future::{Future, poll_fn};
use std::num::NonZeroU32;
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use cloud_governor::{
    Classification, Clock, Config, FakeClock, Governor, Inspection, Outcome, RefusalKind, RetryPolicy, Scope, Verb,
};
use tokio::task::JoinSet;

fn governor(yaml: &str) -> (Governor, FakeClock) {
    let clock = FakeClock::new();
    let config = Config::from_yaml(yaml, "test").unwrap();
    (Governor::builder().config(config).clock(clock.clone()).seed(7).build(), clock)
}

fn ec2(operation: &str) -> Scope {
    Scope::new("aws", "123456789012", "eu-west-1", "ec2").with_operation(operation)
}

fn units(units: u32) -> NonZeroU32 {
    NonZeroU32::new(units).unwrap()
}

/// What is seen of the shared bucket of this name.
fn shared<'a>(seen: &'a Inspection, name: &str) -> &'a cloud_governor::SharedInspection {
    let is_it = |bucket: &&cloud_governor::SharedInspection| bucket.scope.operation() == Some(name);
    seen.shared.iter().find(is_it).unwrap_or_else(|| panic!("{name} is not in {seen:?}"))
}

/// Looks at a future once.
async fn poll_once<F: Future>(mut future: Pin<&mut F>) -> Poll<F::Output> {
    poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx))).await
}

/// How many of these calls are served by then, one after the other, and what is left of them waits.
async fn served_by(governor: &Governor, clock: &FakeClock, scopes: &[Scope], seconds: u64) -> usize {
    let mut calls = JoinSet::new();
    for scope in scopes {
        let mut call = governor.call(scope).policy(RetryPolicy::builder().deadline(None).build().unwrap());
        calls.spawn(async move {
            call.admit().await.unwrap().finish(Outcome::Success);
        });
    }
    // What is due then is due a rounding error later.
    let end = clock.now() + Duration::from_secs(seconds);
    clock.advance(Duration::from_micros(1));
    let mut served = 0;
    loop {
        for _ in 0..scopes.len() + 2 {
            tokio::task::yield_now().await;
        }
        while calls.try_join_next().is_some() {
            served += 1;
        }
        if clock.now() >= end {
            // Only then are they gone that wait.
            calls.shutdown().await;
            return served;
        }
        clock.advance(Duration::from_millis(100));
    }
}

#[tokio::test]
async fn two_services_keep_together_to_what_their_account_is_granted() {
    let (governor, clock) = governor(
        "ratelimit: { x: { max_rps: 100, burst: 100, shared: { reads: { max_rps: 5, burst: 10, per: account } } } }",
    );
    let scopes: Vec<Scope> =
        (0..60).map(|n| Scope::new("x", "1", "", if n % 2 == 0 { "network" } else { "compute" })).collect();
    assert_eq!(served_by(&governor, &clock, &scopes, 0).await, 10);
    let seen = governor.inspect(&scopes[0]).unwrap();
    assert_eq!(seen.shared.len(), 1);
    assert!(shared(&seen, "reads").tokens < 1.0);
    assert!(seen.tokens > 90.0, "what waits for the account's tokens holds none of its service's: {seen:?}");
    // The calls that waited were dropped with the set: nothing is left in line.
    assert_eq!((seen.waiting_for_rate, shared(&seen, "reads").waiting), (0, 0));
    assert_eq!(served_by(&governor, &clock, &scopes, 4).await, 20);
}

#[tokio::test]
async fn calls_that_wait_for_what_is_shared_hold_up_none_that_does_not_draw_on_it() {
    let runs = "ratelimit: { x: { services: { a: { max_rps: 100, burst: 100, shared: { runs: { operations: [Run*], max_rps: 0.001 } } } } } }";
    let a = Scope::new("x", "1", "", "a");
    let ssm = Scope::new("aws", "123456789012", "eu-west-1", "ssm");
    let published = "ratelimit: { aws: { services: { ssm: { max_rps: 200, burst: 200 } } } }";
    for (yaml, scope, scarce, plenty) in [(runs, a, "Run", "List"), (published, ssm, "GetParameter", "ListCommands")] {
        let (governor, clock) = governor(yaml);
        let mut waiting = JoinSet::new();
        for _ in 0..1_000 {
            let policy = RetryPolicy::builder().deadline(None).build().unwrap();
            let mut call = governor.call(&scope.clone().with_operation(scarce)).policy(policy);
            waiting.spawn(async move { call.admit().await.unwrap().finish(Outcome::Success) });
        }
        clock.advance(Duration::from_secs(1));
        tokio::task::yield_now().await;
        clock.advance(Duration::from_secs(1));
        assert_eq!(served_by(&governor, &clock, &vec![scope.with_operation(plenty); 10], 1).await, 10, "{plenty}");
        assert!(waiting.len() > 900, "there was something to wait for");
    }
}

#[tokio::test]
async fn accounts_share_an_organizations_bucket_and_no_other() {
    let (governor, clock) = governor(
        "ratelimit: { x: { max_rps: 100, burst: 5, shared: { all: { max_rps: 1, burst: 12, per: organization } } } }",
    );
    let scopes: Vec<Scope> = (0..40).map(|n| Scope::new("x", (n % 4).to_string(), "", "a")).collect();
    assert_eq!(served_by(&governor, &clock, &scopes, 0).await, 12);
    let leaves = governor.summary().scopes;
    assert_eq!(leaves.len(), 4);
}

#[tokio::test]
async fn a_call_pays_what_it_costs_where_units_are_counted_and_one_elsewhere() {
    let (governor, clock) = governor("");
    let mut call = governor.call(&ec2("RunInstances")).cost(units(400));
    call.admit().await.unwrap().finish(Outcome::Success);
    let seen = governor.inspect(&ec2("RunInstances")).unwrap();
    let instances = shared(&seen, "run-instances");
    assert_eq!(instances.scope.to_string(), "aws/123456789012/eu-west-1/ec2/run-instances");
    assert!(instances.published && (instances.tokens - (instances.burst - 400.0)).abs() < 1e-6, "{instances:?}");
    assert!((seen.tokens - (seen.burst - 1.0)).abs() < 1e-6, "{seen:?}");

    // More than is left waits for the refill: two instances a second.
    let policy = RetryPolicy::builder().deadline(Duration::from_secs(60)).build().unwrap();
    let mut many = governor.call(&ec2("RunInstances")).cost(units(800)).policy(policy);
    let refused = many.admit().await.unwrap_err();
    assert_eq!(refused.kind(), RefusalKind::DeadlineExceeded);
    clock.advance(Duration::from_secs(150));
    let mut many = governor.call(&ec2("RunInstances")).cost(units(800)).policy(policy);
    assert!(many.admit().await.is_ok());
}

#[tokio::test]
async fn what_a_dropped_call_took_from_every_bucket_comes_back_when_it_was_not_sent() {
    let (governor, _) = governor("");
    let scope = ec2("RunInstances");
    let mut call = governor.call(&scope).cost(units(300));
    call.admit().await.unwrap().unsent();
    let seen = governor.inspect(&scope).unwrap();
    assert!((seen.tokens - seen.burst).abs() < 1e-6);
    assert!((shared(&seen, "run-instances").tokens - shared(&seen, "run-instances").burst).abs() < 1e-6);
}

#[tokio::test]
async fn a_throttle_slows_the_bucket_that_was_empty_and_not_the_one_with_plenty() {
    let yaml =
        "ratelimit: { x: { max_rps: 100, burst: 100, shared: { all: { max_rps: 10, burst: 4, per: account } } } }";
    let (governor, _) = governor(yaml);
    let scope = Scope::new("x", "1", "", "a");
    for n in 0..4 {
        let mut call = governor.call(&scope);
        let attempt = call.admit().await.unwrap();
        attempt.finish(if n == 3 { Outcome::Failure(Classification::throttled()) } else { Outcome::Success });
    }
    let seen = governor.inspect(&scope).unwrap();
    assert_eq!(seen.rate_rps, 100.0);
    assert!(shared(&seen, "all").rate_rps < 10.0, "{seen:?}");
    let slowed: Vec<String> = governor.summary().slowed_buckets.iter().map(|b| b.scope.to_string()).collect();
    assert_eq!(slowed, ["x/1/*/*/all"]);
    assert!(governor.messages().iter().any(|line| line.starts_with("x/1/*/*: slowed to")), "{:?}", governor.messages());
    governor.reset();
    assert_eq!(shared(&governor.inspect(&scope).unwrap(), "all").rate_rps, 10.0);
}

#[tokio::test]
async fn a_throttle_with_plenty_everywhere_slows_the_scope_itself() {
    let yaml =
        "ratelimit: { x: { max_rps: 100, burst: 100, shared: { all: { max_rps: 90, burst: 90, per: account } } } }";
    let (governor, _) = governor(yaml);
    let scope = Scope::new("x", "1", "", "a");
    let mut call = governor.call(&scope);
    call.admit().await.unwrap().finish(Outcome::Failure(Classification::throttled()));
    let seen = governor.inspect(&scope).unwrap();
    assert!(seen.rate_rps < 100.0 && shared(&seen, "all").rate_rps == 90.0, "{seen:?}");
}

#[tokio::test]
async fn what_the_server_says_is_left_slows_the_bucket_of_that_name_for_all_who_share_it() {
    let yaml = "ratelimit: { x: { max_rps: 100, shared: { reads: { max_rps: 25, burst: 250, per: account } } } }";
    let (governor, _) = governor(yaml);
    let (one, other) = (Scope::new("x", "1", "", "a"), Scope::new("x", "1", "", "b"));
    let mut call = governor.call(&one);
    let attempt = call.admit().await.unwrap();
    attempt.quota_left("reads", 3);
    attempt.finish(Outcome::Success);
    drop(governor.call(&other).admit().await.unwrap());
    let seen = governor.inspect(&other).unwrap();
    assert!(shared(&seen, "reads").rate_rps < 5.0, "{seen:?}");
    assert!(seen.quota.is_none() && governor.inspect(&one).unwrap().quota.is_none());
}

#[tokio::test]
async fn a_server_that_has_more_left_than_was_ever_published_is_believed() {
    let (governor, _) = governor("");
    let scope = Scope::new("azure", "s", "", "network").with_verb(Verb::Read).with_operation("VirtualNetworks.listAll");
    let mut call = governor.call(&scope);
    let attempt = call.admit().await.unwrap();
    let before = governor.inspect(&scope).unwrap();
    assert!(shared(&before, "subscription-reads").published);
    attempt.quota_left("subscription-reads", 11_999);
    attempt.finish(Outcome::Success);
    assert!(!shared(&governor.inspect(&scope).unwrap(), "subscription-reads").published);
    governor.reset();
    assert!(shared(&governor.inspect(&scope).unwrap(), "subscription-reads").published);
}

#[tokio::test]
async fn a_limit_that_the_server_names_takes_the_place_of_a_published_one_also_if_it_is_higher() {
    let (governor, _) = governor("");
    let scope = Scope::new("gcp", "projects/p", "", "cloudasset").with_operation("ListAssets");
    for (calls, rps) in [(600, 10.0), (60, 1.0)] {
        let mut call = governor.call(&scope);
        let attempt = call.admit().await.unwrap();
        attempt.limit_told(calls, Duration::from_secs(60));
        attempt.shared_limit_told("no-such-bucket", 1, Duration::from_secs(60));
        drop(attempt);
        let seen = governor.inspect(&scope).unwrap();
        assert!(seen.rate_rps <= rps && seen.rate_rps > rps * 0.96, "{calls}: {seen:?}");
    }
}

#[tokio::test]
async fn a_minutes_calls_go_at_once_and_the_next_ones_at_the_next_full_minute() {
    let (governor, clock) = governor("ratelimit: { x: { services: { a.List: { per_minute: 30 } } } }");
    clock.advance(Duration::from_secs(40));
    let scopes = vec![Scope::new("x", "1", "", "a").with_operation("List"); 50];
    assert_eq!(served_by(&governor, &clock, &scopes, 0).await, 30);
    let scopes = vec![Scope::new("x", "1", "", "a").with_operation("List"); 40];
    assert_eq!(
        served_by(&governor, &clock, &scopes, 20).await,
        0,
        "it is no full minute yet, for all that clocks differ"
    );
    assert_eq!(served_by(&governor, &clock, &scopes, 1).await, 30);
}

#[tokio::test]
async fn a_throttle_of_a_minutes_quota_waits_for_the_next_minute() {
    let (governor, clock) = governor("ratelimit: { x: { services: { a.List: { per_minute: 30 } } } }");
    clock.advance(Duration::from_secs(10));
    let scope = Scope::new("x", "1", "", "a").with_operation("List");
    let mut call = governor.call(&scope);
    call.admit().await.unwrap().finish(Outcome::Failure(Classification::throttled()));
    let seen = governor.inspect(&scope).unwrap();
    assert_eq!(seen.paused_for, Some(Duration::from_millis(50_250)));
    assert_eq!(served_by(&governor, &clock, &vec![scope.clone(); 5], 50).await, 0);
    assert_eq!(served_by(&governor, &clock, &vec![scope; 40], 1).await, 30);
}

#[tokio::test]
async fn new_settings_reach_shared_buckets_and_keep_what_was_learned_within_them() {
    let (governor, _) = governor("");
    let scope = ec2("RunInstances");
    governor.call(&scope).admit().await.unwrap().unsent();
    let set = |text: &str| governor.reconfigure(Config::from_yaml(text, "test").unwrap());
    set("ratelimit: { aws: { share: 0.5 } }");
    governor.call(&scope).admit().await.unwrap().unsent();
    let seen = governor.inspect(&scope).unwrap();
    assert_eq!((shared(&seen, "run-instances").ceiling_rps, seen.ceiling_rps), (1.0, 1.0));
    set("ratelimit: { aws: { services: { ec2: { shared: { run-instances: { enabled: false } } } } } }");
    governor.call(&scope).admit().await.unwrap().unsent();
    assert_eq!(governor.inspect(&scope).unwrap().shared, []);
    set("ratelimit: { aws: { published: false } }");
    governor.call(&scope).admit().await.unwrap().unsent();
    let seen = governor.inspect(&scope).unwrap();
    assert!(seen.shared.is_empty() && !seen.published && seen.rate_rps == 20.0, "{seen:?}");
}

#[tokio::test]
async fn ten_thousand_calls_over_nested_buckets_lose_nobody_and_leave_nothing_behind() {
    let (governor, clock) = governor(
        "ratelimit: { x: { max_rps: 5000, burst: 500, account_concurrency: 10000, shared: { all: { max_rps: 2000, burst: 300, per: organization } } } }",
    );
    let scopes: Vec<Scope> =
        (0..10_000).map(|n| Scope::new("x", (n % 7).to_string(), "", ["a", "b", "c"][n % 3])).collect();
    let served = served_by(&governor, &clock, &scopes, 6).await;
    assert_eq!(served, 10_000);
    let seen = governor.inspect(&scopes[0]).unwrap();
    assert_eq!((seen.waiting_for_rate, shared(&seen, "all").waiting, seen.slots_in_use), (0, 0, 0));
}

/// How many of those that wait go on within two seconds of this being done to their governor.
async fn go_on_after(change: impl FnOnce(&Governor)) -> usize {
    let text = "ratelimit: { x: { max_rps: 1000, burst: 1000, shared: { all: { max_rps: 0.01, per: account } } } }";
    let (governor, clock) = governor(text);
    let scope = Scope::new("x", "1", "", "a");
    let mut calls = JoinSet::new();
    for _ in 0..40 {
        let mut call = governor.call(&scope).policy(RetryPolicy::builder().deadline(None).build().unwrap());
        calls.spawn(async move { call.admit().await.unwrap().finish(Outcome::Success) });
    }
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    while calls.try_join_next().is_some() {}
    assert_eq!(calls.len(), 39);
    change(&governor);
    for _ in 0..20 {
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        clock.advance(Duration::from_millis(100));
    }
    let mut gone_on = 0;
    while calls.try_join_next().is_some() {
        gone_on += 1;
    }
    gone_on
}

#[tokio::test]
async fn whoever_waits_for_a_shared_bucket_goes_on_when_it_is_widened_taken_away_or_reset() {
    let set =
        |text: &'static str| move |governor: &Governor| governor.reconfigure(Config::from_yaml(text, "t").unwrap());
    let wider = "ratelimit: { x: { max_rps: 1000, shared: { all: { max_rps: 1000, per: account } } } }";
    assert_eq!(go_on_after(set(wider)).await, 39);
    assert_eq!(go_on_after(set("ratelimit: { x: { max_rps: 1000 } }")).await, 39);
    assert_eq!(go_on_after(set("ratelimit: { x: { enabled: false } }")).await, 39);
    assert_eq!(go_on_after(Governor::reset).await, 1, "a reset bucket is full: of one call");
}

#[tokio::test]
async fn a_call_dropped_at_any_poll_leaves_nothing_in_any_bucket() {
    let text = "ratelimit: { x: { max_rps: 10, burst: 3, account_concurrency: 2, shared: { all: { max_rps: 5, burst: 2, per: account } } } }";
    for polls in 0..12 {
        let (governor, clock) = governor(text);
        let scope = Scope::new("x", "1", "", "a");
        let held: Vec<_> = {
            let mut held = Vec::new();
            for _ in 0..2 {
                held.push(governor.call(&scope).admit().await.unwrap());
            }
            held
        };
        let mut call = governor.call(&scope).cost(units(3));
        let mut admission = Box::pin(call.admit());
        for poll in 0..polls {
            let _ = poll_once(admission.as_mut()).await;
            clock.advance(Duration::from_millis(50 * poll));
        }
        drop(admission);
        drop(call);
        drop(held);
        clock.advance(Duration::from_secs(10));
        let seen = governor.inspect(&scope).unwrap();
        let all = shared(&seen, "all");
        assert_eq!((seen.waiting_for_rate, all.waiting, seen.slots_in_use, seen.waiting_for_slot), (0, 0, 0, 0));
        assert_eq!((seen.tokens, all.tokens), (3.0, 2.0), "after {polls} polls");
    }
}

#[test]
fn threads_that_take_from_the_same_buckets_in_their_own_ways_never_wait_for_each_other() {
    let text = "ratelimit: { x: { max_rps: 1000000, burst: 1000000, account_concurrency: 1000, shared: {
        one: { max_rps: 1000000, per: account }, two: { max_rps: 1000000, per: organization }, three: { max_rps: 1000000 } } } }";
    let (governor, _) = governor(text);
    std::thread::scope(|threads| {
        for thread in 0..8 {
            let governor = &governor;
            threads.spawn(move || {
                for call in 0..2_000 {
                    let scope = Scope::new("x", ((thread + call) % 3).to_string(), "", ["a", "b"][call % 2]);
                    governor.call(&scope).admit_blocking().unwrap().finish(Outcome::Success);
                }
            });
        }
    });
    assert_eq!(governor.summary().totals.calls, 16_000);
}

#[tokio::test]
async fn who_cannot_wait_for_the_next_minute_is_refused_at_once() {
    let (governor, clock) = governor("ratelimit: { x: { services: { a.List: { per_minute: 2 } } } }");
    clock.advance(Duration::from_secs(10));
    let scope = Scope::new("x", "1", "", "a").with_operation("List");
    let within = |seconds| RetryPolicy::builder().deadline(Duration::from_secs(seconds)).build().unwrap();
    for _ in 0..2 {
        governor.call(&scope).admit().await.unwrap().finish(Outcome::Success);
    }
    let refused = governor.call(&scope).policy(within(45)).admit().await.unwrap_err();
    assert_eq!(refused.kind(), RefusalKind::DeadlineExceeded);
    assert_eq!(refused.retry_after(), Some(Duration::from_millis(50_250)));
    let mut patient = governor.call(&scope).policy(within(55));
    let mut admission = Box::pin(patient.admit());
    assert!(poll_once(admission.as_mut()).await.is_pending());
    clock.advance(Duration::from_secs(51));
    assert!(admission.await.is_ok());
}

#[tokio::test]
async fn a_cost_beyond_all_buckets_is_taken_once_and_paid_off() {
    let text = "ratelimit: { x: { max_rps: 10, burst: 10, shared: { points: { max_rps: 1000000, burst: 1000, counts: units, per: account } } } }";
    let (governor, clock) = governor(text);
    let scope = Scope::new("x", "1", "", "a");
    let mut dear = governor.call(&scope).cost(NonZeroU32::MAX);
    dear.admit().await.unwrap().finish(Outcome::Success);
    let refused = governor.call(&scope).admit().await.unwrap_err();
    assert_eq!(refused.kind(), RefusalKind::DeadlineExceeded, "an hour and more is paid off");
    clock.advance(Duration::from_secs(4_400));
    assert!(governor.call(&scope).admit().await.is_ok());
}

#[tokio::test]
async fn a_published_bucket_on_which_others_draw_is_slowed_before_it_is_empty() {
    let (governor, clock) = governor("");
    let scope = Scope::new("azure", "s", "", "network").with_verb(Verb::Read).with_operation("VirtualNetworks.listAll");
    let mut rates = Vec::new();
    // Ten of ours a second, and twenty of somebody else's.
    for second in 0..30_u64 {
        for call in 0..10 {
            let policy = RetryPolicy::builder().deadline(None).build().unwrap();
            let mut asked = governor.call(&scope).policy(policy);
            let mut admission = Box::pin(asked.admit());
            let attempt = loop {
                match poll_once(admission.as_mut()).await {
                    Poll::Ready(attempt) => break attempt.unwrap(),
                    Poll::Pending => clock.advance(Duration::from_millis(50)),
                }
            };
            let left = 250_u64.saturating_sub(5 * (second * 10 + call) / 4);
            attempt.quota_left("subscription-reads", left);
            attempt.finish(Outcome::Success);
            clock.advance(Duration::from_millis(100));
        }
        rates.push(shared(&governor.inspect(&scope).unwrap(), "subscription-reads").rate_rps);
    }
    assert_eq!(rates[0], 25.0);
    assert!(rates.last().is_some_and(|rate| *rate < 5.0), "{rates:?}");
}

#[tokio::test]
async fn a_new_count_a_minute_holds_for_the_minute_under_way() {
    let text = |calls: u32| format!("ratelimit: {{ x: {{ services: {{ a.List: {{ per_minute: {calls} }} }} }} }}");
    for (before, after, served) in [(30, 600, 590), (600, 30, 20), (600, 5, 0)] {
        let (governor, clock) = governor(&text(before));
        clock.advance(Duration::from_secs(10));
        let scope = Scope::new("x", "1", "", "a").with_operation("List");
        assert_eq!(served_by(&governor, &clock, &vec![scope.clone(); 10], 0).await, 10);
        governor.reconfigure(Config::from_yaml(text(after), "test").unwrap());
        assert_eq!(served_by(&governor, &clock, &vec![scope.clone(); 700], 1).await, served, "{before} to {after}");
        clock.advance(Duration::from_secs(60));
        let next = usize::try_from(after).unwrap();
        assert_eq!(served_by(&governor, &clock, &vec![scope; 700], 1).await, next, "{before} to {after}");
    }
}

#[tokio::test]
async fn who_calls_first_does_not_settle_what_share_of_a_bucket_in_common_is_used() {
    let text = "ratelimit: { x: { max_rps: 100, share: 0.5, services: { a: { share: 0.1 } }, shared: { all: { max_rps: 10, per: account } } } }";
    for first in ["a", "b"] {
        let (governor, _) = governor(text);
        for service in [first, "b"] {
            governor.call(&Scope::new("x", "1", "", service)).admit().await.unwrap().unsent();
        }
        let seen = governor.inspect(&Scope::new("x", "1", "", "b")).unwrap();
        assert_eq!((seen.ceiling_rps, shared(&seen, "all").ceiling_rps), (50.0, 5.0), "first {first}");
    }
}

#[test]
fn a_star_that_stands_for_nothing_is_refused_and_a_pattern_shares_nothing() {
    let refused = |text: &str| Config::from_yaml(text, "test").unwrap_err().to_string();
    for key in ["*", "*.x", "*.List", "e*2.List", "ec2*", "ec2.Des*be", "ec2.*List", "ec2:read*", "*:read"] {
        let message = refused(&format!("ratelimit: {{ aws: {{ services: {{ '{key}': {{ max_rps: 1 }} }} }} }}"));
        assert!(message.contains(&format!("`{key}`")) && message.contains("ratelimit.aws.services"), "{message}");
    }
    let message = refused("ratelimit: { aws: { services: { 'ec2.*': { shared: { all: { max_rps: 1 } } } } } }");
    assert!(message.contains("unknown key `shared`"), "{message}");
    let all = Config::from_yaml("ratelimit: { aws: { services: { 'ec2.*': { max_rps: 3 } } } }", "test").unwrap();
    assert_eq!(all.provider("aws").limits_for(&ec2("RunInstances")).max_rps(), 3.0);
}

#[test]
fn a_variable_may_set_a_bucket_in_common_that_is_named_as_a_key_is() {
    let set = ("CLOUD_GOVERNOR__X__SHARED__SERVICES__MAX_RPS", "3");
    let config = Config::builder().variables([set]).build().unwrap();
    let limits = config.provider("x").shared_for(&Scope::new("x", "1", "", "a"));
    assert_eq!(limits.iter().map(|limit| limit.limits.max_rps()).collect::<Vec<_>>(), [3.0]);
}

/// How many of a service's calls, ten in a second, go at once while one of another service waits a minute for its own bucket.
async fn go_at_once_beside(of_slow: &str, waiting: usize, cost: u32) -> usize {
    let (governor, clock) = governor(&format!(
        "ratelimit: {{ x: {{ max_rps: 100, services: {{ slow: {{ {of_slow} }} }}, shared: {{ all: {{ max_rps: 10, burst: 10, counts: units, per: account }} }} }} }}"
    ));
    let (slow, other) = (Scope::new("x", "1", "", "slow"), Scope::new("x", "1", "", "other"));
    for _ in 0..waiting {
        governor.call(&slow).admit().await.unwrap().finish(Outcome::Success);
    }
    clock.advance(Duration::from_secs(1));
    let policy = || RetryPolicy::builder().deadline(None).build().unwrap();
    let mut dear: Vec<_> = (0..waiting).map(|_| governor.call(&slow).policy(policy()).cost(units(cost))).collect();
    let mut waits: Vec<_> = dear.iter_mut().map(|call| Box::pin(call.admit())).collect();
    let mut at_once = 0;
    for tenth in 0..580 {
        for wait in &mut waits {
            assert!(poll_once(wait.as_mut()).await.is_pending());
        }
        let mut call = governor.call(&other).policy(policy());
        if tenth % 2 == 0 && poll_once(Box::pin(call.admit()).as_mut()).await.is_ready() {
            at_once += 1;
        }
        clock.advance(Duration::from_millis(100));
    }
    at_once
}

#[tokio::test]
async fn a_bucket_keeps_no_more_than_it_holds_for_those_who_wait_elsewhere() {
    for (of_slow, waiting, cost) in [("max_rps: 0.016, burst: 1", 1, 1_000), ("per_minute: 10", 10, 30)] {
        assert_eq!(go_at_once_beside(of_slow, waiting, cost).await, 290, "beside {waiting} of {cost}");
    }
}

#[tokio::test]
async fn who_would_be_too_late_at_any_of_its_buckets_is_refused_when_it_comes() {
    for (own, in_common) in [(1.0, 0.01), (0.01, 1.0)] {
        let text = format!(
            "ratelimit: {{ x: {{ max_rps: {own}, burst: 1, shared: {{ all: {{ max_rps: {in_common}, burst: 1, per: account }} }} }} }}"
        );
        let (governor, _) = governor(&text);
        let scope = Scope::new("x", "1", "", "a");
        governor.call(&scope).admit().await.unwrap().finish(Outcome::Success);
        let policy = RetryPolicy::builder().deadline(Duration::from_secs(20)).build().unwrap();
        let mut call = governor.call(&scope).policy(policy);
        let Poll::Ready(Err(refused)) = poll_once(Box::pin(call.admit()).as_mut()).await else {
            panic!("{own} and {in_common}: it waits")
        };
        assert_eq!(refused.kind(), RefusalKind::DeadlineExceeded);
        assert_eq!(refused.retry_after().map(|after| after.as_secs_f64().round()), Some(100.0));
        let seen = governor.inspect(&scope).unwrap();
        assert_eq!((seen.waiting_for_rate, shared(&seen, "all").waiting), (0, 0));
    }
}

#[tokio::test]
async fn a_bucket_in_common_that_is_taken_away_holds_nobody_up_whatever_it_learned() {
    type Learn = fn(&cloud_governor::Attempt);
    let paused: Learn = |attempt| {
        let pause = Classification::throttled().with_retry_after(Duration::from_secs(300));
        attempt.finish(Outcome::Failure(pause));
    };
    let named: Learn = |attempt| attempt.shared_limit_told("all", 1, Duration::from_secs(600));
    let used_up: Learn = |attempt| attempt.quota_left("all", 0);
    for (what, learn) in [("paused", paused), ("named", named), ("used up", used_up)] {
        let text = "ratelimit: { x: { max_rps: 1000, shared: { all: { max_rps: 10, burst: 1, per: account } } } }";
        let (governor, _) = governor(text);
        let scope = Scope::new("x", "1", "", "a");
        learn(&governor.call(&scope).admit().await.unwrap());
        let policy = RetryPolicy::builder().deadline(None).build().unwrap();
        let mut call = governor.call(&scope).policy(policy);
        let mut admission = Box::pin(call.admit());
        assert!(poll_once(admission.as_mut()).await.is_pending(), "{what}");
        governor.reconfigure(Config::from_yaml("ratelimit: { x: { max_rps: 1000 } }", "t").unwrap());
        assert!(poll_once(admission.as_mut()).await.is_ready(), "{what}");
    }
}

#[tokio::test]
async fn whoever_waits_for_an_operations_own_bucket_that_is_taken_away_goes_on_at_its_services_rate() {
    let (governor, clock) = governor("ratelimit: { x: { services: { a.Run: { max_rps: 0.001, burst: 1 } } } }");
    let scope = Scope::new("x", "1", "", "a").with_operation("Run");
    governor.call(&scope).admit().await.unwrap().finish(Outcome::Success);
    let policy = RetryPolicy::builder().deadline(None).build().unwrap();
    let mut call = governor.call(&scope).policy(policy);
    let mut admission = Box::pin(call.admit());
    assert!(poll_once(admission.as_mut()).await.is_pending());
    governor.reconfigure(Config::from_yaml("ratelimit: { x: { max_rps: 5 } }", "t").unwrap());
    clock.advance(Duration::from_millis(201));
    assert!(poll_once(admission.as_mut()).await.is_ready());
}
