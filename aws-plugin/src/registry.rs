//! Where the observer finds the operation that a request belongs to: by invocation id, process-wide.
//!
//! Running operations are held weakly: their config bag owns them. Operations that no config bag can own (S3
//! Express, credentials of an operation's own) are parked here between attempts, for a while, and not without bound.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use crate::operation::Operation;

/// How long a parked operation is kept. The SDK comes again within milliseconds, or, obeying `x-amz-retry-after`,
/// within some five seconds. It sleeps by itself: no governor's clock says how long that was, and operations of several
/// governors are parked here.
const KEPT_FOR: Duration = Duration::from_secs(10);

/// How many operations are parked at most; the longest parked goes first.
const MOST_PARKED: usize = 1024;

pub(crate) static REGISTRY: LazyLock<Registry> = LazyLock::new(Registry::default);

/// Operations by invocation id.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    entries: Mutex<Entries>,
}

#[derive(Debug, Default)]
struct Entries {
    running: HashMap<String, Weak<Operation>>,
    parked: VecDeque<Parked>,
}

#[derive(Debug)]
struct Parked {
    operation: Arc<Operation>,
    since: Instant,
}

impl Registry {
    fn lock(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes an operation known; false if another one that is running has the same id.
    pub(crate) fn register(&self, operation: &Arc<Operation>) -> bool {
        let Some(key) = operation.key() else { return false };
        let mut entries = self.lock();
        let stale = entries.stale(Instant::now());
        let is_free = entries.running.get(key).is_none_or(|other| other.strong_count() == 0);
        if is_free {
            entries.running.insert(key.to_owned(), Arc::downgrade(operation));
        }
        drop(entries);
        // Dropping an operation asks the registry to forget it.
        drop(stale);
        is_free
    }

    /// The running operation with this id.
    pub(crate) fn find(&self, key: &str) -> Option<Arc<Operation>> {
        self.lock().running.get(key).and_then(Weak::upgrade)
    }

    /// Keeps an operation until it is asked for again.
    pub(crate) fn park(&self, operation: Arc<Operation>) {
        let mut entries = self.lock();
        let now = Instant::now();
        entries.parked.push_back(Parked { operation, since: now });
        let stale = entries.stale(now);
        drop(entries);
        drop(stale);
    }

    /// The parked operation with this id, which is no longer parked then.
    pub(crate) fn unpark(&self, key: &str) -> Option<Arc<Operation>> {
        let mut entries = self.lock();
        let at = entries.parked.iter().position(|parked| parked.operation.key() == Some(key))?;
        entries.parked.remove(at).map(|parked| parked.operation)
    }

    /// Forgets an operation that is gone.
    pub(crate) fn forget(&self, key: &str) {
        let mut entries = self.lock();
        if entries.running.get(key).is_some_and(|operation| operation.strong_count() == 0) {
            entries.running.remove(key);
        }
    }
}

impl Entries {
    /// Takes out what has been parked for too long, and what is too many.
    fn stale(&mut self, now: Instant) -> Vec<Parked> {
        let too_old = self.parked.iter().take_while(|parked| now.duration_since(parked.since) >= KEPT_FOR).count();
        let too_many = self.parked.len().saturating_sub(MOST_PARKED);
        self.parked.drain(..too_old.max(too_many)).collect()
    }
}

#[cfg(test)]
mod tests;
