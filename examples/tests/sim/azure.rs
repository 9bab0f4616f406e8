//! The simulated Azure, by way of a real client and a real credential.
//!
//! Where time matters it is paused, and the SDK's clients go over an HTTP client that has no timers of its own: else a
//! paused clock would leap to the timeouts of its connections.

mod governed;
mod identity;
mod lists;
mod throttling;
mod wire;

use std::sync::Arc;

use async_trait::async_trait;
use azure_core::credentials::{Secret, TokenCredential};
use azure_core::error::ErrorKind;
use azure_core::http::headers::Headers;
use azure_core::http::{AsyncRawResponse, Body, ClientOptions, HttpClient, RawResponse, Request, RetryOptions};
use azure_identity::{ClientSecretCredential, ClientSecretCredentialOptions};
use bytes::Bytes;
use cloud_governor_examples::arm::ArmClient;
use cloud_governor_examples::sim::azure::{Azure, Fleet, FleetSize, Limits, Principal, transport_over};
use cloud_governor_examples::sim::{Counts, Server};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;

const ARM: &str = "https://management.azure.com";

struct Site {
    azure: Arc<Azure>,
    server: Server,
    http: Arc<Plain>,
}

/// More of everything than fits a page, of two principals.
fn size() -> FleetSize {
    FleetSize {
        subscriptions: 2,
        principals: 2,
        resource_groups: 101..=120,
        virtual_networks: 201..=230,
        subnets: 0..=3,
        virtual_machines: 301..=330,
    }
}

async fn start(limits: Limits) -> Site {
    start_with(limits, &size()).await
}

async fn start_with(limits: Limits, size: &FleetSize) -> Site {
    let azure = Arc::new(Azure::new(Fleet::seeded(11, size).expect("a possible size"), limits));
    let server = Server::start(azure.clone(), 5).await.expect("a free port");
    Site { azure, server, http: Arc::new(Plain(Client::builder(TokioExecutor::new()).build_http())) }
}

impl Site {
    fn fleet(&self) -> &Fleet {
        self.azure.fleet()
    }

    fn principal(&self, index: usize) -> &Principal {
        &self.fleet().principals()[index]
    }

    fn subscription(&self, index: usize) -> &str {
        &self.fleet().subscriptions()[index].id
    }

    /// Options of a client that asks once.
    fn options(&self) -> ClientOptions {
        let transport = transport_over(&self.server, self.http.clone());
        ClientOptions { transport: Some(transport), retry: RetryOptions::none(), ..ClientOptions::default() }
    }

    fn credential_of(&self, tenant: &str, client: &str, secret: &str) -> Arc<dyn TokenCredential> {
        let options = ClientSecretCredentialOptions { client_options: self.options() };
        let secret = Secret::new(secret.to_owned());
        ClientSecretCredential::new(tenant, client.to_owned(), secret, Some(options)).expect("a credential")
    }

    fn credential(&self, principal: usize) -> Arc<dyn TokenCredential> {
        let principal = self.principal(principal);
        self.credential_of(self.fleet().tenant(), principal.client_id(), principal.secret())
    }

    fn client(&self, principal: usize) -> ArmClient {
        ArmClient::new(self.credential(principal), self.options(), ARM).expect("a client")
    }

    fn counts(&self, action: &str) -> Counts {
        self.server.truth().snapshot().actions.get(action).copied().unwrap_or_default()
    }
}

/// An HTTP client of the plainest kind.
#[derive(Debug)]
struct Plain(Client<HttpConnector, Full<Bytes>>);

#[async_trait]
impl HttpClient for Plain {
    async fn execute_request(&self, request: &Request) -> azure_core::Result<AsyncRawResponse> {
        let Body::Bytes(body) = request.body() else { panic!("no client here streams its body") };
        let mut sent = hyper::Request::builder().method(request.method().as_str()).uri(request.url().as_str());
        for (name, value) in request.headers().iter() {
            sent = sent.header(name.as_str(), value.as_str());
        }
        let sent = sent.body(Full::new(body.clone())).expect("a request");
        let failed = |error: &dyn std::error::Error| azure_core::Error::with_message(ErrorKind::Io, error.to_string());
        let (head, body) = self.0.request(sent).await.map_err(|error| failed(&error))?.into_parts();
        let mut headers = Headers::new();
        for (name, value) in &head.headers {
            headers.insert(name.as_str().to_owned(), value.to_str().expect("text").to_owned());
        }
        let body = body.collect().await.map_err(|error| failed(&error))?.to_bytes();
        Ok(AsyncRawResponse::from_bytes(head.status.as_u16().into(), headers, body))
    }
}

/// What a call got.
struct Answered {
    status: u16,
    code: String,
    answer: RawResponse,
}

impl Answered {
    fn failure(error: &azure_core::Error) -> Self {
        let ErrorKind::HttpResponse { status, error_code, raw_response } = error.kind() else {
            panic!("not an answer: {error:?}")
        };
        Answered {
            status: (*status).into(),
            code: error_code.clone().unwrap_or_default(),
            answer: raw_response.as_deref().expect("an answer").clone(),
        }
    }

    fn header(&self, name: &'static str) -> Option<&str> {
        self.answer.headers().get_optional_str(&name.into())
    }

    fn json(&self) -> serde_json::Value {
        serde_json::from_slice(self.answer.body()).expect("JSON")
    }
}
