//! Published limits: what a provider says that it grants, as data with its sources.
//!
//! A scope that nothing is configured for starts at what is published for it, instead of at a guess, and goes no faster
//! until the server itself teaches another limit. The chapter [`config`](crate::config#published-limits) says what holds where several are
//! known; `share` there leaves room for others, and `published: false` does without.
//!
//! An entry says what is counted, for whom, and how much of it is granted:
//!
//! | [`Counted`] | meaning |
//! |---|---|
//! | `Each` | each of the operations has a bucket of its own |
//! | `Together` | all of them take from one more bucket, besides their own |
//! | `Allowance` | so much in a long time, which may be used at once: told, but nothing to pace by |
//!
//! Limits of single resources (writes to one table, updates of one machine) are left out, as a call's scope does not name the
//! resource; so are limits that no call of an API meets, such as how many of something may exist.

mod aws;
mod aws_quotas;
mod azure;
mod gcp;
mod lookup;

use std::fmt;
use std::time::Duration;

use serde::Serialize;

use crate::scope::Verb;
pub(crate) use lookup::{fits, groups, is_match, knows_service, operations, own, shared_buckets, together};

/// One limit that a provider publishes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PublishedLimit {
    /// As in a [`Scope`](crate::Scope): `aws`, `azure`, `gcp`.
    pub provider: &'static str,
    /// As in a scope; `*` for every service of the provider.
    pub service: &'static str,
    /// Of calls with one of these verbs; of all where there is none.
    pub verbs: &'static [Verb],
    /// Of these operations; of all where there is none. One `*`, at the beginning or at the end, stands for any text.
    pub operations: &'static [&'static str],
    /// How they are counted.
    pub counted: Counted,
    /// How many are granted.
    pub grant: Grant,
    /// What is counted, if it is not calls: `instances`.
    pub unit: Option<&'static str>,
    /// When it holds, if not always.
    pub condition: Option<&'static str>,
    /// Where it is published.
    pub source: Source,
}

/// What has a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Counted {
    /// Each of the operations, in each account and region.
    Each,
    /// All of the operations together, besides what each has of its own.
    Together {
        /// The bucket's name, in kebab case.
        name: &'static str,
        /// Whose it is.
        per: Per,
    },
    /// Nothing is paced by it: so much in a day.
    Allowance,
}

/// Whose a bucket is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Per {
    /// Each account has one in each region.
    Region,
    /// Each account has one.
    Account,
    /// The organization has one for all its accounts. Nothing tells a scope's organization, so all are taken to be in one.
    Organization,
}

/// How much is granted.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Grant {
    /// So many
    pub calls: f64,
    /// in so long, and
    #[serde(rename = "per_seconds", serialize_with = "in_seconds")]
    pub per: Duration,
    /// so many at once after a rest.
    pub burst: f64,
    /// How they come.
    pub refill: Refill,
}

/// How a bucket refills.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Refill {
    /// All the time.
    Continuous,
    /// So much at once, at the end of each span.
    Steps,
    /// To the brim at once, at each full span of the clock on the wall: at 10:01:00.
    Windows,
}

/// Where a figure is published.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Source {
    /// The page.
    pub page: &'static str,
    /// When it was read: `2026-11`.
    pub read: &'static str,
    /// Its name there, if it has one: a quota code of Service Quotas.
    pub code: Option<&'static str>,
}

impl PublishedLimit {
    /// In calls (or units) per second.
    pub fn rps(&self) -> f64 {
        self.grant.calls / self.grant.per.as_secs_f64()
    }
}

/// Every limit that is known, by provider.
pub fn published() -> impl Iterator<Item = &'static PublishedLimit> {
    [aws::LIMITS, aws_quotas::LIMITS, azure::LIMITS, gcp::LIMITS].into_iter().flatten()
}

impl Per {
    /// Each of them.
    pub(crate) const ALL: [Per; 3] = [Per::Region, Per::Account, Per::Organization];

