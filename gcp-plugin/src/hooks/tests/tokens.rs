//! Credentials that take their time, or fail.

use crate::testing::{ACCOUNT, Asked, Bench, Tokens, by_scope, fast, governor, inspect, seconds, totals};
use crate::{CallOptions, call};

#[tokio::test(start_paused = true)]
async fn a_token_that_cannot_be_had_now_is_asked_for_again_and_charged_to_identity() {
    let governor = governor(fast);
    let tokens = Tokens::failing(&[true, true]);
    let bench = Bench::with(&governor, tokens.clone(), |_| {});
    bench.play(Asked::of(ACCOUNT), &[|| Ok(1)]).await.unwrap();
    assert_eq!((tokens.asked(), bench.sent()), (3, 1));
    let scopes = by_scope(&governor);
    let identity: Vec<_> = scopes.iter().filter(|(scope, _)| scope.service() == "identity").collect();
    assert_eq!(identity.len(), 1);
    assert_eq!((identity[0].1.calls, identity[0].1.transient_errors), (3, 2));
    let service: Vec<_> = scopes.iter().filter(|(scope, _)| scope.service() != "identity").collect();
    assert_eq!((service[0].1.calls, service[0].1.transient_errors, service[0].1.retries), (1, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_token_that_cannot_be_had_at_all_takes_nothing_of_the_service() {
    let governor = governor(|gcp| gcp.max_rps(1.0).burst(1.0).breaker_failures(1));
    let tokens = Tokens::failing(&[false]);
    let bench = Bench::with(&governor, tokens.clone(), |_| {});
    let error = bench.play(Asked::of(ACCOUNT), &[|| Ok(1)]).await.unwrap_err();
    assert!(error.is_authentication());
    assert_eq!((tokens.asked(), bench.sent()), (1, 0));
    let began = tokio::time::Instant::now();
    bench.play(Asked::of(ACCOUNT), &[|| Ok(1)]).await.unwrap();
    assert!(began.elapsed() < seconds(1), "the token of the bucket is still there");
    assert_eq!(totals(&governor).gave_up, 0);
}

#[tokio::test(start_paused = true)]
async fn no_slot_is_held_while_a_token_is_fetched() {
    let governor = governor(|gcp| gcp.max_rps(0.01).burst(1.0).deadline(None));
    let tokens = Tokens::slow(&governor);
    let bench = Bench::with(&governor, tokens.clone(), |_| {});
    bench.play(Asked::of(ACCOUNT), &[|| Ok(1)]).await.unwrap();
    let (first, second) =
        tokio::join!(bench.play(Asked::of(ACCOUNT), &[|| Ok(1)]), bench.play(Asked::of(ACCOUNT), &[|| Ok(1)]),);
    assert_eq!((first.unwrap(), second.unwrap()), (1, 1));
    // Those who had to wait for long have asked once more.
    assert!(tokens.asked() > 3, "{}", tokens.asked());
    assert!(tokens.slots_when_fetching().iter().all(|held| *held == 0), "{:?}", tokens.slots_when_fetching());
    assert_eq!(inspect(&governor, ACCOUNT).slots_in_use, 0);
    assert_eq!(totals(&governor).calls, 3);
}

#[tokio::test(start_paused = true)]
async fn a_token_is_asked_for_again_though_the_call_may_not_be_executed_twice() {
    let tokens = Tokens::failing(&[true]);
    let bench = Bench::with(&governor(fast), tokens.clone(), |_| {});
    call(CallOptions::new().idempotent(false), bench.play(Asked::of(ACCOUNT), &[|| Ok(1)])).await.unwrap();
    assert_eq!((tokens.asked(), bench.sent()), (2, 1));
}
