//! What is set for single services, verbs of theirs and operations, and what follows for each.

use super::settings::{LawName, Limits, ProviderSettings, ThrottleSettings};
use crate::scope::{Scope, Verb};

/// What is set for single services, verbs of theirs and operations.
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

/// What is set for one `<service>`, `<service>:<verb>` or `<service>.<Operation>`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Override {
    pub(super) key: String,
    pub(super) per_operation: Option<bool>,
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

    fn is_verb(&self, service: &str, verb: Verb) -> bool {
        self.key
            .rsplit_once(':')
            .is_some_and(|(key, code)| code.eq_ignore_ascii_case(verb.code()) && key.eq_ignore_ascii_case(service))
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
    /// The bucket figures of a scope: of an operation, of a service's reads, writes or deletes, or of a service as a whole.
    /// Whose settings these are is settled; the scope's provider, account and region do not matter.
    ///
    /// Each figure is taken from the override of `<service>.<Operation>`, else from that of `<service>:<verb>`, else from
    /// that of the service, else from the provider. The burst goes with the rate: where an override sets a rate and no
    /// burst, the burst is one second's worth of that rate. Services and verbs are compared without regard to ASCII case,
    /// operations exactly.
    pub fn limits_for(&self, scope: &Scope) -> Limits {
        let mut max_rps = self.limits.ceiling();
        let mut burst = self.limits.known_burst();
        let mut floor_rps = self.services.floor_rps;
        for found in self.overrides(scope) {
            if let Some(rate) = found.max_rps {
                max_rps = rate;
                burst = None;
            }
            burst = found.burst.unwrap_or(burst);
            floor_rps = found.floor_rps.unwrap_or(floor_rps);
        }
        Limits::of(max_rps, burst, floor_rps)
    }

    /// How a scope slows down and recovers: under its own law, if an override names one. The same overrides hold as for
    /// [`limits_for`](Self::limits_for).
    pub fn throttle_for(&self, scope: &Scope) -> ThrottleSettings {
        let law = self.overrides(scope).filter_map(|found| found.law).last();
        ThrottleSettings { law: law.unwrap_or(self.throttle.law), ..self.throttle.clone() }
    }

    /// Whether a scope's operation has a bucket and a breaker of its own: there is an override for
    /// `<service>.<Operation>`, or its service is marked `per_operation`, or the service's reads, writes or deletes are.
    pub fn is_per_operation(&self, scope: &Scope) -> bool {
        scope.operation().is_some() && (self.operation(scope).is_some() || self.marks_operations(scope))
    }

    fn marks_operations(&self, scope: &Scope) -> bool {
        let says = |found: Option<&Override>| found.and_then(|found| found.per_operation);
        says(self.verb(scope)).or_else(|| says(self.service(scope))).unwrap_or(false)
    }

    /// What is set for a scope's service, then for a verb of it, and then for an operation.
    fn overrides(&self, scope: &Scope) -> impl Iterator<Item = &Override> {
        self.service(scope).into_iter().chain(self.verb(scope)).chain(self.operation(scope))
    }

    fn find(&self, is_it: impl Fn(&Override) -> bool) -> Option<&Override> {
        self.services.overrides.iter().find(|found| is_it(found))
    }

    fn service(&self, scope: &Scope) -> Option<&Override> {
        self.find(|found| found.is_service(scope.service()))
    }

    fn verb(&self, scope: &Scope) -> Option<&Override> {
        let verb = scope.verb()?;
        self.find(|found| found.is_verb(scope.service(), verb))
    }

    fn operation(&self, scope: &Scope) -> Option<&Override> {
        let operation = scope.operation()?;
        self.find(|found| found.is_operation(scope.service(), operation))
    }
}
