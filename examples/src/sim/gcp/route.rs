//! What a request asks for: its operation, by method and path, and the parts of its query.

use std::borrow::Cow;

use hyper::Method;
use hyper::header::RANGE;
use hyper::http::request::Parts;
use percent_encoding::percent_decode_str;

use super::operation::{Operation, Service};
use super::wire::Error;

/// What the simulated Google Cloud reads of a request besides where it lands.
#[derive(Clone, Debug)]
pub struct Ask {
    pub(super) operation: Operation,
    pub(super) place: Place,
    /// The query, unread as yet.
    pub(super) query: String,
    /// Which bytes are asked for, if not all.
    pub(super) range: Option<String>,
}

/// What a path names. Parts that it does not name are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    /// The project, folder or organization, with its collection: `projects/p`.
    pub(super) parent: String,
    /// The zone.
    pub(super) zone: String,
    /// The storage bucket.
    pub(super) bucket: String,
    /// The instance or object.
    pub(super) name: String,
}

impl Ask {
    /// What method and path say; `None` if they name no operation there is.
    pub(super) fn of(head: &Parts) -> Option<Self> {
        let (operation, place) = route(&head.method, head.uri.path())?;
        let query = head.uri.query().unwrap_or_default().to_owned();
        let range = head.headers.get(RANGE).and_then(|range| range.to_str().ok()).map(str::to_owned);
        Some(Ask { operation, place, query, range })
    }
}

/// The service whose paths begin like this one; the newest kind if none does.
pub(super) fn service(path: &str) -> Service {
    match path.split('/').nth(1) {
        Some("compute") => Service::Compute,
        Some("storage") => Service::Storage,
        _ => Service::CloudAsset,
    }
}

fn route(method: &Method, path: &str) -> Option<(Operation, Place)> {
    if method != Method::GET {
        return None;
    }
    let segments: Vec<_> = path.split('/').skip(1).map(decoded).collect::<Option<_>>()?;
    let segments: Vec<_> = segments.iter().map(AsRef::as_ref).collect();
    let place = |parent: String| Place { parent, ..Place::default() };
    Some(match segments.as_slice() {
        ["v1", kind, id, "assets"] => (Operation::ListAssets, place(format!("{kind}/{id}"))),
        ["v1", kind, id] => {
            let id = id.strip_suffix(":searchAllResources")?;
            (Operation::SearchAllResources, place(format!("{kind}/{id}")))
        }
        ["compute", "v1", "projects", project, rest @ ..] => {
            let place = place(format!("projects/{project}"));
            match *rest {
                ["aggregated", "instances"] => (Operation::AggregatedListInstances, place),
                ["zones", zone, "instances"] => (Operation::ListInstances, Place { zone: zone.to_owned(), ..place }),
                ["zones", zone, "instances", name] => {
                    (Operation::GetInstance, Place { zone: zone.to_owned(), name: name.to_owned(), ..place })
                }
                _ => return None,
            }
        }
        ["storage", "v1", "b", bucket, "o", object] => {
            let (bucket, name) = ((*bucket).to_owned(), (*object).to_owned());
            (Operation::GetObject, Place { bucket, name, ..Place::default() })
        }
        _ => return None,
    })
}

fn decoded(segment: &str) -> Option<Cow<'_, str>> {
    percent_decode_str(segment).decode_utf8().ok()
}

/// A query, as far as the operations know it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Query {
    pub(super) asset_types: Vec<String>,
    pub(super) with_resource: bool,
    /// The most rows of a page; `None` for as many as the service likes.
    pub(super) page_size: Option<u32>,
    pub(super) page_token: Option<String>,
    /// Whether an object's bytes are asked for, and not what is known of it.
    pub(super) media: bool,
}

impl Query {
    /// Reads the query of this operation.
    pub(super) fn of(operation: Operation, text: &str) -> Result<Self, Error> {
        let mut query = Query::default();
        for (name, value) in form_urlencoded::parse(text.as_bytes()) {
            let value = value.into_owned();
            match (operation.service(), name.as_ref()) {
                (_, "$alt" | "$apiVersion") => {}
                (Service::Storage, "alt") => query.media = value == "media",
                // There is one generation of each object, which is the one a reader has begun with.
                (Service::Storage, "generation") => {}
                (Service::CloudAsset, "assetTypes") => query.asset_types.push(value),
                (Service::CloudAsset, "contentType") if operation == Operation::ListAssets => {
                    query.with_resource = content(&value)?;
                }
                (Service::CloudAsset, "pageSize") => query.page_size = size(&name, &value)?,
                (Service::Compute, "maxResults") => query.page_size = size(&name, &value)?,
                (Service::CloudAsset | Service::Compute, "pageToken") => {
                    query.page_token = Some(value).filter(|token| !token.is_empty());
                }
                // Not passed over, so that no answer pretends to have been filtered.
                _ if !value.is_empty() => {
                    return Err(Error::bad_request(format!("The query parameter '{name}' is not supported here.")));
                }
                _ => {}
            }
        }
        Ok(query)
    }
}

fn content(value: &str) -> Result<bool, Error> {
    match value {
        "" | "0" | "CONTENT_TYPE_UNSPECIFIED" => Ok(false),
        "1" | "RESOURCE" => Ok(true),
        _ => Err(Error::bad_request(format!("The content type '{value}' is not supported here."))),
    }
}

fn size(name: &str, value: &str) -> Result<Option<u32>, Error> {
    let size: i64 = value.parse().map_err(|_| Error::bad_request(format!("Invalid value '{value}' for {name}.")))?;
    Ok(u32::try_from(size).ok().filter(|size| *size > 0))
}

#[cfg(test)]
mod tests;
