//! What a failed answer says of the limit that was met.

use std::time::Duration;

use super::Attempt;

/// A limit that a server names in its answer, and whose it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToldLimit {
    calls: u64,
    per: Duration,
    shared: Option<String>,
}

impl ToldLimit {
    /// So many `calls` in so long, of the scope's own bucket.
    pub fn new(calls: u64, per: Duration) -> Self {
        ToldLimit { calls, per, shared: None }
    }

    /// The same of the bucket that the scope shares under this name: `organization-list-assets`.
    #[must_use]
    pub fn of_shared(self, name: impl Into<String>) -> Self {
        ToldLimit { shared: Some(name.into()), ..self }
    }
}

impl Attempt {
    /// [`limit_told`](Self::limit_told) or [`shared_limit_told`](Self::shared_limit_told), whosever the limit is.
    pub fn told(&self, limit: &ToldLimit) {
        match &limit.shared {
            Some(name) => self.shared_limit_told(name, limit.calls, limit.per),
            None => self.limit_told(limit.calls, limit.per),
        }
    }
}
