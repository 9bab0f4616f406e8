use azure_core::http::headers::{HeaderName, Headers};
use azure_core::http::{RawResponse, StatusCode};
use cloud_governor::{Class, Classification, Rules};
use std::time::Duration;

use super::*;

fn meaning(error: &Error) -> Option<Classification> {
    facts_of(error).map(|facts| Rules::new().classify(&facts.provider("azure").service("identity")))
}

fn wrapped(error: Error) -> Error {
    Error::with_error(ErrorKind::Credential, error, "ClientSecretCredential authentication failed")
}

fn answered(status: u16, headers: Headers, body: &'static str, code: Option<&str>) -> Error {
    let status = StatusCode::from(status);
    let raw_response = Some(Box::new(RawResponse::from_bytes(status, headers, body)));
    let kind = ErrorKind::HttpResponse { status, error_code: code.map(str::to_owned), raw_response };
    wrapped(Error::with_message(kind, "the request failed"))
}

#[test]
fn the_answer_behind_a_credentials_error_is_found_with_its_headers() {
    let mut headers = Headers::new();
    headers.insert(HeaderName::from_static("retry-after"), "7");
    let found = meaning(&answered(429, headers, "", Some("50196"))).expect("an answer");
    assert_eq!((found.class, found.retry_after), (Class::Throttled, Some(Duration::from_secs(7))));
    let refused = meaning(&answered(400, Headers::new(), r#"{"error":"invalid_client"}"#, None)).expect("an answer");
    assert_eq!(refused.class, Class::Fatal);
    let named = meaning(&answered(400, Headers::new(), r#"{"error":{"code":"TooManyRequests"}}"#, None));
    assert_eq!(named.expect("an answer").class, Class::Throttled);
}

#[test]
fn a_connection_behind_a_credentials_error_is_found() {
    for kind in [ErrorKind::Connection, ErrorKind::Io] {
        let error = wrapped(Error::with_message(kind, "no one there"));
        assert_eq!(meaning(&error).expect("a failed request").class, Class::Transient);
    }
}

#[test]
fn an_answer_says_more_than_the_connection_that_was_named_around_it() {
    let inner = answered(400, Headers::new(), "", None);
    let error = Error::with_error(ErrorKind::Io, inner, "while asking for a token");
    assert_eq!(meaning(&error).expect("an answer").class, Class::Fatal);
}

#[test]
fn an_error_of_no_request_has_no_facts() {
    assert!(facts_of(&Error::with_message(ErrorKind::Credential, "not logged in")).is_none());
    assert!(facts_of(&wrapped(Error::with_message(ErrorKind::DataConversion, "no JSON"))).is_none());
}

#[test]
fn a_refusal_of_the_governor_has_no_facts() {
    use cloud_governor::{Governor, Outcome, RetryPolicy};
    let config = cloud_governor::Config::builder().provider("azure", |azure| azure.breaker_failures(1)).build();
    let governor = Governor::builder().config(config.expect("sound")).build();
    let scope = Scope::new("azure", "a", "", "identity");
    let mut call = governor.call(&scope).policy(RetryPolicy::none());
    call.attempted(governor.clock().now()).finish(Outcome::Failure(Classification::transient()));
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let mut next = governor.call(&scope);
    let refusal = runtime.block_on(async { next.admit().await.err() }).expect("an open circuit");
    let error = Error::with_error(ErrorKind::Io, crate::error::refused(refusal), "while asking for a token");
    assert!(facts_of(&error).is_none());
}

#[test]
fn an_error_that_a_caller_wraps_by_hand_tells_what_it_means_and_one_of_no_request_is_fatal() {
    let meaning = |error: &Error| Rules::new().classify(&crate::facts(error).provider("azure"));
    assert_eq!(meaning(&answered(429, Headers::new(), "", None)).class, Class::Throttled);
    assert_eq!(meaning(&answered(404, Headers::new(), "", None)).class, Class::Fatal);
    assert_eq!(meaning(&Error::with_message(ErrorKind::Other, "an invalid argument")).class, Class::Fatal);
}
