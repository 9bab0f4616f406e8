//! Servers that always fail: how many requests one call makes.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use azure_core::credentials::TokenCredential;
use azure_core::error::ErrorKind;
use azure_core::http::{
    ClientOptions, Context, ExponentialRetryOptions, FixedRetryOptions, Method, Pipeline, Request, RequestContent,
    RetryOptions,
};
use azure_core::time::Duration;
use azure_identity::{
    ClientAssertionCredentialOptions, ManagedIdentityCredential, ManagedIdentityCredentialOptions,
    WorkloadIdentityCredential, WorkloadIdentityCredentialOptions,
};
use azure_security_keyvault_secrets::models::SetSecretParameters;
use azure_storage_queue::models::QueueMessage;
use cloud_governor::Governor;
use futures_util::TryStreamExt;

use crate::common::{
    Ready, blob_at, client_secret, container, governor, options, queue_at, redirected, status, totals, vault,
};
use crate::server::{Reply, Server};

type Call = Pin<Box<dyn Future<Output = azure_core::Result<()>> + Send>>;

const SCOPE: &[&str] = &["https://storage.azure.com/.default"];
const CALLS: usize = 12;

/// One call of each kind that may be made twice, of each client and credential.
fn call(number: usize, server: &Server, governor: &Governor) -> (&'static str, Call) {
    let secrets = vault(redirected(server, governor), Arc::new(Ready));
    let (blob, queue) = (blob_at(server, governor), queue_at(server, governor));
    match number {
        0 => ("a blob's properties", Box::pin(async move { blob.get_properties(None).await.map(drop) })),
        1 => ("a download", Box::pin(async move { blob.download(None).await.map(drop) })),
        2 => {
            let content = RequestContent::from(b"content".to_vec());
            ("an upload", Box::pin(async move { blob.upload(content, None).await.map(drop) }))
        }
        3 => {
            let container = container(server.url("acct/container"), options(governor));
            ("a list", Box::pin(async move { container.list_blobs(None)?.try_next().await.map(drop) }))
        }
        4 => ("peeking", Box::pin(async move { queue.peek_messages(None).await.map(drop) })),
        5 => ("receiving", Box::pin(async move { queue.receive_messages(None).await.map(drop) })),
        6 => ("deleting", Box::pin(async move { queue.delete_message("id", "receipt", None).await.map(drop) })),
        7 => ("a secret read", Box::pin(async move { secrets.get_secret("name", None).await.map(drop) })),
        8 => {
            let value = SetSecretParameters { value: Some("x".to_owned()), ..Default::default() };
            let value = value.try_into().expect("a body");
            ("a secret set", Box::pin(async move { secrets.set_secret("name", value, None).await.map(drop) }))
        }
        9 => ("a client secret", token(client_secret(redirected(server, governor)))),
        10 => ("a managed identity", token(managed_identity(redirected(server, governor)))),
        11 => ("a workload identity", token(workload_identity(redirected(server, governor)))),
        _ => unreachable!("there are {CALLS}"),
    }
}

fn token(credential: Arc<dyn TokenCredential>) -> Call {
    Box::pin(async move { credential.get_token(SCOPE, None).await.map(drop) })
}

/// That of a virtual machine, since the environment names no other.
fn managed_identity(client_options: ClientOptions) -> Arc<dyn TokenCredential> {
    let options = ManagedIdentityCredentialOptions { client_options, ..Default::default() };
    ManagedIdentityCredential::new(Some(options)).expect("a credential")
}

fn workload_identity(client_options: ClientOptions) -> Arc<dyn TokenCredential> {
    let options = WorkloadIdentityCredentialOptions {
        credential_options: ClientAssertionCredentialOptions { client_options },
        client_id: Some("client".to_owned()),
        tenant_id: Some("tenant-1".to_owned()),
        // What it says does not matter to the server.
        token_file_path: Some(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml").into()),
    };
    WorkloadIdentityCredential::new(Some(options)).expect("a credential")
}

/// As every service here says it: Storage by the header, Key Vault and Entra ID in the body.
fn failure(status: u16, code: &'static str) -> Reply {
    let body = format!(r#"{{"error":"{code}","error_description":"no","error_codes":[50196]}}"#);
    Reply::new(status, body).header("x-ms-error-code", code)
}

async fn check(reply: Reply, expected: Option<u16>) {
    for number in 0..CALLS {
        for retries in [0, 3] {
            let server = Server::always(reply.clone());
            let governor = governor(|azure| azure.max_retries(retries));
            let (name, call) = call(number, &server, &governor);
            let error = call.await.expect_err(name);
            let is_credential = *error.kind() == ErrorKind::Credential;
            assert!(status(&error) == expected || is_credential, "{name}: {error:?}");
            let sent = u64::from(retries) + 1;
            let totals = totals(&governor);
            assert_eq!((server.count() as u64, totals.calls, totals.gave_up), (sent, sent, 1), "{name}");
        }
    }
}

#[tokio::test]
async fn a_call_that_is_always_throttled_is_sent_once_and_for_each_retry() {
    check(failure(429, "TooManyRequests"), Some(429)).await;
    check(failure(503, "ServerBusy"), Some(503)).await;
}

#[tokio::test]
async fn a_call_that_always_fails_is_sent_once_and_for_each_retry() {
    check(failure(500, "InternalError"), Some(500)).await;
}

#[tokio::test]
async fn a_call_whose_connection_is_always_reset_is_sent_once_and_for_each_retry() {
    check(Reply::Reset, None).await;
}

#[tokio::test]
async fn a_write_that_may_not_be_made_twice_is_sent_again_after_a_throttle_alone() {
    for (reply, sent) in [
        (failure(429, "TooManyRequests"), 4),
        (failure(503, "ServerBusy"), 4),
        (failure(503, "ServiceUnavailable"), 1),
        (failure(500, "InternalError"), 1),
        (Reply::Reset, 1),
    ] {
        let server = Server::always(reply.clone());
        let governor = governor(|azure| azure.max_retries(3));
        let message = QueueMessage { message_text: Some("job".to_owned()) };
        let sending = queue_at(&server, &governor).send_message(message.try_into().expect("a body"), None).await;
        sending.map(drop).expect_err("always");
        assert_eq!(server.count(), sent, "{reply:?}");
    }
}

/// A crate that does not heed the retry options it was given, as that of virtual machines' identities does not.
#[tokio::test]
async fn a_retry_of_the_pipelines_own_under_ours_gets_nothing_to_retry() {
    let fixed = FixedRetryOptions { delay: Duration::milliseconds(1), max_retries: 5, ..Default::default() };
    for retry in [RetryOptions::exponential(ExponentialRetryOptions::default()), RetryOptions::fixed(fixed)] {
        for reply in [failure(429, "TooManyRequests"), failure(500, "InternalError"), Reply::Reset] {
            let server = Server::always(reply.clone());
            let governor = governor(|azure| azure.max_retries(3));
            let own = ClientOptions { retry: retry.clone(), ..options(&governor) };
            let pipeline = Pipeline::new(Some("own"), Some("0"), own, Vec::new(), Vec::new(), None);
            let mut request = Request::new(server.url("acct/container/blob"), Method::Get);
            pipeline.send(&Context::new(), &mut request, None).await.map(drop).expect_err("always");
            assert_eq!((server.count(), totals(&governor).calls), (4, 4), "{reply:?}");
        }
    }
}
