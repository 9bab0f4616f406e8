//! A server that serves nothing, and when to ask it again.

use std::time::Duration;

use super::figures::PROBE_AFTER;
use crate::clock::Timestamp;

/// A server that serves nothing.
#[derive(Debug, Clone, Copy)]
pub(super) struct Closed {
    /// Since when nothing was delivered.
    pub(super) since: Timestamp,
    /// When that was noticed.
    pub(super) noticed: Timestamp,
    pub(super) probe_at: Timestamp,
    /// Probes that were sent.
    pub(super) probes: usize,
    /// It opens by itself, as was seen before.
    pub(super) by_turns: bool,
}

impl Closed {
    /// How long the next probe waits.
    pub(super) fn pause(&self) -> Duration {
        let [.., last] = PROBE_AFTER;
        if self.by_turns {
            return u32::try_from(self.probes)
                .ok()
                .and_then(|n| 1_u64.checked_shl(n))
                .map_or(last, Duration::from_secs)
                .min(last);
        }
        PROBE_AFTER.get(self.probes).copied().unwrap_or(last)
    }
}
