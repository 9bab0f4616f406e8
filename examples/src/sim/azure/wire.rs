//! How answers and errors look.

use bytes::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use hyper::{Response, StatusCode};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::limits::Bucket;
use crate::sim::{Answer, Verdict};

/// The region whose Resource Manager answers: the throttles are its own.
const REGION: &str = "WESTEUROPE";

/// An error of Resource Manager or of a provider, without the envelope that both share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Error {
    pub(super) status: StatusCode,
    pub(super) code: &'static str,
    pub(super) message: String,
    pub(super) details: Option<Value>,
}

impl Error {
    pub(super) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Error { status, code, message: message.into(), details: None }
    }

    pub(super) fn bad_request(code: &'static str, message: impl Into<String>) -> Self {
        Error::new(StatusCode::BAD_REQUEST, code, message)
    }

    pub(super) fn not_found(code: &'static str, message: impl Into<String>) -> Self {
        Error::new(StatusCode::NOT_FOUND, code, message)
    }

    /// Resource Manager's own failure.
    pub(super) fn failed(status: StatusCode) -> Self {
        match status {
            StatusCode::SERVICE_UNAVAILABLE => {
                Error::new(status, "ServiceUnavailable", "The service is temporarily unavailable. Please retry.")
            }
            _ => Error::new(status, "InternalServerError", "Encountered internal server error."),
        }
    }

    /// A refusal, in the words of the party whose bucket it was. The code is in the body alone.
    ///
    /// The page that shows Compute's leaves out the envelope, and calls the whole the general format of Resource
    /// Manager; logs of callers have it, and so it is here.
    pub(super) fn throttled(bucket: Bucket, limit: f64, path: &str, account: &str, actor: &str, seconds: u64) -> Self {
        let refused = |code, message| Error::new(StatusCode::TOO_MANY_REQUESTS, code, message);
        let arm = |kind, place, code| {
            let message = format!(
                "Number of '{kind}' requests for {place} '{account}' actor '{actor}' exceeded. Please try again after \
                 '{seconds}' seconds after additional tokens are available. Refer to https://aka.ms/arm-throttling \
                 for additional information."
            );
            refused(code, message)
        };
        match bucket {
            Bucket::TenantReads => arm("read", "tenant", "TenantRequestsThrottled"),
            Bucket::Writes | Bucket::GlobalWrites => arm("write", "subscription", "SubscriptionRequestsThrottled"),
            Bucket::Deletes | Bucket::GlobalDeletes => arm("delete", "subscription", "SubscriptionRequestsThrottled"),
            Bucket::NetworkReads => {
                let action = if path.to_ascii_lowercase().ends_with("subnets") { "/subnets" } else { "" };
                let message = format!(
                    "Number of requests for action 'Microsoft.Network/virtualNetworks{action}/read' exceeded the \
                     limit of '{limit}' for time interval '00:05:00'. Please try again after '{seconds}' seconds."
                );
                refused("ResourceRequestsThrottled", message)
            }
            Bucket::HighCostGet | Bucket::LowCostGet | Bucket::LowCostGetOfOne => {
                let message = "The server rejected the request because too many requests have been received for this \
                               subscription.";
                let details = compute_details(bucket, limit, seconds);
                Error { details: Some(details), ..refused("OperationNotAllowed", message.to_owned()) }
            }
            _ => arm("read", "subscription", "SubscriptionRequestsThrottled"),
        }
    }
}

/// Compute says which of its policies it was in JSON within JSON.
fn compute_details(bucket: Bucket, limit: f64, seconds: u64) -> Value {
    let policy = policy(bucket).unwrap_or_default();
    let now = Timestamp::now();
    let end =
        i64::try_from(seconds).ok().and_then(|seconds| now.checked_add(jiff::SignedDuration::from_secs(seconds)).ok());
    let message = json!({
        "operationGroup": policy,
        "startTime": now.to_string(),
        "endTime": end.unwrap_or(Timestamp::MAX).to_string(),
        "allowedRequestCount": limit,
        "measuredRequestCount": limit + 1.0,
    });
    json!([{ "code": "TooManyRequests", "target": policy, "message": message.to_string() }])
}

