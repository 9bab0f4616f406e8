//! More buckets in common than may exist.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

use cloud_governor::{Call, Governor, MAX_LEAVES, Outcome, Scope};
use common::*;

/// So many of each account that the cap is reached long before anybody looks for leaves that are idle.
const EACH: usize = 60;
const ACCOUNTS: usize = MAX_LEAVES / EACH + 1;

fn crowded() -> Governor {
    let shared: Vec<String> = (0..EACH).map(|n| format!("b{n}: {{ max_rps: 0.001, burst: 10 }}")).collect();
    governor(&format!("ratelimit: {{ x: {{ shared: {{ {} }} }} }}", shared.join(", ")))
}

fn account(number: usize) -> Scope {
    Scope::new("x", number.to_string(), "", "a")
}

fn newcomer() -> Scope {
    account(ACCOUNTS)
}

/// How many buckets a scope's calls have in common with others.
fn in_common(governor: &Governor, scope: &Scope) -> usize {
    governor.inspect(scope).unwrap().shared.len()
}

/// The buckets that a call to the newcomer takes from, by what each has left.
async fn take(governor: &Governor) -> Vec<f64> {
    admit(&mut governor.call(&newcomer())).await.finish(Outcome::Success);
    governor.inspect(&newcomer()).unwrap().shared.iter().map(|bucket| bucket.tokens.round()).collect()
}

#[tokio::test(start_paused = true)]
async fn one_bucket_in_common_too_many_takes_the_place_of_those_that_nobody_uses() {
    let governor = crowded();
    (0..ACCOUNTS).for_each(|number| drop(governor.call(&account(number))));
    assert_eq!(take(&governor).await, [9.0; EACH]);
}

#[tokio::test(start_paused = true)]
async fn while_all_are_in_use_a_newcomer_goes_without_and_has_its_limits_as_soon_as_there_is_room() {
    let governor = crowded();
    let held: Vec<Call> = (0..ACCOUNTS).map(|number| governor.call(&account(number))).collect();
    let handle = governor.handle(&newcomer());
    assert_eq!(take(&governor).await.len(), 0);
    assert_eq!(in_common(&governor, &account(0)), EACH, "nothing in use was forgotten");
    drop(held);
    tokio::time::sleep(secs(2.0)).await;
    assert_eq!(take(&governor).await, [9.0; EACH]);
    admit(&mut handle.call()).await.finish(Outcome::Success);
    assert_eq!(take(&governor).await, [7.0; EACH], "the handle's call took from them, too");
}

#[tokio::test(start_paused = true)]
async fn where_all_have_learned_something_the_oldest_that_are_out_of_use_give_way() {
    let governor = crowded();
    let held = governor.call(&account(0));
    for number in 0..ACCOUNTS {
        admit(&mut governor.call(&account(number))).await.finish(Outcome::Success);
        tokio::time::sleep(secs(0.01)).await;
    }
    assert_eq!(take(&governor).await, [9.0; EACH]);
    let left: Vec<usize> = (0..ACCOUNTS).map(|number| in_common(&governor, &account(number))).collect();
    assert_eq!((left[0], left[1], left[ACCOUNTS / 2]), (EACH, 0, EACH), "one in use, an old one, a younger one");
    drop(held);
}
