//! Google's JSON APIs, called by reqwest.

mod storage;

use std::borrow::Cow;

use cloud_governor::middleware::{ByHost, GovernorMiddleware, HttpTarget};
use cloud_governor::{Facts, Scope, ToldLimit};
use reqwest::Request;

use crate::facts::payload;
use crate::options::GcpOptions;
use crate::requests::{RequestHead, Requests, decoded};
use crate::seen::Seen;
use crate::services;
use crate::target::{COLLECTIONS, PROVIDER};
use storage::StorageCall;

/// Governs the HTTP clients of Google's JSON APIs: gcloud-storage, and whatever else calls them by reqwest.
///
/// ```
/// use cloud_governor_gcp::{GcpOptions, http_middleware};
/// use gcloud_storage::client::{Client, ClientConfig};
/// use reqwest_middleware::ClientBuilder;
///
/// # fn demo(config: ClientConfig) {
/// let options = GcpOptions::new().account("projects/my-project");
/// let http = ClientBuilder::new(reqwest::Client::new()).with(http_middleware(options)).build();
/// // `config` is `ClientConfig::default().with_auth().await?`; the default alone has no credentials, and panics for one.
/// let storage = Client::new(ClientConfig { http: Some(http), ..config });
/// # let _ = storage;
/// # }
/// ```
///
/// See [the crate's documentation](crate#clients-on-reqwest) for what becomes of their calls. A client that calls others
/// than Google too is better governed by [`GovernorMiddleware::by_host`].
pub fn http_middleware(options: GcpOptions) -> GovernorMiddleware<GoogleJson> {
    let requests = Requests::new(options);
    let resilience = requests.resilience();
    GovernorMiddleware::new(GoogleJson { requests }, resilience)
}

/// What the requests of Google's JSON APIs are charged to, and what is known of them: see [`http_middleware`].
#[derive(Debug)]
pub struct GoogleJson {
    requests: Requests,
}

impl HttpTarget for GoogleJson {
    fn scope(&self, request: &Request) -> Scope {
        let url = request.url();
        let (host, path, query) = (url.host_str(), url.path(), url.query());
        let storage = StorageCall::of(request.method(), path);
        let resource = match &storage {
            // A bucket may be called anything, and nothing but a list of them names a project.
            Some(call) if call.is_about_buckets() => project_of(query),
            _ => resource_of(path),
        };
        let seen = Seen {
            service: service_of(host, path, storage.is_some()),
            rpc: storage.and_then(|call| call.operation()),
            resource,
            ..Seen::default()
        };
        let head = RequestHead { method: request.method(), host, path, query, headers: request.headers() };
        self.requests.scope(&head, seen)
    }

    fn idempotent(&self, request: &Request) -> Option<bool> {
        if self.requests.resend_any {
            return Some(true);
        }
        let url = request.url();
        let storage = StorageCall::of(request.method(), url.path());
        let known = storage.and_then(|call| call.is_repeatable(url.query()));
        // Else as of any HTTP request.
        known.or_else(|| ByHost.idempotent(request))
    }

    fn looks_into_bodies(&self) -> bool {
        true
    }

    fn told<'a>(&self, scope: &Scope, facts: Facts<'a>, body: &[u8]) -> (Facts<'a>, Option<ToldLimit>) {
        if body.is_empty() {
            return (facts, None);
        }
        let told = payload::read(body, facts.provider(PROVIDER));
        let limit = self.requests.heard(scope, &told);
        (told.facts, limit)
    }
}

/// Hosts that serve several APIs: `www.googleapis.com/compute/v1/..`.
const SHARED_HOSTS: [&str; 2] = ["content", "www"];

/// What stands before the API in such a path.
const BEFORE_API: [&str; 4] = ["batch", "download", "resumable", "upload"];

/// By the host; of an emulator's, and where several APIs share one, by the path.
fn service_of<'a>(host: Option<&'a str>, path: &'a str, is_storage: bool) -> &'a str {
    match host.and_then(services::of_google_host) {
        Some(shared) if SHARED_HOSTS.contains(&shared) => {
            let mut parts = path.split('/').skip(1).skip_while(|part| BEFORE_API.contains(part));
            parts.next().filter(|part| services::is_label(part)).unwrap_or_default()
        }
        Some(service) => service,
        None if is_storage => "storage",
        None => "",
    }
}

/// The first `projects/p` and the like in a path. The last part may have a verb behind it: `projects/p:search`.
fn resource_of(path: &str) -> Option<Cow<'static, str>> {
    let mut parts = path.split('/');
    let collection = parts.find(|part| COLLECTIONS.contains(part))?;
    let id = parts.next()?;
    let id = if parts.next().is_none() { without_verb(id) } else { id };
    decoded(id).map(|id| Cow::Owned(format!("{collection}/{id}")))
}

/// The oldest projects have a domain before their names: `example.com:p`.
fn without_verb(id: &str) -> &str {
    match id.rsplit_once(':') {
        Some((name, _)) if name.contains(':') || !name.contains('.') => name,
        _ => id,
    }
}

/// The project that a query names.
fn project_of(query: Option<&str>) -> Option<Cow<'static, str>> {
    let value = parameters(query).find(|(name, _)| *name == "project")?.1;
    decoded(value).map(|project| Cow::Owned(format!("projects/{project}")))
}

/// The parameters of a query with their values, as they are sent.
fn parameters(query: Option<&str>) -> impl Iterator<Item = (&str, &str)> {
    query.unwrap_or_default().split('&').filter_map(|parameter| parameter.split_once('='))
}

#[cfg(test)]
mod tests;
