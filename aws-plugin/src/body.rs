//! The body of a success, watched until its end.
//!
//! A 200 head is not a success: a body that is cut short makes the SDK come again. And the attempt timeout, moved around
//! the HTTP call, has to span the body as it did before. For a stream that the caller reads, after the operation has
//! returned, it never did.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use aws_smithy_runtime_api::http::{Headers, StatusCode};
use aws_smithy_types::body::SdkBody;
use bytes::{Bytes, BytesMut};
use cloud_governor::Sleep;
use http_body::{Body, Frame, SizeHint};

use crate::operation::Operation;
use crate::registry::REGISTRY;
use crate::replay::{Answer, SharedError};

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Puts a watch on the body of a success. One that is in memory has come already.
pub(crate) fn watched(mut response: HttpResponse, watch: Watch) -> HttpResponse {
    if response.body().bytes().is_some() {
        watch.ended();
        return response;
    }
    let inner = response.take_body();
    *response.body_mut() = SdkBody::from_body_1_x(WatchedBody { inner, watch: Some(watch) });
    response
}

/// Who is told how a body ended.
pub(crate) struct Watch {
    operation: Arc<Operation>,
    status: StatusCode,
    headers: Headers,
    /// Whether the operation passed the gate: its next attempt, or its end, settles the outcome then.
    gated: bool,
    /// A body has to be `Sync`, which a sleep is not by itself.
    deadline: Option<(Duration, Mutex<Sleep>)>,
}

impl Watch {
    pub(crate) fn new(
        operation: Arc<Operation>,
        response: &HttpResponse,
        gated: bool,
        deadline: Option<(Duration, Sleep)>,
    ) -> Self {
        let deadline = deadline.map(|(limit, sleep)| (limit, Mutex::new(sleep)));
        Watch { operation, status: response.status(), headers: response.headers().clone(), gated, deadline }
    }

    fn ended(&self) {
        if !self.gated {
            self.operation.succeeded();
        }
    }

    fn failed(&self, error: &SharedError) {
        let error = Arc::new(error.clone());
        self.operation.cut_short(Answer::CutShort { status: self.status, headers: self.headers.clone(), error });
        if !self.gated {
            // The SDK may come again, and nothing else keeps the operation.
            self.operation.loosen();
            REGISTRY.park(Arc::clone(&self.operation));
        }
    }

    /// The reader let go before the end: it had enough, or the SDK took the body for stalled and comes again. The outcome
    /// stays open for a while.
    fn left_unread(self) {
        if !self.gated {
            self.operation.loosen();
            REGISTRY.park(self.operation);
        }
    }

    fn is_late(&mut self, cx: &mut Context<'_>) -> Option<Duration> {
        let (limit, sleep) = self.deadline.as_mut()?;
        if self.operation.is_over() {
            self.deadline = None;
            return None;
        }
        let sleep = sleep.get_mut().unwrap_or_else(PoisonError::into_inner);
        sleep.as_mut().poll(cx).is_ready().then_some(*limit)
    }
}

struct WatchedBody {
    inner: SdkBody,
    watch: Option<Watch>,
}

impl Body for WatchedBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = &mut *self;
        let frame = match Pin::new(&mut this.inner).poll_frame(cx) {
            Poll::Pending => match this.watch.as_mut().and_then(|watch| watch.is_late(cx)) {
                Some(limit) => Some(Err(late(limit))),
                None => return Poll::Pending,
            },
            Poll::Ready(frame) => frame,
        };
        Poll::Ready(match frame {
            Some(Err(error)) => {
                let error = SharedError(Arc::from(error));
                if let Some(watch) = this.watch.take() {
                    watch.failed(&error);
                }
                Some(Err(Box::new(error)))
            }
            None => {
                if let Some(watch) = this.watch.take() {
                    watch.ended();
                }
                None
            }
            frame => frame,
        })
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

impl Drop for WatchedBody {
    fn drop(&mut self) {
        let Some(watch) = self.watch.take() else { return };
        match self.inner.is_end_stream() {
            // The reader stopped at the length that the head announced.
            true => watch.ended(),
            false => watch.left_unread(),
        }
    }
}

impl fmt::Debug for WatchedBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WatchedBody").finish_non_exhaustive()
    }
}

fn late(limit: Duration) -> BoxError {
    let text = format!("the answer's body did not come within the attempt timeout of {limit:?}");
    Box::new(io::Error::new(io::ErrorKind::TimedOut, text))
}

// ===== reading ahead =====

/// The first part of a body, and the rest of it.
pub(crate) struct Read {
    /// What was read.
    pub(crate) start: Bytes,
    /// How the read ended: the body was over, it went on beyond the limit, or it broke.
    pub(crate) end: ReadEnd,
}

pub(crate) enum ReadEnd {
    Whole,
    Longer(SdkBody),
    Broken(BoxError),
}

/// Reads up to about `limit` bytes ahead; a body that is in memory is only looked at.
pub(crate) async fn read_ahead(body: SdkBody, limit: usize) -> Read {
    match body.bytes() {
        Some(bytes) => Read { start: Bytes::copy_from_slice(bytes), end: ReadEnd::Whole },
        None => read_frames(body, limit).await,
    }
}

/// Reads up to about `limit` bytes ahead, frame by frame.
pub(crate) async fn read_frames(mut body: SdkBody, limit: usize) -> Read {
    let mut start = BytesMut::new();
    while start.len() < limit {
        let frame = std::future::poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await;
        match frame.map(|frame| frame.map(Frame::into_data)) {
            Some(Ok(Ok(data))) => start.extend_from_slice(&data),
            Some(Ok(Err(_trailers))) => {}
            Some(Err(error)) => return Read { start: start.freeze(), end: ReadEnd::Broken(error) },
            None => return Read { start: start.freeze(), end: ReadEnd::Whole },
        }
    }
    Read { start: start.freeze(), end: ReadEnd::Longer(body) }
}

impl Read {
    /// The body as it was.
    pub(crate) fn into_body(self) -> SdkBody {
        let rest = match self.end {
            ReadEnd::Whole => return SdkBody::from(self.start),
            ReadEnd::Longer(rest) => Ok(rest),
            ReadEnd::Broken(error) => Err(Some(error)),
        };
        SdkBody::from_body_1_x(Rejoined { start: Some(self.start), rest })
    }
}

/// What was read ahead, followed by the rest or by the error.
struct Rejoined {
    start: Option<Bytes>,
    rest: Result<SdkBody, Option<BoxError>>,
}

impl Body for Rejoined {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if let Some(start) = self.start.take().filter(|start| !start.is_empty()) {
            return Poll::Ready(Some(Ok(Frame::data(start))));
        }
        match &mut self.rest {
            Ok(rest) => Pin::new(rest).poll_frame(cx),
            Err(error) => Poll::Ready(error.take().map(Err)),
        }
    }
}

#[cfg(test)]
mod tests;
