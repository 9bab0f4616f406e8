//! What a governed call can end with: the caller's own error, or a typed refusal.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use crate::Scope;

/// How far a chain of errors is followed.
const DEEPEST: usize = 32;

/// How a governed call ended when it did not succeed.
///
/// When retrying stops, the caller's own error comes back in [`Error::Call`], unchanged. [`Error::Refused`] exists
/// only where no attempt of the call has an answer to give back.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error<E> {
    /// The call's own last error.
    Call(E),
    /// The governor refused on the client's side.
    Refused(Refusal),
}

impl<E> Error<E> {
    /// The call's own error, if that is what this is.
    pub fn into_call(self) -> Option<E> {
        match self {
            Error::Call(error) => Some(error),
            Error::Refused(_) => None,
        }
    }

    /// The refusal, if that is what this is.
    pub fn refusal(&self) -> Option<&Refusal> {
        match self {
            Error::Call(_) => None,
            Error::Refused(refusal) => Some(refusal),
        }
    }
}

impl<E: fmt::Display> fmt::Display for Error<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Call(error) => error.fmt(f),
            Error::Refused(refusal) => refusal.fmt(f),
        }
    }
}

impl<E: std::error::Error + 'static> std::error::Error for Error<E> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            // Transparent: the text above is the inner error's own, so its source comes next.
            Error::Call(error) => error.source(),
            Error::Refused(refusal) => Some(refusal),
        }
    }
}

impl<E> From<Refusal> for Error<E> {
    fn from(refusal: Refusal) -> Self {
        Error::Refused(refusal)
    }
}

/// Why the governor refused a call, on the client's side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RefusalKind {
    /// The scope's circuit breaker is open, or its one probe is under way.
    CircuitOpen,
    /// The deadline has passed, or is certain to pass before the call could be sent.
    DeadlineExceeded,
    /// The provider's retry budget is empty.
    RetryBudgetExhausted,
    /// Every attempt ran into its attempt timeout, so there is no answer to give back.
    AttemptTimedOut,
    /// The call had ended, and was asked to be sent again.
    CallEnded,
    /// A blocking call had no thread to block: it was made on one that runs async tasks, which it would have stalled, or
    /// none could be started for it.
    RuntimeThread,
}

impl RefusalKind {
    /// A stable name in snake_case, for logs and for scripts.
    pub const fn code(self) -> &'static str {
        match self {
            RefusalKind::CircuitOpen => "circuit_open",
            RefusalKind::DeadlineExceeded => "deadline_exceeded",
            RefusalKind::RetryBudgetExhausted => "retry_budget_exhausted",
            RefusalKind::AttemptTimedOut => "attempt_timed_out",
            RefusalKind::CallEnded => "call_ended",
            RefusalKind::RuntimeThread => "runtime_thread",
        }
    }

    /// A process exit code of this kind's own, for a program whose run ended with it.
    ///
    /// They lie in the range that `sysexits.h` uses, clear of the shell's 1, 2 and 126 and up.
    pub const fn exit_code(self) -> u8 {
        match self {
            RefusalKind::CircuitOpen => 69,
            RefusalKind::RuntimeThread => 70,
            RefusalKind::CallEnded => 71,
            RefusalKind::AttemptTimedOut => 74,
            RefusalKind::DeadlineExceeded => 75,
            RefusalKind::RetryBudgetExhausted => 76,
        }
    }
}

/// The governor's own refusal: nothing was wrong with the answer, there was none.
///
/// Its text says that it is client-side and names the scope, so that it cannot be taken for a server's error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    kind: RefusalKind,
    scope: Scope,
    reason: Cow<'static, str>,
    retry_after: Option<Duration>,
}

impl Refusal {
    pub(crate) fn new(
        kind: RefusalKind,
        scope: Scope,
        reason: impl Into<Cow<'static, str>>,
        retry_after: Option<Duration>,
    ) -> Self {
        Refusal { kind, scope, reason: reason.into(), retry_after }
    }

    /// Which refusal this is.
    pub fn kind(&self) -> RefusalKind {
        self.kind
    }

    /// [`RefusalKind::code`].
    pub fn code(&self) -> &'static str {
        self.kind.code()
    }

    /// [`RefusalKind::exit_code`].
    pub fn exit_code(&self) -> u8 {
        self.kind.exit_code()
    }

    /// The scope of the refused call.
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    /// When it is worth asking again, where that is known.
    pub fn retry_after(&self) -> Option<Duration> {
        self.retry_after
    }

    /// The first refusal in an error's source chain: how a refusal is found behind an SDK's error.
    pub fn find<'a>(error: &'a (dyn std::error::Error + 'static)) -> Option<&'a Refusal> {
        // An error may name itself as its own source.
        std::iter::successors(Some(error), |error| error.source()).take(DEEPEST).find_map(|error| error.downcast_ref())
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "refused by the client-side governor ({}) for {}: {}", self.code(), self.scope, self.reason)?;
        match self.retry_after {
            Some(after) => write!(f, "; retry after {:.1} s", after.as_secs_f64()),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Refusal {}
