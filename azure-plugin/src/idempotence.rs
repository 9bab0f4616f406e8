//! Whether a request may be executed twice.
//!
//! The method tells, with the exceptions that the services' own design makes. The measure is what changes, not what the
//! second answer says: a deleted thing that is deleted again is not found, and no less gone. What the service itself undoes
//! after a while is no change.

use azure_core::http::headers::{HeaderName, Headers};
use azure_core::http::{Method, Url};

/// <https://learn.microsoft.com/rest/api/storageservices/append-block>: appends only where the blob is that long.
const APPEND_POSITION: HeaderName = HeaderName::from_static("x-ms-blob-condition-appendpos");
/// Only while the blob is what it was: an append changes its tag.
const IF_MATCH: HeaderName = HeaderName::from_static("if-match");
/// <https://learn.microsoft.com/rest/api/storageservices/set-blob-properties>: `increment` counts a page blob's
/// sequence number up.
const SEQUENCE_NUMBER_ACTION: HeaderName = HeaderName::from_static("x-ms-sequence-number-action");

/// Whether a second execution of a data plane request changes nothing that the first did not.
pub(crate) fn is_idempotent(service: &str, url: &Url, method: Method, headers: &Headers) -> bool {
    if !service.starts_with("storage.") {
        return !matches!(method, Method::Post | Method::Patch);
    }
    let is = |header: &HeaderName, value: &str| {
        headers.get_optional_str(header).is_some_and(|given| given.trim().eq_ignore_ascii_case(value))
    };
    let has = |header: &HeaderName| headers.get_optional_str(header).is_some();
    let comp = query(url, "comp");
    match (method, comp.as_deref()) {
        (Method::Put, Some("appendblock")) => has(&APPEND_POSITION) || (has(&IF_MATCH) && !is(&IF_MATCH, "*")),
        // Each makes a new one: of a blob, and of a file share.
        (Method::Put, Some("snapshot")) => false,
        (Method::Put, Some("properties")) => !is(&SEQUENCE_NUMBER_ACTION, "increment"),
        // Neither stores anything: the key is made from the service's own, the query is a read.
        (Method::Post, Some("userdelegationkey" | "query")) => true,
        // Reading a queue's messages is a GET as well. What an answer took that got lost is hidden until its visibility
        // timeout has passed, as it would be without a second read, and comes back then; a reader that stops at the first
        // failure leaves work undone.
        (method, _) => !matches!(method, Method::Post | Method::Patch),
    }
}

/// A parameter of the query, in lower case.
fn query(url: &Url, name: &str) -> Option<String> {
    url.query_pairs().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.to_ascii_lowercase())
}

#[cfg(test)]
mod tests;
