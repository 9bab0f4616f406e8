//! A server that serves nothing, and when to ask it again.

use std::time::Duration;

use super::figures::PROBE_AFTER;
use crate::clock::Timestamp;

/// A server that serves nothing.
#[derive(Debug, Clone, Copy)]
pub(super) struct Closed {
    /// When it was noticed.
    pub(super) noticed: Timestamp,
    pub(super) probe_at: Timestamp,
    /// Probes that were sent.
    pub(super) probes: usize,
}

impl Closed {
    pub(super) fn new(now: Timestamp) -> Self {
        let [first, ..] = PROBE_AFTER;
        Closed { noticed: now, probe_at: now + first, probes: 0 }
    }

    /// How long the next probe waits.
    pub(super) fn pause(&self) -> Duration {
        let [.., last] = PROBE_AFTER;
        PROBE_AFTER.get(self.probes).copied().unwrap_or(last)
    }
}
