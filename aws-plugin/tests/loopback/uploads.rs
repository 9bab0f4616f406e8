//! Uploads over the wire, as a server sees them.

use std::io::Write;
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use aws_sdk_s3::error::SdkError;
use aws_sdk_s3::primitives::ByteStream;
use aws_sdk_s3::types::ChecksumAlgorithm;
use aws_smithy_types::body::SdkBody;
use bytes::Bytes;
use http_body::{Body, Frame};
use http_body_util::Full;

use crate::aws_chunked::unchunked;
use crate::common::{governor, s3, serve_bytes, serve_requests};

fn content() -> Vec<u8> {
    (0..3_000_000_u32).map(|number| number.to_le_bytes()[0] ^ number.to_le_bytes()[1]).collect()
}

/// What a request carried, if its lengths and its checksum are right.
type Received = Result<Vec<u8>, String>;

fn received(headers: &hyper::HeaderMap, body: &[u8]) -> Received {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let (content, trailers) = unchunked(body);
    let sum = aws_smithy_types::base64::encode(crc32fast::hash(&content).to_be_bytes());
    let right = header("content-length") == body.len().to_string()
        && header("x-amz-decoded-content-length") == content.len().to_string()
        && header("x-amz-trailer") == "x-amz-checksum-crc32"
        && trailers.first() == Some(&format!("x-amz-checksum-crc32:{sum}"));
    if right { Ok(content) } else { Err(format!("{headers:?} {trailers:?}")) }
}

#[tokio::test]
async fn a_file_is_sent_whole_each_time_with_its_checksum() {
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("upload");
    std::fs::File::create(&path).and_then(|mut file| file.write_all(&content())).expect("a file");
    let seen: Arc<Mutex<Vec<Received>>> = Arc::default();
    let requests = Arc::clone(&seen);
    let address = serve_requests(move |head, body| {
        let mut requests = requests.lock().expect("no panic before");
        requests.push(received(&head.headers, body));
        match requests.len() {
            1 => (503, "<Error><Code>SlowDown</Code></Error>".to_owned()),
            2 => (500, String::new()),
            _ => (200, String::new()),
        }
    })
    .await;
    let governor = governor(4);
    let file = ByteStream::from_path(&path).await.expect("a file");
    let put = s3(&address, &governor).put_object().bucket("b").key("k").checksum_algorithm(ChecksumAlgorithm::Crc32);
    put.body(file).send().await.expect("stored");
    std::fs::remove_file(&path).expect("a file");
    let seen = seen.lock().expect("no panic before");
    assert_eq!(seen.len(), 3);
    assert!(seen.iter().all(|request| request.as_ref() == Ok(&content())), "{:?}", seen.iter().find(|r| r.is_err()));
    let totals = governor.summary().totals;
    assert_eq!((totals.calls, totals.throttled, totals.transient_errors), (3, 1, 1));
}

/// The server answers, and closes the connection, without waiting for the rest: the client may see its answer, or only
/// that the connection broke.
#[tokio::test]
async fn an_upload_that_is_turned_away_early_is_made_again_if_it_can_be() {
    let answer = "HTTP/1.1 503 Slow Down\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
    let content = Full::new(Bytes::from(content()));
    let once = ByteStream::from_body_1_x(content.clone());
    let again = ByteStream::from(SdkBody::retryable(move || SdkBody::from_body_1_x(content.clone())));
    for (body, attempts) in [(again, 3), (once, 1)] {
        let (address, count) = serve_bytes(answer).await;
        let governor = governor(2);
        let put = s3(&address, &governor).put_object().bucket("b").key("k").content_length(3_000_000);
        let error = put.body(body).send().await.expect_err("turned away");
        assert!(matches!(error, SdkError::ServiceError(_) | SdkError::DispatchFailure(_)), "{error:?}");
        let totals = governor.summary().totals;
        assert_eq!((count.load(Ordering::SeqCst), totals.calls), (attempts, attempts as u64));
        assert_eq!((totals.throttled + totals.transient_errors, totals.gave_up), (totals.calls, 1));
    }
}

/// A source that breaks with the error of a connection is no connection to the service that broke.
#[tokio::test]
async fn an_upload_whose_source_breaks_is_no_failure_of_the_service() {
    let address = serve_requests(|_, _| (200, String::new())).await;
    let governor = governor(2);
    let put = s3(&address, &governor).put_object().bucket("b").key("k").content_length(100);
    let body = SdkBody::retryable(|| SdkBody::from_body_1_x(BrokenSource { sent: false }));
    let error = put.body(body.into()).send().await.expect_err("no content");
    assert!(matches!(&error, SdkError::DispatchFailure(failure) if failure.is_user()), "{error:?}");
    let totals = governor.summary().totals;
    assert_eq!((totals.calls, totals.transient_errors, totals.gave_up), (1, 0, 0));
}

struct BrokenSource {
    sent: bool,
}

impl Body for BrokenSource {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, std::io::Error>>> {
        Poll::Ready(Some(match std::mem::replace(&mut self.sent, true) {
            false => Ok(Frame::data("half".into())),
            true => Err(std::io::ErrorKind::ConnectionReset.into()),
        }))
    }
}
