//! The clock of production.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Waker};
use std::thread::Thread;
use std::time::{Duration, Instant};

use super::{Clock, Sleep, Timestamp};
use crate::sync::Mutex;

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
        let elapsed = tokio::time::Instant::now().saturating_duration_since(self.origin);
        // Not saturating, as every call comes through here and no process lasts for 584 years.
        let nanos = elapsed.as_secs().wrapping_mul(1_000_000_000).wrapping_add(u64::from(elapsed.subsec_nanos()));
        Timestamp::from_nanos(nanos)
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
            Some(sleeping) => *sleeping.waker.lock() = waker,
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
        while self.waker.lock().is_some() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            std::thread::park_timeout(left);
        }
        let waker = self.waker.lock().take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl Drop for ThreadSleep {
    fn drop(&mut self) {
        if let Some(sleeping) = &self.sleeper {
            *sleeping.waker.lock() = None;
            if let Some(thread) = sleeping.thread.get() {
                thread.unpark();
            }
        }
    }
}
