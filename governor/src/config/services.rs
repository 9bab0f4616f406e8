//! What is set for single services, verbs of theirs and operations, what their provider publishes, and what follows for each.

use std::num::NonZeroU32;

use super::bounds::MOST_RPS;
use super::settings::{Counts, LawName, Limits, ProviderSettings, ThrottleSettings};
use crate::catalogue::{self, Counted, Grant, Per, PublishedLimit, Refill};
use crate::scope::{Scope, Verb};

/// What is set for single services, verbs of theirs and operations, and for the buckets that they share.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Services {
    /// The provider's floor before its own rate lowered it.
    pub(super) floor_rps: f64,
    pub(super) overrides: Vec<Override>,
    pub(super) shared: Vec<SharedOverride>,
}

impl Default for Services {
    fn default() -> Self {
        Services { floor_rps: Limits::DEFAULT_FLOOR_RPS, overrides: Vec::new(), shared: Vec::new() }
    }
}

/// How many calls are granted, as it is set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Rate {
    /// It is said that nobody knows.
    Unknown,
    /// `max_rps`.
    PerSecond(f64),
    /// `per_minute`.
    PerMinute(f64),
}

/// What is set of one bucket.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Figures {
    pub(super) rate: Option<Rate>,
    /// The inner one is none where it is said to be unknown.
    pub(super) burst: Option<Option<f64>>,
    pub(super) floor_rps: Option<f64>,
    pub(super) counts: Option<Counts>,
}

/// What is set for one `<service>`, `<service>:<verb>` or `<service>.<Operation>`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Override {
    pub(super) key: String,
    pub(super) per_operation: Option<bool>,
    pub(super) law: Option<LawName>,
    pub(super) share: Option<f64>,
    pub(super) figures: Figures,
}

/// What is set for a bucket that operations share.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SharedOverride {
    /// None where services share it.
    pub(super) service: Option<String>,
    pub(super) name: String,
    pub(super) enabled: Option<bool>,
    pub(super) operations: Option<Vec<String>>,
    pub(super) verbs: Option<Vec<Verb>>,
    pub(super) per: Option<Per>,
    pub(super) law: Option<LawName>,
    pub(super) figures: Figures,
}

/// A bucket that a scope's calls take from besides their own, as [`ProviderSettings::shared_for`] finds it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SharedLimit {
    /// Whose it is: the parts that those who share it have in common, and its name in an operation's place.
    pub scope: Scope,
    /// Its figures.
    pub limits: Limits,
    /// How it slows down and recovers.
    pub throttle: ThrottleSettings,
}

/// In seconds.
pub(super) const MINUTE: NonZeroU32 = NonZeroU32::new(60).unwrap();

/// Figures as they are put together, from the least exact to the most.
#[derive(Clone, Copy)]
struct Known {
    rate: Rate,
    burst: Option<f64>,
    floor_rps: f64,
    counts: Counts,
    published: bool,
}

impl Known {
    fn over(mut self, set: &Figures) -> Known {
        if let Some(rate) = set.rate {
            self = Known { rate, burst: None, published: false, ..self };
        }
        self.burst = set.burst.unwrap_or(self.burst);
        self.floor_rps = set.floor_rps.unwrap_or(self.floor_rps);
        self.counts = set.counts.unwrap_or(self.counts);
        self
    }

    fn limits(self, share: f64) -> Limits {
        let limits = match self.rate {
            Rate::Unknown => Limits::of(None, self.burst, self.floor_rps),
            Rate::PerSecond(rate) => Limits::of(Some(rate), self.burst, self.floor_rps),
            Rate::PerMinute(calls) => Limits::in_windows(calls, MINUTE, self.floor_rps),
        };
        let limits = limits.counting(self.counts);
        if self.published { limits.as_published() } else { limits }.shared_out(share)
    }
}

/// How long before its time a call may arrive, as timers and networks are not even: so much less than the published burst is
/// used at once, which the server's bucket then holds ready for ever.
const UNEVEN_SECONDS: f64 = 0.25;

/// Of a quota that comes in steps whose time nobody knows, at least this share is used at an even rate.
const EVEN_SHARE: f64 = 0.9;

