//! The command line.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::{Parser, ValueEnum};
use cloud_governor::{Config, ConfigError};

use super::report::LEGEND;
use crate::inventory::Log;
use crate::sim::Fault;
use crate::sim::gcp::Telling;
use crate::sim::gcp::pubsub::{Bucket, Limits, Pubsub};

/// The limits that the simulation has unless it is told otherwise, as the governor is told of them.
const BUILT_IN: &str = include_str!("../../pubsub.yaml");

/// Calls a second that the simulation grants a project, unless it is told otherwise. The service's own figures are thousands
/// of times these.
const RATES: [(Bucket, f64); 4] =
    [(Bucket::Publish, 20.0), (Bucket::Pull, 10.0), (Bucket::Acknowledge, 10.0), (Bucket::Administrator, 10.0)];

/// The most that a quota may grant in a second.
const HIGHEST: f64 = 1e9;

/// Publishes messages to a simulated Pub/Sub and pulls and acknowledges them again, with generated tonic clients whose
/// channels are governed; and tells what became of them.
///
/// Exit codes: 0 no message was lost; 1 some were, or something else went wrong; 2 the command line or the configuration is of
/// no use; 69, 74, 75, 76 some messages were lost, or no topic or subscription could be made, and the governor refused the last
/// call that failed (circuit open, attempts timed out, deadline, retry budget); 130 stopped by Ctrl-C.
#[derive(Clone, Debug, Parser)]
#[command(name = "pubsub", version, max_term_width = 110, after_help = format!("What the server counts:\n{LEGEND}"))]
#[non_exhaustive]
pub struct Args {
    /// Messages, shared out among the projects.
    #[arg(long, default_value_t = 9_000, value_name = "MESSAGES", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub messages: u32,
    /// Projects, each with a topic and a subscription.
    #[arg(long, default_value_t = 3, value_name = "PROJECTS", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub projects: u32,
    /// Messages of one publish.
    #[arg(long, default_value_t = 10, value_name = "MESSAGES", value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub batch: u32,
    /// Bytes of a message, at least. Pub/Sub counts what is published in kilobytes, each request one at least.
    #[arg(long, default_value_t = 64, value_name = "BYTES", value_parser = clap::value_parser!(u32).range(1..=3_000))]
    pub bytes: u32,
    /// Publishes at once, in each project.
    #[arg(long, default_value_t = 64, value_name = "CALLS", value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub in_flight: u32,
    /// How messages are pulled.
    #[arg(long, value_enum, default_value_t = Pulling::Unary)]
    pub pull: Pulling,
    /// Pullers, or streams, in each project.
    #[arg(long, default_value_t = 4, value_name = "PULLERS", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub pullers: u32,
    /// Without the governor: with the retry of the client library. A switch, which takes no value here.
    #[arg(long)]
    pub ungoverned: bool,
    /// When a run is given up, from its first call on, in which nothing goes on any more: no topic or subscription is made, and
    /// nothing is published or comes. Quotas of a --window need more than that window.
    #[arg(long, default_value = "20s", value_name = "TIME", value_parser = lasting)]
    pub patience: Duration,
    /// A quota of the simulation, per project and second: Publish=20, Pull=10, Acknowledge=10, administrator=10.
    #[arg(long = "limit", value_name = "QUOTA=RATE")]
    pub limits: Vec<Rate>,
    /// Quotas of whole windows of this length, as Google's are of minutes, in place of ones that refill all the time.
    #[arg(long, value_name = "TIME", value_parser = lasting)]
    pub window: Option<Duration>,
    /// Refusals that tell when to come again.
    #[arg(long)]
    pub retry_info: bool,
    /// How much faster than at Google ack deadlines and streams end.
    #[arg(long, default_value_t = 2, value_name = "TIMES", value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub hurry: u32,
    /// A planned failure of the simulation, such as down@1s+3s, brownout=0.1, fail=503*1/5, slow=200ms or cut=1/10.
    #[arg(long = "fault", value_name = "FAULT")]
    pub faults: Vec<Fault>,
    /// Decides the chances of faults.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// The governor's configuration, a YAML file, in place of examples/pubsub.yaml, which has the simulation's limits.
    #[arg(long, value_name = "FILE", conflicts_with = "ungoverned")]
    pub config: Option<PathBuf>,
    /// One JSON object on standard output instead of tables.
    #[arg(long)]
    pub json: bool,
    /// Events on standard error. RUST_LOG narrows or widens them.
    #[arg(long, value_enum, default_value_t = Log::Off, value_name = "FORM")]
    pub log: Log,
}

