//! Governors, and the SDK's clients and credentials under them.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use azure_core::credentials::{AccessToken, Secret, TokenCredential, TokenRequestOptions};
use azure_core::error::{Error, ErrorKind};
use azure_core::http::{
    AsyncRawResponse, ClientMethodOptions, ClientOptions, Context, HttpClient, Request, Transport, Url, new_http_client,
};
use azure_core::time::OffsetDateTime;
use azure_identity::{ClientSecretCredential, ClientSecretCredentialOptions};
use azure_security_keyvault_secrets::{SecretClient, SecretClientOptions};
use azure_storage_blob::{BlobClient, BlobClientOptions, BlobContainerClient, BlobContainerClientOptions};
use azure_storage_queue::{QueueClient, QueueClientOptions};
use cloud_governor::{Config, FakeClock, Governor, Inspection, LawName, ProviderBuilder, Scope, Totals};
use cloud_governor_azure::{AzureOptions, CallOptions, governed};

use crate::server::Server;

pub(crate) const TENANT: &str = "tenant-1";

pub(crate) const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

pub(crate) const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

// ===== governors =====

/// A governor with fast retries and plenty of rate, changed by `set`.
pub(crate) fn governor(set: impl FnOnce(ProviderBuilder) -> ProviderBuilder) -> Governor {
    Governor::builder().config(config(set)).build()
}

/// The same by a clock that moves when it is told to. Connections do not wait for it.
pub(crate) fn timed(clock: &FakeClock, set: impl FnOnce(ProviderBuilder) -> ProviderBuilder) -> Governor {
    Governor::builder().config(config(set)).clock(clock.clone()).build()
}

fn config(set: impl FnOnce(ProviderBuilder) -> ProviderBuilder) -> Config {
    let config = Config::builder().provider("azure", |azure| {
        // What is pinned of rates here is whose they are, for which plain halving is enough.
        let azure = azure.law(LawName::Aimd).max_rps(100_000.0);
        set(azure.base_delay(millis(1)).max_backoff(millis(2)).deadline(seconds(20)))
    });
    config.build().expect("a sound configuration")
}

pub(crate) fn totals(governor: &Governor) -> Totals {
    governor.summary().totals
}

/// The totals of the one scope with these parts.
pub(crate) fn totals_of(governor: &Governor, account: &str, service: &str) -> Totals {
    let scope = Scope::new("azure", account, "", service);
    governor.summary().scopes.get(&scope).copied().unwrap_or_default()
}

/// The state of the account `acct` at blob storage.
pub(crate) fn blobs(governor: &Governor) -> Inspection {
    inspect(governor, "acct", "storage.blob")
}

pub(crate) fn inspect(governor: &Governor, account: &str, service: &str) -> Inspection {
    governor.inspect(&Scope::new("azure", account, "", service)).expect("a leaf that was called")
}

/// Waits until this holds: what another thread is about to do has no other sign.
pub(crate) async fn until(what: &str, holds: impl Fn() -> bool) {
    for _ in 0..2000 {
        if holds() {
            return;
        }
        tokio::time::sleep(millis(1)).await;
    }
    panic!("never came: {what}");
}

// ===== options =====

pub(crate) fn by(governor: &Governor) -> AzureOptions {
    AzureOptions::new().account("sub-1").governor(governor.clone())
}

/// Options for clients of plain http.
pub(crate) fn options(governor: &Governor) -> ClientOptions {
    governed(ClientOptions::default(), by(governor))
}

/// Options for a client whose URL is one of Azure's own.
pub(crate) fn redirected(server: &Server, governor: &Governor) -> ClientOptions {
    governed(plain(server), by(governor))
}

/// The same without a governor.
pub(crate) fn plain(server: &Server) -> ClientOptions {
    let transport = Redirect { client: new_http_client(None), to: server.address() };
    ClientOptions { transport: Some(Transport::new(Arc::new(transport))), ..Default::default() }
}

