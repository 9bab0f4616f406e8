//! What the status of a gRPC call says.

use cloud_governor::classify::error_details;
use cloud_governor::{Facts, GrpcCode};

use super::Told;
use super::details::{Details, MOST};
use crate::target::PROVIDER;

impl Told<'static> {
    /// Reads a status, and the details that it carries.
    pub(crate) fn of_status(status: &tonic::Status) -> Self {
        let carried = error_details(status);
        let mut details = Details::default();
        if let Some(info) = carried.error_info() {
            details.error_info(&info.reason, |key| info.metadata.get(key).map(String::as_str));
        }
        details.wait(carried.retry_info().and_then(|info| info.retry_delay));
        for violation in carried.quota_failure().iter().flat_map(|failure| &failure.violations).take(MOST) {
            details.violation(&violation.quota_id, &violation.description);
        }
        let facts = Facts::new().provider(PROVIDER).headers(status.metadata().as_ref());
        let facts = match GrpcCode::from_number(i32::from(status.code())) {
            Some(code) => facts.grpc(code),
            None => facts,
        };
        details.told(facts, status.message())
    }
}

#[cfg(test)]
mod tests;
