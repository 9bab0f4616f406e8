//! Errors, and the details that go with them.

use std::collections::HashMap;
use std::time::Duration;

use hyper::StatusCode;
use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt};

use super::{Bucket, HOST, Project};
use crate::sim::Limit;
use crate::sim::gcp::Telling;

/// Whose errors those are that every Google API has in common.
const GOOGLE: &str = "googleapis.com";

/// Google's names for a bucket: the quota's metric and limit, and what a message calls both. Those of the administrator's are
/// reported by callers (teslamotors/fleet-telemetry#289); the others are made after them.
fn names(bucket: Bucket) -> (&'static str, &'static str, &'static str) {
    match bucket {
        Bucket::Publish => {
            ("regionalpublisher", "regionalpublisherPerMinutePerProject", "Regional publisher throughput, kB")
        }
        Bucket::Pull => {
            ("regionalsubscriber", "regionalsubscriberPerMinutePerProject", "Regional subscriber throughput, kB")
        }
        Bucket::Acknowledge => {
            ("regionalacknowledger", "regionalacknowledgerPerMinutePerProject", "Regional acknowledger throughput, kB")
        }
        Bucket::Administrator => ("administrator", "administratorPerMinutePerProject", "Administrator operations"),
    }
}

/// The refusal of a bucket that is used up for so long.
pub(super) fn used_up(bucket: Bucket, limit: Limit, wait: Duration, project: &Project, telling: Telling) -> Status {
    if !telling.error_info {
        return failed(StatusCode::TOO_MANY_REQUESTS);
    }
    let (metric, name, shown) = names(bucket);
    let number = project.number;
    let message = format!(
        "Quota exceeded for quota metric '{shown}' and limit '{shown} per minute' of service '{HOST}' for consumer \
         'project_number:{number}'."
    );
    let mut metadata = metadata(&[
        ("consumer", &format!("projects/{number}")),
        ("service", HOST),
        ("quota_metric", &format!("{HOST}/{metric}")),
        ("quota_limit", name),
        ("quota_location", "global"),
    ]);
    if telling.limit_value {
        // So many a minute, as the name says, however long the window is in which they come.
        metadata.insert("quota_limit_value".to_owned(), (limit.refill_per_s() * 60.0).round().to_string());
    }
    let mut details = ErrorDetails::with_error_info("RATE_LIMIT_EXCEEDED", GOOGLE, metadata);
    if telling.retry_info {
        details.set_retry_info(Some(wait));
    }
    Status::with_error_details(Code::ResourceExhausted, message, details)
}

/// The refusal of a caller who names a project that it may not charge.
pub(super) fn denied(project: &str) -> Status {
    let message = format!(
        "Caller does not have required permission to use project {project}. Grant the caller the \
         roles/serviceusage.serviceUsageConsumer role, or a custom role with the serviceusage.services.use permission."
    );
    let metadata = metadata(&[("consumer", &format!("projects/{project}")), ("service", HOST)]);
    let details = ErrorDetails::with_error_info("USER_PROJECT_DENIED", GOOGLE, metadata);
    Status::with_error_details(Code::PermissionDenied, message, details)
}

fn metadata(pairs: &[(&str, &str)]) -> HashMap<String, String> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// A service's own failure. What goes for which is said by the comments of `google/rpc/code.proto`.
pub(super) fn failed(status: StatusCode) -> Status {
    match status.as_u16() {
        400 => Status::invalid_argument("Request contains an invalid argument."),
        401 => Status::unauthenticated("Request had invalid authentication credentials."),
        403 => Status::permission_denied("The caller does not have permission"),
        404 => Status::not_found("Resource not found."),
        409 => Status::aborted("The operation was aborted."),
        429 => Status::resource_exhausted("Resource has been exhausted (e.g. check quota)."),
        499 => Status::cancelled("The operation was cancelled."),
        500 => Status::internal("Internal error encountered."),
        501 => Status::unimplemented("Operation is not implemented, or supported, or enabled."),
        503 => Status::unavailable("The service was unable to fulfill your request. Please try again."),
        504 => Status::deadline_exceeded("Deadline expired before operation could complete."),
        _ => Status::unknown("The request failed."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(telling: Telling) -> Status {
        let limit = Limit::new(20.0, 20.0).expect("a possible limit");
        used_up(Bucket::Publish, limit, Duration::from_millis(50), &Project::numbered(1), telling)
    }

    #[test]
    fn a_refusal_tells_whose_quota_is_used_up_and_how_many_a_minute_there_are() {
        let status = refused(Telling { retry_info: true, ..Telling::default() });
        assert_eq!(status.code(), Code::ResourceExhausted);
        let details = status.get_error_details();
        let info = details.error_info().expect("an ErrorInfo");
        assert_eq!((info.reason.as_str(), info.domain.as_str()), ("RATE_LIMIT_EXCEEDED", GOOGLE));
        assert_eq!(info.metadata["consumer"], "projects/100000000001");
        assert_eq!(info.metadata["quota_limit_value"], "1200");
        let retry = details.retry_info().and_then(|info| info.retry_delay);
        assert_eq!(retry, Some(Duration::from_millis(50)));
    }

    #[test]
    fn a_refusal_tells_no_more_than_it_is_let() {
        let status = refused(Telling { error_info: false, ..Telling::default() });
        assert!(status.details().is_empty());
        let details = refused(Telling { limit_value: false, ..Telling::default() }).get_error_details();
        assert!(details.retry_info().is_none());
        assert!(!details.error_info().expect("an ErrorInfo").metadata.contains_key("quota_limit_value"));
    }
}
