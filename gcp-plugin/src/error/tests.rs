use std::error::Error as _;

use cloud_governor::{Call, Governor, RefusalKind, RetryPolicy, Scope};
use http::{HeaderMap, HeaderValue};

use super::*;
use crate::testing::{answered, no_connection, retry_after};

/// A refusal as a governor makes it.
async fn refused() -> Refusal {
    let governor = Governor::default();
    let mut call: Call = governor.call(&Scope::new("gcp", "projects/p", "", "storage")).policy(RetryPolicy::none());
    call.admit().await.unwrap().finish(cloud_governor::Outcome::Success);
    call.admit().await.unwrap_err()
}

#[tokio::test]
async fn a_refusal_is_found_behind_the_credentials_error_and_behind_what_the_caller_gets() {
    let error = Error::authentication(Refused::into_error(refused().await, None));
    assert_eq!(refusal(&error).unwrap().kind(), RefusalKind::CallEnded);
    let found = Refused::of(&error).unwrap();
    assert_eq!(found.refusal().kind(), RefusalKind::CallEnded);
    let for_caller = found.for_caller();
    assert_eq!(refusal(&for_caller), Some(found.refusal()));
    assert_eq!(for_caller.to_string(), found.refusal().to_string());
    assert!(!for_caller.is_authentication());
}

#[tokio::test]
async fn the_callers_own_error_is_given_out_once() {
    let error = Error::authentication(Refused::into_error(refused().await, Some(answered(503))));
    let found = Refused::of(&error).unwrap();
    assert_eq!(found.for_caller().http_status_code(), Some(503));
    assert!(refusal(&found.for_caller()).is_some());
}

#[test]
fn other_errors_hold_no_refusal() {
    let token = Error::authentication(CredentialsError::from_msg(true, "no token"));
    assert!(Refused::of(&token).is_none() && refusal(&token).is_none());
    assert!(Refused::of(&answered(503)).is_none());
}

#[test]
fn a_twin_says_what_the_error_says() {
    let answer = retry_after(429, 7);
    let twin_of_answer = twin(&answer);
    assert_eq!(twin_of_answer.status(), answer.status());
    assert_eq!(twin_of_answer.http_status_code(), Some(429));
    assert_eq!(twin_of_answer.http_headers(), answer.http_headers());

    let headers = HeaderMap::from_iter([(http::header::RETRY_AFTER, HeaderValue::from(7))]);
    let raw = Error::http(502, headers.clone(), "<html>".into());
    let twin_of_raw = twin(&raw);
    assert_eq!((twin_of_raw.http_status_code(), twin_of_raw.http_headers()), (Some(502), Some(&headers)));
    assert_eq!(twin_of_raw.http_payload(), raw.http_payload());

    assert!(twin(&no_connection()).is_connect());
    assert!(twin(&Error::timeout("late")).is_timeout());
    let io = twin(&Error::io("broken"));
    assert!(io.is_io());
    assert_eq!(io.source().unwrap().to_string(), "broken");
}
