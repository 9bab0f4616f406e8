//! The protocols' forms: how a request names its operation, how answers and errors look.

use bytes::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Response, StatusCode};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{Operation, ec2, signature, sts};
use crate::sim::Answer;

/// The header in which a JSON request names its service and operation.
const TARGET: &str = "x-amz-target";

/// What a service speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protocol {
    /// AWS query: a form in, XML out. STS.
    Query,
    /// EC2's own query: a form in, XML of another shape out.
    Ec2,
    /// AWS JSON 1.1. The others.
    Json,
}

impl Protocol {
    pub(super) fn of_service(service: &str) -> Self {
        match service {
            "sts" => Protocol::Query,
            "ec2" => Protocol::Ec2,
            _ => Protocol::Json,
        }
    }

    /// What a request that may be nobody's speaks: its signature says it, else its headers do.
    fn of_request(head: &Parts) -> Self {
        match signature::service(head) {
            Some(service @ ("sts" | "ec2" | "logs" | "ssm" | "secretsmanager")) => Protocol::of_service(service),
            _ if head.headers.contains_key(TARGET) => Protocol::Json,
            _ => Protocol::Query,
        }
    }
}

/// A service's error, in the form it has before it meets a protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Error {
    pub(super) status: StatusCode,
    pub(super) code: &'static str,
    /// Some services answer with the code alone.
    pub(super) message: Option<String>,
}

impl Error {
    /// A 400 with a message.
    pub(super) fn bad_request(code: &'static str, message: impl Into<String>) -> Self {
        Error { status: StatusCode::BAD_REQUEST, code, message: Some(message.into()) }
    }

    /// The service refuses the credentials: those of forms say 403, the JSON services 400.
    fn denied(protocol: Protocol, query: &'static str, json: &'static str, message: impl Into<String>) -> Self {
        match protocol {
            Protocol::Query | Protocol::Ec2 => {
                Error { status: StatusCode::FORBIDDEN, ..Error::bad_request(query, message) }
            }
            Protocol::Json => Error::bad_request(json, message),
        }
    }

    pub(super) fn unsigned(protocol: Protocol) -> Self {
        let message = "Request is missing Authentication Token";
        Error::denied(protocol, "MissingAuthenticationToken", "MissingAuthenticationTokenException", message)
    }

    pub(super) fn incomplete_signature(protocol: Protocol) -> Self {
        let message = "The request signature does not conform to AWS standards.";
        Error::denied(protocol, "IncompleteSignature", "IncompleteSignatureException", message)
    }

    pub(super) fn bad_signature(protocol: Protocol, message: String) -> Self {
        Error::denied(protocol, "SignatureDoesNotMatch", "InvalidSignatureException", message)
    }

    pub(super) fn wrong_region(protocol: Protocol) -> Self {
        Error::bad_signature(protocol, "Credential should be scoped to a valid region.".into())
    }

    pub(super) fn unknown_key(protocol: Protocol) -> Self {
        if protocol == Protocol::Ec2 {
            let message = "AWS was not able to validate the provided access credentials";
            return Error { status: StatusCode::UNAUTHORIZED, ..Error::bad_request("AuthFailure", message) };
        }
        let message = "The security token included in the request is invalid.";
        Error::denied(protocol, "InvalidClientTokenId", "UnrecognizedClientException", message)
    }

    pub(super) fn unknown_operation(protocol: Protocol, name: &str) -> Self {
        match protocol {
            Protocol::Query => {
                let message = format!("Could not find operation {name} for version {}", sts::VERSION);
                Error::bad_request("InvalidAction", message)
            }
            Protocol::Ec2 => {
                let message = format!("The action {name} is not valid for this web service.");
                Error::bad_request("InvalidAction", message)
            }
            Protocol::Json => Error { message: None, ..Error::bad_request("UnknownOperationException", "") },
        }
    }

    pub(super) fn throttled(protocol: Protocol) -> Self {
        match protocol {
            Protocol::Query => Error::bad_request("Throttling", "Rate exceeded"),
            Protocol::Ec2 => Error {
                status: StatusCode::SERVICE_UNAVAILABLE,
                ..Error::bad_request("RequestLimitExceeded", "Request limit exceeded.")
            },
            Protocol::Json => Error::bad_request("ThrottlingException", "Rate exceeded"),
        }
    }

    /// Each service has its own names for its failures.
    pub(super) fn failed(service: &str, status: StatusCode) -> Self {
        let code = match (service, status) {
            ("logs", StatusCode::SERVICE_UNAVAILABLE) => "ServiceUnavailableException",
            ("ec2", StatusCode::SERVICE_UNAVAILABLE) => "Unavailable",
            (_, StatusCode::SERVICE_UNAVAILABLE) => "ServiceUnavailable",
            ("ec2", _) => "InternalError",
            ("ssm", _) => "InternalServerError",
            ("secretsmanager", _) => "InternalServiceError",
            _ => "InternalFailure",
        };
        let message = "The request processing has failed because of an unknown error, exception or failure.";
        Error { status, code, message: Some(message.into()) }
    }

