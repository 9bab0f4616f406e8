//! The body of an answer: whole, or broken off on purpose.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::Frame;
use hyper::{HeaderMap, StatusCode};
use tonic::Status;
use tonic::body::Body;

use super::refusal::failed;

/// A planned reset.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the stream was reset on purpose")]
pub(super) struct Reset;

/// A body that may stop at its first message.
#[derive(Debug)]
pub(super) struct Reply {
    body: Body,
    end: End,
}

#[derive(Clone, Copy, Debug)]
enum End {
    Whole,
    /// In place of the first message come trailers that say `UNAVAILABLE`.
    Trailers,
    /// Nothing comes any more.
    Over,
    /// Of the first message comes half, then the server gets one turn to send it, then the stream is reset.
    Half,
    Flush,
    Reset,
}

impl Reply {
    pub(super) fn whole(body: Body) -> Self {
        Reply { body, end: End::Whole }
    }

    /// Ends in trailers.
    pub(super) fn broken_off(body: Body) -> Self {
        Reply { body, end: End::Trailers }
    }

    /// Ends in a reset.
    pub(super) fn reset(body: Body) -> Self {
        Reply { body, end: End::Half }
    }
}

impl http_body::Body for Reply {
    type Data = Bytes;
    type Error = Box<dyn std::error::Error + Send + Sync>;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        match self.end {
            End::Whole => Pin::new(&mut self.body).poll_frame(cx).map_err(Into::into),
            End::Over => Poll::Ready(None),
            End::Flush => {
                self.end = End::Reset;
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            End::Reset => Poll::Ready(Some(Err(Reset.into()))),
            End::Trailers | End::Half => {
                let frame = ready!(Pin::new(&mut self.body).poll_frame(cx)).transpose()?;
                let Some(Ok(mut message)) = frame.map(Frame::into_data) else { return Poll::Ready(None) };
                let frame = if matches!(self.end, End::Trailers) {
                    self.end = End::Over;
                    Frame::trailers(trailers(&failed(StatusCode::SERVICE_UNAVAILABLE)))
                } else {
                    self.end = End::Flush;
                    Frame::data(message.split_to(message.len() / 2))
                };
                Poll::Ready(Some(Ok(frame)))
            }
        }
    }
}

fn trailers(status: &Status) -> HeaderMap {
    let mut trailers = HeaderMap::new();
    // A status of the source that no header can hold would be no status: the stream then ends without.
    let _ = status.add_header(&mut trailers);
    trailers
}
