//! The registry: which bucket, breaker, bulkhead and budget a scope has.
//!
//! A [`Leaf`] is what one scope's calls share: the bucket and the breaker, per account, region and service, and per
//! operation where the settings say so. Leaves of one account share its bulkhead, those of one provider its retry
//! budget. Leaves that are idle and as good as new are forgotten, so that a scan of ten thousand accounts does not
//! keep ten thousand buckets; [`MAX_LEAVES`] holds whatever happens.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::task::Waker;
use std::time::Duration;

use crate::breaker::{Breaker, BreakerState};
use crate::budget::RetryBudget;
use crate::bulkhead::Bulkhead;
use crate::call::Call;
use crate::classify::{Classification, Facts, Rules};
use crate::clock::{Clock, SystemClock, Timestamp};
use crate::config::{Config, ProviderSettings};
use crate::limiter::Bucket;
use crate::scope::Scope;
use crate::stats::{Counters, SlowedBucket, Stats, Summary, Totals, add_totals, totals_of};
use crate::sync::Mutex;

/// The most leaves that exist at once. Beyond it, an unused one goes for each that comes, and while none is unused the
/// newcomers of a provider share one.
pub const MAX_LEAVES: usize = 50_000;

/// How long a neutral leaf is kept after its last call.
const KEEP_IDLE: Duration = Duration::from_secs(600);

/// Under this many leaves, none is forgotten: looking costs more than keeping.
const FIRST_SWEEP: usize = 1_024;

/// How long after room was looked for in vain it is looked for again.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

// ===== what scopes share =====

/// What the calls of one provider share.
#[derive(Debug)]
struct Provider {
    settings: RwLock<Arc<ProviderSettings>>,
    rules: RwLock<Rules>,
    budget: Arc<RetryBudget>,
}

/// What the calls of one scope share.
#[derive(Debug)]
pub(crate) struct Leaf {
    scope: Scope,
    provider: Arc<Provider>,
    bulkhead: Arc<Bulkhead>,
    bucket: Arc<Bucket>,
    breaker: Breaker,
    counters: Arc<Counters>,
    rng: Arc<Mutex<fastrand::Rng>>,
    used_at: AtomicU64,
}

impl Leaf {
    pub(crate) fn scope(&self) -> &Scope {
        &self.scope
    }

    pub(crate) fn settings(&self) -> Arc<ProviderSettings> {
        self.provider.settings()
    }

    /// How long an attempt without a timeout of its own can be expected to take: what plugins give their clients.
    pub(crate) fn longest_attempt(&self) -> Duration {
        let settings = self.settings();
        settings.connect_timeout + settings.read_timeout
    }

    /// The buckets a call takes a token from, the narrowest first.
    pub(crate) fn buckets(&self) -> &[Arc<Bucket>] {
        std::slice::from_ref(&self.bucket)
    }

    pub(crate) fn bucket(&self) -> &Bucket {
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

    pub(crate) fn counters(&self) -> Arc<Counters> {
        Arc::clone(&self.counters)
    }

    /// A generator of the call's own, so that calls do not contend for one.
    pub(crate) fn fork_rng(&self) -> fastrand::Rng {
        self.rng.lock().fork()
    }

    fn touch(&self, now: Timestamp) {
        self.used_at.fetch_max(now.as_nanos(), Ordering::Relaxed);
    }

    fn used_at(&self) -> Timestamp {
        Timestamp::from_nanos(self.used_at.load(Ordering::Relaxed))
    }

    fn slowed(&self, now: Timestamp) -> SlowedBucket {
        let view = self.bucket.view(now);
        SlowedBucket {
            scope: self.scope.clone(),
            rate_rps: view.rate_rps,
            ceiling_rps: view.ceiling_rps,
            paused_for_seconds: view.paused_for.map(|pause| pause.as_secs_f64()),
            breaker: self.breaker.state(now),
        }
    }
}

impl Provider {
    fn new(settings: Arc<ProviderSettings>) -> Self {
        Provider {
            budget: Arc::new(RetryBudget::new(settings.retry_budget)),
            rules: RwLock::new(Rules::from_iter(settings.rules.iter().cloned())),
            settings: RwLock::new(settings),
        }
    }

