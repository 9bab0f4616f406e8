//! What calls share: with those of their scope, and with those of their provider.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use smallvec::SmallVec;

use crate::breaker::Breaker;
use crate::budget::RetryBudget;
use crate::bulkhead::Bulkhead;
use crate::classify::Rules;
use crate::clock::{Clock, Timestamp, wall};
use crate::config::{ProviderSettings, ThrottleSettings};
use crate::limiter::Bucket;
use crate::scope::Scope;
use crate::stats::{Counters, SlowedBucket};
use crate::sync::Mutex;

/// What every scope of one governor shares.
pub(crate) struct Shared {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) rng: Mutex<fastrand::Rng>,
}

/// What the calls of one provider share.
#[derive(Debug)]
pub(crate) struct Provider {
    governor: Arc<Shared>,
    settings: RwLock<Arc<ProviderSettings>>,
    /// Those of the settings, for the buckets to share.
    throttle: RwLock<Arc<ThrottleSettings>>,
    rules: RwLock<Rules>,
    pub(crate) budget: Arc<RetryBudget>,
}

/// What the calls of one scope share.
#[derive(Debug)]
pub(crate) struct Leaf {
    provider: Arc<Provider>,
    bulkhead: Arc<Bulkhead>,
    bucket: Arc<Bucket>,
    breaker: Breaker,
    counters: Counters,
    used_at: AtomicU64,
}

impl Leaf {
    pub(super) fn new(
        scope: Scope,
        provider: Arc<Provider>,
        bulkhead: Arc<Bulkhead>,
        settings: &ProviderSettings,
        now: Timestamp,
    ) -> Self {
        let wall = wall(&*provider.governor.clock);
        let limits = settings.limits_for(&scope);
        let throttle = provider.throttle_for(settings, &scope);
        Leaf {
            bucket: Arc::new(Bucket::new(scope, limits, throttle, now, wall)),
            provider,
            bulkhead,
            breaker: Breaker::new(settings.breaker.failures, settings.breaker.cooldown),
            counters: Counters::default(),
            used_at: AtomicU64::new(now.as_nanos()),
        }
    }

    pub(crate) fn scope(&self) -> &Scope {
        self.bucket.scope()
    }

    pub(crate) fn bucket(&self) -> &Arc<Bucket> {
        &self.bucket
    }

    pub(crate) fn breaker(&self) -> &Breaker {
        &self.breaker
    }

    pub(crate) fn bulkhead(&self) -> &Arc<Bulkhead> {
        &self.bulkhead
    }

    pub(crate) fn budget(&self) -> &Arc<RetryBudget> {
        &self.provider.budget
    }

    pub(crate) fn counters(&self) -> &Counters {
        &self.counters
    }

    pub(crate) fn clock(&self) -> &dyn Clock {
        &*self.provider.governor.clock
    }

    /// A generator of the call's own, so that calls do not contend for one.
    pub(crate) fn fork_rng(&self) -> fastrand::Rng {
        self.provider.governor.rng.lock().fork()
    }

    /// It is used now. Two that write at once may leave the earlier time, which is as good.
    pub(crate) fn touch(&self, now: Timestamp) {
        self.used_at.store(now.as_nanos(), Ordering::Relaxed);
    }

    pub(super) fn used_at(&self) -> Timestamp {
        Timestamp::from_nanos(self.used_at.load(Ordering::Relaxed))
    }

    /// As good as new, but for what was counted.
    pub(super) fn is_neutral(&self, now: Timestamp) -> bool {
        self.breaker.is_neutral() && self.bucket.is_neutral(now)
    }

    pub(super) fn slowed(&self, now: Timestamp) -> SlowedBucket {
        SlowedBucket::new(self.scope(), self.bucket.view(now), self.breaker.state(now))
    }

    pub(super) fn settings(&self) -> Arc<ProviderSettings> {
        self.provider.settings()
    }

    /// By the settings in force, whatever a call began with.
    pub(crate) fn is_enabled(&self) -> bool {
        self.provider.settings.read().unwrap_or_else(PoisonError::into_inner).enabled
    }
}

