//! Answers that are kept, so that a call can stop with the one it got.
//!
//! Whether a call goes on is known only after an outcome, when the SDK's loop has already decided to come again. To
//! stop it, the next attempt passes without being sent and gets the last real answer once more, from here. The caller
//! then has the service's own typed error, with its code and request id.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use aws_smithy_runtime_api::client::connection::ConnectionMetadata;
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::http::{Headers, StatusCode};
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::retry::ErrorKind;
use bytes::Bytes;
use http_body::Frame;

/// How much of a failed answer's body is read for its code and kept for a replay. Service errors are a few hundred
/// bytes; a longer body is handed on whole, but a replay of it ends here.
pub(crate) const KEPT_BODY: usize = 64 * 1024;

/// What one attempt got, ready to be given once more.
#[derive(Clone)]
pub(crate) enum Answer {
    /// A failed answer of the server.
    Response {
        /// Its status.
        status: StatusCode,
        /// Its head.
        headers: Headers,
        /// Its body, or the first [`KEPT_BODY`] bytes of it.
        body: Bytes,
    },
    /// A head that came, with a body that did not come whole.
    CutShort {
        /// The status of the head.
        status: StatusCode,
        /// The head.
        headers: Headers,
        /// What went wrong with the body.
        error: Arc<SharedError>,
    },
    /// No answer.
    Error(KeptError),
}

impl Answer {
    /// The answer once more.
    pub(crate) fn deliver(&self) -> Result<HttpResponse, ConnectorError> {
        let (status, headers, body) = match self {
            Answer::Response { status, headers, body } => (status, headers, SdkBody::from(body.clone())),
            Answer::CutShort { status, headers, error } => {
                (status, headers, SdkBody::from_body_1_x(BrokenBody { error: Arc::clone(error) }))
            }
            Answer::Error(error) => return Err(error.deliver()),
        };
        let mut response = HttpResponse::new(*status, body);
        *response.headers_mut() = headers.clone();
        Ok(response)
    }

    /// For an attempt that ended without anyone being told how: the SDK's own attempt timeout dropped it.
    pub(crate) fn dropped() -> Self {
        Answer::Error(KeptError::timeout("the attempt was given up before its answer came"))
    }
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Answer::Response { status, .. } => write!(f, "Response({})", status.as_u16()),
            Answer::CutShort { status, .. } => write!(f, "CutShort({})", status.as_u16()),
            Answer::Error(error) => write!(f, "Error({:?})", error.kind),
        }
    }
}

// ===== errors =====

#[derive(Debug, Clone, Copy)]
enum Kind {
    Timeout,
    User,
    Io,
    Other(Option<ErrorKind>),
}

/// A [`ConnectorError`] that can be given more than once.
#[derive(Debug, Clone)]
pub(crate) struct KeptError {
    kind: Kind,
    source: SharedError,
    connection: Option<ConnectionMetadata>,
}

impl KeptError {
    pub(crate) fn new(error: ConnectorError) -> Self {
        let kind = match &error {
            error if error.is_timeout() => Kind::Timeout,
            error if error.is_user() => Kind::User,
            error if error.is_io() => Kind::Io,
            error => Kind::Other(error.as_other()),
        };
        let connection = error.connection_metadata().cloned();
        KeptError { kind, source: SharedError(Arc::from(error.into_source())), connection }
    }

    pub(crate) fn timeout(text: impl Into<String>) -> Self {
        let error = io::Error::new(io::ErrorKind::TimedOut, text.into());
        KeptError { kind: Kind::Timeout, source: SharedError(Arc::new(error)), connection: None }
    }

    /// The error once more.
    pub(crate) fn deliver(&self) -> ConnectorError {
        self.deliver_as(self.kind)
    }

    /// The error once more, as one that the SDK's own classifiers retry.
    pub(crate) fn deliver_retryable(&self, kind: ErrorKind) -> ConnectorError {
        match self.kind {
            Kind::Timeout | Kind::Io | Kind::Other(Some(_)) => self.deliver(),
            Kind::User | Kind::Other(None) => self.deliver_as(Kind::Other(Some(kind))),
        }
    }

    fn deliver_as(&self, kind: Kind) -> ConnectorError {
        let source = Box::new(self.source.clone());
        let error = match kind {
            Kind::Timeout => ConnectorError::timeout(source),
            Kind::User => ConnectorError::user(source),
            Kind::Io => ConnectorError::io(source),
            Kind::Other(kind) => ConnectorError::other(source, kind),
        };
        match &self.connection {
            Some(connection) => error.with_connection(connection.clone()),
            None => error,
        }
    }

    pub(crate) fn error(&self) -> &(dyn std::error::Error + 'static) {
        self.source.0.as_ref()
    }

    pub(crate) fn is_timeout(&self) -> bool {
        matches!(self.kind, Kind::Timeout)
    }

    pub(crate) fn is_user(&self) -> bool {
        matches!(self.kind, Kind::User)
    }

    pub(crate) fn is_io(&self) -> bool {
        matches!(self.kind, Kind::Io)
    }

    pub(crate) fn other_kind(&self) -> Option<ErrorKind> {
        match self.kind {
            Kind::Other(kind) => kind,
            _ => None,
        }
    }
}

/// An error with several owners; the error itself is its source.
#[derive(Clone)]
pub(crate) struct SharedError(pub(crate) Arc<dyn std::error::Error + Send + Sync>);

impl fmt::Debug for SharedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl fmt::Display for SharedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("governed request failed")
    }
}

impl std::error::Error for SharedError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(self.0.as_ref())
    }
}

/// A body that fails at once.
struct BrokenBody {
    error: Arc<SharedError>,
}

impl http_body::Body for BrokenBody {
    type Data = Bytes;
    type Error = SharedError;

    fn poll_frame(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, SharedError>>> {
        Poll::Ready(Some(Err(SharedError::clone(&self.error))))
    }
}

#[cfg(test)]
mod tests;
