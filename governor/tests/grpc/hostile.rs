//! Servers that lie, channels that hang and callers that overdo it.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use cloud_governor::grpc::{GrpcLayer, GrpcTarget};
use cloud_governor::{BreakerState, Governor, Refusal, RefusalKind, Resilience, Scope};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Request, Response};
use http_body::{Body, Frame};
use http_body_util::BodyExt;
use proptest::prelude::*;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tonic::Code;
use tower_layer::Layer;
use tower_service::Service;

use crate::common::{governor, secs};
use crate::fake::*;

const ONCE: Target = Target { is_unary: true, idempotent: Some(false) };

// ===== what may have been executed =====

/// What tonic's client says of a request that it has not sent, any server may say of one that it has executed.
#[tokio::test(start_paused = true)]
async fn the_words_of_a_client_are_a_servers_like_any_others_on_the_wire() {
    let said = [
        "Service was not ready: it said so itself",
        "grpc-status header missing, mapped from HTTP status code 429",
        "protocol error: missing grpc-status trailer",
    ];
    for text in said {
        for code in ["2", "13", "14"] {
            let trailers = headers(&[("grpc-status", code), ("grpc-message", text)]);
            for plan in
                [Plan::Answer(200, trailers.clone(), Vec::new()), pieces(vec![Piece::Trailers(trailers.clone())])]
            {
                let (governor, channel) = (governor(""), Channel::new([plan]));
                let (_, status) = read(send(&governor, ONCE, retries(3), &channel).await).await;
                assert_eq!((channel.times(), status.message()), (1, text));
                assert_eq!(governor.summary().totals.throttled, 0, "{text}");
            }
        }
    }
}

/// Whatever it breaks with: there was an answer.
#[tokio::test(start_paused = true)]
async fn a_request_whose_answer_had_begun_was_not_left_unsent() {
    for start in [vec![], vec![Piece::Data("mess")]] {
        for kind in [io::ErrorKind::ConnectionRefused, io::ErrorKind::AddrNotAvailable] {
            let plan = pieces(start.iter().cloned().chain([Piece::Breaks(kind)]).collect());
            let (governor, channel) = (governor(""), Channel::new([plan]));
            assert_ne!(code(send(&governor, ONCE, retries(3), &channel).await).await, 0);
            let totals = governor.summary().totals;
            assert_eq!((channel.times(), totals.transient_errors, totals.gave_up), (1, 1, 1), "{kind}");
        }
    }
}

// ===== bodies without end =====

/// Gives the same frame for ever, never waits, and counts how often it was asked.
#[derive(Clone)]
struct Endless(&'static str, Arc<AtomicUsize>);

impl Endless {
    fn of(text: &'static str) -> Self {
        Endless(text, Arc::default())
    }

    fn asked(&self) -> usize {
        self.1.load(Ordering::Relaxed)
    }
}

impl Body for Endless {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        self.1.fetch_add(1, Ordering::Relaxed);
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(self.0.as_bytes())))))
    }
}

/// Answers with this body.
#[derive(Clone)]
struct Gives(Endless);

impl<B> Service<Request<B>> for Gives {
    type Response = Response<Endless>;
    type Error = io::Error;
    type Future = std::future::Ready<io::Result<Response<Endless>>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<B>) -> Self::Future {
        std::future::ready(Ok(Response::new(self.0.clone())))
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_of_nothing_but_empty_frames_holds_no_thread_and_ends_with_the_attempts_time() {
    let governor = governor("ratelimit: { gcp: { attempt_timeout: 5, max_retries: 1 } }");
    let body = Endless::of("");
    let mut channel = GrpcLayer::new(UNARY, Resilience::new().governor(&governor)).layer(Gives(body.clone()));
    let call = tokio::spawn(async move { channel.call(request()).await.map(drop) });
    while !call.is_finished() {
        tokio::task::yield_now().await;
        tokio::time::advance(secs(0.5)).await;
    }
    let error = call.await.unwrap().unwrap_err();
    assert_eq!(Refusal::find(&*error).map(Refusal::kind), Some(RefusalKind::AttemptTimedOut));
    assert!(body.asked() > 0);
    assert_eq!(governor.inspect(&scope()).unwrap().slots_in_use, 0);
}

/// A frame takes memory beside what is in it.
#[tokio::test(start_paused = true)]
async fn of_a_body_in_crumbs_no_more_is_kept_than_of_any_other() {
    const KEPT: usize = 64 * 1024;
    let governor = governor("");
    let (answer, asked) = (Endless::of("x"), Endless::of("x"));
    let layer = GrpcLayer::new(UNARY, Resilience::new().governor(&governor)).keep(KEPT);
    let request = with_body(Body14::new(asked.clone()));
    let mut body = layer.layer(Gives(answer.clone())).call(request).await.unwrap().into_body();
    assert!((1..=KEPT / 32).contains(&answer.asked()), "{}", answer.asked());
    assert!((1..=KEPT / 32).contains(&asked.asked()), "{}", asked.asked());
    assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), "x");
}

