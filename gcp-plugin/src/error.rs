//! Errors of ours inside an SDK error, and finding them there.

use std::error::Error as StdError;
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use cloud_governor::{Facts, Refusal};
use google_cloud_auth::errors::CredentialsError;
use google_cloud_gax::error::Error;

use crate::facts::{Told, chain};

/// The governor's refusal in an error's source chain, if that is why the call failed.
///
/// A refused call was not sent: look here before taking its error for the service's.
///
/// ```
/// # fn demo(error: google_cloud_gax::error::Error) {
/// if let Some(refusal) = cloud_governor_gcp::refusal(&error) {
///     eprintln!("not sent: {} ({})", refusal, refusal.code());
/// }
/// # }
/// ```
pub fn refusal<'a>(error: &'a (dyn StdError + 'static)) -> Option<&'a Refusal> {
    Refusal::find(error)
}

/// What an SDK error tells of the request that failed: status, code, reason, message, Retry-After, or what went wrong on the
/// way. For calls that are wrapped by hand.
///
/// ```
/// use cloud_governor::{Error, Resilience, Scope, get_governor};
/// use cloud_governor_gcp::facts;
///
/// # async fn get_bucket() -> google_cloud_gax::Result<u32> { Ok(7) }
/// # async fn demo() -> Result<u32, Error<google_cloud_gax::error::Error>> {
/// let scope = Scope::new("gcp", "projects/my-project", "", "storage").with_operation("GetBucket");
/// let resilience = Resilience::new()
///     .classify_with(|error: &google_cloud_gax::error::Error| get_governor().classify(&scope, facts(error)));
/// let bucket = resilience.call(&scope, || async { get_bucket().await }).await?;
/// # Ok(bucket)
/// # }
/// ```
pub fn facts(error: &Error) -> Facts<'static> {
    Told::of(error).facts
}

/// A refusal on its way through the SDK, from the credentials to the retry policy, with the error that is the caller's if an
/// earlier attempt has one.
#[derive(Debug)]
pub(crate) struct Refused {
    refusal: Refusal,
    last: Mutex<Option<Last>>,
}

/// The error of an attempt that another was to follow.
#[derive(Debug)]
pub(crate) struct Last {
    /// When the loop began whose error it is.
    pub(crate) loop_start: Instant,
    pub(crate) error: Error,
}

impl Last {
    /// The error, if it is that loop's: without a recorder, a journey may have come to another's.
    pub(crate) fn of(self, loop_start: Instant) -> Option<Error> {
        (self.loop_start == loop_start).then_some(self.error)
    }
}

impl Refused {
    pub(crate) fn into_error(refusal: Refusal, last: Option<Last>) -> CredentialsError {
        let message = refusal.to_string();
        CredentialsError::new(false, message, Refused { refusal, last: Mutex::new(last) })
    }

    /// The one in an error's source chain.
    pub(crate) fn of(error: &Error) -> Option<&Refused> {
        chain(error).find_map(|error| error.downcast_ref())
    }

    pub(crate) fn refusal(&self) -> &Refusal {
        &self.refusal
    }

    /// What the caller gets whose loop began then: its own last error, or else the refusal.
    pub(crate) fn for_loop(&self, loop_start: Instant) -> Error {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner).take();
        last.and_then(|last| last.of(loop_start)).unwrap_or_else(|| self.alone())
    }

    /// The refusal, which has nothing to do with credentials.
    pub(crate) fn alone(&self) -> Error {
        Error::exhausted(self.refusal.clone())
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.refusal.fmt(f)
    }
}

impl StdError for Refused {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&self.refusal)
    }
}

/// What the SDK's loop holds while the error itself is kept for the caller. The loop drops it unseen, unless a call site has
/// a backoff or a throttler of its own that ends the loop.
pub(crate) fn twin(error: &Error) -> Error {
    if let Some(status) = error.status() {
        let headers = error.http_headers().cloned();
        return Error::service_with_http_metadata(status.clone(), error.http_status_code(), headers);
    }
    if let (Some(code), Some(headers)) = (error.http_status_code(), error.http_headers()) {
        return Error::http(code, headers.clone(), error.http_payload().cloned().unwrap_or_default());
    }
    let text = error.source().map_or_else(|| error.to_string(), ToString::to_string);
    match error {
        error if error.is_connect() => Error::connect(text),
        error if error.is_timeout() => Error::timeout(text),
        _ => Error::io(text),
    }
}

#[cfg(test)]
mod tests;