impl Grant {
    /// How the grant can be used without ever being refused, by the only one to use it.
    fn known(&self, floor_rps: f64, counts: Counts) -> Known {
        let (rps, least) = (self.calls / self.per.as_secs_f64(), 1.0);
        let (rate, burst) = match self.refill {
            Refill::Continuous => (rps, self.burst - rps * UNEVEN_SECONDS),
            // The burst and what comes until the next step are together what the full bucket holds.
            Refill::Steps if self.burst - self.calls >= self.calls * (1.0 - EVEN_SHARE) => {
                (rps, self.burst - self.calls)
            }
            Refill::Steps => (rps * EVEN_SHARE, self.burst - self.calls * EVEN_SHARE),
            Refill::Windows if self.per.as_secs() == 60 => {
                let rate = Rate::PerMinute(self.calls.min(MOST_RPS));
                return Known { rate, burst: None, floor_rps, counts, published: true };
            }
            Refill::Windows => (rps * EVEN_SHARE, self.calls * (1.0 - EVEN_SHARE)),
        };
        let (rate, burst) = (Rate::PerSecond(rate.min(MOST_RPS)), Some(burst.clamp(least, MOST_RPS)));
        Known { rate, burst, floor_rps, counts, published: true }
    }
}

impl PublishedLimit {
    /// So many in each minute of the clock, all of which may be used at once.
    pub(super) fn is_by_the_minute(&self) -> bool {
        matches!(self.known(Limits::DEFAULT_FLOOR_RPS).rate, Rate::PerMinute(_))
    }

    fn known(&self, floor_rps: f64) -> Known {
        let counts = if self.unit.is_some() { Counts::Units } else { Counts::Calls };
        self.grant.known(floor_rps, counts)
    }
}

/// What is published of a scope's own bucket; else of a bucket that it shares, which it cannot go faster than.
fn published(scope: &Scope) -> Option<&'static PublishedLimit> {
    let shared =
        || catalogue::together(scope).filter(|limit| limit.unit.is_none()).min_by(|a, b| a.rps().total_cmp(&b.rps()));
    catalogue::own(scope).or_else(shared)
}

/// Whose a shared bucket is: what the scopes that share it have in common.
fn shared_scope(scope: &Scope, per: Per, of_service: bool, verbs: &[Verb], name: &str) -> Scope {
    let (account, region) = match per {
        Per::Region => (scope.account(), scope.region()),
        Per::Account => (scope.account(), ""),
        Per::Organization => ("", ""),
    };
    let service = if of_service { scope.service() } else { "" };
    let verb = if let [verb] = verbs { Some(*verb) } else { None };
    Scope::new(scope.provider(), account, region, service).with_verb(verb).with_operation(name)
}

impl SharedOverride {
    fn is_named(&self, service: Option<&str>, name: &str) -> bool {
        let same_service = match (&self.service, service) {
            (Some(own), Some(service)) => own.eq_ignore_ascii_case(service),
            (None, None) => true,
            _ => false,
        };
        same_service && self.name == name
    }

    fn is_of(&self, scope: &Scope) -> bool {
        self.service.as_ref().is_none_or(|service| service.eq_ignore_ascii_case(scope.service()))
    }

    /// Whether it counts the scope's calls, by the verbs and operations that are set here.
    fn may_fit(&self, scope: &Scope) -> bool {
        let operations = self.operations.as_deref().unwrap_or_default();
        catalogue::fits(self.verbs.as_deref().unwrap_or_default(), operations.iter().map(String::as_str), scope)
    }
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

    /// The length of the beginning that it gives operations, if the operation has it: of `ec2.Describe*`.
    fn pattern(&self, service: &str, operation: &str) -> Option<usize> {
        let (of_service, start) = self.key.strip_suffix('*')?.split_at_checked(service.len())?;
        let start = start.strip_prefix('.')?;
        let is_it = of_service.eq_ignore_ascii_case(service) && operation.starts_with(start);
        is_it.then_some(start.len())
    }
}

