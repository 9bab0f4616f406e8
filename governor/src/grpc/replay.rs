//! Request bodies that can be sent again.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use http_body::{Body, Frame};
use http_body_util::BodyExt;
use http_body_util::combinators::UnsyncBoxBody;

use super::FRAME;

/// A request body that can be made anew: tonic's, and others that erase what is in them.
///
/// It is implemented for `tonic::body::Body` of tonic 0.14 and for [`UnsyncBoxBody`], which tonic 0.12 calls `BoxBody`.
pub trait ReplayBody: Body<Data = Bytes> + Send + Unpin + Sized + 'static {
    /// A body of these bytes and nothing more.
    fn whole(bytes: Bytes) -> Self;

    /// A body of what was taken out of another, and then what was left in it.
    fn resumed(parts: Resumed<Self>) -> Self;
}

impl ReplayBody for tonic::body::Body {
    fn whole(bytes: Bytes) -> Self {
        tonic::body::Body::new(Whole(bytes))
    }

    fn resumed(parts: Resumed<Self>) -> Self {
        tonic::body::Body::new(parts)
    }
}

impl<E: Send + 'static> ReplayBody for UnsyncBoxBody<Bytes, E> {
    fn whole(bytes: Bytes) -> Self {
        Whole(bytes).map_err(|never| match never {}).boxed_unsync()
    }

    fn resumed(parts: Resumed<Self>) -> Self {
        parts.boxed_unsync()
    }
}

/// All there is to send, in one piece. Unlike `http_body_util::Full` it does not tell its size beforehand, of which hyper
/// would make a `content-length` that the request would not have without the layer.
struct Whole(Bytes);

impl Body for Whole {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let bytes = std::mem::take(&mut self.0);
        Poll::Ready((!bytes.is_empty()).then(|| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_empty()
    }
}

/// What was taken out of a body, and then what was left in it.
pub struct Resumed<B: Body> {
    start: VecDeque<Result<Frame<Bytes>, B::Error>>,
    /// `None` if it had come to its end.
    rest: Option<B>,
}

impl<B: Body> fmt::Debug for Resumed<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resumed").field("taken_frames", &self.start.len()).finish_non_exhaustive()
    }
}

/// Nothing in it is ever pinned where it lies.
impl<B: Body + Unpin> Unpin for Resumed<B> {}

impl<B: Body<Data = Bytes> + Unpin> Body for Resumed<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        match (self.start.pop_front(), &mut self.rest) {
            (Some(frame), _) => Poll::Ready(Some(frame)),
            (None, Some(rest)) => Pin::new(rest).poll_frame(cx),
            (None, None) => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.start.is_empty() && self.rest.as_ref().is_none_or(Body::is_end_stream)
    }
}

// ===== taking a body in =====

/// A request body on its way out.
pub(super) enum Outgoing<B> {
    /// All of it is there: it can be sent again.
    Whole(Bytes),
    /// It goes out once; `None` once it has.
    Once(Option<B>),
}

impl<B: ReplayBody> Outgoing<B> {
    /// Takes in what the body has at once, without waiting: a generated client's unary request is then whole. A stream that
    /// goes on, and what is longer than `most` bytes, is put together again.
    pub(super) async fn take_in(mut body: B, most: usize) -> Self {
        let mut start = VecDeque::new();
        let look = poll_fn(|cx| Poll::Ready(take_what_is_there(&mut body, &mut start, most, cx)));
        // A body that waits for its turn on the runtime would look like a live one.
        let ended = tokio::task::unconstrained(look).await;
        let is_whole = ended && start.iter().all(|frame| frame.as_ref().is_ok_and(Frame::is_data));
        if is_whole {
            return Outgoing::Whole(joined(start));
        }
        Outgoing::Once(Some(B::resumed(Resumed { start, rest: (!ended).then_some(body) })))
    }

    /// The body of the next send, if there can be one.
    pub(super) fn next(&mut self) -> Option<B> {
        match self {
            Outgoing::Whole(bytes) => Some(B::whole(bytes.clone())),
            Outgoing::Once(body) => body.take(),
        }
    }

    pub(super) fn is_whole(&self) -> bool {
        matches!(self, Outgoing::Whole(_))
    }
}

/// Whether it came to its end.
fn take_what_is_there<B: ReplayBody>(
    body: &mut B,
    start: &mut VecDeque<Result<Frame<Bytes>, B::Error>>,
    most: usize,
    cx: &mut Context<'_>,
) -> bool {
    let mut taken = 0_usize;
    while taken <= most {
        match Pin::new(&mut *body).poll_frame(cx) {
            Poll::Ready(Some(frame)) => {
                let failed = frame.is_err();
                // An empty one counts too, so that there is an end to them.
                let length = frame.as_ref().ok().and_then(Frame::data_ref).map_or(0, Bytes::len);
                taken = taken.saturating_add(length.max(FRAME));
                start.push_back(frame);
                if failed {
                    return false;
                }
            }
            Poll::Ready(None) => return true,
            Poll::Pending => return false,
        }
    }
    false
}

/// One frame's bytes are not copied.
fn joined<E>(frames: VecDeque<Result<Frame<Bytes>, E>>) -> Bytes {
    let mut pieces = frames.into_iter().flatten().filter_map(|frame| frame.into_data().ok());
    let first = pieces.next().unwrap_or_default();
    let Some(second) = pieces.next() else { return first };
    let mut all = BytesMut::from(first);
    all.extend_from_slice(&second);
    pieces.for_each(|piece| all.extend_from_slice(&piece));
    all.freeze()
}
