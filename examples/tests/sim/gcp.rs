//! The simulated Google Cloud, by way of the official clients, ungoverned.
//!
//! Time is paused and does not run on by itself: a paused clock would leap to the timeouts of the clients' idle
//! connections. A task that blocks holds it, and only the test moves it.

mod faults;
mod lists;
mod objects;
mod quotas;
mod refusals;
mod wire;

use std::collections::BTreeMap;
use std::sync::{Arc, mpsc};

use cloud_governor_examples::sim::gcp::{Bucket, Fleet, FleetSize, Gcp, Limits, Project, Telling, credentials};
use cloud_governor_examples::sim::{Counts, Server};
use google_cloud_asset_v1::client::AssetService;
use google_cloud_auth::credentials::Credentials;
use google_cloud_compute_v1::client::Instances;
use google_cloud_gax::error::Error;
use google_cloud_gax::error::rpc::StatusDetails;
use google_cloud_gax::retry_policy::NeverRetry;
use google_cloud_storage::client::Storage;

struct Site {
    gcp: Arc<Gcp>,
    server: Server,
    _clock: mpsc::Sender<()>,
}

/// More of everything than fits a page of 20.
fn size() -> FleetSize {
    FleetSize {
        projects: 3,
        zones: 3,
        instances: 21..=45,
        disks: 41..=60,
        service_accounts: 1..=9,
        buckets: 2..=4,
        objects: 3..=9,
        ..FleetSize::default()
    }
}

async fn start(limits: Limits) -> Site {
    start_with(limits, &size(), Telling::default()).await
}

async fn start_with(limits: Limits, size: &FleetSize, telling: Telling) -> Site {
    let fleet = Fleet::seeded(11, size).expect("a possible size");
    let gcp = Arc::new(Gcp::new(fleet, limits).telling(telling));
    let server = Server::start(gcp.clone(), 5).await.expect("a free port");
    let (clock, released) = mpsc::channel();
    // Ends with the site, whose half of the channel is then gone.
    tokio::task::spawn_blocking(move || released.recv());
    Site { gcp, server, _clock: clock }
}

impl Site {
    fn fleet(&self) -> &Fleet {
        self.gcp.fleet()
    }

    fn project(&self, index: usize) -> &Project {
        &self.fleet().projects()[index]
    }

    /// `projects/` and the id.
    fn parent(&self, index: usize) -> String {
        self.project(index).account()
    }

    /// The caller's credentials, which charge this project.
    fn credentials(&self, quota_project: Option<usize>) -> Credentials {
        let project = quota_project.map(|index| self.project(index).id.as_str());
        credentials(self.fleet().caller(), project).expect("a header")
    }

    async fn assets(&self, quota_project: Option<usize>) -> AssetService {
        self.assets_as(self.credentials(quota_project)).await
    }

    async fn assets_as(&self, credentials: Credentials) -> AssetService {
        let builder = AssetService::builder().with_endpoint(self.server.url()).with_retry_policy(NeverRetry);
        builder.with_credentials(credentials).build().await.expect("a client")
    }

    async fn instances(&self, quota_project: Option<usize>) -> Instances {
        self.instances_as(self.credentials(quota_project)).await
    }

    async fn instances_as(&self, credentials: Credentials) -> Instances {
        let builder = Instances::builder().with_endpoint(self.server.url()).with_retry_policy(NeverRetry);
        builder.with_credentials(credentials).build().await.expect("a client")
    }

    async fn storage(&self) -> Storage {
        let builder = Storage::builder().with_endpoint(self.server.url()).with_retry_policy(NeverRetry);
        builder.with_credentials(self.credentials(None)).build().await.expect("a client")
    }

    fn counts(&self, action: &str) -> Counts {
        self.server.truth().snapshot().actions.get(action).copied().unwrap_or_default()
    }

    /// Requests granted and throttled, by account, of one operation.
    fn by_account(&self, operation: &str) -> BTreeMap<String, (u64, u64)> {
        let leaves = self.server.truth().snapshot().leaves.into_iter();
        let leaves = leaves.filter(|one| one.leaf.operation == operation);
        leaves.map(|one| (one.leaf.account, (one.counts.answered, one.counts.throttled))).collect()
    }
}

/// Quotas of these sizes.
fn sized(sizes: &[(Bucket, f64)]) -> Limits {
    sizes.iter().fold(Limits::default(), |limits, (bucket, size)| {
        let limit = limits.quota(*bucket).limit.resized(*size, *size).expect("a possible limit");
        limits.with(bucket.name(), limit).expect("a known bucket")
    })
}

/// What a refusal tells, as the client reads it.
#[derive(Debug, Default, PartialEq)]
struct Told {
    http: Option<u16>,
    code: String,
    message: String,
    reason: String,
    domain: String,
    metadata: BTreeMap<String, String>,
    retry_after: Option<std::time::Duration>,
}

impl Told {
    fn by(error: &Error) -> Self {
        let status = error.status().unwrap_or_else(|| panic!("not a service's error: {error:?}"));
        let mut told = Told {
            http: error.http_status_code(),
            code: status.code.name().to_owned(),
            message: status.message.clone(),
            ..Told::default()
        };
        for detail in &status.details {
            match detail {
                StatusDetails::ErrorInfo(info) => {
                    told.reason = info.reason.clone();
                    told.domain = info.domain.clone();
                    told.metadata = info.metadata.clone().into_iter().collect();
                }
                StatusDetails::RetryInfo(info) => {
                    told.retry_after = info.retry_delay.map(|delay| delay.try_into().expect("a delay"));
                }
                other => panic!("no other detail is told: {other:?}"),
            }
        }
        told
    }
}
