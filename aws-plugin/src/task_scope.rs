//! A policy for the calls of one task.
//!
//! A hooked client takes no extra argument per call, so what a call should be treated like is said around it:
//!
//! ```
//! # async fn demo() -> Result<(), Box<dyn std::error::Error>> {
//! use cloud_governor::{Priority, RetryPolicy};
//! use cloud_governor_aws::CallOptions;
//! use std::time::Duration;
//!
//! let urgent = CallOptions::new()
//!     .priority(Priority::High)
//!     .policy(RetryPolicy::builder().deadline(Duration::from_secs(5)).build()?);
//! urgent.scope(async { /* client.describe_vpcs().send().await */ }).await;
//! # Ok(())
//! # }
//! ```

use std::future::Future;
use std::num::NonZeroU32;

use cloud_governor::{Call, Priority, RetryPolicy};

use crate::cost::Cost;

tokio::task_local! {
    static OPTIONS: CallOptions;
}

/// How the calls made inside [`scope`](Self::scope) are governed, by any hooked client.
///
/// The calls that a credentials provider makes on behalf of such a call are treated alike. Task-locals do not enter
/// `tokio::spawn`: wrap the spawned future as well.
#[derive(Debug, Clone, Default)]
pub struct CallOptions {
    policy: Option<RetryPolicy>,
    priority: Option<Priority>,
    cost: Option<NonZeroU32>,
    skip: bool,
}

impl CallOptions {
    /// Nothing special.
    pub fn new() -> Self {
        CallOptions::default()
    }

    /// Retries, backoff and deadline; what the policy leaves unset is the provider's.
    ///
    /// The SDK's own loop ends an operation after [`MAX_ATTEMPTS`](crate::MAX_ATTEMPTS) attempts, whatever a policy says.
    #[must_use]
    pub fn policy(mut self, policy: RetryPolicy) -> Self {
        self.policy = Some(policy);
        self
    }

    /// The place in line among those that wait for the same scope.
    #[must_use]
    pub fn priority(mut self, priority: Priority) -> Self {
        self.priority = Some(priority);
        self
    }

    /// How many units each attempt costs, where the scope's limits count those: instances that `RunInstances` is to start, say.
    /// See [`Call::cost`].
    ///
    /// Unset, it is what a [`GovernorInterceptor`](crate::GovernorInterceptor) reads off EC2's requests, and otherwise one.
    #[must_use]
    pub fn cost(mut self, units: NonZeroU32) -> Self {
        self.cost = Some(units);
        self
    }

    /// Not governed at all: sent once, at once, and not counted.
    #[must_use]
    pub fn skip(mut self) -> Self {
        self.skip = true;
        self
    }

    /// Runs a future whose calls are governed like this. An inner scope replaces an outer one.
    pub fn scope<F: Future>(self, future: F) -> impl Future<Output = F::Output> {
        OPTIONS.scope(self, future)
    }

    /// The options of the task that is running.
    pub(crate) fn current() -> Self {
        OPTIONS.try_with(CallOptions::clone).unwrap_or_default()
    }

    pub(crate) fn skips(&self) -> bool {
        self.skip
    }

    /// The call under these options, at the cost that was found in its request where they say nothing of it.
    pub(crate) fn apply(self, mut call: Call, found: Option<Cost>) -> Call {
        if let Some(policy) = self.policy {
            call = call.policy(policy);
        }
        if let Some(units) = self.cost.or(found.map(|Cost(units)| units)) {
            call = call.cost(units);
        }
        match self.priority {
            Some(priority) => call.priority(priority),
            None => call,
        }
    }
}
