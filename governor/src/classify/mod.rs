//! What an outcome means: throttled, transient, locked or fatal.
//!
//! A verdict is drawn from [`Facts`] (code, status, reason, headers, message, kind of transport error), never from a
//! vendor's type: plugins translate their SDK's errors into facts and one table of rules decides.

use std::time::Duration;

/// What a failed attempt means for its scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Resend {
    /// The request was not executed.
    Safe,
    /// The request may have been executed: safe only for an idempotent operation.
    IfIdempotent,
}

/// The meaning of one failed attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Classification {
    /// The class.
    pub class: Class,
    /// How long the server asked to be left alone, uncapped.
    pub retry_after: Option<Duration>,
    /// Whether a re-send is safe.
    pub resend: Resend,
    /// Whether a retry pays the retry budget even where a call's first retries are free.
    pub pays_budget: bool,
}
