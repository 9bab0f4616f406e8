//! Errors of ours inside an SDK error, and finding them there.

use std::error::Error;
use std::io;
use std::time::Duration;

use azure_core::error::ErrorKind;
use cloud_governor::{Facts, Refusal};

use crate::token::facts_of;

/// The governor's refusal in an error's source chain, if that is why the call failed.
///
/// A refused call was not sent. The SDK's error is one of kind `Other` then: look here before taking it for a failure of
/// one's own.
///
/// ```
/// # fn demo(error: azure_core::Error) {
/// if let Some(refusal) = cloud_governor_azure::refusal(&error) {
///     eprintln!("not sent: {} ({})", refusal, refusal.code());
/// }
/// # }
/// ```
pub fn refusal<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a Refusal> {
    Refusal::find(error)
}

/// What an SDK error tells of the request that failed: status, code, message, Retry-After, or what went wrong on the way. For
/// calls that are wrapped by hand; the crate's documentation has an example. An error of no request has no facts, and
/// what has none is fatal.
pub fn facts(error: &azure_core::Error) -> Facts<'static> {
    facts_of(error).unwrap_or_default()
}

pub(crate) fn refused(refusal: Refusal) -> azure_core::Error {
    azure_core::Error::new(ErrorKind::Other, refusal)
}

/// What to say of an attempt that was not answered in time.
pub(crate) fn late(limit: Duration) -> azure_core::Error {
    let text = format!("the request was not answered within the attempt timeout of {limit:?}");
    azure_core::Error::new(ErrorKind::Io, io::Error::new(io::ErrorKind::TimedOut, text))
}

/// A pipeline without a transport: not the SDK's.
pub(crate) fn nothing_follows() -> azure_core::Error {
    azure_core::Error::with_message(ErrorKind::Other, "no policy follows the governor's, so nothing can be sent")
}
