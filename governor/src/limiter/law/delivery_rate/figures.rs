//! The law's figures. Each was chosen in the simulator, where the scenarios' goals bound it from both sides.

use std::time::Duration;

/// How many seconds' worth of calls may go at once where no burst is configured: before the first throttle,
pub(super) const FIRST_BURST_SECONDS: f64 = 0.5;
/// and after it.
pub(super) const BURST_SECONDS: f64 = 0.1;

/// Before the first throttle the rate grows by a factor of e in this many seconds of callers waiting.
pub(super) const SEARCH_SECONDS: f64 = 4.0;

/// The same once the server was seen to deliver more than it used to.
pub(super) const RISE_SECONDS: f64 = 2.0;

/// How fast the rate rises while it probes, in calls per second, per second.
pub(super) const PROBE_STEP: f64 = 0.8;

/// The answer time up to which a probe rises at full speed: with a longer one, more is sent before the throttle is seen.
pub(super) const PROBE_LATENCY: f64 = 0.1;

/// Between two answers the rate rises by this factor at most.
pub(super) const PER_ANSWER: f64 = 1.25;

/// The share of the measured rate that is held.
pub(super) const HOLD_AT: f64 = 0.97;

/// How much less is held with rivals that take all the time.
pub(super) const RIVAL_SHARE: f64 = 0.15;

/// The throttles that each answer pays for: the share of calls that may be wasted in the long run.
pub(super) const PAID_PER_ANSWER: f64 = 0.008;

/// Saved up, in throttles: what lets a changed rate be found again sooner.
pub(super) const MOST_SAVED: f64 = 20.0;

/// Owed at most, in throttles: a storm is paid for at the next probes, not for ever.
pub(super) const MOST_OWED: f64 = 4.0;

/// What one event costs at most, in throttles: how many were under way is not the probe's doing.
pub(super) const MOST_CHARGED: f64 = 3.0;

/// A hold lasts this many seconds and this many answers at least,
pub(super) const HOLD_SECONDS: f64 = 8.0;
pub(super) const HOLD_ANSWERS: f64 = 10.0;
/// and this many seconds at most, however much is owed.
pub(super) const HOLD_AT_MOST: f64 = 30.0;

/// A rate that was measured by this many calls is settled: what contradicts it means something.
pub(super) const SETTLED_CALLS: f64 = 20.0;

/// A throttle came early when less than this share of what was due had been delivered, and a call less.
pub(super) const EARLY: f64 = 0.995;

/// Rivals, above this.
pub(super) const RIVALS: f64 = 0.5;

/// Throttles of one second are one congestion event,
pub(super) const EVENT_SECONDS: f64 = 1.0;
/// unless this many of requests sent after the cut show that it was not enough,
pub(super) const STILL_THROTTLED: f64 = 3.0;
/// as no more than this share of them is served,
pub(super) const STILL_SERVED: f64 = 0.6;
/// or so many of them and none is served: the server is closed.
pub(super) const CLOSED_THROTTLED: f64 = 2.0;

/// A measurement that agrees with those before is averaged with them, over this many seconds.
pub(super) const MEMORY_SECONDS: f64 = 120.0;

/// How long it is waited for a closed server, each time anew: a moment, in case it was one, and then the default cooldown
/// of a breaker.
pub(super) const PROBE_AFTER: [Duration; 3] = [Duration::from_secs(1), Duration::from_secs(2), Duration::from_secs(30)];

/// What of its rate a server gets that was closed before it was measured.
pub(super) const REOPEN_SHARE: f64 = 0.25;

/// What was delivered in a spell of calls measures the rate if the spell takes this share of the time.
pub(super) const WHOLE: f64 = 0.9;

/// Callers have stopped coming when tokens have gone unused for this long.
pub(super) const PAUSE_OF_CALLERS: Duration = Duration::from_millis(500);

/// A raise is told once it is this large.
pub(super) const TOLD: f64 = 1.1;

/// The least time anything is divided by.
pub(super) const INSTANT: f64 = 1e-3;
