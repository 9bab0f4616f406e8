//! What happened: counters per scope, for the whole process and for one run.
//!
//! Every call counts in its scope's counters and in those of each [`Stats`] that was bound where the call began.
//! [`Summary`] is the picture of either, for people ([`Summary::messages`]) and for machines (serde).

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use serde::Serialize;

use crate::breaker::BreakerState;
use crate::limiter::{BucketView, QuotaView};
use crate::scope::Scope;
use crate::sync::Mutex;

// ===== counting =====

/// Totals of one scope, or of many.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Totals {
    /// Logical calls begun.
    pub operations: u64,
    /// Attempts sent.
    pub calls: u64,
    /// Attempts that the server throttled.
    pub throttled: u64,
    /// Attempts that failed in passing (locks included).
    pub transient_errors: u64,
    /// Attempts beyond a call's first.
    pub retries: u64,
    /// Logical calls that ended with a failure that was worth retrying.
    pub gave_up: u64,
    /// Logical calls refused before anything was sent.
    pub rejected: u64,
    /// Times a circuit opened.
    pub breaker_trips: u64,
    /// Seconds that calls waited for a token, a pause or a slot, added up. Backoff is not in it.
    pub wait_seconds: f64,
}

impl Totals {
    pub(crate) fn add(&mut self, other: &Totals) {
        self.operations += other.operations;
        self.calls += other.calls;
        self.throttled += other.throttled;
        self.transient_errors += other.transient_errors;
        self.retries += other.retries;
        self.gave_up += other.gave_up;
        self.rejected += other.rejected;
        self.breaker_trips += other.breaker_trips;
        self.wait_seconds += other.wait_seconds;
    }
}

/// One scope's counters.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) operations: AtomicU64,
    pub(crate) calls: AtomicU64,
    pub(crate) throttled: AtomicU64,
    pub(crate) transient_errors: AtomicU64,
    pub(crate) retries: AtomicU64,
    pub(crate) gave_up: AtomicU64,
    pub(crate) rejected: AtomicU64,
    pub(crate) breaker_trips: AtomicU64,
    waited_nanos: AtomicU64,
}

impl Counters {
    #[inline]
    pub(crate) fn count(&self, counter: impl Fn(&Counters) -> &AtomicU64) {
        counter(self).fetch_add(1, Ordering::Relaxed);
    }

    /// Takes back what was counted for something that did not happen after all.
    pub(crate) fn uncount(&self, counter: impl Fn(&Counters) -> &AtomicU64) {
        counter(self).fetch_sub(1, Ordering::Relaxed);
    }

    pub(crate) fn waited(&self, wait: Duration) {
        let nanos = u64::try_from(wait.as_nanos()).unwrap_or(u64::MAX);
        // Saturating: a clock's end, centuries away, is one step for a fake one. The closure never declines.
        let add = |waited: u64| Some(waited.saturating_add(nanos));
        let _ = self.waited_nanos.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
    }

    pub(crate) fn totals(&self) -> Totals {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Totals {
            operations: read(&self.operations),
            calls: read(&self.calls),
            throttled: read(&self.throttled),
            transient_errors: read(&self.transient_errors),
            retries: read(&self.retries),
            gave_up: read(&self.gave_up),
            rejected: read(&self.rejected),
            breaker_trips: read(&self.breaker_trips),
            wait_seconds: Duration::from_nanos(read(&self.waited_nanos)).as_secs_f64(),
        }
    }
}

/// The counters of one call's scope in each [`Stats`] that was bound where the call began.
#[derive(Debug, Default)]
pub(crate) struct Collectors(Vec<Arc<Counters>>);

impl Collectors {
    /// Those bound where this is called; none, as with most calls, is told at once.
    #[inline]
    pub(crate) fn bound(leaf: &Scope) -> Option<Self> {
        let any = BOUND.with_borrow(|bound| !bound.is_empty());
        any.then(|| Collectors::all_bound(leaf))
    }

