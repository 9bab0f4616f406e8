//! Governors, and what they know of a test's calls.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use cloud_governor::{Config, FakeClock, Governor, Inspection, LawName, ProviderBuilder, Scope, Totals};

/// The account of clients whose calls name none.
pub(crate) const HOME: &str = "projects/home";
/// No client shows it, and neither do we.
pub(crate) const TOKEN: &str = "ya29.a-token-that-nobody-sees";

pub(crate) const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

pub(crate) const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

// ===== governors =====

/// A governor with fast retries and plenty of rate, changed by `set`.
pub(crate) fn governor(set: impl FnOnce(ProviderBuilder) -> ProviderBuilder) -> Governor {
    Governor::builder().config(config(set)).build()
}

/// The same by a clock that moves when it is told to. Connections do not wait for it.
pub(crate) fn timed(clock: &FakeClock, set: impl FnOnce(ProviderBuilder) -> ProviderBuilder) -> Governor {
    Governor::builder().config(config(set)).clock(clock.clone()).build()
}

pub(crate) fn config(set: impl FnOnce(ProviderBuilder) -> ProviderBuilder) -> Config {
    let config = Config::builder().provider("gcp", |gcp| {
        // What is pinned of rates here is whose they are, for which plain halving is enough.
        let gcp = gcp.published(false).law(LawName::Aimd).max_rps(100_000.0).burst(100_000.0);
        set(gcp.base_delay(millis(1)).max_backoff(millis(2)).deadline(None))
    });
    config.build().expect("a sound configuration")
}

pub(crate) fn totals(governor: &Governor) -> Totals {
    governor.summary().totals
}

/// The totals of the one scope with these parts.
pub(crate) fn totals_of(governor: &Governor, scope: &Scope) -> Totals {
    governor.summary().scopes.get(scope).copied().unwrap_or_default()
}

pub(crate) fn scope(account: &str, service: &str, operation: &str) -> Scope {
    Scope::new("gcp", account, "", service).with_operation(operation)
}

pub(crate) fn inspect(governor: &Governor, account: &str, service: &str, operation: &str) -> Inspection {
    governor.inspect(&scope(account, service, operation)).expect("a leaf that was called")
}

/// Slots that any account of any service holds.
pub(crate) fn slots_in_use(governor: &Governor) -> usize {
    let scopes = governor.summary().scopes.into_keys();
    scopes.filter_map(|scope| governor.inspect(&scope)).map(|leaf| leaf.slots_in_use).max().unwrap_or_default()
}

/// Whether nobody holds or waits for anything.
pub(crate) fn is_at_rest(governor: &Governor) -> bool {
    let scopes = governor.summary().scopes.into_keys();
    let mut leaves = scopes.filter_map(|scope| governor.inspect(&scope));
    leaves.all(|leaf| leaf.slots_in_use == 0 && leaf.waiting_for_slot == 0 && leaf.waiting_for_rate == 0)
}

/// Waits until this holds: what another thread is about to do has no other sign.
pub(crate) async fn until(what: &str, holds: impl Fn() -> bool) {
    for _ in 0..5000 {
        if holds() {
            return;
        }
        tokio::time::sleep(millis(1)).await;
    }
    panic!("never came: {what}");
}

/// The future's output, or nothing if it is not there after so many polls: then it is dropped at the next.
pub(crate) async fn polled<F: Future>(most: usize, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    let mut left = most;
    poll_fn(|cx| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        future.as_mut().poll(cx).map(Some)
    })
    .await
}
