//! Calls of several requests that their callers let go of.

use std::num::NonZeroUsize;
use std::pin::Pin;

use bytes::Bytes;
use cloud_governor::Governor;
use cloud_governor_gcp::{CallOptions, call};
use futures_util::future::join_all;
use google_cloud_asset_v1::client::AssetService;
use google_cloud_gax::Result;
use google_cloud_gax::paginator::ItemPaginator;
use google_cloud_lro::Poller;
use google_cloud_storage::client::Storage;

use crate::common::{BUCKET, assets, by, governor, is_at_rest, millis, polled, storage};
use crate::reply::Reply;
use crate::server::{Asked, Server};

type Work = Pin<Box<dyn Future<Output = Result<()>> + Send>>;

/// Of everything there is always more to come.
fn endless(asked: &Asked) -> Reply {
    match asked.path.as_str() {
        path if path.ends_with("/assets") => Reply::json(r#"{"assets":[{"name":"a"}],"nextPageToken":"more"}"#),
        path if path.starts_with("/upload") && asked.method == "PUT" => {
            Reply::new(308, "").header("range", "bytes=0-262143")
        }
        path if path.starts_with("/upload") => {
            Reply::new(200, "").header("location", format!("http://{}/upload/session", asked.server))
        }
        path if path.starts_with("/storage") => Reply::new(200, vec![7; 1000]).header("x-goog-generation", "1").cut(),
        _ => Reply::json(r#"{"name":"projects/1/operations/ExportAssets/1"}"#),
    }
}

fn upload(client: &Storage) -> Work {
    let uploading = client.write_object(BUCKET, "o", Bytes::from(vec![7; 1 << 20])).send_buffered();
    Box::pin(async move { uploading.await.map(drop) })
}

fn read(client: &Storage) -> Work {
    let reading = client.read_object(BUCKET, "o").send();
    Box::pin(async move {
        let mut reading = reading.await?;
        while let Some(part) = reading.next().await {
            part?;
        }
        Ok(())
    })
}

fn pages(client: &AssetService) -> Work {
    let mut items = client.list_assets().set_parent("projects/p1").by_item();
    Box::pin(async move {
        while let Some(item) = items.next().await {
            item?;
        }
        Ok(())
    })
}

fn export(client: &AssetService) -> Work {
    let exporting = client.export_assets().set_parent("projects/p1").poller().until_done();
    Box::pin(async move { exporting.await.map(drop) })
}

/// Drops this work at later and later points, with one slot for all of it: what it left would be missed.
async fn dropped_everywhere(server: &Server, governor: &Governor, points: usize, work: impl Fn() -> Work) {
    let mut dropped = 0;
    for most in 1..=points {
        dropped += usize::from(polled(most, call(CallOptions::new(), work())).await.is_none());
        assert!(is_at_rest(governor), "after {most} polls");
    }
    assert!(dropped > points / 2 && server.count() > points / 2, "{dropped} dropped, {} requests", server.count());
}

fn start() -> (Server, Governor) {
    let server = Server::start(|asked, _| endless(asked).after(millis(1)));
    (server, governor(|gcp| gcp.account_concurrency(NonZeroUsize::MIN).breaker_failures(1_000_000)))
}

#[tokio::test]
async fn an_upload_dropped_at_any_point_leaves_nothing_behind() {
    let (server, governor) = start();
    let client = storage(&server, by(&governor)).await;
    dropped_everywhere(&server, &governor, 30, || upload(&client)).await;
}

#[tokio::test]
async fn a_read_dropped_at_any_point_leaves_nothing_behind() {
    let (server, governor) = start();
    let client = storage(&server, by(&governor)).await;
    dropped_everywhere(&server, &governor, 12, || read(&client)).await;
}

#[tokio::test]
async fn pages_dropped_at_any_point_leave_nothing_behind() {
    let (server, governor) = start();
    let client = assets(&server, by(&governor)).await;
    dropped_everywhere(&server, &governor, 30, || pages(&client)).await;
}

#[tokio::test(start_paused = true)]
async fn an_operation_dropped_at_any_point_leaves_nothing_behind() {
    let (server, governor) = start();
    let client = assets(&server, by(&governor)).await;
    dropped_everywhere(&server, &governor, 30, || export(&client)).await;
}

#[tokio::test(start_paused = true)]
async fn work_of_all_kinds_joined_inside_one_call_goes_down_with_it() {
    let (server, governor) = start();
    let (assets, storage) = (assets(&server, by(&governor)).await, storage(&server, by(&governor)).await);
    let all = || -> Work {
        let all = join_all([upload(&storage), read(&storage), pages(&assets), export(&assets)]);
        Box::pin(async move { all.await.into_iter().collect() })
    };
    dropped_everywhere(&server, &governor, 60, all).await;
}
