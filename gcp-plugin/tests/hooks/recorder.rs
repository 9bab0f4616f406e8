//! The clients' request recorder answers in their hooks: a crate without a promise of stability, so pinned here.
//!
//! Were it to fall silent after an update, calls would still be governed, but all of a client's in one scope.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use google_cloud_asset_v1::client::AssetService;
use google_cloud_auth::credentials::{CacheableResource, Credentials, CredentialsProvider, EntityTag};
use google_cloud_compute_v1::client::Instances;
use google_cloud_gax::error::{CredentialsError, Error};
use google_cloud_gax::paginator::ItemPaginator;
use google_cloud_gax::polling_backoff_policy::PollingBackoffPolicy;
use google_cloud_gax::polling_state::PollingState;
use google_cloud_gax::retry_policy::RetryPolicy;
use google_cloud_gax::retry_result::RetryResult;
use google_cloud_gax::retry_state::RetryState;
use google_cloud_gax_internal::observability::RequestRecorder;
use google_cloud_lro::Poller;
use google_cloud_storage::client::{Storage, StorageControl};
use http::{Extensions, HeaderMap, Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

// ===== what a hook sees =====

/// The hook, and what the recorder said in it: service, rpc, template, resource.
type Saw = (&'static str, [String; 4]);

#[derive(Debug, Clone, Default)]
struct Spy(Arc<Mutex<Vec<Saw>>>);

impl Spy {
    fn look(&self, hook: &'static str) {
        let seen = match RequestRecorder::current() {
            Some(recorder) => {
                let seen = recorder.client_snapshot();
                [Some(seen.service_name()), seen.rpc_method(), seen.url_template(), seen.resource_name()]
                    .map(|text| text.unwrap_or("-").to_owned())
            }
            None => ["no recorder"; 4].map(str::to_owned),
        };
        self.0.lock().unwrap().push((hook, seen));
    }

    fn saw(&self) -> Vec<Saw> {
        std::mem::take(&mut self.0.lock().unwrap())
    }

    /// What every hook of the one request so far saw, `headers()` and the first of all included.
    fn saw_throughout(&self) -> [String; 4] {
        let saw = self.saw();
        assert!(saw.iter().any(|(hook, _)| *hook == "headers"), "{saw:?}");
        let (_, first) = saw.first().unwrap();
        assert!(saw.iter().all(|(_, seen)| seen == first), "{saw:?}");
        first.clone()
    }

    fn saw_in_headers(&self) -> Vec<[String; 4]> {
        self.saw().into_iter().filter(|(hook, _)| *hook == "headers").map(|(_, seen)| seen).collect()
    }
}

impl CredentialsProvider for Spy {
    async fn headers(&self, _: Extensions) -> Result<CacheableResource<HeaderMap>, CredentialsError> {
        self.look("headers");
        Ok(CacheableResource::New { entity_tag: EntityTag::new(), data: HeaderMap::new() })
    }

    async fn universe_domain(&self) -> Option<String> {
        None
    }
}

impl RetryPolicy for Spy {
    fn on_error(&self, _: &RetryState, error: Error) -> RetryResult {
        self.look("on_error");
        RetryResult::Permanent(error)
    }

    fn remaining_time(&self, _: &RetryState) -> Option<Duration> {
        self.look("remaining_time");
        None
    }
}

#[derive(Debug)]
struct AtOnce;

impl PollingBackoffPolicy for AtOnce {
    fn wait_period(&self, _: &PollingState) -> Duration {
        Duration::ZERO
    }
}

// ===== the server =====

struct Server {
    url: String,
    task: JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Server {
    async fn serve(version: http::Version) -> Server {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let own: Arc<str> = url.clone().into();
        let task = tokio::spawn(async move {
            let mut connections = tokio::task::JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let io = TokioIo::new(stream);
                let own = Arc::clone(&own);
                let service = service_fn(move |request| {
                    let own = Arc::clone(&own);
                    async move { Ok::<_, Infallible>(answer(&own, &request)) }
                });
                connections.spawn(async move {
                    // A client may leave in the middle.
                    if version == http::Version::HTTP_2 {
                        let _ = hyper::server::conn::http2::Builder::new(TokioExecutor::new())
                            .serve_connection(io, service)
                            .await;
                    } else {
                        let _ = hyper::server::conn::http1::Builder::new().serve_connection(io, service).await;
                    }
                });
            }
        });
        Server { url, task }
    }
}

fn answer(own: &str, request: &Request<Incoming>) -> Response<Full<Bytes>> {
    const OBJECT: &str = r#"{"name":"o1","bucket":"b1","generation":"1","size":"2"}"#;
    let path = request.uri().path();
    let query = request.uri().query().unwrap_or_default();
    let response = Response::builder();
    let (response, body) = match path {
        "/v1/projects/p1/assets" if query.contains("pageToken=second") => (response, r#"{"assets":[{"name":"b"}]}"#),
        "/v1/projects/p1/assets" => (response, r#"{"assets":[{"name":"a"}],"nextPageToken":"second"}"#),
        "/v1/projects/p1:exportAssets" => (response, r#"{"name":"projects/1/operations/ExportAssets/1"}"#),
        path if path.starts_with("/v1/projects/1/operations/") => {
            (response, r#"{"name":"projects/1/operations/ExportAssets/1","done":true,"error":{"code":5,"message":""}}"#)
        }
        "/storage/v1/b/b1/o/o1" => (response.header("x-goog-generation", "1"), "hi"),
        "/upload/storage/v1/b/b1/o" if query.contains("uploadType=resumable") => {
            (response.header("location", format!("{own}/upload/storage/v1/b/b1/o?upload_id=1")), "")
        }
        "/upload/storage/v1/b/b1/o" => (response, OBJECT),
        path if path.starts_with("/google.storage.") => {
            (response.header("content-type", "application/grpc").header("grpc-status", "5"), "")
        }
        _ => (response, r#"{"items":[]}"#),
    };
    response.body(Full::new(Bytes::from_static(body.as_bytes()))).unwrap()
}

// ===== clients =====

async fn asset(server: &Server, spy: &Spy, tracing: bool) -> AssetService {
    let builder = AssetService::builder()
        .with_endpoint(&server.url)
        .with_credentials(Credentials::from(spy.clone()))
        .with_retry_policy(spy.clone())
        .with_polling_backoff_policy(AtOnce);
    let builder = if tracing { builder.with_tracing() } else { builder };
    builder.build().await.unwrap()
}

#[tokio::test]
async fn a_generated_client_names_service_rpc_template_and_resource_in_every_hook() {
    let (server, spy) = (Server::serve(http::Version::HTTP_11).await, Spy::default());
    let client = asset(&server, &spy, true).await;
    client.list_assets().set_parent("projects/p1").send().await.unwrap();
    assert_eq!(
        spy.saw_throughout(),
        [
            "cloudasset",
            "google.cloud.asset.v1.AssetService/ListAssets",
            "/v1/{parent}/assets",
            "//cloudasset.googleapis.com/projects/p1",
        ]
    );
    client.search_all_resources().set_scope("organizations/7").send().await.unwrap();
    assert_eq!(
        spy.saw_throughout(),
        ["cloudasset", "google.cloud.asset.v1.AssetService/SearchAllResources", "/v1/{scope}:searchAllResources", "-",]
    );
}

#[tokio::test]
async fn compute_names_project_and_zone() {
    let (server, spy) = (Server::serve(http::Version::HTTP_11).await, Spy::default());
    let client = Instances::builder()
        .with_endpoint(&server.url)
        .with_credentials(Credentials::from(spy.clone()))
        .with_retry_policy(spy.clone())
        .with_tracing()
        .build()
        .await
        .unwrap();
    client.list().set_project("p1").set_zone("us-central1-a").send().await.unwrap();
    assert_eq!(
        spy.saw_throughout(),
        [
            "compute",
            "google.cloud.compute.v1.instances/list",
            "/compute/v1/projects/{project}/zones/{zone}/instances",
            "//compute.googleapis.com/projects/p1/zones/us-central1-a",
        ]
    );
}

#[tokio::test]
async fn each_page_is_a_request_of_its_own() {
    let (server, spy) = (Server::serve(http::Version::HTTP_11).await, Spy::default());
    let mut assets = asset(&server, &spy, true).await.list_assets().set_parent("projects/p1").by_item();
    let mut names = Vec::new();
    while let Some(asset) = assets.next().await {
        names.push(asset.unwrap().name);
    }
    assert_eq!(names, ["a", "b"]);
    let rpcs: Vec<String> = spy.saw_in_headers().into_iter().map(|[_, rpc, ..]| rpc).collect();
    assert_eq!(rpcs, ["google.cloud.asset.v1.AssetService/ListAssets"; 2]);
}

#[tokio::test]
async fn each_poll_of_an_operation_is_a_request_of_its_own() {
    let (server, spy) = (Server::serve(http::Version::HTTP_11).await, Spy::default());
    let client = asset(&server, &spy, true).await;
    let done = client.export_assets().set_parent("projects/p1").poller().until_done().await;
    assert_eq!(done.unwrap_err().status().unwrap().code, google_cloud_gax::error::rpc::Code::NotFound);
    let saw = spy.saw_in_headers();
    assert_eq!(saw.len(), 2, "{saw:?}");
    assert_eq!(saw[0][1], "google.cloud.asset.v1.AssetService/ExportAssets");
    assert_eq!(saw[1][..3], ["cloudasset", "google.longrunning.Operations/GetOperation", "/v1/{name}"]);
}

#[tokio::test]
async fn storages_transfers_have_a_template_and_a_bucket_and_no_rpc() {
    let (server, spy) = (Server::serve(http::Version::HTTP_11).await, Spy::default());
    let client = Storage::builder()
        .with_endpoint(&server.url)
        .with_credentials(Credentials::from(spy.clone()))
        .with_retry_policy(spy.clone())
        .with_tracing()
        .build()
        .await
        .unwrap();
    let bucket = "//storage.googleapis.com/projects/_/buckets/b1";
    client.read_object("projects/_/buckets/b1", "o1").send().await.unwrap();
    assert_eq!(spy.saw_throughout(), ["storage", "-", "/storage/v1/b/{bucket}/o/{object}", bucket]);
    client.write_object("projects/_/buckets/b1", "o1", "hi").send_buffered().await.unwrap();
    assert_eq!(spy.saw_throughout(), ["storage", "-", "/upload/storage/v1/b/{bucket}/o", bucket]);
    let resumable = client.write_object("projects/_/buckets/b1", "o1", "hi").with_resumable_upload_threshold(0_usize);
    resumable.send_buffered().await.unwrap();
    let saw = spy.saw_in_headers();
    assert_eq!(saw, [["storage", "-", "/upload/storage/v1/b/{bucket}/o", bucket].map(str::to_owned), saw[0].clone()]);
}

#[tokio::test]
async fn storages_control_over_grpc_names_the_rpc_and_of_buckets_no_resource() {
    let (server, spy) = (Server::serve(http::Version::HTTP_2).await, Spy::default());
    let client = StorageControl::builder()
        .with_endpoint(&server.url)
        .with_credentials(Credentials::from(spy.clone()))
        .with_retry_policy(spy.clone())
        .with_tracing()
        .build()
        .await
        .unwrap();
    client.get_bucket().set_name("projects/_/buckets/b1").send().await.unwrap_err();
    assert_eq!(spy.saw_throughout(), ["storage", "google.storage.v2.Storage/GetBucket", "-", "-"]);
    client.get_folder().set_name("projects/_/buckets/b1/folders/f").send().await.unwrap_err();
    assert_eq!(
        spy.saw_throughout(),
        [
            "storage",
            "google.storage.control.v2.StorageControl/GetFolder",
            "-",
            "//storage.googleapis.com/projects/_/buckets/b1/folders/f",
        ]
    );
}

#[tokio::test]
async fn without_tracing_there_is_no_recorder() {
    let (server, spy) = (Server::serve(http::Version::HTTP_11).await, Spy::default());
    asset(&server, &spy, false).await.list_assets().set_parent("projects/p1").send().await.unwrap();
    assert_eq!(spy.saw_throughout(), ["no recorder"; 4]);
}