    /// The form of the services' own validators.
    pub(super) fn out_of_range(code: &'static str, member: &str, value: i64, bound: &str) -> Self {
        let message = format!(
            "1 validation error detected: Value '{value}' at '{member}' failed to satisfy constraint: Member must have {bound}"
        );
        Error::bad_request(code, message)
    }
}

/// Writes the answers to one request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wire {
    pub(super) protocol: Protocol,
    pub(super) number: u64,
}

impl Wire {
    /// For a request that may be nobody's.
    pub(super) fn of(head: &Parts, number: u64) -> Self {
        Wire { protocol: Protocol::of_request(head), number }
    }

    /// In the form of a UUID, as the services' own.
    pub(super) fn request_id(self) -> String {
        let Wire { number, .. } = self;
        format!("{:08x}-{:04x}-4000-8000-{number:012x}", number >> 16 & 0xffff_ffff, number & 0xffff)
    }

    /// A JSON answer.
    pub(super) fn json(self, body: &Value) -> Answer {
        self.answer(StatusCode::OK, "application/x-amz-json-1.1", body.to_string())
    }

    /// An XML answer. `document` is the whole of it, request id included.
    pub(super) fn xml(self, document: &impl Serialize) -> Answer {
        self.answer_xml(StatusCode::OK, document)
    }

    /// A service's error.
    pub(super) fn error(self, error: &Error) -> Answer {
        match self.protocol {
            Protocol::Query => self.answer_xml(error.status, &sts::error(error, self.request_id())),
            Protocol::Ec2 => self.answer_xml(error.status, &ec2::error(error, self.request_id())),
            Protocol::Json => {
                let body = match &error.message {
                    Some(message) => json!({ "__type": error.code, "message": message }),
                    None => json!({ "__type": error.code }),
                };
                self.answer(error.status, "application/x-amz-json-1.1", body.to_string())
            }
        }
    }

    /// An XML answer under a root of this name.
    pub(super) fn xml_rooted(self, root: &str, document: &impl Serialize) -> Answer {
        self.written(StatusCode::OK, quick_xml::se::to_string_with_root(root, document))
    }

    fn answer_xml(self, status: StatusCode, document: &impl Serialize) -> Answer {
        self.written(status, quick_xml::se::to_string(document))
    }

    fn written(self, status: StatusCode, document: Result<String, quick_xml::SeError>) -> Answer {
        match document {
            Ok(mut xml) => {
                // No XML can hold them, and a message may quote a request that does.
                xml.retain(|letter| !letter.is_control() && !matches!(letter, '\u{fffe}' | '\u{ffff}'));
                self.answer(status, "text/xml", xml)
            }
            Err(_) => self.answer(StatusCode::INTERNAL_SERVER_ERROR, "text/xml", String::new()),
        }
    }

    fn answer(self, status: StatusCode, content_type: &'static str, body: String) -> Answer {
        let mut answer = Response::new(Bytes::from(body));
        *answer.status_mut() = status;
        let headers = answer.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        if let Ok(id) = HeaderValue::from_str(&self.request_id()) {
            headers.insert("x-amzn-requestid", id);
        }
        answer
    }
}

/// The operation a request names: in `X-Amz-Target` for the JSON services, in the form for the others.
pub(super) fn operation(head: &Parts, body: &[u8], service: &str, protocol: Protocol) -> Result<Operation, Error> {
    let unknown = |name: &str| Error::unknown_operation(protocol, name);
    let name = match protocol {
        Protocol::Query => sts::operation_name(body)?,
        Protocol::Ec2 => ec2::operation_name(body)?,
        Protocol::Json => {
            let target = head.headers.get(TARGET).and_then(|value| value.to_str().ok()).unwrap_or_default();
            let (prefix, name) = target.split_once('.').unwrap_or_default();
            if prefix != target_prefix(service) {
                return Err(unknown(name));
            }
            name.to_owned()
        }
    };
    Operation::find(service, &name).ok_or_else(|| unknown(&name))
}

fn target_prefix(service: &str) -> &'static str {
    match service {
        "logs" => "Logs_20140328",
        "ssm" => "AmazonSSM",
        "secretsmanager" => "secretsmanager",
        _ => "",
    }
}

/// Reads a JSON request. A member that the simulation does not know is refused rather than passed over, so that no
/// answer pretends to have been filtered.
pub(super) fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, Error> {
    serde_json::from_slice(body).map_err(|error| Error::bad_request("SerializationException", error.to_string()))
}

/// The page size asked for, or the service's own.
pub(super) fn page_size(
    code: &'static str,
    member: &str,
    asked: Option<i64>,
    usual: u32,
    most: u32,
) -> Result<u32, Error> {
    let Some(asked) = asked else { return Ok(usual) };
    match u32::try_from(asked) {
        Ok(size) if (1..=most).contains(&size) => Ok(size),
        _ if asked < 1 => Err(Error::out_of_range(code, member, asked, "value greater than or equal to 1")),
        _ => Err(Error::out_of_range(code, member, asked, &format!("value less than or equal to {most}"))),
    }
}
