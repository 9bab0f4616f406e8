use std::error::Error as _;
use std::time::Duration;

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
    let for_caller = found.for_loop(Instant::now());
    assert_eq!(refusal(&for_caller), Some(found.refusal()));
    assert_eq!(for_caller.to_string(), found.refusal().to_string());
    assert!(!for_caller.is_authentication());
}

#[tokio::test]
async fn the_callers_own_error_is_given_to_its_own_loop_once() {
    let loop_start = Instant::now();
    let last = || Some(Last { loop_start, error: answered(503) });
    let error = Error::authentication(Refused::into_error(refused().await, last()));
    let found = Refused::of(&error).unwrap();
    assert_eq!(found.for_loop(loop_start).http_status_code(), Some(503));
    assert!(refusal(&found.for_loop(loop_start)).is_some());

    let error = Error::authentication(Refused::into_error(refused().await, last()));
    let other = loop_start + Duration::from_nanos(1);
    assert!(refusal(&Refused::of(&error).unwrap().for_loop(other)).is_some());
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
