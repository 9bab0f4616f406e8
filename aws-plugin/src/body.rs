//! The body of a success, watched until its end.
//!
//! A 200 head is not a success. A body that is cut short makes the SDK come again, or fails the caller who reads it. S3
//! may put an error there. And the attempt timeout, moved around the HTTP call, has to span the body as it did before;
//! for a stream that the caller reads, after the operation has returned, it never did.

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

use crate::named::{Root, root};
use crate::operation::Operation;
use crate::registry::REGISTRY;
use crate::replay::{Answer, KEPT_BODY, SharedError};
use crate::report::{Came, Held, Report};

pub(crate) type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// When an attempt's time is over, as long as the operation goes on.
pub(crate) struct Deadline {
    limit: Duration,
    operation: Arc<Operation>,
    /// A body has to be `Sync`, which a sleep is not by itself. Gone once the operation is over.
    sleep: Option<Mutex<Sleep>>,
}

impl Deadline {
    pub(crate) fn new(limit: Duration, sleep: Sleep, operation: Arc<Operation>) -> Self {
        Deadline { limit, operation, sleep: Some(Mutex::new(sleep)) }
    }

    /// The limit, if it has passed.
    pub(crate) fn is_over(&mut self, cx: &mut Context<'_>) -> Option<Duration> {
        let sleep = self.sleep.as_mut()?;
        if self.operation.is_over() {
            self.sleep = None;
            return None;
        }
        let sleep = sleep.get_mut().unwrap_or_else(PoisonError::into_inner);
        sleep.as_mut().poll(cx).is_ready().then_some(self.limit)
    }
}

/// What to say of a body that did not come in time.
pub(crate) fn late(limit: Duration) -> BoxError {
    let text = format!("the answer's body did not come within the attempt timeout of {limit:?}");
    Box::new(io::Error::new(io::ErrorKind::TimedOut, text))
}

/// Puts a watch on the body of a success. One that is in memory has come already.
pub(crate) fn watched(mut response: HttpResponse, watch: Watch, deadline: Option<Deadline>) -> HttpResponse {
    if response.body().bytes().is_some() {
        watch.ended();
        return response;
    }
    let inner = response.take_body();
    *response.body_mut() = SdkBody::from_body_1_x(WatchedBody { inner, watch: Some(watch), deadline });
    response
}

/// Who is told how a body ended.
pub(crate) struct Watch {
    report: Report,
    status: StatusCode,
    headers: Headers,
    /// The start of the body, as long as it may be that of an error.
    suspect: Option<BytesMut>,
}

impl Watch {
    pub(crate) fn new(report: Report, response: &HttpResponse, may_be_error: bool) -> Self {
        let suspect = may_be_error.then(BytesMut::new);
        Watch { report, status: response.status(), headers: response.headers().clone(), suspect }
    }

    fn saw(&mut self, data: &[u8]) {
        let Some(start) = self.suspect.as_mut().filter(|start| start.len() < KEPT_BODY) else { return };
        let is_known = root(start) == Root::Error;
        // White space between declaration and error keeps the connection alive while S3 works.
        let is_between = start.last().is_none_or(|byte| *byte == b'>' || byte.is_ascii_whitespace());
        let data = if !is_known && is_between { data.trim_ascii_start() } else { data };
        let room = KEPT_BODY.saturating_sub(start.len());
        start.extend_from_slice(data.get(..room).unwrap_or(data));
        if !is_known && root(start) == Root::Other {
            self.suspect = None;
        }
    }

    /// The body came whole. An error in it is returned if the SDK is to come again and would not by itself.
    fn ended(self) -> Option<Held> {
        let Watch { report, status, headers, suspect } = self;
        match suspect.filter(|start| root(start) == Root::Error) {
            Some(body) => report.failed(status, headers, body.freeze(), Came::Whole),
            None => {
                report.operation.was_read(report.gated);
                None
            }
        }
    }

    fn failed(self, error: &SharedError) {
        let Watch { report, status, headers, .. } = self;
        let operation = report.operation;
        operation.cut_short(Answer::CutShort { status, headers, error: Arc::new(error.clone()) });
        if !report.gated && !operation.is_over() {
            // The SDK may come again, and nothing else keeps the operation.
            operation.loosen();
            REGISTRY.park(operation);
        }
    }

    /// The reader let go before the end: it had enough, or the SDK took the body for stalled and comes again. Unless the
    /// operation is over, the outcome stays open for a while.
    fn left_unread(self) {
        let operation = self.report.operation;
        operation.was_left();
        if !self.report.gated && !operation.is_over() {
            operation.loosen();
            REGISTRY.park(operation);
        }
    }
}

struct WatchedBody {
    inner: SdkBody,
    watch: Option<Watch>,
    deadline: Option<Deadline>,
}

impl Body for WatchedBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = &mut *self;
        let frame = match Pin::new(&mut this.inner).poll_frame(cx) {
            Poll::Pending => match this.deadline.as_mut().and_then(|deadline| deadline.is_over(cx)) {
                Some(limit) => {
                    // Whoever asks once more is not to ask a sleep that is over.
                    this.inner = SdkBody::empty();
                    this.deadline = None;
                    Some(Err(late(limit)))
                }
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
            None => this.watch.take().and_then(Watch::ended).map(|held| Err(held.into())),
            Some(Ok(frame)) => {
                if let (Some(watch), Some(data)) = (&mut this.watch, frame.data_ref()) {
                    watch.saw(data);
                }
                Some(Ok(frame))
            }
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
            true => drop(watch.ended()),
            false => watch.left_unread(),
        }
    }
}

impl fmt::Debug for WatchedBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WatchedBody").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
