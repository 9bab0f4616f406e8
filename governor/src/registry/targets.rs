//! Resolved scopes, to be found without the registry's lock.
//!
//! A cache: whatever is not here is resolved by the registry and put here. It is in shards, so that threads which look
//! up different scopes do not meet, and each shard's lock is held for one look-up.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hashbrown::HashTable;

use super::leaf::Target;
use crate::scope::Scope;
use crate::sync::RwLock;

const SHARDS: usize = 64;

/// A shard holds at least as many before it is looked at for what can go.
const FIRST_PURGE: usize = 1_024;

#[derive(Debug)]
pub(crate) struct Targets {
    shards: [Shard; SHARDS],
    /// Which settings are in force: what was resolved under others is out of date.
    epoch: AtomicU64,
}

/// On a cache line of its own, so that a thread in one shard does not slow those in others.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Shard(RwLock<Entries>);

#[derive(Debug)]
struct Entries {
    table: HashTable<Arc<Target>>,
    purge_at: usize,
}

impl Default for Entries {
    fn default() -> Self {
        Entries { table: HashTable::new(), purge_at: FIRST_PURGE }
    }
}

impl Entries {
    /// Takes out those that no call and no handle uses.
    fn purge(&mut self) {
        self.table.retain(|target| Arc::strong_count(target) > 1);
        // What is left is in use; the next look comes when as much has been added, so that looking stays cheap.
        self.purge_at = (self.table.len() * 2).max(FIRST_PURGE);
    }
}

impl Targets {
    pub(crate) fn new() -> Self {
        Targets { shards: std::array::from_fn(|_| Shard::default()), epoch: AtomicU64::new(1) }
    }

    /// The settings in force, as a number that a change makes greater. Never zero.
    pub(crate) fn epoch(&self) -> u64 {
        // A call that begins while settings change goes by either.
        self.epoch.load(Ordering::Relaxed)
    }

    pub(crate) fn find(&self, scope: &Scope) -> Option<Arc<Target>> {
        let entries = self.shard(scope).0.read();
        entries.table.find(scope.hash_value(), |target| target.scope == *scope).map(Arc::clone)
    }

    /// To be called under the registry's lock, so that what is put here is not out of date already.
    pub(super) fn put(&self, target: &Arc<Target>) {
        let mut entries = self.shard(&target.scope).0.write();
        if entries.table.len() >= entries.purge_at {
            entries.purge();
        }
        let hash = target.scope.hash_value();
        entries.table.insert_unique(hash, Arc::clone(target), |known| known.scope.hash_value());
    }

    /// Forgets those that nothing uses, so that their leaves can go.
    pub(super) fn purge(&self) {
        self.shards.iter().for_each(|shard| shard.0.write().purge());
    }

    /// Forgets all: the settings have changed. To be called under the registry's lock.
    pub(super) fn clear(&self) {
        self.shards.iter().for_each(|shard| *shard.0.write() = Entries::default());
        self.epoch.fetch_add(1, Ordering::Release);
    }

    fn shard(&self, scope: &Scope) -> &Shard {
        // The table goes by the ends of the hash.
        &self.shards[(scope.hash_value() >> 32) as usize % SHARDS]
    }
}
