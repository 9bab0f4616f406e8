//! The bulkhead: how many attempts of one account may be in flight at once.
//!
//! First come, first served, for async tasks and blocking threads from one list. Nobody is handed a slot while
//! away: a freed slot wakes the first in line, who asks again. A lowered cap is paid off by returns.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::task::Waker;

use crate::clock::Timestamp;
use crate::sync::Mutex;
use crate::waiters::{Place, RECHECK, WaitList, Waiter, wake};

#[derive(Debug)]
pub(crate) struct Bulkhead {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    cap: usize,
    in_use: usize,
    waiters: WaitList,
}

/// One attempt's slot; dropping it frees the slot.
#[derive(Debug)]
pub(crate) struct Slot(Arc<Bulkhead>);

impl State {
    fn has_room(&self) -> bool {
        self.in_use < self.cap
    }

    /// Whoever should ask now that something changed. Their time to ask is not brought forward: a waiter here never
    /// promises more than [`RECHECK`] ahead.
    fn first_if_room(&mut self) -> Option<Waker> {
        if self.has_room() { self.waiters.call_first(Timestamp::MAX) } else { None }
    }
}

impl Bulkhead {
    pub(crate) fn new(cap: NonZeroUsize) -> Self {
        Bulkhead { state: Mutex::new(State { cap: cap.get(), in_use: 0, waiters: WaitList::default() }) }
    }

    /// Takes a slot if there is one and nobody present stands before `place`; otherwise `place` is in line and
    /// `waker` is called when it is worth asking again.
    pub(crate) fn ask(self: &Arc<Self>, place: Place, now: Timestamp, waker: &Waker) -> Option<Slot> {
        let (slot, next, spent) = {
            let mut state = self.state.lock();
            let (slot, next) = if state.has_room() && state.waiters.is_turn(place, now) {
                state.waiters.remove(place);
                state.in_use += 1;
                // More than one slot may have come free before the first in line asked.
                (Some(Slot(Arc::clone(self))), state.first_if_room())
            } else {
                let waiter = Waiter {
                    waker: waker.clone(),
                    asks_by: now + RECHECK,
                    cost: 1.0,
                    deadline: None,
                    ready_at: Timestamp::MAX,
                };
                state.waiters.put(place, waiter);
                (None, None)
            };
            (slot, next, state.waiters.take_spent())
        };
        drop(spent);
        wake(next);
        slot
    }

    /// `place` no longer waits.
    pub(crate) fn leave(&self, place: Place) {
        let (next, spent) = {
            let mut state = self.state.lock();
            let next = state.waiters.remove(place).and_then(|_| state.first_if_room());
            (next, state.waiters.take_spent())
        };
        drop(spent);
        wake(next);
    }

    /// A new cap. What is in flight above it stays in flight. Whom to wake is the caller's to do, once it holds no
    /// lock either.
    #[must_use]
    pub(crate) fn resize(&self, cap: NonZeroUsize) -> Option<Waker> {
        let mut state = self.state.lock();
        state.cap = cap.get();
        state.first_if_room()
    }

    /// Makes everyone ask again.
    pub(crate) fn wake_all(&self) {
        let wakers = self.state.lock().waiters.wakers();
        wake(wakers);
    }

    pub(crate) fn in_use(&self) -> usize {
        self.state.lock().in_use
    }

    pub(crate) fn cap(&self) -> usize {
        self.state.lock().cap
    }

    pub(crate) fn waiting(&self) -> usize {
        self.state.lock().waiters.len()
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let next = {
            let mut state = self.0.state.lock();
            state.in_use -= 1;
            state.first_if_room()
        };
        wake(next);
    }
}

#[cfg(test)]
mod tests;
