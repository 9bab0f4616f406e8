//! Key Vault, whose client takes the body out of a request that is certain to be challenged.

use std::collections::BTreeSet;
use std::sync::Arc;

use azure_core::http::RequestContent;
use azure_core::http::headers::AUTHORIZATION;
use azure_security_keyvault_secrets::SecretClient;
use azure_security_keyvault_secrets::models::{
    RestoreSecretParameters, Secret, SetSecretParameters, UpdateSecretPropertiesParameters,
};
use cloud_governor::{Governor, Scope, catalogue};
use futures_util::StreamExt;

use crate::common::{Ready, client_secret, governor, inspect, redirected, status, totals, totals_of, vault};
use crate::server::{Reply, Server};

/// Thirteen bytes, as the client writes them: `{"value":"x"}`.
const BODY: usize = 13;

fn challenge() -> Reply {
    let challenge =
        r#"Bearer authorization="https://login.microsoftonline.com/tenant-1", resource="https://vault.azure.net""#;
    Reply::new(401, "").header("www-authenticate", challenge)
}

fn secret() -> Reply {
    Reply::new(200, r#"{"value":"x","id":"https://my-vault.vault.azure.net/secrets/name/1"}"#)
}

fn value() -> RequestContent<SetSecretParameters> {
    SetSecretParameters { value: Some("x".to_owned()), ..Default::default() }.try_into().expect("a body")
}

fn client(server: &Server, governor: &Governor) -> SecretClient {
    vault(redirected(server, governor), Arc::new(Ready))
}

async fn set(client: &SecretClient) -> azure_core::Result<Secret> {
    client.set_secret("name", value(), None).await?.into_model()
}

/// The lengths of the bodies that the server saw, and whether each request had a token.
fn bodies(server: &Server) -> Vec<(usize, bool)> {
    server.asked().iter().map(|asked| (asked.body.len(), asked.header(AUTHORIZATION.as_str()).is_some())).collect()
}

#[tokio::test]
async fn the_body_of_a_first_call_survives_a_throttle_and_the_challenge_after_it() {
    let server = Server::script([Reply::new(429, ""), challenge(), secret()]);
    let governor = governor(|azure| azure);
    let client = client(&server, &governor);
    assert_eq!(set(&client).await.expect("set").value.as_deref(), Some("x"));
    assert_eq!(bodies(&server), [(0, false), (0, false), (BODY, true)]);
    // A challenge and what answers it are one attempt.
    assert_eq!((totals(&governor).calls, totals(&governor).retries), (2, 1));
    set(&client).await.expect("set again");
    assert_eq!((bodies(&server)[3], server.count(), totals(&governor).calls), ((BODY, true), 4, 3));
}

#[tokio::test]
async fn the_body_of_a_first_call_survives_whatever_comes_before_and_after_the_challenge() {
    for failure in
        [Reply::new(500, ""), Reply::new(503, ""), Reply::Reset, Reply::new(429, "").header("retry-after", "0")]
    {
        let server =
            Server::script([failure.clone(), failure.clone(), challenge(), failure.clone(), failure, secret()]);
        let governor = governor(|azure| azure);
        set(&client(&server, &governor)).await.expect("set");
        let expected = [(0, false), (0, false), (0, false), (BODY, true), (BODY, true), (BODY, true)];
        assert_eq!(bodies(&server), expected);
        // Two failures, a challenge with its failure, one more failure, and the success.
        assert_eq!(totals(&governor).calls, 5);
    }
}

#[tokio::test]
async fn a_first_call_counts_one_attempt_though_it_is_two_requests() {
    let server = Server::script([challenge(), secret()]);
    let governor = governor(|azure| azure);
    let client = client(&server, &governor);
    for requests in [2, 3, 4] {
        let read = client.get_secret("name", None).await.expect("a secret").into_model().expect("JSON");
        assert_eq!(read.value.as_deref(), Some("x"));
        assert_eq!((server.count(), totals(&governor).calls), (requests, requests as u64 - 1));
    }
    let vault = inspect(&governor, "my-vault", "keyvault");
    assert_eq!((vault.slots_in_use, vault.rate_rps), (0, vault.ceiling_rps));
}

#[tokio::test]
async fn a_challenged_call_that_always_fails_makes_one_request_more_than_attempts() {
    let server = Server::script([challenge(), Reply::new(503, "")]);
    let governor = governor(|azure| azure.max_retries(3));
    let error = set(&client(&server, &governor)).await.expect_err("always");
    assert_eq!(status(&error), Some(503));
    assert_eq!((server.count(), totals(&governor).calls, totals(&governor).gave_up), (5, 4, 1));
}

#[tokio::test]
async fn a_vault_that_challenges_for_ever_is_believed() {
    let server = Server::always(challenge());
    let governor = governor(|azure| azure.max_retries(3));
    let error = set(&client(&server, &governor)).await.expect_err("not authorized");
    assert_eq!((status(&error), server.count(), totals(&governor).calls), (Some(401), 2, 1));
}

#[tokio::test]
async fn a_vault_and_the_identity_it_needs_are_charged_apart() {
    let server = Server::start(|asked, number| match (asked.host.as_str(), number) {
        ("login.microsoftonline.com", 1) => Reply::new(429, r#"{"error":"temporarily_unavailable"}"#),
        ("login.microsoftonline.com", _) => Reply::token(),
        ("my-vault.vault.azure.net", 1) => challenge(),
        ("my-vault.vault.azure.net", _) => secret(),
        _ => Reply::new(404, ""),
    });
    let governor = governor(|azure| azure);
    let credential = client_secret(redirected(&server, &governor));
    set(&vault(redirected(&server, &governor), credential)).await.expect("set");
    assert_eq!(server.counts(), (2, 2));
    let (vault, identity) =
        (totals_of(&governor, "my-vault", "keyvault"), totals_of(&governor, "identity:tenant-1", "identity"));
    assert_eq!((vault.calls, vault.throttled, identity.calls, identity.throttled), (1, 0, 2, 1));
}

/// What is published of Key Vault is published of operations, and would hold for none if the client called them otherwise.
#[tokio::test]
async fn the_operations_that_the_catalogue_names_are_those_of_the_client() {
    let server = Server::always(secret());
    let governor = governor(|azure| azure.service("keyvault", |vault| vault.per_operation(true)));
    let client = client(&server, &governor);
    let update: RequestContent<UpdateSecretPropertiesParameters> =
        UpdateSecretPropertiesParameters::default().try_into().expect("a body");
    let restore: RequestContent<RestoreSecretParameters> =
        RestoreSecretParameters::default().try_into().expect("a body");
    // The answers are a secret's, whatever was asked for: what the calls are called does not hang on them.
    let _ = client.backup_secret("name", None).await;
    let _ = client.delete_secret("name", None).await;
    let _ = client.get_deleted_secret("name", None).await;
    let _ = client.get_secret("name", None).await;
    let _ = client.list_deleted_secret_properties(None).expect("a pager").next().await;
    let _ = client.list_secret_properties(None).expect("a pager").next().await;
    let _ = client.list_secret_properties_versions("name", None).expect("a pager").next().await;
    let _ = client.purge_deleted_secret("name", None).await;
    let _ = client.recover_deleted_secret("name", None).await;
    let _ = client.restore_secret(restore, None).await;
    let _ = client.set_secret("name", value(), None).await;
    let _ = client.update_secret_properties("name", update, None).await;
    let published = catalogue::published().filter(|limit| (limit.provider, limit.service) == ("azure", "keyvault"));
    let named: BTreeSet<_> = published.flat_map(|limit| limit.operations).copied().collect();
    assert_eq!(named.len(), 12);
    for operation in named {
        let scope = Scope::new("azure", "my-vault", "", "keyvault").with_operation(operation);
        assert!(governor.inspect(&scope).is_some(), "{operation}");
    }
}
