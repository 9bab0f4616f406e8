//! The plain law of many limiters: halve, and climb by a twentieth of the ceiling a success; reserve, then sleep.
//!
//! Whoever comes takes its token at once, into debt if need be, and sleeps as long as the debt takes at the rate of
//! that moment. A lower rate does not hold those who already sleep, a higher one does not let them go early.

use std::cell::RefCell;

use futures_util::future::LocalBoxFuture;

use super::retry::Patient;
use super::{Client, End};
use crate::world::Wire;

/// Calls a second that it would send at most, and its burst.
const CEILING: f64 = 100.0;
const FLOOR: f64 = 0.5;
const FACTOR: f64 = 0.5;
const STEP: f64 = 0.05;
/// Throttles closer together are one event.
const CUT_INTERVAL: f64 = 1.0;
const QUIET: f64 = 5.0;

/// A client with the plain law and patient retries.
#[derive(Debug)]
pub struct Reserving {
    state: RefCell<State>,
}

#[derive(Debug)]
struct State {
    rng: fastrand::Rng,
    rate: f64,
    tokens: f64,
    at: f64,
    last_cut: f64,
    last_throttle: f64,
}

impl Reserving {
    /// One whose jitter comes from this seed.
    pub fn new(seed: u64) -> Self {
        Reserving {
            state: RefCell::new(State {
                rng: fastrand::Rng::with_seed(seed),
                rate: CEILING,
                tokens: CEILING,
                at: 0.0,
                last_cut: f64::NEG_INFINITY,
                last_throttle: f64::NEG_INFINITY,
            }),
        }
    }
}

impl State {
    fn reserve(&mut self, now: f64) -> f64 {
        self.tokens = (self.tokens + (now - self.at) * self.rate).min(CEILING);
        self.at = now;
        self.tokens -= 1.0;
        (-self.tokens / self.rate).max(0.0)
    }

    fn update(&mut self, now: f64, throttled: bool) {
        if throttled {
            self.last_throttle = now;
            if now - self.last_cut >= CUT_INTERVAL {
                self.rate = (self.rate * FACTOR).max(FLOOR);
                self.last_cut = now;
                self.tokens = self.tokens.min(0.0);
            }
        } else if now - self.last_throttle >= QUIET {
            self.rate = (self.rate + CEILING * STEP).min(CEILING);
        }
    }
}

impl Client for Reserving {
    fn call<'a>(&'a self, wire: &'a mut Wire) -> LocalBoxFuture<'a, End> {
        Box::pin(async move {
            let mut patience = Patient::new();
            loop {
                let wait = self.state.borrow_mut().reserve(wire.world().now());
                wire.world().sleep(wait).await;
                let answer = wire.send().await;
                if answer.is_granted() || answer.is_throttled() {
                    self.state.borrow_mut().update(wire.world().now(), answer.is_throttled());
                }
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
        Some(self.state.borrow().rate)
    }
}
