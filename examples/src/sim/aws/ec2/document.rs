//! The XML around the resources: whole answers, lists, errors.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::sim::aws::wire::Error;

const NAMESPACE: &str = "http://ec2.amazonaws.com/doc/2016-11-15/";

/// An answer, but for the name of its root.
pub(super) struct Document<T> {
    request_id: String,
    set: &'static str,
    rows: List<T>,
    next: Option<String>,
}

impl<T> Document<T> {
    pub(super) fn new(request_id: String, set: &'static str, rows: Vec<T>, next: Option<String>) -> Self {
        Document { request_id, set, rows: rows.into(), next }
    }
}

impl<T: Serialize> Serialize for Document<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut document = serializer.serialize_map(None)?;
        document.serialize_entry("@xmlns", NAMESPACE)?;
        document.serialize_entry("requestId", &self.request_id)?;
        document.serialize_entry(self.set, &self.rows)?;
        if let Some(next) = &self.next {
            document.serialize_entry("nextToken", next)?;
        }
        document.end()
    }
}

/// A list: an element of `item`s.
#[derive(Serialize)]
pub(super) struct List<T> {
    item: Vec<T>,
}

impl<T> From<Vec<T>> for List<T> {
    fn from(item: Vec<T>) -> Self {
        List { item }
    }
}

#[derive(Serialize)]
#[serde(rename = "Response", rename_all = "PascalCase")]
pub(in crate::sim::aws) struct ErrorDocument {
    errors: Errors,
    #[serde(rename = "RequestID")]
    request_id: String,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Errors {
    error: ErrorBody,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct ErrorBody {
    code: &'static str,
    message: String,
}

/// Any error.
pub(in crate::sim::aws) fn error(error: &Error, request_id: String) -> ErrorDocument {
    let message = error.message.clone().unwrap_or_default();
    ErrorDocument { errors: Errors { error: ErrorBody { code: error.code, message } }, request_id }
}
