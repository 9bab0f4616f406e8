//! The bulkhead: how many attempts of one account may be in flight at once.
//!
//! First come, first served, for async tasks and blocking threads from one list. Nobody is handed a slot while
//! away: a freed slot wakes the first in line, who asks again. A lowered cap is paid off by returns.
//!
//! While nobody waits, a slot is taken and returned by one exchange on one word, [`Slots`], which also says whether
//! somebody waits; the line and its lock are touched only then.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::task::Waker;

use crate::clock::Timestamp;
use crate::sync::{AtomicU64, Mutex, Ordering};
use crate::waiters::{Place, RECHECK, Turn, WaitList, Waiter, wake};

#[derive(Debug)]
pub(crate) struct Bulkhead {
    slots: Slots,
    line: Mutex<WaitList>,
}

/// One attempt's slot; dropping it frees the slot.
#[derive(Debug)]
pub(crate) struct Slot(Arc<Bulkhead>);

impl Bulkhead {
    pub(crate) fn new(cap: NonZeroUsize) -> Self {
        Bulkhead { slots: Slots::new(cap), line: Mutex::new(WaitList::default()) }
    }

    /// Takes a slot if there is one and nobody present stands before `place`; otherwise `place` is in line and
    /// `waker` is called when it is worth asking again.
    pub(crate) fn ask(self: &Arc<Self>, place: Place, now: Timestamp, waker: &Waker) -> Option<Slot> {
        self.take_at_once().or_else(|| self.ask_in_line(place, now, waker).then(|| self.slot_taken()))
    }

    /// Takes a slot if there is one and nobody waits.
    #[inline]
    pub(crate) fn take_at_once(self: &Arc<Self>) -> Option<Slot> {
        self.take().then(|| self.slot_taken())
    }

    /// The same without a [`Slot`]: whoever it says true to is to [`give_back`](Self::give_back) the slot, or to have it
    /// [held](Self::slot_taken).
    #[inline]
    pub(crate) fn take(&self) -> bool {
        self.slots.take_unless_line()
    }

    /// Gives back what [`take`](Self::take) took.
    #[inline]
    pub(crate) fn give_back(&self) {
        if self.slots.give_back() {
            self.call_first_if_room();
        }
    }

    /// Holds what [`take`](Self::take) took.
    pub(crate) fn slot_taken(self: &Arc<Self>) -> Slot {
        Slot(Arc::clone(self))
    }

    fn ask_in_line(&self, place: Place, now: Timestamp, waker: &Waker) -> bool {
        let (taken, next, spent) = {
            let mut line = self.line.lock();
            let taken = self.slots.open_line() && line.is_turn(place, now) && self.slots.take();
            let next = if taken {
                line.remove(place);
                // More than one slot may have come free before the first in line asked.
                self.first_if_room(&mut line)
            } else {
                let waiter = Waiter {
                    waker: waker.clone(),
                    asks_by: now + RECHECK,
                    cost: 1.0,
                    deadline: None,
                    turn: Turn::at(Timestamp::MAX),
                };
                line.put(place, waiter);
                None
            };
            self.close_line_if_empty(&line);
            (taken, next, line.take_spent())
        };
        drop(spent);
        wake(next);
        taken
    }

    /// `place` no longer waits.
    pub(crate) fn leave(&self, place: Place) {
        if !self.slots.has_line() {
            return;
        }
        let (next, spent) = {
            let mut line = self.line.lock();
            let next = if line.remove(place) { self.first_if_room(&mut line) } else { None };
            self.close_line_if_empty(&line);
            (next, line.take_spent())
        };
        drop(spent);
        wake(next);
    }

    /// A new cap. What is in flight above it stays in flight. Whom to wake is the caller's to do, once it holds no
    /// lock either.
    #[must_use]
    pub(crate) fn resize(&self, cap: NonZeroUsize) -> Option<Waker> {
        let mut line = self.line.lock();
        self.slots.resize(cap);
        self.first_if_room(&mut line)
    }

