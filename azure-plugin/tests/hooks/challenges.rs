//! Key Vault's client: it sends its first request without a token and without its body, to be told where to get one, and
//! one attempt is two sends.

use azure_core::error::ErrorKind;
use azure_core::http::{Body, ClientOptions, RetryOptions};
use azure_security_keyvault_secrets::{SecretClient, SecretClientOptions};
use cloud_governor::{BreakerState, Governor, Inspection, Scope};
use cloud_governor_azure::governed;

use crate::common::{Reply, Seen, Server, by, credential, governor, seconds, totals};

const SET: &str = r#"{"value":"v"}"#;

fn challenge() -> Reply {
    let ask = r#"Bearer authorization="https://login.microsoftonline.com/t", resource="https://vault.azure.net""#;
    Reply::new(401, "").header("www-authenticate", ask)
}

/// Asks everyone without a token for one, unless `first` says otherwise of the first of all.
fn vault(first: Option<Reply>, tokens: Vec<Reply>, replies: Vec<Reply>) -> Server {
    let with_token = std::sync::atomic::AtomicUsize::new(0);
    Server::new(move |seen, number| {
        let in_turn = |replies: &[Reply], number: usize| replies[number.min(replies.len() - 1)].clone();
        match (&first, seen.is_for_token()) {
            (_, true) => in_turn(&tokens, number - 1),
            (Some(first), false) if number == 1 => first.clone(),
            _ if seen.header("authorization").is_none() => challenge(),
            _ => in_turn(&replies, with_token.fetch_add(1, std::sync::atomic::Ordering::Relaxed)),
        }
    })
}

fn client(server: &Server, governor: &Governor, is_governed: bool) -> SecretClient {
    let client_options = governed(server.options(), by(governor));
    let plain = ClientOptions { retry: RetryOptions::none(), ..server.options() };
    let credential = credential(if is_governed { client_options.clone() } else { plain });
    let options = SecretClientOptions { client_options, ..Default::default() };
    SecretClient::new("https://safe.vault.azure.net", credential, Some(options)).expect("a sound endpoint")
}

async fn set(client: &SecretClient) -> azure_core::Result<()> {
    client.set_secret("s", Body::from(SET).into(), None).await.map(drop)
}

fn leaf(governor: &Governor) -> Inspection {
    governor.inspect(&Scope::new("azure", "safe", "", "keyvault")).expect("a leaf that was called")
}

fn stored() -> Reply {
    Reply::new(200, r#"{"value":"v","id":"https://safe.vault.azure.net/secrets/s/1"}"#)
}

/// The bodies that the vault got, and not the tokens' host.
fn bodies(server: &Server) -> Vec<String> {
    let to_vault = server.requests().into_iter().filter(|seen: &Seen| !seen.is_for_token());
    to_vault.map(|seen| String::from_utf8_lossy(&seen.body).into_owned()).collect()
}

#[tokio::test(start_paused = true)]
async fn a_challenge_is_answered_within_one_attempt() {
    let server = vault(None, vec![Reply::token()], vec![stored()]);
    let governor = governor(|azure| azure);
    set(&client(&server, &governor, true)).await.expect("stored");
    assert_eq!(bodies(&server), ["", SET]);
    assert_eq!((totals(&governor).calls, totals(&governor).retries), (2, 0), "one of the vault, one of identity");
}

#[tokio::test(start_paused = true)]
async fn a_challenge_reaches_its_policy_with_the_sdks_retry_left_on() {
    let server = vault(None, vec![Reply::token()], vec![Reply::new(503, ""), stored()]);
    let governor = governor(|azure| azure);
    let client_options = ClientOptions { retry: RetryOptions::default(), ..governed(server.options(), by(&governor)) };
    let credential = credential(governed(server.options(), by(&governor)));
    let options = SecretClientOptions { client_options, ..Default::default() };
    let client = SecretClient::new("https://safe.vault.azure.net", credential, Some(options)).expect("sound");
    set(&client).await.expect("stored");
    assert_eq!(bodies(&server), ["", SET, SET]);
}

#[tokio::test(start_paused = true)]
async fn the_body_is_sent_after_a_failure_of_the_send_without_it() {
    for first in [Reply::new(429, ""), Reply::new(503, ""), Reply::Reset] {
        let server = vault(Some(first), vec![Reply::token()], vec![stored()]);
        let governor = governor(|azure| azure);
        set(&client(&server, &governor, true)).await.expect("stored");
        assert_eq!(bodies(&server), ["", "", SET]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_failure_after_the_challenge_is_retried_with_the_token_that_is_known() {
    let server = vault(None, vec![Reply::token()], vec![Reply::new(429, ""), stored()]);
    let governor = governor(|azure| azure);
    set(&client(&server, &governor, true)).await.expect("stored");
    assert_eq!(bodies(&server), ["", SET, SET]);
}

#[tokio::test(start_paused = true)]
async fn a_token_that_does_not_come_after_a_challenge_is_identitys_failure() {
    for is_governed in [true, false] {
        let refused = Reply::new(503, r#"{"error":"e","error_description":"d","error_codes":[1]}"#);
        let server = vault(None, vec![refused], vec![stored()]);
        let governor = governor(|azure| azure.max_retries(2).breaker_failures(1));
        let error = set(&client(&server, &governor, is_governed)).await.expect_err("no token");
        assert_eq!(*error.kind(), ErrorKind::Credential);
        assert_eq!(server.counts().0, 3);
        let leaf = leaf(&governor);
        assert_eq!((leaf.breaker, leaf.slots_in_use, leaf.rate_rps), (BreakerState::Closed, 0, leaf.ceiling_rps));
    }
}

#[tokio::test(start_paused = true)]
async fn a_challenge_that_leads_elsewhere_is_the_callers_and_shows_that_the_service_is_there() {
    let elsewhere = r#"Bearer authorization="https://login.microsoftonline.com/t", resource="https://evil.example""#;
    let down = Reply::new(500, "");
    let server = Server::script([down, Reply::new(401, "").header("www-authenticate", elsewhere)]);
    let governor = governor(|azure| azure.max_retries(0).breaker_failures(1).breaker_cooldown(seconds(30)));
    let client = client(&server, &governor, true);
    set(&client).await.expect_err("opens");
    tokio::time::sleep(seconds(31)).await;
    let error = set(&client).await.expect_err("not this vault's");
    assert!(error.to_string().contains("doesn't match"), "{error}");
    assert_eq!((server.count(), leaf(&governor).breaker), (2, BreakerState::Closed));
}
