//! How a read can end.

use std::fmt;

use cloud_governor::{GiveUp, Refusal, RefusalKind};
use cloud_governor_gcp::{CallReport, refusal};
use google_cloud_gax::error::Error;

use crate::inventory::gcp::answer;

/// The exit code where the bytes broke off too often: `EX_DATAERR` of `sysexits.h`.
pub const BROKEN_OFF: u8 = 65;
/// The exit code where the service said no: `EX_NOINPUT`.
pub const ANSWERED: u8 = 66;
/// The exit code where all attempts failed. No refusal has it.
pub const EXHAUSTED: u8 = 73;
/// The exit code of anything else.
const FAILED: u8 = 1;

/// How a read ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ending {
    /// All bytes are there: so many.
    Read(u64),
    /// The service's own answer, which no further attempt would change: its code or reason.
    Answered(String),
    /// The service's last answer, or what befell the request, and why there was no further attempt.
    GaveUp(GiveUp, String),
    /// Nothing has an outcome: the governor sent nothing, or nothing was answered in time.
    Refused(Box<Refusal>),
    /// The deadline passed while an answer, or the rest of its bytes, was on its way.
    Late,
    /// The bytes broke off, and were not asked for again.
    BrokenOff(String),
    /// Anything else: there was no token, or the bytes were not those of the object.
    Failed(String),
}

impl Ending {
    /// Reads an error, and what the report says of the calls that it ended.
    pub fn of(error: &Error, report: &CallReport) -> Self {
        if let Some(refusal) = refusal(error) {
            return Ending::Refused(Box::new(refusal.clone()));
        }
        let answer = answer(error);
        let said = || answer.clone().unwrap_or_else(|| said(error));
        match report.gave_up() {
            Some(reason) => Ending::GaveUp(reason, said()),
            None if answer.is_some() => Ending::Answered(said()),
            None if error.is_transport() || error.is_timeout() || error.is_exhausted() => Ending::BrokenOff(said()),
            None => Ending::Failed(said()),
        }
    }

    /// A stable name in snake_case.
    pub fn code(&self) -> &'static str {
        match self {
            Ending::Read(_) => "read",
            Ending::Answered(_) => "answered",
            Ending::GaveUp(..) => "gave_up",
            Ending::Refused(_) => "refused",
            Ending::Late => "late",
            Ending::BrokenOff(_) => "broken_off",
            Ending::Failed(_) => "failed",
        }
    }

    /// The exit code of a program whose last read ended so.
    pub fn exit_code(&self) -> u8 {
        match self {
            Ending::Read(_) => 0,
            Ending::Answered(_) => ANSWERED,
            Ending::Late | Ending::GaveUp(GiveUp::DeadlineExceeded, _) => RefusalKind::DeadlineExceeded.exit_code(),
            Ending::GaveUp(GiveUp::RetryBudgetExhausted, _) => RefusalKind::RetryBudgetExhausted.exit_code(),
            Ending::GaveUp(GiveUp::CircuitOpen, _) => RefusalKind::CircuitOpen.exit_code(),
            Ending::GaveUp(..) => EXHAUSTED,
            Ending::Refused(refusal) => refusal.exit_code(),
            Ending::BrokenOff(_) => BROKEN_OFF,
            Ending::Failed(_) => FAILED,
        }
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ending::Read(bytes) => write!(f, "read, {bytes} bytes"),
            Ending::Answered(said) => write!(f, "not read, the service says {said}"),
            Ending::GaveUp(reason, said) => write!(f, "not read, gave up ({}): {said}", reason.code()),
            Ending::Refused(refusal) => write!(f, "not read, refused ({}): {refusal}", refusal.code()),
            Ending::Late => f.write_str("not read, the deadline passed before all bytes were there"),
            Ending::BrokenOff(said) => write!(f, "not read, the bytes broke off: {said}"),
            Ending::Failed(said) => write!(f, "not read: {said}"),
        }
    }
}

/// An error that is no answer, in one line.
fn said(error: &Error) -> String {
    if error.is_timeout() { "timed out".to_owned() } else { crate::inventory::chain(error) }
}

#[cfg(test)]
mod tests;
