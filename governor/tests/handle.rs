//! Resolved handles: what they keep, and what they follow.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

use cloud_governor::{
    Class, Config, FakeClock, Governor, Handle, MAX_LEAVES, Outcome, RetryPolicy, Scope, Stats, Verdict,
};
use common::*;

fn config(yaml: &str) -> Config {
    Config::from_yaml(yaml, "test").unwrap()
}

fn operation() -> Scope {
    scope().with_operation("ListRepos")
}

async fn send(handle: &Handle) {
    admit(&mut handle.call()).await.finish(Outcome::Success);
}

/// Which leaves have been called how often.
fn calls(governor: &Governor) -> Vec<(String, u64)> {
    let scopes = governor.summary().scopes;
    scopes.iter().map(|(scope, totals)| (scope.to_string(), totals.calls)).collect()
}

#[tokio::test(start_paused = true)]
async fn calls_by_a_handle_and_by_its_scope_share_all() {
    let governor = governor("ratelimit: { github: { max_rps: 1, burst: 2 } }");
    let handle = governor.handle(&operation());
    assert_eq!(handle.call().scope(), &operation());
    assert_eq!(handle.scope(), &operation());
    send(&handle).await;
    admit(&mut governor.call(&operation())).await.finish(Outcome::Success);
    let seen = governor.inspect(&scope()).unwrap();
    assert!(seen.tokens < 1.0, "{seen:?}");
    assert_eq!(calls(&governor), [("github/octo/*/rest".to_owned(), 2)]);
}

#[tokio::test(start_paused = true)]
async fn a_handle_goes_by_new_settings_at_once() {
    let governor = governor("ratelimit: { github: { max_retries: 0 } }");
    let handle = governor.handle(&operation());
    let give_up = admit(&mut handle.call()).await.finish(fails(Class::Transient));
    assert!(matches!(give_up, Verdict::GiveUp(_)), "{give_up:?}");
    governor.reconfigure(config("ratelimit: { github: { max_retries: 1 } }"));
    let retry = admit(&mut handle.call()).await.finish(fails(Class::Transient));
    assert!(matches!(retry, Verdict::Retry { .. }), "{retry:?}");
    governor.reconfigure(config("ratelimit: { github: { enabled: false } }"));
    assert!(!handle.call().is_governed());
    assert!(!handle.clone().call().is_governed());
}

#[tokio::test(start_paused = true)]
async fn a_handle_goes_where_its_operation_goes_when_services_are_regrouped() {
    let governor = governor("{}");
    let handle = governor.handle(&operation());
    send(&handle).await;
    let per_operation = "ratelimit: { github: { services: { rest: { per_operation: true } } } }";
    for round in 1..=3 {
        governor.reconfigure(config(per_operation));
        send(&handle).await;
        send(&handle.clone()).await;
        let of_operation = governor.inspect(&operation()).unwrap();
        assert_eq!(of_operation.scope, operation(), "round {round}");
        assert_eq!(governor.summary().scopes[&operation()].calls, 2, "round {round}: a leaf of its own, made anew");
        governor.reconfigure(config("{}"));
        send(&handle).await;
        assert_eq!(calls(&governor), [("github/octo/*/rest".to_owned(), 1 + round)]);
    }
    assert_eq!(governor.summary().totals.calls, 10, "those of forgotten leaves are counted too");
}

#[tokio::test(start_paused = true)]
async fn a_handle_keeps_what_it_learned_through_a_change_that_leaves_its_scope_alone() {
    let governor = governor("{}");
    let handle = governor.handle(&operation());
    admit(&mut handle.call().policy(RetryPolicy::none())).await.finish(fails(Class::Throttled));
    let slowed = governor.inspect(&scope()).unwrap().rate_rps;
    governor.reconfigure(config("ratelimit: { aws: { max_rps: 7 } }"));
    send(&handle).await;
    assert_eq!(governor.inspect(&scope()).unwrap().rate_rps, slowed);
    governor.reset();
    assert!(governor.inspect(&scope()).unwrap().rate_rps > slowed, "reset forgets it for handles as well");
    send(&handle).await;
    assert_eq!(governor.summary().scopes[&scope()].calls, 3);
}

