//! Errors as the clients make them, from answers as Google gives them, judged by the built-in rules.

mod answers;
mod hostile;
mod limits;
mod wrapped;

use bytes::Bytes;
use cloud_governor::{Class, Classification, Resend, Rules, Scope};
use google_cloud_gax::error::Error;
use google_cloud_gax::error::rpc::Status;
use google_cloud_gax_internal::grpc::from_status::to_gax_error;
use http::{HeaderMap, HeaderName, HeaderValue};
use tonic_types::{ErrorDetails, StatusExt};

use super::Told;

/// The error that a client makes of an HTTP answer: `to_http_error` of its transport.
fn http(status: u16, headers: &[(&str, &str)], body: &str) -> Error {
    let headers: HeaderMap = (headers.iter())
        .map(|(name, value)| {
            (HeaderName::from_bytes(name.as_bytes()).unwrap(), HeaderValue::from_bytes(value.as_bytes()).unwrap())
        })
        .collect();
    let body = Bytes::copy_from_slice(body.as_bytes());
    match Status::try_from(&body) {
        Ok(parsed) => Error::service_with_http_metadata(parsed, Some(status), Some(headers)),
        Err(_) => Error::http(status, headers, body),
    }
}

/// The error that a client makes of a gRPC status with details.
fn grpc(code: tonic::Code, message: &str, details: ErrorDetails) -> Error {
    to_gax_error(tonic::Status::with_error_details(code, message, details))
}

fn verdict_in(service: &str, error: &Error) -> Classification {
    let scope = Scope::new("gcp", "projects/p", "", service);
    Rules::new().classify(&Told::of(error).facts.in_scope(&scope))
}

fn verdict(error: &Error) -> Classification {
    verdict_in("cloudasset", error)
}

fn class(error: &Error) -> Class {
    verdict(error).class
}

fn judged(error: &Error) -> (Class, Resend) {
    let verdict = verdict(error);
    (verdict.class, verdict.resend)
}

/// An answer in the form of AIP-193, with these details.
fn answer(code: u16, status: &str, message: &str, details: &str) -> Error {
    let body = serde_json::json!({
        "error": {
            "code": code,
            "message": message,
            "status": status,
            "details": serde_json::from_str::<serde_json::Value>(details).unwrap(),
        }
    });
    http(code, &[], &body.to_string())
}

/// An answer in the older form.
fn older(code: u16, message: &str, reason: &str) -> Error {
    let item = serde_json::json!({ "message": message, "domain": "usageLimits", "reason": reason });
    let body = serde_json::json!({ "error": { "errors": [item], "code": code, "message": message } });
    http(code, &[], &body.to_string())
}

/// As Cloud Resource Manager said it.
const READS_PER_MINUTE: &str = r#"[
  {
    "@type": "type.googleapis.com/google.rpc.ErrorInfo",
    "reason": "RATE_LIMIT_EXCEEDED",
    "domain": "googleapis.com",
    "metadata": {
      "consumer": "projects/12345678910",
      "service": "cloudresourcemanager.googleapis.com",
      "quota_location": "global",
      "quota_metric": "cloudresourcemanager.googleapis.com/read_requests",
      "quota_limit_value": "1200",
      "quota_limit": "ReadRequestsPerMinutePerProject"
    }
  },
  {
    "@type": "type.googleapis.com/google.rpc.Help",
    "links": [{ "description": "Request a higher quota limit.", "url": "https://cloud.google.com/docs/quota" }]
  }
]"#;
