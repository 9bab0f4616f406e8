//! What is set for single services and operations, and what follows for each.

use super::settings::{LawName, Limits, ProviderSettings, ThrottleSettings};

/// What is set for single services and operations.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Services {
    /// The provider's floor before its own rate lowered it.
    pub(super) floor_rps: f64,
    pub(super) overrides: Vec<Override>,
}

impl Default for Services {
    fn default() -> Self {
        Services { floor_rps: Limits::DEFAULT_FLOOR_RPS, overrides: Vec::new() }
    }
}

/// What is set for one `<service>` or `<service>.<Operation>`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Override {
    pub(super) key: String,
    pub(super) per_operation: bool,
    pub(super) law: Option<LawName>,
    /// The inner one is none where it is said to be unknown; so is that of the burst.
    pub(super) max_rps: Option<Option<f64>>,
    pub(super) burst: Option<Option<f64>>,
    pub(super) floor_rps: Option<f64>,
}

impl Override {
    fn is_service(&self, service: &str) -> bool {
        self.key.eq_ignore_ascii_case(service)
    }

    /// A service's name may hold dots itself (`storage.blob`), so the key is compared whole, never split.
    fn is_operation(&self, service: &str, operation: &str) -> bool {
        self.key
            .strip_suffix(operation)
            .and_then(|rest| rest.strip_suffix('.'))
            .is_some_and(|key| key.eq_ignore_ascii_case(service))
    }
}

impl ProviderSettings {
    /// The bucket figures of an operation, or of a service as a whole.
    ///
    /// Each figure is taken from the override of `<service>.<Operation>`, else from that of the service, else from
    /// the provider. The burst goes with the rate: where an override sets a rate and no burst, the burst is one
    /// second's worth of that rate. Services are compared without regard to ASCII case, operations exactly.
    pub fn limits_for(&self, service: &str, operation: Option<&str>) -> Limits {
        let mut max_rps = self.limits.ceiling();
        let mut burst = self.limits.known_burst();
        let mut floor_rps = self.services.floor_rps;
        for found in self.overrides(service, operation) {
            if let Some(rate) = found.max_rps {
                max_rps = rate;
                burst = None;
            }
            burst = found.burst.unwrap_or(burst);
            floor_rps = found.floor_rps.unwrap_or(floor_rps);
        }
        Limits::of(max_rps, burst, floor_rps)
    }

    /// How an operation, or a service as a whole, slows down and recovers: under its own law, if an override names one.
    pub fn throttle_for(&self, service: &str, operation: Option<&str>) -> ThrottleSettings {
        let law = self.overrides(service, operation).filter_map(|found| found.law).last();
        ThrottleSettings { law: law.unwrap_or(self.throttle.law), ..self.throttle.clone() }
    }

    /// What is set for a service and then for an operation of it.
    fn overrides(&self, service: &str, operation: Option<&str>) -> impl Iterator<Item = &Override> {
        let of_operation = operation.and_then(|operation| self.operation(service, operation));
        self.service(service).into_iter().chain(of_operation)
    }

    /// Whether an operation has a bucket and a breaker of its own: its service is marked `per_operation`, or there
    /// is an override for `<service>.<Operation>`.
    pub fn is_per_operation(&self, service: &str, operation: Option<&str>) -> bool {
        operation.is_some_and(|operation| {
            self.operation(service, operation).is_some()
                || self.service(service).is_some_and(|found| found.per_operation)
        })
    }

    fn service(&self, service: &str) -> Option<&Override> {
        self.services.overrides.iter().find(|found| found.is_service(service))
    }

    fn operation(&self, service: &str, operation: &str) -> Option<&Override> {
        self.services.overrides.iter().find(|found| found.is_operation(service, operation))
    }
}
