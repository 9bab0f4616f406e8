//! Rules: which facts mean what.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::builder::RuleBuilder;
use super::{Class, Classification, Facts, GrpcCode, Resend, Transport, table};
use crate::Scope;

/// One line of the table: if every matcher it has finds its fact, this is the verdict.
///
/// Each matcher holds alternatives, of which one must fit. Texts are compared without case; codes, reasons, providers
/// and services whole, messages and quotas by part. Built by [`Rule::when`], or read from configuration:
///
/// ```yaml
/// - { code: SlowDownPlease, status: 420, class: throttled }
/// - { services: [batch, glue], message: [at capacity, try later], class: transient, resend: safe }
/// ```
///
/// | key | value |
/// |---|---|
/// | `code`, `status`, `reason`, `message`, `quota`, `grpc`, `transport` | what must fit: one value or a list; at least one key is required |
/// | `services` | optional: the services the rule is for, one or a list |
/// | `class` | required: `throttled`, `transient`, `locked` or `fatal` |
/// | `resend` | optional: `safe` or `if_idempotent`; as the class has it where missing (see [`Classification`]) |
/// | `pays_budget` | optional: `true` or `false`, which is the default |
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    pub(super) matchers: Matchers,
    pub(super) class: Class,
    pub(super) resend: Resend,
    pub(super) pays_budget: bool,
    pub(super) untold: Untold,
}

/// How long is waited where the answer asks for no wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Untold {
    /// The call's own backoff.
    Backoff,
    /// The same, but long from the first retry on.
    LongBackoff,
    /// Until the next full minute, and the scope with it.
    NextMinute,
    /// A whole minute, and the scope with it.
    Minute,
}

/// With the default backoff of half a second a call asks 16 times a minute for a quota that may be gone for the day
/// (<https://github.com/googleapis/python-pubsub/issues/970>). At this it begins with a dozen.
const LONG_BACKOFF: Duration = Duration::from_secs(5);

/// What a rule looks for. An empty list looks for nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Matchers {
    pub(super) provider: Option<String>,
    pub(super) services: Vec<String>,
    pub(super) codes: Vec<String>,
    pub(super) statuses: Vec<u16>,
    pub(super) reasons: Vec<String>,
    /// In lower case.
    pub(super) messages: Vec<String>,
    /// In lower case.
    pub(super) quotas: Vec<String>,
    pub(super) grpc: Vec<GrpcCode>,
    pub(super) transports: Vec<Transport>,
    /// Only where the answer has neither a reason nor a retry-after.
    pub(super) bare: bool,
    /// For every provider but the three clouds; while it is unknown, too.
    pub(super) outside_clouds: bool,
    /// Only where the answer says that a limit is used up, or asks for a wait.
    pub(super) held_off: bool,
}

impl Rule {
    /// Begins a rule.
    ///
    /// ```
    /// use cloud_governor::{Class, Resend, Rule};
    ///
    /// let rule = Rule::when().provider("github").status(403).message("secondary rate limit").then(Class::Throttled)?;
    /// let other = Rule::when().code("TryLater").resend(Resend::Safe).then(Class::Transient)?;
    /// # assert_ne!(rule, other);
    /// assert!(Rule::when().service("ec2").then(Class::Fatal).is_err(), "it would match every failure of ec2");
    /// # Ok::<(), cloud_governor::InvalidRule>(())
    /// ```
    pub fn when() -> RuleBuilder {
        RuleBuilder::new()
    }

    /// This rule for one provider alone, in place of any it had. It is how rules of a provider's own configuration get
    /// their provider. An empty name leaves the rule as it is.
    #[must_use]
    pub fn for_provider(mut self, provider: &str) -> Self {
        if !provider.trim().is_empty() {
            self.matchers.provider = Some(provider.to_ascii_lowercase());
        }
        self
    }

    /// What the rule concludes.
    pub fn class(&self) -> Class {
        self.class
    }

    fn verdict(&self, facts: &Facts<'_>) -> Classification {
        let retry_after = match (self.class, self.untold) {
            // It is not waited for.
            (Class::Fatal, _) => None,
            (_, Untold::NextMinute) => facts.retry_after().or_else(|| Some(facts.until_next_minute())),
            (_, Untold::Minute) => facts.retry_after().or(Some(Duration::from_secs(60))),
            (_, Untold::Backoff | Untold::LongBackoff) => facts.retry_after(),
        };
        let is_long = self.untold == Untold::LongBackoff && retry_after.is_none();
        Classification {
            class: self.class,
            retry_after,
            resend: self.resend,
            pays_budget: self.pays_budget,
            least_backoff: is_long.then_some(LONG_BACKOFF),
        }
    }
}

