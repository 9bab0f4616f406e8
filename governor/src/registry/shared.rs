//! The buckets that scopes share: of an account, of a group of operations, of an organization.

use std::collections::HashMap;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use super::MAX_LEAVES;
use crate::breaker::BreakerState;
use crate::clock::Timestamp;
use crate::config::{Config, Limits, ProviderSettings, SharedLimit};
use crate::limiter::Bucket;
use crate::scope::Scope;
use crate::stats::SlowedBucket;

#[derive(Debug, Default)]
pub(super) struct SharedBuckets(HashMap<Scope, Known>);

#[derive(Debug)]
struct Known {
    bucket: Arc<Bucket>,
    /// One of the scopes that shared it, by which its limits are found again.
    example: Scope,
}

impl Known {
    /// What is set for it, if it is to be there at all.
    fn limit(&self, settings: &ProviderSettings) -> Option<SharedLimit> {
        settings.limit_of_shared(self.bucket.scope(), &self.example)
    }
}

impl SharedBuckets {
    /// The bucket of this limit, which `scope` is among those to share. None where there are too many.
    pub(super) fn get(
        &mut self,
        limit: SharedLimit,
        scope: &Scope,
        now: Timestamp,
        wall: Duration,
    ) -> Option<Arc<Bucket>> {
        if let Some(known) = self.0.get(&limit.scope) {
            return Some(Arc::clone(&known.bucket));
        }
        if self.0.len() >= MAX_LEAVES {
            return None;
        }
        let SharedLimit { scope: whose, limits, throttle } = limit;
        let bucket = Arc::new(Bucket::new(whose.clone(), limits, throttle, now, wall));
        self.0.insert(whose, Known { bucket: Arc::clone(&bucket), example: scope.clone() });
        Some(bucket)
    }

    pub(super) fn find(&self, whose: &Scope) -> Option<&Arc<Bucket>> {
        self.0.get(whose).map(|known| &known.bucket)
    }

    /// Forgets those that no scope has and that are as good as new.
    pub(super) fn drop_unused(&mut self, now: Timestamp) {
        self.0.retain(|_, known| Arc::strong_count(&known.bucket) > 1 || !known.bucket.is_neutral(now));
    }

    /// Puts a provider's new settings into force. Calls under way keep one that is to be no more to their end, and nobody in
    /// its line waits for it any longer.
    pub(super) fn reconfigure(
        &mut self,
        provider: &str,
        settings: &ProviderSettings,
        now: Timestamp,
        wall: Duration,
    ) -> Vec<Waker> {
        let mut wakers = Vec::new();
        self.0.retain(|whose, known| {
            if whose.provider() != provider {
                return true;
            }
            let limit = known.limit(settings);
            let (limits, throttle) = match &limit {
                Some(limit) => (limit.limits, limit.throttle.clone()),
                None => (Limits::boundless(), settings.throttle.clone()),
            };
            wakers.extend(known.bucket.reconfigure(limits, throttle, now, wall));
            limit.is_some()
        });
        wakers
    }

    /// Each with the limits that are set for it.
    pub(super) fn limits<'a>(&'a self, config: &'a Config) -> impl Iterator<Item = (Arc<Bucket>, Limits)> + 'a {
        self.0.iter().filter_map(|(whose, known)| {
            let limit = known.limit(&config.provider(whose.provider()))?;
            Some((Arc::clone(&known.bucket), limit.limits))
        })
    }

    /// Those that one of the wanted scopes shares.
    pub(super) fn slowed<'a>(
        &'a self,
        now: Timestamp,
        wanted: &'a impl Fn(&Scope) -> bool,
    ) -> impl Iterator<Item = SlowedBucket> + 'a {
        let known = self.0.values().filter(|known| wanted(known.bucket.scope()));
        known.map(move |known| SlowedBucket::new(known.bucket.scope(), known.bucket.view(now), BreakerState::Closed))
    }
}