/// Compute's name for a bucket. The pages name the first two; the third name is chosen.
fn policy(bucket: Bucket) -> Option<&'static str> {
    match bucket {
        Bucket::HighCostGet => Some("HighCostGet"),
        Bucket::LowCostGet => Some("LowCostGet"),
        Bucket::LowCostGetOfOne => Some("LowCostGetResource"),
        _ => None,
    }
}

/// The header in which Resource Manager tells what is left in a bucket.
fn header_of(bucket: Bucket) -> Option<&'static str> {
    Some(match bucket {
        Bucket::TenantReads => "x-ms-ratelimit-remaining-tenant-reads",
        Bucket::Reads => "x-ms-ratelimit-remaining-subscription-reads",
        Bucket::GlobalReads => "x-ms-ratelimit-remaining-subscription-global-reads",
        Bucket::Writes => "x-ms-ratelimit-remaining-subscription-writes",
        Bucket::GlobalWrites => "x-ms-ratelimit-remaining-subscription-global-writes",
        Bucket::Deletes => "x-ms-ratelimit-remaining-subscription-deletes",
        Bucket::GlobalDeletes => "x-ms-ratelimit-remaining-subscription-global-deletes",
        _ => return None,
    })
}

/// Writes what is left in each bucket into the answer. Network and Entra ID tell nothing.
pub(super) fn note(buckets: impl Iterator<Item = Bucket>, verdict: &Verdict, answer: &mut Answer) {
    let mut policies = Vec::new();
    for (bucket, left) in buckets.zip(&verdict.left) {
        let left = left.floor();
        if let Some(name) = header_of(bucket) {
            set(answer, name, &left.to_string());
        }
        if let Some(policy) = policy(bucket) {
            policies.push(format!("Microsoft.Compute/{policy};{left}"));
        }
    }
    if !policies.is_empty() {
        set(answer, "x-ms-ratelimit-remaining-resource", &policies.join(","));
        set(answer, "x-ms-request-charge", "1");
    }
}

/// A whole number of seconds in which the wait is over.
pub(super) fn retry_after(verdict: &Verdict) -> u64 {
    verdict.wait.as_secs().saturating_add(u64::from(verdict.wait.subsec_nanos() > 0)).max(1)
}

/// Sets a header. None of these values is one that a header cannot have.
pub(super) fn set(answer: &mut Answer, name: &'static str, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        answer.headers_mut().insert(HeaderName::from_static(name), value);
    }
}

/// Tells when to come again.
pub(super) fn set_retry_after(answer: &mut Answer, seconds: u64) {
    answer.headers_mut().insert(RETRY_AFTER, seconds.into());
}

/// Tells where a token is to be had.
pub(super) fn challenge(answer: &mut Answer, tenant: &str, description: &str) {
    let challenge = format!(
        "Bearer authorization_uri=\"https://login.microsoftonline.com/{tenant}\", error=\"invalid_token\", \
         error_description=\"{description}\""
    );
    if let Ok(challenge) = HeaderValue::from_str(&challenge) {
        answer.headers_mut().insert(WWW_AUTHENTICATE, challenge);
    }
}

/// In the form of a UUID, as the services' own.
pub(super) fn request_id(number: u64) -> String {
    format!("{:08x}-{:04x}-4000-8000-{number:012x}", number >> 16 & 0xffff_ffff, number & 0xffff)
}

/// An answer of Resource Manager.
pub(super) fn arm(number: u64, status: StatusCode, body: &Value) -> Answer {
    let mut answer = plain(number, status, body);
    let id = request_id(number);
    let time = Timestamp::now().strftime("%Y%m%dT%H%M%SZ");
    set(&mut answer, "x-ms-correlation-request-id", &id);
    set(&mut answer, "x-ms-routing-request-id", &format!("{REGION}:{time}:{id}"));
    answer
}

/// An error of Resource Manager.
pub(super) fn arm_error(number: u64, error: &Error) -> Answer {
    let Error { status, code, message, details } = error;
    let error = match details {
        Some(details) => json!({ "code": code, "message": message, "details": details }),
        None => json!({ "code": code, "message": message }),
    };
    arm(number, *status, &json!({ "error": error }))
}

/// An answer with the headers that Resource Manager and Entra ID have in common.
pub(super) fn plain(number: u64, status: StatusCode, body: &Value) -> Answer {
    let mut answer = Response::new(Bytes::from(body.to_string()));
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json; charset=utf-8"));
    set(&mut answer, "x-ms-request-id", &request_id(number));
    answer
}