/// Sends every request to one address over http, with the host that it was meant for.
#[derive(Debug)]
struct Redirect {
    client: Arc<dyn HttpClient>,
    to: SocketAddr,
}

#[async_trait]
impl HttpClient for Redirect {
    async fn execute_request(&self, request: &Request) -> azure_core::Result<AsyncRawResponse> {
        let mut request = request.clone();
        let host = request.url().host_str().expect("a host").to_owned();
        request.insert_header("host", host);
        let url = request.url_mut();
        let is_moved = url.set_scheme("http").and_then(|()| url.set_ip_host(self.to.ip())).is_ok()
            && url.set_port(Some(self.to.port())).is_ok();
        assert!(is_moved, "a URL with a host");
        self.client.execute_request(&request).await
    }
}

pub(crate) fn context(options: CallOptions) -> ClientMethodOptions<'static> {
    ClientMethodOptions { context: Context::new().with_value(options) }
}

// ===== clients =====

pub(crate) fn blob(url: Url, client_options: ClientOptions) -> BlobClient {
    BlobClient::new(url, None, Some(BlobClientOptions { client_options, ..Default::default() })).expect("a client")
}

/// A governed client for one blob of the account `acct`.
pub(crate) fn blob_at(server: &Server, governor: &Governor) -> BlobClient {
    blob(server.url("acct/container/blob"), options(governor))
}

/// One that needs a token.
pub(crate) fn authorized_blob(client_options: ClientOptions, credential: Arc<dyn TokenCredential>) -> BlobClient {
    let url = Url::parse("https://acct.blob.core.windows.net/container/blob").expect("a URL");
    let options = BlobClientOptions { client_options, ..Default::default() };
    BlobClient::new(url, Some(credential), Some(options)).expect("a client")
}

pub(crate) fn container(url: Url, client_options: ClientOptions) -> BlobContainerClient {
    let options = BlobContainerClientOptions { client_options, ..Default::default() };
    BlobContainerClient::new(url, None, Some(options)).expect("a client")
}

pub(crate) fn queue(url: Url, client_options: ClientOptions) -> QueueClient {
    QueueClient::new(url, None, Some(QueueClientOptions { client_options, ..Default::default() })).expect("a client")
}

pub(crate) fn queue_at(server: &Server, governor: &Governor) -> QueueClient {
    queue(server.url("acct/jobs"), options(governor))
}

/// A client of the vault `my-vault`.
pub(crate) fn vault(client_options: ClientOptions, credential: Arc<dyn TokenCredential>) -> SecretClient {
    let options = SecretClientOptions { client_options, ..Default::default() };
    SecretClient::new("https://my-vault.vault.azure.net", credential, Some(options)).expect("a client")
}

// ===== credentials =====

pub(crate) fn client_secret(client_options: ClientOptions) -> Arc<dyn TokenCredential> {
    let options = ClientSecretCredentialOptions { client_options };
    let secret = Secret::new("secret");
    ClientSecretCredential::new(TENANT, "client".to_owned(), secret, Some(options)).expect("a credential")
}

/// Has a token at once.
#[derive(Debug)]
pub(crate) struct Ready;

#[async_trait]
impl TokenCredential for Ready {
    async fn get_token(&self, _: &[&str], _: Option<TokenRequestOptions<'_>>) -> azure_core::Result<AccessToken> {
        Ok(AccessToken::new("token", OffsetDateTime::now_utc() + Duration::from_secs(3600)))
    }
}

// ===== errors =====

pub(crate) fn status(error: &Error) -> Option<u16> {
    error.http_status().map(u16::from)
}

/// The error code that the SDK found in an answer.
pub(crate) fn code(error: &Error) -> Option<&str> {
    match error.kind() {
        ErrorKind::HttpResponse { error_code, .. } => error_code.as_deref(),
        _ => None,
    }
}