    #[inline(never)]
    fn all_bound(leaf: &Scope) -> Self {
        let mut counters: Vec<Arc<Counters>> = Vec::new();
        BOUND.with_borrow(|bound| {
            for stats in bound {
                let collected = stats.counters(leaf);
                // A collector bound twice is still one collector.
                if counters.iter().all(|known| !Arc::ptr_eq(known, &collected)) {
                    counters.push(collected);
                }
            }
        });
        Collectors(counters)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    #[inline(never)]
    pub(crate) fn each(&self, count: impl Fn(&Counters)) {
        self.0.iter().for_each(|counters| count(counters));
    }
}

// ===== one run =====

thread_local! {
    /// The collectors bound around what runs on this thread now, outermost first.
    static BOUND: RefCell<Vec<Stats>> = const { RefCell::new(Vec::new()) };
}

/// A collector for one run among others in the process.
///
/// A call counts in every collector bound where it begins. Bindings nest, and do not cross `tokio::spawn` by
/// themselves: [`bind`](Stats::bind) the spawned future too.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// use cloud_governor::{Governor, Scope, Stats};
///
/// let governor = Governor::builder().build();
/// let stats = Stats::new();
/// stats
///     .bind(async {
///         let mut call = governor.call(&Scope::new("github", "octo", "", "rest"));
///         let attempt = call.admit().await.unwrap();
///         attempt.finish(cloud_governor::Outcome::Success);
///     })
///     .await;
/// assert_eq!(governor.summary_of(&stats).totals.calls, 1);
/// # });
/// ```
#[derive(Debug, Clone, Default)]
pub struct Stats {
    scopes: Arc<Mutex<BTreeMap<Scope, Arc<Counters>>>>,
}

impl Stats {
    /// A collector with nothing in it.
    pub fn new() -> Self {
        Stats::default()
    }

    /// Runs `future` with this collector bound wherever it is polled.
    pub fn bind<F: Future>(&self, future: F) -> Bound<F> {
        Bound { stats: self.clone(), future }
    }

    /// Runs `work` on this thread with this collector bound.
    pub fn bind_sync<T>(&self, work: impl FnOnce() -> T) -> T {
        let _binding = Binding::new(self);
        work()
    }

    fn counters(&self, leaf: &Scope) -> Arc<Counters> {
        Arc::clone(self.scopes.lock().entry(leaf.clone()).or_default())
    }

    pub(crate) fn by_scope(&self) -> BTreeMap<Scope, Totals> {
        self.scopes.lock().iter().map(|(scope, counters)| (scope.clone(), counters.totals())).collect()
    }
}

/// Runs `future` with a new collector bound and returns what it collected besides the future's own output.
pub async fn stats_scope<F: Future>(future: F) -> (F::Output, Stats) {
    let stats = Stats::new();
    let output = stats.bind(future).await;
    (output, stats)
}

/// A binding of this thread, undone on drop: by a panic in what runs inside as well.
struct Binding;

impl Binding {
    fn new(stats: &Stats) -> Self {
        BOUND.with_borrow_mut(|bound| bound.push(stats.clone()));
        Binding
    }
}

impl Drop for Binding {
    fn drop(&mut self) {
        BOUND.with_borrow_mut(|bound| bound.pop());
    }
}

pin_project_lite::pin_project! {
    /// A future with a collector bound: see [`Stats::bind`].
    #[must_use = "futures do nothing unless polled"]
    #[derive(Debug)]
    pub struct Bound<F> {
        stats: Stats,
        #[pin]
        future: F,
    }
}

impl<F: Future> Future for Bound<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let _binding = Binding::new(this.stats);
        this.future.poll(cx)
    }
}

// ===== the picture =====

/// A scope that is slower than its settings allow, paused, or behind an open circuit.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SlowedBucket {
    /// The scope.
    pub scope: Scope,
    /// The rate it goes at, in calls per second.
    pub rate_rps: f64,
    /// The rate its settings allow, in calls per second.
    pub ceiling_rps: f64,
    /// For how many seconds it is still paused, if it is.
    pub paused_for_seconds: Option<f64>,
    /// Its circuit breaker.
    pub breaker: BreakerState,
    /// What the server says is left, where that is what slows it; else not in the JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quota: Option<QuotaView>,
    /// The limit that the server named, in calls per second, while it is believed; else not in the JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit_rps: Option<f64>,
}

