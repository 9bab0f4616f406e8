//! The registry: which bucket, breaker, bulkhead and budget a scope has.
//!
//! A [`Leaf`] is what one scope's calls share: the bucket and the breaker, per account, region and service, and per
//! operation where the settings say so. Leaves of one account share its bulkhead, those of one provider its retry
//! budget. Leaves that are idle and as good as new are forgotten, so that a scan of ten thousand accounts does not
//! keep ten thousand buckets; [`MAX_LEAVES`] holds whatever happens.
//!
//! Calls find what they need in [`Targets`], without the registry's lock, and come here for what is not there.

mod leaf;
mod shared;
mod targets;

use std::collections::HashMap;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use crate::bulkhead::Bulkhead;
use crate::clock::{Timestamp, wall};
use crate::config::{Config, Limits, ProviderSettings};
use crate::limiter::Bucket;
use crate::scope::Scope;
use crate::stats::{SlowedBucket, Totals};
pub(crate) use leaf::{Leaf, Provider, Shared, Target};
use shared::SharedBuckets;
pub(crate) use targets::Targets;

/// The most leaves that exist at once. Beyond it, an unused one goes for each that comes, and while none is unused the
/// newcomers of a provider share one.
pub const MAX_LEAVES: usize = 50_000;

/// How long a neutral leaf is kept after its last call.
const KEEP_IDLE: Duration = Duration::from_secs(600);

/// Under this many leaves, none is forgotten: looking costs more than keeping.
const FIRST_SWEEP: usize = 1_024;

/// How long after room was looked for in vain it is looked for again.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

// ===== the registry =====

/// Every scope that is known.
#[derive(Debug)]
pub(crate) struct Registry {
    pub(crate) config: Config,
    pub(crate) providers: HashMap<Box<str>, Arc<Provider>>,
    /// By account scope.
    bulkheads: HashMap<Scope, Arc<Bulkhead>>,
    pub(crate) leaves: HashMap<Scope, Arc<Leaf>>,
    /// Those that leaves share.
    buckets: SharedBuckets,
    shared: Arc<Shared>,
    sweep_at: usize,
    /// Until then the hard cap is reached and every leaf is in use.
    full_until: Timestamp,
    /// Counts of leaves that were forgotten.
    retired: Totals,
    /// Leaves that were forgotten with calls under way, which still count there.
    retiring: Vec<Arc<Leaf>>,
}

/// The scope whose state a call shares: without the operation, unless operations have limits of their own.
pub(crate) fn leaf_scope(scope: &Scope, settings: &ProviderSettings) -> Scope {
    if settings.is_per_operation(scope) { scope.clone() } else { scope.service_scope() }
}

/// Of all these, a tenth of the most there may be: those that were used the longest ago.
fn oldest_tenth(mut unused: Vec<(Timestamp, Scope)>) -> impl Iterator<Item = Scope> {
    // Not sorted: a million scopes in turn come here two hundred times.
    let oldest = (MAX_LEAVES / 10).min(unused.len());
    if oldest < unused.len() {
        unused.select_nth_unstable_by_key(oldest, |(used_at, _)| *used_at);
    }
    unused.into_iter().take(oldest).map(|(_, scope)| scope)
}

impl Registry {
    pub(crate) fn new(config: Config, shared: Arc<Shared>) -> Self {
        Registry {
            config,
            shared,
            providers: HashMap::new(),
            bulkheads: HashMap::new(),
            leaves: HashMap::new(),
            buckets: SharedBuckets::default(),
            sweep_at: FIRST_SWEEP,
            full_until: Timestamp::ZERO,
            retired: Totals::default(),
            retiring: Vec::new(),
        }
    }

    pub(crate) fn provider(&mut self, name: &str) -> Arc<Provider> {
        if let Some(known) = self.providers.get(name) {
            return Arc::clone(known);
        }
        let provider = Arc::new(Provider::new(self.config.provider(name), Arc::clone(&self.shared)));
        self.providers.insert(name.into(), Arc::clone(&provider));
        provider
    }

