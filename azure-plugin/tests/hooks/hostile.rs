//! Pipelines that are not the SDK's, bodies that cannot be sent again, and answers of any kind.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context as TaskContext, Poll};

use async_trait::async_trait;
use azure_core::error::{Error, ErrorKind};
use azure_core::http::policies::{Policy, PolicyResult};
use azure_core::http::{Body, ClientOptions, Context, Method, Request};
use azure_core::stream::SeekableStream;
use bytes::Bytes;
use cloud_governor::BreakerState;
use cloud_governor_azure::governed;
use futures_util::{AsyncRead, Stream};
use proptest::prelude::*;

use crate::common::{Client, Reply, Server, by, code, get, governor, request, service, status, totals};

#[tokio::test(start_paused = true)]
async fn a_policy_that_nothing_follows_says_so() {
    let options = governed(ClientOptions::default(), by(&governor(|azure| azure)));
    for policy in options.per_call_policies.iter().chain(&options.per_try_policies) {
        let error = policy.send(&Context::new(), &mut get(), &[]).await.expect_err("nothing to send with");
        assert_eq!(*error.kind(), ErrorKind::Other);
    }
}

/// An upload that cannot be read twice.
#[derive(Debug, Clone)]
struct Once;

impl Stream for Once {
    type Item = azure_core::Result<Bytes>;

    fn poll_next(self: Pin<&mut Self>, _: &mut TaskContext<'_>) -> Poll<Option<Self::Item>> {
        Poll::Ready(None)
    }
}

impl AsyncRead for Once {
    fn poll_read(self: Pin<&mut Self>, _: &mut TaskContext<'_>, _: &mut [u8]) -> Poll<std::io::Result<usize>> {
        Poll::Ready(Ok(0))
    }
}

#[async_trait]
impl SeekableStream for Once {
    async fn reset(&mut self) -> azure_core::Result<()> {
        Err(Error::with_message(ErrorKind::Io, "it cannot be rewound"))
    }

    fn len(&self) -> Option<u64> {
        None
    }
}

#[tokio::test(start_paused = true)]
async fn an_upload_that_cannot_be_sent_twice_is_sent_once_and_its_answer_is_the_callers() {
    let server = Server::always(Reply::coded(503, "ServerBusy"));
    let governor = governor(|azure| azure.breaker_failures(1));
    let mut upload = request(Method::Put);
    upload.set_body(Body::SeekableStream(Box::new(Once)));
    let error = Client::governed(&server, &governor).send(Context::new(), upload).await.expect_err("busy");
    assert_eq!((status(&error), code(&error), server.count()), (Some(503), Some("ServerBusy"), 1));
    let totals = totals(&governor);
    assert_eq!((totals.calls, totals.retries, totals.gave_up), (1, 0, 1));
    assert_eq!((service(&governor).breaker, service(&governor).slots_in_use), (BreakerState::Open, 0));
}

/// Fails before anything is sent, or after it was, with what no service said.
#[derive(Debug)]
struct Fails {
    sends: bool,
    times: AtomicUsize,
}

#[async_trait]
impl Policy for Fails {
    async fn send(&self, ctx: &Context, request: &mut Request, next: &[Arc<dyn Policy>]) -> PolicyResult {
        if self.sends {
            next[0].send(ctx, request, &next[1..]).await?;
        }
        self.times.fetch_add(1, Ordering::Relaxed);
        Err(Error::with_message(ErrorKind::Other, "of its own"))
    }
}

/// A client one of whose policies, between the governor's two, fails.
async fn fails_between(sends: bool, server: &Server, governor: &cloud_governor::Governor) -> usize {
    let policy = Arc::new(Fails { sends, times: AtomicUsize::new(0) });
    let mut options = governed(server.options(), by(governor));
    options.per_try_policies.insert(0, Arc::clone(&policy) as Arc<dyn Policy>);
    let error = Client::new(options).get().await.expect_err("fails");
    assert_eq!(error.to_string(), "of its own");
    policy.times.load(Ordering::Relaxed)
}

#[tokio::test(start_paused = true)]
async fn an_error_of_the_programs_own_says_nothing_of_the_service() {
    let server = Server::script([Reply::new(500, ""), Reply::ok()]);
    let governor =
        governor(|azure| azure.max_retries(0).breaker_failures(1).breaker_cooldown(crate::common::seconds(30)));
    Client::governed(&server, &governor).get().await.expect_err("opens");
    tokio::time::sleep(crate::common::seconds(31)).await;
    assert_eq!(fails_between(false, &server, &governor).await, 1);
    assert_eq!(service(&governor).breaker, BreakerState::HalfOpen, "nothing was sent");
    assert_eq!(totals(&governor).calls, 1);
    assert_eq!(fails_between(true, &server, &governor).await, 1);
    assert_eq!(service(&governor).breaker, BreakerState::Closed, "the service answered");
}

#[tokio::test(start_paused = true)]
async fn a_transport_that_fails_in_a_way_of_its_own_is_not_asked_again() {
    let policy = Arc::new(Fails { sends: false, times: AtomicUsize::new(0) });
    let transport = azure_core::http::Transport::with_policy(Arc::clone(&policy) as Arc<dyn Policy>);
    let governor = governor(|azure| azure.breaker_failures(1));
    let options = ClientOptions { transport: Some(transport), ..Default::default() };
    let error = Client::new(governed(options, by(&governor))).get().await.expect_err("fails");
    assert_eq!(error.to_string(), "of its own");
    assert_eq!((policy.times.load(Ordering::Relaxed), totals(&governor).gave_up), (1, 0));
    assert_eq!((service(&governor).breaker, service(&governor).slots_in_use), (BreakerState::Closed, 0));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_answer_is_passed_on_as_it_came(status in 200_u16..600, body in proptest::collection::vec(any::<u8>(), 0..200), wait in ".{0,20}") {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        runtime.expect("a runtime").block_on(async {
            let server = Server::always(Reply::new(status, body.clone()).header("retry-after", wait));
            let governor = governor(|azure| azure.max_retries(1).deadline(crate::common::seconds(3600)));
            let client = Client::governed(&server, &governor);
            match client.get().await {
                Ok(answer) => assert_eq!((u16::from(answer.status()), &answer.body()[..]), (status, &body[..])),
                Err(error) => {
                    let ErrorKind::HttpResponse { status: got, raw_response: Some(raw), .. } = error.kind() else {
                        panic!("{error:?}")
                    };
                    assert_eq!((u16::from(*got), &raw.body()[..]), (status, &body[..]));
                }
            }
            assert!(server.count() <= 2);
            assert_eq!(service(&governor).slots_in_use, 0);
        });
    }
}