    fn settings(&self) -> Arc<ProviderSettings> {
        Arc::clone(&self.settings.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn rules(&self) -> Rules {
        self.rules.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn reconfigure(&self, settings: Arc<ProviderSettings>) {
        self.budget.resize(settings.retry_budget);
        let rules = Rules::from_iter(settings.rules.iter().cloned());
        *self.rules.write().unwrap_or_else(PoisonError::into_inner) = rules;
        *self.settings.write().unwrap_or_else(PoisonError::into_inner) = settings;
    }
}

// ===== the governor =====

/// The state of every scope, and the way to make governed calls. Clones are the same governor.
#[derive(Debug, Clone)]
pub struct Governor {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    clock: Arc<dyn Clock>,
    rng: Arc<Mutex<fastrand::Rng>>,
    registry: RwLock<Registry>,
}

#[derive(Debug)]
struct Registry {
    config: Config,
    providers: HashMap<Box<str>, Arc<Provider>>,
    /// By account scope.
    bulkheads: HashMap<Scope, Arc<Bulkhead>>,
    leaves: HashMap<Scope, Arc<Leaf>>,
    sweep_at: usize,
    /// Until then the hard cap is reached and every leaf is in use.
    full_until: Timestamp,
    /// Counts of leaves that were forgotten.
    retired: Totals,
    /// Counters of leaves that were forgotten with calls under way, which still count there.
    retiring: Vec<Arc<Counters>>,
}

/// Builds a [`Governor`] of its own, apart from the process-wide one.
#[derive(Debug, Default)]
pub struct GovernorBuilder {
    config: Config,
    clock: Option<Arc<dyn Clock>>,
    seed: Option<u64>,
}

impl GovernorBuilder {
    /// With these settings instead of the built-in defaults.
    #[must_use]
    pub fn config(mut self, config: Config) -> Self {
        self.config = config;
        self
    }

    /// With this clock instead of the system's, for tests.
    #[must_use]
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.clock = Some(Arc::new(clock));
        self
    }

    /// With jitter drawn from this seed, for repeatable runs.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// The governor.
    pub fn build(self) -> Governor {
        let rng = self.seed.map_or_else(fastrand::Rng::new, fastrand::Rng::with_seed);
        Governor {
            shared: Arc::new(Shared {
                clock: self.clock.unwrap_or_else(|| Arc::new(SystemClock::new())),
                rng: Arc::new(Mutex::new(rng)),
                registry: RwLock::new(Registry::new(self.config)),
            }),
        }
    }
}

impl Governor {
    /// Starts a governor with the built-in defaults.
    pub fn builder() -> GovernorBuilder {
        GovernorBuilder::default()
    }

    /// Begins one logical call.
    pub fn call(&self, scope: &Scope) -> Call {
        Call::new(self, scope)
    }

    /// A provider's settings.
    pub fn settings(&self, provider: &str) -> Arc<ProviderSettings> {
        self.read().config.provider(provider)
    }

    /// What a failed attempt in `scope` means, by the provider's rules.
    pub fn classify<'a>(&self, scope: &'a Scope, facts: Facts<'a>) -> Classification {
        self.rules(scope.provider()).classify(&facts.in_scope(scope))
    }

    /// The rules of a provider: the config's own first, then the built-in ones.
    pub fn rules(&self, provider: &str) -> Rules {
        let registry = self.read();
        match registry.providers.get(&*provider.to_ascii_lowercase()) {
            Some(known) => known.rules(),
            None => Rules::from_iter(registry.config.provider(provider).rules.iter().cloned()),
        }
    }

    /// The clock that everything here goes by.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.shared.clock
    }

