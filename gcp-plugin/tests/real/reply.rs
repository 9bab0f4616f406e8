//! What a server answers: REST as Google's services say it, and gRPC.

use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use hyper::StatusCode;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use tonic::Code;
use tonic_types::{ErrorDetails, StatusExt};

/// What the server does with one request.
#[derive(Clone, Debug)]
pub(crate) enum Reply {
    Answer(Box<Answer>),
    /// The connection is reset; over HTTP/2 the request's stream is before.
    Reset,
    /// The connection is reset, over HTTP/2 too.
    Broken,
    /// Nothing comes, and the connection stays.
    Silence,
}

#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    pub(crate) trailers: Option<HeaderMap>,
    pub(crate) delay: Duration,
    pub(crate) end: End,
    pub(crate) pace: Pace,
}

/// When the answer's body comes, of a server that takes requests [as they come](crate::server::Server::live).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    /// After the request's last byte, as everywhere.
    AfterAll,
    /// As soon as the request's head is there.
    AtOnce,
    /// The whole of it for each message that comes, until so many came or no more do.
    ForEach { most: usize },
}

/// How an answer's body ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Whole,
    /// The connection closes before half of it is there.
    Cut,
    /// The rest never comes, and the connection stays.
    Stalled,
}

impl Reply {
    pub(crate) fn new(status: u16, body: impl Into<Bytes>) -> Self {
        let status = StatusCode::from_u16(status).expect("a status");
        let headers = HeaderMap::new();
        Reply::Answer(Box::new(Answer {
            status,
            headers,
            body: body.into(),
            trailers: None,
            delay: Duration::ZERO,
            end: End::Whole,
            pace: Pace::AfterAll,
        }))
    }

    pub(crate) fn header(self, name: &'static str, value: impl AsRef<[u8]>) -> Self {
        self.changed(|answer| {
            let value = HeaderValue::from_bytes(value.as_ref()).expect("a value");
            answer.headers.append(HeaderName::from_static(name), value);
        })
    }

    /// With the answer's head held back for a while.
    pub(crate) fn after(self, delay: Duration) -> Self {
        self.changed(|answer| answer.delay = delay)
    }

    pub(crate) fn at_once(self) -> Self {
        self.changed(|answer| answer.pace = Pace::AtOnce)
    }

    /// The answer's body for each of so many messages of the request.
    pub(crate) fn for_each(self, most: usize) -> Self {
        self.changed(|answer| answer.pace = Pace::ForEach { most })
    }

    pub(crate) fn cut(self) -> Self {
        self.changed(|answer| answer.end = End::Cut)
    }

    pub(crate) fn stalled(self) -> Self {
        self.changed(|answer| answer.end = End::Stalled)
    }

    fn changed(mut self, change: impl FnOnce(&mut Answer)) -> Self {
        if let Reply::Answer(answer) = &mut self {
            change(answer);
        }
        self
    }

    // ===== REST =====

    pub(crate) fn ok() -> Self {
        Reply::json("{}")
    }

    pub(crate) fn json(body: impl Into<Bytes>) -> Self {
        Reply::new(200, body).header("content-type", "application/json")
    }

    fn failed(status: u16, body: String) -> Self {
        Reply::new(status, body).header("content-type", "application/json")
    }

    /// An error as the newer services say it, without details.
    pub(crate) fn error(status: u16, code: &str) -> Self {
        Reply::saying(status, code, &format!("{code} it is"))
    }

