//! The SDK's own retry loop, where a client crate leaves it on.

use std::sync::Arc;
use std::time::Duration;

use azure_core::credentials::TokenCredential;
use azure_core::error::ErrorKind;
use azure_core::http::{ClientOptions, ExponentialRetryOptions, FixedRetryOptions, RetryOptions};
use azure_identity::{ManagedIdentityCredential, ManagedIdentityCredentialOptions};
use cloud_governor_azure::governed;

use crate::common::{Client, Reply, Server, by, code, governor, seconds, status, totals};

fn looped(server: &Server, governor: &cloud_governor::Governor) -> ClientOptions {
    let retry = RetryOptions::exponential(ExponentialRetryOptions::default());
    ClientOptions { retry, ..governed(server.options(), by(governor)) }
}

#[tokio::test(start_paused = true)]
async fn the_wire_sees_max_retries_and_one_requests_with_the_sdks_retry_left_on() {
    let statuses = [408, 429, 500, 502, 503, 504].map(|status| Reply::new(status, ""));
    for reply in statuses.into_iter().chain([Reply::Reset, Reply::Refused, Reply::new(404, "")]) {
        let retries = if matches!(reply, Reply::Answer { status: 404, .. }) { 0 } else { 3 };
        let server = Server::always(reply);
        let governor = governor(|azure| azure.max_retries(3));
        Client::new(looped(&server, &governor)).get().await.expect_err("fails for ever");
        assert_eq!(server.count(), retries + 1);
        assert_eq!(totals(&governor).calls, u64::try_from(retries + 1).expect("few"));
    }
}

#[tokio::test(start_paused = true)]
async fn the_caller_of_a_client_whose_retry_is_left_on_gets_the_true_outcome() {
    let server = Server::always(Reply::coded(503, "ServerBusy"));
    let none = governor(|azure| azure.max_retries(0));
    let error = Client::new(looped(&server, &none)).get().await.expect_err("busy");
    assert_eq!((status(&error), code(&error)), (Some(503), Some("ServerBusy")));
    let broken = Server::always(Reply::Reset);
    let error = Client::new(looped(&broken, &none)).get().await.expect_err("broken");
    assert_eq!((error.kind(), error.to_string().as_str()), (&ErrorKind::Io, "the connection was reset"));
}

#[tokio::test(start_paused = true)]
async fn a_late_answer_is_one_attempt_with_the_sdks_retry_left_on() {
    let server = Server::always(Reply::ok().after(seconds(60)));
    let governor = governor(|azure| azure.max_retries(2).attempt_timeout(seconds(5)));
    let fixed = RetryOptions::fixed(FixedRetryOptions::default());
    let client = Client::new(ClientOptions { retry: fixed, ..looped(&server, &governor) });
    client.get().await.expect_err("always late");
    assert_eq!(server.count(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_success_passes_through_the_sdks_loop() {
    let server = Server::script([Reply::new(503, ""), Reply::ok()]);
    let governor = governor(|azure| azure);
    let answer = Client::new(looped(&server, &governor)).get().await.expect("the second");
    assert_eq!(&answer.body()[..], b"content");
    assert_eq!(server.count(), 2);
}

/// A virtual machine's credential replaces whatever retry options it is given.
fn managed_identity(options: ClientOptions) -> Arc<dyn TokenCredential> {
    let options = ManagedIdentityCredentialOptions { client_options: options, ..Default::default() };
    ManagedIdentityCredential::new(Some(options)).expect("no environment says otherwise")
}

#[tokio::test(start_paused = true)]
async fn a_virtual_machines_identity_is_asked_max_retries_and_one_times() {
    let server = Server::always(Reply::new(500, "no"));
    let governor = governor(|azure| azure.max_retries(2));
    let credential = managed_identity(governed(server.options(), by(&governor)));
    let began = tokio::time::Instant::now();
    credential.get_token(&["https://storage.azure.com/.default"], None).await.expect_err("down");
    assert_eq!(server.count(), 3);
    assert!(began.elapsed() < Duration::from_millis(1000), "the credential's own loop waits 1.34 s at least");
}

#[tokio::test(start_paused = true)]
async fn a_virtual_machines_identity_that_is_being_updated_is_asked_again() {
    for updating in [404, 410] {
        let body = r#"{"access_token":"tokenPRIVATE","expires_on":"4102444800","resource":"r","token_type":"Bearer"}"#;
        let server = Server::script([Reply::new(updating, ""), Reply::new(200, body)]);
        let governor = governor(|azure| azure);
        let credential = managed_identity(governed(server.options(), by(&governor)));
        credential.get_token(&["https://storage.azure.com/.default"], None).await.expect("the second");
        assert_eq!(server.count(), 2);
    }
}
