//! What a request or an answer says about itself, for code that has no types to ask.
//!
//! At the HTTP client there is neither an operation nor an error type, only heads and bodies. Requests name their
//! service in the user agent and, depending on the protocol, their operation in a header, in the path or in the form.
//! Answers name their error in a header or in a small body of JSON, XML or CBOR.

use std::borrow::Cow;

use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_runtime_api::http::Headers;
use cloud_governor::Facts;
use quick_xml::Reader;
use quick_xml::events::Event;

use crate::names::service_name;

// ===== requests =====

/// What a request tells of the operation that it belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seen {
    /// The SDK's id of the operation, the same for all its attempts.
    pub(crate) invocation_id: Option<String>,
    /// Which attempt this is, from 1.
    pub(crate) attempt: u32,
    /// After how many the SDK's loop ends.
    pub(crate) max_attempts: u32,
    /// Botocore's name of the service; `None` for a request of no service client (instance metadata).
    pub(crate) service: Option<Cow<'static, str>>,
    /// The operation, where the protocol shows it.
    pub(crate) operation: Option<String>,
    /// Whether the request carries a signature.
    pub(crate) signed: bool,
    /// The region that it was signed for.
    pub(crate) signing_region: Option<String>,
    /// Whether there is a body to send.
    pub(crate) has_body: bool,
    /// Whether an error may come with status 200.
    pub(crate) may_fail_with_200: bool,
}

impl Seen {
    pub(crate) fn of(request: &HttpRequest) -> Self {
        let headers = request.headers();
        let (attempt, max_attempts) = attempts(headers.get("amz-sdk-request").unwrap_or_default());
        let service = service(headers);
        let operation = operation(request);
        Seen {
            invocation_id: headers.get("amz-sdk-invocation-id").map(str::to_owned),
            attempt,
            max_attempts,
            may_fail_with_200: service.as_deref() == Some("s3") && s3_may_fail_with_200(request),
            service,
            operation,
            signed: headers.contains_key("authorization"),
            signing_region: headers.get("authorization").and_then(signing_region),
            has_body: request.body().content_length() != Some(0),
        }
    }
}

/// `attempt=2; max=9`, as the SDK's `RequestInfoInterceptor` writes it.
fn attempts(header: &str) -> (u32, u32) {
    let field = |name: &str| {
        let mut fields = header.split(';').filter_map(|field| field.trim().split_once('='));
        fields.find(|(key, _)| *key == name).and_then(|(_, value)| value.parse().ok())
    };
    (field("attempt").unwrap_or(1), field("max").unwrap_or(u32::MAX))
}

/// `api/<module>/<version>` in either of the SDK's two user agent headers.
fn service(headers: &Headers) -> Option<Cow<'static, str>> {
    ["x-amz-user-agent", "user-agent"].into_iter().filter_map(|name| headers.get(name)).find_map(|agent| {
        let module = agent.split_ascii_whitespace().find_map(|part| part.strip_prefix("api/"))?;
        module.split('/').next().filter(|module| !module.is_empty()).map(service_name)
    })
}

fn operation(request: &HttpRequest) -> Option<String> {
    let by_target = request.headers().get("x-amz-target").and_then(|target| target.rsplit('.').next());
    let by_path = || {
        // rpc-v2-cbor: /service/<name>/operation/<name>
        let (_, operation) = path(request.uri()).split_once("/operation/")?;
        Some(operation).filter(|_| request.headers().contains_key("smithy-protocol"))
    };
    let by_form = || {
        let form = std::str::from_utf8(request.body().bytes()?).ok()?;
        form.split('&').find_map(|field| field.strip_prefix("Action="))
    };
    let name = by_target.or_else(by_path).or_else(by_form)?;
    let sound = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    sound.then(|| name.to_owned())
}

/// `AWS4-HMAC-SHA256 Credential=<key>/<date>/<region>/<service>/aws4_request, ..`
fn signing_region(authorization: &str) -> Option<String> {
    let (_, credential) = authorization.split_once("Credential=")?;
    let scope = credential.split([',', ' ']).next()?;
    let mut parts = scope.rsplit('/');
    let region = parts.nth(2).filter(|region| !region.is_empty())?;
    parts.next().is_some().then(|| region.to_owned())
}

