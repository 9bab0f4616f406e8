//! What the server answers.

use std::pin::Pin;
use std::sync::Mutex;
use std::task::{Context, Poll};
use std::time::Duration;

use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_types::body::SdkBody;
use bytes::Bytes;
use http_body::Frame;

/// Some of a body and how long it takes to come, or the word that the connection breaks with.
pub(crate) type Part = (Duration, Result<Bytes, &'static str>);

/// What the server does with one request.
#[derive(Clone)]
pub(crate) enum Reply {
    Answer {
        status: u16,
        headers: Vec<(&'static str, String)>,
        body: Bytes,
    },
    /// A head, some of the body, and then a broken connection.
    Broken {
        status: u16,
        start: Bytes,
    },
    /// The body's bytes come only after a while.
    SlowBody {
        status: u16,
        body: Bytes,
        after: Duration,
    },
    /// The body comes in parts, each after a while.
    Stream {
        status: u16,
        parts: Vec<Part>,
    },
    /// The connection breaks.
    Reset,
    /// The answer comes after a while.
    After(Duration, Box<Reply>),
    /// Another answer, with a header.
    With(&'static str, &'static str, Box<Reply>),
}

impl Reply {
    pub(crate) fn new(status: u16, body: impl Into<Bytes>) -> Self {
        Reply::Answer { status, headers: Vec::new(), body: body.into() }
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

    /// An error of an AWS JSON service.
    pub(crate) fn json_error(status: u16, code: &str) -> Self {
        Reply::new(status, format!(r#"{{"__type":"{code}","message":"no"}}"#))
            .header("content-type", "application/x-amz-json-1.1")
            .header("x-amzn-requestid", "r-42")
    }

    /// A body that comes in these parts at once.
    pub(crate) fn stream<const N: usize>(status: u16, parts: [&'static str; N]) -> Self {
        let parts = parts.map(|part| (Duration::ZERO, Ok(Bytes::from_static(part.as_bytes()))));
        Reply::Stream { status, parts: parts.into() }
    }

    /// An error as S3 and its like have it.
    pub(crate) fn xml_error(status: u16, code: &str) -> Self {
        Reply::new(status, Reply::error_text(code)).header("x-amz-request-id", "r-42")
    }

    /// The body of such an error.
    pub(crate) fn error_text(code: &str) -> String {
        format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>{code}</Code><Message>no</Message></Error>")
    }

    /// `GetParameter`'s answer.
    pub(crate) fn parameter() -> Self {
        Reply::new(200, r#"{"Parameter":{"Name":"a","Value":"v"}}"#)
            .header("content-type", "application/x-amz-json-1.1")
    }

    /// `GetCallerIdentity`'s answer.
    pub(crate) fn caller() -> Self {
        Reply::new(
            200,
            "<GetCallerIdentityResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><GetCallerIdentityResult>\
             <Account>123456789012</Account></GetCallerIdentityResult></GetCallerIdentityResponse>",
        )
    }
}

pub(crate) async fn deliver(reply: Reply) -> Result<HttpResponse, ConnectorError> {
    let mut reply = reply;
    let mut extra = Vec::new();
    loop {
        reply = match reply {
            Reply::After(delay, then) => {
                tokio::time::sleep(delay).await;
                *then
            }
            Reply::With(name, value, then) => {
                extra.push((name, value.to_owned()));
                *then
            }
            reply => return reply_now(reply, extra),
        };
    }
}

fn reply_now(reply: Reply, extra: Vec<(&'static str, String)>) -> Result<HttpResponse, ConnectorError> {
    let (status, headers, body) = match reply {
        Reply::Answer { status, headers, body } => (status, headers, SdkBody::from(body)),
        Reply::Broken { status, start } => {
            let parts = vec![(Duration::ZERO, Ok(start)), (Duration::ZERO, Err("connection reset"))];
            (status, Vec::new(), SdkBody::from_body_1_x(Parts::new(parts)))
        }
        Reply::SlowBody { status, body, after } => {
            (status, Vec::new(), SdkBody::from_body_1_x(Parts::new(vec![(after, Ok(body))])))
        }
        Reply::Stream { status, parts } => (status, Vec::new(), SdkBody::from_body_1_x(Parts::new(parts))),
        Reply::Reset | Reply::After(..) | Reply::With(..) => return Err(ConnectorError::io("connection reset".into())),
    };
    let mut response = HttpResponse::new(status.try_into().expect("a status"), body);
    for (name, value) in headers.into_iter().chain(extra) {
        response.headers_mut().insert(name, value);
    }
    Ok(response)
}

/// A body whose parts come one by one.
pub(crate) struct Parts {
    parts: std::vec::IntoIter<Part>,
    wait: Option<Waiting>,
}

type Waiting = Mutex<(Pin<Box<tokio::time::Sleep>>, Option<Result<Bytes, &'static str>>)>;

impl Parts {
    pub(crate) fn new(parts: Vec<Part>) -> Self {
        Parts { parts: parts.into_iter(), wait: None }
    }
}

impl http_body::Body for Parts {
    type Data = Bytes;
    type Error = Box<dyn std::error::Error + Send + Sync>;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let this = &mut *self;
        if this.wait.is_none() {
            let Some((delay, part)) = this.parts.next() else { return Poll::Ready(None) };
            this.wait = Some(Mutex::new((Box::pin(tokio::time::sleep(delay)), Some(part))));
        }
        let Some(wait) = &mut this.wait else { return Poll::Ready(None) };
        let (sleep, part) = wait.get_mut().expect("no panic before");
        if std::future::Future::poll(sleep.as_mut(), cx).is_pending() {
            return Poll::Pending;
        }
        let part = part.take();
        this.wait = None;
        Poll::Ready(part.map(|part| part.map(Frame::data).map_err(Into::into)))
    }
}
