//! A failed answer's body: read ahead, and the same for whoever reads it next.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body::{Frame, SizeHint};
use http_body_util::BodyExt;
use reqwest::{Body, Response, ResponseBuilderExt};

use crate::clock::Clock;
use crate::drive::within;

/// How much of a failed answer's body is read ahead.
const READ_AHEAD: usize = 64 * 1024;

/// How long it is waited for.
const PATIENCE: Duration = Duration::from_secs(5);

/// What became of a body that was read ahead.
pub(super) enum Seen {
    Whole(Bytes),
    /// It is longer, or did not come in time.
    Start,
    Broke,
}

/// Reads the start of the body: 64 KiB of it, or what comes within five seconds and `limit`. The answer that is returned
/// is the same as the one that came.
pub(super) async fn look_into(response: Response, clock: &dyn Clock, limit: Option<Duration>) -> (Response, Seen) {
    let (head, body) = parts(response);
    let read = Read::ahead(body, clock, limit).await;
    let seen = match read.end {
        End::Whole => Seen::Whole(read.start.data.clone().freeze()),
        End::Rest(_) => Seen::Start,
        End::Broke(_) | End::LetGo => Seen::Broke,
    };
    (Response::from(http::Response::from_parts(head, Body::wrap(read))), seen)
}

/// The answer for as long as another may take its place: with what comes of its body within `limit`, and without the
/// connection.
pub(super) async fn detached(response: Response, clock: &dyn Clock, limit: Duration) -> Response {
    let (head, body) = parts(response);
    let mut read = Read::ahead(body, clock, Some(limit)).await;
    if let End::Rest(_) = read.end {
        read.end = End::LetGo;
    }
    Response::from(http::Response::from_parts(head, Body::wrap(read)))
}

/// The head, which says in its extensions what URL it is of, and the body.
fn parts(response: Response) -> (http::response::Parts, Body) {
    let url = response.url().clone();
    let (mut head, body) = http::Response::<Body>::from(response).into_parts();
    if let Ok(marked) = http::Response::builder().url(url).body(()) {
        head.extensions.extend(marked.into_parts().0.extensions);
    }
    (head, body)
}

// ===== the body =====

/// A body whose start has been read.
struct Read {
    start: Start,
    end: End,
}

/// What has been read: in one piece, since many small ones would take a multiple of the memory.
#[derive(Default)]
struct Start {
    data: BytesMut,
    trailers: Option<Frame<Bytes>>,
}

/// What follows the start.
enum End {
    Whole,
    Broke(reqwest::Error),
    Rest(Body),
    /// It was not waited for.
    LetGo,
}

impl Read {
    async fn ahead(mut body: Body, clock: &dyn Clock, limit: Option<Duration>) -> Read {
        let patience = limit.map_or(PATIENCE, |limit| limit.min(PATIENCE));
        let mut start = Start::default();
        let end = match within(clock, Some(patience), start.fill(&mut body)).await {
            Some(Some(end)) => end,
            Some(None) | None => End::Rest(body),
        };
        Read { start, end }
    }
}

impl Start {
    /// Reads until the end, or `None` if there is more than is read ahead.
    async fn fill(&mut self, body: &mut Body) -> Option<End> {
        let mut len = 0_usize;
        while len < READ_AHEAD {
            match body.frame().await.map(|frame| frame.map(Frame::into_data)) {
                None => return Some(End::Whole),
                Some(Err(error)) => return Some(End::Broke(error)),
                Some(Ok(Ok(data))) => {
                    // An empty one counts as well: a body may have no end of them.
                    len = len.saturating_add(data.len().max(1));
                    self.data.extend_from_slice(&data);
                }
                Some(Ok(Err(trailers))) => {
                    len = len.saturating_add(1);
                    self.trailers = Some(trailers);
                }
            }
        }
        None
    }

    fn next(&mut self) -> Option<Frame<Bytes>> {
        if self.data.is_empty() {
            return self.trailers.take();
        }
        Some(Frame::data(std::mem::take(&mut self.data).freeze()))
    }
}

impl http_body::Body for Read {
    type Data = Bytes;
    type Error = Box<dyn std::error::Error + Send + Sync>;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let this = self.get_mut();
        if let Some(frame) = this.start.next() {
            return Poll::Ready(Some(Ok(frame)));
        }
        if let End::Rest(rest) = &mut this.end {
            return Pin::new(rest).poll_frame(cx).map_err(Into::into);
        }
        Poll::Ready(match std::mem::replace(&mut this.end, End::Whole) {
            End::Broke(error) => Some(Err(error.into())),
            End::LetGo => {
                Some(Err("the rest of this body was not waited for, as the request was to be sent again".into()))
            }
            End::Whole | End::Rest(_) => None,
        })
    }

    fn is_end_stream(&self) -> bool {
        self.start.data.is_empty() && self.start.trailers.is_none() && matches!(self.end, End::Whole)
    }

    fn size_hint(&self) -> SizeHint {
        let start = u64::try_from(self.start.data.len()).unwrap_or(u64::MAX);
        let rest = match &self.end {
            End::Whole => SizeHint::with_exact(0),
            End::Rest(rest) => rest.size_hint(),
            End::Broke(_) | End::LetGo => SizeHint::default(),
        };
        let mut hint = SizeHint::new();
        hint.set_lower(start.saturating_add(rest.lower()));
        if let Some(upper) = rest.upper() {
            hint.set_upper(start.saturating_add(upper));
        }
        hint
    }
}

#[cfg(test)]
mod tests;