impl Provider {
    pub(super) fn new(settings: Arc<ProviderSettings>, governor: Arc<Shared>) -> Self {
        Provider {
            governor,
            budget: Arc::new(RetryBudget::new(settings.retry_budget)),
            rules: RwLock::new(Rules::from_iter(settings.rules.iter().cloned())),
            throttle: RwLock::new(Arc::new(settings.throttle.clone())),
            settings: RwLock::new(settings),
        }
    }

    /// A leaf's throttle settings: the provider's own, shared by all, unless the leaf's differ.
    pub(super) fn throttle_for(&self, settings: &ProviderSettings, scope: &Scope) -> Arc<ThrottleSettings> {
        let wanted = settings.throttle_for(scope);
        let shared = self.throttle.read().unwrap_or_else(PoisonError::into_inner);
        if **shared == wanted { Arc::clone(&shared) } else { Arc::new(wanted) }
    }

    pub(crate) fn settings(&self) -> Arc<ProviderSettings> {
        Arc::clone(&self.settings.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn rules(&self) -> Rules {
        self.rules.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn reconfigure(&self, settings: Arc<ProviderSettings>) {
        self.budget.resize(settings.retry_budget);
        let rules = Rules::from_iter(settings.rules.iter().cloned());
        *self.rules.write().unwrap_or_else(PoisonError::into_inner) = rules;
        *self.throttle.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(settings.throttle.clone());
        *self.settings.write().unwrap_or_else(PoisonError::into_inner) = settings;
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("clock", &self.clock).finish_non_exhaustive()
    }
}

/// What few scopes have.
#[derive(Debug)]
struct Nested {
    /// The leaf's bucket and those that it shares with others.
    buckets: SmallVec<[Arc<Bucket>; 3]>,
    /// There was no room for all that it is to have.
    makeshift: bool,
}

/// A scope resolved: the leaf that its calls share, and the settings they go by.
///
/// It is never changed, so that a call reads both without a lock. New settings make new ones.
pub(crate) struct Target {
    pub(crate) scope: Scope,
    pub(crate) leaf: Arc<Leaf>,
    /// None where the leaf's bucket is all, as of very many scopes.
    nested: Option<Box<Nested>>,
    pub(crate) settings: Arc<ProviderSettings>,
}

/// Without what its leaf and its settings hold, which every call would print.
impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Target").field("scope", &self.scope).finish_non_exhaustive()
    }
}

impl Target {
    /// With these buckets besides the leaf's own, the narrowest first. One is `makeshift` where there was no room for all that it
    /// is to have.
    pub(super) fn new(
        scope: Scope,
        leaf: Arc<Leaf>,
        settings: Arc<ProviderSettings>,
        shared: impl IntoIterator<Item = Arc<Bucket>>,
        makeshift: bool,
    ) -> Self {
        let buckets: SmallVec<_> = std::iter::once(Arc::clone(leaf.bucket())).chain(shared).collect();
        let nested = (buckets.len() > 1 || makeshift).then(|| Box::new(Nested { buckets, makeshift }));
        Target { scope, leaf, nested, settings }
    }

    /// What a call takes tokens from, the narrowest first: the leaf's own, and those that it shares with others.
    #[inline]
    pub(crate) fn buckets(&self) -> &[Arc<Bucket>] {
        self.nested.as_ref().map_or_else(|| std::slice::from_ref(self.leaf.bucket()), |nested| &nested.buckets)
    }

    /// The leaf is one for newcomers without room for their own, or a bucket that it shares had no room: the next call asks again.
    pub(crate) fn is_makeshift(&self) -> bool {
        self.nested.as_ref().is_some_and(|nested| nested.makeshift)
    }

    /// The leaf's bucket, if that is all that a call takes tokens from.
    #[inline]
    pub(crate) fn only_bucket(&self) -> Option<&Arc<Bucket>> {
        if self.nested.is_none() { Some(self.leaf.bucket()) } else { None }
    }

    /// How long an attempt without a timeout of its own can be expected to take: what plugins give their clients.
    pub(crate) fn longest_attempt(&self) -> Duration {
        self.settings.connect_timeout + self.settings.read_timeout
    }
}
