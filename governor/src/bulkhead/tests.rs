use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Wake;

use super::*;
use crate::waiters::{GRACE, Priority};

#[derive(Default)]
struct Wakes(AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

struct Asker {
    place: Place,
    wakes: Arc<Wakes>,
}

impl Asker {
    fn new() -> Self {
        Asker { place: Place::next(Priority::Normal), wakes: Arc::default() }
    }

    fn ask(&self, bulkhead: &Arc<Bulkhead>, now: Timestamp) -> Option<Slot> {
        bulkhead.ask(self.place, now, &Waker::from(Arc::clone(&self.wakes)))
    }

    fn wakes(&self) -> usize {
        self.wakes.0.load(Ordering::SeqCst)
    }
}

fn bulkhead(cap: usize) -> Arc<Bulkhead> {
    Arc::new(Bulkhead::new(NonZeroUsize::new(cap).unwrap()))
}

const NOW: Timestamp = Timestamp::ZERO;

#[test]
fn holds_no_more_than_its_cap_and_wakes_the_first_in_line_when_one_returns() {
    let bulkhead = bulkhead(2);
    let askers: Vec<Asker> = (0..4).map(|_| Asker::new()).collect();
    let slots: Vec<Slot> = askers.iter().filter_map(|asker| asker.ask(&bulkhead, NOW)).collect();
    assert_eq!((slots.len(), bulkhead.in_use(), bulkhead.waiting()), (2, 2, 2));
    drop(slots);
    assert!(askers[2].wakes() > 0);
    assert!(askers[3].ask(&bulkhead, NOW).is_none(), "the first in line goes first");
    let third = askers[2].ask(&bulkhead, NOW);
    assert!(third.is_some());
    assert!(askers[3].wakes() > 0, "the second free slot is offered on");
    assert!(askers[3].ask(&bulkhead, NOW).is_some());
}

#[test]
fn one_that_leaves_the_line_passes_its_wake_on() {
    let bulkhead = bulkhead(1);
    let (holder, first, second) = (Asker::new(), Asker::new(), Asker::new());
    let slot = holder.ask(&bulkhead, NOW);
    assert!(first.ask(&bulkhead, NOW).is_none() && second.ask(&bulkhead, NOW).is_none());
    drop(slot);
    assert_eq!((first.wakes(), second.wakes()), (1, 0));
    bulkhead.leave(first.place);
    assert_eq!(second.wakes(), 1);
    assert!(second.ask(&bulkhead, NOW).is_some());
}

#[test]
fn a_first_in_line_that_is_never_polled_does_not_hold_the_rest() {
    let bulkhead = bulkhead(1);
    let (holder, stuck, second) = (Asker::new(), Asker::new(), Asker::new());
    let slot = holder.ask(&bulkhead, NOW);
    assert!(stuck.ask(&bulkhead, NOW).is_none() && second.ask(&bulkhead, NOW).is_none());
    drop(slot);
    let later = NOW + RECHECK + GRACE;
    assert!(second.ask(&bulkhead, later).is_none(), "the first may still come");
    let slot = second.ask(&bulkhead, later + std::time::Duration::from_nanos(1));
    assert!(slot.is_some());
    let third = Asker::new();
    assert!(third.ask(&bulkhead, later).is_none());
    assert!(stuck.ask(&bulkhead, later).is_none());
    drop(slot);
    assert!(third.ask(&bulkhead, later).is_none(), "the one that came back has its old place");
    assert!(stuck.ask(&bulkhead, later).is_some());
}

#[test]
fn a_lowered_cap_is_paid_off_by_returns() {
    let bulkhead = bulkhead(3);
    let mut slots: Vec<Slot> = (0..3).filter_map(|_| Asker::new().ask(&bulkhead, NOW)).collect();
    assert!(bulkhead.resize(NonZeroUsize::MIN).is_none());
    let waiting = Asker::new();
    for _ in 0..2 {
        slots.pop();
        assert!(waiting.ask(&bulkhead, NOW).is_none());
    }
    slots.pop();
    assert!(waiting.ask(&bulkhead, NOW).is_some());
}

#[test]
fn a_raised_cap_wakes_the_line() {
    let bulkhead = bulkhead(1);
    let _slot = Asker::new().ask(&bulkhead, NOW);
    let waiting = Asker::new();
    assert!(waiting.ask(&bulkhead, NOW).is_none());
    bulkhead.resize(NonZeroUsize::new(2).unwrap()).unwrap().wake();
    assert_eq!(waiting.wakes(), 1);
}

#[test]
fn a_call_that_began_earlier_goes_first_also_where_it_begins_to_wait_later() {
    let bulkhead = bulkhead(1);
    let held = Asker::new().ask(&bulkhead, NOW).unwrap();
    let [later, earlier] = [2, 1].map(|begun| {
        let place = Place::next(Priority::Normal).since(Timestamp::from_nanos(begun));
        Asker { place, wakes: Arc::default() }
    });
    assert!(later.ask(&bulkhead, NOW).is_none() && earlier.ask(&bulkhead, NOW).is_none());
    drop(held);
    assert_eq!((later.wakes(), earlier.wakes()), (0, 1));
    assert!(later.ask(&bulkhead, NOW).is_none() && earlier.ask(&bulkhead, NOW).is_some());
}
