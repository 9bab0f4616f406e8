//! Many downloads and uploads at once, and long ones.

use std::num::NonZeroUsize;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use aws_sdk_s3::config::{Builder, IdentityCache};
use aws_sdk_s3::primitives::ByteStream;
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpClient, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_runtime_api::http::StatusCode;
use aws_smithy_types::body::SdkBody;
use bytes::Bytes;
use cloud_governor_aws::{AwsHooks, GovernorInterceptor};
use http_body::Frame;
use tokio::time::timeout;

use crate::common::replies::Parts;
use crate::common::{ACCOUNT, Reply, Server, governor, leaf, plain, s3, seconds, totals};

/// Parts of an object are read in whatever order the caller likes: the second before the first, or all side by side.
#[tokio::test(start_paused = true)]
async fn forty_parts_are_read_side_by_side_and_backwards_through_one_slot() {
    let server = Server::new(|request, _| {
        let range = request.header("range").to_owned();
        Reply::SlowBody { status: 206, body: range.into(), after: seconds(3) }
    });
    let governor = governor(|aws| aws.account_concurrency(NonZeroUsize::MIN).max_rps(1000.0));
    let client = s3(&server, &governor);
    let mut streams = Vec::new();
    for part in 0..40 {
        let get = client.get_object().bucket("b").key("k").range(format!("bytes={part}-{part}"));
        streams.push((part, get.send().await.expect("a head").body));
    }
    assert_eq!(leaf(&governor, "s3").slots_in_use, 0);
    for (part, stream) in streams.into_iter().rev() {
        assert_eq!(stream.collect().await.expect("a part").to_vec(), format!("bytes={part}-{part}").into_bytes());
    }
    let totals = totals(&governor);
    assert_eq!((totals.calls, totals.operations, totals.transient_errors), (40, 40, 0));
}

fn impatience(number: u64) -> Duration {
    Duration::from_millis(number.wrapping_mul(7919) % 4000)
}

/// Downloads and uploads, each dropped wherever it is: in line, on its way, with its head or half of its body read.
async fn dropped_anywhere(calls: u64, change: impl FnOnce(Builder) -> Builder) {
    let server = Server::new(|request, number| {
        if request.method == "PUT" {
            return Reply::new(200, "").after(Duration::from_millis(40));
        }
        let part = || (Duration::from_millis(150), Ok(Bytes::from_static(b"half")));
        match number % 7 {
            0 => Reply::xml_error(503, "SlowDown").after(Duration::from_millis(20)),
            1 => Reply::Broken { status: 200, start: "half".into() },
            2 => Reply::Reset,
            _ => Reply::Stream { status: 200, parts: vec![part(), part(), part()] }.after(Duration::from_millis(30)),
        }
    });
    let governor = governor(|aws| {
        let aws = aws.max_rps(200.0).floor_rps(100.0).retry_budget(100_000).breaker_failures(100_000);
        aws.account_concurrency(NonZeroUsize::new(8).expect("not zero")).max_retries(14)
    });
    let config = AwsHooks::builder().account(ACCOUNT).governor(governor.clone()).install(&plain(&server).build());
    let client = aws_sdk_s3::Client::from_conf(change(Builder::from(&config)).build());
    let running: Vec<_> = (0..calls)
        .map(|number| {
            let client = client.clone();
            tokio::spawn(timeout(impatience(number), async move {
                if number % 3 == 0 {
                    let parts = || vec![(Duration::from_millis(30), Ok(Bytes::from_static(b"half"))); 2];
                    let body = SdkBody::retryable(move || SdkBody::from_body_1_x(Parts::new(parts())));
                    let put = client.put_object().bucket("b").key("k").content_length(8).body(body.into());
                    put.send().await.is_ok()
                } else {
                    let get = client.get_object().bucket("b").key("k").send().await;
                    match get {
                        Ok(object) => object.body.collect().await.is_ok(),
                        Err(_) => false,
                    }
                }
            }))
        })
        .collect();
    let (mut done, mut dropped) = (0, 0);
    for call in running {
        match call.await.expect("no panic") {
            Ok(_) => done += 1,
            Err(_) => dropped += 1,
        }
    }
    assert!(done > calls / 20 && dropped > calls / 20, "{done} {dropped}");
    let seen = leaf(&governor, "s3");
    assert_eq!((seen.slots_in_use, seen.waiting_for_rate, seen.waiting_for_slot), (0, 0, 0), "{seen:?}");
    assert!(totals(&governor).calls >= server.count() as u64);
    assert_eq!(tokio::runtime::Handle::current().metrics().num_alive_tasks(), 0);
    // And the next one finds everything free.
    let put = client.put_object().bucket("b").key("k").body(ByteStream::from_static(b"content"));
    timeout(seconds(5), put.send()).await.expect("at once").expect("stored");
}

#[tokio::test(start_paused = true)]
async fn a_thousand_downloads_and_uploads_dropped_anywhere_leave_nothing_behind() {
    dropped_anywhere(1000, |config| config).await;
}

#[tokio::test(start_paused = true)]
async fn nor_do_they_with_the_interceptor_or_without_a_gate() {
    dropped_anywhere(300, |config| config.interceptor(GovernorInterceptor::new())).await;
    dropped_anywhere(300, |config| config.identity_cache(IdentityCache::no_cache())).await;
}

const FRAME: usize = 256 * 1024;

/// So many frames, made as they are asked for, each of a number of its own.
#[derive(Debug, Clone)]
struct Long {
    frames: usize,
    made: Arc<AtomicUsize>,
}

impl http_body::Body for Long {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        if self.made.load(Ordering::Relaxed) == self.frames {
            return Poll::Ready(None);
        }
        let number = self.made.fetch_add(1, Ordering::Relaxed);
        Poll::Ready(Some(Ok(Frame::data(vec![number.to_le_bytes()[0]; FRAME].into()))))
    }
}

impl HttpClient for Long {
    fn http_connector(&self, _: &HttpConnectorSettings, _: &RuntimeComponents) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }
}

impl HttpConnector for Long {
    fn call(&self, _: HttpRequest) -> HttpConnectorFuture {
        HttpConnectorFuture::ready(Ok(HttpResponse::new(
            StatusCode::try_from(200).expect("a status"),
            SdkBody::from_body_1_x(self.clone()),
        )))
    }
}

#[tokio::test(start_paused = true)]
async fn two_hundred_megabytes_pass_unchanged_and_no_frame_is_read_before_it_is_asked_for() {
    let long = Long { frames: 800, made: Arc::default() };
    let server = Server::always(Reply::Reset);
    let governor = governor(|aws| aws);
    let config = plain(&server).http_client(SharedHttpClient::new(long.clone())).build();
    let config = AwsHooks::builder().governor(governor.clone()).install(&config);
    let object = aws_sdk_s3::Client::new(&config).get_object().bucket("b").key("k").send().await.expect("a head");
    let mut body = object.body;
    let mut read = 0_usize;
    while let Some(frame) = body.next().await {
        let frame = frame.expect("no error");
        assert!(frame.len() == FRAME && frame.iter().all(|byte| *byte == read.to_le_bytes()[0]), "frame {read}");
        read += 1;
        assert_eq!(long.made.load(Ordering::Relaxed), read);
    }
    assert_eq!((read, totals(&governor).transient_errors), (800, 0));
}