/// S3's CopyObject, UploadPartCopy and CompleteMultipartUpload send their head before they are done ("Copy requests can
/// return an error with 200 OK", Amazon S3 API Reference, CopyObject).
fn s3_may_fail_with_200(request: &HttpRequest) -> bool {
    let query = request.uri().split_once('?').map_or("", |(_, query)| query);
    let completes = request.method() == "POST" && query.split('&').any(|field| field.starts_with("uploadId="));
    completes || request.headers().contains_key("x-amz-copy-source")
}

fn path(uri: &str) -> &str {
    let rest = uri.split_once("://").map_or(uri, |(_, rest)| rest);
    rest.split(['?', '#']).next().unwrap_or(rest)
}

// ===== answers =====

/// An error as far as its answer names it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Named {
    /// The code, as sent.
    pub(crate) code: Option<String>,
    /// The message.
    pub(crate) message: Option<String>,
}

impl Named {
    /// From an answer's head and the first part of its body.
    pub(crate) fn of(headers: &Headers, body: &[u8]) -> Self {
        // The query-compatible code comes first: it is the one that the typed error carries too.
        let by_head = headers.get("x-amzn-query-error").or_else(|| headers.get("x-amzn-errortype"));
        let mut named = in_body(headers, body);
        if let Some(code) = by_head {
            named.code = Some(code.to_owned());
        }
        named
    }

    /// These facts, with what the head says besides.
    pub(crate) fn facts<'a>(&'a self, status: u16, headers: &'a Headers) -> Facts<'a> {
        let mut facts = Facts::new().status(status);
        if let Some(code) = &self.code {
            facts = facts.code(code.as_str());
        }
        if let Some(message) = &self.message {
            facts = facts.message(message.as_str());
        }
        facts.headers(headers.iter_bytes())
    }

    /// The code without its namespace, its link and its fault.
    pub(crate) fn bare_code(&self) -> Option<&str> {
        let code = self.code.as_deref()?.split([':', ';']).next()?;
        Some(code.rsplit('#').next().unwrap_or(code).trim()).filter(|code| !code.is_empty())
    }
}

fn in_body(headers: &Headers, body: &[u8]) -> Named {
    if headers.get("content-type").is_some_and(|kind| kind.starts_with("application/cbor")) {
        return in_cbor(body);
    }
    match body.iter().find(|byte| !byte.is_ascii_whitespace()) {
        Some(b'{') => in_json(body),
        Some(b'<') => in_xml(body),
        _ => Named::default(),
    }
}

fn in_json(body: &[u8]) -> Named {
    let Ok(serde_json::Value::Object(fields)) = serde_json::from_slice(body) else { return Named::default() };
    let text = |names: &[&str]| names.iter().find_map(|name| fields.get(*name)?.as_str()).map(str::to_owned);
    Named { code: text(&["__type", "code", "Code"]), message: text(&["message", "Message", "errorMessage"]) }
}

/// The first `Code` and the first `Message`, wherever they stand: S3, EC2 and the query protocol nest them differently.
fn in_xml(body: &[u8]) -> Named {
    let text = String::from_utf8_lossy(body);
    let mut reader = Reader::from_str(&text);
    let mut named = Named::default();
    while named.code.is_none() || named.message.is_none() {
        let field = match reader.read_event() {
            Ok(Event::Start(element)) => match element.local_name().as_ref() {
                "Code" if named.code.is_none() => &mut named.code,
                "Message" if named.message.is_none() => &mut named.message,
                _ => continue,
            },
            Ok(Event::Eof) | Err(_) => break,
            Ok(_) => continue,
        };
        if let Ok(Event::Text(words)) = reader.read_event() {
            *field = Some((*words).to_owned());
        }
    }
    named
}

/// rpc-v2-cbor: a map that holds the text `__type`.
fn in_cbor(body: &[u8]) -> Named {
    let mut named = Named::default();
    // A body cut off, or no map at all, names what was read before it went wrong.
    let _cut_short = read_cbor(body, &mut named);
    named
}

fn read_cbor(body: &[u8], named: &mut Named) -> Result<(), minicbor::decode::Error> {
    let mut decoder = minicbor::Decoder::new(body);
    let entries = decoder.map()?;
    for _ in 0..entries.unwrap_or(u64::MAX) {
        if entries.is_none() && decoder.datatype()? == minicbor::data::Type::Break {
            break;
        }
        let field = match decoder.str()? {
            "__type" => &mut named.code,
            "message" | "Message" => &mut named.message,
            _ => {
                decoder.skip()?;
                continue;
            }
        };
        *field = Some(decoder.str()?.to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests;
