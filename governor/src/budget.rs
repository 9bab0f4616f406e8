//! The retry budget: what keeps retries from multiplying an outage.
//!
//! A provider's calls share one budget. A retry beyond a call's free ones takes a token; a call that the server
//! answered, well or fatally, gives a tenth back. In a healthy hour the budget is full and never noticed; when
//! everything fails, retries end after `capacity` of them while first attempts go on and find out when the server
//! is back. The charge is made when the retry is decided, so that calls asleep in their backoff are counted, and
//! handed back if the retry never happens.

use std::sync::Arc;

use crate::sync::{AtomicU64, Ordering};

/// The level is counted in tenths of a token: integers neither drift nor lose a deposit.
const TOKEN: u64 = 10;
const REFUND: u64 = 1;

/// A call's first retries are free of the budget, so that a storm in one service does not stop another's retries.
pub(crate) const FREE_RETRIES: u32 = 2;

#[derive(Debug)]
pub(crate) struct RetryBudget {
    level: AtomicU64,
    capacity: AtomicU64,
}

/// A token taken for a retry that has been decided but not sent: handed back when dropped.
#[derive(Debug)]
pub(crate) struct Charge(Option<Arc<RetryBudget>>);

impl RetryBudget {
    pub(crate) fn new(capacity: u32) -> Self {
        let tenths = u64::from(capacity) * TOKEN;
        RetryBudget { level: AtomicU64::new(tenths), capacity: AtomicU64::new(tenths) }
    }

    /// Takes a token, if there is a whole one.
    pub(crate) fn charge(self: &Arc<Self>) -> Option<Charge> {
        self.level
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |level| level.checked_sub(TOKEN))
            .ok()
            .map(|_| Charge(Some(Arc::clone(self))))
    }

    /// A logical call was answered.
    pub(crate) fn refund(&self) {
        self.add(REFUND);
    }

    fn add(&self, tenths: u64) {
        let capacity = self.capacity.load(Ordering::Acquire);
        let add = |level: u64| Some(level.saturating_add(tenths).min(capacity));
        // The closure never declines, so there is no error to lose.
        let _ = self.level.fetch_update(Ordering::AcqRel, Ordering::Acquire, add);
    }

    /// A new capacity; what has been spent stays spent.
    pub(crate) fn resize(&self, capacity: u32) {
        let new = u64::from(capacity) * TOKEN;
        let old = self.capacity.swap(new, Ordering::AcqRel);
        let resized = |level: u64| Some(new.saturating_sub(old.saturating_sub(level)));
        let _ = self.level.fetch_update(Ordering::AcqRel, Ordering::Acquire, resized);
    }

    /// Full again.
    pub(crate) fn reset(&self) {
        self.level.store(self.capacity.load(Ordering::Acquire), Ordering::Release);
    }

    /// Whole tokens left.
    pub(crate) fn available(&self) -> u64 {
        self.level.load(Ordering::Acquire) / TOKEN
    }

    pub(crate) fn is_full(&self) -> bool {
        self.level.load(Ordering::Acquire) >= self.capacity.load(Ordering::Acquire)
    }
}

impl Charge {
    /// The retry is being sent: the token is gone.
    pub(crate) fn spend(mut self) {
        self.0 = None;
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        if let Some(budget) = self.0.take() {
            budget.add(TOKEN);
        }
    }
}

#[cfg(test)]
mod tests;
