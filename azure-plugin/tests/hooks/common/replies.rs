//! What the server answers.

use std::time::Duration;

use azure_core::error::{Error, ErrorKind};
use azure_core::http::AsyncRawResponse;
use azure_core::http::headers::Headers;
use bytes::Bytes;
use futures_util::{StreamExt, stream};

/// What the server does with one request.
#[derive(Clone)]
pub(crate) enum Reply {
    Answer {
        status: u16,
        headers: Vec<(&'static str, String)>,
        body: Bytes,
    },
    /// A head, and a body whose parts come one by one, each after a while; or that breaks.
    Parts {
        status: u16,
        parts: Vec<(Duration, Option<&'static str>)>,
    },
    /// The connection breaks.
    Reset,
    /// There is no connection.
    Refused,
    /// The answer comes after a while.
    After(Duration, Box<Reply>),
}

impl Reply {
    pub(crate) fn new(status: u16, body: impl Into<Bytes>) -> Self {
        Reply::Answer { status, headers: Vec::new(), body: body.into() }
    }

    pub(crate) fn ok() -> Self {
        Reply::new(200, "content")
    }

    /// As Storage names its errors.
    pub(crate) fn coded(status: u16, code: &str) -> Self {
        Reply::new(status, "").header("x-ms-error-code", code)
    }

    /// As Resource Manager names its errors.
    pub(crate) fn json(status: u16, code: &str) -> Self {
        Reply::new(status, format!(r#"{{"error":{{"code":"{code}","message":"no"}}}}"#))
    }

    pub(crate) fn token() -> Self {
        Reply::new(
            200,
            r#"{"token_type":"Bearer","expires_in":3600,"ext_expires_in":3600,"access_token":"tokenPRIVATE"}"#,
        )
    }

    pub(crate) fn stream<const N: usize>(status: u16, parts: [Option<&'static str>; N]) -> Self {
        Reply::Parts { status, parts: parts.map(|part| (Duration::ZERO, part)).into() }
    }

    pub(crate) fn header(self, name: &'static str, value: impl Into<String>) -> Self {
        match self {
            Reply::Answer { status, mut headers, body } => {
                headers.push((name, value.into()));
                Reply::Answer { status, headers, body }
            }
            other => other,
        }
    }

    pub(crate) fn after(self, delay: Duration) -> Self {
        Reply::After(delay, Box::new(self))
    }
}

fn broke() -> Error {
    Error::with_message(ErrorKind::Io, "the connection was reset")
}

pub(crate) async fn deliver(mut reply: Reply) -> azure_core::Result<AsyncRawResponse> {
    while let Reply::After(delay, then) = reply {
        tokio::time::sleep(delay).await;
        reply = *then;
    }
    match reply {
        Reply::Answer { status, headers, body } => {
            let mut sent = Headers::new();
            for (header, value) in headers {
                sent.insert(header, value);
            }
            Ok(AsyncRawResponse::from_bytes(status.into(), sent, body))
        }
        Reply::Parts { status, parts } => {
            let parts = stream::iter(parts).then(|(delay, part)| async move {
                tokio::time::sleep(delay).await;
                part.map(|part| Bytes::from_static(part.as_bytes())).ok_or_else(broke)
            });
            Ok(AsyncRawResponse::new(status.into(), Headers::new(), Box::pin(parts)))
        }
        Reply::Refused => Err(Error::with_message(ErrorKind::Connection, "connection refused")),
        Reply::Reset | Reply::After(..) => Err(broke()),
    }
}
