//! What the two policies of one pipeline share of one attempt.
//!
//! The per-call policy puts a journey into the context; the per-try policy finds it there and notes what the wire saw.
//! A context travels further than its own pipeline, into the one that a credential fetches its token through, so a
//! journey knows which pipeline it belongs to.

use std::future::Future;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use azure_core::Error;
use azure_core::http::policies::{Policy, PolicyResult};
use azure_core::http::{AsyncRawResponse, Context};
use cloud_governor::{Clock, Timestamp, within};

use crate::error::late;

/// One attempt on its way through a pipeline. It holds nothing of the attempt itself: contexts may be kept.
pub(crate) struct Journey {
    pipeline: usize,
    /// How many policies it goes through.
    length: usize,
    is_over: AtomicBool,
    clock: Arc<dyn Clock>,
    began: Timestamp,
    timeout: Option<Duration>,
    identity: bool,
    /// How many policies follow the one that watches the wire; zero until it has been passed.
    wire: AtomicUsize,
    inner_failed: AtomicBool,
    seen: Mutex<Seen>,
}

/// What the wire saw so far.
#[derive(Default)]
struct Seen {
    sends: u32,
    last: Last,
    /// Whether the last send carried a token.
    authorized: bool,
    /// Of the attempt's time, what its sends took.
    spent: Duration,
    /// The true outcome, where what is above the wire was given a stand-in.
    held: Option<Held>,
}

#[derive(Default, PartialEq, Eq)]
enum Last {
    #[default]
    Nothing,
    Answered,
    Failed,
}

enum Held {
    Outcome(PolicyResult),
    Late(Duration),
}

/// What an attempt came to.
pub(crate) enum Came {
    /// The service answered.
    Answer(AsyncRawResponse),
    /// The way to the service failed.
    Broken(Error),
    /// The attempt timeout passed.
    Late(Error),
    /// Something above the wire failed: a credential, as a rule.
    Above(Error),
}

/// While it lasts, a journey's attempt is in the pipeline.
pub(crate) struct UnderWay<'a>(&'a Journey);

/// How long an answer's request was on the wire, and what is left of its time.
pub(crate) struct Send<'a> {
    journey: &'a Journey,
    began: Timestamp,
    limit: Option<Duration>,
}

impl Journey {
    pub(crate) fn new(
        next: &[Arc<dyn Policy>],
        clock: &Arc<dyn Clock>,
        timeout: Option<Duration>,
        identity: bool,
    ) -> Self {
        Journey {
            pipeline: end_of(next),
            length: next.len(),
            is_over: AtomicBool::new(false),
            clock: Arc::clone(clock),
            began: clock.now(),
            timeout,
            identity,
            wire: AtomicUsize::new(0),
            inner_failed: AtomicBool::new(false),
            seen: Mutex::default(),
        }
    }

    /// The journey that a context is part of, of whichever pipeline.
    pub(crate) fn of<'a>(ctx: &'a Context<'_>) -> Option<&'a Arc<Journey>> {
        ctx.value::<Arc<Journey>>()
    }

    /// Whether a policy with these behind it stands on this journey's own way, not at the start of another, which may lead
    /// through the same pipeline.
    pub(crate) fn is_along(&self, next: &[Arc<dyn Policy>]) -> bool {
        next.len() < self.length && self.pipeline == end_of(next)
    }

    /// Whether its attempt has come back from the pipeline. Somebody may have kept its context.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// Ends it when dropped.
    pub(crate) fn under_way(&self) -> UnderWay<'_> {
        UnderWay(self)
    }

    /// Whether it is one to an identity service.
    pub(crate) fn is_to_identity(&self) -> bool {
        self.identity
    }

    /// When it began.
    pub(crate) fn began(&self) -> Timestamp {
        self.began
    }

    // ===== a governed call made inside this one =====

    /// A governed call inside this attempt failed for good: whatever fails because of it was retried there.
    pub(crate) fn note_inner_failure(&self) {
        self.inner_failed.store(true, Ordering::Relaxed);
    }

    pub(crate) fn inner_failed(&self) -> bool {
        self.inner_failed.load(Ordering::Relaxed)
    }

    // ===== the wire =====

    /// Begins a physical send. `None` if this is not the outermost of the policies that watch this journey's wire.
    pub(crate) fn send(&self, next: &[Arc<dyn Policy>], authorized: bool) -> Option<Send<'_>> {
        if !self.is_along(next) {
            return None;
        }
        let place = self.wire.compare_exchange(0, next.len(), Ordering::Relaxed, Ordering::Relaxed);
        if place.is_err_and(|place| place != next.len()) {
            return None;
        }
        let mut seen = self.lock();
        seen.sends = seen.sends.saturating_add(1);
        seen.authorized = authorized;
        // What the last one came to was dealt with above.
        seen.held = None;
        Some(Send { journey: self, began: self.clock.now(), limit: self.left(&seen) })
    }

    /// How much of the attempt's time is left; `None` if it has no end.
    pub(crate) fn time_left(&self) -> Option<Duration> {
        self.left(&self.lock())
    }

    fn left(&self, seen: &Seen) -> Option<Duration> {
        self.timeout.map(|timeout| timeout.saturating_sub(seen.spent))
    }

    // ===== the end =====

    /// Whether anything was sent.
    pub(crate) fn reached_the_wire(&self) -> bool {
        self.lock().sends > 0
    }

    /// Whether the last send carried a token.
    pub(crate) fn was_authorized(&self) -> bool {
        self.lock().authorized
    }

    /// What the attempt came to, by what the pipeline returned and what the wire saw.
    pub(crate) fn came(&self, result: PolicyResult) -> Came {
        let (held, last) = {
            let mut seen = self.lock();
            (seen.held.take(), std::mem::take(&mut seen.last))
        };
        match (result, held) {
            (Ok(response), _) | (Err(_), Some(Held::Outcome(Ok(response)))) => Came::Answer(response),
            (Err(_), Some(Held::Outcome(Err(error)))) => Came::Broken(error),
            (Err(_), Some(Held::Late(limit))) => Came::Late(late(limit)),
            (Err(error), None) if last == Last::Failed => Came::Broken(error),
            (Err(error), None) => Came::Above(error),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.is_over.store(true, Ordering::Relaxed);
    }
}

impl Send<'_> {
    /// The outcome of `send`; `None` if the attempt's time ends first.
    pub(crate) async fn within<F: Future<Output = PolicyResult>>(&self, send: F) -> Option<PolicyResult> {
        let outcome = within(&*self.journey.clock, self.limit, send).await;
        let mut seen = self.journey.lock();
        seen.spent = seen.spent.saturating_add(self.journey.clock.now().since(self.began));
        seen.last = match &outcome {
            Some(Ok(_)) => Last::Answered,
            Some(Err(_)) | None => Last::Failed,
        };
        if outcome.is_none() {
            seen.held = Some(Held::Late(self.journey.timeout.unwrap_or_default()));
        }
        outcome
    }

    /// Keeps the true outcome for the per-call policy.
    pub(crate) fn hold(&self, outcome: PolicyResult) {
        self.journey.lock().held = Some(Held::Outcome(outcome));
    }
}

/// The policy that a pipeline ends with, its transport, by address. Each pipeline is built with one of its own, which every
/// place in it has behind it, in a copy of the list as well; and while it is in use no other can be where it is.
fn end_of(next: &[Arc<dyn Policy>]) -> usize {
    next.last().map_or(0, |transport| Arc::as_ptr(transport).addr())
}

#[cfg(test)]
mod tests;
