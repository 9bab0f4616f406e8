//! Generated clients of Google's gRPC APIs, on tonic 0.14 and 0.12.

mod rpcs;

use std::borrow::Cow;

use cloud_governor::grpc::{GrpcLayer, GrpcTarget};
use cloud_governor::{Facts, Scope, ToldLimit};
use http::request::Parts;

use crate::facts::Told;
use crate::options::GcpOptions;
use crate::requests::{RequestHead, Requests, decoded};
use crate::seen::Seen;
use crate::services;
use crate::target::resource_account;

/// The header that names the resource of a request, so that it finds its way ("Client libraries: routing headers", AIP-4222):
/// `topic=projects/p/topics/t`, several joined by `&`, values percent-encoded or not.
const ROUTING: &str = "x-goog-request-params";

/// The longest names of services and methods that are taken for one; Google's longest have some 80 characters.
const LONGEST_NAME: usize = 128;

/// Governs channels to Google's APIs, for generated clients: those of gcloud-googleapis on tonic 0.14, those of
/// google-cloud-googleapis on tonic 0.12, and whatever else a build script generates from Google's definitions.
///
/// ```
/// use cloud_governor_gcp::{GcpOptions, grpc_layer};
/// use gcloud_googleapis::pubsub::v1::publisher_client::PublisherClient;
/// use tower::ServiceBuilder;
///
/// # fn demo(channel: gcloud_gax::conn::Channel) {
/// let layer = grpc_layer(GcpOptions::new().account("projects/my-project"));
/// let publisher = PublisherClient::new(ServiceBuilder::new().layer(layer).service(channel));
/// # let _ = publisher;
/// # }
/// ```
///
/// See [the crate's documentation](crate#clients-on-tonic) for what becomes of their calls.
pub fn grpc_layer(options: GcpOptions) -> GrpcLayer<GoogleRpcs> {
    let requests = Requests::new(options);
    let resilience = requests.resilience();
    GrpcLayer::new(GoogleRpcs { requests }, resilience)
}

/// What the RPCs of Google's services are charged to, and what is known of them: see [`grpc_layer`].
#[derive(Debug)]
pub struct GoogleRpcs {
    requests: Requests,
}

impl GrpcTarget for GoogleRpcs {
    fn scope(&self, request: &Parts) -> Scope {
        let host = request.uri.host();
        let rpc = Rpc::of(request);
        let by_package = rpc.as_ref().and_then(|rpc| services::of_rpc(rpc.name));
        let service = by_package.or_else(|| host.and_then(services::of_google_host).map(Cow::Borrowed));
        let seen = Seen {
            service: service.as_deref().unwrap_or_default(),
            rpc: rpc.map(|rpc| rpc.name),
            resource: resource_of(request),
            ..Seen::default()
        };
        let head = RequestHead {
            method: &request.method,
            host,
            path: request.uri.path(),
            query: request.uri.query(),
            headers: &request.headers,
        };
        self.requests.scope(&head, seen)
    }

    fn idempotent(&self, request: &Parts) -> Option<bool> {
        let known = |rpc: Rpc<'_>| rpcs::is_repeatable(rpc.service, rpc.method);
        Some(self.requests.resend_any || Rpc::of(request).is_some_and(known))
    }

    fn is_unary(&self, request: &Parts) -> bool {
        Rpc::of(request).is_some_and(|rpc| rpcs::is_unary(rpc.service, rpc.method))
    }

    fn told<'a>(&self, scope: &Scope, _: Facts<'a>, status: &'a tonic::Status) -> (Facts<'a>, Option<ToldLimit>) {
        let told = Told::of_status(status);
        let limit = self.requests.heard(scope, &told);
        (told.facts, limit)
    }
}

/// What the path of a request names.
struct Rpc<'a> {
    /// `package.Service/Method`.
    name: &'a str,
    service: &'a str,
    method: &'a str,
}

impl<'a> Rpc<'a> {
    fn of(request: &'a Parts) -> Option<Self> {
        let name = request.uri.path().strip_prefix('/')?;
        let (service, method) = name.split_once('/')?;
        let is_name = |text: &str, more: &[u8]| {
            let is_part = |byte: u8| byte.is_ascii_alphanumeric() || more.contains(&byte);
            !text.is_empty() && text.len() <= LONGEST_NAME && text.bytes().all(is_part)
        };
        (is_name(service, b"_.") && is_name(method, b"_")).then_some(Rpc { name, service, method })
    }
}

/// The resource that a request is routed by, if its project is known from it.
fn resource_of(request: &Parts) -> Option<Cow<'static, str>> {
    let texts = request.headers.get_all(ROUTING).iter().filter_map(|params| params.to_str().ok());
    let mut values = texts.flat_map(|params| params.split('&')).filter_map(|param| decoded(param.split_once('=')?.1));
    values.find_map(|value| resource_account(&value).map(|account| Cow::Owned(account.to_owned())))
}

#[cfg(test)]
mod tests;