/// Who sees to it that calls succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Mode {
    /// The governor.
    Governed,
    /// The client library's own retry.
    Ungoverned,
}

/// How messages are pulled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[non_exhaustive]
pub enum Pulling {
    /// By one call after the other.
    Unary,
    /// By streams that stay open.
    Streaming,
}

/// What the simulation grants: `Publish=20`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    bucket: Bucket,
    per_second: f64,
}

/// A command line that is of no use.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UsageError {
    /// No quota.
    #[error("`{0}` is no quota: write it such as Publish=20; there are Publish, Pull, Acknowledge and administrator")]
    Rate(String),
    /// A quota of nothing, or of no end.
    #[error("a quota is above 0 and at most {HIGHEST}")]
    Extreme,
    /// A time that does not last.
    #[error("it has to be longer than 0")]
    NoTime,
    /// No time.
    #[error(transparent)]
    Time(#[from] humantime::DurationError),
    /// A quota that comes to less than one call in a second, which none would ever pass.
    #[error("--limit {0} is too little: without --window it has to be 1 at least")]
    Little(Rate),
    /// A quota that comes to less than one call in a window.
    #[error("--window {} is too short for --limit {rate}: that grants {} in a window, and has to grant 1 at least",
        humantime::format_duration(*window), rate.within(*window))]
    Short {
        /// The quota, as it was set or as it is by itself.
        rate: Rate,
        /// The window.
        window: Duration,
    },
    /// The governor's configuration.
    #[error(transparent)]
    Config(#[from] ConfigError),
}

impl FromStr for Rate {
    type Err = UsageError;

    fn from_str(text: &str) -> Result<Self, UsageError> {
        let known =
            |name: &str| Bucket::ALL.into_iter().find(|bucket| bucket.name().strip_prefix("pubsub.") == Some(name));
        let rate = text.split_once('=').and_then(|(name, rate)| Some((known(name)?, rate.parse().ok()?)));
        let (bucket, per_second) = rate.ok_or_else(|| UsageError::Rate(text.to_owned()))?;
        if per_second > 0.0 && per_second <= HIGHEST {
            Ok(Rate { bucket, per_second })
        } else {
            Err(UsageError::Extreme)
        }
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.bucket.name();
        write!(f, "{}={}", name.strip_prefix("pubsub.").unwrap_or(name), self.per_second)
    }
}

impl Rate {
    /// What is granted in a window.
    fn within(&self, window: Duration) -> f64 {
        self.per_second * window.as_secs_f64()
    }

    /// These limits, with this one.
    fn limit(self, limits: Limits, window: Option<Duration>) -> Result<Limits, UsageError> {
        // The rate and the window are above 0 and finite: there is nothing else that can be wrong with them.
        limits.per_second(self.bucket, self.per_second, window).map_err(|_| match window {
            None => UsageError::Little(self),
            Some(window) => UsageError::Short { rate: self, window },
        })
    }
}

/// A time that lasts.
fn lasting(text: &str) -> Result<Duration, UsageError> {
    let time = humantime::parse_duration(text)?;
    if time.is_zero() { Err(UsageError::NoTime) } else { Ok(time) }
}

