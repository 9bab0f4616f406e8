//! Where journeys are between two hooks.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cloud_governor::{Attempt, Clock, Timestamp};
use tokio::time::Instant;

use crate::client::Client;
use crate::journey::{Journey, Request};

/// The journeys of one [`call`](crate::call()), or of all that is called outside of one.
///
/// They lie in the order in which their requests began, so that the one of a recorder is found by the recorder's age
/// among ten thousand, and without a recorder the oldest comes first.
#[derive(Debug)]
pub(crate) struct Store {
    /// Whether nothing else ends a journey whose outcome never comes.
    is_leased: bool,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    parked: BTreeMap<(Instant, u64), Parked>,
    number: u64,
    /// No journey's start is known less precisely than this.
    widest: Duration,
    /// The lease that ends first, or one that was as short.
    first_lease: Option<Lease>,
    is_closed: bool,
}

/// A journey that waits for a hook.
#[derive(Debug)]
pub(crate) struct Parked {
    pub(crate) journey: Journey,
    pub(crate) stage: Stage,
    lease: Option<Lease>,
}

/// Where a journey waits.
#[derive(Debug)]
pub(crate) enum Stage {
    /// For the outcome of an attempt.
    InFlight(Attempt),
    /// For the next attempt.
    Between,
}

#[derive(Debug, Clone)]
struct Lease {
    clock: Arc<dyn Clock>,
    ends: Timestamp,
}

impl Lease {
    fn left(&self) -> Duration {
        self.ends.until(self.clock.now())
    }
}

impl Store {
    /// For calls that nothing but a lease ends.
    pub(crate) fn leased() -> Self {
        Store { is_leased: true, inner: Mutex::default() }
    }

    /// For calls that end with what holds the store.
    pub(crate) fn unleased() -> Self {
        Store { is_leased: false, inner: Mutex::default() }
    }

    pub(crate) fn park(&self, journey: Journey, stage: Stage, lease: Duration) {
        let lease = self.is_leased.then(|| {
            let clock = Arc::clone(journey.clock());
            Lease { ends: clock.now() + lease, clock }
        });
        let parked = Parked { journey, stage, lease };
        let refused = self.lock().park(parked);
        drop(refused);
        self.sweep();
    }

    /// The oldest journey of this client's request at a stage that is wanted, and whether there are others that it may
    /// have been.
    pub(crate) fn take(
        &self,
        client: &Arc<Client>,
        request: &Request,
        wanted: impl Fn(&Parked) -> bool,
    ) -> Option<(Parked, bool)> {
        let found = self.lock().take(request, |parked| {
            parked.journey.client.is(client) && wanted(parked) && parked.journey.request.is(request)
        });
        self.sweep();
        found
    }

    /// Ends the journeys whose lease has ended.
    pub(crate) fn sweep(&self) {
        if self.is_leased {
            let overdue = self.lock().overdue();
            drop(overdue);
        }
    }

    /// Ends all journeys, and any that is yet to come.
    pub(crate) fn close(&self) {
        let ended = {
            let mut inner = self.lock();
            inner.is_closed = true;
            std::mem::take(&mut inner.parked)
        };
        drop(ended);
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// What these take out is dropped by the caller, without the lock: it wakes others.
impl Inner {
    fn park(&mut self, parked: Parked) -> Option<Parked> {
        if self.is_closed {
            return Some(parked);
        }
        let Request { earliest, latest, .. } = parked.journey.request;
        if self.parked.is_empty() {
            self.widest = Duration::ZERO;
        }
        self.widest = self.widest.max(latest.saturating_duration_since(earliest));
        if let Some(lease) = &parked.lease
            && self.first_lease.as_ref().is_none_or(|first| lease.left() < first.left())
        {
            self.first_lease = Some(lease.clone());
        }
        self.number += 1;
        self.parked.insert((earliest, self.number), parked)
    }

    fn take(&mut self, request: &Request, is_it: impl Fn(&Parked) -> bool) -> Option<(Parked, bool)> {
        // Without a recorder any age may be its.
        let (from, to) = match request.recorder {
            None => (Bound::Unbounded, Bound::Unbounded),
            Some(_) => {
                let from = request.earliest.checked_sub(self.widest).map(|from| (from, 0));
                (from.map_or(Bound::Unbounded, Bound::Included), Bound::Included((request.latest, u64::MAX)))
            }
        };
        let mut fitting = self.parked.range((from, to)).filter(|(_, parked)| is_it(parked)).map(|(key, _)| *key);
        let key = fitting.next()?;
        let is_one_of_several = request.recorder.is_none() && fitting.next().is_some();
        drop(fitting);
        self.parked.remove(&key).map(|parked| (parked, is_one_of_several))
    }

    fn overdue(&mut self) -> Vec<Parked> {
        if self.first_lease.as_ref().is_none_or(|lease| !lease.left().is_zero()) {
            return Vec::new();
        }
        let overdue = self.parked.extract_if(.., |_, parked| parked.lease.as_ref().is_some_and(|l| l.left().is_zero()));
        let overdue = overdue.map(|(_, parked)| parked).collect();
        let leases = self.parked.values().filter_map(|parked| parked.lease.as_ref());
        self.first_lease = leases.min_by_key(|lease| lease.left()).cloned();
        overdue
    }
}

#[cfg(test)]
mod tests;
