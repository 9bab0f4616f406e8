//! The per-try policy: next to the wire, where every physical send passes.
//!
//! One attempt may be two sends: the SDK's authorization answers a challenge by sending again. And the SDK's own retry
//! loop may stand between the per-call policy and the wire, where a client crate does not heed the options it was given.
//! That loop gets nothing to retry: an outcome that it might come again for is kept for the per-call policy, and the loop
//! is given an error that ends it.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use azure_core::error::{Error, ErrorKind};
use azure_core::http::headers::AUTHORIZATION;
use azure_core::http::policies::{Policy, PolicyResult, RetryPolicyCount};
use azure_core::http::{Context, Request, StatusCode};

use crate::error::nothing_follows;
use crate::journey::Journey;

/// Watches what is sent, and bounds it by the attempt's time.
pub(crate) struct WirePolicy;

impl fmt::Debug for WirePolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WirePolicy")
    }
}

#[async_trait]
impl Policy for WirePolicy {
    async fn send(&self, ctx: &Context, request: &mut Request, next: &[Arc<dyn Policy>]) -> PolicyResult {
        let Some((first, rest)) = next.split_first() else { return Err(nothing_follows()) };
        let authorized = request.headers().get_optional_str(&AUTHORIZATION).is_some();
        let Some(send) = Journey::of(ctx).and_then(|journey| journey.send(next, authorized)) else {
            return first.send(ctx, request, rest).await;
        };
        let Some(outcome) = send.within(first.send(ctx, request, rest)).await else { return Err(settled_elsewhere()) };
        // Which statuses the loop retries is its own affair. The one that is answered between it and here is let through.
        let is_looped = ctx.value::<RetryPolicyCount>().is_some();
        let may_come_again = match &outcome {
            Ok(response) => is_failure(response.status()) && response.status() != StatusCode::Unauthorized,
            Err(_) => true,
        };
        if !is_looped || !may_come_again {
            return outcome;
        }
        send.hold(outcome);
        Err(settled_elsewhere())
    }
}

pub(crate) fn is_failure(status: StatusCode) -> bool {
    u16::from(status) >= 400
}

/// Of a kind that the SDK's loop does not retry. The caller never sees it.
fn settled_elsewhere() -> Error {
    Error::with_message(ErrorKind::Other, "the governor settles this attempt")
}
