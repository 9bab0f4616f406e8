//! Answers that no service means to give.

use std::num::NonZeroUsize;
use std::time::Duration;

use aws_sdk_s3::error::{ProvideErrorMetadata, SdkError};
use bytes::Bytes;

use crate::common::{Reply, Server, governor, leaf, plain, s3, seconds, ssm, totals};

/// A body that comes in pieces of a mebibyte.
fn pieces(status: u16, body: &str) -> Reply {
    let parts = body.as_bytes().chunks(1 << 20).map(|part| (Duration::ZERO, Ok(Bytes::copy_from_slice(part))));
    Reply::Stream { status, parts: parts.collect() }
}

/// The start of a body that has no end.
fn endless(status: u16, start: &'static str) -> Reply {
    Reply::Stream { status, parts: vec![(Duration::ZERO, Ok(start.into())), (seconds(86_400), Ok("".into()))] }
}

#[tokio::test(start_paused = true)]
async fn ten_megabytes_of_xml_are_named_by_their_start_and_given_to_the_caller() {
    let resource = "x".repeat(10 << 20);
    let body = format!("<Error><Code>SlowDown</Code><Message>no</Message><Resource>{resource}</Resource></Error>");
    let server = Server::always(pieces(503, &body));
    let governor = governor(|aws| aws.max_retries(2));
    let error = s3(&server, &governor).get_object().bucket("b").key("k").send().await.expect_err("slow down");
    assert_eq!((error.code(), error.message(), server.count()), (Some("SlowDown"), Some("no"), 3));
    assert_eq!(totals(&governor).throttled, 3);
}

