//! Timeouts: which ones an install sets, and which one it moves.
//!
//! The SDK's `operation_attempt_timeout` spans an attempt with the gate in it, so a wait for a token would be taken for a
//! slow attempt. It is taken off the configuration and applied around the HTTP call, body included, instead. What the
//! caller sees of it changes from `TimeoutError` to `DispatchFailure` (of the kind timeout), or to `ResponseError` if the
//! head was in time.

use std::time::Duration;

use aws_smithy_types::timeout::TimeoutConfig;
use cloud_governor::ProviderSettings;

/// The configuration with connect and read timeouts where it has none, without the attempt timeout; and that timeout.
pub(crate) fn moved(config: Option<&TimeoutConfig>, settings: &ProviderSettings) -> (TimeoutConfig, Option<Duration>) {
    let own = config.map_or_else(TimeoutConfig::builder, TimeoutConfig::to_builder);
    let attempt = config.and_then(TimeoutConfig::operation_attempt_timeout);
    let defaults =
        TimeoutConfig::builder().connect_timeout(settings.connect_timeout).read_timeout(settings.read_timeout);
    (own.take_unset_from(defaults).disable_operation_attempt_timeout().build(), attempt)
}

#[cfg(test)]
mod tests;
