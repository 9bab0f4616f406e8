//! Long-running operations.

use cloud_governor::Scope;
use cloud_governor_gcp::{GcpOptions, attach};
use google_cloud_asset_v1::client::AssetService;
use google_cloud_lro::{Poller, PollingResult};

use crate::common::{ACCOUNT, Reply, Server, anonymous, governor, totals};

#[tokio::test]
async fn a_poll_that_fails_is_counted_once_and_polled_again() {
    let running = r#"{ "name": "projects/1/operations/ExportAssets/1", "done": false }"#;
    let done = r#"{ "name": "projects/1/operations/ExportAssets/1", "done": true, "response": {
        "@type": "type.googleapis.com/google.cloud.asset.v1.ExportAssetsResponse" } }"#;
    let replies = [Reply::ok(running), Reply::error(503, "UNAVAILABLE"), Reply::ok(running), Reply::ok(done)];
    let governor = governor(|gcp| gcp);
    let server = Server::script(replies).await;
    let options = GcpOptions::new().account(ACCOUNT).governor(governor.clone());
    let builder = AssetService::builder().with_endpoint(&server.url);
    let assets = attach(builder, anonymous(), options).build().await.unwrap();

    let mut poller = assets.export_assets().set_parent(ACCOUNT).poller();
    assert!(matches!(poller.poll().await, Some(PollingResult::InProgress(_))));
    let failed = poller.poll().await;
    assert!(matches!(failed, Some(PollingResult::PollingError(_))), "{failed:?}");
    assert!(matches!(poller.poll().await, Some(PollingResult::InProgress(_))));
    assert!(matches!(poller.poll().await, Some(PollingResult::Completed(Ok(_)))));
    assert_eq!(server.count(), 4);
    let totals = totals(&governor);
    assert_eq!((totals.operations, totals.calls, totals.transient_errors), (4, 4, 1));
    let scope = Scope::new("gcp", ACCOUNT, "", "cloudasset");
    assert_eq!(governor.inspect(&scope.with_operation("GetOperation")).expect("known").slots_in_use, 0);
}
