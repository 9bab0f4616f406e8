//! What the tests of whole calls share.

#![allow(dead_code, reason = "each test file uses a part")]

use std::time::Duration;

use cloud_governor::Config;
use cloud_governor::{Attempt, Call, Class, Classification, Governor, Outcome, Scope, Verdict};

pub(crate) fn scope() -> Scope {
    Scope::new("github", "octo", "", "rest")
}

pub(crate) fn secs(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds)
}

/// A governor with the settings of this YAML, and seeded jitter.
pub(crate) fn governor(yaml: &str) -> Governor {
    Governor::builder().config(Config::from_yaml(yaml, "test").expect("the test's YAML is valid")).seed(7).build()
}

pub(crate) fn fails(class: Class) -> Outcome {
    Outcome::Failure(Classification::of(class))
}

pub(crate) async fn admit(call: &mut Call) -> Attempt {
    call.admit().await.expect("admitted")
}

/// Runs a call whose every attempt ends like this; returns its last verdict and how many were sent.
pub(crate) async fn run(
    governor: &Governor,
    scope: &Scope,
    outcome: impl Fn(u32) -> Outcome,
) -> (Option<Verdict>, u32) {
    let mut call = governor.call(scope);
    let mut last = None;
    while let Ok(attempt) = call.admit().await {
        let verdict = attempt.finish(outcome(attempt.number()));
        last = Some(verdict);
        if !matches!(verdict, Verdict::Retry { .. }) {
            break;
        }
    }
    (last, call.attempts())
}

/// Lets other threads go on until `done`; a test that would wait for ever fails instead.
pub(crate) fn wait_until(done: impl Fn() -> bool) {
    for _ in 0..20_000 {
        if done() {
            return;
        }
        std::thread::sleep(Duration::from_micros(500));
    }
    panic!("what was waited for did not happen");
}
