//! The circuit breaker of one scope.
//!
//! ```text
//!            `failures` give-ups in a row             cooldown over: one probe
//!   CLOSED ------------------------------> OPEN ------------------------------> HALF-OPEN
//!     ^                                     ^                                   |   |   |
//!     |              probe answered         |      probe gave up                |   |   |
//!     +-------------------------------------|-----------------------------------+   |   |
//!                                           +---------------------------------------+   |
//!        probe dropped, refused later or its lease over: the place is free <------------+
//! ```
//!
//! It counts logical calls: a call's own retries cannot trip it, and a fatal answer is an answer. What a call
//! reports is believed only of the state that let it through: an answer to a request sent before the circuit
//! opened does not close it.

use std::num::NonZeroU32;
use std::time::Duration;

use crate::clock::Timestamp;
use crate::sync::{AtomicU64, Mutex, Ordering};

#[derive(Debug)]
pub(crate) struct Breaker {
    /// What the state comes to for a call that goes well, which then takes no lock: see [`Inner::gate`].
    gate: AtomicU64,
    inner: Mutex<Inner>,
}

/// In the gate: the circuit is not closed.
const SHUT: u64 = 1;
/// In the gate: the circuit is closed, and give-ups are remembered that an answer makes forgotten.
const MARRED: u64 = 2;
/// Where the generation begins in the gate.
const GENERATION: u32 = 2;

#[derive(Debug)]
struct Inner {
    failures_to_open: u32,
    /// In nanoseconds, which is half as large as a duration: there is a breaker for each of very many scopes.
    cooldown: u64,
    state: State,
    /// Counts state changes and probes: what a pass was issued under.
    generation: u64,
}

#[derive(Debug)]
enum State {
    Closed {
        failures: u32,
    },
    /// Refuses until then.
    Open {
        until: Timestamp,
    },
    /// One probe holds this state's generation until its lease ends.
    HalfOpen {
        lease_until: Timestamp,
    },
}

/// Leave to send, under the breaker's state of the moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pass {
    generation: u64,
    pub(crate) probe: bool,
}

impl Pass {
    /// That of a closed circuit.
    #[inline]
    pub(crate) fn of_closed(generation: u64) -> Self {
        Pass { generation, probe: false }
    }

    /// Which of the circuit's changes it came after.
    #[inline]
    pub(crate) fn generation(self) -> u64 {
        self.generation
    }
}

/// The circuit refuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) retry_after: Duration,
    /// A probe is under way, as against: the cooldown runs.
    pub(crate) probing: bool,
}

/// The breaker's state, as shown to people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum BreakerState {
    /// Calls go through.
    Closed,
    /// Calls are refused.
    Open,
    /// One probe decides.
    HalfOpen,
}

impl Inner {
    /// The generation, and whether the circuit is shut or marred.
    fn gate(&self) -> u64 {
        let flags = match self.state {
            State::Closed { failures: 0 } => 0,
            State::Closed { .. } => MARRED,
            State::Open { .. } | State::HalfOpen { .. } => SHUT,
        };
        self.generation << GENERATION | flags
    }

    fn cooldown(&self) -> Duration {
        Duration::from_nanos(self.cooldown)
    }