#[tokio::test(start_paused = true)]
async fn a_handle_stays_with_the_governor_it_came_from() {
    let (old, new) = (governor("{}"), governor("{}"));
    let handle = old.handle(&operation());
    send(&handle).await;
    assert_eq!((old.summary().totals.calls, new.summary().totals.calls), (1, 0));
    assert_eq!(handle.governor().summary().totals.calls, 1);
}

#[test]
fn a_leaf_with_a_handle_is_never_forgotten_and_one_without_is() {
    let clock = FakeClock::new();
    let governor = Governor::builder().clock(clock.clone()).build();
    let of = |index: usize| Scope::new("github", index.to_string(), "", "rest");
    let handle = governor.handle(&operation());
    let forgotten = governor.handle(&Scope::new("github", "hooli", "", "rest"));
    drop(forgotten);
    clock.advance(secs(3_600.0));
    for index in 0..2 * MAX_LEAVES {
        drop(governor.call(&of(index)));
    }
    assert!(governor.inspect(&scope()).is_some());
    assert!(governor.inspect(&Scope::new("github", "hooli", "", "rest")).is_none());
    assert!(governor.summary().scopes.len() <= MAX_LEAVES);
    drop(handle.call().admit_blocking().unwrap());
    assert_eq!(governor.summary().scopes[&scope()].calls, 1, "it still leads to the leaf that is known");
}

/// A handle made while there was no room has its scope's own leaf as soon as there is.
#[test]
fn a_handle_made_at_the_hard_cap_gets_a_leaf_of_its_own_when_there_is_room() {
    let clock = FakeClock::new();
    let governor = Governor::builder().clock(clock.clone()).build();
    let of = |index: usize| Scope::new("github", index.to_string(), "", "rest");
    let held: Vec<_> = (0..MAX_LEAVES).map(|index| governor.handle(&of(index))).collect();
    let handle = governor.handle(&operation());
    drop(handle.call().admit_blocking().unwrap());
    assert!(governor.inspect(&scope()).is_none(), "it shares one with other newcomers");
    drop(held);
    clock.advance(secs(2.0));
    drop(handle.call().admit_blocking().unwrap());
    assert_eq!(governor.summary().scopes[&scope()].calls, 1);
}

#[tokio::test(start_paused = true)]
async fn a_call_counts_in_the_collector_bound_where_the_handle_is_called() {
    let governor = governor("{}");
    let handle = governor.handle(&operation());
    let stats = Stats::new();
    stats.bind(send(&handle)).await;
    send(&handle).await;
    assert_eq!(governor.summary_of(&stats).totals.calls, 1);
}

#[test]
fn handles_follow_settings_that_change_under_many_threads() {
    let governor = governor("ratelimit: { github: { max_rps: 1000000, burst: 1000000 } }");
    let handle = governor.handle(&operation());
    let sent = 4 * 500;
    std::thread::scope(|threads| {
        for _ in 0..4 {
            threads.spawn(|| (0..500).for_each(|_| drop(handle.call().admit_blocking().unwrap())));
        }
        for round in 0..100 {
            let per_operation = round % 2 == 0;
            let yaml = format!(
                "ratelimit: {{ github: {{ max_rps: 1000000, burst: 1000000, services: {{ rest: {{ per_operation: \
                 {per_operation} }} }} }} }}"
            );
            governor.reconfigure(config(&yaml));
        }
    });
    assert_eq!(governor.summary().totals.calls, sent);
    governor.reconfigure(config("{}"));
    drop(handle.call().admit_blocking().unwrap());
    assert_eq!(governor.summary().scopes.keys().collect::<Vec<_>>(), [&scope()]);
}

#[test]
fn a_handle_can_be_kept_anywhere() {
    fn anywhere<T: Clone + Send + Sync + 'static>() {}
    anywhere::<Handle>();
}