    /// Resolves a scope that is not among the targets.
    pub(crate) fn target(&mut self, scope: &Scope, targets: &Targets, now: Timestamp) -> Arc<Target> {
        // Another thread may have come first.
        if let Some(known) = targets.find(scope) {
            return known;
        }
        let provider = self.provider(scope.provider());
        let settings = provider.settings();
        let key = leaf_scope(scope, &settings);
        let leaf = self.leaf(&key, provider, &settings, targets, now);
        let wall = wall(&*self.shared.clock);
        let mut makeshift = *leaf.scope() != key;
        let mut shared = Vec::new();
        for limit in settings.shared_for(scope) {
            match self.buckets.get(limit, scope, targets, now, wall) {
                Some(bucket) => shared.push(bucket),
                None => makeshift = true,
            }
        }
        let target = Arc::new(Target::new(scope.clone(), leaf, Arc::clone(&settings), shared, makeshift));
        if !target.is_makeshift() {
            targets.put(&target);
        }
        target
    }

    fn leaf(
        &mut self,
        key: &Scope,
        provider: Arc<Provider>,
        settings: &ProviderSettings,
        targets: &Targets,
        now: Timestamp,
    ) -> Arc<Leaf> {
        if let Some(known) = self.leaves.get(key) {
            return Arc::clone(known);
        }
        let key = if self.has_room(targets, now) { key.clone() } else { Scope::new(key.provider(), "", "", "") };
        if let Some(known) = self.leaves.get(&key) {
            return Arc::clone(known);
        }
        let bulkhead = self
            .bulkheads
            .entry(key.account_scope())
            .or_insert_with(|| Arc::new(Bulkhead::new(settings.account_concurrency)));
        let leaf = Arc::new(Leaf::new(key.clone(), provider, Arc::clone(bulkhead), settings, now));
        self.leaves.insert(key, Arc::clone(&leaf));
        leaf
    }

    /// Whether one more leaf may exist; makes room if need be. Where none could be made it is not looked for again for
    /// a while: that goes through every leaf, and all callers wait for it.
    fn has_room(&mut self, targets: &Targets, now: Timestamp) -> bool {
        if self.leaves.len() < self.sweep_at.min(MAX_LEAVES) {
            return true;
        }
        if now < self.full_until {
            return false;
        }
        targets.purge();
        self.sweep(now);
        let room = self.leaves.len() < MAX_LEAVES || self.forget_oldest(now);
        if !room {
            self.full_until = now + LOOK_AGAIN;
        }
        room
    }

    /// Forgets leaves that are idle and as good as new, and what only they used.
    fn sweep(&mut self, now: Timestamp) {
        let idle = |leaf: &Arc<Leaf>| {
            Arc::strong_count(leaf) == 1 && now.since(leaf.used_at()) >= KEEP_IDLE && leaf.is_neutral(now)
        };
        let gone: Vec<Scope> =
            self.leaves.iter().filter(|(_, leaf)| idle(leaf)).map(|(scope, _)| scope.clone()).collect();
        gone.iter().for_each(|scope| self.forget(scope));
        self.drop_unused(now);
        self.sweep_at = (self.leaves.len() * 2).max(FIRST_SWEEP);
    }

    /// Makes room by forgetting the tenth of the leaves that have been out of use the longest. False if all are in use.
    fn forget_oldest(&mut self, now: Timestamp) -> bool {
        let unused = self.leaves.iter().filter(|(_, leaf)| Arc::strong_count(leaf) == 1);
        let unused = unused.map(|(scope, leaf)| (leaf.used_at(), scope.clone())).collect();
        oldest_tenth(unused).for_each(|scope| self.forget(&scope));
        self.drop_unused(now);
        self.leaves.len() < MAX_LEAVES
    }

    fn forget(&mut self, scope: &Scope) {
        if let Some(leaf) = self.leaves.remove(scope) {
            self.retiring.push(leaf);
        }
    }

    /// Also those that were forgotten with calls under way.
    pub(crate) fn all_leaves(&self) -> impl Iterator<Item = &Arc<Leaf>> {
        self.leaves.values().chain(&self.retiring)
    }

    /// Counts of leaves that were forgotten, to the present.
    pub(crate) fn forgotten(&self) -> Totals {
        let mut totals = self.retired;
        self.retiring.iter().for_each(|leaf| totals.add(&leaf.counters().totals()));
        totals
    }

