//! A simulated Google Cloud: Cloud Asset Inventory, Compute Engine and Cloud Storage, on one server, over a seeded
//! [`Fleet`].
//!
//! Paths, JSON and errors are those that the official clients speak and read. A client comes here by its builder's
//! `with_endpoint`, with the [`credentials`] of the fleet's caller: all three services are at the same URL.
//!
//! # Quotas
//! A call of Cloud Asset is charged to the project that the client names in `x-goog-user-project`, else to the
//! caller's own, and to the organization besides; one of Compute to the project it asks about; one of Storage to the
//! bucket it reads ([`Limits`]). Quotas are of whole minutes of the cloud's clock, the same for everybody: at the end of
//! each, all is there again, and what was left over is gone. A refused call costs nothing. The `Date` of an answer is by
//! the same clock.
//!
//! # Errors
//! Cloud Asset refuses with 429, `RESOURCE_EXHAUSTED` and an `ErrorInfo` that names the quota, as far as [`Telling`]
//! lets it; Compute with 403 and the reason `rateLimitExceeded` in `errors`, the older form; Storage with 429 in the
//! older form.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use hyper::StatusCode;
use hyper::http::request::Parts;

use super::{Answer, BucketKey, Call, Cloud, Draw, Ideal, Leaf, Verdict};

mod assets;
mod compute;
mod fleet;
mod identity;
mod limits;
mod operation;
pub mod pubsub;
mod quota;
mod route;
mod storage;
mod wire;

pub use fleet::{
    AssetKind, Caller, Fleet, FleetError, FleetSize, Instance, ObjectState, Project, StorageBucket, Totals,
};
pub use identity::credentials;
pub use limits::{Bucket, Limits};
pub use operation::{Operation, Service};
pub use quota::Telling;
pub use route::Ask;

use limits::Owner;
use quota::UsedUp;
use wire::Error;

/// The rows of a page of Cloud Asset, if the client does not say. For ListAssets Google publishes it, for
/// SearchAllResources not.
pub const PAGE: u32 = 100;

/// The most rows of a page of ListAssets.
pub const LARGEST_ASSET_PAGE: u32 = 1_000;

/// The most rows of a page of SearchAllResources.
pub const LARGEST_SEARCH_PAGE: u32 = 500;

/// The most rows of a page of Compute, and as many as there are if the client does not say.
pub const COMPUTE_PAGE: u32 = 500;

/// The simulated Google Cloud. Start it with [`Server::start`](super::Server::start).
#[derive(Debug)]
pub struct Gcp {
    fleet: Fleet,
    limits: Limits,
    telling: Telling,
}

impl Gcp {
    /// A Google Cloud with this organization and these quotas.
    pub fn new(fleet: Fleet, limits: Limits) -> Self {
        Gcp { fleet, limits, telling: Telling::default() }
    }

    /// With refusals that tell so much.
    pub fn telling(self, telling: Telling) -> Self {
        Gcp { telling, ..self }
    }

    /// Its organization, and what it holds.
    pub fn fleet(&self) -> &Fleet {
        &self.fleet
    }