    /// Puts new settings into force. A provider whose settings did not change keeps everything: learned rates,
    /// breakers, budget and held slots. Of one that changed, what was learned is kept within the new limits.
    pub fn reconfigure(&self, config: Config) {
        let now = self.shared.clock.now();
        let wakers = self.write().reconfigure(config, now);
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Forgets what was learned (rates, pauses, circuits, spent budget) and keeps settings, counts and held slots.
    pub fn reset(&self) {
        let now = self.shared.clock.now();
        let leaves: Vec<Arc<Leaf>> = {
            let registry = self.read();
            registry.providers.values().for_each(|provider| provider.budget.reset());
            registry.leaves.values().map(Arc::clone).collect()
        };
        // Not under the lock: this wakes those in line.
        for leaf in leaves {
            leaf.breaker.reset();
            leaf.bucket.reset(now);
        }
    }

    /// Everything since the start.
    pub fn summary(&self) -> Summary {
        let now = self.shared.clock.now();
        let registry = self.read();
        let scopes = registry.leaves.iter().map(|(scope, leaf)| (scope.clone(), totals_of(&leaf.counters))).collect();
        Summary::new(scopes, registry.forgotten(), registry.slowed(now, |_| true))
    }

    /// What one run's collector holds, with the present state of the scopes it met.
    pub fn summary_of(&self, stats: &Stats) -> Summary {
        let now = self.shared.clock.now();
        let scopes: BTreeMap<Scope, Totals> = stats.by_scope();
        let slowed = self.read().slowed(now, |scope| scopes.contains_key(scope));
        Summary::new(scopes, Totals::default(), slowed)
    }

    /// One line for each service with something to tell: [`Summary::messages`] of everything since the start.
    pub fn messages(&self) -> Vec<String> {
        self.summary().messages()
    }

    /// The state that a call of this scope meets now, and so why one is waiting. `None` if the scope is unknown.
    pub fn inspect(&self, scope: &Scope) -> Option<Inspection> {
        let now = self.shared.clock.now();
        let registry = self.read();
        let provider = registry.providers.get(scope.provider())?;
        let leaf = registry.leaves.get(&leaf_scope(scope, &provider.settings()))?;
        let view = leaf.bucket.view(now);
        Some(Inspection {
            scope: leaf.scope.clone(),
            rate_rps: view.rate_rps,
            ceiling_rps: view.ceiling_rps,
            burst: view.burst,
            tokens: view.tokens,
            paused_for: view.paused_for,
            waiting_for_rate: view.waiting,
            waiting_for_slot: leaf.bulkhead.waiting(),
            slots_in_use: leaf.bulkhead.in_use(),
            slots: leaf.bulkhead.cap(),
            breaker: leaf.breaker.state(now),
            circuit_open_for: leaf.breaker.refusal(now).map(|refused| refused.retry_after),
            retry_budget: leaf.budget().available(),
        })
    }

    pub(crate) fn leaf(&self, scope: &Scope) -> Arc<Leaf> {
        let now = self.shared.clock.now();
        let provider = self.provider(scope.provider());
        let key = leaf_scope(scope, &provider.settings());
        let known = self.read().leaves.get(&key).map(Arc::clone);
        let leaf = known.unwrap_or_else(|| self.write().leaf(key, &self.shared.rng, now));
        leaf.touch(now);
        leaf
    }

    fn provider(&self, name: &str) -> Arc<Provider> {
        let known = self.read().providers.get(name).map(Arc::clone);
        known.unwrap_or_else(|| self.write().provider(name))
    }

    fn read(&self) -> std::sync::RwLockReadGuard<'_, Registry> {
        self.shared.registry.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> std::sync::RwLockWriteGuard<'_, Registry> {
        self.shared.registry.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Governor {
    fn default() -> Self {
        Governor::builder().build()
    }
}

/// The state that a scope's calls meet.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Inspection {
    /// The scope that has this state: the operation's, or its service's.
    pub scope: Scope,
    /// The present rate, in calls per second.
    pub rate_rps: f64,
    /// The rate that the settings allow, in calls per second.
    pub ceiling_rps: f64,
    /// How many calls may go at once after a quiet time.
    pub burst: f64,
    /// Tokens ready now; negative while a large cost is paid off.
    pub tokens: f64,
    /// How much longer the scope is paused, if it is.
    pub paused_for: Option<Duration>,
    /// Calls in line for a token of this scope.
    pub waiting_for_rate: usize,
    /// Calls in line for a slot of this scope's account.
    pub waiting_for_slot: usize,
    /// Attempts of this scope's account in flight.
    pub slots_in_use: usize,
    /// How many may be.
    pub slots: usize,
    /// The circuit breaker.
    pub breaker: BreakerState,
    /// How much longer calls are refused, if they are.
    pub circuit_open_for: Option<Duration>,
    /// Retries that the provider's budget still pays.
    pub retry_budget: u64,
}

// ===== the registry =====

/// The scope whose state a call shares: without the operation, unless operations have limits of their own.
fn leaf_scope(scope: &Scope, settings: &ProviderSettings) -> Scope {
    if settings.is_per_operation(scope.service(), scope.operation()) { scope.clone() } else { scope.service_scope() }
}

impl Registry {
    fn new(config: Config) -> Self {
        Registry {
            config,
            providers: HashMap::new(),
            bulkheads: HashMap::new(),
            leaves: HashMap::new(),
            sweep_at: FIRST_SWEEP,
            full_until: Timestamp::ZERO,
            retired: Totals::default(),
            retiring: Vec::new(),
        }
    }

