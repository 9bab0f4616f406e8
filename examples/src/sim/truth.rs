//! What the server saw, and what would have been ideal. The client's own counters are checked against these.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::Serialize;

use super::{BucketKey, Draw, Leaf, Limit};

/// How one request ended, as the server sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// Answered with success.
    Answered,
    /// Refused by a bucket.
    Throttled,
    /// Struck by a planned fault: no answer, a failure, or a body cut short.
    Faulted,
    /// Answered with the service's own error, such as a resource that does not exist.
    Refused,
}

/// Counts of requests. Times are seconds since the server's start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Counts {
    /// All requests. The sum of the four below.
    pub requests: u64,
    /// Answered with success.
    pub answered: u64,
    /// Refused by a bucket.
    pub throttled: u64,
    /// Struck by a planned fault.
    pub faulted: u64,
    /// Answered with the service's own error.
    pub refused: u64,
    /// When the first request came.
    pub first_s: Option<f64>,
    /// When the last request came.
    pub last_s: Option<f64>,
}

impl Counts {
    fn record(&mut self, arrived: Duration, outcome: Outcome) {
        self.requests += 1;
        match outcome {
            Outcome::Answered => self.answered += 1,
            Outcome::Throttled => self.throttled += 1,
            Outcome::Faulted => self.faulted += 1,
            Outcome::Refused => self.refused += 1,
        }
        self.span(Some(arrived.as_secs_f64()), Some(arrived.as_secs_f64()));
    }

    pub(crate) fn add(&mut self, other: &Counts) {
        self.requests += other.requests;
        self.answered += other.answered;
        self.throttled += other.throttled;
        self.faulted += other.faulted;
        self.refused += other.refused;
        self.span(other.first_s, other.last_s);
    }

    fn span(&mut self, first: Option<f64>, last: Option<f64>) {
        self.first_s = [self.first_s, first].into_iter().flatten().reduce(f64::min);
        self.last_s = [self.last_s, last].into_iter().flatten().reduce(f64::max);
    }
}

/// The counts of one operation in one region of one account.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LeafCounts {
    /// Where the calls landed.
    #[serde(flatten)]
    pub leaf: Leaf,
    /// Their counts.
    #[serde(flatten)]
    pub counts: Counts,
}

/// Everything seen up to one moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct TruthSnapshot {
    /// All requests, those below that were nobody's included.
    pub totals: Counts,
    /// Requests the cloud did not recognise: unsigned, expired, or for an unknown operation.
    pub unrecognised: Counts,
    /// Requests being answered at this moment.
    pub concurrent: u64,
    /// The most requests that were being answered at one time.
    pub peak_concurrent: u64,
    /// Counts by `service.operation`, over all accounts and regions.
    pub actions: BTreeMap<String, Counts>,
    /// Counts by account, region, service and operation, in that order.
    pub leaves: Vec<LeafCounts>,
}

#[derive(Debug, Default)]
struct State {
    arrived: u64,
    concurrent: u64,
    peak_concurrent: u64,
    unrecognised: Counts,
    leaves: HashMap<Leaf, Counts>,
}

/// The server's counters. A request is counted once its body has come whole: a client that hangs up before that has
/// asked for nothing.
#[derive(Debug, Default)]
pub struct Truth {
    state: Mutex<State>,
}

/// One request's place among those being answered, until it is dropped.
#[derive(Debug)]
pub struct Seat {
    truth: Arc<Truth>,
    number: u64,
    arrived: Duration,
}

impl Seat {
    /// The request's number, counted from 1.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Counts the request. `leaf` is `None` for one that is nobody's.
    pub fn record(&self, leaf: Option<&Leaf>, outcome: Outcome) {
        let state = &mut *self.truth.lock();
        let counts = match leaf {
            Some(leaf) => state.leaves.entry(leaf.clone()).or_default(),
            None => &mut state.unrecognised,
        };
        counts.record(self.arrived, outcome);
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.truth.lock().concurrent -= 1;
    }
}

impl Truth {
    /// Seats a request that arrives at `now`, counted from the server's start.
    pub fn arrive(self: &Arc<Self>, now: Duration) -> Seat {
        let mut state = self.lock();
        state.arrived += 1;
        state.concurrent += 1;
        state.peak_concurrent = state.peak_concurrent.max(state.concurrent);
        Seat { truth: Arc::clone(self), number: state.arrived, arrived: now }
    }

    /// Everything seen so far.
    pub fn snapshot(&self) -> TruthSnapshot {
        let state = self.lock();
        let mut snapshot = TruthSnapshot {
            totals: state.unrecognised,
            unrecognised: state.unrecognised,
            concurrent: state.concurrent,
            peak_concurrent: state.peak_concurrent,
            ..TruthSnapshot::default()
        };
        for (leaf, counts) in &state.leaves {
            snapshot.totals.add(counts);
            snapshot.actions.entry(format!("{}.{}", leaf.service, leaf.operation)).or_default().add(counts);
            snapshot.leaves.push(LeafCounts { leaf: leaf.clone(), counts: *counts });
        }
        snapshot.leaves.sort_by(|a, b| a.leaf.cmp(&b.leaf));
        snapshot
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The least wall time in which the buckets can grant a job, and the bucket that sets it.
///
/// The greatest [`Limit::least_time`] over all buckets, each full at the start, with the server's start as the job's:
/// one that refills by the period may come sooner to a job that begins later. Latency, faults and the order in which
/// the job learns what to ask for are left out, so no client can be faster, and a perfect one comes close.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Ideal {
    /// Seconds.
    pub seconds: f64,
    /// The bucket that takes longest; `None` if every bucket's burst covers the job.
    pub bucket: Option<BucketKey>,
}

impl Ideal {
    /// The ideal for a job that makes each kind of call so many times.
    pub fn of(job: impl IntoIterator<Item = (u64, Vec<Draw>)>) -> Self {
        let mut tokens: BTreeMap<BucketKey, (Limit, f64)> = BTreeMap::new();
        for (calls, draws) in job {
            for draw in draws {
                let (_, sum) = tokens.entry(draw.key).or_insert((draw.limit, 0.0));
                *sum += calls as f64 * f64::from(draw.cost);
            }
        }
        let mut ideal = Ideal::default();
        for (key, (limit, sum)) in tokens {
            let seconds = limit.least_time(sum).as_secs_f64();
            if seconds > ideal.seconds {
                ideal = Ideal { seconds, bucket: Some(key) };
            }
        }
        ideal
    }
}

#[cfg(test)]
mod tests;
