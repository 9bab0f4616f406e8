//! Time, passed in.
//!
//! Control parts never read a clock: every one of their methods takes a [`Timestamp`]. The driver reads one
//! [`Clock`], the governor's, and is the only code that waits on it. [`SystemClock`] follows Tokio's clock, a
//! paused one included; [`FakeClock`] moves only when a test says so, for async and blocking callers alike.

use std::fmt;
use std::future::Future;
use std::ops::Add;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::thread::Thread;
use std::time::{Duration, Instant};

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// A monotone point in time: nanoseconds since its clock's origin.
///
/// Sums saturate at [`Timestamp::MAX`], about 584 years, so no header or setting can overflow one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(u64);

impl Timestamp {
    /// The clock's origin.
    pub const ZERO: Timestamp = Timestamp(0);
    /// Later than anything that happens: "never".
    pub const MAX: Timestamp = Timestamp(u64::MAX);

    /// The point `nanos` nanoseconds after the clock's origin.
    pub const fn from_nanos(nanos: u64) -> Self {
        Timestamp(nanos)
    }

    /// Nanoseconds since the clock's origin.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// How long after `earlier` this is; zero if it is not after it.
    pub fn since(self, earlier: Timestamp) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    /// How long from `now` until this; zero if it has passed.
    pub fn until(self, now: Timestamp) -> Duration {
        self.since(now)
    }
}

impl Add<Duration> for Timestamp {
    type Output = Timestamp;

    fn add(self, duration: Duration) -> Timestamp {
        let nanos = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        Timestamp(self.0.saturating_add(nanos))
    }
}

/// A future that a [`Clock`] completes.
pub type Sleep = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Where a governor takes its time from.
///
/// An implementation must be monotone; a step back is tolerated (no control part mints tokens from one) but
/// delays whatever waits.
pub trait Clock: fmt::Debug + Send + Sync + 'static {
    /// The current time.
    fn now(&self) -> Timestamp;

    /// Completes once `until` has come. Dropping the future leaves nothing behind.
    fn sleep_until(&self, until: Timestamp) -> Sleep;

    /// Blocks this thread until `until` has come or the thread is unparked; may return early.
    fn park_until(&self, until: Timestamp);
}

/// The system's monotone clock, read through Tokio so that a runtime with a paused clock is obeyed.
///
/// Its async sleeps are the runtime's timers, whose time driver has to be enabled, as the cloud SDKs want it too. On an
/// executor that is not Tokio's, each sleep takes a thread while it lasts.
#[derive(Debug, Clone)]
pub struct SystemClock {
    origin: tokio::time::Instant,
}

impl SystemClock {
    /// A clock whose origin is now.
    pub fn new() -> Self {
        SystemClock { origin: tokio::time::Instant::now() }
    }

    fn instant(&self, at: Timestamp) -> tokio::time::Instant {
        // An instant too far to represent is as good as never: Tokio's own horizon is thirty years.
        const FAR: Duration = Duration::from_secs(86_400 * 365 * 30);
        let offset = Duration::from_nanos(at.as_nanos()).min(FAR);
        self.origin.checked_add(offset).unwrap_or(self.origin)
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        SystemClock::new()
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::ZERO + tokio::time::Instant::now().saturating_duration_since(self.origin)
    }

    fn sleep_until(&self, until: Timestamp) -> Sleep {
        match tokio::runtime::Handle::try_current() {
            Ok(_) => Box::pin(tokio::time::sleep_until(self.instant(until))),
            Err(_) => Box::pin(ThreadSleep::new(self.instant(until).into_std())),
        }
    }

    fn park_until(&self, until: Timestamp) {
        let wait = until.until(self.now());
        if !wait.is_zero() {
            std::thread::park_timeout(wait);
        }
    }
}

/// A sleep without a runtime: a thread of its own wakes it, and ends when it is dropped.
struct ThreadSleep {
    until: Instant,
    sleeper: Option<Arc<Sleeping>>,
}

struct Sleeping {
    waker: Mutex<Option<Waker>>,
    thread: OnceLock<Thread>,
}

impl ThreadSleep {
    fn new(until: Instant) -> Self {
        ThreadSleep { until, sleeper: None }
    }
}

impl Future for ThreadSleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if Instant::now() >= self.until {
            return Poll::Ready(());
        }
        let waker = Some(cx.waker().clone());
        match &self.sleeper {
            Some(sleeping) => *lock(&sleeping.waker) = waker,
            None => {
                let sleeping = Arc::new(Sleeping { waker: Mutex::new(waker), thread: OnceLock::new() });
                let until = self.until;
                let shared = Arc::clone(&sleeping);
                let spawned =
                    std::thread::Builder::new().name("governor-sleep".into()).spawn(move || shared.run(until));
                match spawned {
                    Ok(handle) => drop(sleeping.thread.set(handle.thread().clone())),
                    // No thread to be had: keep asking, which is slow but ends.
                    Err(_) => cx.waker().wake_by_ref(),
                }
                self.sleeper = Some(sleeping);
            }
        }
        Poll::Pending
    }
}

impl Sleeping {
    fn run(&self, until: Instant) {
        // No waker: the sleep was dropped.
        while lock(&self.waker).is_some() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            std::thread::park_timeout(left);
        }
        let waker = lock(&self.waker).take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl Drop for ThreadSleep {
    fn drop(&mut self) {
        if let Some(sleeping) = &self.sleeper {
            *lock(&sleeping.waker) = None;
            if let Some(thread) = sleeping.thread.get() {
                thread.unpark();
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

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
    sleepers: Vec<Sleeper>,
    parked: Vec<(Timestamp, Thread)>,
}

struct Sleeper {
    id: u64,
    until: Timestamp,
    waker: Waker,
}

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
            let (due, rest): (Vec<_>, Vec<_>) =
                std::mem::take(&mut state.sleepers).into_iter().partition(|sleeper| sleeper.until <= now);
            state.sleepers = rest;
            let (due_threads, parked): (Vec<_>, Vec<_>) =
                std::mem::take(&mut state.parked).into_iter().partition(|(until, _)| *until <= now);
            state.parked = parked;
            (due, due_threads)
        };
        wakers.into_iter().for_each(|sleeper| sleeper.waker.wake());
        threads.into_iter().for_each(|(_, thread)| thread.unpark());
    }

    /// Moves time to the earliest moment that anything waits for and wakes it; false if nothing waits.
    pub fn advance_to_next(&self) -> bool {
        let (now, next) = {
            let state = self.lock();
            let sleeping = state.sleepers.iter().map(|sleeper| sleeper.until);
            let parked = state.parked.iter().map(|(until, _)| *until);
            (state.now, sleeping.chain(parked).min())
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
    fn remove(&self, id: Option<u64>) {
        let Some(id) = id else { return };
        let removed = {
            let mut state = self.lock();
            let index = state.sleepers.iter().position(|sleeper| sleeper.id == id);
            index.map(|index| state.sleepers.swap_remove(index))
        };
        drop(removed);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, FakeState> {
        lock(&self.state)
    }
}

impl fmt::Debug for FakeClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FakeClock").field("now", &self.now()).field("waiting", &self.waiting()).finish()
    }
}

impl Clock for FakeClock {
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
    id: Option<u64>,
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
        let id = state.next_sleeper;
        state.sleepers.push(Sleeper { id, until: self.until, waker: cx.waker().clone() });
        self.id = Some(id);
        Poll::Pending
    }
}

impl Drop for FakeSleep {
    fn drop(&mut self) {
        self.clock.remove(self.id.take());
    }
}