    /// Makes everyone ask again.
    pub(crate) fn wake_all(&self) {
        wake(self.wakers());
    }

    /// Of everyone in line.
    #[must_use]
    pub(crate) fn wakers(&self) -> Vec<Waker> {
        self.line.lock().wakers()
    }

    pub(crate) fn in_use(&self) -> usize {
        self.slots.in_use()
    }

    pub(crate) fn cap(&self) -> usize {
        self.slots.cap()
    }

    pub(crate) fn waiting(&self) -> usize {
        self.line.lock().len()
    }

    /// Whoever should ask now that something changed. Their time to ask is not brought forward: a waiter here never
    /// promises more than [`RECHECK`] ahead.
    fn first_if_room(&self, line: &mut WaitList) -> Option<Waker> {
        if self.slots.has_room() { line.call_first(Timestamp::MAX) } else { None }
    }

    #[inline(never)]
    fn call_first_if_room(&self) {
        let next = self.first_if_room(&mut self.line.lock());
        wake(next);
    }

    fn close_line_if_empty(&self, line: &WaitList) {
        if line.is_empty() {
            self.slots.close_line();
        }
    }
}

impl Drop for Slot {
    #[inline]
    fn drop(&mut self) {
        self.0.give_back();
    }
}

// ===== the word =====

/// How many slots are taken (32 bits), how many there are (31 bits), and whether anyone is in line.
///
/// One word, so that its changes have one order: whoever joins the line sees the slots returned before, and whoever
/// returns a slot after that sees the line.
#[derive(Debug)]
struct Slots(AtomicU64);

/// While it is set, slots are taken under the line's lock only, and whoever returns one looks for whom to wake.
const LINE: u64 = 1 << 63;
const IN_USE: u64 = u32::MAX as u64;
const MOST: u64 = i32::MAX as u64;

fn room_in(word: u64) -> bool {
    (word & IN_USE) < cap_of(word)
}

fn cap_of(word: u64) -> u64 {
    (word & !LINE) >> 32
}

fn cap_bits(cap: NonZeroUsize) -> u64 {
    u64::try_from(cap.get()).unwrap_or(MOST).min(MOST) << 32
}

impl Slots {
    fn new(cap: NonZeroUsize) -> Self {
        Slots(AtomicU64::new(cap_bits(cap)))
    }

    /// Takes one, if there is one and nobody waits.
    fn take_unless_line(&self) -> bool {
        self.change(|word| (room_in(word) && word & LINE == 0).then_some(word + 1))
    }

    /// Takes one, if there is one. With the line's lock held.
    fn take(&self) -> bool {
        self.change(|word| room_in(word).then_some(word + 1))
    }

    /// Returns one. True if there is a line to look at.
    fn give_back(&self) -> bool {
        self.0.fetch_sub(1, Ordering::AcqRel) & LINE != 0
    }

    /// Says whether there is room: of what is returned from now on, the line is told.
    fn open_line(&self) -> bool {
        room_in(self.0.fetch_or(LINE, Ordering::AcqRel))
    }

    fn close_line(&self) {
        self.0.fetch_and(!LINE, Ordering::AcqRel);
    }

    /// Of one's own place in line: others may come and go meanwhile.
    fn has_line(&self) -> bool {
        self.0.load(Ordering::Relaxed) & LINE != 0
    }

    fn has_room(&self) -> bool {
        room_in(self.0.load(Ordering::Acquire))
    }

    fn resize(&self, cap: NonZeroUsize) {
        self.change(|word| Some(word & (LINE | IN_USE) | cap_bits(cap)));
    }

    fn in_use(&self) -> usize {
        (self.0.load(Ordering::Acquire) & IN_USE) as usize
    }

    fn cap(&self) -> usize {
        cap_of(self.0.load(Ordering::Acquire)) as usize
    }

    fn change(&self, change: impl FnMut(u64) -> Option<u64>) -> bool {
        self.0.fetch_update(Ordering::AcqRel, Ordering::Relaxed, change).is_ok()
    }
}

#[cfg(test)]
mod tests;
