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

/// A `google.rpc.Status` with a RetryInfo of so many seconds, in Base64 for a header.
fn delayed(seconds: i64) -> HeaderMap {
    let varint = |mut number: u64| {
        let mut bytes = Vec::new();
        while number >= 0x80 {
            bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        bytes.push(number as u8);
        bytes
    };
    let field = |number: u8, value: &[u8]| [&[number << 3 | 2], &*varint(value.len() as u64), value].concat();
    let duration = [&[0x08], &*varint(seconds as u64)].concat();
    let info = field(1, &duration);
    let any = [field(1, b"type.googleapis.com/google.rpc.RetryInfo"), field(2, &info)].concat();
    let status = tonic::Status::with_details(Code::Unavailable, "later", field(3, &any).into());
    let mut headers = HeaderMap::new();
    status.add_header(&mut headers).unwrap();
    headers
}

#[tokio::test(start_paused = true)]
async fn a_delay_beyond_all_bounds_is_no_delay() {
    for (seconds, times) in [(i64::MIN, 3), (i64::MIN + 1, 3), (-1, 3), (0, 3), (1, 3), (i64::MAX, 1)] {
        let channel = Channel::new([Plan::Answer(200, delayed(seconds), Vec::new())]);
        let governor = governor("ratelimit: { gcp: { deadline: 60 } }");
        assert_eq!(code(send(&governor, UNARY, retries(2), &channel).await).await, 14);
        assert_eq!(channel.times(), times, "{seconds}");
    }
}

fn header_value() -> impl Strategy<Value = HeaderValue> {
    let bytes = prop_oneof![
        2 => prop::collection::vec(prop_oneof![Just(9_u8), 32_u8..=126, 128_u8..=255], 0..60),
        2 => "[-+0-9.eEnNaAiIfF%]{0,12}".prop_map(String::into_bytes),
        1 => "[A-Za-z0-9+/]{0,80}={0,2}".prop_map(String::into_bytes),
        1 => (0_u8..20).prop_map(|number| number.to_string().into_bytes()),
    ];
    bytes.prop_map(|bytes| HeaderValue::from_bytes(&bytes).unwrap())
}

fn any_headers() -> impl Strategy<Value = HeaderMap> {
    let names = prop::sample::select(vec![
        "grpc-status",
        "grpc-status",
        "grpc-message",
        "grpc-status-details-bin",
        "grpc-retry-pushback-ms",
        "retry-after",
        "date",
        "x-bin",
        "content-type",
        "x-ratelimit-reset",
        "ratelimit",
    ]);
    prop::collection::vec((names, header_value()), 0..6)
        .prop_map(|pairs| pairs.into_iter().map(|(name, value)| (http::HeaderName::from_static(name), value)).collect())
}

proptest! {
    #[test]
    fn whatever_a_server_says_the_sums_agree_and_nothing_is_held(
        status in prop_oneof![4 => Just(200_u16), 1 => 200_u16..600],
        head in any_headers(),
        trailers in any_headers(),
        data in prop::collection::vec(prop::sample::select(vec!["", "x", "message"]), 0..3),
        is_unary in any::<bool>(),
        timeout in prop::option::of("[0-9]{0,9}[HMSmunx]?"),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let body = data.into_iter().map(Piece::Data).chain([Piece::Trailers(trailers)]).collect();
            let channel = Channel::new([Plan::Answer(status, head, body)]);
            let governor = governor("ratelimit: { gcp: { deadline: 60 } }");
            let target = Target { is_unary, idempotent: Some(true) };
            let mut request = request();
            if let Some(timeout) = timeout {
                request.headers_mut().insert("grpc-timeout", timeout.parse().unwrap());
            }
            if let Ok(answer) = governed(&governor, target, retries(2), &channel).call(request).await {
                let mut body = answer.into_body();
                while body.frame().await.is_some() {}
            }
            let totals = governor.summary().totals;
            prop_assert!(totals.calls <= 3 && totals.calls == channel.times() as u64, "{totals:?}");
            prop_assert!(totals.transient_errors + totals.throttled <= totals.calls);
            let seen = governor.inspect(&scope()).unwrap();
            prop_assert_eq!((seen.slots_in_use, seen.waiting_for_rate, seen.waiting_for_slot), (0, 0, 0));
            Ok(())
        })?;
    }
}

// ===== what a call holds =====

