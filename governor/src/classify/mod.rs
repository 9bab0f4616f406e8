//! What an outcome means: throttled, transient, locked or fatal.
//!
//! A verdict is drawn from [`Facts`] (code, status, reason, headers, message, kind of transport error), never from a
//! vendor's type: plugins translate their SDK's errors into facts and one table of rules decides.
//!
//! # Why the code beats the status
//!
//! No cloud keeps to the statuses. Route 53, IAM and STS throttle with 400 and the code `Throttling`; Google Compute
//! throttles with 403 and the reason `rateLimitExceeded`; Azure's network service answers 429 when another operation
//! holds the resource, which no lower rate would mend; Google answers 429 for a quota that is gone until tomorrow. So
//! the rules that know a code or a reason come first, then the message, and the bare status last.
//!
//! # The table
//!
//! In the order in which rules are tried, in short; `table.rs` has the rows.
//!
//! | facts | class | re-send |
//! |---|---|---|
//! | the user's own rules, in order | as they say | as they say |
//! | no connection was made | transient | safe |
//! | quotas of a day or an allocation: `quotaExceeded`, `dailyLimitExceeded`, a quota named per day, .. | fatal | |
//! | AWS: `Throttling`, `RequestLimitExceeded`, `SlowDown`, .. with any status | throttled | safe |
//! | AWS: `LimitExceededException` with 429 or a message about a rate; without, an allocation limit: fatal | throttled | safe |
//! | AWS: `RequestTimeout`, `InternalError`, `ServiceUnavailable`, .. | transient | if idempotent |
//! | Azure: 429 `RetryableErrorDueToAnotherOperation`, .. | locked | safe |
//! | Azure: `SubscriptionRequestsThrottled`, `ServerBusy`, 429 `OperationNotAllowed`, .. | throttled | safe |
//! | Azure: other `OperationNotAllowed`, `SkuNotAvailable`, `AllocationFailed`, .. | fatal | |
//! | Azure: 404 and 410 of a machine's own identity endpoint | transient | if idempotent |
//! | Google: 403 or 429 and a quota named per minute, in its details or its message | throttled | safe |
//! | Google: `rateLimitExceeded`, `RATE_LIMIT_EXCEEDED`, .. with any status; Compute's are waited for until the next full minute | throttled | safe |
//! | Google: `RESOURCE_EXHAUSTED` or 429 with neither a reason nor a delay; always pays the budget, and backs off for 5 s at least | throttled | if idempotent; 429: safe |
//! | not the three clouds: 403 with a `retry-after`, or with headers that say that a limit is used up (see [`RetryAfter`]) | throttled | safe |
//! | not the three clouds: 403 or 429, "secondary rate limit" in the message; waits a minute where no wait is said | throttled | safe |
//! | 401, 404, 409 and their like, `INVALID_ARGUMENT`, `ABORTED`, .. | fatal | |
//! | the message has "rate exceeded", "rate limit exceeded", "too many requests", and unless it is a 403, "throttl" | throttled | 400, 403, 429: safe; else if idempotent |
//! | 429 | throttled | safe |
//! | `UNAVAILABLE`, `DEADLINE_EXCEEDED`; storage: `INTERNAL`; pubsub: `ABORTED`, `INTERNAL`, `UNKNOWN` | transient | if idempotent |
//! | 503 | throttled | if idempotent |
//! | 408, 500, 502, 504, timeouts, broken connections, bodies cut short | transient | if idempotent |
//! | anything else | fatal | |
//!
//! # Rules of one's own
//!
//! They come before the built-in ones, from code or from configuration, so that a service whose codes mean something
//! else can be set right:
//!
//! ```
//! use cloud_governor::{Class, Facts, Rule, Rules};
//!
//! let rules = Rules::from_iter([
//!     Rule::when().provider("aws").service("dynamodb").code("LimitExceededException").then(Class::Throttled)?,
//!     Rule::when().status(420).then(Class::Throttled)?,
//! ]);
//! let facts = Facts::new().provider("aws").service("dynamodb").code("LimitExceededException").status(400);
//! assert_eq!(rules.classify(&facts).class, Class::Throttled);
//! assert_eq!(Rules::new().classify(&facts).class, Class::Fatal);
//! # Ok::<(), cloud_governor::InvalidRule>(())
//! ```