impl ProviderSettings {
    /// The bucket figures of a scope: of an operation, of a service's reads, writes or deletes, or of a service as a whole.
    /// Whose settings these are is settled; the scope's provider, account and region do not matter.
    ///
    /// Each figure is taken from the override of `<service>.<Operation>`, else from that of the longest
    /// `<service>.<Beginning>*`, else from that of `<service>:<verb>`, else from that of the service. Where none of them sets a rate,
    /// what the provider [publishes](crate::catalogue) for the scope holds; where it publishes nothing, the provider's settings. The
    /// burst goes with the rate: where an override sets a rate and no burst, the burst is one second's worth of that rate. Services
    /// and verbs are compared without regard to ASCII case, operations exactly. Of what is known the
    /// [share](ProviderSettings::share) is taken.
    pub fn limits_for(&self, scope: &Scope) -> Limits {
        let wide = self.wide(scope);
        self.overrides(scope).fold(wide, |known, found| known.over(&found.figures)).limits(self.share_for(scope))
    }

    /// What holds for a scope where no override says otherwise.
    fn wide(&self, scope: &Scope) -> Known {
        let floor_rps = self.services.floor_rps;
        let generic = match (self.limits.ceiling(), self.limits.window()) {
            (None, _) => Rate::Unknown,
            (Some(rps), None) => Rate::PerSecond(rps),
            (Some(rps), Some(window)) => Rate::PerMinute(rps * window.as_secs_f64()),
        };
        let (burst, counts) = (self.limits.known_burst(), self.limits.counts());
        let generic = Known { rate: generic, burst, floor_rps, counts, published: false };
        let is_set = self.overrides(scope).any(|found| found.figures.rate.is_some());
        let published = if is_set || !self.published { None } else { published(scope) };
        published.map_or(generic, |limit| limit.known(floor_rps))
    }

    /// Whether a scope has the burst that is set under `key`: nothing narrower sets another, and its calls do not come by the minute.
    pub(super) fn uses_burst(&self, scope: &Scope, key: &str) -> bool {
        let (mut known, mut is_used) = (self.wide(scope), false);
        for found in self.overrides(scope) {
            known = known.over(&found.figures);
            let sets_it = found.figures.rate.is_some() || found.figures.burst.is_some();
            is_used = (is_used && !sets_it) || (found.key == key && !matches!(known.rate, Rate::PerMinute(_)));
        }
        is_used
    }

    /// The buckets that a scope's calls take from besides their own, the narrowest first: those that are set under `shared`,
    /// and those that the provider publishes.
    pub fn shared_for(&self, scope: &Scope) -> Vec<SharedLimit> {
        self.shared(scope, false)
    }

    /// What is set for a bucket that the scope shares or once shared. It is the same one as long as it is the same's, whichever
    /// operations it counts.
    pub(crate) fn limit_of_shared(&self, whose: &Scope, scope: &Scope) -> Option<SharedLimit> {
        self.shared(scope, true).into_iter().find(|limit| limit.scope == *whose)
    }

    /// Also those that count other calls of the scope's service only, if `whatever` they count is wanted.
    fn shared(&self, scope: &Scope, whatever: bool) -> Vec<SharedLimit> {
        let published = self.published.then(|| catalogue::groups(scope)).into_iter().flatten();
        let published = published.filter_map(|limit| self.published_shared(scope, limit, whatever));
        let set = self.services.shared.iter().filter(|set| set.is_of(scope));
        let mut found: Vec<(Per, SharedLimit)> = Vec::new();
        for (per, limit) in published.chain(set.filter_map(|set| self.own_shared(scope, set, whatever))) {
            // What is published and what is set for it are one bucket, and nobody takes from one twice.
            if found.iter().all(|(_, known)| known.scope != limit.scope) {
                found.push((per, limit));
            }
        }
        found.sort_by_key(|(per, limit)| (*per as u8, limit.scope.service() == "*"));
        found.into_iter().map(|(_, limit)| limit).collect()
    }

