//! How a refused call is told of the quota that refused it.

use std::time::Duration;

use hyper::StatusCode;
use serde_json::{Map, Value, json};

use super::limits::Owner;
use super::operation::Service;
use super::wire::Error;
use super::{Bucket, Fleet, Project};
use crate::sim::Limit;

/// How much a refusal of Cloud Asset tells. Compute's and Storage's tell no more than that there is a quota.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Telling {
    /// Whether it tells anything but that there is a quota: an `ErrorInfo` with the reason, whose quota it is and
    /// which.
    pub error_info: bool,
    /// Whether it tells the quota's size, in `quota_limit_value`.
    pub limit_value: bool,
    /// Whether it tells when there is more, in a `RetryInfo`. Google's are reported without.
    pub retry_info: bool,
}

impl Default for Telling {
    /// As reported: everything but when to come again.
    fn default() -> Self {
        Telling { error_info: true, limit_value: true, retry_info: false }
    }
}

/// Google's names for a bucket: the quota's metric, its limit, and what a message calls both.
///
/// `apiSearchAllResourcesQpmPerProject` and the messages of SearchAllIamPolicies are reported by callers; the others
/// are made after them.
struct Names {
    metric: &'static str,
    limit: &'static str,
    shown: &'static str,
}

impl Names {
    fn of(bucket: Bucket) -> Option<Self> {
        let list = |limit| Names { metric: "list_assets_requests", limit, shown: "ListAssets Requests" };
        let search =
            |limit| Names { metric: "search_all_resources_requests", limit, shown: "SearchAllResources Requests" };
        Some(match bucket {
            Bucket::ListAssets => list("apiListAssetsQpmPerProject"),
            Bucket::ListAssetsPerDay => list("ListAssetsRequestsPerDayPerProject"),
            Bucket::OrganizationListAssets => list("apiListAssetsQpmPerOrganization"),
            Bucket::OrganizationListAssetsPerDay => list("ListAssetsRequestsPerDayPerOrganization"),
            Bucket::SearchAllResources => search("apiSearchAllResourcesQpmPerProject"),
            Bucket::OrganizationSearchAllResources => search("apiSearchAllResourcesQpmPerOrganization"),
            Bucket::ComputeLists | Bucket::ComputeReads | Bucket::StorageReads => return None,
        })
    }
}

/// A quota that is used up.
pub(super) struct UsedUp<'a> {
    pub(super) bucket: Bucket,
    /// Its size.
    pub(super) limit: Limit,
    /// How long until it has more.
    pub(super) wait: Duration,
    /// The project that the call is charged to.
    pub(super) consumer: Option<&'a Project>,
}

impl UsedUp<'_> {
    /// The refusal, in the words of the service.
    pub(super) fn error(&self, service: Service, fleet: &Fleet, telling: Telling) -> Error {
        match (service, Names::of(self.bucket)) {
            (Service::CloudAsset, Some(names)) => self.modern(fleet, &names, telling),
            (Service::Storage, _) => {
                let message = "The bucket exceeded the rate limit for object read operations. Please reduce your \
                               request rate. See https://cloud.google.com/storage/docs/gcs429.";
                Error::new(StatusCode::TOO_MANY_REQUESTS, message)
            }
            _ => {
                let error = Error::new(StatusCode::FORBIDDEN, "Rate Limit Exceeded");
                Error { legacy: ("usageLimits", "rateLimitExceeded"), ..error }
            }
        }
    }

    fn modern(&self, fleet: &Fleet, names: &Names, telling: Telling) -> Error {
        if !telling.error_info {
            return Error::failed(StatusCode::TOO_MANY_REQUESTS);
        }
        let Names { metric, limit, shown } = names;
        let host = Service::CloudAsset.host();
        let number = self.consumer.or(fleet.home()).map(|project| project.number).unwrap_or_default();
        let (per, unit, seconds) =
            if self.bucket.is_daily() { ("day", "d", 86_400.0) } else { ("minute", "min", 60.0) };
        let owner = match self.bucket.owner() {
            Owner::Organization => "organization",
            _ => "project",
        };
        let message = format!(
            "Quota exceeded for quota metric '{shown}' and limit '{shown} per {per}' of service '{host}' for consumer \
             'project_number:{number}'."
        );
        let mut metadata = Map::from_iter(
            [
                ("consumer", format!("projects/{number}")),
                ("service", host.to_owned()),
                ("quota_metric", format!("{host}/{metric}")),
                ("quota_limit", (*limit).to_owned()),
                ("quota_location", "global".to_owned()),
                ("quota_unit", format!("1/{unit}/{{{owner}}}")),
            ]
            .map(|(name, value)| (name.to_owned(), Value::from(value))),
        );
        if telling.limit_value {
            // So many a minute or a day, as the unit says, whatever the window is in which they come.
            let value = (self.limit.refill_per_s() * seconds).round();
            metadata.insert("quota_limit_value".to_owned(), value.to_string().into());
        }
        let mut error = Error::new(StatusCode::TOO_MANY_REQUESTS, message).because("RATE_LIMIT_EXCEEDED", metadata);
        if telling.retry_info {
            let delay = format!("{}.{:09}s", self.wait.as_secs(), self.wait.subsec_nanos());
            error.details.push(json!({
                "@type": "type.googleapis.com/google.rpc.RetryInfo",
                "retryDelay": delay,
            }));
        }
        error
    }
}
