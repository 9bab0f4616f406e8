//! What the peers do between two attempts.

use std::cell::RefCell;

use crate::server::Answer;

/// The SDKs' "standard" retry: three attempts, a quota of 500 from which a retry takes 5 after a throttle and 14 after
/// another failure, given back when the retry succeeds; one comes back for each call that succeeds at once. Backoff
/// `min(20 s, x * 2^n)` with full jitter, x one second after a throttle and 50 ms otherwise; the server's
/// `x-amz-retry-after` counts within five seconds above that.
///
/// Source: "Updated default retry behavior for AWS SDKs and tools" (AWS developer blog), as in aws-smithy-runtime's
/// `retries/strategy/standard.rs`.
#[derive(Debug)]
pub(super) struct StandardRetry {
    state: RefCell<State>,
}

#[derive(Debug)]
struct State {
    quota: f64,
    rng: fastrand::Rng,
}

const QUOTA: f64 = 500.0;
const ATTEMPTS: u32 = 3;
const MAX_BACKOFF: f64 = 20.0;
const MAX_ABOVE: f64 = 5.0;

impl StandardRetry {
    pub(super) fn new(seed: u64) -> Self {
        StandardRetry { state: RefCell::new(State { quota: QUOTA, rng: fastrand::Rng::with_seed(seed) }) }
    }

    /// A call succeeded, at its first attempt or at a retry for which so much was taken.
    pub(super) fn succeeded(&self, taken: Option<f64>) {
        let mut state = self.state.borrow_mut();
        state.quota = (state.quota + taken.unwrap_or(1.0)).min(QUOTA);
    }

    /// How long to wait before the next attempt and what the quota paid for it; none if there is to be none.
    pub(super) fn after(&self, sends: u32, answer: Answer) -> Option<(f64, f64)> {
        let (cost, base) = if answer.is_throttled() { (5.0, 1.0) } else { (14.0, 0.05) };
        let mut state = self.state.borrow_mut();
        if sends >= ATTEMPTS || state.quota < cost {
            return None;
        }
        state.quota -= cost;
        let exponent = sends.saturating_sub(1).min(16);
        let most = (base * f64::from(1u32 << exponent)).min(MAX_BACKOFF);
        let backoff = state.rng.f64() * most;
        let told = answer.retry_after().map_or(backoff, |told| told.clamp(backoff, backoff + MAX_ABOVE));
        Some((told, cost))
    }
}

/// Decorrelated jitter, `min(20 s, uniform(0.5 s, 3 * previous))`, never under the server's Retry-After; eight retries.
///
/// Source: "Exponential Backoff And Jitter" (AWS architecture blog).
#[derive(Debug)]
pub(super) struct Patient {
    previous: f64,
}

const PATIENT_BASE: f64 = 0.5;
const PATIENT_RETRIES: u32 = 8;

impl Patient {
    pub(super) fn new() -> Self {
        Patient { previous: PATIENT_BASE }
    }

    pub(super) fn after(&mut self, sends: u32, answer: Answer, rng: &mut fastrand::Rng) -> Option<f64> {
        if sends > PATIENT_RETRIES {
            return None;
        }
        let span = (3.0 * self.previous - PATIENT_BASE).max(0.0);
        self.previous = (PATIENT_BASE + rng.f64() * span).min(MAX_BACKOFF);
        Some(answer.retry_after().map_or(self.previous, |told| told.max(self.previous)))
    }
}

#[cfg(test)]
mod tests;
