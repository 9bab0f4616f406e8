//! The one who knows the server's rate and burst beforehand, and nothing of what happens to it.

use std::cell::RefCell;

use futures_util::future::LocalBoxFuture;
use tokio::sync::Mutex;

use super::retry::Patient;
use super::{Client, End};
use crate::server::ServerSpec;
use crate::world::Wire;

const NEGLIGIBLE: f64 = 1e-9;

/// A static token bucket with the server's own figures (its share of them, of several processes), and patient retries.
#[derive(Debug)]
pub struct Oracle {
    spec: ServerSpec,
    cost: f64,
    share: f64,
    state: RefCell<State>,
    turn: Mutex<()>,
}

#[derive(Debug)]
struct State {
    rng: fastrand::Rng,
    tokens: f64,
    at: f64,
}

impl Oracle {
    /// One of `processes` that share this server, for calls of this cost.
    pub fn new(spec: ServerSpec, cost: f64, processes: usize, seed: u64) -> Self {
        let share = 1.0 / processes.max(1) as f64;
        let state =
            State { rng: fastrand::Rng::with_seed(seed), tokens: spec.quota.safe_burst(cost) * share / cost, at: 0.0 };
        Oracle { spec, cost, share, state: RefCell::new(state), turn: Mutex::new(()) }
    }

    fn rate_at(&self, now: f64) -> f64 {
        self.spec.true_rate(now, self.cost) * self.share
    }

    async fn acquire(&self, wire: &Wire) {
        let _turn = self.turn.lock().await;
        loop {
            let now = wire.world().now();
            let rate = self.rate_at(now);
            let missing = {
                let mut state = self.state.borrow_mut();
                let capacity = (self.spec.quota.safe_burst(self.cost) * self.share / self.cost).max(1.0);
                state.tokens = (state.tokens + (now - state.at) * rate).min(capacity);
                state.at = now;
                1.0 - state.tokens
            };
            if missing / rate <= NEGLIGIBLE {
                self.state.borrow_mut().tokens -= 1.0;
                return;
            }
            wire.world().sleep((missing / rate).min(1.0)).await;
        }
    }
}

impl Client for Oracle {
    fn call<'a>(&'a self, wire: &'a mut Wire) -> LocalBoxFuture<'a, End> {
        Box::pin(async move {
            let mut patience = Patient::new();
            loop {
                self.acquire(wire).await;
                let answer = wire.send().await;
                if answer.is_granted() {
                    return End::Served;
                }
                let wait = patience.after(wire.sends(), answer, &mut self.state.borrow_mut().rng);
                let Some(wait) = wait else { return End::Lost };
                wire.world().sleep(wait).await;
            }
        })
    }

    fn rate(&self) -> Option<f64> {
        Some(self.rate_at(self.state.borrow().at))
    }
}
