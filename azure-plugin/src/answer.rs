//! The answer to a failed attempt: what it says, and the same answer for whoever asks next.
//!
//! Storage names an error in a header, Resource Manager in the body alone, so the body has to be looked into before it is
//! known what to do. Whoever gets the answer in the end must not notice.

use std::future::poll_fn;
use std::pin::Pin;
use std::time::Duration;

use azure_core::Error;
use azure_core::http::headers::{HeaderName, HeaderValue, Headers};
use azure_core::http::{AsyncRawResponse, AsyncResponseBody, StatusCode};
use bytes::{Bytes, BytesMut};
use cloud_governor::{Clock, Facts, Transport, within};
use futures_util::{Stream, StreamExt, stream};
use serde_json::Value;

/// How much of a failed answer's body is read ahead.
const READ_AHEAD: usize = 64 * 1024;

/// How long the start of a failed answer's body is waited for, if the attempt's time does not end before.
const PATIENCE: Duration = Duration::from_secs(5);

/// A failed answer, with the start of its body in memory.
pub(crate) struct Answer {
    status: StatusCode,
    headers: Headers,
    start: Bytes,
    end: End,
}

/// What follows the start of a body.
enum End {
    Nothing,
    Broke(Error),
    Rest(AsyncResponseBody),
}

impl Answer {
    /// Reads the start of the body: 64 KiB of it, or what comes within five seconds and `limit`.
    pub(crate) async fn read(response: AsyncRawResponse, clock: &dyn Clock, limit: Option<Duration>) -> Answer {
        let (status, headers, mut body) = response.deconstruct();
        let patience = limit.map_or(PATIENCE, |limit| limit.min(PATIENCE));
        let mut start = Start::default();
        let came = within(clock, Some(patience), start.fill(&mut body)).await;
        let end = match came {
            Some(Came::Whole) => End::Nothing,
            Some(Came::Broke(error)) => End::Broke(error),
            Some(Came::Full) | None => End::Rest(body),
        };
        Answer { status, headers, start: start.joined(), end }
    }

    /// What the body names, if all of it is there.
    pub(crate) fn named(&self) -> Named {
        match self.end {
            End::Nothing => Named::in_body(&self.start),
            End::Broke(_) | End::Rest(_) => Named::default(),
        }
    }

    /// The facts, with what the body names.
    pub(crate) fn facts(&self, named: Named) -> Facts<'static> {
        let facts = head_facts(self.status, &self.headers, named);
        match self.end {
            // A status that says nothing of a retry says less than that the rest did not come.
            End::Broke(_) => facts.transport(Transport::BodyCutShort),
            End::Nothing | End::Rest(_) => facts,
        }
    }

    /// The same answer as came.
    pub(crate) fn passed_on(self) -> AsyncRawResponse {
        let Answer { status, headers, start, end } = self;
        match end {
            End::Nothing => AsyncRawResponse::from_bytes(status, headers, start),
            End::Broke(error) => {
                AsyncRawResponse::new(status, headers, Box::pin(stream::iter([Ok(start), Err(error)])))
            }
            End::Rest(rest) => AsyncRawResponse::new(status, headers, Box::pin(stream::iter([Ok(start)]).chain(rest))),
        }
    }

    /// The answer for as long as another may take its place: without the rest, which would hold a connection.
    pub(crate) fn kept(mut self) -> AsyncRawResponse {
        if let End::Rest(_) = self.end {
            self.end = End::Nothing;
        }
        self.passed_on()
    }
}

// ===== reading =====

#[derive(Default)]
struct Start {
    chunks: Vec<Bytes>,
    len: usize,
}

enum Came {
    Whole,
    Full,
    Broke(Error),
}

impl Start {
    async fn fill(&mut self, body: &mut AsyncResponseBody) -> Came {
        while self.len < READ_AHEAD {
            match poll_fn(|cx| Pin::new(&mut *body).poll_next(cx)).await {
                None => return Came::Whole,
                Some(Err(error)) => return Came::Broke(error),
                Some(Ok(chunk)) => {
                    // An empty one counts as well: a body may have no end of them.
                    self.len = self.len.saturating_add(chunk.len().max(1));
                    self.chunks.push(chunk);
                }
            }
        }
        Came::Full
    }

    fn joined(mut self) -> Bytes {
        match self.chunks.len() {
            0 | 1 => self.chunks.pop().unwrap_or_default(),
            _ => {
                let mut joined = BytesMut::with_capacity(self.len);
                self.chunks.iter().for_each(|chunk| joined.extend_from_slice(chunk));
                joined.freeze()
            }
        }
    }
}

// ===== what it says =====

/// What the body of an error calls it.
#[derive(Default)]
pub(crate) struct Named {
    code: Option<String>,
    message: Option<String>,
}

impl Named {
    /// The code and the message of an error in JSON: Resource Manager's and Graph's `error.code`, the bare `code` of older
    /// resource providers, OData's `odata.error.code` of tables, and the `error` of OAuth (RFC 6749, section 5.2).
    pub(crate) fn in_body(body: &[u8]) -> Named {
        // One that was in memory already may be longer than what is read ahead.
        if body.len() > READ_AHEAD {
            return Named::default();
        }
        let Ok(root) = serde_json::from_slice::<Value>(body) else { return Named::default() };
        let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
        let inner = root.get("error").filter(|error| error.is_object()).or_else(|| root.get("odata.error"));
        match inner {
            Some(error) => {
                let message = error.get("message");
                let message = message.and_then(|message| message.get("value")).or(message);
                Named { code: text(error.get("code")), message: text(message) }
            }
            None => Named {
                code: text(root.get("code").or_else(|| root.get("error"))),
                message: text(root.get("message").or_else(|| root.get("error_description"))),
            },
        }
    }

    /// With a code that is known otherwise, if the body has none.
    pub(crate) fn or_code(mut self, code: Option<&str>) -> Named {
        self.code = self.code.or_else(|| code.map(str::to_owned));
        self
    }
}

const ERROR_CODE: HeaderName = HeaderName::from_static("x-ms-error-code");

/// The facts of a head, with what its body names. The head's own code goes first.
pub(crate) fn head_facts(status: StatusCode, headers: &Headers, named: Named) -> Facts<'static> {
    let mut facts = Facts::new().status(status.into());
    if let Some(code) = headers.get_optional_string(&ERROR_CODE).or(named.code) {
        facts = facts.code(code);
    }
    if let Some(message) = named.message {
        facts = facts.message(message);
    }
    facts.headers(headers.iter().map(as_texts))
}

fn as_texts<'a>((name, value): (&'a HeaderName, &'a HeaderValue)) -> (&'a str, &'a str) {
    (name.as_str(), value.as_str())
}

#[cfg(test)]
mod tests;
