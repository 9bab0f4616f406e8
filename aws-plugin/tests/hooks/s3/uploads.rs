//! Uploads: what can be sent again, and what goes over the wire then.

use std::time::Duration;

use aws_sdk_s3::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_s3::primitives::ByteStream;
use aws_sdk_s3::types::ChecksumAlgorithm;
use aws_smithy_types::body::SdkBody;
use bytes::Bytes;
use cloud_governor::BreakerState;
use http_body_util::Full;

use super::aws_chunked::unchunked;
use crate::common::replies::Parts;
use crate::common::{Reply, Request, Server, governor, leaf, s3, seconds, totals};

/// A stream that can be read once.
fn once(content: Bytes) -> ByteStream {
    ByteStream::from_body_1_x(Full::new(content))
}

/// A stream that can be had again from its start.
fn again(content: Bytes) -> ByteStream {
    SdkBody::retryable(move || SdkBody::from_body_1_x(Full::new(content.clone()))).into()
}

fn content() -> Bytes {
    (0..200_000_u32).map(|number| number.to_le_bytes()[0] ^ number.to_le_bytes()[1]).collect::<Vec<_>>().into()
}

/// Whether a request carries this content, with all lengths and the checksum right.
fn assert_whole(request: &Request, content: &[u8]) {
    assert_eq!(request.header("content-encoding"), "aws-chunked");
    assert_eq!(request.header("x-amz-trailer"), "x-amz-checksum-crc32");
    assert_eq!(request.header("x-amz-content-sha256"), "STREAMING-UNSIGNED-PAYLOAD-TRAILER");
    assert_eq!(request.header("x-amz-decoded-content-length"), content.len().to_string());
    assert_eq!(request.header("content-length"), request.body.len().to_string());
    let (sent, trailers) = unchunked(&request.body);
    assert!(sent == content, "{} of {} bytes", sent.len(), content.len());
    let sum = aws_smithy_types::base64::encode(crc32fast::hash(content).to_be_bytes());
    assert_eq!(trailers, [format!("x-amz-checksum-crc32:{sum}")]);
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_can_be_had_again_is_sent_whole_each_time_with_its_checksum() {
    let server =
        Server::script([Reply::xml_error(503, "SlowDown"), Reply::Reset, Reply::new(429, ""), Reply::new(200, "")]);
    let governor = governor(|aws| aws);
    let put = s3(&server, &governor).put_object().bucket("b").key("k").checksum_algorithm(ChecksumAlgorithm::Crc32);
    put.content_length(200_000).body(again(content())).send().await.expect("stored");
    let requests = server.requests();
    assert_eq!(requests.len(), 4);
    requests.iter().for_each(|request| assert_whole(request, &content()));
    let totals = totals(&governor);
    assert_eq!((totals.throttled, totals.transient_errors, totals.retries), (2, 1, 3));
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_can_be_read_once_is_sent_once_and_fails_with_the_services_error() {
    for code in ["SlowDown", "InternalError"] {
        let server = Server::always(Reply::xml_error(503, code));
        let governor = governor(|aws| aws);
        let put = s3(&server, &governor).put_object().bucket("b").key("k").content_length(200_000);
        let error = put.body(once(content())).send().await.expect_err(code);
        assert_eq!((error.code(), server.count()), (Some(code), 1));
        assert_whole(&server.requests()[0], &content());
        let totals = totals(&governor);
        assert_eq!((totals.operations, totals.calls, totals.retries, totals.gave_up), (1, 1, 0, 1));
    }
}

/// A held back answer would be lost here: nothing comes again to get it.
#[tokio::test(start_paused = true)]
async fn a_stream_that_can_be_read_once_keeps_errors_that_only_the_governor_would_retry() {
    let server = Server::always(Reply::xml_error(429, "TooManyRequests"));
    let governor = governor(|aws| aws);
    let put = s3(&server, &governor).put_object().bucket("b").key("k").content_length(7);
    let error = put.body(once("content".into())).send().await.expect_err("429");
    assert_eq!((error.code(), server.count()), (Some("TooManyRequests"), 1));
    assert_eq!(totals(&governor).gave_up, 1);
}

#[tokio::test(start_paused = true)]
async fn an_upload_in_parts_retries_each_part_by_itself() {
    let server = Server::new(|request, _| match request.header("amz-sdk-request").contains("attempt=1") {
        true => Reply::xml_error(500, "InternalError"),
        false => Reply::new(200, "").header("etag", "\"e\""),
    });
    let governor = governor(|aws| aws);
    let client = s3(&server, &governor);
    let parts: Vec<_> = (1..=4)
        .map(|number| client.upload_part().bucket("b").key("k").upload_id("u").part_number(number))
        .map(|part| {
            tokio::spawn(
                part.checksum_algorithm(ChecksumAlgorithm::Crc32).body(again(content())).content_length(200_000).send(),
            )
        })
        .collect();
    for part in parts {
        assert_eq!(part.await.expect("no panic").expect("stored").e_tag(), Some("\"e\""));
    }
    let totals = totals(&governor);
    assert_eq!((totals.operations, totals.calls, totals.transient_errors), (4, 8, 4));
    server.requests().iter().for_each(|request| assert_whole(request, &content()));
}

#[tokio::test(start_paused = true)]
async fn nothing_can_be_uploaded_and_is_retried_like_anything() {
    let server = Server::script([Reply::new(503, ""), Reply::new(200, "")]);
    let governor = governor(|aws| aws);
    s3(&server, &governor).put_object().bucket("b").key("k").send().await.expect("stored");
    assert!(server.requests().iter().all(|request| request.body.is_empty()));
    assert_eq!(server.count(), 2);
}

/// What is uploaded is nobody's business: it names no operation, whatever it reads like.
#[tokio::test(start_paused = true)]
async fn content_that_reads_like_a_form_names_no_scope() {
    let server = Server::always(Reply::new(200, ""));
    let governor = governor(|aws| aws.service("s3", |s3| s3.per_operation(true)));
    let config = aws_sdk_s3::config::Builder::from(&crate::common::governed(&server, &governor))
        .identity_cache(aws_sdk_s3::config::IdentityCache::no_cache())
        .build();
    let put = aws_sdk_s3::Client::from_conf(config).put_object().bucket("b").key("k");
    put.body(ByteStream::from_static(b"Action=TopSecret&a=b")).send().await.expect("stored");
    let scopes: Vec<String> = governor.summary().scopes.keys().map(ToString::to_string).collect();
    assert!(scopes.iter().all(|scope| !scope.contains("TopSecret")), "{scopes:?}");
}

#[tokio::test(start_paused = true)]
async fn an_upload_waits_for_its_turn_ahead_of_its_first_byte_and_is_not_taken_for_stalled() {
    let server = Server::always(Reply::new(200, ""));
    let governor = governor(|aws| aws.max_rps(0.01).burst(1.0).floor_rps(0.01));
    for _ in 0..2 {
        let put = s3(&server, &governor).put_object().bucket("b").key("k").content_length(200_000);
        put.body(once(content())).send().await.expect("stored");
    }
    let requests = server.requests();
    assert!(requests[1].at >= seconds(99), "{:?}", requests[1].at);
    assert_whole(&requests[1], &content());
}

/// What the caller uploads may come from anywhere: that it broke there says nothing about the service.
#[tokio::test(start_paused = true)]
async fn an_upload_whose_source_breaks_is_the_callers_own_failure() {
    let server = Server::always(Reply::new(200, ""));
    let governor = governor(|aws| aws.breaker_failures(1));
    let parts = || vec![(Duration::ZERO, Ok("half".into())), (Duration::ZERO, Err("connection reset"))];
    let body = SdkBody::retryable(move || SdkBody::from_body_1_x(Parts::new(parts())));
    let put = s3(&server, &governor).put_object().bucket("b").key("k").content_length(8).body(body.into());
    let error = put.send().await.expect_err("no content");
    assert!(matches!(&error, SdkError::DispatchFailure(failure) if failure.is_user()), "{error:?}");
    let totals = totals(&governor);
    assert_eq!((totals.calls, totals.transient_errors, totals.gave_up), (1, 0, 0));
    let leaf = leaf(&governor, "s3");
    assert_eq!((leaf.slots_in_use, leaf.breaker), (0, BreakerState::Closed));
}