    /// Its quotas.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The least wall time for a job of so many requests per project and operation.
    ///
    /// A leaf that names no operation of this cloud weighs nothing: no bucket would refuse it. Nor do the reads of a
    /// storage bucket, since no leaf tells which bucket was asked for.
    pub fn ideal<'a>(&self, job: impl IntoIterator<Item = (&'a Leaf, u64)>) -> Ideal {
        Ideal::of(job.into_iter().map(|(leaf, requests)| {
            let operation = Operation::find(&leaf.service, &leaf.operation);
            let buckets = operation.into_iter().flat_map(|operation| self.limits.buckets(operation));
            let buckets = buckets.filter(|bucket| bucket.owner() != Owner::StorageBucket);
            (requests, buckets.map(|bucket| self.draw(leaf, bucket, "")).collect())
        }))
    }

    fn draw(&self, leaf: &Leaf, bucket: Bucket, storage_bucket: &str) -> Draw {
        let quota = self.limits.quota(bucket);
        let (account, name) = match bucket.owner() {
            Owner::Project => (leaf.account.clone(), quota.bucket.to_owned()),
            Owner::Organization => (format!("organizations/{}", self.fleet.organization()), quota.bucket.to_owned()),
            Owner::StorageBucket => (leaf.account.clone(), format!("{} of {storage_bucket}", quota.bucket)),
        };
        Draw { key: BucketKey { account, region: leaf.region.clone(), name }, limit: quota.limit, cost: 1 }
    }

    /// The project of a leaf.
    fn project(&self, leaf: &Leaf) -> Option<&Project> {
        self.fleet.project(leaf.account.strip_prefix("projects/")?)
    }

    /// The project that a request is charged to.
    fn charged(&self, ask: &Ask, head: &Parts) -> Result<&Project, Error> {
        match ask.operation.service() {
            service @ Service::CloudAsset => identity::consumer(service, &self.fleet, head),
            Service::Compute => {
                let id = ask.place.parent.strip_prefix("projects/").unwrap_or_default();
                let project = self.fleet.project(id);
                project.ok_or_else(|| Error::not_found(format!("Failed to find project {id}")))
            }
            Service::Storage => {
                let bucket = self.fleet.bucket(&ask.place.bucket);
                let (project, _) = bucket.ok_or_else(|| Error::not_found("The specified bucket does not exist."))?;
                Ok(project)
            }
        }
    }
}

impl Cloud for Gcp {
    type Detail = Ask;

    fn identify(&self, number: u64, head: &Parts, body: Bytes) -> Result<Call<Ask>, Box<Answer>> {
        let service = route::service(head.uri.path());
        let refuse = |error| Box::new(wire::error(service, &error));
        identity::authenticate(service, &self.fleet, head).map_err(refuse)?;
        let ask = Ask::of(head).ok_or_else(|| refuse(Error::not_found("The requested URL was not found.")))?;
        let account = self.charged(&ask, head).map_err(refuse)?.account();
        let (service, operation) = (service.name().to_owned(), ask.operation.name().to_owned());
        let leaf = Leaf { account, region: String::new(), service, operation };
        Ok(Call { number, leaf, body, detail: ask })
    }

    fn draws(&self, call: &Call<Ask>) -> Vec<Vec<Draw>> {
        let Ask { operation, place, .. } = &call.detail;
        vec![self.limits.buckets(*operation).map(|bucket| self.draw(&call.leaf, bucket, &place.bucket)).collect()]
    }

    fn answer(&self, call: &Call<Ask>) -> Answer {
        let Call { leaf, detail: ask, .. } = call;
        let service = ask.operation.service();
        let found = match (service, self.project(leaf)) {
            (Service::CloudAsset, _) => assets::answer(&self.fleet, leaf, ask),
            (Service::Compute, Some(project)) => compute::answer(project, leaf, ask),
            (Service::Compute, None) => Err(Error::not_found("Failed to find project")),
            (Service::Storage, _) => match self.fleet.bucket(&ask.place.bucket) {
                Some((_, bucket)) => return storage::answer(bucket, ask),
                None => Err(Error::not_found("The specified bucket does not exist.")),
            },
        };
        match found {
            Ok(body) => wire::json(StatusCode::OK, &body),
            Err(error) => wire::error(service, &error),
        }
    }

    fn throttled(&self, call: &Call<Ask>, verdict: &Verdict) -> Answer {
        let Ask { operation, .. } = call.detail;
        let refused = verdict.refused_by.and_then(|index| self.limits.buckets(operation).nth(index));
        let service = operation.service();
        let error = match refused {
            Some(bucket) => {
                let limit = self.limits.quota(bucket).limit;
                let used_up = UsedUp { bucket, limit, wait: verdict.wait, consumer: self.project(&call.leaf) };
                used_up.error(service, &self.fleet, self.telling)
            }
            None => Error::failed(StatusCode::TOO_MANY_REQUESTS),
        };
        wire::error(service, &error)
    }

    fn failed(&self, call: &Call<Ask>, status: StatusCode) -> Answer {
        wire::error(call.detail.operation.service(), &Error::failed(status))
    }

    fn clock(&self, now: Duration) -> Option<SystemTime> {
        self.limits.start().checked_add(now)
    }
}
