//! Calls over several buckets that are dropped, refused, unsent and sent in any order, while settings change.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use cloud_governor::{Attempt, Config, FakeClock, Governor, Outcome, Priority, Refusal, RetryPolicy, Scope};

/// No token comes back by itself. `own` and `all` say what each operation's bucket counts, and the shared ones.
fn config(burst: u32, slots: u32, (own, all): (&str, &str)) -> Config {
    let rate = format!("max_rps: 0.000001, burst: {burst}");
    let yaml = format!(
        "ratelimit: {{ x: {{ account_concurrency: {slots}, services: {{ s: {{ per_operation: true, {rate}, counts: {own}, shared: {{ some: {{ operations: [A, B], {rate}, counts: {all}, per: account }} }} }} }}, shared: {{ all: {{ {rate}, counts: {all}, per: account }} }} }} }}"
    );
    Config::from_yaml(yaml, "test").unwrap()
}

type Counts = (&'static str, &'static str);
type Admission = Pin<Box<dyn Future<Output = Result<Attempt, Refusal>>>>;

/// What was taken from each operation's bucket, from the one of the first two, and from that of all.
#[derive(Default)]
struct Taken([f64; 4], f64, f64);

impl Taken {
    fn add(&mut self, operation: usize, cost: u32, (own, all): Counts, sign: f64) {
        let price = |counts| if counts == "units" { f64::from(cost) * sign } else { sign };
        self.0[operation] += price(own);
        self.1 += if operation < 2 { price(all) } else { 0.0 };
        self.2 += price(all);
    }
}

#[test]
fn whatever_becomes_of_calls_what_was_taken_and_what_is_left_are_what_was_granted() {
    for seed in 0..12 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let (burst, slots) = (rng.u32(1..3_000), rng.u32(1..100));
        let mut counts: Counts = ("calls", "units");
        let clock = FakeClock::new();
        let governor = Governor::builder().config(config(burst, slots, counts)).clock(clock.clone()).seed(seed).build();
        let scopes = ["A", "B", "C", "D"].map(|name| Scope::new("x", "1", "", "s").with_operation(name));
        let mut waiting: Vec<(Admission, usize, u32)> = Vec::new();
        let mut sent: Vec<(Attempt, usize, u32, Counts)> = Vec::new();
        let mut taken = Taken::default();
        for _ in 0..5_000 {
            match rng.u32(0..100) {
                0..40 => {
                    let (operation, cost) = (rng.usize(0..4), rng.u32(1..20));
                    let deadline = Some(Duration::from_secs(100)).filter(|_| rng.bool());
                    let policy = RetryPolicy::builder().deadline(deadline).build().unwrap();
                    let priority = [Priority::Low, Priority::Normal, Priority::High][rng.usize(0..3)];
                    let call = governor.call(&scopes[operation]).policy(policy).priority(priority);
                    let mut call = call.cost(cost.try_into().unwrap());
                    waiting.push((Box::pin(async move { call.admit().await }), operation, cost));
                }
                40..70 if !waiting.is_empty() => {
                    let index = rng.usize(0..waiting.len());
                    let mut cx = Context::from_waker(Waker::noop());
                    let Poll::Ready(admitted) = waiting[index].0.as_mut().poll(&mut cx) else { continue };
                    let (_, operation, cost) = waiting.swap_remove(index);
                    if let Ok(attempt) = admitted {
                        taken.add(operation, cost, counts, 1.0);
                        sent.push((attempt, operation, cost, counts));
                    }
                }
                70..80 if !waiting.is_empty() => drop(waiting.swap_remove(rng.usize(0..waiting.len()))),
                80..93 if !sent.is_empty() => {
                    let (attempt, operation, cost, counted) = sent.swap_remove(rng.usize(0..sent.len()));
                    match rng.u32(0..3) {
                        0 => drop(attempt.finish(Outcome::Success)),
                        1 => drop(attempt),
                        _ => {
                            attempt.unsent();
                            taken.add(operation, cost, counted, -1.0);
                        }
                    }
                }
                93 => {
                    let either = ["calls", "units"];
                    counts = (either[rng.usize(0..2)], either[rng.usize(0..2)]);
                    governor.reconfigure(config(burst, slots, counts));
                }
                _ => clock.advance(Duration::from_millis(rng.u64(0..300))),
            }
        }
        drop(waiting);
        let is_left = |left: f64, taken: f64| (left - (f64::from(burst) - taken)).abs() < 0.01;
        for (scope, own) in scopes.iter().zip(taken.0) {
            let seen = governor.inspect(scope).unwrap();
            assert_eq!((seen.waiting_for_rate, seen.waiting_for_slot), (0, 0), "seed {seed}");
            assert!(is_left(seen.tokens, own) && seen.slots_in_use <= sent.len(), "seed {seed}: {seen:?}");
            for shared in seen.shared {
                let taken = if shared.scope.operation() == Some("some") { taken.1 } else { taken.2 };
                assert!(shared.waiting == 0 && is_left(shared.tokens, taken), "seed {seed}, {taken}: {shared:?}");
            }
        }
        drop(sent);
        assert_eq!((governor.inspect(&scopes[0]).unwrap().slots_in_use, clock.waiting()), (0, 0), "seed {seed}");
    }
}
