//! What holds for the calls of a scope, under a configuration.

use std::fmt;

use cloud_governor::{Config, Counts, Limits, Scope};
use comfy_table::Table;
use comfy_table::presets::UTF8_BORDERS_ONLY;
use serde::Serialize;

/// The buckets that a scope's calls take from: all that stands in their way before anything is learned.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Holding {
    /// Whether its provider is governed at all.
    governed: bool,
    /// How many of its account's attempts may be in flight.
    slots: usize,
    /// Its own bucket first, and then those that it shares.
    buckets: Vec<Held>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct Held {
    bucket: String,
    grant: Option<Grant>,
    counts: &'static str,
    known: Known,
}

/// How many, in how long, and how many at once after a rest. All of an aligned window's may go at once.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
struct Grant {
    calls: f64,
    per_seconds: u64,
    burst: f64,
    aligned: bool,
}

/// Where the figures are from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Known {
    Published,
    Configured,
    Unknown,
}

impl Holding {
    /// What holds for calls of this scope.
    pub fn of(scope: &Scope, config: &Config) -> Self {
        let settings = config.provider(scope.provider());
        let own = if settings.is_per_operation(scope) { scope.clone() } else { scope.service_scope() };
        let own = Held::new(&own, settings.limits_for(scope));
        let shared = settings.shared_for(scope);
        let shared = shared.iter().map(|limit| Held::new(&limit.scope, limit.limits));
        Holding {
            governed: config.enabled() && settings.enabled,
            slots: settings.account_concurrency.get(),
            buckets: std::iter::once(own).chain(shared).collect(),
        }
    }
}

impl Held {
    fn new(bucket: &Scope, limits: Limits) -> Self {
        let window = limits.window().map(|window| window.as_secs());
        let grant = limits.ceiling().map(|rps| {
            let per_seconds = window.unwrap_or(1);
            Grant { calls: rps * per_seconds as f64, per_seconds, burst: limits.burst(), aligned: window.is_some() }
        });
        let known = match grant {
            Some(_) if limits.is_published() => Known::Published,
            Some(_) => Known::Configured,
            None => Known::Unknown,
        };
        let counts = if limits.counts() == Counts::Units { "units" } else { "calls" };
        Held { bucket: bucket.to_string(), grant, counts, known }
    }
}

impl fmt::Display for Holding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.governed {
            return writeln!(f, "not governed (enabled: false): each call is made once, directly");
        }
        let mut table = Table::new();
        table.load_style(UTF8_BORDERS_ONLY);
        table.set_header(["bucket", "grant", "counts", "from"]);
        for Held { bucket, grant, counts, known } in &self.buckets {
            let (grant, from) = match (grant, known) {
                (None, _) => (format!("starts at {} a second", Limits::START_RPS), "nobody knows: it finds out"),
                (Some(grant), Known::Published) => (grant.to_string(), "published"),
                (Some(grant), _) => (grant.to_string(), "configured"),
            };
            table.add_row([bucket.as_str(), &grant, counts, from]);
        }
        writeln!(f, "{table}")?;
        writeln!(f, "and at most {} attempts of the account in flight", self.slots)
    }
}

impl fmt::Display for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Grant { calls, per_seconds: 60, aligned: true, .. } => write!(f, "{calls} in each full minute"),
            Grant { calls, per_seconds, aligned: true, .. } => {
                write!(f, "{calls} in each {per_seconds} s of the clock")
            }
            Grant { calls, burst, .. } => write!(f, "{calls} a second, {burst} at once"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holding(scope: &str, yaml: &str) -> Holding {
        let config = Config::builder().yaml(yaml, "test").build().expect("a configuration");
        Holding::of(&scope.parse().expect("a scope"), &config)
    }

    fn rows(scope: &str, yaml: &str) -> Vec<String> {
        let shown = holding(scope, yaml).to_string();
        let rows = shown.lines().filter(|line| line.contains('/'));
        rows.map(|row| row.trim_matches('│').split_whitespace().collect::<Vec<_>>().join(" ")).collect()
    }

    #[test]
    fn what_is_published_for_an_operation_and_for_what_it_shares_holds_by_itself() {
        let run = rows("aws/123456789012/eu-west-1/ec2/RunInstances", "");
        assert!(run[0].starts_with("aws/123456789012/eu-west-1/ec2/RunInstances 2 a second,"), "{run:?}");
        assert!(run[0].ends_with("calls published"), "{run:?}");
        assert!(run[1].contains("/run-instances 2 a second,") && run[1].contains(" units "), "{run:?}");
        let list = rows("gcp/projects%2Fp/*/cloudasset/ListAssets", "");
        assert!(list[0].contains("100 in each full minute calls published"), "{list:?}");
    }

    #[test]
    fn what_is_configured_takes_its_place_and_what_nobody_knows_is_found_out() {
        let yaml = "ratelimit: { aws: { services: { ec2.RunInstances: { max_rps: 7, burst: 9 } } } }";
        let configured = rows("aws/1/eu-west-1/ec2/RunInstances", yaml);
        assert_eq!(configured[0], "aws/1/eu-west-1/ec2/RunInstances 7 a second, 9 at once calls configured");
        let unknown = rows("github/octo/*/rest/ListRepos", "");
        assert_eq!(unknown, ["github/octo/*/rest starts at 20 a second calls nobody knows: it finds out"]);
    }

    #[test]
    fn a_provider_that_is_disabled_is_said_to_be() {
        let shown = holding("aws/1/*/sts", "ratelimit: { aws: { enabled: false } }").to_string();
        assert!(shown.starts_with("not governed (enabled: false)"), "{shown}");
    }
}
