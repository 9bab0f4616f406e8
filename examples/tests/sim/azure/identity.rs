//! Tokens: who gets one, and who is let in.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use super::{ARM, Answered, Site, start};
use azure_core::credentials::{AccessToken, TokenCredential, TokenRequestOptions};
use azure_core::error::ErrorKind;
use azure_core::time::OffsetDateTime;
use cloud_governor_examples::arm::ArmClient;
use cloud_governor_examples::sim::azure::Limits;

/// A credential with a token of somebody's making.
#[derive(Debug)]
struct MadeUp(String);

#[async_trait::async_trait]
impl TokenCredential for MadeUp {
    async fn get_token(&self, _: &[&str], _: Option<TokenRequestOptions<'_>>) -> azure_core::Result<AccessToken> {
        Ok(AccessToken::new(self.0.clone(), OffsetDateTime::now_utc() + azure_core::time::Duration::hours(1)))
    }
}

/// What Entra ID answered to a credential that got no token.
async fn denial(credential: &dyn TokenCredential, scope: &str) -> Answered {
    let error = credential.get_token(&[scope], None).await.expect_err("no token");
    assert_eq!(error.kind(), &ErrorKind::Credential);
    let cause = error.source().and_then(|cause| cause.downcast_ref::<azure_core::Error>());
    Answered::failure(cause.expect("the SDK's own error"))
}

async fn token(site: &Site, principal: usize) -> String {
    let scopes = ["https://management.azure.com/.default"];
    site.credential(principal).get_token(&scopes, None).await.expect("a token").token.secret().to_owned()
}

#[tokio::test]
async fn a_request_without_a_token_of_entra_s_is_turned_away_with_a_challenge() {
    let site = start(Limits::default()).await;
    let (one, other) = (token(&site, 0).await, token(&site, 1).await);
    assert_ne!(one, other);
    // The one's name with the other's check.
    let forged =
        format!("{}.{}", &one[..one.rfind('.').expect("parts")], &other[other.rfind('.').expect("parts") + 1..]);
    for shown in ["", "eyJ0eXAiOiJKV1QifQ.e30.", forged.as_str()] {
        let client = ArmClient::new(Arc::new(MadeUp(shown.to_owned())), site.options(), ARM).expect("a client");
        let failure = Answered::failure(&client.subscriptions(None).await.expect_err("nobody's token"));
        assert_eq!((failure.status, failure.code.as_str()), (401, "InvalidAuthenticationToken"), "{shown}");
        let challenge = failure.header("www-authenticate").expect("a challenge");
        let authority = format!("authorization_uri=\"https://login.microsoftonline.com/{}\"", site.fleet().tenant());
        assert!(challenge.starts_with("Bearer ") && challenge.contains(&authority), "{challenge}");
        assert_eq!(failure.header("x-ms-ratelimit-remaining-tenant-reads"), None, "nobody's bucket");
    }
    let client = ArmClient::new(Arc::new(MadeUp(one)), site.options(), ARM).expect("a client");
    assert!(client.subscriptions(None).await.is_ok());
}

#[tokio::test]
async fn only_a_principal_that_shows_its_secret_gets_a_token() {
    let site = start(Limits::default()).await;
    let (tenant, one, other) = (site.fleet().tenant(), site.principal(0), site.principal(1));
    let (arm, graph) = ("https://management.azure.com/.default", "https://graph.microsoft.com/.default");
    for (tenant, client, secret, scope, status, number) in [
        (tenant, one.client_id(), other.secret(), arm, 401, "7000215"),
        (tenant, one.object_id(), one.secret(), arm, 400, "700016"),
        (one.client_id(), one.client_id(), one.secret(), arm, 400, "90002"),
        (tenant, one.client_id(), one.secret(), graph, 400, "500011"),
    ] {
        let failure = denial(&*site.credential_of(tenant, client, secret), scope).await;
        assert_eq!((failure.status, failure.code.as_str()), (status, number));
        let told = failure.json()["error_description"].as_str().expect("a description").to_owned();
        assert!(told.starts_with(&format!("AADSTS{number}: ")), "{told}");
        assert!(!told.contains(secret));
    }
    assert_eq!(site.counts("identity.token").refused, 4);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_asks_for_tokens_all_the_time_is_sent_away_until_the_minute_is_over() {
    let site = start(Limits::default()).await;
    tokio::time::advance(Duration::from_secs(15)).await;
    for _ in 0..60 {
        // A new credential each time: it would keep its token.
        token(&site, 0).await;
    }
    let failure = denial(&*site.credential(0), "https://management.azure.com/.default").await;
    assert_eq!((failure.status, failure.code.as_str()), (429, "50196"));
    assert_eq!(failure.header("retry-after"), Some("45"));
    token(&site, 1).await;
    tokio::time::advance(Duration::from_secs(45)).await;
    token(&site, 0).await;
    assert_eq!(site.counts("identity.token").throttled, 1);
}

#[tokio::test]
async fn a_failing_entra_fails_in_its_own_words() {
    let site = start(Limits::default()).await;
    site.server.faults().add("brownout=1:service=identity".parse().expect("a fault"));
    let failure = denial(&*site.credential(0), "https://management.azure.com/.default").await;
    assert!(matches!(failure.status, 500 | 503));
    assert_eq!(failure.code, "90033");
    assert_eq!(failure.json()["error"], "temporarily_unavailable");
}
