//! The answer's body.

use std::collections::VecDeque;
use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Buf;
use http::HeaderMap;
use http_body::{Body, Frame, SizeHint};

use super::outcome::Judge;
use super::{BoxError, FRAME};
use crate::call::Attempt;
use crate::options::CallOptions;

/// How many frames are taken in before others have their turn: as many steps as Tokio gives a task.
const AT_ONCE: usize = 128;

type Taken<R> = Result<Frame<<R as Body>::Data>, BoxError>;

/// The body of a governed channel's answer: what was taken in of it, then the rest as it comes.
///
/// Dropping it gives back what the call still holds.
pub struct GovernedBody<R: Body> {
    start: VecDeque<Taken<R>>,
    /// `None` if it has come to its end.
    rest: Option<Pin<Box<R>>>,
    watch: Option<Watch>,
}

impl<R: Body> fmt::Debug for GovernedBody<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GovernedBody").field("is_open", &self.rest.is_some()).finish_non_exhaustive()
    }
}

impl<R: Body> Default for GovernedBody<R> {
    /// An empty body, which what answers in a channel's place needs.
    fn default() -> Self {
        GovernedBody { start: VecDeque::new(), rest: None, watch: None }
    }
}

/// Nothing in it is ever pinned where it lies.
impl<R: Body> Unpin for GovernedBody<R> {}

impl<R> Body for GovernedBody<R>
where
    R: Body,
    R::Error: Into<BoxError>,
{
    type Data = R::Data;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Taken<R>>> {
        match self.start.pop_front() {
            Some(frame) => Poll::Ready(Some(frame)),
            None => self.poll_rest(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.start.is_empty() && self.rest.as_ref().is_none_or(|rest| rest.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        match &self.rest {
            Some(rest) if self.start.is_empty() => rest.size_hint(),
            _ => SizeHint::default(),
        }
    }
}

impl<R> GovernedBody<R>
where
    R: Body,
    R::Error: Into<BoxError>,
{
    /// Nothing taken in yet, nobody looking on.
    pub(super) fn new(body: R) -> Self {
        GovernedBody { rest: Some(Box::pin(body)), ..GovernedBody::default() }
    }

    /// The same body, and who is told by what comes first how the attempt ended.
    pub(super) fn watched(self, watch: Watch) -> Self {
        GovernedBody { watch: Some(watch), ..self }
    }

    fn poll_rest(&mut self, cx: &mut Context<'_>) -> Poll<Option<Taken<R>>> {
        let Some(rest) = &mut self.rest else { return Poll::Ready(None) };
        let frame = ready!(rest.as_mut().poll_frame(cx)).map(|frame| frame.map_err(Into::into));
        if !frame.as_ref().is_some_and(|frame| frame.as_ref().is_ok_and(Frame::is_data)) {
            // Nothing comes after trailers, or an error.
            self.rest = None;
        }
        if let Some(seen) = Seen::in_frame(frame.as_ref())
            && let Some(watch) = self.watch.take()
        {
            watch.settle(seen);
        }
        Poll::Ready(frame)
    }

    /// Waits until all of it is there, or more than `most` bytes. Empty frames are left out: there is no end to how many may
    /// come, and to how fast, so that others, and the attempt's timeout, have their turn in between.
    pub(super) async fn take_in(&mut self, most: usize) {
        let (mut taken, mut at_once) = (0_usize, 0_usize);
        while taken <= most
            && let Some(frame) = poll_fn(|cx| self.poll_rest(cx)).await
        {
            at_once += 1;
            if at_once == AT_ONCE {
                at_once = 0;
                tokio::task::yield_now().await;
            }
            if Seen::in_frame(Some(&frame)).is_some() {
                let length = frame.as_ref().ok().and_then(Frame::data_ref).map_or(0, Buf::remaining);
                taken = taken.saturating_add(length.max(FRAME));
                self.start.push_back(frame);
            }
        }
    }

    /// What decides of what was taken in.
    pub(super) fn seen(&self) -> Seen<'_> {
        match (self.start.back(), &self.rest) {
            // More than is kept.
            (_, Some(_)) => Seen::Data,
            (Some(Ok(frame)), None) if frame.is_data() => Seen::End,
            (last, None) => Seen::in_frame(last).unwrap_or(Seen::End),
        }
    }

    /// Lets go of what has not come yet, and of the stream with it: for an answer that is kept while another is waited for.
    pub(super) fn without_rest(self) -> Self {
        GovernedBody { rest: None, ..self }
    }
}

/// What a body brings that decides how its attempt ended.
pub(super) enum Seen<'a> {
    /// A message, or a part of one.
    Data,
    Trailers(&'a HeaderMap),
    Failed(&'a (dyn std::error::Error + 'static)),
    /// The end, without trailers.
    End,
}

impl<'a> Seen<'a> {
    /// `None` if the frame is empty.
    fn in_frame<D: Buf>(frame: Option<&'a Result<Frame<D>, BoxError>>) -> Option<Self> {
        match frame {
            None => Some(Seen::End),
            Some(Err(error)) => Some(Seen::Failed(&**error)),
            Some(Ok(frame)) => match (frame.trailers_ref(), frame.data_ref()) {
                (Some(trailers), _) => Some(Seen::Trailers(trailers)),
                (None, data) => data.is_some_and(Buf::has_remaining).then_some(Seen::Data),
            },
        }
    }
}

/// An attempt whose outcome the body will tell. Dropped untold, it counts as cancelled.
pub(super) struct Watch {
    pub(super) judge: Judge,
    pub(super) attempt: Attempt,
    pub(super) options: CallOptions,
}

impl Watch {
    fn settle(self, seen: Seen<'_>) {
        if let Some(outcome) = self.judge.body(seen, &self.attempt) {
            self.options.note_verdict(self.attempt.finish(outcome));
        }
    }
}
