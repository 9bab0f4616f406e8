//! The pollers of long-running operations.
//!
//! Each poll is a call of its own, which the SDK does not retry; the poller polls again instead.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use cloud_governor::{Class, RetrySettings, Timestamp};
use google_cloud_gax::error::Error;
use google_cloud_gax::exponential_backoff::ExponentialBackoff;
use google_cloud_gax::polling_backoff_policy::PollingBackoffPolicy;
use google_cloud_gax::polling_error_policy::PollingErrorPolicy;
use google_cloud_gax::polling_state::PollingState;
use google_cloud_gax::retry_result::RetryResult;

use crate::call::Context;
use crate::client::Client;
use crate::error::Refused;
use crate::handover;

/// How many pollers are remembered that do not get through. A poller that is left while it fails says no farewell.
const MOST: usize = 1 << 16;

/// Both polling policies of one client.
pub(crate) struct Polling {
    client: Arc<Client>,
    /// As the SDK has it: 1 s, and twice as long after each poll, up to 60 s.
    backoff: ExponentialBackoff,
    /// The pollers whose last poll failed, by when they began.
    failing: Mutex<HashMap<Instant, Failing>>,
}

#[derive(Debug, Clone, Copy)]
struct Failing {
    polls: u32,
    since: Timestamp,
}

impl fmt::Debug for Polling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Polling")
    }
}

impl Polling {
    pub(crate) fn new(client: &Arc<Client>) -> Self {
        Polling { client: Arc::clone(client), backoff: ExponentialBackoff::default(), failing: Mutex::default() }
    }

    /// Counts one more failure of a poller, and says whether it may poll again: not more often in a row than a call may be
    /// retried, and not for longer.
    fn may_go_on(&self, poller: Instant, terms: &RetrySettings) -> bool {
        let now = self.client.governor().clock().now();
        let mut all = self.failing.lock().unwrap_or_else(PoisonError::into_inner);
        let failing = all.get(&poller).copied().unwrap_or(Failing { polls: 0, since: now });
        let polls = failing.polls.saturating_add(1);
        let goes_on = polls <= terms.max_retries && terms.deadline.is_none_or(|most| now.since(failing.since) < most);
        if goes_on {
            if all.len() >= MOST
                && !all.contains_key(&poller)
                && let Some(oldest) = all.iter().min_by_key(|(_, failing)| failing.since).map(|(poller, _)| *poller)
            {
                all.remove(&oldest);
            }
            all.insert(poller, Failing { polls, ..failing });
        } else {
            all.remove(&poller);
        }
        goes_on
    }
}

impl PollingErrorPolicy for Polling {
    fn on_error(&self, state: &PollingState, error: Error) -> RetryResult {
        let context = Context::current(&self.client);
        let Some(terms) = self.client.terms(&context).filter(|_| !context.options().is_skipped()) else {
            return RetryResult::Permanent(error);
        };
        let (wait, error) = match Refused::of(&error) {
            Some(refused) => (refused.refusal().retry_after(), refused.alone()),
            None => {
                let meaning = self.client.classify(&error);
                if meaning.class == Class::Fatal {
                    return RetryResult::Permanent(error);
                }
                (meaning.retry_after, error)
            }
        };
        if !self.may_go_on(state.start, &terms) {
            return RetryResult::Exhausted(error);
        }
        handover::poll_after(wait);
        RetryResult::Continue(error)
    }

    fn on_in_progress(&self, state: &PollingState, _operation_name: &str) -> Result<(), Error> {
        handover::poll_after(None);
        self.failing.lock().unwrap_or_else(PoisonError::into_inner).remove(&state.start);
        Ok(())
    }
}

impl PollingBackoffPolicy for Polling {
    fn wait_period(&self, state: &PollingState) -> Duration {
        let backoff = self.backoff.wait_period(state);
        // Those who began together do not come back together.
        let backoff = backoff.mul_f64(1.0 - fastrand::f64() / 2.0);
        handover::take_poll_after().map_or(backoff, |wait| wait.max(backoff))
    }
}
