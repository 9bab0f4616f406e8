//! What a call and its attempts share, and how it is used again.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use super::{State, Terms};
use crate::clock::Timestamp;
use crate::limiter::Bucket;
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
    state: Mutex<State>,
}

impl Core {
    pub(super) fn new(target: Arc<Target>) -> Self {
        let collectors = Collectors::bound(target.leaf.scope());
        let mut shared = take_spare().unwrap_or_default();
        if !collectors.is_empty() {
            match Arc::get_mut(&mut shared) {
                Some(spare) => spare.collectors = collectors,
                // Never so: a spare one is nobody else's.
                None => shared = Arc::new(Shared { collectors, state: Mutex::default() }),
            }
        }
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

    pub(super) fn scope(&self) -> &Scope {
        &self.target.scope
    }

    /// False where the provider is disabled: called once, directly.
    pub(super) fn governed(&self) -> bool {
        self.target.settings.enabled
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock()
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
        self.state().terms.stopped = true;
    }

    // ===== counting =====

    pub(super) fn count(&self, counter: impl Fn(&Counters) -> &AtomicU64) {
        self.leaf().counters().count(&counter);
        self.shared.collectors.each(|counters| counters.count(&counter));
    }

    /// Takes back what was counted for something that did not happen after all.
    pub(super) fn uncount(&self, counter: impl Fn(&Counters) -> &AtomicU64) {
        self.leaf().counters().uncount(&counter);
        self.shared.collectors.each(|counters| counters.uncount(&counter));
    }

    pub(super) fn count_wait(&self, wait: Duration) {
        self.leaf().counters().waited(wait);
        self.shared.collectors.each(|counters| counters.waited(wait));
    }
}

// ===== using it again =====

/// How many a thread keeps: enough for the calls that one thread ends and begins by turns.
const SPARE: usize = 32;

thread_local! {
    /// What ended calls leave for the next ones, blank: a call that does not wait then allocates nothing.
    static SPARES: RefCell<Vec<Arc<Shared>>> = const { RefCell::new(Vec::new()) };
}

/// A blank one, if this thread has any. At a thread's end there is none.
fn take_spare() -> Option<Arc<Shared>> {
    SPARES.try_with(|spares| spares.borrow_mut().pop()).ok().flatten()
}

fn keep_spare(shared: &Arc<Shared>) {
    // At a thread's end it is not kept.
    let _ = SPARES.try_with(|spares| {
        let mut spares = spares.borrow_mut();
        if spares.len() < SPARE {
            spares.push(Arc::clone(shared));
        }
    });
}

impl Drop for Core {
    /// The last to go blanks what was shared and leaves it to the next call. Where two go at once neither may see that
    /// it is the last, and then it is freed.
    #[inline]
    fn drop(&mut self) {
        if !self.is_shared() {
            self.leave_spare();
        }
    }
}

impl Core {
    #[inline(never)]
    fn leave_spare(&mut self) {
        if let Some(Shared { collectors, state }) = Arc::get_mut(&mut self.shared) {
            *collectors = Collectors::default();
            *state.get_mut() = State::default();
            keep_spare(&self.shared);
        }
    }
}
