//! Credentials that fail: whose failure it is, and who retries it.

use std::num::NonZeroUsize;
use std::sync::Arc;

use azure_core::credentials::{AccessToken, TokenCredential, TokenRequestOptions};
use azure_core::error::{Error, ErrorKind};
use azure_core::http::{ClientOptions, RetryOptions};
use cloud_governor::{BreakerState, Governor, RefusalKind, RetryPolicy};
use cloud_governor_azure::{CallOptions, governed, refusal};

use crate::common::{Client, Reply, Server, by, credential, governor, identity, identity_of, seconds, service, totals};

/// As Entra ID names its errors.
fn refused(status: u16) -> Reply {
    Reply::new(status, r#"{"error":"e","error_description":"d","error_codes":[50196]}"#)
}

fn with_governed_credential(server: &Server, governor: &Governor) -> Client {
    let credential = credential(governed(server.options(), by(governor)));
    Client::authorized(governed(server.options(), by(governor)), credential)
}

/// Its own retry is off, so that each of its failures is one request.
fn with_plain_credential(server: &Server, governor: &Governor) -> Client {
    let credential = credential(ClientOptions { retry: RetryOptions::none(), ..server.options() });
    Client::authorized(governed(server.options(), by(governor)), credential)
}

#[tokio::test(start_paused = true)]
async fn a_token_is_fetched_once_and_used_again() {
    let server = Server::with_tokens([Reply::token()], [Reply::ok()]);
    let governor = governor(|azure| azure);
    let client = with_governed_credential(&server, &governor);
    for _ in 0..3 {
        client.get().await.expect("an answer");
    }
    assert_eq!(server.counts(), (1, 3));
    assert_eq!(totals(&governor).calls, 4);
}

#[tokio::test(start_paused = true)]
async fn a_governed_credentials_failures_are_retried_there_and_nowhere_else() {
    for status in [429, 500] {
        let server = Server::with_tokens([refused(status)], [Reply::ok()]);
        let governor = governor(|azure| azure.max_retries(2).breaker_failures(1));
        let error = with_governed_credential(&server, &governor).get().await.expect_err("no token");
        assert_eq!(*error.kind(), ErrorKind::Credential);
        assert_eq!(server.counts(), (3, 0));
        assert_eq!(identity(&governor).breaker, BreakerState::Open);
        assert_eq!(service(&governor).breaker, BreakerState::Closed);
        assert_eq!(service(&governor).rate_rps, service(&governor).ceiling_rps);
    }
}

#[tokio::test(start_paused = true)]
async fn a_plain_credentials_failures_are_charged_to_identity_and_retried_by_its_call() {
    for status in [429, 500] {
        let server = Server::with_tokens([refused(status)], [Reply::ok()]);
        let governor = governor(|azure| azure.max_retries(2).breaker_failures(1));
        let error = with_plain_credential(&server, &governor).get().await.expect_err("no token");
        assert_eq!(*error.kind(), ErrorKind::Credential);
        assert_eq!(server.counts(), (3, 0));
        assert_eq!(identity_of(&governor, "sub-1").breaker, BreakerState::Open);
        assert_eq!(service(&governor).breaker, BreakerState::Closed);
        assert_eq!((service(&governor).rate_rps, service(&governor).slots_in_use), (service(&governor).ceiling_rps, 0));
        let totals = totals(&governor);
        assert_eq!((totals.operations, totals.calls, totals.retries, totals.gave_up), (2, 3, 2, 1), "identity's own");
    }
}

#[tokio::test(start_paused = true)]
async fn either_credentials_passing_failure_costs_the_caller_nothing() {
    for client in [with_governed_credential, with_plain_credential] {
        let server = Server::with_tokens([refused(429), refused(503), Reply::token()], [Reply::ok()]);
        let governor = governor(|azure| azure);
        client(&server, &governor).get().await.expect("an answer");
        assert_eq!(server.counts(), (3, 1));
        let totals = totals(&governor);
        assert_eq!((totals.calls, totals.retries, totals.gave_up), (4, 2, 0));
        assert_eq!(service(&governor).slots_in_use, 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_credential_that_is_wrong_is_the_callers_at_once() {
    for client in [with_governed_credential, with_plain_credential] {
        let server = Server::with_tokens([refused(400)], [Reply::ok()]);
        let governor = governor(|azure| azure.breaker_failures(1));
        let error = client(&server, &governor).get().await.expect_err("no token");
        assert_eq!((error.kind(), server.counts()), (&ErrorKind::Credential, (1, 0)));
        assert_eq!(service(&governor).breaker, BreakerState::Closed);
        assert_eq!(totals(&governor).gave_up, 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_retry_after_of_identity_is_waited_out() {
    for client in [with_governed_credential, with_plain_credential] {
        let later = refused(429).header("retry-after", "7");
        let server = Server::with_tokens([later, Reply::token()], [Reply::ok()]);
        client(&server, &governor(|azure| azure)).get().await.expect("an answer");
        let requests = server.requests();
        assert!(requests[1].at - requests[0].at >= seconds(7));
    }
}

#[tokio::test(start_paused = true)]
async fn one_slot_is_enough_for_a_call_and_the_token_it_needs() {
    for client in [with_governed_credential, with_plain_credential] {
        let server = Server::with_tokens([refused(500), Reply::token()], [Reply::new(503, ""), Reply::ok()]);
        let governor = governor(|azure| azure.account_concurrency(NonZeroUsize::MIN).deadline(seconds(60)));
        let client = client(&server, &governor);
        let (one, other, third) = tokio::join!(client.get(), client.get(), client.get());
        assert!(one.is_ok() && other.is_ok() && third.is_ok());
        assert_eq!(server.counts(), (2, 4));
    }
}

#[tokio::test(start_paused = true)]
async fn identitys_failures_cost_the_services_call_none_of_its_own_retries() {
    let server = Server::with_tokens([refused(500), refused(500), Reply::token()], [Reply::new(503, ""), Reply::ok()]);
    for client in [with_governed_credential, with_plain_credential] {
        let governor = governor(|azure| azure.max_retries(2));
        client(&server, &governor).get().await.expect("an answer");
    }
}

#[tokio::test(start_paused = true)]
async fn a_token_may_be_asked_for_twice_on_the_way_to_what_may_not_be_done_twice() {
    for client in [with_governed_credential, with_plain_credential] {
        let server = Server::with_tokens([refused(500), Reply::token()], [Reply::ok()]);
        client(&server, &governor(|azure| azure)).post().await.expect("an answer");
        assert_eq!(server.counts(), (2, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn a_plain_credential_that_is_asked_again_holds_no_slot_but_the_services() {
    let server = Server::with_tokens([refused(500), Reply::token().after(seconds(60))], [Reply::ok()]);
    let governor = governor(|azure| azure);
    let client = with_plain_credential(&server, &governor);
    let mut call = std::pin::pin!(client.get());
    assert!(tokio::time::timeout(seconds(5), &mut call).await.is_err(), "the token takes a minute");
    assert_eq!((identity_of(&governor, "sub-1").slots_in_use, service(&governor).slots_in_use), (0, 1));
    call.await.expect("an answer");
}

#[tokio::test(start_paused = true)]
async fn a_half_open_circuit_is_not_closed_by_a_token_that_did_not_come() {
    let tokens = [Reply::token().header("x", "1"), refused(400)];
    let server = Server::with_tokens(tokens, [Reply::new(401, ""), Reply::new(500, "")]);
    let governor = governor(|azure| azure.max_retries(0).breaker_failures(1).breaker_cooldown(seconds(30)));
    // A 401 makes the SDK forget its token; the credential's own cache holds it.
    let client = with_plain_credential(&server, &governor);
    client.get().await.expect_err("401");
    client.get().await.expect_err("opens");
    assert_eq!(service(&governor).breaker, BreakerState::Open);
    tokio::time::sleep(seconds(31)).await;
    let without_token = with_plain_credential(&server, &governor);
    without_token.get().await.expect_err("no token");
    assert_eq!(service(&governor).breaker, BreakerState::HalfOpen);
}

#[tokio::test(start_paused = true)]
async fn a_plain_credentials_token_closes_the_circuit_of_identity() {
    let server = Server::with_tokens([refused(500), refused(500), Reply::token()], [Reply::ok()]);
    let governor = governor(|azure| azure.max_retries(1).breaker_failures(1).breaker_cooldown(seconds(30)));
    let client = with_plain_credential(&server, &governor);
    let once = CallOptions::new().policy(RetryPolicy::none());
    client.get_with(once).await.expect_err("no token");
    assert_eq!(identity_of(&governor, "sub-1").breaker, BreakerState::Open);
    tokio::time::sleep(seconds(31)).await;
    client.get().await.expect("an answer");
    assert_eq!(identity_of(&governor, "sub-1").breaker, BreakerState::Closed);
    assert_eq!(server.counts(), (3, 1));
}

#[tokio::test(start_paused = true)]
async fn a_plain_credential_is_not_asked_again_while_the_circuit_of_identity_is_open() {
    let server = Server::with_tokens([refused(500)], [Reply::ok()]);
    let governor = governor(|azure| azure.max_retries(3).breaker_failures(1).breaker_cooldown(seconds(300)));
    let client = with_plain_credential(&server, &governor);
    for _ in 0..2 {
        let error = client.get().await.expect_err("no token");
        assert_eq!(*error.kind(), ErrorKind::Credential, "the caller's own error");
    }
    assert_eq!(server.counts(), (4 + 1, 0));
}

#[tokio::test(start_paused = true)]
async fn identitys_refusal_reaches_the_caller_of_the_service() {
    let server = Server::with_tokens([refused(500)], [Reply::ok()]);
    let governor = governor(|azure| azure.max_retries(0).breaker_failures(1));
    let client = with_governed_credential(&server, &governor);
    client.get().await.expect_err("opens identity's circuit");
    let error = client.get().await.expect_err("refused");
    let refused = refusal(&error).expect("a refusal");
    assert_eq!((refused.kind(), refused.scope().service()), (RefusalKind::CircuitOpen, "identity"));
    assert_eq!(server.counts(), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn tokens_that_are_waited_for_do_not_count_towards_the_attempts_timeout() {
    for client in [with_governed_credential, with_plain_credential] {
        let slow = Reply::token().after(seconds(3));
        let server = Server::with_tokens([refused(500), slow], [Reply::ok().after(seconds(3))]);
        let governor = governor(|azure| azure.attempt_timeout(seconds(5)).max_retries(1));
        client(&server, &governor).get().await.expect("in time");
        assert_eq!(server.counts(), (2, 1));
    }
}

/// Fails in a way of its own, however often it is asked.
#[derive(Debug)]
struct Failing(fn() -> Error);

#[async_trait::async_trait]
impl TokenCredential for Failing {
    async fn get_token(&self, _: &[&str], _: Option<TokenRequestOptions<'_>>) -> azure_core::Result<AccessToken> {
        Err((self.0)())
    }
}

async fn fails(error: fn() -> Error) -> (Error, Governor) {
    let server = Server::always(Reply::ok());
    let governor = governor(|azure| azure.max_retries(1).breaker_failures(1));
    let client = Client::authorized(governed(server.options(), by(&governor)), Arc::new(Failing(error)));
    let error = client.get().await.expect_err("no token");
    assert_eq!(server.count(), 0);
    assert_eq!(service(&governor).breaker, BreakerState::Closed);
    (error, governor)
}

#[tokio::test(start_paused = true)]
async fn an_unwrapped_failure_of_a_credentials_connection_is_identitys_not_the_services() {
    let (error, governor) = fails(|| Error::with_message(ErrorKind::Connection, "no one there")).await;
    assert_eq!(error.to_string(), "no one there");
    assert_eq!(identity_of(&governor, "sub-1").breaker, BreakerState::Open);
    assert_eq!(totals(&governor).calls, 2);
}

#[tokio::test(start_paused = true)]
async fn a_credential_that_fails_without_asking_anyone_is_charged_to_nobody() {
    let (error, governor) = fails(|| Error::with_message(ErrorKind::Credential, "not logged in")).await;
    assert_eq!(error.to_string(), "not logged in");
    assert_eq!((totals(&governor).calls, totals(&governor).transient_errors), (0, 0));
}
