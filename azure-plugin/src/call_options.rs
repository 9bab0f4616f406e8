//! What one call is treated like.

use std::num::NonZeroU32;

use azure_core::http::Context;
use cloud_governor::{Call, Priority, RetryPolicy, Scope};

/// How one call is governed. Put into the context of a method's options, it travels with the call, into the tasks that
/// a transfer in parts spawns as well.
///
/// ```
/// # fn demo() -> Result<(), Box<dyn std::error::Error>> {
/// use azure_core::http::{ClientMethodOptions, Context};
/// use cloud_governor::{Priority, RetryPolicy};
/// use cloud_governor_azure::CallOptions;
/// use std::time::Duration;
///
/// let urgent = CallOptions::new()
///     .priority(Priority::High)
///     .policy(RetryPolicy::builder().deadline(Duration::from_secs(5)).build()?);
/// let options = ClientMethodOptions { context: Context::new().with_value(urgent) };
/// # let _ = options;
/// # Ok(())
/// # }
/// ```
///
/// A credential's calls on behalf of such a call go by its policy and priority too.
#[derive(Debug, Clone, Default)]
pub struct CallOptions {
    policy: Option<RetryPolicy>,
    priority: Option<Priority>,
    cost: Option<NonZeroU32>,
    idempotent: Option<bool>,
    scope: Option<Scope>,
    release_at_headers: Option<bool>,
    skip: bool,
}

impl CallOptions {
    /// Nothing special.
    pub fn new() -> Self {
        CallOptions::default()
    }

    /// Retries, backoff, timeouts and deadline; what the policy leaves unset is the provider's.
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

    /// How many units each attempt costs, where the scope's limits count those: see [`Call::cost`]. One unless said.
    #[must_use]
    pub fn cost(mut self, units: NonZeroU32) -> Self {
        self.cost = Some(units);
        self
    }

    /// Whether the operation may be executed twice. Unset, the request's method says so: a POST or a PATCH may not, with the
    /// exceptions that [the crate's documentation](crate#what-is-sent-again) lists.
    #[must_use]
    pub fn idempotent(mut self, idempotent: bool) -> Self {
        self.idempotent = Some(idempotent);
        self
    }

    /// The scope to charge, in place of the one that the URL and the operation's name say.
    #[must_use]
    pub fn scope(mut self, scope: Scope) -> Self {
        self.scope = Some(scope);
        self
    }

    /// Whether the slot goes back when the head of the answer has come, in place of what
    /// [`AzureOptions::release_at_headers`](crate::AzureOptions::release_at_headers) says.
    #[must_use]
    pub fn release_at_headers(mut self, release: bool) -> Self {
        self.release_at_headers = Some(release);
        self
    }

    /// Not governed at all: sent once, at once, and not counted.
    #[must_use]
    pub fn skip(mut self) -> Self {
        self.skip = true;
        self
    }

    /// The options that a context carries. A call made inside another has only those that hold for both.
    pub(crate) fn of(ctx: &Context<'_>, is_inner: bool) -> Self {
        let options = ctx.value::<CallOptions>().cloned().unwrap_or_default();
        match is_inner {
            false => options,
            true => {
                let CallOptions { policy, priority, skip, .. } = options;
                CallOptions { policy, priority, skip, ..CallOptions::default() }
            }
        }
    }

    pub(crate) fn skips(&self) -> bool {
        self.skip
    }

    pub(crate) fn own_scope(&mut self) -> Option<Scope> {
        self.scope.take()
    }

    pub(crate) fn releases_at_headers(&self) -> Option<bool> {
        self.release_at_headers
    }

    /// Whether it may be executed twice, by these options or, where they say nothing, by `otherwise`.
    pub(crate) fn is_idempotent(&self, otherwise: bool) -> bool {
        self.idempotent.unwrap_or(otherwise)
    }

    pub(crate) fn apply(&self, call: Call, idempotent: bool) -> Call {
        let call = call.idempotent(idempotent);
        let call = match self.policy {
            Some(policy) => call.policy(policy),
            None => call,
        };
        let call = match self.cost {
            Some(units) => call.cost(units),
            None => call,
        };
        match self.priority {
            Some(priority) => call.priority(priority),
            None => call,
        }
    }
}
