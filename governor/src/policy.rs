//! How one call is retried, where it differs from its provider's settings.

use std::fmt;
use std::time::Duration;

use crate::config::{Jitter, MOST, RetrySettings, check_duration};

/// How a call is retried. Whatever is not set here is as the provider's configuration says.
///
/// ```
/// use std::time::Duration;
/// use cloud_governor::RetryPolicy;
///
/// let policy = RetryPolicy::builder().max_retries(2).deadline(Duration::from_secs(30)).build()?;
/// # Ok::<(), cloud_governor::PolicyError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RetryPolicy {
    max_retries: Option<u32>,
    base_delay: Option<Duration>,
    max_backoff: Option<Duration>,
    jitter: Option<Jitter>,
    /// `Some(None)` is "no deadline".
    deadline: Option<Option<Duration>>,
    attempt_timeout: Option<Option<Duration>>,
    use_budget: Option<bool>,
    retry_transient: Option<bool>,
}

impl RetryPolicy {
    /// Starts with nothing set.
    pub fn builder() -> RetryPolicyBuilder {
        RetryPolicyBuilder::default()
    }

    /// No retries: one attempt, paced and counted like any other.
    pub fn none() -> RetryPolicy {
        RetryPolicy { max_retries: Some(0), ..RetryPolicy::default() }
    }

    /// What a call with this policy goes by, where these are its provider's settings. For front ends whose SDK asks ahead
    /// of an attempt how long it may take.
    pub fn over(&self, provider: &RetrySettings) -> RetrySettings {
        let ResolvedPolicy { max_retries, base_delay, max_backoff, jitter, deadline, attempt_timeout, .. } =
            self.resolve(provider);
        RetrySettings { max_retries, base_delay, max_backoff, jitter, deadline, attempt_timeout }
    }

    /// The policy's own deadline, if it sets one; `Some(None)` is "no deadline".
    pub(crate) fn deadline(&self) -> Option<Option<Duration>> {
        self.deadline
    }

    pub(crate) fn attempt_timeout(&self, provider: &RetrySettings) -> Option<Duration> {
        self.attempt_timeout.unwrap_or(provider.attempt_timeout)
    }

    /// This policy over the provider's settings, for when an attempt has failed. The deadline is the call's own affair.
    ///
    /// Where only one end of the backoff is set and the provider's other end lies beyond it, the one that is set
    /// holds and the provider's gives way, so that the base is never above the cap.
    pub(crate) fn resolve(&self, provider: &RetrySettings) -> ResolvedPolicy {
        let base_delay = self
            .base_delay
            .unwrap_or_else(|| self.max_backoff.map_or(provider.base_delay, |cap| cap.min(provider.base_delay)));
        ResolvedPolicy {
            max_retries: self.max_retries.unwrap_or(provider.max_retries),
            base_delay,
            max_backoff: self.max_backoff.unwrap_or(provider.max_backoff).max(base_delay),
            jitter: self.jitter.unwrap_or(provider.jitter),
            deadline: self.deadline.unwrap_or(provider.deadline),
            attempt_timeout: self.attempt_timeout.unwrap_or(provider.attempt_timeout),
            use_budget: self.use_budget.unwrap_or(true),
            retry_transient: self.retry_transient.unwrap_or(true),
        }
    }
}

/// What a call goes by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ResolvedPolicy {
    pub(crate) max_retries: u32,
    pub(crate) base_delay: Duration,
    /// At least `base_delay`.
    pub(crate) max_backoff: Duration,
    pub(crate) jitter: Jitter,
    pub(crate) deadline: Option<Duration>,
    pub(crate) attempt_timeout: Option<Duration>,
    /// Whether retries pay the provider's budget.
    pub(crate) use_budget: bool,
    /// Whether transient failures are retried; throttles and locks are in any case.
    pub(crate) retry_transient: bool,
}

/// Sets a [`RetryPolicy`]'s fields; [`build`](RetryPolicyBuilder::build) validates them.
#[derive(Clone, Copy, Debug, Default)]
#[must_use]
pub struct RetryPolicyBuilder {
    policy: RetryPolicy,
}

impl RetryPolicyBuilder {
    /// Retries after the first attempt; at most 1000000.
    pub fn max_retries(mut self, retries: u32) -> Self {
        self.policy.max_retries = Some(retries);
        self
    }

    /// The shortest backoff.
    pub fn base_delay(mut self, delay: Duration) -> Self {
        self.policy.base_delay = Some(delay);
        self
    }

    /// The longest backoff.
    pub fn max_backoff(mut self, delay: Duration) -> Self {
        self.policy.max_backoff = Some(delay);
        self
    }

    /// How a backoff is drawn.
    pub fn jitter(mut self, jitter: Jitter) -> Self {
        self.policy.jitter = Some(jitter);
        self
    }

    /// How long the call may take in all, waiting included; `None` for ever.
    pub fn deadline(mut self, deadline: impl Into<Option<Duration>>) -> Self {
        self.policy.deadline = Some(deadline.into());
        self
    }

    /// How long one attempt may take; `None` for as long as it likes.
    pub fn attempt_timeout(mut self, timeout: impl Into<Option<Duration>>) -> Self {
        self.policy.attempt_timeout = Some(timeout.into());
        self
    }

    /// Whether retries pay the provider's retry budget; they do where this is not set.
    pub fn use_budget(mut self, use_budget: bool) -> Self {
        self.policy.use_budget = Some(use_budget);
        self
    }

    /// Whether transient failures are retried; they are where this is not set. Throttles are in any case.
    pub fn retry_transient(mut self, retry_transient: bool) -> Self {
        self.policy.retry_transient = Some(retry_transient);
        self
    }

    /// The policy, if it can be followed.
    ///
    /// # Errors
    ///
    /// Durations lie above 0 up to 365 days, and `base_delay` is at most `max_backoff` where both are set.
    pub fn build(self) -> Result<RetryPolicy, PolicyError> {
        let policy = self.policy;
        if let Some(retries) = policy.max_retries
            && retries > MOST
        {
            return Err(PolicyError::new("max_retries", format!("is {retries}, but must be at most {MOST}")));
        }
        let durations = [
            ("base_delay", policy.base_delay),
            ("max_backoff", policy.max_backoff),
            ("deadline", policy.deadline.flatten()),
            ("attempt_timeout", policy.attempt_timeout.flatten()),
        ];
        for (field, duration) in durations {
            duration.map_or(Ok(Duration::ZERO), check_duration).map_err(|message| PolicyError::new(field, message))?;
        }
        if let (Some(base), Some(cap)) = (policy.base_delay, policy.max_backoff)
            && base > cap
        {
            let message = format!("is {base:?}, but must be at most max_backoff, which is {cap:?}");
            return Err(PolicyError::new("base_delay", message));
        }
        Ok(policy)
    }
}

/// A retry policy that cannot be followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyError {
    field: &'static str,
    message: String,
}

impl PolicyError {
    fn new(field: &'static str, message: String) -> Self {
        PolicyError { field, message }
    }

    /// The field at fault, for instance `base_delay`.
    pub fn field(&self) -> &'static str {
        self.field
    }
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "invalid retry policy: {} {}", self.field, self.message)
    }
}

impl std::error::Error for PolicyError {}

#[cfg(test)]
mod tests;
