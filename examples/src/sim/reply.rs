//! The body of an answer, whole or cut short.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

/// The planned end of a connection. hyper closes the connection when a body or a service returns it.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the connection was cut on purpose")]
pub(crate) struct Cut;

/// A body that promises its full length and may stop in the middle.
#[derive(Debug)]
pub(crate) struct Reply {
    bytes: Bytes,
    promised: u64,
    end: End,
}

#[derive(Clone, Copy, Debug)]
enum End {
    /// All bytes are sent.
    Whole,
    /// Half of them are, then the server gets one turn to flush what it has, then the connection is cut.
    Half,
    Flush,
    Cut,
}

impl Reply {
    pub(crate) fn whole(bytes: Bytes) -> Self {
        Reply { promised: bytes.len() as u64, bytes, end: End::Whole }
    }

    pub(crate) fn cut_short(bytes: Bytes) -> Self {
        Reply { end: End::Half, ..Reply::whole(bytes) }
    }
}

impl Body for Reply {
    type Data = Bytes;
    type Error = Cut;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Cut>>> {
        match self.end {
            End::Whole if self.bytes.is_empty() => Poll::Ready(None),
            End::Whole => Poll::Ready(Some(Ok(Frame::data(std::mem::take(&mut self.bytes))))),
            End::Half => {
                self.end = End::Flush;
                let half = self.bytes.len() / 2;
                Poll::Ready(Some(Ok(Frame::data(self.bytes.split_to(half)))))
            }
            End::Flush => {
                self.end = End::Cut;
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            End::Cut => Poll::Ready(Some(Err(Cut))),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.end, End::Whole) && self.bytes.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.promised)
    }
}
