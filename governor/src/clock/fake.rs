//! The clock of tests.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::thread::Thread;
use std::time::{Duration, SystemTime};

use super::{Clock, Sleep, Timestamp};
use crate::sync::{Mutex, MutexGuard};

/// A clock that stands still until told to move, for tests of code that is governed.
///
/// Clones share one time. Async sleepers and parked threads are both woken by [`advance`](FakeClock::advance).
///
/// ```
/// use cloud_governor::{Clock, FakeClock};
/// use std::time::Duration;
///
/// let clock = FakeClock::new();
/// let before = clock.now();
/// clock.advance(Duration::from_secs(5));
/// assert_eq!(clock.now().since(before), Duration::from_secs(5));
/// ```
#[derive(Clone, Default)]
pub struct FakeClock {
    state: Arc<Mutex<FakeState>>,
}

#[derive(Default)]
struct FakeState {
    now: Timestamp,
    next_sleeper: u64,
    /// By the time they sleep until, then in the order in which they began: the order in which they are woken.
    sleepers: BTreeMap<SleeperId, Waker>,
    parked: Vec<(Timestamp, Thread)>,
}

type SleeperId = (Timestamp, u64);

impl FakeClock {
    /// A clock that stands at its origin.
    pub fn new() -> Self {
        FakeClock::default()
    }

    /// Moves time forward and wakes everything that has become due.
    pub fn advance(&self, by: Duration) {
        let (wakers, threads) = {
            let mut state = self.lock();
            state.now = state.now + by;
            let now = state.now;
            let later = state.sleepers.split_off(&(now, u64::MAX));
            let due = std::mem::replace(&mut state.sleepers, later);
            let (due_threads, parked): (Vec<_>, Vec<_>) =
                std::mem::take(&mut state.parked).into_iter().partition(|(until, _)| *until <= now);
            state.parked = parked;
            (due, due_threads)
        };
        wakers.into_values().for_each(Waker::wake);
        threads.into_iter().for_each(|(_, thread)| thread.unpark());
    }

    /// Moves time to the earliest moment that anything waits for and wakes it; false if nothing waits.
    pub fn advance_to_next(&self) -> bool {
        let (now, next) = {
            let state = self.lock();
            let sleeping = state.sleepers.keys().next().map(|(until, _)| *until);
            let parked = state.parked.iter().map(|(until, _)| *until);
            (state.now, parked.chain(sleeping).min())
        };
        match next {
            Some(next) => {
                self.advance(next.until(now));
                true
            }
            None => false,
        }
    }

    /// How many async sleepers and parked threads wait for this clock.
    pub fn waiting(&self) -> usize {
        let state = self.lock();
        state.sleepers.len() + state.parked.len()
    }

    /// Forgets a sleeper. Its waker is dropped without the lock: it may be all that keeps a task, whose own sleeps are
    /// then dropped too.
    fn remove(&self, id: Option<SleeperId>) {
        let Some(id) = id else { return };
        let removed = self.lock().sleepers.remove(&id);
        drop(removed);
    }

    fn lock(&self) -> MutexGuard<'_, FakeState> {
        self.state.lock()
    }
}

impl fmt::Debug for FakeClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FakeClock").field("now", &self.now()).field("waiting", &self.waiting()).finish()
    }
}

impl Clock for FakeClock {
    /// Its origin is at a full minute.
    fn time_of_day(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_nanos(self.now().as_nanos())
    }

    fn now(&self) -> Timestamp {
        self.lock().now
    }

    fn sleep_until(&self, until: Timestamp) -> Sleep {
        Box::pin(FakeSleep { clock: self.clone(), until, id: None })
    }

    fn park_until(&self, until: Timestamp) {
        let me = std::thread::current();
        let id = me.id();
        {
            let mut state = self.lock();
            if state.now >= until {
                return;
            }
            state.parked.push((until, me));
        }
        std::thread::park();
        self.lock().parked.retain(|(_, thread)| thread.id() != id);
    }
}

struct FakeSleep {
    clock: FakeClock,
    until: Timestamp,
    id: Option<SleeperId>,
}

impl Future for FakeSleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let clock = self.clock.clone();
        clock.remove(self.id.take());
        let mut state = clock.lock();
        if state.now >= self.until {
            return Poll::Ready(());
        }
        state.next_sleeper += 1;
        let id = (self.until, state.next_sleeper);
        state.sleepers.insert(id, cx.waker().clone());
        self.id = Some(id);
        Poll::Pending
    }
}

impl Drop for FakeSleep {
    fn drop(&mut self) {
        self.clock.remove(self.id.take());
    }
}
