//! Calls inside calls, and one pipeline that is governed twice.

use std::num::NonZeroUsize;
use std::sync::Arc;

use azure_core::credentials::{AccessToken, TokenCredential, TokenRequestOptions};
use azure_core::error::{Error, ErrorKind};
use azure_core::http::{Context, Method, Request};
use azure_core::time::{Duration, OffsetDateTime};
use cloud_governor::{RetryPolicy, Scope};
use cloud_governor_azure::{CallOptions, governed};

use crate::common::{Client, Reply, Server, by, governor, seconds, service, totals};

#[tokio::test(start_paused = true)]
async fn a_second_install_on_the_same_options_governs_nothing_twice() {
    let server = Server::always(Reply::new(503, ""));
    let (outer, inner) = (governor(|azure| azure.max_retries(2)), governor(|azure| azure.max_retries(5)));
    let once = governed(server.options(), by(&outer));
    let client = Client::new(governed(once, by(&inner)));
    client.get().await.expect_err("fails for ever");
    assert_eq!(server.count(), 3);
    assert_eq!((totals(&outer).calls, totals(&inner).calls), (3, 0));
}

#[tokio::test(start_paused = true)]
async fn a_second_install_does_not_count_an_attempts_time_twice() {
    let server = Server::always(Reply::ok().after(seconds(3)));
    let governor = governor(|azure| azure.attempt_timeout(seconds(5)).max_retries(0));
    let client = Client::new(governed(governed(server.options(), by(&governor)), by(&governor)));
    client.get().await.expect("in time");
}

/// Reads what it gives from another governed service, with the context it was given.
#[derive(Debug)]
struct FromVault(&'static str, Arc<Server>, cloud_governor::Governor);

#[async_trait::async_trait]
impl TokenCredential for FromVault {
    async fn get_token(&self, _: &[&str], options: Option<TokenRequestOptions<'_>>) -> azure_core::Result<AccessToken> {
        let client = Client::new(governed(self.1.options(), by(&self.2)));
        let ctx = options.map(|options| options.method_options.context).unwrap_or_default();
        let url = self.0.parse().map_err(|error| Error::new(ErrorKind::Credential, error))?;
        client.send(ctx.into_owned(), Request::new(url, Method::Get)).await?;
        Ok(AccessToken::new("token", OffsetDateTime::now_utc() + Duration::hours(1)))
    }
}

/// What is called inside is down once; what is called in the end is there.
fn down_inside() -> Arc<Server> {
    Arc::new(Server::new(|seen, number| match seen.url.path() {
        "/container/blob" => Reply::ok(),
        _ if number == 1 => Reply::new(503, ""),
        _ => Reply::ok(),
    }))
}

async fn call_with_inner(inside: &'static str, options: CallOptions) -> cloud_governor::Governor {
    let server = down_inside();
    let governor = governor(|azure| azure.account_concurrency(NonZeroUsize::MIN).deadline(seconds(60)));
    let credential = FromVault(inside, Arc::clone(&server), governor.clone());
    let client = Client::authorized(governed(server.options(), by(&governor)), Arc::new(credential));
    client.get_with(options).await.expect("an answer");
    assert_eq!((server.count(), totals(&governor).calls, totals(&governor).retries), (3, 3, 1));
    governor
}

#[tokio::test(start_paused = true)]
async fn a_call_inside_another_is_governed_by_its_own_scope_and_idempotence() {
    let scope = Scope::new("azure", "elsewhere", "", "s");
    let options = CallOptions::new().scope(scope.clone()).idempotent(false);
    let governor = call_with_inner("https://safe.vault.azure.net/secrets/s", options).await;
    let vault = governor.inspect(&Scope::new("azure", "safe", "", "keyvault")).expect("the inner call's leaf");
    assert!(vault.rate_rps < vault.ceiling_rps);
    let own = governor.inspect(&scope).expect("the outer call's leaf");
    assert_eq!((own.rate_rps, own.slots_in_use), (own.ceiling_rps, 0));
}

#[tokio::test(start_paused = true)]
async fn a_call_inside_another_of_the_same_account_does_not_wait_for_its_slot() {
    call_with_inner("https://acct.blob.core.windows.net/keys/k", CallOptions::new()).await;
}

#[tokio::test(start_paused = true)]
async fn a_policy_of_a_call_holds_for_those_inside_it() {
    let server = Arc::new(Server::always(Reply::new(503, "")));
    let governor = governor(|azure| azure);
    let credential = FromVault("https://safe.vault.azure.net/secrets/s", Arc::clone(&server), governor.clone());
    let client = Client::authorized(governed(server.options(), by(&governor)), Arc::new(credential));
    let policy = RetryPolicy::builder().max_retries(1).build().expect("sound");
    client.get_with(CallOptions::new().policy(policy)).await.expect_err("no token");
    assert_eq!(server.count(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_skipped_call_is_sent_once_and_neither_paced_nor_counted() {
    let server = Server::always(Reply::new(503, ""));
    let governor = governor(|azure| azure);
    let client = Client::governed(&server, &governor);
    client.get_with(CallOptions::new().skip()).await.expect_err("down");
    assert_eq!((server.count(), totals(&governor).calls), (1, 0));
    client.send(Context::new(), crate::common::get()).await.expect_err("down");
    assert_eq!(service(&governor).slots_in_use, 0);
}