    /// A published bucket, with what is set for it.
    fn published_shared(&self, scope: &Scope, limit: &PublishedLimit, whatever: bool) -> Option<(Per, SharedLimit)> {
        let Counted::Together { name, per } = limit.counted else { return None };
        let service = limit.of_service();
        let set = self.services.shared.iter().find(|set| set.is_named(service, name));
        let verbs = set.and_then(|set| set.verbs.as_deref()).unwrap_or(limit.verbs);
        let fits = match set.and_then(|set| set.operations.as_ref()) {
            _ if whatever => true,
            Some(operations) => catalogue::fits(verbs, operations.iter().map(String::as_str), scope),
            None => catalogue::fits(verbs, limit.operations.iter().copied(), scope),
        };
        if !fits || set.is_some_and(|set| set.enabled == Some(false)) {
            return None;
        }
        let known = limit.known(self.services.floor_rps);
        let known = set.map_or(known, |set| known.over(&set.figures));
        let per = set.and_then(|set| set.per).unwrap_or(per);
        let whose = shared_scope(scope, per, service.is_some(), verbs, name);
        Some((per, self.shared_limit(whose, known, set.and_then(|set| set.law))))
    }

    /// A bucket that nothing is published of.
    fn own_shared(&self, scope: &Scope, set: &SharedOverride, whatever: bool) -> Option<(Per, SharedLimit)> {
        let unknown = Known {
            rate: Rate::Unknown,
            burst: None,
            floor_rps: self.services.floor_rps,
            counts: Counts::Calls,
            published: false,
        };
        let (per, verbs) = (set.per.unwrap_or(Per::Region), set.verbs.as_deref().unwrap_or_default());
        let is_published =
            |limit: &PublishedLimit| limit.shared_name().is_some_and(|name| set.is_named(limit.of_service(), name));
        let is_its_own = set.figures.rate.is_some() && !(self.published && catalogue::groups(scope).any(is_published));
        (is_its_own && set.enabled != Some(false) && (whatever || set.may_fit(scope))).then(|| {
            let whose = shared_scope(scope, per, set.service.is_some(), verbs, &set.name);
            (per, self.shared_limit(whose, unknown.over(&set.figures), set.law))
        })
    }

    /// Of the share that is set for what those who share it have in common, whichever of them comes first.
    fn shared_limit(&self, whose: Scope, known: Known, law: Option<LawName>) -> SharedLimit {
        let throttle = ThrottleSettings { law: law.unwrap_or(self.throttle.law), ..self.throttle.clone() };
        let limits = known.limits(self.share_for(&whose.service_scope()));
        SharedLimit { scope: whose, limits, throttle }
    }

    /// The share of what is known that a scope may use.
    fn share_for(&self, scope: &Scope) -> f64 {
        self.overrides(scope).filter_map(|found| found.share).last().unwrap_or(self.share)
    }

    /// How a scope slows down and recovers: under its own law, if an override names one. The same overrides hold as for
    /// [`limits_for`](Self::limits_for).
    pub fn throttle_for(&self, scope: &Scope) -> ThrottleSettings {
        let law = self.overrides(scope).filter_map(|found| found.law).last();
        ThrottleSettings { law: law.unwrap_or(self.throttle.law), ..self.throttle.clone() }
    }

    /// Whether a scope's operation has a bucket and a breaker of its own: there is an override for
    /// `<service>.<Operation>`, or its service is marked `per_operation`, or the service's reads, writes or deletes are, or
    /// nothing is said and the provider publishes a limit of the operation's own.
    pub fn is_per_operation(&self, scope: &Scope) -> bool {
        let is_published = || self.published && catalogue::own(scope).is_some_and(|limit| limit.service != "*");
        scope.operation().is_some()
            && (self.operation(scope).or(self.pattern(scope)).is_some()
                || self.marks_operations(scope).unwrap_or_else(is_published))
    }

    fn marks_operations(&self, scope: &Scope) -> Option<bool> {
        let says = |found: Option<&Override>| found.and_then(|found| found.per_operation);
        says(self.verb(scope)).or_else(|| says(self.service(scope)))
    }

    /// What is set for a scope's service, then for a verb of it, and then for an operation.
    fn overrides(&self, scope: &Scope) -> impl Iterator<Item = &Override> {
        self.service(scope).into_iter().chain(self.verb(scope)).chain(self.pattern(scope)).chain(self.operation(scope))
    }

    fn pattern(&self, scope: &Scope) -> Option<&Override> {
        let operation = scope.operation()?;
        let fitting = self.services.overrides.iter().filter_map(|found| {
            let length = found.pattern(scope.service(), operation)?;
            Some((length, found))
        });
        fitting.max_by_key(|(length, _)| *length).map(|(_, found)| found)
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