    /// Adds up what no call counts in any more.
    fn settle_retiring(&mut self) {
        let retired = &mut self.retired;
        self.retiring.retain(|leaf| {
            let counting = Arc::strong_count(leaf) > 1;
            if !counting {
                retired.add(&leaf.counters().totals());
            }
            counting
        });
    }

    /// Bulkheads and providers that no leaf uses any more, as good as new.
    fn drop_unused(&mut self, now: Timestamp) {
        self.settle_retiring();
        self.buckets.drop_unused(now);
        self.bulkheads.retain(|_, bulkhead| Arc::strong_count(bulkhead) > 1 || bulkhead.in_use() > 0);
        self.providers.retain(|_, provider| Arc::strong_count(provider) > 1 || !provider.budget.is_full());
    }

    /// Says whom to wake once the registry is free again.
    pub(crate) fn reconfigure(&mut self, config: Config, targets: &Targets, now: Timestamp) -> Vec<Waker> {
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
        targets.clear();
        changed.iter().flat_map(|name| self.reconfigure_scopes(name, now)).collect()
    }

    fn reconfigure_scopes(&mut self, provider: &str, now: Timestamp) -> Vec<Waker> {
        let Some(known) = self.providers.get(provider) else { return Vec::new() };
        let settings = known.settings();
        let wall = wall(&*self.shared.clock);
        let mut wakers = self.buckets.reconfigure(provider, &settings, now, wall);
        for (account, bulkhead) in &self.bulkheads {
            if account.provider() == provider {
                wakers.extend(bulkhead.resize(settings.account_concurrency));
            }
        }
        // Those that were forgotten with calls under way, too: some may be in line there.
        for leaf in self.all_leaves().filter(|leaf| leaf.scope().provider() == provider) {
            let limits = settings.limits_for(leaf.scope());
            let throttle = known.throttle_for(&settings, leaf.scope());
            wakers.extend(leaf.bucket().reconfigure(limits, throttle, now, wall));
            if !settings.enabled {
                // Nobody waits for what holds no more.
                wakers.extend(leaf.bucket().wakers());
                wakers.extend(leaf.bulkhead().wakers());
            }
        }
        let mut regrouped = Vec::new();
        for (scope, leaf) in self.leaves.iter().filter(|(scope, _)| scope.provider() == provider) {
            if leaf_scope(scope, &settings) != *scope {
                regrouped.push(scope.clone());
                continue;
            }
            leaf.breaker().reconfigure(settings.breaker.failures, settings.breaker.cooldown);
        }
        // Operations that no longer have limits of their own. Calls under way keep the old leaf to their end, at their service's rate.
        regrouped.iter().for_each(|scope| self.forget(scope));
        self.settle_retiring();
        wakers
    }

    /// Every bucket with the limits that are set for it.
    pub(crate) fn limits(&self) -> Vec<(Arc<Bucket>, Limits)> {
        let own = |leaf: &Arc<Leaf>| (Arc::clone(leaf.bucket()), leaf.settings().limits_for(leaf.scope()));
        self.all_leaves().map(own).chain(self.buckets.limits(&self.config)).collect()
    }

    /// Those that a scope's calls take from besides their own.
    pub(crate) fn shared_with<'a>(
        &'a self,
        scope: &Scope,
        settings: &ProviderSettings,
    ) -> impl Iterator<Item = &'a Arc<Bucket>> {
        settings.shared_for(scope).into_iter().filter_map(|limit| self.buckets.find(&limit.scope))
    }

    /// Of the wanted leaves, and of the wanted buckets that leaves share.
    pub(crate) fn slowed(
        &self,
        now: Timestamp,
        leaves: impl Fn(&Scope) -> bool,
        shared: impl Fn(&Scope) -> bool,
    ) -> Vec<SlowedBucket> {
        let mut slowed: Vec<SlowedBucket> = self
            .leaves
            .values()
            .filter(|leaf| leaves(leaf.scope()))
            .map(|leaf| leaf.slowed(now))
            .chain(self.buckets.slowed(now, &shared))
            .filter(SlowedBucket::is_slowed)
            .collect();
        slowed.sort_by(|a, b| a.scope.cmp(&b.scope));
        slowed
    }
}
