use std::time::Duration;

use azure_core::http::headers::Headers;
use azure_core::http::{RawResponse, StatusCode};
use cloud_governor::Rules;

use super::*;
use crate::inventory::failure::{Failure, Worth};

fn answered(status: u16, code: &str, retry_after: Option<&'static str>) -> Error {
    let mut headers = Headers::new();
    if let Some(seconds) = retry_after {
        headers.insert("retry-after", seconds);
    }
    let status = StatusCode::from(status);
    let raw_response = Some(Box::new(RawResponse::from_bytes(status, headers, "the token was hunter2")));
    let kind = ErrorKind::HttpResponse { status, error_code: Some(code.to_owned()), raw_response };
    Error::with_message(kind, "the token was hunter2")
}

fn failure(error: &Error) -> Failure {
    Failure::of("network.VirtualNetworks.listAll", error, &Rules::new())
}

#[test]
fn throttles_and_passing_failures_are_worth_another_try() {
    let late = io::Error::new(io::ErrorKind::TimedOut, "late");
    let errors = [
        answered(429, "SubscriptionRequestsThrottled", None),
        answered(500, "InternalServerError", None),
        answered(503, "ServiceUnavailable", None),
        Error::new(ErrorKind::Io, late),
        Error::new(ErrorKind::Io, io::Error::other("reset")),
        Error::new(ErrorKind::Connection, io::Error::other("refused")),
        Error::new(ErrorKind::Credential, answered(429, "50196", None)),
        Error::new(ErrorKind::Credential, Error::new(ErrorKind::Io, io::Error::other("reset"))),
    ];
    for error in &errors {
        assert!(matches!(failure(error).worth(), Worth::Later(_)), "{error:?}");
    }
}

#[test]
fn what_waiting_does_not_mend_is_not() {
    let errors = [
        answered(403, "AuthorizationFailed", None),
        answered(404, "SubscriptionNotFound", None),
        Error::with_message(ErrorKind::DataConversion, "no JSON"),
        Error::with_message(ErrorKind::Credential, "nobody is signed in"),
        Error::new(ErrorKind::Credential, answered(401, "invalid_client", None)),
    ];
    for error in &errors {
        assert_eq!(failure(error).worth(), Worth::Never, "{error:?}");
    }
}

#[test]
fn a_retry_after_says_when() {
    let error = answered(429, "SubscriptionRequestsThrottled", Some("7"));
    assert_eq!(failure(&error).worth(), Worth::Later(Some(Duration::from_secs(7))));
}

#[test]
fn a_service_s_message_is_not_repeated_and_a_token_s_failure_says_that_it_is_one() {
    let (service, identity) = (answered(403, "AuthorizationFailed", None), answered(401, "invalid_client", None));
    let identity = Error::new(ErrorKind::Credential, identity);
    let told = [(&service, "AuthorizationFailed (HTTP 403)"), (&identity, "no token: invalid_client (HTTP 401)")];
    for (error, text) in told {
        let failure = failure(error);
        assert_eq!(failure.to_string(), format!("network.VirtualNetworks.listAll: {text}"));
        assert!(!format!("{failure:?}").contains("hunter2"));
    }
}

#[test]
fn what_a_service_said_is_an_answer_and_what_the_network_did_is_none() {
    assert!(failure(&answered(429, "TooManyRequests", None)).answered());
    assert!(!failure(&Error::new(ErrorKind::Io, io::Error::other("reset"))).answered());
}