// ===== channels =====

/// Takes one request at a time, as a channel with a limit does: who asks whether it is ready stands in line, and is then kept
/// a place.
struct Narrow {
    places: Arc<Semaphore>,
    asking: Option<Pin<Box<dyn Future<Output = OwnedSemaphorePermit> + Send>>>,
    place: Option<OwnedSemaphorePermit>,
}

impl Clone for Narrow {
    fn clone(&self) -> Self {
        Narrow { places: Arc::clone(&self.places), asking: None, place: None }
    }
}

impl<B> Service<Request<B>> for Narrow {
    type Response = Response<Endless>;
    type Error = io::Error;
    type Future = std::future::Ready<io::Result<Response<Endless>>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.place.is_none() {
            let places = Arc::clone(&self.places);
            let asking =
                self.asking.get_or_insert_with(|| Box::pin(async move { places.acquire_owned().await.unwrap() }));
            self.place = Some(std::task::ready!(asking.as_mut().poll(cx)));
            self.asking = None;
        }
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<B>) -> Self::Future {
        self.place = None;
        let mut answer = Response::new(Endless::of("x"));
        answer.headers_mut().insert("grpc-status", HeaderValue::from_static("0"));
        std::future::ready(Ok(answer))
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_waits_to_be_sent_again_keeps_no_place_in_its_channel() {
    let governor =
        governor("ratelimit: { gcp: { attempt_timeout: 1, base_delay: 60, max_backoff: 90, deadline: 600 } }");
    let narrow = Narrow { places: Arc::new(Semaphore::new(1)), asking: None, place: None };
    let busy = Arc::clone(&narrow.places).acquire_owned().await.unwrap();
    let mut channel = GrpcLayer::new(UNARY, Resilience::new().governor(&governor)).layer(narrow.clone());
    let waits = tokio::spawn(async move { channel.call(request()).await.map(drop) });
    // The attempt times out in the channel's line, and the call waits for its second.
    tokio::time::sleep(secs(2.0)).await;
    assert_eq!(governor.summary().totals.transient_errors, 1);
    drop(busy);
    assert!(tokio::time::timeout(secs(1.0), Arc::clone(&narrow.places).acquire_owned()).await.is_ok());
    waits.await.unwrap().unwrap();
    assert_eq!(governor.summary().totals.calls, 2);
}

// ===== heads =====

/// As many headers as a map can hold.
#[tokio::test(start_paused = true)]
async fn a_request_with_as_many_headers_as_there_can_be_is_sent_with_its_deadline() {
    let mut crowded = request();
    crowded.headers_mut().insert("grpc-timeout", HeaderValue::from_static("5S"));
    while crowded.headers_mut().try_append("x-crowd", HeaderValue::from_static("x")).is_ok() {
        if crowded.headers().len() >= 40_000 {
            break;
        }
    }
    for number in 0..40_000 {
        let name = http::HeaderName::try_from(format!("x-{number}")).unwrap();
        if crowded.headers_mut().try_insert(name, HeaderValue::from_static("x")).is_err() {
            break;
        }
    }
    let (governor, channel) = (governor(""), Channel::new([message(0)]));
    assert_eq!(code(governed(&governor, UNARY, retries(0), &channel).call(crowded).await).await, 0);
    assert_eq!(channel.times(), 1);
}
