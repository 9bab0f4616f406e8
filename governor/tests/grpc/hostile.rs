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
