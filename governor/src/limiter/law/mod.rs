//! The control laws: how fast one scope may go, and what a throttle, an answer and a spell without callers do to it.
//!
//! A [`Law`] owns the rate and nothing else: tokens, pauses and those who wait are the bucket's. Every method takes
//! the time; none reads a clock.
//!
//! | law | what a throttle does | what time does | file |
//! |---|---|---|---|
//! | `aimd` | halves the rate, at most once a second | a twentieth of the ceiling every five quiet seconds | `aimd.rs` |
//! | `delivery_rate` | sets the rate to what was delivered since the last one | holds, then probes for more | `delivery_rate/` |

mod aimd;
mod delivery_rate;

use std::fmt;
use std::sync::Arc;

use crate::clock::Timestamp;
use crate::config::{LawName, Limits, ThrottleSettings};
use aimd::Aimd;
use delivery_rate::DeliveryRate;

/// What a law holds to be true of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Phase {
    /// Nothing was throttled yet: the rate is the configured one, or grows while callers wait.
    Searching,
    /// It was throttled not long ago: the rate stays as it is.
    Holding,
    /// The last throttle is a while back: the rate rises.
    Probing,
    /// The server serves nothing at all: single calls find out when it does again.
    Closed,
}

impl Phase {
    /// A stable name in snake_case.
    pub const fn code(self) -> &'static str {
        match self {
            Phase::Searching => "searching",
            Phase::Holding => "holding",
            Phase::Probing => "probing",
            Phase::Closed => "closed",
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

/// What an answer did to the rate.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct AnswerEffect {
    /// The rate before and after, if it was raised by enough to be told.
    pub(crate) raised: Option<(f64, f64)>,
    /// It ended a closure.
    pub(super) reopened: bool,
}

/// An answer that was no throttle.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Answer {
    /// When the attempt was sent.
    pub(crate) sent_at: Timestamp,
    /// What it cost, in tokens.
    pub(crate) cost: f64,
    pub(crate) kind: AnswerKind,
}

/// What an answer was that was no throttle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AnswerKind {
    /// A success.
    Served,
    /// An error of the caller's, from a service that is up.
    Refused,
    /// A failure that may pass. The server's limiter had let it through, as far as one can know.
    Failed,
}

/// What every law can do.
pub(super) trait Control: fmt::Debug + Send {
    /// The limits in force.
    fn limits(&self) -> Limits;

    /// Tokens per second; finite, from the floor to the ceiling.
    fn rate(&self) -> f64;

    /// The rate that is allowed. Where none was configured, the fastest so far.
    fn ceiling(&self) -> f64;

    /// How many tokens can lie ready; at least one.
    fn capacity(&self) -> f64;

    /// How many calls may go at once after a quiet time, if nothing is throttled.
    fn burst(&self) -> f64;

    /// A request sent at `sent_at` was throttled, with so many tokens ready here. Says the rate before and after a cut; none if
    /// this is still the last congestion event.
    fn throttled(&mut self, now: Timestamp, sent_at: Timestamp, tokens: f64) -> Option<(f64, f64)>;

    /// A request was answered and not throttled.
    fn answered(&mut self, now: Timestamp, answer: Answer) -> AnswerEffect;

    /// Whether answers change anything now. Only a throttle, an answer, one who waits or new settings may change that.
    fn heeds_answers(&self) -> bool {
        true
    }

    /// Time has passed, with callers in line or without.
    fn advance(&mut self, _now: Timestamp, _waiting: bool) {}

    /// For so many seconds, up to now, more tokens came than could lie ready.
    fn unused(&mut self, _now: Timestamp, _seconds: f64) {}

    /// While the server is closed: when the next single call may go.
    fn closed_until(&self) -> Option<Timestamp> {
        None
    }

    /// A call was let through.
    fn taken(&mut self, _now: Timestamp) {}

    /// A call that was let through at `taken_at` was not sent.
    fn given_back(&mut self, _taken_at: Timestamp, _now: Timestamp) {}

    /// The server names its limit, in calls per second: the rate is not above it, unless it is under the floor.
    fn name_limit(&mut self, now: Timestamp, limit: f64);

    /// The limit that was named has become higher, or holds no more.
    fn loosen_limit(&mut self, limit: Option<f64>);

    /// Puts new limits and settings into force. What was learned is kept where it is within them.
    fn reconfigure(&mut self, limits: Limits, settings: &Arc<ThrottleSettings>);

    /// Goes on from a rate that another law came to.
    fn adopt(&mut self, rate: f64, now: Timestamp);

    /// Nothing was learned.
    fn is_neutral(&self) -> bool;

    fn phase(&self, now: Timestamp) -> Phase;

    /// The server's rate as it was measured, if it was.
    fn measured(&self) -> Option<f64> {
        None
    }
}

/// Asks the law that it is, whichever that is, without a table of methods: every call asks all of these.
macro_rules! ask {
    ($law:expr, $method:ident($($argument:expr),*)) => {
        match $law {
            Law::Aimd(law) => law.$method($($argument),*),
            Law::DeliveryRate(law) => law.$method($($argument),*),
        }
    };
}

/// The law of one bucket.
#[derive(Debug)]
pub(super) enum Law {
    Aimd(Aimd),
    DeliveryRate(DeliveryRate),
}

impl Law {
    pub(super) fn new(limits: Limits, settings: &Arc<ThrottleSettings>, now: Timestamp) -> Self {
        match settings.law {
            LawName::Aimd => Law::Aimd(Aimd::new(limits, settings)),
            LawName::DeliveryRate => Law::DeliveryRate(DeliveryRate::new(limits, now)),
        }
    }

    pub(super) fn get(&self) -> &dyn Control {
        match self {
            Law::Aimd(law) => law,
            Law::DeliveryRate(law) => law,
        }
    }

    pub(super) fn get_mut(&mut self) -> &mut dyn Control {
        match self {
            Law::Aimd(law) => law,
            Law::DeliveryRate(law) => law,
        }
    }

    pub(super) fn name(&self) -> LawName {
        match self {
            Law::Aimd(_) => LawName::Aimd,
            Law::DeliveryRate(_) => LawName::DeliveryRate,
        }
    }

    // ===== what every call asks: as in `Control` =====

    pub(super) fn rate(&self) -> f64 {
        ask!(self, rate())
    }

    pub(super) fn capacity(&self) -> f64 {
        ask!(self, capacity())
    }

    pub(super) fn closed_until(&self) -> Option<Timestamp> {
        ask!(self, closed_until())
    }

    pub(super) fn advance(&mut self, now: Timestamp, waiting: bool) {
        ask!(self, advance(now, waiting));
    }

    pub(super) fn unused(&mut self, now: Timestamp, seconds: f64) {
        ask!(self, unused(now, seconds));
    }

    pub(super) fn taken(&mut self, now: Timestamp) {
        ask!(self, taken(now));
    }

    // ===== what few ask =====

    /// Another law starts at the rate that this one came to.
    pub(super) fn reconfigure(&mut self, limits: Limits, settings: &Arc<ThrottleSettings>, now: Timestamp) {
        if settings.law == self.name() {
            self.get_mut().reconfigure(limits, settings);
            return;
        }
        let mut other = Law::new(limits, settings, now);
        if !self.get().is_neutral() {
            other.get_mut().adopt(self.get().rate(), now);
        }
        *self = other;
    }
}
