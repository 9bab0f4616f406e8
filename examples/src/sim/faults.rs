//! Planned failure: switches that a program sets at run time or by schedule.
//!
//! | text | effect |
//! |---|---|
//! | `down` | the connection is closed without an answer |
//! | `brownout=0.2` | two answers in ten are a 500 or a 503, half each |
//! | `fail=429*0.2` | two answers in ten are a 429, or whichever failure is named; without a share, all are |
//! | `slow=200ms` | every answer is that much later |
//! | `cut=0.05` | one body in twenty ends in the middle, and the connection with it |
//!
//! A share may also be written `1/20`: exactly every twentieth. `@5s+10s` after the fault says when it begins,
//! counted from the server's start, and how long it lasts. `:account=111122223333,service=ssm` narrows it to the
//! calls that match every part named: `account`, `region`, `service`, `operation`.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use hyper::StatusCode;

use super::Leaf;

mod text;

pub use text::FaultError;

/// How many of the calls a fault strikes.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Share {
    /// Each call by chance, with this probability, from above 0 up to 1.
    Chance(f64),
    /// Exactly every nth call; n is 1 or more.
    Every(u64),
}

/// What a fault does.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum FaultKind {
    /// The connection is closed without an answer.
    Down,
    /// A share of the answers is 500 or 503.
    Brownout(Share),
    /// A share of the answers is this failure, from 400 to 599.
    Fail(StatusCode, Share),
    /// Answers are later by this much.
    Slow(Duration),
    /// A share of the bodies ends in the middle, and the connection with it.
    Cut(Share),
}

/// When a fault is active, counted from the server's start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// The first moment.
    pub from: Duration,
    /// How long it lasts; `None` for ever.
    pub length: Option<Duration>,
}

impl Window {
    fn contains(self, now: Duration) -> bool {
        now >= self.from && self.length.is_none_or(|length| now - self.from < length)
    }
}

/// Which calls a fault is about. A part that is `None` matches all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Account.
    pub account: Option<String>,
    /// Region.
    pub region: Option<String>,
    /// Service.
    pub service: Option<String>,
    /// Operation.
    pub operation: Option<String>,
}

impl Filter {
    /// A request that no leaf is known for matches only the filter that names nothing.
    fn matches(&self, leaf: Option<&Leaf>) -> bool {
        let Some(leaf) = leaf else { return *self == Filter::default() };
        let same = |wanted: &Option<String>, is: &str| wanted.as_deref().is_none_or(|wanted| wanted == is);
        same(&self.account, &leaf.account)
            && same(&self.region, &leaf.region)
            && same(&self.service, &leaf.service)
            && same(&self.operation, &leaf.operation)
    }
}

/// One planned failure. Read from its text form, which the module describes.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    kind: FaultKind,
    window: Window,
    only: Filter,
}

impl Fault {
    /// A fault of every call, from the start, for ever.
    ///
    /// # Errors
    /// [`FaultError::Share`] for a chance outside (0, 1] and for every zeroth call, [`FaultError::Status`] for a
    /// status that is no failure.
    pub fn new(kind: FaultKind) -> Result<Self, FaultError> {
        if let FaultKind::Brownout(share) | FaultKind::Cut(share) | FaultKind::Fail(_, share) = kind {
            share.validate()?;
        }
        if let FaultKind::Fail(status, _) = kind
            && !is_failure(status)
        {
            return Err(FaultError::Status(status.as_u16().to_string()));
        }
        Ok(Fault { kind, window: Window::default(), only: Filter::default() })
    }

    /// Active in this window only.
    pub fn during(mut self, window: Window) -> Self {
        self.window = window;
        self
    }

    /// For these calls only.
    pub fn only(mut self, filter: Filter) -> Self {
        self.only = filter;
        self
    }
}

/// What befalls one request.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Fate {
    /// The connection is closed without an answer.
    pub down: bool,
    /// The service fails with this status.
    pub failure: Option<StatusCode>,
    /// The answer is later by this much.
    pub delay: Duration,
    /// The body ends in the middle.
    pub cut: bool,
}

#[derive(Debug)]
struct Armed {
    fault: Fault,
    seen: u64,
}

#[derive(Debug)]
struct State {
    armed: Vec<Armed>,
    rng: fastrand::Rng,
}

/// The switches of one server.
#[derive(Debug)]
pub struct Faults {
    state: Mutex<State>,
}

impl Faults {
    /// No fault. `seed` decides the chances of those to come, so that a run can be repeated.
    pub fn new(seed: u64) -> Self {
        Faults { state: Mutex::new(State { armed: Vec::new(), rng: fastrand::Rng::with_seed(seed) }) }
    }

    /// Adds a fault to those there are.
    pub fn add(&self, fault: Fault) {
        self.lock().armed.push(Armed { fault, seen: 0 });
    }

    /// Takes all faults away.
    pub fn clear(&self) {
        self.lock().armed.clear();
    }

    /// Decides what befalls a request that arrives at `now`, counted from the server's start.
    pub fn decide(&self, now: Duration, leaf: Option<&Leaf>) -> Fate {
        let state = &mut *self.lock();
        let mut fate = Fate::default();
        for armed in &mut state.armed {
            if !armed.fault.window.contains(now) || !armed.fault.only.matches(leaf) {
                continue;
            }
            armed.seen += 1;
            match armed.fault.kind {
                FaultKind::Down => fate.down = true,
                FaultKind::Brownout(share) => {
                    if share.strikes(armed.seen, &mut state.rng) {
                        let internal = state.rng.bool();
                        fate.failure = Some(if internal {
                            StatusCode::INTERNAL_SERVER_ERROR
                        } else {
                            StatusCode::SERVICE_UNAVAILABLE
                        });
                    }
                }
                FaultKind::Fail(status, share) => {
                    if share.strikes(armed.seen, &mut state.rng) {
                        fate.failure = Some(status);
                    }
                }
                FaultKind::Slow(delay) => fate.delay = fate.delay.saturating_add(delay),
                FaultKind::Cut(share) => fate.cut |= share.strikes(armed.seen, &mut state.rng),
            }
        }
        fate
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_failure(status: StatusCode) -> bool {
    status.is_client_error() || status.is_server_error()
}

impl Share {
    fn validate(self) -> Result<(), FaultError> {
        let possible = match self {
            Share::Chance(chance) => chance > 0.0 && chance <= 1.0,
            Share::Every(nth) => nth >= 1,
        };
        if possible { Ok(()) } else { Err(FaultError::Share(self.to_string())) }
    }

    fn strikes(self, seen: u64, rng: &mut fastrand::Rng) -> bool {
        match self {
            Share::Chance(chance) => rng.f64() < chance,
            Share::Every(nth) => seen.is_multiple_of(nth),
        }
    }
}

#[cfg(test)]
mod tests;