    fn provider(&mut self, name: &str) -> Arc<Provider> {
        let config = &self.config;
        let provider =
            self.providers.entry(name.into()).or_insert_with(|| Arc::new(Provider::new(config.provider(name))));
        Arc::clone(provider)
    }

    fn leaf(&mut self, key: Scope, rng: &Arc<Mutex<fastrand::Rng>>, now: Timestamp) -> Arc<Leaf> {
        if let Some(known) = self.leaves.get(&key) {
            return Arc::clone(known);
        }
        let key = if self.has_room(now) { key } else { Scope::new(key.provider(), "", "", "") };
        if let Some(known) = self.leaves.get(&key) {
            return Arc::clone(known);
        }
        let provider = self.provider(key.provider());
        let settings = provider.settings();
        let bulkhead = self
            .bulkheads
            .entry(key.account_scope())
            .or_insert_with(|| Arc::new(Bulkhead::new(settings.account_concurrency)));
        let limits = settings.limits_for(key.service(), key.operation());
        let leaf = Arc::new(Leaf {
            scope: key.clone(),
            bulkhead: Arc::clone(bulkhead),
            bucket: Arc::new(Bucket::new(limits, settings.throttle.clone(), now)),
            breaker: Breaker::new(settings.breaker.failures, settings.breaker.cooldown),
            counters: Arc::default(),
            rng: Arc::clone(rng),
            used_at: AtomicU64::new(now.as_nanos()),
            provider,
        });
        self.leaves.insert(key, Arc::clone(&leaf));
        leaf
    }

    /// Whether one more leaf may exist; makes room if need be. Where none could be made it is not looked for again for
    /// a while: that goes through every leaf, and all callers wait for it.
    fn has_room(&mut self, now: Timestamp) -> bool {
        if self.leaves.len() < self.sweep_at.min(MAX_LEAVES) {
            return true;
        }
        if now < self.full_until {
            return false;
        }
        self.sweep(now);
        let room = self.leaves.len() < MAX_LEAVES || self.forget_oldest();
        if !room {
            self.full_until = now + LOOK_AGAIN;
        }
        room
    }

    /// Forgets leaves that are idle and as good as new, and what only they used.
    fn sweep(&mut self, now: Timestamp) {
        let idle = |leaf: &Arc<Leaf>| {
            Arc::strong_count(leaf) == 1
                && now.since(leaf.used_at()) >= KEEP_IDLE
                && leaf.breaker.is_neutral()
                && leaf.bucket.is_neutral(now)
        };
        let gone: Vec<Scope> =
            self.leaves.iter().filter(|(_, leaf)| idle(leaf)).map(|(scope, _)| scope.clone()).collect();
        gone.iter().for_each(|scope| self.forget(scope));
        self.drop_unused();
        self.sweep_at = (self.leaves.len() * 2).max(FIRST_SWEEP);
    }

    /// Makes room by forgetting the tenth of the leaves that have been out of use the longest. False if all are in use.
    fn forget_oldest(&mut self) -> bool {
        let mut unused: Vec<(Timestamp, Scope)> = self
            .leaves
            .iter()
            .filter(|(_, leaf)| Arc::strong_count(leaf) == 1)
            .map(|(scope, leaf)| (leaf.used_at(), scope.clone()))
            .collect();
        unused.sort_by_key(|(used_at, _)| *used_at);
        unused.iter().take(MAX_LEAVES / 10).for_each(|(_, scope)| self.forget(scope));
        self.drop_unused();
        self.leaves.len() < MAX_LEAVES
    }

