//! How long to wait before a retry: jittered, capped, never under what the server asked for.
//!
//! Decorrelated jitter draws from `base ..= 3 * previous`, full jitter from `0 ..= base * 2^n`, both under the cap
//! (Marc Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015). A Retry-After is a floor, and
//! waits are spread above it: clients that were all told "30" must not all come back at 30.

use std::time::Duration;

use crate::config::Jitter;

/// No draw is shorter: even full jitter does not spin.
const SHORTEST: Duration = Duration::from_millis(1);

/// One call's backoff.
#[derive(Debug)]
pub(crate) struct Backoff {
    base: Duration,
    cap: Duration,
    jitter: Jitter,
    previous: Duration,
    retries: u32,
    rng: fastrand::Rng,
}

impl Backoff {
    pub(crate) fn new(base: Duration, cap: Duration, jitter: Jitter, rng: fastrand::Rng) -> Self {
        Backoff { base, cap: cap.max(base), jitter, previous: base, retries: 0, rng }
    }

    /// The wait before the next retry.
    pub(crate) fn next(&mut self, retry_after: Option<Duration>) -> Duration {
        let drawn = match self.jitter {
            Jitter::Decorrelated => self.between(self.base, self.previous.saturating_mul(3)),
            Jitter::Full => {
                let doubled = 2_u32.checked_pow(self.retries).unwrap_or(u32::MAX);
                self.between(Duration::ZERO, self.base.saturating_mul(doubled))
            }
        };
        self.retries = self.retries.saturating_add(1);
        self.previous = drawn;
        match retry_after {
            Some(floor) if drawn < floor => floor.saturating_add(self.between(Duration::ZERO, self.base)),
            _ => drawn,
        }
    }

    fn between(&mut self, low: Duration, high: Duration) -> Duration {
        let (low, high) = (low.min(self.cap), high.min(self.cap));
        let span = high.saturating_sub(low);
        low.saturating_add(span.mul_f64(self.rng.f64())).max(SHORTEST)
    }
}

#[cfg(test)]
mod tests;