/// Polls the call so often, with time going on in between, and drops it.
async fn dropped_after(polls: usize, call: impl Future<Output = Answered>) {
    let mut call = Box::pin(call);
    for _ in 0..polls {
        if poll_fn(|cx| Poll::Ready(call.as_mut().poll(cx))).await.is_ready() {
            return;
        }
        tokio::time::advance(secs(0.05)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_at_any_poll_leaves_nothing_behind() {
    const ONE: &str =
        "ratelimit: { gcp: { account_concurrency: 1, base_delay: 0.1, max_backoff: 0.2, max_rps: 1000 } }";
    for target in [UNARY, STREAM] {
        let governor = governor(ONE);
        let hangs = pieces(vec![Piece::Data(""), Piece::Hangs]);
        let plans = || [in_headers(14), in_trailers(14), hangs.clone()];
        let mut sent = 0;
        for polls in 0..40 {
            let channel = Channel::new(plans());
            dropped_after(polls, send(&governor, target.clone(), retries(5), &channel)).await;
            sent += channel.times() as u64;
            let seen = governor.inspect(&scope()).map(|seen| (seen.slots_in_use, seen.waiting_for_slot, seen.breaker));
            assert!(matches!(seen, None | Some((0, 0, BreakerState::Closed))), "{polls}: {seen:?}");
        }
        assert_eq!(governor.summary().totals.calls, sent);
        assert!(sent > 40);
    }
}

// ===== targets =====

/// Panics where it says.
struct Panics(&'static str);

impl GrpcTarget for Panics {
    fn scope(&self, _: &Parts) -> Scope {
        assert_ne!(self.0, "scope");
        scope()
    }

    fn idempotent(&self, _: &Parts) -> Option<bool> {
        assert_ne!(self.0, "idempotent");
        Some(true)
    }

    fn is_unary(&self, _: &Parts) -> bool {
        assert_ne!(self.0, "is_unary");
        true
    }

    fn told<'a>(
        &self,
        _: &Scope,
        facts: cloud_governor::Facts<'a>,
        _: &'a tonic::Status,
    ) -> (cloud_governor::Facts<'a>, Option<cloud_governor::ToldLimit>) {
        assert_ne!(self.0, "told");
        (facts, None)
    }
}

fn state(governor: &Governor) -> (usize, BreakerState) {
    governor.inspect(&scope()).map_or((0, BreakerState::Closed), |seen| (seen.slots_in_use, seen.breaker))
}

#[tokio::test(start_paused = true)]
async fn a_target_that_panics_takes_nothing_with_it() {
    for place in ["scope", "idempotent", "is_unary", "told"] {
        for plan in [in_headers(8), in_trailers(8)] {
            let governor =
                governor("ratelimit: { gcp: { account_concurrency: 1, breaker: { failures: 1, cooldown: 30 } } }");
            // A circuit that is half-open, so that the call is its probe.
            let channel = Channel::new([in_headers(14)]);
            code(send(&governor, STREAM, retries(0), &channel).await).await;
            tokio::time::advance(secs(31.0)).await;
            let channel = Channel::new([plan.clone()]);
            let layer = GrpcLayer::new(Panics(place), Resilience::new().governor(&governor));
            let mut panics = layer.layer(channel.clone());
            let call = tokio::spawn(async move { read(panics.call(request()).await).await });
            assert!(call.await.is_err(), "{place}");
            assert_eq!(state(&governor).0, 0);
            let channel = Channel::new([message(0)]);
            assert_eq!(code(send(&governor, UNARY, retries(0), &channel).await).await, 0, "{place}");
            assert_eq!(state(&governor), (0, BreakerState::Closed));
        }
    }
}

// ===== what changes meanwhile =====

#[tokio::test(start_paused = true)]
async fn a_stream_may_outlive_what_its_call_was_counted_in() {
    const SMALL: &str = "ratelimit: { gcp: { account_concurrency: 1, max_rps: 5 } }";
    for late in [Piece::Data("late"), trailers(8), trailers(14)] {
        let governor = governor(SMALL);
        let channel = Channel::new([pieces(vec![late]), message(0)]);
        let open = send(&governor, STREAM, retries(3), &channel).await.unwrap();
        tokio::time::advance(secs(3.0 * 365.0 * 86_400.0)).await;
        governor.reconfigure(cloud_governor::Config::from_yaml("ratelimit: { gcp: { max_rps: 7 } }", "test").unwrap());
        governor.reset();
        drop(read(Ok(open)).await);
        assert_eq!(code(send(&governor, UNARY, retries(0), &channel).await).await, 0);
        assert_eq!(state(&governor), (0, BreakerState::Closed));
    }
}

/// The inner one is left out, whoever's it is.
#[tokio::test(start_paused = true)]
async fn a_layer_over_another_governors_governs_alone() {
    let (outer, inner) = (governor(""), governor(""));
    let channel = Channel::new([in_headers(14), in_trailers(14), message(0)]);
    let nested = governed(&inner, UNARY, retries(3), &channel);
    let mut both = GrpcLayer::new(UNARY, Resilience::new().governor(&outer).policy(retries(3))).layer(nested);
    assert!(both.call(request()).await.is_ok());
    let (counted, passed_over) = (outer.summary().totals, inner.summary().totals);
    assert_eq!((channel.times(), counted.calls, counted.transient_errors), (3, 3, 2));
    assert_eq!((passed_over.operations, passed_over.calls), (0, 0));
}