impl Args {
    /// Who sees to it that calls succeed.
    pub fn mode(&self) -> Mode {
        if self.ungoverned { Mode::Ungoverned } else { Mode::Governed }
    }

    /// The simulated Pub/Sub.
    ///
    /// # Errors
    /// [`UsageError::Little`] and [`UsageError::Short`].
    pub fn pubsub(&self) -> Result<Pubsub, UsageError> {
        // A quota that is set twice is as it was set last.
        let set = |bucket| self.limits.iter().rev().find(|rate| rate.bucket == bucket).copied();
        let limits = RATES
            .into_iter()
            .map(|(bucket, per_second)| set(bucket).unwrap_or(Rate { bucket, per_second }))
            .try_fold(Limits::default(), |limits, rate| rate.limit(limits, self.window))?;
        let telling = Telling { retry_info: self.retry_info, ..Telling::default() };
        Ok(Pubsub::new(self.projects, limits).telling(telling).hurried(self.hurry))
    }

    /// The governor's settings: the file that is named or `pubsub.yaml`, under the environment.
    ///
    /// # Errors
    /// [`UsageError::Config`].
    pub fn settings(&self) -> Result<Config, UsageError> {
        let builder = match &self.config {
            Some(file) => Config::builder().file(file),
            None => Config::builder().yaml(BUILT_IN, "pubsub.yaml"),
        };
        Ok(builder.env().build()?)
    }

    /// How many messages each project has.
    pub(super) fn shares(&self) -> impl Iterator<Item = usize> {
        let (messages, projects) = (self.messages, self.projects.max(1));
        (0..projects).map(move |project| (messages / projects + u32::from(project < messages % projects)) as usize)
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    fn parse(line: &str) -> Result<Args, clap::Error> {
        Args::try_parse_from(line.split_whitespace())
    }

    #[test]
    fn the_command_line_is_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn messages_are_shared_out_to_the_last() {
        let shares = |line: &str| parse(line).expect("it parses").shares().collect::<Vec<_>>();
        assert_eq!(shares("pubsub --messages 10"), [4, 3, 3]);
        assert_eq!(shares("pubsub --messages 1 --projects 2"), [1, 0]);
    }

    #[test]
    fn quotas_are_set_by_name_and_cannot_be_nothing() {
        let pubsub = |line: &str| parse(line).expect("it parses").pubsub();
        assert!(pubsub("pubsub --limit Publish=5 --limit administrator=1 --window 2s").is_ok());
        assert!(pubsub("pubsub --limit Publish=0.5 --window 2s").is_ok());
        assert!(pubsub("pubsub --limit Publish=0.5 --limit Publish=5").is_ok());
        assert!(matches!(pubsub("pubsub --limit Publish=0.5"), Err(UsageError::Little(_))));
        assert!(matches!(pubsub("pubsub --limit Publish=0.5 --window 1s"), Err(UsageError::Short { .. })));
        for rate in ["Publish", "publish=5", "Publish=many", "StreamingPull=5", "Pull=-1", "Pull=NaN", "Pull=inf"] {
            assert!(parse(&format!("pubsub --limit {rate}")).is_err(), "{rate}");
        }
    }

    #[test]
    fn the_governor_is_told_less_than_what_the_simulation_grants() {
        let settings = parse("pubsub").expect("it parses").settings().expect("it is valid");
        for (bucket, rate) in RATES {
            let name = bucket.name();
            let (service, operation) = name.split_once('.').expect("a service and its quota");
            // Topics and subscriptions are made by one quota, and paced apart.
            let (operation, rate) =
                if bucket == Bucket::Administrator { ("CreateTopic", rate / 2.0) } else { (operation, rate) };
            let scope = cloud_governor::Scope::new("gcp", "projects/p", "", service).with_operation(operation);
            let limit = settings.provider("gcp").limits_for(&scope).max_rps();
            assert!(limit < rate && limit > rate * 0.9, "{name}: {limit}");
        }
    }
}