impl Matchers {
    pub(super) fn is_empty(&self) -> bool {
        self.codes.is_empty()
            && self.statuses.is_empty()
            && self.reasons.is_empty()
            && self.messages.is_empty()
            && self.quotas.is_empty()
            && self.grpc.is_empty()
            && self.transports.is_empty()
    }

    fn fit(&self, facts: &Facts<'_>, lower: &Lowered) -> bool {
        // While the provider is unknown, its own words (a code, a reason, a quota) are enough to tell it by; a bare status
        // is not. A service that is unknown is none of those asked for.
        let provider = match (&self.provider, &facts.provider) {
            (None, _) => true,
            (Some(wanted), Some(found)) => wanted.eq_ignore_ascii_case(found),
            (Some(_), None) => !(self.codes.is_empty() && self.reasons.is_empty() && self.quotas.is_empty()),
        };
        provider
            && is_one_of(&self.services, facts.service.as_deref())
            && is_one_of(&self.codes, facts.code.as_deref())
            && is_one_of(&self.reasons, facts.reason.as_deref())
            && fits(&self.statuses, facts.status)
            && fits(&self.grpc, facts.grpc)
            && fits(&self.transports, facts.transport)
            && contains_one_of(&self.messages, lower.message.as_deref())
            && contains_one_of(&self.quotas, lower.quota.as_deref())
            && (!self.bare || (facts.reason.is_none() && facts.retry_after().is_none()))
            && (!self.outside_clouds || !facts.provider.as_deref().is_some_and(is_cloud))
            && (!self.held_off || facts.is_held_off())
    }
}

fn is_cloud(provider: &str) -> bool {
    ["aws", "azure", "gcp"].iter().any(|cloud| cloud.eq_ignore_ascii_case(provider))
}

fn fits<T: PartialEq>(wanted: &[T], found: Option<T>) -> bool {
    wanted.is_empty() || found.is_some_and(|found| wanted.contains(&found))
}

fn is_one_of(wanted: &[String], found: Option<&str>) -> bool {
    wanted.is_empty() || found.is_some_and(|found| wanted.iter().any(|text| text.eq_ignore_ascii_case(found)))
}

fn contains_one_of(wanted: &[String], found: Option<&str>) -> bool {
    wanted.is_empty() || found.is_some_and(|found| wanted.iter().any(|part| found.contains(part.as_str())))
}

/// The texts that are searched by part, lowered once for all rules.
struct Lowered {
    message: Option<String>,
    quota: Option<String>,
}

impl Lowered {
    /// A server's message says what it says early on; a page of HTML is not read to its end.
    const LONGEST: usize = 8 * 1024;

    fn new(facts: &Facts<'_>) -> Self {
        let lower = |text: &str| text[..text.floor_char_boundary(Self::LONGEST)].to_ascii_lowercase();
        let message = facts.message.as_deref().map(lower);
        let quota = match (facts.quota.as_deref().map(lower), message.as_deref().and_then(named_limit)) {
            (Some(quota), Some(named)) => Some(format!("{quota} {named}")),
            (quota, named) => quota.or_else(|| named.map(str::to_owned)),
        };
        Lowered { message, quota }
    }
}

/// The limit that a message of Google's names, which is in lower case here: "Quota exceeded for quota metric 'Read requests'
/// and limit 'Read requests per minute' of service .. for consumer ..".
fn named_limit(message: &str) -> Option<&str> {
    let (_, metric) = message.split_once("quota exceeded for quota ")?;
    let (_, limit) = metric.split_once("and limit '")?;
    limit.split('\'').next()
}

// ===== the whole table =====

/// The rules in force: the user's in their order, then the built-in ones. The first that fits decides.
///
/// Cheap to clone.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Rules {
    user: Arc<[Rule]>,
}

impl Rules {
    /// The built-in rules alone.
    pub fn new() -> Self {
        Rules::default()
    }

    /// The verdict on a failed attempt. What no rule knows is [`Class::Fatal`].
    pub fn classify(&self, facts: &Facts<'_>) -> Classification {
        let lower = Lowered::new(facts);
        (self.user.iter().chain(table::built_in()))
            .find(|rule| rule.matchers.fit(facts, &lower))
            .map_or_else(Classification::fatal, |rule| rule.verdict(facts))
    }

    /// The verdict on an error of any type, by the facts in its source chain ([`Facts::from_error`]).
    pub fn classify_error(&self, scope: &Scope, error: &(dyn std::error::Error + 'static)) -> Classification {
        self.classify(&Facts::from_error(error).in_scope(scope))
    }

    /// The user's own rules, in order.
    pub fn user_rules(&self) -> &[Rule] {
        &self.user
    }
}

impl FromIterator<Rule> for Rules {
    /// These rules first, in this order, then the built-in ones.
    fn from_iter<I: IntoIterator<Item = Rule>>(rules: I) -> Self {
        Rules { user: rules.into_iter().collect() }
    }
}

impl fmt::Debug for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rules").field("user", &self.user).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
