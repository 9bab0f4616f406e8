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
/// among ten thousand.
#[derive(Debug)]
pub(crate) struct Store {
    /// The clock of the leases, if nothing else ends a journey whose outcome never comes.
    clock: Option<Arc<dyn Clock>>,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    parked: BTreeMap<(Instant, u64), Parked>,
    number: u64,
    /// No journey's start is known less precisely than this.
    widest: Duration,
    /// No lease ends before this.
    first_end: Option<Timestamp>,
    is_closed: bool,
}

/// A journey that waits for a hook.
#[derive(Debug)]
pub(crate) struct Parked {
    pub(crate) journey: Journey,
    pub(crate) stage: Stage,
    lease_ends: Option<Timestamp>,
}

/// Where a journey waits.
#[derive(Debug)]
pub(crate) enum Stage {
    /// For the outcome of an attempt.
    InFlight(Attempt),
    /// For the next attempt.
    Between,
}

impl Parked {
    /// The rank of one that waits for its next attempt.
    pub(crate) fn if_between(&self) -> Option<u32> {
        matches!(self.stage, Stage::Between).then_some(0)
    }

    /// The rank of one that waits for the outcome of its attempt; if the number of the attempt is known, by that.
    pub(crate) fn if_in_flight(&self, number: Option<u32>) -> Option<u32> {
        match &self.stage {
            Stage::InFlight(attempt) => Some(number.map_or(0, |number| number.abs_diff(attempt.number()))),
            Stage::Between => None,
        }
    }
}

impl Store {
    /// For calls that nothing but a lease ends.
    pub(crate) fn leased(clock: Arc<dyn Clock>) -> Self {
        Store { clock: Some(clock), inner: Mutex::default() }
    }

    /// For calls that end with what holds the store.
    pub(crate) fn unleased() -> Self {
        Store { clock: None, inner: Mutex::default() }
    }

    /// Whether its leases go by this clock.
    pub(crate) fn goes_by(&self, clock: &Arc<dyn Clock>) -> bool {
        self.clock.as_ref().is_some_and(|own| Arc::ptr_eq(own, clock))
    }

    pub(crate) fn park(&self, journey: Journey, stage: Stage, lease: Duration) {
        let lease_ends = self.clock.as_ref().map(|clock| clock.now() + lease);
        let refused = self.lock().park(Parked { journey, stage, lease_ends });
        drop(refused);
        self.sweep();
    }

    /// The journey of this client's request that is wanted most: `rank` says of each how far it is from what is looked
    /// for, if it is that at all. Of several that are equally near, as there may be without a recorder, it is the one that
    /// has waited longest.
    pub(crate) fn take(
        &self,
        client: &Arc<Client>,
        request: &Request,
        rank: impl Fn(&Parked) -> Option<u32>,
    ) -> Option<Parked> {
        let found = {
            let mut inner = self.lock();
            request.recognised(|is_it| {
                inner.take(request, |parked| {
                    let rank = rank(parked)?;
                    (parked.journey.is_of(client) && is_it(&parked.journey.request)).then_some(rank)
                })
            })
        };
        self.sweep();
        found
    }

    /// Ends the journeys whose lease has ended.
    pub(crate) fn sweep(&self) {
        if let Some(clock) = &self.clock {
            let now = clock.now();
            let overdue = self.lock().overdue(now);
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
        self.first_end = self.first_end.into_iter().chain(parked.lease_ends).min();
        // Without a recorder, who has waited longest comes first.
        let start = if parked.journey.request.recorder.is_some() { earliest } else { Instant::now() };
        self.number += 1;
        self.parked.insert((start, self.number), parked)
    }

    fn take(&mut self, request: &Request, rank: impl Fn(&Parked) -> Option<u32>) -> Option<Parked> {
        // Without a recorder any age may be its.
        let (from, to) = match request.recorder {
            None => (Bound::Unbounded, Bound::Unbounded),
            Some(_) => {
                let from = request.earliest.checked_sub(self.widest).map(|from| (from, 0));
                (from.map_or(Bound::Unbounded, Bound::Included), Bound::Included((request.latest, u64::MAX)))
            }
        };
        let mut nearest: Option<(u32, (Instant, u64))> = None;
        for (key, parked) in self.parked.range((from, to)) {
            let Some(rank) = rank(parked) else { continue };
            if nearest.is_none_or(|(nearest, _)| rank < nearest) {
                nearest = Some((rank, *key));
            }
            if rank == 0 {
                break;
            }
        }
        self.parked.remove(&nearest?.1)
    }

    fn overdue(&mut self, now: Timestamp) -> Vec<Parked> {
        if self.first_end.is_none_or(|end| now < end) {
            return Vec::new();
        }
        let is_overdue = |_: &_, parked: &mut Parked| parked.lease_ends.is_some_and(|end| end <= now);
        let overdue = self.parked.extract_if(.., is_overdue).map(|(_, parked)| parked).collect();
        self.first_end = self.parked.values().filter_map(|parked| parked.lease_ends).min();
        overdue
    }
}

#[cfg(test)]
mod tests;
