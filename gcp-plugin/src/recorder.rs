//! What a client's own request recorder tells of the request that a hook is called for.
//!
//! The official clients keep a recorder for each client request in a task-local, once tracing is on
//! (`with_tracing()`, or `GOOGLE_CLOUD_RUST_LOGGING=true`). Their transport fills it in before the retry loop begins, so
//! that every hook finds it, the first attempt's `headers()` included. What it says:
//!
//! | client | service | rpc | template | resource |
//! |---|---|---|---|---|
//! | generated, HTTP (Cloud Asset) | `cloudasset` | `google.cloud.asset.v1.AssetService/ListAssets` | `/v1/{parent}/assets` | `//cloudasset.googleapis.com/projects/p1` |
//! | the same, where the request names a scope and no resource | `cloudasset` | `../SearchAllResources` | `/v1/{scope}:searchAllResources` | none |
//! | generated, HTTP (Compute) | `compute` | `google.cloud.compute.v1.instances/list` | `/compute/v1/projects/{project}/zones/{zone}/instances` | `//compute.googleapis.com/projects/p1/zones/us-central1-a` |
//! | each page of a paginator | | as a call of its own | | |
//! | each poll of a long-running operation | `cloudasset` | `google.longrunning.Operations/GetOperation` | `/v1/{name}` | none |
//! | each poll of a Compute operation | `compute` | `google.cloud.compute.v1.zoneOperations/getOperation` | `../operations/{operation}` | `//compute.googleapis.com/projects/p1/zones/z/operations/o` |
//! | Storage, reads | `storage` | none | `/storage/v1/b/{bucket}/o/{object}` | `//storage.googleapis.com/projects/_/buckets/b1` |
//! | Storage, uploads, each request of a resumable one too | `storage` | none | `/upload/storage/v1/b/{bucket}/o` | the same |
//! | Storage, reads of many ranges, gRPC | `storage` | `google.storage.v2.Storage/BidiStreamingRead` | as of a read | the same |
//! | StorageControl, gRPC, buckets and objects | `storage` | `google.storage.v2.Storage/GetBucket` | none | none |
//! | StorageControl, gRPC, folders | `storage` | `google.storage.control.v2.StorageControl/GetFolder` | none | `//storage.googleapis.com/projects/_/buckets/b1/folders/f` |
//!
//! The HTTP method is not among it: the recorder learns it when the first attempt is sent, which is too late to name the
//! operation by.
//!
//! The recorder comes from a crate without a promise of stability. If a client is built against another version of it
//! than this crate, there is no recorder to be found, and calls go to the client's default scope.

use std::borrow::Cow;

use google_cloud_gax_internal::observability::RequestRecorder;

use crate::seen::Seen;

impl Seen<'static> {
    /// Reads the recorder once.
    pub(crate) fn of(recorder: &RequestRecorder) -> Self {
        let snapshot = recorder.client_snapshot();
        Seen {
            service: snapshot.service_name(),
            host: snapshot.default_host(),
            rpc: snapshot.rpc_method(),
            template: snapshot.url_template(),
            resource: snapshot.resource_name().map(|resource| Cow::Owned(resource.to_owned())),
            account: None,
        }
    }
}

#[cfg(test)]
mod tests;
