//! The official clients, and credentials for them.

use cloud_governor::Governor;
use cloud_governor_gcp::{GcpOptions, attach, attach_storage};
use google_cloud_asset_v1::client::AssetService;
use google_cloud_auth::credentials::{CacheableResource, Credentials, CredentialsProvider, EntityTag};
use google_cloud_auth::errors::CredentialsError;
use google_cloud_compute_v1::client::Instances;
use google_cloud_gax::error::Error;
use google_cloud_storage::client::{Storage, StorageControl};
use http::{Extensions, HeaderMap, HeaderValue};

pub(crate) use crate::governors::*;
use crate::server::Server;

pub(crate) const BUCKET: &str = "projects/_/buckets/bucket";

// ===== clients =====

/// Options of this governor's.
pub(crate) fn by(governor: &Governor) -> GcpOptions {
    GcpOptions::new().account(HOME).governor(governor.clone())
}

pub(crate) async fn assets(server: &Server, options: GcpOptions) -> AssetService {
    assets_as(server, Key::new(), options).await
}

pub(crate) async fn assets_as(server: &Server, key: Key, options: GcpOptions) -> AssetService {
    let builder = AssetService::builder().with_endpoint(server.url());
    attach(builder, Credentials::from(key), options).build().await.expect("a client")
}

pub(crate) async fn instances(server: &Server, options: GcpOptions) -> Instances {
    instances_as(server, Key::new(), options).await
}

pub(crate) async fn instances_as(server: &Server, key: Key, options: GcpOptions) -> Instances {
    let builder = Instances::builder().with_endpoint(server.url());
    attach(builder, Credentials::from(key), options).build().await.expect("a client")
}

/// Its uploads are resumable if they have no less than 1 MiB, and go in parts of 256 KiB, which is the least.
pub(crate) async fn storage(server: &Server, options: GcpOptions) -> Storage {
    storage_as(server, Key::new(), options).await
}

pub(crate) async fn storage_as(server: &Server, key: Key, options: GcpOptions) -> Storage {
    let builder = Storage::builder()
        .with_endpoint(server.url())
        .with_resumable_upload_threshold(1_usize << 20)
        .with_resumable_upload_buffer_size(256_usize << 10);
    attach_storage(builder, Credentials::from(key), options).build().await.expect("a client")
}

pub(crate) async fn control(server: &Server, options: GcpOptions) -> StorageControl {
    control_as(server, Key::new(), options).await
}

pub(crate) async fn control_as(server: &Server, key: Key, options: GcpOptions) -> StorageControl {
    let builder = StorageControl::builder().with_endpoint(server.url());
    attach(builder, Credentials::from(key), options).build().await.expect("a client")
}

// ===== credentials =====

/// Has a token at once.
#[derive(Debug, Clone, Default)]
pub(crate) struct Key {
    quota_project: Option<&'static str>,
}

impl Key {
    pub(crate) fn new() -> Self {
        Key::default()
    }

    /// Whose calls are charged to this project.
    pub(crate) fn charging(project: &'static str) -> Self {
        Key { quota_project: Some(project) }
    }
}

impl CredentialsProvider for Key {
    async fn headers(&self, _: Extensions) -> Result<CacheableResource<HeaderMap>, CredentialsError> {
        let mut data = HeaderMap::new();
        let mut bearer = HeaderValue::try_from(format!("Bearer {TOKEN}")).expect("a header");
        bearer.set_sensitive(true);
        data.insert("authorization", bearer);
        if let Some(project) = self.quota_project {
            data.insert("x-goog-user-project", HeaderValue::from_static(project));
        }
        Ok(CacheableResource::New { entity_tag: EntityTag::new(), data })
    }

    async fn universe_domain(&self) -> Option<String> {
        None
    }
}

// ===== errors =====

/// What the service answered, by HTTP or by gRPC.
pub(crate) fn answered(error: &Error) -> (Option<u16>, Option<&'static str>) {
    (error.http_status_code(), error.status().map(|status| status.code.name()))
}
