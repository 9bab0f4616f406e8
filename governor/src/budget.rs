//! The retry budget: what keeps retries from multiplying an outage.
//!
//! A provider's calls share one budget. A retry beyond a call's free ones takes a token; a call that the server
//! answered, well or fatally, gives a tenth back. In a healthy hour the budget is full and never noticed; when
//! everything fails, retries end after `capacity` of them while first attempts go on and find out when the server
//! is back. The charge is made when the retry is decided, so that calls asleep in their backoff are counted, and
//! handed back if the retry never happens.

use std::sync::Arc;

use crate::sync::{AtomicU64, Ordering};

/// Counted in tenths of a token: integers neither drift nor lose a deposit.
const TOKEN: u64 = 10;
const REFUND: u64 = 1;

/// A call's first retries are free of the budget, so that a storm in one service does not stop another's retries.
pub(crate) const FREE_RETRIES: u32 = 2;

#[derive(Debug)]
pub(crate) struct RetryBudget {
    /// What has been taken and not refunded; at most the capacity. Zero, in a healthy hour, is all that a call that was
    /// answered has to see.
    spent: AtomicU64,
    capacity: AtomicU64,
}

/// A token taken for a retry that has been decided but not sent: handed back when dropped.
#[derive(Debug)]
pub(crate) struct Charge(Option<Arc<RetryBudget>>);

impl RetryBudget {
    pub(crate) fn new(capacity: u32) -> Self {
        RetryBudget { spent: AtomicU64::new(0), capacity: AtomicU64::new(u64::from(capacity) * TOKEN) }
    }

    /// Takes a token, if there is a whole one.
    pub(crate) fn charge(self: &Arc<Self>) -> Option<Charge> {
        let capacity = self.capacity.load(Ordering::Acquire);
        self.spent
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |spent| {
                Some(spent + TOKEN).filter(|spent| *spent <= capacity)
            })
            .ok()
            .map(|_| Charge(Some(Arc::clone(self))))
    }

    /// A logical call was answered.
    #[inline]
    pub(crate) fn refund(&self) {
        if self.spent.load(Ordering::Relaxed) != 0 {
            self.give_back(REFUND);
        }
    }

    #[inline(never)]
    fn give_back(&self, tenths: u64) {
        self.change(|spent| spent.saturating_sub(tenths));
    }

    fn change(&self, change: impl Fn(u64) -> u64) {
        // The closure never declines, so there is no error to lose.
        let _ = self.spent.fetch_update(Ordering::AcqRel, Ordering::Acquire, |spent| Some(change(spent)));
    }

    /// A new capacity; what has been spent stays spent.
    pub(crate) fn resize(&self, capacity: u32) {
        let capacity = u64::from(capacity) * TOKEN;
        self.capacity.store(capacity, Ordering::Release);
        self.change(|spent| spent.min(capacity));
    }

    /// Full again.
    pub(crate) fn reset(&self) {
        self.spent.store(0, Ordering::Release);
    }

    /// Whole tokens left.
    pub(crate) fn available(&self) -> u64 {
        self.capacity.load(Ordering::Acquire).saturating_sub(self.spent.load(Ordering::Acquire)) / TOKEN
    }

    pub(crate) fn is_full(&self) -> bool {
        self.spent.load(Ordering::Acquire) == 0
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
            budget.give_back(TOKEN);
        }
    }
}

#[cfg(test)]
mod tests;
