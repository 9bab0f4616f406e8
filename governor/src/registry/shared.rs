//! The buckets that scopes share: of an account, of a group of operations, of an organization.

use std::collections::HashMap;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use super::targets::Targets;
use super::{LOOK_AGAIN, MAX_LEAVES, oldest_tenth};
use crate::breaker::BreakerState;
use crate::clock::Timestamp;
use crate::config::{Config, Limits, ProviderSettings, SharedLimit};
use crate::limiter::Bucket;
use crate::scope::Scope;
use crate::stats::SlowedBucket;

#[derive(Debug, Default)]
pub(super) struct SharedBuckets {
    known: HashMap<Scope, Known>,
    /// Until then there are as many as may be, and every one is in use.
    full_until: Timestamp,
}

#[derive(Debug)]
struct Known {
    bucket: Arc<Bucket>,
    /// One of the scopes that shared it, by which its limits are found again.
    example: Scope,
    /// When a scope was last found to share it.
    found_at: Timestamp,
}

impl Known {
    /// What is set for it, if it is to be there at all.
    fn limit(&self, settings: &ProviderSettings) -> Option<SharedLimit> {
        settings.limit_of_shared(self.bucket.scope(), &self.example)
    }
}

impl SharedBuckets {
    /// The bucket of this limit, which `scope` is among those to share. None where there are too many in use.
    pub(super) fn get(
        &mut self,
        limit: SharedLimit,
        scope: &Scope,
        targets: &Targets,
        now: Timestamp,
        wall: Duration,
    ) -> Option<Arc<Bucket>> {
        if let Some(known) = self.known.get_mut(&limit.scope) {
            known.found_at = now;
            return Some(Arc::clone(&known.bucket));
        }
        if !self.has_room(targets, now) {
            return None;
        }
        let SharedLimit { scope: whose, limits, throttle } = limit;
        let bucket = Arc::new(Bucket::new(whose.clone(), limits, throttle, now, wall));
        self.known.insert(whose, Known { bucket: Arc::clone(&bucket), example: scope.clone(), found_at: now });
        Some(bucket)
    }

    /// Whether one more may exist; makes room if need be. Where none could be made it is not looked for again for a while, as with
    /// leaves.
    fn has_room(&mut self, targets: &Targets, now: Timestamp) -> bool {
        if self.known.len() < MAX_LEAVES {
            return true;
        }
        if now < self.full_until {
            return false;
        }
        targets.purge();
        self.drop_unused(now);
        if self.known.len() >= MAX_LEAVES {
            self.forget_oldest();
        }
        let room = self.known.len() < MAX_LEAVES;
        if !room {
            self.full_until = now + LOOK_AGAIN;
        }
        room
    }

    /// Forgets the tenth of them that have been out of use the longest, for all that they learned.
    fn forget_oldest(&mut self) {
        let unused = self.known.iter().filter(|(_, known)| Arc::strong_count(&known.bucket) == 1);
        let unused = unused.map(|(whose, known)| (known.found_at, whose.clone())).collect();
        for whose in oldest_tenth(unused) {
            self.known.remove(&whose);
        }
    }

    pub(super) fn find(&self, whose: &Scope) -> Option<&Arc<Bucket>> {
        self.known.get(whose).map(|known| &known.bucket)
    }

    /// Forgets those that no scope has and that are as good as new.
    pub(super) fn drop_unused(&mut self, now: Timestamp) {
        self.known.retain(|_, known| Arc::strong_count(&known.bucket) > 1 || !known.bucket.is_neutral(now));
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
        self.known.retain(|whose, known| {
            if whose.provider() != provider {
                return true;
            }
            let limit = known.limit(settings);
            let is_kept = limit.is_some();
            wakers.extend(match limit {
                Some(SharedLimit { limits, throttle, .. }) => known.bucket.reconfigure(limits, throttle, now, wall),
                None => known.bucket.open(now, wall),
            });
            if !settings.enabled {
                wakers.extend(known.bucket.wakers());
            }
            is_kept
        });
        wakers
    }

    /// Each with the limits that are set for it.
    pub(super) fn limits<'a>(&'a self, config: &'a Config) -> impl Iterator<Item = (Arc<Bucket>, Limits)> + 'a {
        self.known.iter().filter_map(|(whose, known)| {
            let limit = known.limit(&config.provider(whose.provider()))?;
            Some((Arc::clone(&known.bucket), limit.limits))
        })
    }

    /// Those that are wanted.
    pub(super) fn slowed<'a>(
        &'a self,
        now: Timestamp,
        wanted: &'a impl Fn(&Scope) -> bool,
    ) -> impl Iterator<Item = SlowedBucket> + 'a {
        let known = self.known.values().filter(|known| wanted(known.bucket.scope()));
        known.map(move |known| SlowedBucket::new(known.bucket.scope(), known.bucket.view(now), BreakerState::Closed))
    }
}
