//! One `tracing` event per branch of the control, under stable names.
//!
//! The target is `cloud_governor`; the name is both the event's name and its message; scope and numbers are fields.
//! What happens once per attempt is at debug level, so that a storm is one line per change and not one per hit.

use std::time::Duration;

use tracing::{debug, info, warn};

use crate::call::GiveUp;
use crate::classify::Class;
use crate::scope::Scope;

macro_rules! event {
    ($level:ident, $name:literal, $scope:expr $(, $field:ident = $value:expr)*) => {
        $level!(name: $name, target: "cloud_governor", scope = %$scope $(, $field = $value)*, $name)
    };
}

pub(crate) fn retrying(scope: &Scope, attempt: u32, delay: Duration, class: Class) {
    event!(
        debug,
        "retrying",
        scope,
        attempt = attempt,
        delay_seconds = delay.as_secs_f64(),
        class = tracing::field::debug(class)
    );
}

pub(crate) fn throttled(scope: &Scope, attempt: u32, retry_after: Option<Duration>) {
    let retry_after_seconds = retry_after.map(|after| after.as_secs_f64());
    event!(debug, "throttled", scope, attempt = attempt, retry_after_seconds = retry_after_seconds);
}

pub(crate) fn rate_lowered(scope: &Scope, from: f64, to: f64) {
    event!(info, "rate_lowered", scope, from_rps = from, to_rps = to);
}

pub(crate) fn rate_raised(scope: &Scope, from: f64, to: f64) {
    event!(debug, "rate_raised", scope, from_rps = from, to_rps = to);
}

pub(crate) fn paused(scope: &Scope, pause: Duration) {
    event!(info, "paused", scope, pause_seconds = pause.as_secs_f64());
}

pub(crate) fn retries_exhausted(scope: &Scope, attempts: u32, reason: GiveUp) {
    event!(warn, "retries_exhausted", scope, attempts = attempts, reason = reason.code());
}

pub(crate) fn retry_deadline_exceeded(scope: &Scope, attempts: u32) {
    event!(warn, "retry_deadline_exceeded", scope, attempts = attempts);
}

pub(crate) fn retry_budget_exhausted(scope: &Scope, attempts: u32) {
    event!(warn, "retry_budget_exhausted", scope, attempts = attempts);
}

pub(crate) fn circuit_opened(scope: &Scope, cooldown: Duration) {
    event!(warn, "circuit_opened", scope, cooldown_seconds = cooldown.as_secs_f64());
}

pub(crate) fn circuit_half_open(scope: &Scope) {
    event!(info, "circuit_half_open", scope);
}

pub(crate) fn circuit_closed(scope: &Scope) {
    event!(info, "circuit_closed", scope);
}

pub(crate) fn circuit_rejected(scope: &Scope, retry_after: Option<Duration>) {
    let retry_after_seconds = retry_after.map(|after| after.as_secs_f64());
    event!(debug, "circuit_rejected", scope, retry_after_seconds = retry_after_seconds);
}