    pub(crate) fn saying(status: u16, code: &str, message: &str) -> Self {
        Reply::failed(status, format!(r#"{{"error":{{"code":{status},"message":"{message}","status":"{code}"}}}}"#))
    }

    /// A rate quota of the minute that names itself, and whom it counts for.
    pub(crate) fn rate_limited(consumer: &str) -> Self {
        let message = "Quota exceeded for quota metric 'Requests' and limit 'Requests per minute'.";
        Reply::failed(
            429,
            format!(
                r#"{{"error":{{"code":429,"message":"{message}","status":"RESOURCE_EXHAUSTED","details":[{{
                "@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"RATE_LIMIT_EXCEEDED",
                "domain":"googleapis.com","metadata":{{"consumer":"{consumer}","service":"cloudasset.googleapis.com",
                "quota_limit":"RequestsPerMinutePerProject"}}}}]}}}}"#
            ),
        )
    }

    /// A rate quota of the minute that names its limit.
    pub(crate) fn limited(service: &str, limit: &str, value: u64) -> Self {
        Reply::failed(
            429,
            format!(
                r#"{{"error":{{"code":429,"message":"Quota exceeded","status":"RESOURCE_EXHAUSTED","details":[{{
                "@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"RATE_LIMIT_EXCEEDED",
                "domain":"googleapis.com","metadata":{{"service":"{service}.googleapis.com","quota_limit":"{limit}",
                "quota_metric":"{service}.googleapis.com/requests","quota_limit_value":"{value}"}}}}]}}}}"#
            ),
        )
    }

    /// As Compute says that a rate is exceeded, with the wait that it asks for.
    pub(crate) fn legacy(status: u16, reason: &str) -> Self {
        let error = format!(r#"{{"message":"{reason}","domain":"usageLimits","reason":"{reason}"}}"#);
        Reply::failed(
            status,
            format!(r#"{{"error":{{"errors":[{error}],"code":{status},"message":"{reason} it is"}}}}"#),
        )
    }

    // ===== gRPC =====

    /// An answer with one message.
    pub(crate) fn grpc(message: &[u8]) -> Self {
        Reply::messages(message, 1)
    }

    /// An answer with the same message so often.
    pub(crate) fn messages(message: &[u8], count: usize) -> Self {
        let mut frame = BytesMut::with_capacity(message.len() + 5);
        frame.put_u8(0);
        frame.put_u32(u32::try_from(message.len()).expect("a short message"));
        frame.put_slice(message);
        let mut trailers = HeaderMap::new();
        trailers.insert("grpc-status", HeaderValue::from_static("0"));
        Reply::new(200, frame.repeat(count))
            .header("content-type", "application/grpc")
            .changed(|answer| answer.trailers = Some(trailers))
    }

    /// With this status in the trailers.
    pub(crate) fn ending(self, code: Code, details: Option<ErrorDetails>) -> Self {
        self.changed(|answer| answer.trailers = Some(status(code, details)))
    }

    pub(crate) fn trailer(self, name: &'static str, value: &'static str) -> Self {
        self.changed(|answer| {
            let trailers = answer.trailers.get_or_insert_default();
            trailers.insert(name, HeaderValue::from_static(value));
        })
    }

    /// A status in the head: nothing follows.
    pub(crate) fn trailers_only(code: Code, details: Option<ErrorDetails>) -> Self {
        let headers = status(code, details);
        Reply::new(200, "").header("content-type", "application/grpc").changed(|answer| answer.headers.extend(headers))
    }

    /// A status where it belongs if messages came before it.
    pub(crate) fn trailers(code: Code, details: Option<ErrorDetails>) -> Self {
        let trailers = status(code, details);
        Reply::new(200, "")
            .header("content-type", "application/grpc")
            .changed(|answer| answer.trailers = Some(trailers))
    }
}

fn status(code: Code, details: Option<ErrorDetails>) -> HeaderMap {
    let message = format!("{code:?} it is");
    let status = match details {
        Some(details) => tonic::Status::with_error_details(code, message, details),
        None => tonic::Status::new(code, message),
    };
    let mut headers = HeaderMap::new();
    status.add_header(&mut headers).expect("a header");
    headers
}

/// A protobuf message with one field of text.
pub(crate) fn message(field: u8, text: &[u8]) -> Vec<u8> {
    assert!(field < 16 && text.len() < 128, "one byte each");
    let mut message = vec![field << 3 | 2, text.len() as u8];
    message.extend_from_slice(text);
    message
}
