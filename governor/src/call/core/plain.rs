//! A call's first attempt where nothing is special: admitted at once, on its provider's terms.
//!
//! Most calls are that and no more. What is to be known of one is a few words, for which nobody takes the lock of its
//! [`State`]. Whoever asks for the state takes them over into it, once and for good.

use std::sync::Arc;

use crate::breaker::Pass;
use crate::bulkhead::Bulkhead;
use crate::call::Verdict;
use crate::call::state::{Current, State};
use crate::clock::Timestamp;
use crate::sync::{AtomicU64, Ordering};

/// Nothing was asked of it yet.
const NEW: u64 = 0;
/// Its attempt is under way, and has a slot.
const SENT: u64 = 1;
/// Its attempt was served.
const SERVED: u64 = 2;
/// The state has it.
const TAKEN_OVER: u64 = 3;

/// See the module.
#[derive(Debug)]
pub(in crate::call) struct Plain {
    step: AtomicU64,
    sent_at: AtomicU64,
    /// The generation of its pass.
    passed: AtomicU64,
}

impl Default for Plain {
    fn default() -> Self {
        Plain { step: AtomicU64::new(NEW), sent_at: AtomicU64::new(0), passed: AtomicU64::new(0) }
    }
}

impl Plain {
    /// Only the call's own admission takes it further from here.
    #[inline]
    pub(in crate::call) fn is_new(&self) -> bool {
        self.step.load(Ordering::Relaxed) == NEW
    }

    #[inline]
    pub(in crate::call) fn is_taken_over(&self) -> bool {
        self.step.load(Ordering::Relaxed) == TAKEN_OVER
    }

    /// Its attempt is sent, with this pass of a closed circuit and a slot that was taken.
    #[inline]
    pub(in crate::call) fn send(&self, now: Timestamp, pass: Pass) {
        self.sent_at.store(now.as_nanos(), Ordering::Relaxed);
        self.passed.store(pass.generation(), Ordering::Relaxed);
        self.step.store(SENT, Ordering::Release);
    }

    /// Its attempt is served: whoever is told the pass is to give the slot back. None if the state has it, or it was served.
    #[inline]
    pub(in crate::call) fn serve(&self) -> Option<Pass> {
        let served = self.step.compare_exchange(SENT, SERVED, Ordering::AcqRel, Ordering::Relaxed);
        served.is_ok().then(|| self.pass())
    }

    /// With the state locked: it has all there is from now on, the slot of this bulkhead included.
    #[inline]
    pub(in crate::call) fn take_over(&self, state: &mut State, bulkhead: &Arc<Bulkhead>) {
        if !self.is_taken_over() {
            self.fill(state, bulkhead);
        }
    }

    #[inline(never)]
    fn fill(&self, state: &mut State, bulkhead: &Arc<Bulkhead>) {
        let step = self.step.swap(TAKEN_OVER, Ordering::AcqRel);
        if step == NEW {
            return;
        }
        let sent_at = Timestamp::from_nanos(self.sent_at.load(Ordering::Relaxed));
        (state.begun, state.attempts) = (Some(sent_at), 1);
        if step == SERVED {
            state.verdict = Some(Verdict::Done);
        } else {
            let slot = Some(bulkhead.slot_taken());
            state.current = Some(Current { sent_at, slot, pass: Some(self.pass()), took: 1.0 });
        }
    }

    /// As new, for another call.
    #[inline]
    pub(in crate::call) fn blank(&self) {
        self.step.store(NEW, Ordering::Relaxed);
    }

    fn pass(&self) -> Pass {
        Pass::of_closed(self.passed.load(Ordering::Relaxed))
    }
}

#[cfg(all(test, cloud_governor_loom))]
mod models;
