use std::error::Error;

use super::*;
use azure_core::credentials::{AccessToken, TokenRequestOptions};

#[derive(Debug)]
struct Nobody;

#[async_trait::async_trait]
impl TokenCredential for Nobody {
    async fn get_token(&self, scopes: &[&str], _: Option<TokenRequestOptions<'_>>) -> azure_core::Result<AccessToken> {
        let message = format!("no token for {}", scopes.join(" "));
        Err(azure_core::Error::with_message(azure_core::error::ErrorKind::Credential, message))
    }
}

fn client(endpoint: &str) -> azure_core::Result<ArmClient> {
    ArmClient::new(Arc::new(Nobody), ClientOptions::default(), endpoint)
}

#[test]
fn a_name_cannot_lead_to_another_path() {
    let client = client("https://management.azure.com/").expect("a good endpoint");
    let url = client.url(&["subscriptions", "../a/b?c#d", "resourcegroups"], "2024-03-01").expect("a URL");
    let expected =
        "https://management.azure.com/subscriptions/..%2Fa%2Fb%3Fc%23d/resourcegroups?api-version=2024-03-01";
    assert_eq!(url.as_str(), expected);
}

#[tokio::test]
async fn the_token_is_asked_for_the_endpoint() {
    let client = client("https://management.usgovcloudapi.net").expect("a good endpoint");
    let error = client.subscriptions(None).await.expect_err("no token");
    let cause = error.source().expect("what the credential said").to_string();
    assert_eq!(cause, "no token for https://management.usgovcloudapi.net/.default");
}

#[test]
fn an_endpoint_that_is_none_is_refused() {
    for endpoint in ["", "management.azure.com", "mailto:someone"] {
        assert!(client(endpoint).is_err(), "{endpoint}");
    }
}
