//! Finding the governor's refusal behind an SDK error.

use std::error::Error;

use cloud_governor::Refusal;

/// The governor's refusal in an SDK error's source chain, if that is why the call failed.
///
/// A refused call was not sent. The SDK wraps the refusal in an `SdkError` of another variant than a service's own
/// error: look here before taking it for a network failure.
///
/// ```
/// # fn demo(error: &(dyn std::error::Error + 'static)) {
/// if let Some(refusal) = cloud_governor_aws::refusal(error) {
///     eprintln!("not sent: {} ({})", refusal, refusal.code());
/// }
/// # }
/// ```
pub fn refusal<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a Refusal> {
    Refusal::find(error)
}