mod builder;
mod chain;
mod facts;
mod rate_limits;
mod retry_after;
mod row;
mod rule_text;
mod rules;
mod table;

use std::time::Duration;

pub use builder::{InvalidRule, RuleBuilder};
#[cfg(feature = "reqwest-middleware")]
pub(crate) use chain::chain;
#[cfg(feature = "tonic")]
pub use chain::error_details;
pub use chain::{Classify, classify_error};
pub use facts::{Facts, GrpcCode, Transport, UnknownGrpcCode};
pub use retry_after::RetryAfter;
pub use rules::{Rule, Rules};

/// What a failed attempt means for its scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Class {
    /// The server asks for fewer calls: retried, and the scope's rate is lowered.
    Throttled,
    /// A passing failure: retried at the same rate.
    Transient,
    /// Another operation holds the resource: retried after its delay; lowers no rate, counts for no breaker.
    Locked,
    /// Sending again would not help: returned at once.
    Fatal,
}

/// Whether sending a failed request again is safe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Resend {
    /// The request was not executed.
    Safe,
    /// The request may have been executed: safe only for an idempotent operation.
    IfIdempotent,
}

/// The meaning of one failed attempt.
///
/// ```
/// use cloud_governor::{Class, Classification, Resend};
/// use std::time::Duration;
///
/// let verdict = Classification::transient().with_resend(Resend::Safe).with_retry_after(Duration::from_secs(2));
/// assert_eq!(verdict.class, Class::Transient);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Classification {
    /// The class.
    pub class: Class,
    /// How long the server asked to be left alone, uncapped, or is known to be closed. Never zero where it comes from
    /// [`Rules`]. What a fatal answer asks for is not kept.
    pub retry_after: Option<Duration>,
    /// Whether a re-send is safe.
    pub resend: Resend,
    /// Whether a retry pays the retry budget even where a call's first retries are free.
    pub pays_budget: bool,
    /// The shortest backoff of this call's retry, up to the longest of its policy. Unlike `retry_after`, which the server
    /// asked for, it pauses nobody else.
    pub least_backoff: Option<Duration>,
}

impl Classification {
    /// Throttled; the request was not executed.
    pub const fn throttled() -> Self {
        Self::of(Class::Throttled)
    }

    /// Transient; the request may have been executed.
    pub const fn transient() -> Self {
        Self::of(Class::Transient)
    }

    /// Locked; the request was not executed.
    pub const fn locked() -> Self {
        Self::of(Class::Locked)
    }

    /// Fatal.
    pub const fn fatal() -> Self {
        Self::of(Class::Fatal)
    }

    /// The class with what usually goes with it: no wait asked for, and no claim on the budget.
    pub const fn of(class: Class) -> Self {
        let resend = match class {
            Class::Throttled | Class::Locked => Resend::Safe,
            Class::Transient | Class::Fatal => Resend::IfIdempotent,
        };
        Classification { class, retry_after: None, resend, pays_budget: false, least_backoff: None }
    }

    /// Sets how long the server asked to be left alone.
    #[must_use]
    pub const fn with_retry_after(mut self, wait: Duration) -> Self {
        self.retry_after = Some(wait);
        self
    }

    /// Sets whether a re-send is safe.
    #[must_use]
    pub const fn with_resend(mut self, resend: Resend) -> Self {
        self.resend = resend;
        self
    }

    /// Sets whether each retry pays the budget, a call's first ones too.
    #[must_use]
    pub const fn with_pays_budget(mut self, pays: bool) -> Self {
        self.pays_budget = pays;
        self
    }

    /// Sets the shortest backoff of the call's retry.
    #[must_use]
    pub const fn with_least_backoff(mut self, least: Duration) -> Self {
        self.least_backoff = Some(least);
        self
    }
}

#[cfg(test)]
mod tests;