    /// As it is written in a document.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Per::Region => "region",
            Per::Account => "account",
            Per::Organization => "organization",
        }
    }
}

// ===== how the tables are written =====

impl PublishedLimit {
    const fn new(
        provider: &'static str,
        service: &'static str,
        counted: Counted,
        grant: Grant,
        source: Source,
    ) -> Self {
        PublishedLimit {
            provider,
            service,
            verbs: &[],
            operations: &[],
            counted,
            grant,
            unit: None,
            condition: None,
            source,
        }
    }

    /// Each of a service's operations has a bucket.
    const fn each(provider: &'static str, service: &'static str, grant: Grant, source: Source) -> Self {
        PublishedLimit::new(provider, service, Counted::Each, grant, source)
    }

    /// All of a service's operations take from one more bucket.
    const fn together(
        provider: &'static str,
        service: &'static str,
        name: &'static str,
        per: Per,
        grant: Grant,
        source: Source,
    ) -> Self {
        PublishedLimit::new(provider, service, Counted::Together { name, per }, grant, source)
    }

    const fn allowance(provider: &'static str, service: &'static str, grant: Grant, source: Source) -> Self {
        PublishedLimit::new(provider, service, Counted::Allowance, grant, source)
    }

    const fn of(self, operations: &'static [&'static str]) -> Self {
        PublishedLimit { operations, ..self }
    }

    const fn with_verbs(self, verbs: &'static [Verb]) -> Self {
        PublishedLimit { verbs, ..self }
    }

    /// Each call takes as many as it asks for.
    const fn counting(self, unit: &'static str) -> Self {
        PublishedLimit { unit: Some(unit), ..self }
    }

    const fn when(self, condition: &'static str) -> Self {
        PublishedLimit { condition: Some(condition), ..self }
    }
}

impl Grant {
    const fn new(calls: f64, per: Duration, burst: f64, refill: Refill) -> Self {
        let possible = calls > 0.0 && calls <= 1e9 && burst >= 1.0 && burst <= 1e9 && !per.is_zero();
        assert!(possible, "calls and burst must be above 0 and at most 1e9, the span not zero");
        Grant { calls, per, burst, refill }
    }

    /// A token bucket that refills all the time.
    const fn per_second(calls: f64, burst: f64) -> Self {
        Grant::new(calls, Duration::from_secs(1), burst, Refill::Continuous)
    }

    /// A rate that is published without a burst: one second's worth, and never less than a call.
    const fn rate(calls: f64) -> Self {
        Grant::per_second(calls, if calls > 1.0 { calls } else { 1.0 })
    }

    /// A bucket of `capacity` that gains `calls` at the end of each span.
    const fn steps(calls: f64, per: Duration, capacity: f64) -> Self {
        Grant::new(calls, per, capacity, Refill::Steps)
    }

    /// So many in each minute of the clock.
    const fn per_minute(calls: f64) -> Self {
        Grant::new(calls, Duration::from_secs(60), calls, Refill::Windows)
    }

    const fn per_day(calls: f64) -> Self {
        Grant::new(calls, Duration::from_secs(24 * 60 * 60), calls, Refill::Windows)
    }
}

impl Source {
    const fn new(page: &'static str, read: &'static str) -> Self {
        Source { page, read, code: None }
    }

    const fn code(self, code: &'static str) -> Self {
        Source { code: Some(code), ..self }
    }
}

fn in_seconds<S: serde::Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(duration.as_secs_f64())
}

/// As the tables of the providers write it: `20/s, burst 100`; `100/min`.
impl fmt::Display for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Grant { calls, per, burst, refill } = self;
        match per.as_secs() {
            1 => write!(f, "{calls}/s")?,
            60 => write!(f, "{calls}/min")?,
            86_400 => write!(f, "{calls}/day")?,
            seconds => write!(f, "{calls} in {seconds} s")?,
        }
        match refill {
            Refill::Windows => Ok(()),
            Refill::Continuous | Refill::Steps => write!(f, ", burst {burst}"),
        }
    }
}

#[cfg(test)]
mod tests;
