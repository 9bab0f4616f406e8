//! How answers and errors look.

use bytes::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue, WWW_AUTHENTICATE};
use hyper::{Response, StatusCode};
use serde_json::{Map, Value, json};

use super::operation::Service;
use crate::sim::Answer;

/// Whose errors those are that every Google API has in common.
pub(super) const GOOGLE: &str = "googleapis.com";

/// An error of a service, without the envelope, which the older services have otherwise than the newer.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Error {
    pub(super) status: StatusCode,
    pub(super) message: String,
    /// Why, in the words of the older services, and whose words they are.
    pub(super) legacy: (&'static str, &'static str),
    /// What the newer services tell besides.
    pub(super) details: Vec<Value>,
}

impl Error {
    pub(super) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        let legacy = match status {
            StatusCode::BAD_REQUEST => ("global", "invalid"),
            StatusCode::UNAUTHORIZED => ("global", "required"),
            StatusCode::FORBIDDEN => ("global", "forbidden"),
            StatusCode::NOT_FOUND => ("global", "notFound"),
            StatusCode::TOO_MANY_REQUESTS => ("usageLimits", "rateLimitExceeded"),
            StatusCode::INTERNAL_SERVER_ERROR => ("global", "internalError"),
            _ => ("global", "backendError"),
        };
        Error { status, message: message.into(), legacy, details: Vec::new() }
    }

    pub(super) fn bad_request(message: impl Into<String>) -> Self {
        Error::new(StatusCode::BAD_REQUEST, message)
    }

    pub(super) fn not_found(message: impl Into<String>) -> Self {
        Error::new(StatusCode::NOT_FOUND, message)
    }

    pub(super) fn forbidden(message: impl Into<String>) -> Self {
        Error::new(StatusCode::FORBIDDEN, message)
    }

    /// A service's own failure.
    pub(super) fn failed(status: StatusCode) -> Self {
        let message = match status {
            StatusCode::TOO_MANY_REQUESTS => "Resource has been exhausted (e.g. check quota).",
            StatusCode::INTERNAL_SERVER_ERROR => "Internal error encountered.",
            StatusCode::SERVICE_UNAVAILABLE => "The service is currently unavailable.",
            StatusCode::GATEWAY_TIMEOUT => "Deadline expired before operation could complete.",
            _ => "The request failed.",
        };
        Error::new(status, message)
    }

    /// With the reason that Google's APIs have in common, and what goes with it.
    pub(super) fn because(mut self, reason: &str, metadata: Map<String, Value>) -> Self {
        self.details.push(json!({
            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
            "reason": reason,
            "domain": GOOGLE,
            "metadata": metadata,
        }));
        self
    }
}

/// The canonical code of a status, as far as there is one.
fn code(status: StatusCode) -> Option<&'static str> {
    Some(match status {
        StatusCode::BAD_REQUEST => "INVALID_ARGUMENT",
        StatusCode::UNAUTHORIZED => "UNAUTHENTICATED",
        StatusCode::FORBIDDEN => "PERMISSION_DENIED",
        StatusCode::NOT_FOUND => "NOT_FOUND",
        StatusCode::CONFLICT => "ABORTED",
        StatusCode::TOO_MANY_REQUESTS => "RESOURCE_EXHAUSTED",
        StatusCode::INTERNAL_SERVER_ERROR => "INTERNAL",
        StatusCode::NOT_IMPLEMENTED => "UNIMPLEMENTED",
        StatusCode::SERVICE_UNAVAILABLE => "UNAVAILABLE",
        StatusCode::GATEWAY_TIMEOUT => "DEADLINE_EXCEEDED",
        _ => return None,
    })
}

/// An error in the service's form. The older services name no canonical code, and tell why in `errors`.
pub(super) fn error(service: Service, error: &Error) -> Answer {
    let Error { status, message, legacy: (domain, reason), details } = error;
    let mut body =
        Map::from_iter([("code".to_owned(), status.as_u16().into()), ("message".to_owned(), message[..].into())]);
    match service {
        Service::CloudAsset => {
            body.extend(code(*status).map(|code| ("status".to_owned(), code.into())));
            if !details.is_empty() {
                body.insert("details".to_owned(), details[..].into());
            }
        }
        Service::Compute | Service::Storage => {
            let errors = json!([{ "message": message, "domain": domain, "reason": reason }]);
            body.insert("errors".to_owned(), errors);
        }
    }
    let mut answer = json(*status, &json!({ "error": body }));
    if *status == StatusCode::UNAUTHORIZED {
        let challenge = HeaderValue::from_static("Bearer realm=\"https://accounts.google.com/\"");
        answer.headers_mut().insert(WWW_AUTHENTICATE, challenge);
    }
    answer
}

/// An answer in JSON.
pub(super) fn json(status: StatusCode, body: &Value) -> Answer {
    bytes(status, "application/json; charset=UTF-8", body.to_string().into())
}

/// An answer of any kind.
pub(super) fn bytes(status: StatusCode, kind: &'static str, body: Bytes) -> Answer {
    let mut answer = Response::new(body);
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    answer
}

/// Sets a header. None of these values is one that a header cannot have.
pub(super) fn set(answer: &mut Answer, name: &'static str, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        answer.headers_mut().insert(HeaderName::from_static(name), value);
    }
}
