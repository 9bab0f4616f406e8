//! The governor: where calls begin and what happened is told.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::breaker::BreakerState;
use crate::call::Call;
use crate::classify::{Classification, Facts, Rules};
use crate::clock::{Clock, SystemClock, Timestamp, wall};
use crate::config::{Config, LawName, ProviderSettings};
use crate::handle::Handle;
use crate::limiter::{Bucket, Phase, QuotaView};
use crate::registry::{self, Registry, Target, Targets, leaf_scope};
use crate::scope::Scope;
use crate::stats::{Stats, Summary, Totals};
use crate::sync::{Mutex, RwLock, RwLockReadGuard, RwLockWriteGuard};
use crate::waiters::wake;

/// The state of every scope, and the way to make governed calls. Clones are the same governor.
#[derive(Debug, Clone)]
pub struct Governor {
    shared: Arc<Shared>,
}

struct Shared {
    clock: Arc<dyn Clock>,
    registry: RwLock<Registry>,
    targets: Targets,
}

/// Without the scopes, of which there may be tens of thousands.
impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("clock", &self.clock).finish_non_exhaustive()
    }
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
        let clock = self.clock.unwrap_or_else(|| Arc::new(SystemClock::new()));
        let common = Arc::new(registry::Shared { clock: Arc::clone(&clock), rng: Mutex::new(rng) });
        Governor {
            shared: Arc::new(Shared {
                clock,
                registry: RwLock::new(Registry::new(self.config, common)),
                targets: Targets::new(),
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
        Call::new(self.target(scope))
    }

    /// Resolves a scope once, for calls made again and again.
    pub fn handle(&self, scope: &Scope) -> Handle {
        Handle::new(self.clone(), scope)
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
        let wakers = self.write().reconfigure(config, &self.shared.targets, now);
        wake(wakers);
    }

    /// Forgets what was learned (rates, pauses, circuits, spent budget) and keeps settings, counts and held slots.
    pub fn reset(&self) {
        let (now, wall) = (self.shared.clock.now(), wall(&*self.shared.clock));
        let buckets = {
            let registry = self.read();
            registry.providers.values().for_each(|provider| provider.budget.reset());
            registry.all_leaves().for_each(|leaf| leaf.breaker().reset());
            registry.limits()
        };
        // Not under the lock: this wakes those in line.
        buckets.iter().for_each(|(bucket, limits)| bucket.reset(*limits, now, wall));
    }

    /// Everything since the start.
    pub fn summary(&self) -> Summary {
        let now = self.shared.clock.now();
        let registry = self.read();
        let scopes = registry.leaves.iter().map(|(scope, leaf)| (scope.clone(), leaf.counters().totals())).collect();
        Summary::new(scopes, registry.forgotten(), registry.slowed(now, |_| true, |_| true))
    }

    /// What one run's collector holds, with the present state of the scopes it met.
    pub fn summary_of(&self, stats: &Stats) -> Summary {
        let now = self.shared.clock.now();
        let scopes: BTreeMap<Scope, Totals> = stats.by_scope();
        let is_met = |leaf: &Scope| scopes.contains_key(leaf);
        let is_shared = |bucket: &Scope| scopes.keys().any(|scope| bucket.is_shared_by(scope));
        let slowed = self.read().slowed(now, is_met, is_shared);
        Summary::new(scopes, Totals::default(), slowed)
    }

    /// One line for each service with something to tell: [`Summary::messages`] of everything since the start.
    pub fn messages(&self) -> Vec<String> {
        self.summary().messages()
    }

    /// The state that a call of this scope meets now, and so why one is waiting. `None` if no call of it was made yet: where
    /// operations have buckets of their own, of the operation that the scope names.
    pub fn inspect(&self, scope: &Scope) -> Option<Inspection> {
        let now = self.shared.clock.now();
        let registry = self.read();
        let settings = registry.providers.get(scope.provider())?.settings();
        let leaf = registry.leaves.get(&leaf_scope(scope, &settings))?;
        let view = leaf.bucket().view(now);
        let shared = registry.shared_with(scope, &settings).map(|bucket| SharedInspection::new(bucket, now)).collect();
        Some(Inspection {
            scope: leaf.scope().clone(),
            law: view.law,
            phase: view.phase,
            measured_rps: view.measured_rps,
            rate_rps: view.rate_rps,
            ceiling_rps: view.ceiling_rps,
            burst: view.burst,
            published: view.published,
            tokens: view.tokens,
            paused_for: view.paused_for,
            quota: view.quota,
            shared,
            limit_rps: view.limit_rps,
            waiting_for_rate: view.waiting,
            waiting_for_slot: leaf.bulkhead().waiting(),
            slots_in_use: leaf.bulkhead().in_use(),
            slots: leaf.bulkhead().cap(),
            breaker: leaf.breaker().state(now),
            circuit_open_for: leaf.breaker().refusal(now).map(|refused| refused.retry_after),
            retry_budget: leaf.budget().available(),
        })
    }

    pub(crate) fn target(&self, scope: &Scope) -> Arc<Target> {
        let targets = &self.shared.targets;
        targets.find(scope).unwrap_or_else(|| {
            let now = self.shared.clock.now();
            self.write().target(scope, targets, now)
        })
    }

    /// Which settings are in force: see [`Targets::epoch`].
    pub(crate) fn epoch(&self) -> u64 {
        self.shared.targets.epoch()
    }

    fn read(&self) -> RwLockReadGuard<'_, Registry> {
        self.shared.registry.read()
    }

    fn write(&self) -> RwLockWriteGuard<'_, Registry> {
        self.shared.registry.write()
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
    /// What its rate follows from.
    pub law: LawName,
    /// What the law holds to be true.
    pub phase: Phase,
    /// The server's own rate, in calls per second, where the law has measured it.
    pub measured_rps: Option<f64>,
    /// The present rate, in calls per second.
    pub rate_rps: f64,
    /// The rate that the settings allow, in calls per second; where they name none, the fastest so far.
    pub ceiling_rps: f64,
    /// How many calls may go at once after a quiet time.
    pub burst: f64,
    /// Whether ceiling and burst are [what the provider publishes](crate::catalogue).
    pub published: bool,
    /// Tokens ready now; negative while a large cost is paid off.
    pub tokens: f64,
    /// How much longer the scope is paused, if it is.
    pub paused_for: Option<Duration>,
    /// What the server says is left, if it tells: of several quotas, the one that allows the least. It holds the scope
    /// where the rate is not the law's but its [`allows_rps`](QuotaView::allows_rps).
    pub quota: Option<QuotaView>,
    /// The limit that the server named ([`Attempt::limit_told`](crate::Attempt::limit_told)), in calls per second, while it is
    /// believed. The rate is not above it.
    pub limit_rps: Option<f64>,
    /// The buckets that its calls take from besides their own, the narrowest first.
    pub shared: Vec<SharedInspection>,
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

/// The state of a bucket that scopes share.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SharedInspection {
    /// Whose it is: the parts that those who share it have in common, and its name in an operation's place.
    pub scope: Scope,
    /// The present rate, in calls per second, or in units where it counts those.
    pub rate_rps: f64,
    /// The rate that is allowed, or the fastest so far where no limit is known.
    pub ceiling_rps: f64,
    /// How many may go at once after a quiet time.
    pub burst: f64,
    /// Whether ceiling and burst are [what the provider publishes](crate::catalogue).
    pub published: bool,
    /// Tokens ready now; negative while a large cost is paid off.
    pub tokens: f64,
    /// How much longer it is paused, if it is.
    pub paused_for: Option<Duration>,
    /// What the server says is left, if it tells.
    pub quota: Option<QuotaView>,
    /// The limit that the server named, while it is believed.
    pub limit_rps: Option<f64>,
    /// Calls in line for its tokens.
    pub waiting: usize,
}

impl SharedInspection {
    fn new(bucket: &Bucket, now: Timestamp) -> Self {
        let view = bucket.view(now);
        SharedInspection {
            scope: bucket.scope().clone(),
            rate_rps: view.rate_rps,
            ceiling_rps: view.ceiling_rps,
            burst: view.burst,
            published: view.published,
            tokens: view.tokens,
            paused_for: view.paused_for,
            quota: view.quota,
            limit_rps: view.limit_rps,
            waiting: view.waiting,
        }
    }
}

// ===== the process-wide governor =====

fn process_wide() -> &'static RwLock<Governor> {
    static GOVERNOR: OnceLock<RwLock<Governor>> = OnceLock::new();
    GOVERNOR.get_or_init(|| RwLock::new(Governor::default()))
}

/// The process-wide governor: what front ends use unless given another.
pub fn get_governor() -> Governor {
    process_wide().read().clone()
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
    *process_wide().write() = fresh.clone();
    fresh
}