    fn forget(&mut self, scope: &Scope) {
        if let Some(leaf) = self.leaves.remove(scope) {
            self.retiring.push(leaf.counters());
        }
    }

    /// Counts of leaves that were forgotten, to the present.
    fn forgotten(&self) -> Totals {
        let mut totals = self.retired;
        self.retiring.iter().for_each(|counters| add_totals(&mut totals, counters));
        totals
    }

    /// Adds up what no call counts in any more.
    fn settle_retiring(&mut self) {
        let retired = &mut self.retired;
        self.retiring.retain(|counters| {
            let counting = Arc::strong_count(counters) > 1;
            if !counting {
                add_totals(retired, counters);
            }
            counting
        });
    }

    /// Bulkheads and providers that no leaf uses any more, as good as new.
    fn drop_unused(&mut self) {
        self.settle_retiring();
        self.bulkheads.retain(|_, bulkhead| Arc::strong_count(bulkhead) > 1 || bulkhead.in_use() > 0);
        self.providers.retain(|_, provider| Arc::strong_count(provider) > 1 || !provider.budget.is_full());
    }

    /// Says whom to wake once the registry is free again.
    fn reconfigure(&mut self, config: Config, now: Timestamp) -> Vec<Waker> {
        if config == self.config {
            return Vec::new();
        }
        self.config = config;
        let changed: Vec<Box<str>> = self
            .providers
            .iter()
            .filter_map(|(name, provider)| {
                let settings = self.config.provider(name);
                if *settings == *provider.settings() {
                    return None;
                }
                provider.reconfigure(settings);
                Some(name.clone())
            })
            .collect();
        changed.iter().flat_map(|name| self.reconfigure_scopes(name, now)).collect()
    }

    fn reconfigure_scopes(&mut self, provider: &str, now: Timestamp) -> Vec<Waker> {
        let Some(settings) = self.providers.get(provider).map(|provider| provider.settings()) else {
            return Vec::new();
        };
        let mut wakers = Vec::new();
        for (account, bulkhead) in &self.bulkheads {
            if account.provider() == provider {
                wakers.extend(bulkhead.resize(settings.account_concurrency));
            }
        }
        let mut regrouped = Vec::new();
        for (scope, leaf) in self.leaves.iter().filter(|(scope, _)| scope.provider() == provider) {
            if leaf_scope(scope, &settings) != *scope {
                regrouped.push(scope.clone());
                continue;
            }
            let limits = settings.limits_for(scope.service(), scope.operation());
            wakers.extend(leaf.bucket.reconfigure(limits, settings.throttle.clone(), now));
            leaf.breaker.reconfigure(settings.breaker.failures, settings.breaker.cooldown);
        }
        // Operations that no longer have limits of their own. Calls under way keep the old leaf to their end.
        regrouped.iter().for_each(|scope| self.forget(scope));
        self.settle_retiring();
        wakers
    }

    fn slowed(&self, now: Timestamp, wanted: impl Fn(&Scope) -> bool) -> Vec<SlowedBucket> {
        let mut slowed: Vec<SlowedBucket> = self
            .leaves
            .values()
            .filter(|leaf| wanted(&leaf.scope))
            .map(|leaf| leaf.slowed(now))
            .filter(SlowedBucket::is_slowed)
            .collect();
        slowed.sort_by(|a, b| a.scope.cmp(&b.scope));
        slowed
    }
}

// ===== the process-wide governor =====

fn process_wide() -> &'static RwLock<Governor> {
    static GOVERNOR: OnceLock<RwLock<Governor>> = OnceLock::new();
    GOVERNOR.get_or_init(|| RwLock::new(Governor::default()))
}

/// The process-wide governor: what front ends use unless given another.
pub fn get_governor() -> Governor {
    process_wide().read().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Gives the process-wide governor new settings and returns it. The last caller wins; see [`Governor::reconfigure`]
/// for what is kept.
pub fn configure(config: Config) -> Governor {
    let governor = get_governor();
    governor.reconfigure(config);
    governor
}

/// Replaces the process-wide governor by a new one with the built-in defaults and returns it, for tests. Whoever holds
/// the old one keeps it.
pub fn reset_governor() -> Governor {
    let fresh = Governor::default();
    *process_wide().write().unwrap_or_else(PoisonError::into_inner) = fresh.clone();
    fresh
}
