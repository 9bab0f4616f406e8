//! Calls inside calls, and one pipeline that is governed twice.

use std::num::NonZeroUsize;
use std::sync::Arc;

use azure_core::credentials::{AccessToken, TokenCredential, TokenRequestOptions};
use azure_core::error::{Error, ErrorKind};
use azure_core::http::{Context, Method, Request};
use azure_core::time::{Duration, OffsetDateTime};
use cloud_governor::Scope;
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

#[tokio::test(start_paused = true)]
async fn a_call_inside_another_is_governed_by_its_own_scope_and_takes_no_slot() {
    for inside in ["https://safe.vault.azure.net/secrets/s", "https://acct.blob.core.windows.net/keys/k"] {
        let server = Arc::new(Server::script([Reply::new(503, ""), Reply::ok()]));
        let governor = governor(|azure| azure.account_concurrency(NonZeroUsize::MIN).deadline(seconds(60)));
        let credential = FromVault(inside, Arc::clone(&server), governor.clone());
        let client = Client::authorized(governed(server.options(), by(&governor)), Arc::new(credential));
        let scope = Scope::new("azure", "elsewhere", "", "s");
        let options = CallOptions::new().scope(scope.clone()).idempotent(false);
        client.get_with(options).await.map(drop).expect("an answer");
        assert_eq!((totals(&governor).calls, totals(&governor).retries), (3 + u64::from(server.count() == 4), server.count() as u64 - 2));
        assert_eq!(governor.inspect(&scope).map(|leaf| leaf.slots_in_use), Some(0), "the outer call's own scope");
    }
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
