//! The governor itself: its own limiter, call machine, breaker, budget and classification, driven as a plugin does.

use cloud_governor::{Config, Governor, Outcome, Scope, Verdict};
use futures_util::future::LocalBoxFuture;

use super::{Client, End};
use crate::world::{Wire, World};

/// A process with a governor of its own.
#[derive(Debug)]
pub struct Governed {
    governor: Governor,
    scope: Scope,
}

impl Governed {
    /// One that governs calls of this provider by this configuration, on the world's clock.
    pub fn new(world: &World, provider: &str, config: Config, seed: u64) -> Self {
        Governed {
            governor: Governor::builder().clock(world.clock().clone()).seed(seed).config(config).build(),
            scope: Scope::new(provider, "123456789012", "here", "simulated").with_operation("List"),
        }
    }
}

impl Client for Governed {
    fn call<'a>(&'a self, wire: &'a mut Wire) -> LocalBoxFuture<'a, End> {
        Box::pin(async move {
            let mut call = self.governor.call(&self.scope);
            loop {
                let Ok(attempt) = call.admit().await else { return End::Lost };
                let answer = wire.send().await;
                if answer.is_granted() {
                    attempt.finish(Outcome::Success);
                    return End::Served;
                }
                let failure = self.governor.classify(&self.scope, answer.facts());
                let Verdict::Retry { .. } = attempt.finish(Outcome::Failure(failure)) else { return End::Lost };
            }
        })
    }

    fn rate(&self) -> Option<f64> {
        self.governor.inspect(&self.scope).map(|state| state.rate_rps)
    }
}
