//! Who calls, and which project a call is charged to.

use google_cloud_auth::credentials::{CacheableResource, Credentials, CredentialsProvider, EntityTag};
use google_cloud_gax::error::CredentialsError;
use hyper::StatusCode;
use hyper::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue, InvalidHeaderValue};
use hyper::http::Extensions;
use hyper::http::request::Parts;
use serde_json::{Map, Value};

use super::Fleet;
use super::fleet::{Caller, Project};
use super::operation::Service;
use super::wire::Error;

/// The header that names the project a call is charged to.
const USER_PROJECT: HeaderName = HeaderName::from_static("x-goog-user-project");

// ===== the client's side =====

/// Credentials of a fleet's caller for real clients. Its token never ends.
///
/// `quota_project` is the project that calls are charged to where the API leaves that to the client; the caller's own
/// if there is none.
///
/// # Errors
/// A project that no header can name.
pub fn credentials(caller: &Caller, quota_project: Option<&str>) -> Result<Credentials, InvalidHeaderValue> {
    let mut token = HeaderValue::from_str(&format!("Bearer {}", caller.token()))?;
    token.set_sensitive(true);
    let mut headers = HeaderMap::from_iter([(AUTHORIZATION, token)]);
    if let Some(project) = quota_project {
        headers.insert(USER_PROJECT, HeaderValue::from_str(project)?);
    }
    Ok(Credentials::from(Bearer { headers, tag: EntityTag::new() }))
}

#[derive(Debug)]
struct Bearer {
    headers: HeaderMap,
    tag: EntityTag,
}

impl CredentialsProvider for Bearer {
    async fn headers(&self, extensions: Extensions) -> Result<CacheableResource<HeaderMap>, CredentialsError> {
        Ok(match extensions.get::<EntityTag>() {
            Some(tag) if *tag == self.tag => CacheableResource::NotModified,
            _ => CacheableResource::New { entity_tag: self.tag.clone(), data: self.headers.clone() },
        })
    }

    async fn universe_domain(&self) -> Option<String> {
        None
    }
}

// ===== the server's side =====

/// Refuses a request that does not carry the token of the fleet's caller.
pub(super) fn authenticate(service: Service, fleet: &Fleet, head: &Parts) -> Result<(), Error> {
    let refuse = |message: &str, reason| {
        let metadata = Map::from_iter([("service".to_owned(), Value::from(service.host()))]);
        Error::new(StatusCode::UNAUTHORIZED, message).because(reason, metadata)
    };
    let Some(header) = head.headers.get(AUTHORIZATION) else {
        let message = "Request is missing required authentication credential. Expected OAuth 2 access token, login \
                       cookie or other valid authentication credential.";
        return Err(refuse(message, "CREDENTIALS_MISSING"));
    };
    let shown = header.to_str().ok().and_then(|header| header.strip_prefix("Bearer "));
    if shown != Some(fleet.caller().token()) {
        let message = "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or \
                       other valid authentication credential.";
        return Err(refuse(message, "ACCESS_TOKEN_TYPE_UNSUPPORTED"));
    }
    Ok(())
}

/// The project that a call is charged to where the API leaves that to the client.
pub(super) fn consumer<'a>(service: Service, fleet: &'a Fleet, head: &Parts) -> Result<&'a Project, Error> {
    let Some(header) = head.headers.get(USER_PROJECT) else {
        return fleet.home().ok_or_else(|| Error::forbidden("The caller has no project."));
    };
    let named = header.to_str().unwrap_or_default();
    fleet.project(named).ok_or_else(|| {
        let message = format!(
            "Caller does not have required permission to use project {named}. Grant the caller the \
             roles/serviceusage.serviceUsageConsumer role, or a custom role with the serviceusage.services.use \
             permission."
        );
        let metadata = Map::from_iter([
            ("consumer".to_owned(), Value::from(format!("projects/{named}"))),
            ("service".to_owned(), Value::from(service.host())),
        ]);
        Error::forbidden(message).because("USER_PROJECT_DENIED", metadata)
    })
}