    fn refusal(&self, now: Timestamp) -> Option<Refused> {
        match self.state {
            State::Open { until } if now < until => Some(Refused { retry_after: until.until(now), probing: false }),
            State::HalfOpen { lease_until } if now < lease_until => {
                Some(Refused { retry_after: lease_until.until(now).min(self.cooldown()), probing: true })
            }
            _ => None,
        }
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

impl Breaker {
    pub(crate) fn new(failures_to_open: NonZeroU32, cooldown: Duration) -> Self {
        let inner = Inner {
            failures_to_open: failures_to_open.get(),
            cooldown: nanos(cooldown),
            state: State::Closed { failures: 0 },
            generation: 0,
        };
        Breaker { gate: AtomicU64::new(inner.gate()), inner: Mutex::new(inner) }
    }

    /// The gate as it stands. A call that passes while another opens the circuit passed before it, so no order with
    /// other memory is needed.
    fn gate(&self) -> u64 {
        self.gate.load(Ordering::Relaxed)
    }

    fn change<T>(&self, change: impl FnOnce(&mut Inner) -> T) -> T {
        let mut inner = self.inner.lock();
        let changed = change(&mut inner);
        self.gate.store(inner.gate(), Ordering::Relaxed);
        changed
    }

    /// Asks to go on, with the pass held so far, if any. A caller that holds the probe keeps it, with its lease made
    /// to last `lease` from now; the first to come after a cooldown becomes the probe.
    pub(crate) fn check(&self, now: Timestamp, held: Option<Pass>, lease: Duration) -> Result<Pass, Refused> {
        if let Some(pass) = self.pass_if_closed() {
            return Ok(pass);
        }
        self.change(|inner| {
            let current = inner.generation;
            match inner.state {
                State::Closed { .. } => return Ok(Pass::of_closed(current)),
                State::HalfOpen { .. } if held.is_some_and(|pass| pass.probe && pass.generation == current) => {}
                State::Open { .. } | State::HalfOpen { .. } => match inner.refusal(now) {
                    Some(refused) => return Err(refused),
                    None => inner.generation += 1,
                },
            }
            inner.state = State::HalfOpen { lease_until: now + lease };
            Ok(Pass { generation: inner.generation, probe: true })
        })
    }

    /// Leave to send, if the circuit is closed.
    pub(crate) fn pass_if_closed(&self) -> Option<Pass> {
        let gate = self.gate();
        (gate & SHUT == 0).then_some(Pass::of_closed(gate >> GENERATION))
    }

    /// Lets the probe keep its place until then: it waits for something else.
    pub(crate) fn extend(&self, pass: Pass, lease_until: Timestamp) {
        self.change(|inner| {
            if pass.probe && inner.generation == pass.generation {
                inner.state = State::HalfOpen { lease_until };
            }
        });
    }

    /// Whether a call would be refused now. Claims nothing.
    pub(crate) fn refusal(&self, now: Timestamp) -> Option<Refused> {
        if self.gate() & SHUT == 0 { None } else { self.inner.lock().refusal(now) }
    }

    /// The server answered. True if that closed the circuit.
    #[inline]
    pub(crate) fn answered(&self, pass: Pass) -> bool {
        // Where it is equal: closed since the pass was given, with nothing to forget.
        self.gate() != pass.generation << GENERATION && self.answered_shut(pass)
    }

    #[inline(never)]
    fn answered_shut(&self, pass: Pass) -> bool {
        self.change(|inner| {
            if inner.generation != pass.generation {
                return false;
            }
            let closes = matches!(inner.state, State::HalfOpen { .. });
            if closes {
                inner.generation += 1;
            }
            inner.state = State::Closed { failures: 0 };
            closes
        })
    }

    /// A logical call gave up. Says for how long the circuit is open if that opened it.
    pub(crate) fn gave_up(&self, now: Timestamp, pass: Pass) -> Option<Duration> {
        self.change(|inner| {
            if inner.generation != pass.generation {
                return None;
            }
            if let State::Closed { failures } = &mut inner.state {
                *failures = failures.saturating_add(1);
                if *failures < inner.failures_to_open {
                    return None;
                }
            }
            inner.generation += 1;
            inner.state = State::Open { until: now + inner.cooldown() };
            Some(inner.cooldown())
        })
    }

    /// A pass is handed back unused, or its attempt was cancelled: a probe's place is free for the next.
    pub(crate) fn release(&self, pass: Pass) {
        if !pass.probe {
            return;
        }
        self.change(|inner| {
            if inner.generation == pass.generation {
                inner.generation += 1;
                inner.state = State::Open { until: Timestamp::ZERO };
            }
        });
    }

    pub(crate) fn reconfigure(&self, failures_to_open: NonZeroU32, cooldown: Duration) {
        let mut inner = self.inner.lock();
        inner.failures_to_open = failures_to_open.get();
        inner.cooldown = nanos(cooldown);
    }

    pub(crate) fn reset(&self) {
        self.change(|inner| {
            inner.generation += 1;
            inner.state = State::Closed { failures: 0 };
        });
    }

    pub(crate) fn state(&self, now: Timestamp) -> BreakerState {
        match self.inner.lock().state {
            State::Closed { .. } => BreakerState::Closed,
            State::Open { until } if now < until => BreakerState::Open,
            State::Open { .. } | State::HalfOpen { .. } => BreakerState::HalfOpen,
        }
    }

    /// Closed, with no give-up remembered.
    pub(crate) fn is_neutral(&self) -> bool {
        self.gate() & (SHUT | MARRED) == 0
    }
}

#[cfg(test)]
mod tests;
