use std::time::Duration;

use cloud_governor::Rules;
use google_cloud_auth::errors::CredentialsError;
use google_cloud_gax::error::rpc::Status;

use super::*;
use crate::inventory::failure::{Failure, Worth};

/// An answer in the form of the newer services, or of the older ones, whose message must not be repeated.
fn answered(http: u16, body: &str, retry_after: Option<&'static str>) -> Error {
    let mut headers = hyper::HeaderMap::new();
    if let Some(seconds) = retry_after {
        headers.insert("retry-after", seconds.parse().expect("a header"));
    }
    let parsed: Result<Status, _> =
        google_cloud_gax::error::rpc::Status::try_from(&bytes::Bytes::from(body.to_owned()));
    match parsed {
        Ok(status) => Error::service_with_http_metadata(status, Some(http), Some(headers)),
        Err(_) => Error::http(http, headers, body.to_owned().into()),
    }
}

fn modern(http: u16, status: &str, reason: &str) -> Error {
    let details = if reason.is_empty() {
        String::new()
    } else {
        format!(
            r#","details":[{{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"{reason}","domain":"googleapis.com"}}]"#
        )
    };
    let body =
        format!(r#"{{"error":{{"code":{http},"message":"the token was hunter2","status":"{status}"{details}}}}}"#);
    answered(http, &body, None)
}

fn legacy(http: u16, reason: &str) -> Error {
    let body = format!(
        r#"{{"error":{{"code":{http},"message":"the token was hunter2","errors":[{{"message":"hunter2","domain":"global","reason":"{reason}"}}]}}}}"#
    );
    answered(http, &body, None)
}

fn failure(error: &Error) -> Failure {
    Failure::of("cloudasset.ListAssets", error, &Rules::new())
}

#[test]
fn throttles_and_passing_failures_are_worth_another_try() {
    let errors = [
        modern(429, "RESOURCE_EXHAUSTED", "RATE_LIMIT_EXCEEDED"),
        modern(429, "RESOURCE_EXHAUSTED", ""),
        legacy(403, "rateLimitExceeded"),
        modern(503, "UNAVAILABLE", ""),
        Error::exhausted(modern(503, "UNAVAILABLE", "")),
        Error::timeout("late"),
        Error::io("reset"),
        Error::connect("refused"),
        Error::authentication(CredentialsError::from_msg(true, "the metadata server is busy")),
    ];
    for error in &errors {
        assert!(matches!(failure(error).worth(), Worth::Later(_)), "{error:?}");
    }
}

#[test]
fn what_waiting_does_not_mend_is_not() {
    let errors = [
        modern(403, "PERMISSION_DENIED", ""),
        modern(404, "NOT_FOUND", ""),
        legacy(403, "forbidden"),
        legacy(403, "quotaExceeded"),
        Error::deser("no JSON"),
        Error::authentication(CredentialsError::from_msg(false, "nobody is signed in")),
    ];
    for error in &errors {
        assert_eq!(failure(error).worth(), Worth::Never, "{error:?}");
    }
}

#[test]
fn a_retry_after_says_when() {
    let body = r#"{"error":{"code":429,"message":"slow down","status":"RESOURCE_EXHAUSTED"}}"#;
    let error = answered(429, body, Some("7"));
    assert_eq!(failure(&error).worth(), Worth::Later(Some(Duration::from_secs(7))));
}

#[test]
fn a_reason_is_told_and_never_a_message() {
    for (error, text) in [
        (modern(429, "RESOURCE_EXHAUSTED", "RATE_LIMIT_EXCEEDED"), "RATE_LIMIT_EXCEEDED (HTTP 429)"),
        (Error::exhausted(modern(429, "RESOURCE_EXHAUSTED", "")), "RESOURCE_EXHAUSTED (HTTP 429)"),
        (legacy(403, "rateLimitExceeded"), "rateLimitExceeded (HTTP 403)"),
        (answered(404, "No such object: hunter2", None), "an error without a code (HTTP 404)"),
    ] {
        let failure = failure(&error);
        assert_eq!(failure.to_string(), format!("cloudasset.ListAssets: {text}"));
        assert!(failure.answered() && !format!("{failure:?}").contains("hunter2"));
    }
}

#[test]
fn what_the_network_did_is_no_answer_and_a_token_s_failure_says_that_it_is_one() {
    assert!(!failure(&Error::io("reset")).answered());
    let error = Error::authentication(CredentialsError::from_msg(false, "nobody is signed in"));
    let failure = failure(&error);
    assert!(failure.to_string().contains("no token: ") && !failure.answered(), "{failure}");
}
