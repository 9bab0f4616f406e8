//! Where journeys are between two hooks.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cloud_governor::{Attempt, Clock, Timestamp};
use tokio::task;
use tokio::time::Instant;

use crate::client::Client;
use crate::journey::{Journey, Request};

/// The journeys of one [`call`](crate::call()), or of all that is called outside of one.
///
/// They lie in the order in which their requests began, so that the one of a recorder is found by the recorder's age
/// among ten thousand.
#[derive(Debug)]
pub(crate) struct Store {
    /// The clock of the governors whose calls are here, of those outside.
    clock: Option<Arc<dyn Clock>>,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    parked: HashMap<Lane, BTreeMap<(Instant, u64), Parked>>,
    number: u64,
    /// No journey's start is known less precisely than this.
    widest: Duration,
    /// By each clock, no lease ends before this.
    first_ends: Vec<(Arc<dyn Clock>, Timestamp)>,
    is_closed: bool,
}

/// Where a request's journeys lie: one without a recorder is its task's.
type Lane = Option<Option<task::Id>>;

/// A journey that waits for a hook.
#[derive(Debug)]
pub(crate) struct Parked {
    pub(crate) journey: Journey,
    pub(crate) stage: Stage,
    /// By the clock of the journey's governor.
    lease_ends: Timestamp,
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
    /// For calls outside of any, of the governors that go by this clock.
    pub(crate) fn outside(clock: Arc<dyn Clock>) -> Self {
        Store { clock: Some(clock), inner: Mutex::default() }
    }

    /// For calls that end with what holds the store, if they have not before.
    pub(crate) fn inside() -> Self {
        Store { clock: None, inner: Mutex::default() }
    }

    /// Whether the calls outside are here of governors that go by this clock.
    pub(crate) fn goes_by(&self, clock: &Arc<dyn Clock>) -> bool {
        self.clock.as_ref().is_some_and(|own| Arc::ptr_eq(own, clock))
    }

    pub(crate) fn park(&self, journey: Journey, stage: Stage, lease: Duration) {
        let lease_ends = journey.clock().now() + lease;
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
        let overdue = self.lock().overdue();
        drop(overdue);
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

    /// How many journeys are here.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.lock().parked.values().map(BTreeMap::len).sum()
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
        note_end(&mut self.first_ends, &parked);
        // Without a recorder, who has waited longest comes first.
        let start = if parked.journey.request.recorder.is_some() { earliest } else { Instant::now() };
        self.number += 1;
        let lane = parked.journey.request.lane();
        self.parked.entry(lane).or_default().insert((start, self.number), parked)
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
        let lane = request.lane();
        let parked = self.parked.get_mut(&lane)?;
        let mut nearest: Option<(u32, (Instant, u64))> = None;
        for (key, parked) in parked.range((from, to)) {
            let Some(rank) = rank(parked) else { continue };
            if nearest.is_none_or(|(nearest, _)| rank < nearest) {
                nearest = Some((rank, *key));
            }
            if rank == 0 {
                break;
            }
        }
        let found = parked.remove(&nearest?.1);
        if parked.is_empty() {
            self.parked.remove(&lane);
        }
        found
    }

    fn overdue(&mut self) -> Vec<Parked> {
        if self.first_ends.iter().all(|(clock, end)| clock.now() < *end) {
            return Vec::new();
        }
        let mut overdue = Vec::new();
        for lane in self.parked.values_mut() {
            let ended = lane.extract_if(.., |_, parked| parked.lease_ends <= parked.journey.clock().now());
            overdue.extend(ended.map(|(_, parked)| parked));
        }
        self.parked.retain(|_, lane| !lane.is_empty());
        self.first_ends.clear();
        for parked in self.parked.values().flat_map(BTreeMap::values) {
            note_end(&mut self.first_ends, parked);
        }
        overdue
    }
}

fn note_end(first_ends: &mut Vec<(Arc<dyn Clock>, Timestamp)>, parked: &Parked) {
    let (clock, end) = (parked.journey.clock(), parked.lease_ends);
    match first_ends.iter_mut().find(|(known, _)| Arc::ptr_eq(known, clock)) {
        Some((_, first)) => *first = end.min(*first),
        None => first_ends.push((Arc::clone(clock), end)),
    }
}

#[cfg(test)]
mod tests;
