//! The governor itself: its own limiter, call machine, breaker, budget and classification, driven as a plugin does.

use std::time::Duration;

use cloud_governor::{Config, Governor, Outcome, Scope, Verdict};
use futures_util::future::LocalBoxFuture;

use super::{Client, End};
use crate::world::{Wire, World};

/// A process with a governor of its own.
#[derive(Debug)]
pub struct Governed {
    governor: Governor,
    /// One for each kind of call, or one for all.
    scopes: Vec<Scope>,
    hears: bool,
}

impl Governed {
    /// One that governs calls of this provider by this configuration, on the world's clock. Calls of different kinds are
    /// those of as many services, if there are several; it may be deaf to what the server says of its quota.
    pub fn new(world: &World, provider: &str, config: Config, seed: u64, services: usize, hears: bool) -> Self {
        let scope = |service: usize| {
            let service = if services > 1 { format!("simulated-{service}") } else { "simulated".to_owned() };
            Scope::new(provider, "123456789012", "here", service).with_operation("List")
        };
        Governed {
            governor: Governor::builder().clock(world.clock().clone()).seed(seed).config(config).build(),
            scopes: (0..services.max(1)).map(scope).collect(),
            hears,
        }
    }
}

impl Client for Governed {
    fn call<'a>(&'a self, wire: &'a mut Wire) -> LocalBoxFuture<'a, End> {
        Box::pin(async move {
            let Some(scope) = self.scopes.get(wire.request().kind % self.scopes.len()) else { return End::Lost };
            let mut call = self.governor.call(scope);
            loop {
                let Ok(attempt) = call.admit().await else { return End::Lost };
                let answer = wire.send().await;
                if let Some(left) = wire.left().filter(|_| self.hears) {
                    attempt.quota_left("reads", left);
                }
                if let Some((calls, seconds)) = wire.limit().filter(|_| self.hears && answer.is_throttled()) {
                    attempt.limit_told(calls, Duration::from_secs(seconds));
                }
                if answer.is_granted() {
                    attempt.finish(Outcome::Success);
                    return End::Served;
                }
                let failure = self.governor.classify(scope, answer.facts());
                let Verdict::Retry { .. } = attempt.finish(Outcome::Failure(failure)) else { return End::Lost };
            }
        })
    }

    /// Of all its services.
    fn rate(&self) -> Option<f64> {
        self.scopes
            .iter()
            .filter_map(|scope| Some(self.governor.inspect(scope)?.rate_rps))
            .reduce(|sum, rate| sum + rate)
    }
}
