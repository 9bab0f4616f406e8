//! Credentials over the wire: whose their failures are, and how many requests they make.

use std::num::NonZeroUsize;
use std::sync::Arc;

use azure_core::credentials::TokenCredential;
use azure_core::error::ErrorKind;
use azure_core::http::{ClientOptions, FixedRetryOptions, RetryOptions};
use azure_identity::{ManagedIdentityCredential, ManagedIdentityCredentialOptions};
use azure_storage_blob::BlobClient;
use cloud_governor::{BreakerState, FakeClock, Governor, Scope};

use crate::common::{
    TENANT, authorized_blob, blobs, client_secret, governor, inspect, millis, plain, redirected, seconds, timed,
    totals, totals_of, until,
};
use crate::server::{Reply, Server};

/// As Entra ID names its errors.
fn failed(status: u16) -> Reply {
    Reply::new(status, r#"{"error":"temporarily_unavailable","error_description":"no","error_codes":[50196]}"#)
}

/// The account of tokens: the tenant, or what the install knows of itself where the credential is not governed.
fn identity_account(is_governed: bool) -> String {
    format!("identity:{}", if is_governed { TENANT } else { "sub-1" })
}

fn client(server: &Server, governor: &Governor, is_governed: bool) -> BlobClient {
    let credential = match is_governed {
        true => client_secret(redirected(server, governor)),
        false => client_secret(ClientOptions { retry: RetryOptions::none(), ..plain(server) }),
    };
    authorized_blob(redirected(server, governor), credential)
}

async fn check_whose(failures: [Reply; 2], throttled: u64) {
    for is_governed in [true, false] {
        let [first, second] = failures.clone();
        let server = Server::with_tokens([first, second, Reply::token()], [Reply::ok()]);
        let governor = governor(|azure| azure);
        client(&server, &governor, is_governed).get_properties(None).await.map(drop).expect("an answer");
        assert_eq!(server.counts(), (3, 1), "governed: {is_governed}");
        let account = identity_account(is_governed);
        let identity = totals_of(&governor, &account, "identity");
        assert_eq!((identity.throttled, identity.transient_errors), (throttled, 2 - throttled));
        assert_eq!((identity.calls, identity.gave_up), (3, 0));
        let service = totals_of(&governor, "acct", "storage.blob");
        assert_eq!((service.calls, service.throttled, service.transient_errors, service.retries), (1, 0, 0, 0));
        assert_eq!(blobs(&governor).rate_rps, blobs(&governor).ceiling_rps);
        let identity = inspect(&governor, &account, "identity");
        assert_eq!(identity.rate_rps < identity.ceiling_rps, throttled > 0);
    }
}

#[tokio::test]
async fn a_throttled_token_is_identitys_affair_and_the_call_goes_well() {
    check_whose([failed(429), failed(429)], 2).await;
}

#[tokio::test]
async fn an_outage_of_identity_is_its_own_and_the_call_goes_well() {
    check_whose([failed(500), Reply::Reset], 0).await;
}

#[tokio::test]
async fn a_retry_after_of_the_token_endpoint_is_waited_out() {
    for is_governed in [true, false] {
        let server = Server::with_tokens([failed(429).header("retry-after", "7"), Reply::token()], [Reply::ok()]);
        let clock = FakeClock::new();
        let governor = timed(&clock, |azure| azure);
        let client = client(&server, &governor, is_governed);
        let call = tokio::spawn(async move { client.get_properties(None).await.map(drop) });
        let identity = Scope::new("azure", identity_account(is_governed), "", "identity");
        let paused = || governor.inspect(&identity).and_then(|leaf| leaf.paused_for);
        until("identity is paused", || paused().is_some()).await;
        assert_eq!((paused(), blobs(&governor).paused_for), (Some(seconds(7)), None));
        clock.advance(seconds(6));
        tokio::time::sleep(millis(20)).await;
        assert_eq!(server.counts(), (1, 0));
        let is_sent = || {
            clock.advance(millis(100));
            server.counts() == (2, 1)
        };
        until("the call is sent", is_sent).await;
        call.await.expect("no panic").expect("an answer");
        assert_eq!(server.counts(), (2, 1));
    }
}

#[tokio::test]
async fn a_token_endpoint_that_always_fails_is_asked_once_and_for_each_retry() {
    for is_governed in [true, false] {
        for reply in [failed(429), failed(503), failed(500), Reply::Reset] {
            for retries in [0, 3] {
                let server = Server::with_tokens([reply.clone()], [Reply::ok()]);
                let governor = governor(|azure| azure.max_retries(retries).breaker_failures(2));
                let client = client(&server, &governor, is_governed);
                let asked = retries as usize + 1;
                for call in 1..=2 {
                    let error = client.get_properties(None).await.map(drop).expect_err("no token");
                    assert_eq!(*error.kind(), ErrorKind::Credential);
                    assert_eq!(server.counts(), (call * asked, 0), "governed: {is_governed}, {reply:?}");
                }
                let identity = inspect(&governor, &identity_account(is_governed), "identity");
                assert_eq!(identity.breaker, BreakerState::Open, "governed: {is_governed}, {reply:?}");
                let service = blobs(&governor);
                assert_eq!((service.breaker, service.slots_in_use), (BreakerState::Closed, 0));
                assert_eq!(service.rate_rps, service.ceiling_rps);
                assert_eq!(totals(&governor).gave_up, 2);
            }
        }
    }
}

#[tokio::test]
async fn retries_that_an_ungoverned_credential_makes_itself_are_its_own_and_multiply() {
    let server = Server::with_tokens([failed(503)], [Reply::ok()]);
    let governor = governor(|azure| azure.max_retries(3));
    let delay = azure_core::time::Duration::milliseconds(1);
    let retry = RetryOptions::fixed(FixedRetryOptions { delay, max_retries: 2, ..Default::default() });
    let credential = client_secret(ClientOptions { retry, ..plain(&server) });
    let client = authorized_blob(redirected(&server, &governor), credential);
    client.get_properties(None).await.map(drop).expect_err("no token");
    assert_eq!((server.counts(), totals(&governor).calls), ((12, 0), 4));
}

#[tokio::test]
async fn a_virtual_machines_identity_is_governed_though_its_client_brings_a_retry_of_its_own() {
    let expires = "4102444800";
    let body = format!(r#"{{"access_token":"token","expires_on":"{expires}","token_type":"Bearer","resource":"r"}}"#);
    // Of a machine whose identity is still being set up, it is said that it is gone, or not there yet.
    let server = Server::with_tokens([failed(429), failed(500), Reply::new(200, body)], [Reply::ok()]);
    let governor = governor(|azure| azure);
    let options =
        ManagedIdentityCredentialOptions { client_options: redirected(&server, &governor), ..Default::default() };
    let credential: Arc<dyn TokenCredential> = ManagedIdentityCredential::new(Some(options)).expect("a credential");
    let client = authorized_blob(redirected(&server, &governor), credential);
    client.get_properties(None).await.map(drop).expect("an answer");
    assert_eq!(server.counts(), (3, 1));
    assert_eq!(server.asked()[0].host, "169.254.169.254");
    let identity = totals_of(&governor, "identity:imds", "imds");
    assert_eq!((identity.calls, identity.throttled, identity.transient_errors), (3, 1, 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twenty_first_calls_through_one_slot_ask_for_one_token() {
    for is_governed in [true, false] {
        let slow = Reply::token().after(millis(20));
        let server = Server::with_tokens([slow], [Reply::ok()]);
        let governor = governor(|azure| azure.account_concurrency(NonZeroUsize::MIN));
        let client = Arc::new(client(&server, &governor, is_governed));
        let calls: Vec<_> = (0..20)
            .map(|_| {
                let client = Arc::clone(&client);
                tokio::spawn(async move { client.get_properties(None).await.map(drop) })
            })
            .collect();
        for call in calls {
            call.await.expect("no panic").expect("an answer");
        }
        assert_eq!((server.counts(), server.most_in_flight()), ((1, 20), 1), "governed: {is_governed}");
        assert_eq!(blobs(&governor).slots_in_use, 0);
    }
}
