//! What a call and its attempts share, and how it is used again.

mod plain;
mod spares;

use std::sync::Arc;
use std::sync::atomic::{self, AtomicU64};
use std::time::Duration;

use self::plain::Plain;
use super::state::{State, Terms};
use crate::clock::Timestamp;
use crate::limiter::{Bucket, Tickets, take_at_once};
use crate::policy::ResolvedPolicy;
use crate::registry::{Leaf, Target};
use crate::scope::Scope;
use crate::stats::{Collectors, Counters};
use crate::sync::{Mutex, MutexGuard};

/// Where a call goes and how it stands: the call has one, and so has each of its attempts.
#[derive(Debug, Clone)]
pub(super) struct Core {
    target: Arc<Target>,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    collectors: Collectors,
    plain: Plain,
    state: Mutex<State>,
}

impl Shared {
    #[inline(never)]
    fn fresh() -> Arc<Shared> {
        Arc::default()
    }

    #[inline(never)]
    fn counted_in(collectors: Collectors) -> Arc<Shared> {
        Arc::new(Shared { collectors, ..Shared::default() })
    }
}

impl Core {
    #[inline]
    pub(super) fn new(target: Arc<Target>) -> Self {
        let shared = match Collectors::bound(target.leaf.scope()) {
            None => spares::take().unwrap_or_else(Shared::fresh),
            Some(collectors) => Shared::counted_in(collectors),
        };
        Core { target, shared }
    }

    pub(super) fn target(&self) -> &Target {
        &self.target
    }

    pub(super) fn leaf(&self) -> &Leaf {
        &self.target.leaf
    }

    /// What it takes tokens from, the narrowest first: its leaf's own, and those that it shares with others.
    pub(super) fn buckets(&self) -> &[Arc<Bucket>] {
        self.target.buckets()
    }

    /// Takes what a call of so many units costs, if it lies ready and nobody waits.
    #[inline(always)]
    pub(super) fn take_at_once(&self, units: f64, now: Timestamp) -> Option<Tickets> {
        match self.target.only_bucket() {
            Some(bucket) => bucket.take_at_once(units, now),
            None => take_at_once(self.buckets(), units, now),
        }
    }

    /// Whether it matters to one of its buckets that an attempt was served.
    #[inline(always)]
    pub(super) fn heeds_answers(&self) -> bool {
        match self.target.only_bucket() {
            Some(bucket) => bucket.heeds_answers(),
            None => self.buckets().iter().any(|bucket| bucket.heeds_answers()),
        }
    }

    pub(super) fn scope(&self) -> &Scope {
        &self.target.scope
    }

    /// False where the provider is disabled: called once, directly.
    pub(super) fn governed(&self) -> bool {
        self.target.settings.enabled
    }

    /// The call as far as it goes without [`state`](Self::state).
    #[inline]
    pub(super) fn plain(&self) -> &Plain {
        &self.shared.plain
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        let mut state = self.shared.state.lock();
        self.shared.plain.take_over(&mut state, self.leaf().bulkhead());
        state
    }

    /// Whether anyone else has a part in it.
    pub(super) fn is_shared(&self) -> bool {
        Arc::strong_count(&self.shared) > 1
    }

    pub(super) fn now(&self) -> Timestamp {
        self.leaf().clock().now()
    }

    /// The call's policy over its provider's.
    pub(super) fn policy(&self, terms: &Terms) -> ResolvedPolicy {
        terms.policy.resolve(&self.target.settings.retry)
    }

    pub(super) fn stop_retrying(&self) {
        self.state().more().terms.stopped = true;
    }

    /// The call is gone. A settled attempt may outlive it; what was charged for a retry that will not happen does not.
    #[inline(never)]
    pub(super) fn retry_no_more(&self) {
        // Before it was asked for more there is no charge.
        if !self.shared.plain.is_taken_over() {
            return;
        }
        let charge = {
            let mut state = self.state();
            // What paid for an attempt under way is that one's.
            if state.current.is_none() { state.take_charge() } else { None }
        };
        drop(charge);
    }

    // ===== counting =====

    pub(super) fn count(&self, counter: impl Fn(&Counters) -> &AtomicU64) {
        self.count_each(|counters| counters.count(&counter));
    }

    /// In the leaf's counters, and in each collector's.
    #[inline(always)]
    pub(super) fn count_each(&self, count: impl Fn(&Counters)) {
        count(self.leaf().counters());
        if !self.shared.collectors.is_empty() {
            self.shared.collectors.each(count);
        }
    }

    /// Takes back what was counted for something that did not happen after all.
    pub(super) fn uncount(&self, counter: impl Fn(&Counters) -> &AtomicU64) {
        self.count_each(|counters| counters.uncount(&counter));
    }

    pub(super) fn count_wait(&self, wait: Duration) {
        self.count_each(|counters| counters.waited(wait));
    }
}

// ===== using it again =====

impl Core {
    /// The last to go blanks what was shared and leaves it to the next call, unless it has collectors. Where two go at once
    /// neither may see that it is the last, and then it is freed.
    #[inline(never)]
    pub(super) fn leave_spare(&self) {
        if self.shared.collectors.is_empty() {
            // After whatever the others did before they let go of it.
            atomic::fence(atomic::Ordering::Acquire);
            if self.shared.plain.is_taken_over() {
                self.shared.state.lock().blank();
            }
            self.shared.plain.blank();
            spares::keep(&self.shared);
        }
    }
}
