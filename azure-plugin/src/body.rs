//! The body of a success, watched until its end.
//!
//! A head of success is not the whole of it. The pipeline returns a stream as soon as the head has come, and what breaks it
//! after that is the reader's to see and nobody's to retry.

use std::pin::Pin;
use std::task::{Context, Poll};

use azure_core::Result;
use azure_core::http::{AsyncRawResponse, AsyncResponseBody};
use bytes::Bytes;
use cloud_governor::{Attempt, Call, Facts, Governor, Outcome, RetryPolicy, Transport};
use futures_util::Stream;

/// What an attempt holds until the end of the answer's body.
pub(crate) struct Held {
    pub(crate) attempt: Attempt,
    pub(crate) call: Call,
    pub(crate) governor: Governor,
}

/// The answer, whose body holds the attempt until it has ended or is dropped.
pub(crate) fn guarded(response: AsyncRawResponse, held: Held) -> AsyncRawResponse {
    let (status, headers, inner) = response.deconstruct();
    AsyncRawResponse::new(status, headers, Box::pin(Guarded { inner, held: Some(held) }))
}

struct Guarded {
    inner: AsyncResponseBody,
    /// Gone once the body has ended, which then stays ended.
    held: Option<Held>,
}

impl Stream for Guarded {
    type Item = Result<Bytes>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        if this.held.is_none() {
            return Poll::Ready(None);
        }
        let item = Pin::new(&mut this.inner).poll_next(cx);
        match &item {
            Poll::Ready(None) => this.held.take().into_iter().for_each(Held::succeeded),
            Poll::Ready(Some(Err(_))) => this.held.take().into_iter().for_each(Held::cut_short),
            Poll::Ready(Some(Ok(_))) | Poll::Pending => {}
        }
        item
    }
}

impl Held {
    fn succeeded(self) {
        self.attempt.finish(Outcome::Success);
    }

    /// The reader gets the failure: nobody comes again.
    fn cut_short(self) {
        let Held { attempt, call, governor } = self;
        let _ended = call.policy(RetryPolicy::none());
        let facts = Facts::new().transport(Transport::BodyCutShort);
        let meaning = governor.classify(attempt.scope(), facts);
        attempt.finish(Outcome::Failure(meaning));
    }
}

impl Drop for Guarded {
    /// The reader has left, content with what it got.
    fn drop(&mut self) {
        self.held.take().into_iter().for_each(Held::succeeded);
    }
}