impl SlowedBucket {
    pub(crate) fn new(scope: &Scope, view: BucketView, breaker: BreakerState) -> Self {
        SlowedBucket {
            scope: scope.clone(),
            rate_rps: view.rate_rps,
            ceiling_rps: view.ceiling_rps,
            paused_for_seconds: view.paused_for.map(|pause| pause.as_secs_f64()),
            breaker,
            quota: view.quota.filter(|quota| quota.allows_rps <= view.rate_rps),
            limit_rps: view.limit_rps,
        }
    }

    pub(crate) fn is_slowed(&self) -> bool {
        self.rate_rps < self.ceiling_rps || self.paused_for_seconds.is_some() || self.breaker != BreakerState::Closed
    }
}

/// What happened, since the start or in one run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Summary {
    /// Everything added up.
    pub totals: Totals,
    /// The same per scope. Scopes that were forgotten while idle are in `totals` alone.
    pub scopes: BTreeMap<Scope, Totals>,
    /// Those that are slower now than their settings allow.
    pub slowed_buckets: Vec<SlowedBucket>,
}

impl Summary {
    pub(crate) fn new(scopes: BTreeMap<Scope, Totals>, retired: Totals, slowed: Vec<SlowedBucket>) -> Self {
        let mut totals = retired;
        scopes.values().for_each(|scope| totals.add(scope));
        Summary { totals, scopes, slowed_buckets: slowed }
    }

    /// One line for each service that was throttled, slowed, refused or waited for, as a person would read it.
    pub fn messages(&self) -> Vec<String> {
        let mut services: BTreeMap<Scope, (Totals, Option<f64>, bool)> = BTreeMap::new();
        for (scope, totals) in &self.scopes {
            services.entry(scope.service_scope()).or_default().0.add(totals);
        }
        for bucket in &self.slowed_buckets {
            let (_, rate, open) = services.entry(bucket.scope.service_scope()).or_default();
            if bucket.rate_rps < bucket.ceiling_rps {
                *rate = Some(rate.map_or(bucket.rate_rps, |known| known.min(bucket.rate_rps)));
            }
            *open |= bucket.breaker != BreakerState::Closed;
        }
        services.iter().filter_map(|(service, (totals, rate, open))| message(service, totals, *rate, *open)).collect()
    }
}

/// The shortest wait that is worth a word.
const NOTABLE_WAIT_SECONDS: f64 = 0.05;

fn message(service: &Scope, totals: &Totals, rate: Option<f64>, circuit_open: bool) -> Option<String> {
    let counted = |count: u64, text: String| (count > 0).then_some(text);
    let times = |count: u64, one: &str, many: &str| format!("{count} {}", if count == 1 { one } else { many });
    let parts: Vec<String> = [
        counted(totals.throttled, format!("throttled {}x", totals.throttled)),
        rate.map(|rate| format!("slowed to {} rps", readable(rate))),
        counted(totals.transient_errors, times(totals.transient_errors, "transient error", "transient errors")),
        counted(totals.retries, times(totals.retries, "retry", "retries")),
        (totals.wait_seconds >= NOTABLE_WAIT_SECONDS)
            .then(|| format!("waited {:.1}s for rate limit", totals.wait_seconds)),
        counted(totals.gave_up, format!("gave up {}x", totals.gave_up)),
        counted(totals.rejected, format!("refused {}x", totals.rejected)),
        counted(totals.breaker_trips, format!("circuit opened {}x", totals.breaker_trips)),
        circuit_open.then(|| "circuit open now".to_owned()),
    ]
    .into_iter()
    .flatten()
    .collect();
    (!parts.is_empty()).then(|| format!("{service}: {}", parts.join(", ")))
}

/// A rate with one decimal, or with its first two digits where that would say "0.0" or double it.
fn readable(rate: f64) -> String {
    if rate >= 1.0 {
        return format!("{rate:.1}");
    }
    let decimals = (1.0 - rate.max(f64::MIN_POSITIVE).log10().floor()) as usize;
    format!("{rate:.decimals$}").trim_end_matches('0').to_owned()
}
