//! What a request says about itself, for code that has no types to ask.
//!
//! At the HTTP client there is no operation, only a head and a body. Requests name their service in the user agent and,
//! depending on the protocol, their operation in a header, in the path or in the form.

use std::borrow::Cow;

use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_runtime_api::http::Headers;

use crate::names::service_name;

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
    /// Whether the answer's body is a stream that the caller reads when the operation is over.
    pub(crate) is_download: bool,
    /// Whether an error may come with status 200.
    pub(crate) may_fail_with_200: bool,
}

impl Seen {
    pub(crate) fn of(request: &HttpRequest) -> Self {
        let headers = request.headers();
        let (attempt, max_attempts) = attempts(headers.get("amz-sdk-request").unwrap_or_default());
        let service = service(headers);
        let operation = operation(request);
        let is_s3 = service.as_deref() == Some("s3");
        let is_download = is_s3 && s3_streams_its_answer(request);
        Seen {
            invocation_id: headers.get("amz-sdk-invocation-id").map(str::to_owned),
            attempt,
            max_attempts,
            is_download,
            may_fail_with_200: is_s3 && !is_download,
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
        // Anything else that is uploaded may be long, and is nobody's business.
        request.headers().get("content-type").filter(|kind| kind.starts_with("application/x-www-form-urlencoded"))?;
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

/// The S3 operations whose answer is content of the caller's: GetObject, GetObjectAnnotation, GetObjectTorrent and
/// SelectObjectContent. Of all others the SDK takes a body that is an `Error` for one, whatever the status: S3 sends the head
/// of some before they are done ("Copy requests can return an error with 200 OK", Amazon S3 API Reference, CopyObject).
fn s3_streams_its_answer(request: &HttpRequest) -> bool {
    let query = request.uri().split_once('?').map_or("", |(_, query)| query);
    query.split('&').any(|field| {
        matches!(field, "x-id=GetObject" | "x-id=GetObjectAnnotation" | "torrent" | "torrent=" | "select-type=2")
    })
}

fn path(uri: &str) -> &str {
    let rest = uri.split_once("://").map_or(uri, |(_, rest)| rest);
    rest.split(['?', '#']).next().unwrap_or(rest)
}

#[cfg(test)]
mod tests;
