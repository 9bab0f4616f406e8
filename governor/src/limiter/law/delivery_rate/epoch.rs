//! What was delivered since the server's bucket was last known to be empty.

use std::time::Duration;

use super::figures::{INSTANT, MOST_CHARGED, WHOLE};
use crate::clock::Timestamp;

/// What was delivered since the server's bucket was last known to be empty.
#[derive(Debug, Clone, Copy)]
pub(super) struct Epoch {
    pub(super) since: Timestamp,
    pub(super) delivered: f64,
    /// The beginning of the present spell of calls; not before `since`.
    pub(super) busy_since: Timestamp,
    pub(super) busy_delivered: f64,
    /// Seconds in which more could have been sent.
    unused: f64,
    /// Of what was delivered, what failed in another way.
    pub(super) failed: f64,
    /// Throttles that were charged to it.
    charged: f64,
}

/// The seconds of an epoch in which what was sent can have been answered.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spans {
    pub(super) all: f64,
    /// Of the present spell of calls.
    busy: f64,
    /// In which no more could have been sent.
    used: f64,
}

impl Spans {
    /// Whether calls were sent as fast as could be all the time: then what was delivered is the server's refill.
    pub(super) fn is_whole(&self) -> bool {
        self.busy.min(self.used) >= WHOLE * self.all
    }
}

impl Epoch {
    pub(super) fn new(now: Timestamp) -> Self {
        Epoch {
            since: now,
            delivered: 0.0,
            busy_since: now,
            busy_delivered: 0.0,
            unused: 0.0,
            failed: 0.0,
            charged: 0.0,
        }
    }

    /// A throttle is charged to it, up to the most that one event costs. Says whether it was.
    pub(super) fn charge(&mut self) -> bool {
        let is_charged = self.charged < MOST_CHARGED;
        if is_charged {
            self.charged += 1.0;
        }
        is_charged
    }

    /// A request sent at `sent_at` was let through.
    pub(super) fn deliver(&mut self, sent_at: Timestamp, cost: f64, failed: bool) {
        if sent_at >= self.since {
            self.delivered += cost;
            self.failed += if failed { cost } else { 0.0 };
        }
        if sent_at >= self.busy_since {
            self.busy_delivered += cost;
        }
    }

    /// A new spell of calls begins, before which the server's bucket may have filled up.
    pub(super) fn begin_spell(&mut self, now: Timestamp) {
        self.busy_since = now;
        self.busy_delivered = 0.0;
    }

    /// More could have been sent for so long.
    pub(super) fn leave_unused(&mut self, time: Duration) {
        self.unused += time.as_secs_f64();
    }

    /// Of answers that take `latency` seconds.
    pub(super) fn spans(&self, now: Timestamp, latency: f64) -> Spans {
        let answerable = |since: Timestamp| {
            let elapsed = now.since(since).as_secs_f64();
            (elapsed - latency.min(elapsed / 2.0)).max(INSTANT)
        };
        let all = answerable(self.since);
        Spans { all, busy: answerable(self.busy_since), used: (all - self.unused).clamp(INSTANT, all) }
    }

    /// The highest rate that the server can have, with so many calls more than were delivered.
    ///
    /// What was delivered in a spell of calls may include what was saved up before it.
    pub(super) fn upper(&self, spans: Spans, more: f64) -> f64 {
        let spell = (self.busy_delivered + more) / spans.busy;
        ((self.delivered + more) / spans.used).max(spell)
    }

    /// The lowest, with so many calls less: the server may have been full at times.
    pub(super) fn lower(&self, spans: Spans, less: f64) -> f64 {
        (self.delivered - less).max(0.0) / spans.all
    }
}