#[tokio::test(start_paused = true)]
async fn ten_megabytes_of_json_are_named_by_their_start_too() {
    let extra = "x".repeat(10 << 20);
    let body = format!(r#"{{"__type":"ThrottlingException","message":"no","extra":"{extra}"}}"#);
    let server = Server::script([pieces(400, &body), Reply::parameter()]);
    let governor = governor(|aws| aws);
    ssm(&server, &governor).get_parameter().name("a").send().await.expect("the second answer");
    assert_eq!(totals(&governor).throttled, 1);
}

#[tokio::test(start_paused = true)]
async fn an_error_without_an_end_is_judged_by_its_start_and_retried() {
    let error = "<Error><Code>SlowDown</Code><Message>no</Message>";
    let server = Server::script([endless(503, error), Reply::new(200, "content")]);
    let governor = governor(|aws| aws.account_concurrency(NonZeroUsize::MIN));
    let began = tokio::time::Instant::now();
    s3(&server, &governor).get_object().bucket("b").key("k").send().await.expect("the second answer");
    assert!(began.elapsed() < seconds(10), "{:?}", began.elapsed());
    assert_eq!((totals(&governor).throttled, leaf(&governor, "s3").slots_in_use), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn errors_without_an_end_end_the_call_with_what_came_of_them() {
    let server = Server::always(endless(503, "<Error><Code>SlowDown</Code><Message>no</Message></Error>"));
    let governor = governor(|aws| aws.max_retries(2));
    let began = tokio::time::Instant::now();
    let error = s3(&server, &governor).get_object().bucket("b").key("k").send().await.expect_err("slow down");
    assert!(began.elapsed() < seconds(60), "{:?}", began.elapsed());
    assert_eq!((error.code(), server.count()), (Some("SlowDown"), 3));
}

/// Without the SDK's protection against streams that stall, the attempt timeout is what ends the wait.
#[tokio::test(start_paused = true)]
async fn an_error_without_an_end_ends_with_the_attempt_timeout() {
    let server = Server::always(endless(403, "<Error><Code>AccessDenied</Code>"));
    let governor = governor(|aws| aws.attempt_timeout(seconds(30)).max_retries(1));
    let config = cloud_governor_aws::AwsHooks::builder().governor(governor.clone()).install(&plain(&server).build());
    let config = aws_sdk_s3::config::Builder::from(&config)
        .stalled_stream_protection(aws_sdk_s3::config::StalledStreamProtectionConfig::disabled())
        .build();
    let get = aws_sdk_s3::Client::from_conf(config).get_object().bucket("b").key("k").send();
    let ended = tokio::time::timeout(seconds(600), get).await;
    assert!(ended.expect("in time").is_err());
    assert_eq!(server.count(), 1, "access denied is no reason to come again");
}

#[tokio::test(start_paused = true)]
async fn errors_in_a_language_that_nobody_speaks_are_judged_by_their_status() {
    let gzip: &[u8] = &[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0xb3, 0x71, 0x2d];
    let deep = "[".repeat(60_000).into_bytes();
    let map = [&[0xbf, 0x61, b'a'][..], &[0x9f; 60_000]].concat();
    let bodies: [Vec<u8>; 6] = [gzip.into(), b"{\"a\":".to_vec(), deep, map, vec![0xff; 100], b"<<<".to_vec()];
    for body in bodies {
        for (status, attempts) in [(503, 3), (500, 3), (429, 3), (400, 1), (403, 1)] {
            let server = Server::always(Reply::new(status, body.clone()).header("content-encoding", "gzip"));
            let governor = governor(|aws| aws.max_retries(2));
            let error = s3(&server, &governor).head_bucket().bucket("b").send().await.expect_err("an error");
            assert_eq!((error.code(), server.count()), (None, attempts), "{status} {:?}", &body[..3]);
            let status_of = error.raw_response().map(|answer| answer.status().as_u16());
            assert_eq!(status_of, Some(status));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_status_that_means_nothing_is_returned_at_once() {
    for status in [100, 199, 302, 399, 418, 499, 600, 999] {
        let server = Server::always(Reply::new(status, "?"));
        let governor = governor(|aws| aws);
        let error = ssm(&server, &governor).get_parameter().name("a").send().await.expect_err("an error");
        assert!(matches!(error, SdkError::ServiceError(_) | SdkError::ResponseError(_)), "{status}: {error:?}");
        assert_eq!(server.count(), 1, "{status}");
    }
}

/// The start of a body that is read for its code, in bytes.
const START: usize = 64 * 1024;

#[tokio::test(start_paused = true)]
async fn a_body_as_long_as_the_start_that_is_read_and_one_byte_more_are_given_as_they_are() {
    for length in [START - 1, START, START + 1] {
        let frame = r#"{"__type":"ParameterNotFound","message":""}"#.len();
        let body = format!(r#"{{"__type":"ParameterNotFound","message":"{}"}}"#, "x".repeat(length - frame));
        assert_eq!(body.len(), length);
        let body = Bytes::from(body);
        let parts: Vec<_> = (0..length).step_by(1000).map(|at| body.slice(at..length.min(at + 1000))).collect();
        let parts: Vec<_> = parts.into_iter().map(|part| (Duration::ZERO, Ok(part))).collect();
        let server = Server::new(move |_, number| match number {
            1 => Reply::Stream { status: 503, parts: parts.clone() },
            _ => Reply::Stream { status: 400, parts: parts.clone() },
        });
        let governor = governor(|aws| aws);
        let error = ssm(&server, &governor).get_parameter().name("a").send().await.expect_err("not found");
        assert_eq!(error.code(), Some("ParameterNotFound"));
        assert_eq!((error.message().map(str::len), server.count()), (Some(length - frame), 2));
    }
}

/// The head came in time, and says what has to be known.
#[tokio::test(start_paused = true)]
async fn a_head_that_throttles_is_obeyed_also_if_the_attempt_timeout_ends_the_wait_for_its_body() {
    for timeout in [1, 5, 10] {
        let stalled = Reply::With("retry-after", "30", Box::new(endless(503, "<Error>")));
        let server = Server::script([stalled, Reply::new(200, "content")]);
        let governor = governor(|aws| aws.attempt_timeout(seconds(timeout)));
        s3(&server, &governor).get_object().bucket("b").key("k").send().await.expect("the second answer");
        let waited = server.requests()[1].at;
        assert!((seconds(30)..seconds(40)).contains(&waited), "{timeout}: {waited:?}");
        let totals = totals(&governor);
        assert_eq!((totals.throttled, totals.transient_errors), (1, 0), "{timeout}");
    }
}
