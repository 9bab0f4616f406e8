//! The body of an answer, looked into for what it says.

use cloud_governor::{Facts, RetryAfter};
use serde_json::Value;

use super::Told;
use super::details::{Details, MOST};

/// Longer bodies are no error of an API.
const LONGEST: usize = 64 * 1024;

/// The body of an answer with this head.
pub(crate) fn read<'a>(body: &[u8], facts: Facts<'a>) -> Told<'a> {
    let root = Some(body).filter(|body| body.len() <= LONGEST).and_then(|body| serde_json::from_slice(body).ok());
    match root.as_ref().and_then(|root: &Value| root.get("error")).filter(|error| error.is_object()) {
        Some(error) => read_error(error, facts),
        // A text, or the page of a load balancer.
        None => Details::default().told(facts, &String::from_utf8_lossy(body.get(..LONGEST).unwrap_or(body))),
    }
}

fn read_error<'a>(error: &Value, facts: Facts<'a>) -> Told<'a> {
    let entries = |key: &str| error.get(key).and_then(Value::as_array).into_iter().flatten().take(MOST);
    let mut details = Details::default();
    entries("details").for_each(|detail| add(&mut details, detail));
    for item in entries("errors") {
        details.error_info(as_text(item, "reason"), |_| None);
    }
    details.told(facts.grpc_status(as_text(error, "status")), as_text(error, "message"))
}

fn add(details: &mut Details, detail: &Value) {
    match as_text(detail, "@type").rsplit('.').next() {
        Some("ErrorInfo") => {
            let metadata = detail.get("metadata");
            details.error_info(as_text(detail, "reason"), |key| metadata?.get(key)?.as_str());
        }
        Some("RetryInfo") => {
            let mut wait = RetryAfter::new();
            wait.retry_info_text(as_text(detail, "retryDelay"));
            // Only a date would be compared with the clock.
            details.wait(wait.delay(std::time::SystemTime::UNIX_EPOCH));
        }
        Some("QuotaFailure") => {
            let violations = detail.get("violations").and_then(Value::as_array);
            for violation in violations.into_iter().flatten().take(MOST) {
                details.violation(as_text(violation, "quotaId"), as_text(violation, "description"));
            }
        }
        _ => {}
    }
}

fn as_text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}
