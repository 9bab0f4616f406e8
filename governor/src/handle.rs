//! A scope resolved once, for calls that go there again and again.

use std::sync::Arc;

use crate::call::Call;
use crate::governor::Governor;
use crate::registry::Target;
use crate::scope::Scope;
use crate::sync::Mutex;

/// A scope with what its calls share already found: [`call`](Handle::call) looks nothing up.
///
/// It follows its governor: after [`configure`](crate::configure) its calls go by the new settings, with a bucket of
/// their own if operations have them now. While it is kept, so is what it found, learned rate and circuit included,
/// however long it is idle. A governor that [`reset_governor`](crate::reset_governor) has replaced stays the handle's.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// use cloud_governor::{Governor, Outcome, Scope};
///
/// let governor = Governor::builder().build();
/// let repos = governor.handle(&Scope::new("github", "octo-org", "", "rest").with_operation("ListRepos"));
/// for _ in 0..3 {
///     let attempt = repos.call().admit().await.unwrap();
///     attempt.finish(Outcome::Success);
/// }
/// assert_eq!(governor.summary().totals.calls, 3);
/// # });
/// ```
#[derive(Debug)]
pub struct Handle {
    governor: Governor,
    found: Found,
    /// What was found since the settings changed.
    newer: Mutex<Option<Found>>,
}

#[derive(Debug, Clone)]
struct Found {
    target: Arc<Target>,
    /// The settings that it was found under; zero where it is not to be used again.
    epoch: u64,
}

impl Found {
    fn find(governor: &Governor, scope: &Scope) -> Self {
        // Before the look-up, so that a change meanwhile shows later.
        let epoch = governor.epoch();
        let target = governor.target(scope);
        // No settings in force have the number zero.
        Found { epoch: if target.is_makeshift() { 0 } else { epoch }, target }
    }

    fn holds(&self, epoch: u64) -> bool {
        self.epoch == epoch
    }
}

impl Handle {
    pub(crate) fn new(governor: Governor, scope: &Scope) -> Self {
        Handle { found: Found::find(&governor, scope), governor, newer: Mutex::new(None) }
    }

    /// Begins one logical call.
    #[inline]
    pub fn call(&self) -> Call {
        Call::new(self.target())
    }

    /// The scope.
    pub fn scope(&self) -> &Scope {
        &self.found.target.scope
    }

    /// The governor it belongs to.
    pub fn governor(&self) -> &Governor {
        &self.governor
    }

    #[inline]
    fn target(&self) -> Arc<Target> {
        let epoch = self.governor.epoch();
        if self.found.holds(epoch) { Arc::clone(&self.found.target) } else { self.newer(epoch).target }
    }

    /// Apart from [`target`](Self::target): settings seldom change.
    #[inline(never)]
    fn newer(&self, epoch: u64) -> Found {
        let known = self.newer.lock().clone().filter(|found| found.holds(epoch));
        known.unwrap_or_else(|| {
            let found = Found::find(&self.governor, self.scope());
            // The one it replaces may be the last to hold a leaf: it goes without the lock.
            let replaced = self.newer.lock().replace(found.clone());
            drop(replaced);
            found
        })
    }
}

impl Clone for Handle {
    /// The clone has found what holds now.
    fn clone(&self) -> Self {
        let epoch = self.governor.epoch();
        let found = if self.found.holds(epoch) { self.found.clone() } else { self.newer(epoch) };
        Handle { governor: self.governor.clone(), found, newer: Mutex::new(None) }
    }
}
