//! Timeouts: which ones an install sets, and which one it moves.
//!
//! The SDK's `operation_attempt_timeout` spans an attempt with the gate in it, so a wait for a token would be taken for a
//! slow attempt. It is taken off the configuration and applied around the HTTP call, body included, instead. What the
//! caller sees of it changes from `TimeoutError` to `DispatchFailure` (of the kind timeout), or to `ResponseError` if the
//! head was in time.

use std::future::Future;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use aws_smithy_types::timeout::TimeoutConfig;
use cloud_governor::{Clock, ProviderSettings};

/// The configuration with connect and read timeouts where it has none, without the attempt timeout; and that timeout.
pub(crate) fn moved(config: Option<&TimeoutConfig>, settings: &ProviderSettings) -> (TimeoutConfig, Option<Duration>) {
    let own = config.map_or_else(TimeoutConfig::builder, TimeoutConfig::to_builder);
    let attempt = config.and_then(TimeoutConfig::operation_attempt_timeout);
    let defaults =
        TimeoutConfig::builder().connect_timeout(settings.connect_timeout).read_timeout(settings.read_timeout);
    (own.take_unset_from(defaults).disable_operation_attempt_timeout().build(), attempt)
}

/// The future's output, or `None` if it takes longer.
pub(crate) async fn within<F: Future>(clock: &dyn Clock, limit: Option<Duration>, future: F) -> Option<F::Output> {
    let Some(limit) = limit else { return Some(future.await) };
    let mut future = pin!(future);
    let mut sleep = clock.sleep_until(clock.now() + limit);
    std::future::poll_fn(|cx| {
        if let Poll::Ready(output) = future.as_mut().poll(cx) {
            return Poll::Ready(Some(output));
        }
        sleep.as_mut().poll(cx).map(|()| None)
    })
    .await
}

#[cfg(test)]
mod tests;
