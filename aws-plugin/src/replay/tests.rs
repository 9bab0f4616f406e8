use std::io;

use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::http::{Headers, StatusCode};
use aws_smithy_types::byte_stream::ByteStream;
use aws_smithy_types::retry::ErrorKind;
use bytes::Bytes;
use std::sync::Arc;

use super::{Answer, KeptError, SharedError};

fn reset() -> io::Error {
    io::Error::new(io::ErrorKind::ConnectionReset, "reset by peer")
}

#[test]
fn a_response_is_given_as_often_as_asked_and_stays_the_same() {
    let mut headers = Headers::new();
    headers.insert("x-amzn-requestid", "r-1");
    let status = StatusCode::try_from(503).expect("a status");
    let answer = Answer::Response { status, headers, body: Bytes::from_static(b"<Error/>") };
    for _ in 0..3 {
        let response = answer.deliver().expect("a response");
        assert_eq!(response.status().as_u16(), 503);
        assert_eq!(response.headers().get("x-amzn-requestid"), Some("r-1"));
        assert_eq!(response.body().bytes(), Some(b"<Error/>".as_slice()));
    }
    assert_eq!(format!("{answer:?}"), "Response(503)");
}

#[test]
fn an_error_keeps_its_kind_and_its_source_over_every_copy() {
    let kept = KeptError::new(ConnectorError::io(Box::new(reset())));
    for error in [kept.deliver(), kept.deliver(), kept.deliver_retryable(ErrorKind::TransientError)] {
        assert!(error.is_io());
        let mut chain = std::iter::successors(std::error::Error::source(&error), |error| error.source());
        assert!(chain.any(|error| error.is::<io::Error>()));
    }
}

#[test]
fn an_error_that_the_sdk_would_not_retry_can_be_given_as_one_that_it_does() {
    let kept = KeptError::new(ConnectorError::other(Box::new(reset()), None));
    assert_eq!(kept.deliver().as_other(), None);
    assert_eq!(kept.deliver_retryable(ErrorKind::TransientError).as_other(), Some(ErrorKind::TransientError));
}

#[tokio::test]
async fn a_body_cut_short_fails_again_with_the_same_error() {
    let status = StatusCode::try_from(200).expect("a status");
    let error = Arc::new(SharedError(Arc::new(reset())));
    let answer = Answer::CutShort { status, headers: Headers::new(), error };
    let mut response = answer.deliver().expect("a head");
    let failed = ByteStream::new(response.take_body()).collect().await.expect_err("a broken body");
    let mut chain = std::iter::successors(std::error::Error::source(&failed), |error| error.source());
    assert!(chain.any(|error| error.is::<io::Error>()));
}
