use std::sync::Arc;

use cloud_governor::{Attempt, Call, Classification, Config, FakeClock, Governor, Outcome, Scope, Verdict};

use super::{Next, Operation, Step};
use crate::handle::Handle;
use crate::registry::REGISTRY;
use crate::replay::{Answer, KeptError};

fn governor(clock: &FakeClock) -> Governor {
    let config = Config::builder().provider("aws", |aws| aws.max_retries(1)).build().expect("sound");
    Governor::builder().config(config).clock(clock.clone()).seed(1).build()
}

async fn admitted(call: &mut Call, clock: &FakeClock) -> Attempt {
    let mut admit = std::pin::pin!(call.admit());
    loop {
        tokio::select! {
            biased;
            admitted = &mut admit => return admitted.expect("nothing is open"),
            () = tokio::task::yield_now() => { clock.advance_to_next(); }
        }
    }
}

async fn begun(key: &str, service: &str, clock: &FakeClock) -> Arc<Operation> {
    let scope = Scope::new("aws", "1", "r", service);
    let operation = Operation::new(Some(key.to_owned()), scope.clone(), governor(clock), false);
    assert!(REGISTRY.register(&operation));
    let mut call = operation.governor().call(&scope);
    let attempt = admitted(&mut call, clock).await;
    operation.ready(Some(call), Some(attempt));
    operation
}

fn fail(operation: &Operation) -> Option<Verdict> {
    operation.failed(Some(Classification::transient()), None, Answer::Error(KeptError::timeout("slow")))
}

fn slots(operation: &Operation) -> usize {
    operation.governor().inspect(operation.scope()).map_or(0, |leaf| leaf.slots_in_use)
}

#[tokio::test]
async fn the_registry_forgets_an_operation_that_ended() {
    let clock = FakeClock::new();
    let operation = begun("ends", "ssm", &clock).await;
    assert!(REGISTRY.find("ends").is_some());
    assert!(!REGISTRY.register(&operation), "its id is taken while it runs");
    drop(operation);
    assert!(REGISTRY.find("ends").is_none());
}

#[tokio::test]
async fn an_operation_dropped_before_the_send_gives_everything_back() {
    let clock = FakeClock::new();
    let operation = begun("dropped", "ssm", &clock).await;
    assert_eq!(slots(&operation), 1);
    drop(Handle::new(Arc::clone(&operation)));
    assert_eq!(slots(&operation), 0);
    assert!(REGISTRY.unpark("dropped").is_none());
    assert!(matches!(operation.step(), Step::Replay(_)), "an ended operation sends nothing more");
}

#[tokio::test]
async fn an_s3_operation_dropped_before_the_send_keeps_its_token_and_no_slot() {
    let clock = FakeClock::new();
    let operation = begun("express", "s3", &clock).await;
    drop(Handle::new(Arc::clone(&operation)));
    assert_eq!(slots(&operation), 0);
    let parked = REGISTRY.unpark("express").expect("parked");
    assert!(Arc::ptr_eq(&parked, &operation));
    assert!(matches!(parked.step(), Step::Send(Some(_))));
}

/// What keeps the install right on the day that the SDK no longer pushes the layer of an identity.
#[tokio::test]
async fn a_loose_operation_survives_the_bag_between_its_attempts() {
    let clock = FakeClock::new();
    let operation = begun("loose", "ssm", &clock).await;
    operation.loosen();
    assert!(matches!(operation.step(), Step::Send(Some(_))));
    assert!(matches!(fail(&operation), Some(Verdict::Retry { .. })));
    drop(Handle::new(operation));
    let operation = REGISTRY.unpark("loose").expect("parked");
    assert!(matches!(operation.next(), Next::Admit(_)));
}

#[tokio::test]
async fn what_nobody_comes_back_for_counts_as_given_up_when_it_is_let_go() {
    let clock = FakeClock::new();
    let operation = begun("stale", "ssm", &clock).await;
    let governor = operation.governor().clone();
    operation.loosen();
    assert!(matches!(operation.step(), Step::Send(Some(_))));
    fail(&operation);
    drop(Handle::new(operation));
    assert_eq!(governor.summary().totals.gave_up, 0);
    drop(REGISTRY.unpark("stale"));
    assert_eq!(governor.summary().totals.gave_up, 1);
}

#[tokio::test]
async fn the_attempt_after_the_last_retry_is_a_replay() {
    let clock = FakeClock::new();
    let operation = begun("replay", "ssm", &clock).await;
    assert!(matches!(operation.step(), Step::Send(Some(_))));
    assert!(matches!(fail(&operation), Some(Verdict::Retry { .. })));
    let Next::Admit(mut call) = operation.next() else { panic!("a retry is left") };
    let attempt = admitted(&mut call, &clock).await;
    operation.ready(Some(call), Some(attempt));
    assert!(matches!(operation.step(), Step::Send(Some(_))));
    assert!(matches!(fail(&operation), Some(Verdict::GiveUp(_))));
    for _ in 0..3 {
        assert!(matches!(operation.next(), Next::Stop));
        assert!(matches!(operation.step(), Step::Replay(Answer::Error(_))));
    }
}

#[tokio::test]
async fn an_attempt_that_nobody_settled_counts_as_failed_and_frees_its_slot_first() {
    let clock = FakeClock::new();
    let operation = begun("silent", "ssm", &clock).await;
    assert!(matches!(operation.step(), Step::Send(Some(_))));
    let Next::Admit(_call) = operation.next() else { panic!("a retry is left") };
    assert_eq!(slots(&operation), 0);
    assert_eq!(operation.governor().summary().totals.transient_errors, 1);
}

#[tokio::test]
async fn an_outcome_settles_once() {
    let clock = FakeClock::new();
    let operation = begun("once", "ssm", &clock).await;
    assert!(matches!(operation.step(), Step::Send(Some(_))));
    operation.answered(true, false);
    assert_eq!(operation.settle(Outcome::Success, true), Some(Verdict::Done));
    assert_eq!(operation.settle(Outcome::Failure(Classification::transient()), true), Some(Verdict::Done));
    assert_eq!(fail(&operation), None);
    assert_eq!(operation.governor().summary().totals.transient_errors, 0);
}
