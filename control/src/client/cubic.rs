//! The SDKs' adaptive mode: CUBIC on a token bucket, with the standard retry.
//!
//! Sources: "Retry behavior" in the AWS SDKs and Tools reference guide (adaptive mode); botocore's
//! `retries/{adaptive,bucket,throttling}.py`; aws-smithy-runtime's `client/retries/client_rate_limiter.rs`. Where the two
//! differ this follows botocore: every attempt takes one token. (In Rust a retry takes five, which a bucket below five
//! calls a second never holds.)

use std::cell::RefCell;

use futures_util::future::LocalBoxFuture;
use tokio::sync::Mutex;

use super::retry::StandardRetry;
use super::{Client, End};
use crate::world::Wire;

const BETA: f64 = 0.7;
const SCALE: f64 = 0.4;
const MIN_FILL: f64 = 0.5;
const MIN_CAPACITY: f64 = 1.0;
const SMOOTH: f64 = 0.8;
/// A shortfall below this is none, or a sleep of no length would be asked for.
const NEGLIGIBLE: f64 = 1e-9;

/// An SDK's client in adaptive mode.
#[derive(Debug)]
pub struct Cubic {
    retry: StandardRetry,
    limiter: RefCell<Limiter>,
    /// The SDKs let all who wait sleep and ask again; one after the other takes the same tokens in order.
    turn: Mutex<()>,
}

impl Cubic {
    /// One whose jitter comes from this seed.
    pub fn new(seed: u64) -> Self {
        Cubic { retry: StandardRetry::new(seed), limiter: RefCell::default(), turn: Mutex::new(()) }
    }

    async fn acquire(&self, wire: &Wire) {
        let _turn = self.turn.lock().await;
        loop {
            let wait = self.limiter.borrow_mut().acquire(wire.world().now());
            match wait {
                Some(wait) => wire.world().sleep(wait).await,
                None => return,
            }
        }
    }
}

impl Client for Cubic {
    fn call<'a>(&'a self, wire: &'a mut Wire) -> LocalBoxFuture<'a, End> {
        Box::pin(async move {
            let mut taken = None;
            loop {
                self.acquire(wire).await;
                let answer = wire.send().await;
                self.limiter.borrow_mut().update(wire.world().now(), answer.is_throttled());
                if answer.is_granted() {
                    self.retry.succeeded(taken);
                    return End::Served;
                }
                let Some((wait, cost)) = self.retry.after(wire.sends(), answer) else { return End::Lost };
                taken = Some(cost);
                wire.world().sleep(wait).await;
            }
        })
    }

    fn rate(&self) -> Option<f64> {
        let limiter = self.limiter.borrow();
        limiter.enabled.then_some(limiter.fill_rate)
    }
}

/// The law.
#[derive(Debug, Default)]
struct Limiter {
    /// Off until the first throttle.
    enabled: bool,
    fill_rate: f64,
    capacity: f64,
    tokens: f64,
    refilled_at: Option<f64>,
    measured: f64,
    /// The half second that is being counted, and the answers in it.
    bucket: f64,
    count: f64,
    last_max: f64,
    last_throttle: f64,
}

impl Limiter {
    /// How long to wait before asking again; none if a token was taken.
    fn acquire(&mut self, now: f64) -> Option<f64> {
        if !self.enabled {
            return None;
        }
        self.refill(now);
        let missing = 1.0 - self.tokens;
        if missing / self.fill_rate > NEGLIGIBLE {
            return Some(missing / self.fill_rate);
        }
        self.tokens = (self.tokens - 1.0).max(0.0);
        None
    }

    fn refill(&mut self, now: f64) {
        if let Some(before) = self.refilled_at {
            self.tokens = (self.tokens + (now - before) * self.fill_rate).min(self.capacity);
        }
        self.refilled_at = Some(now);
    }

    fn update(&mut self, now: f64, throttled: bool) {
        self.measure(now);
        let calculated = if throttled {
            let rate = if self.enabled { self.measured.min(self.fill_rate) } else { self.measured };
            self.last_max = rate;
            self.last_throttle = now;
            self.enabled = true;
            rate * BETA
        } else {
            let dt = now - self.last_throttle - self.window();
            SCALE * dt * dt * dt + self.last_max
        };
        // Never beyond twice what is really sent.
        let rate = calculated.min(2.0 * self.measured);
        self.refill(now);
        self.fill_rate = rate.max(MIN_FILL);
        self.capacity = rate.max(MIN_CAPACITY);
        self.tokens = self.tokens.min(self.capacity);
    }

    fn window(&self) -> f64 {
        libm::cbrt(self.last_max * (1.0 - BETA) / SCALE)
    }

    fn measure(&mut self, now: f64) {
        let bucket = (now * 2.0).floor() / 2.0;
        self.count += 1.0;
        if bucket > self.bucket {
            let rate = self.count / (bucket - self.bucket);
            self.measured = rate * SMOOTH + self.measured * (1.0 - SMOOTH);
            self.count = 0.0;
            self.bucket = bucket;
        }
    }
}

#[cfg(test)]
mod tests;
