//! What one call may say for itself.

use std::num::NonZeroUsize;
use std::sync::Arc;

use azure_core::credentials::TokenCredential;
use azure_security_keyvault_secrets::models::SecretClientGetSecretOptions;
use azure_storage_blob::models::{BlobClientDownloadOptions, BlobClientGetPropertiesOptions};
use azure_storage_queue::models::QueueClientPeekMessagesOptions;
use cloud_governor::{Priority, RetryPolicy, Scope};
use cloud_governor_azure::{CallOptions, build_azure_client};

use crate::common::{
    Ready, blob, blob_at, blobs, context, governor, millis, options, queue_at, redirected, totals, totals_of, until,
    vault,
};
use crate::server::{Reply, Server};

fn properties(options: CallOptions) -> Option<BlobClientGetPropertiesOptions<'static>> {
    Some(BlobClientGetPropertiesOptions { method_options: context(options), ..Default::default() })
}

#[tokio::test]
async fn a_policy_without_retries_is_one_request_of_any_client() {
    let server = Server::always(Reply::coded(503, "ServerBusy"));
    let governor = governor(|azure| azure);
    let none = || context(CallOptions::new().policy(RetryPolicy::none()));
    let options = properties(CallOptions::new().policy(RetryPolicy::none()));
    blob_at(&server, &governor).get_properties(options).await.map(drop).expect_err("busy");
    assert_eq!(server.count(), 1);
    let options = QueueClientPeekMessagesOptions { method_options: none(), ..Default::default() };
    queue_at(&server, &governor).peek_messages(Some(options)).await.map(drop).expect_err("busy");
    assert_eq!(server.count(), 2);
    let options = SecretClientGetSecretOptions { method_options: none(), ..Default::default() };
    let secrets = vault(redirected(&server, &governor), Arc::new(Ready));
    secrets.get_secret("name", Some(options)).await.map(drop).expect_err("busy");
    assert_eq!((server.count(), totals(&governor).calls, totals(&governor).retries), (3, 3, 0));
}

#[tokio::test]
async fn the_urgent_call_goes_first_though_it_came_last() {
    let server = Server::always(Reply::ok());
    let governor = governor(|azure| azure.account_concurrency(NonZeroUsize::MIN));
    let unread = blob_at(&server, &governor).download(None).await.expect("a head");
    let mut waiting = Vec::new();
    for (place, (name, priority)) in
        [("late", Priority::Low), ("normal", Priority::Normal), ("first", Priority::High)].into_iter().enumerate()
    {
        let client = blob(server.url(&format!("acct/container/{name}")), options(&governor));
        let urgency = properties(CallOptions::new().priority(priority));
        waiting.push(tokio::spawn(async move { client.get_properties(urgency).await.map(drop) }));
        until("in line", || blobs(&governor).waiting_for_slot == place + 1).await;
    }
    drop(unread);
    for call in waiting {
        call.await.expect("no panic").expect("an answer");
    }
    let paths: Vec<_> = server.asked().into_iter().skip(1).map(|asked| asked.path).collect();
    assert_eq!(paths, ["/acct/container/first", "/acct/container/normal", "/acct/container/late"]);
}

#[tokio::test]
async fn a_call_that_skips_the_governor_is_sent_once_and_not_counted() {
    let server = Server::script([Reply::ok(), Reply::coded(503, "ServerBusy")]);
    let governor = governor(|azure| azure.account_concurrency(NonZeroUsize::MIN));
    let client = blob_at(&server, &governor);
    let unread = client.download(None).await.expect("a head");
    // There is no slot, and it needs none.
    client.get_properties(properties(CallOptions::new().skip())).await.map(drop).expect_err("busy");
    assert_eq!((server.count(), totals(&governor).calls, totals(&governor).throttled), (2, 1, 0));
    drop(unread);
    assert_eq!(blobs(&governor).slots_in_use, 0);
}

#[tokio::test]
async fn a_call_is_charged_to_the_scope_it_names() {
    let server = Server::script([Reply::coded(503, "ServerBusy"), Reply::ok()]);
    let governor = governor(|azure| azure);
    let other = Scope::new("azure", "other", "", "backups");
    let options =
        BlobClientDownloadOptions { method_options: context(CallOptions::new().scope(other)), ..Default::default() };
    blob_at(&server, &governor).download(Some(options)).await.map(drop).expect("a head");
    let (theirs, ours) = (totals_of(&governor, "other", "backups"), totals_of(&governor, "acct", "storage.blob"));
    assert_eq!((theirs.calls, theirs.throttled, ours.calls), (2, 1, 0));
}

#[tokio::test]
async fn a_client_built_in_one_call_is_governed_by_the_process_wide_governor() {
    let server = Server::script([Reply::coded(503, "ServerBusy"), Reply::ok()]);
    let url = server.url("built-in-one-call/container/blob");
    let credential: Arc<dyn TokenCredential> = Arc::new(Ready);
    let client = build_azure_client(credential, "sub-1", |_, client_options| {
        let options = azure_storage_blob::BlobClientOptions { client_options, ..Default::default() };
        azure_storage_blob::BlobClient::new(url, None, Some(options))
    });
    let quick = RetryPolicy::builder().base_delay(millis(1)).max_backoff(millis(2)).build().expect("sound");
    let options = properties(CallOptions::new().policy(quick));
    client.expect("a client").get_properties(options).await.map(drop).expect("an answer");
    let totals = totals_of(&cloud_governor::get_governor(), "built-in-one-call", "storage.blob");
    assert_eq!((server.count(), totals.calls, totals.retries), (2, 2, 1));
}
