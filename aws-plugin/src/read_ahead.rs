//! Reading the start of a failed answer's body, for its code, and handing the body on unchanged.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use aws_smithy_types::body::SdkBody;
use bytes::{Bytes, BytesMut};
use cloud_governor::Sleep;
use http_body::{Body, Frame};

use crate::body::{BoxError, Deadline, late};
use crate::replay::SharedError;

/// The first part of a body, and the rest of it.
pub(crate) struct Read {
    /// What was read.
    pub(crate) start: Bytes,
    /// How the read ended.
    pub(crate) end: ReadEnd,
}

pub(crate) enum ReadEnd {
    /// The body was over.
    Whole,
    /// It goes on beyond the limit, or took too long.
    More(SdkBody),
    /// It broke.
    Broken(SharedError),
}

/// Reads up to about `limit` bytes ahead, for as long as `patience` lasts; a body that is in memory is only looked at.
pub(crate) async fn read_ahead(body: SdkBody, limit: usize, patience: Sleep) -> Read {
    match body.bytes() {
        Some(bytes) => Read { start: Bytes::copy_from_slice(bytes), end: ReadEnd::Whole },
        None => read_frames(body, limit, patience).await,
    }
}

/// Reads up to about `limit` bytes ahead, frame by frame.
pub(crate) async fn read_frames(mut body: SdkBody, limit: usize, patience: impl Future<Output = ()>) -> Read {
    let mut patience = std::pin::pin!(patience);
    let mut start = BytesMut::new();
    let end = std::future::poll_fn(|cx| {
        while start.len() < limit {
            match Pin::new(&mut body).poll_frame(cx) {
                Poll::Ready(Some(Ok(frame))) => {
                    if let Ok(data) = frame.into_data() {
                        start.extend_from_slice(&data);
                    }
                }
                Poll::Ready(Some(Err(error))) => return Poll::Ready(Some(Err(error))),
                Poll::Ready(None) => return Poll::Ready(Some(Ok(()))),
                Poll::Pending => return patience.as_mut().poll(cx).map(|()| None),
            }
        }
        Poll::Ready(None)
    });
    let end = match end.await {
        Some(Ok(())) => ReadEnd::Whole,
        Some(Err(error)) => ReadEnd::Broken(SharedError(Arc::from(error))),
        None => ReadEnd::More(body),
    };
    Read { start: start.freeze(), end }
}

impl Read {
    /// The body as it was. What is yet to come of it has to come within the deadline.
    pub(crate) fn into_body(self, deadline: Option<Deadline>) -> SdkBody {
        let rest = match self.end {
            ReadEnd::Whole => return SdkBody::from(self.start),
            ReadEnd::More(rest) => Ok(rest),
            ReadEnd::Broken(error) => Err(Some(error.into())),
        };
        SdkBody::from_body_1_x(Rejoined { start: Some(self.start), rest, deadline })
    }
}

/// What was read ahead, followed by the rest or by the error.
struct Rejoined {
    start: Option<Bytes>,
    rest: Result<SdkBody, Option<BoxError>>,
    deadline: Option<Deadline>,
}

impl Body for Rejoined {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = &mut *self;
        if let Some(start) = this.start.take().filter(|start| !start.is_empty()) {
            return Poll::Ready(Some(Ok(Frame::data(start))));
        }
        let rest = match &mut this.rest {
            Ok(rest) => rest,
            Err(error) => return Poll::Ready(error.take().map(Err)),
        };
        match Pin::new(rest).poll_frame(cx) {
            Poll::Pending => match this.deadline.as_mut().and_then(|deadline| deadline.is_over(cx)) {
                Some(limit) => {
                    this.rest = Err(None);
                    Poll::Ready(Some(Err(late(limit))))
                }
                None => Poll::Pending,
            },
            ready => ready,
        }
    }
}

#[cfg(test)]
mod tests;
