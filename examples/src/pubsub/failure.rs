//! Why calls fail, and what a job comes to that could not begin.

use std::time::Duration;

use cloud_governor::Refusal;
use tonic::{Code, Status};

/// The exit code where messages were lost, or anything else went wrong, and the governor refused nothing.
pub(super) const FAILED: u8 = 1;

/// Why a call failed, after whatever retries there were.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// The governor sent nothing, or nothing more.
    #[error(transparent)]
    Refused(Box<Refusal>),
    /// The service said so, or there was no service.
    #[error("{code:?}: {message}")]
    Answered {
        /// The status.
        code: Code,
        /// What was said with it.
        message: String,
    },
}

impl Failure {
    /// That of a governed call or of any other.
    pub fn of(status: &Status) -> Self {
        match Refusal::find(status) {
            Some(refusal) => Failure::Refused(Box::new(refusal.clone())),
            None => Failure::Answered { code: status.code(), message: status.message().to_owned() },
        }
    }

    /// The exit code of a program that ends over it: the [refusal's](cloud_governor::RefusalKind::exit_code), or 1.
    pub fn exit_code(&self) -> u8 {
        match self {
            Failure::Refused(refusal) => refusal.exit_code(),
            Failure::Answered { .. } => FAILED,
        }
    }
}

/// The topics and subscriptions could not be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SetUpError {
    /// One was asked for often enough.
    #[error(transparent)]
    Failed(Failure),
    /// Nothing went on for as long as `--patience` says, and this is what was heard last.
    #[error("no topic or subscription was made for {}, and the run is given up: {last}", humantime::format_duration(*patience))]
    GivenUp {
        /// How long.
        patience: Duration,
        /// The last failure.
        last: Failure,
    },
    /// Nothing went on for as long as `--patience` says, and no call ended.
    #[error("no topic or subscription was made for {}, and the run is given up: no call has ended yet", humantime::format_duration(*patience))]
    Silent {
        /// How long.
        patience: Duration,
    },
}

impl SetUpError {
    /// As [`Failure::exit_code`].
    pub fn exit_code(&self) -> u8 {
        match self {
            SetUpError::Failed(failure) | SetUpError::GivenUp { last: failure, .. } => failure.exit_code(),
            SetUpError::Silent { .. } => FAILED,
        }
    }
}
