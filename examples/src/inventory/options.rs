//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::NonEmptyStringValueParser;
use clap::{Parser, ValueEnum, value_parser};

use super::cloud::{Cloud, Clouds};
use super::mode::Plain;
use super::service::Service;
use super::text::{BucketSize, Size};
use super::usage::UsageError;
use super::world::distinct;
use crate::program::may_have_token;
use crate::sim::{Fault, gcp};

/// Lists what several AWS accounts hold in several regions, or several Azure subscriptions, or several projects of Google
/// Cloud, all at once, through one governor.
///
/// Unless --endpoint-url, --profile, --region, --subscription or --project names a real place, it starts a simulated cloud
/// on loopback and lists that: the server then says what it really saw. Exit codes: 0 everything was listed; 1 something
/// was lost; 2 the command line or the configuration is of no use; 69, 74, 75, 76 something was lost because the governor
/// refused (circuit open, attempts timed out, deadline, retry budget); 130 stopped by Ctrl-C.
#[derive(Clone, Debug, Parser)]
#[command(name = "inventory", version, max_term_width = 110)]
#[non_exhaustive]
pub struct Args {
    /// The cloud to list, or all of them at once.
    #[arg(long, value_enum, default_value_t = Clouds::Aws, value_name = "CLOUD")]
    pub cloud: Clouds,
    /// The simulation.
    #[command(flatten)]
    pub simulation: Simulation,
    /// Simulated subscriptions of Azure.
    #[arg(long, default_value_t = 3, value_name = "COUNT")]
    pub subscriptions: usize,
    /// Simulated projects of Google Cloud.
    #[arg(long, default_value_t = 3, value_name = "COUNT")]
    pub projects: usize,
    /// How long the minutes of Google's simulated quotas are, up to an hour. What a minute grants is granted in each, so that shorter ones
    /// make for quick runs.
    #[arg(long, default_value = "60s", value_name = "TIME", value_parser = humantime::parse_duration)]
    pub minute: Duration,
    /// How much of such a minute is left when the simulation starts, whatever the clock shows. Google's are those of the
    /// clock, and so are the simulation's, unless said otherwise.
    #[arg(long = "minute-left", value_name = "TIME", value_parser = humantime::parse_duration)]
    pub left_of_minute: Option<Duration>,
    /// The assets in each page of Google's lists: as many as Google's default, unless said otherwise.
    #[arg(long, default_value_t = gcp::PAGE, value_name = "ROWS", value_parser = value_parser!(u32).range(1..=i64::from(gcp::LARGEST_SEARCH_PAGE)))]
    pub asset_page: u32,
    /// A real cloud or a compatible server at this URL, instead of the simulation.
    #[arg(long, value_name = "URL", conflicts_with_all = SIMULATION)]
    pub endpoint_url: Option<String>,
    /// A profile of the shared AWS configuration, one for each account. The default one if only a region is named.
    #[arg(long = "profile", value_name = "NAME", conflicts_with_all = SIMULATION)]
    pub profiles: Vec<String>,
    /// A region of the real accounts. The profile's own if none is named.
    #[arg(long = "region", value_name = "NAME", conflicts_with_all = SIMULATION)]
    pub region_names: Vec<String>,
    /// A real subscription of Azure, by its id. Whoever is signed in to the Azure CLI or the Azure Developer CLI asks.
    #[arg(long = "subscription", value_name = "ID", conflicts_with_all = SIMULATION, value_parser = NonEmptyStringValueParser::new())]
    pub subscription_ids: Vec<String>,
    /// A real project of Google Cloud, by its id. The application default credentials ask.
    #[arg(long = "project", value_name = "ID", conflicts_with_all = SIMULATION, value_parser = NonEmptyStringValueParser::new())]
    pub project_ids: Vec<String>,
    /// A zone of the real projects, whose instances are listed.
    #[arg(long = "zone", value_name = "NAME", requires = "project_ids", value_parser = NonEmptyStringValueParser::new())]
    pub zones: Vec<String>,
    /// The governor's configuration, a YAML file. Without one it goes by the limits that the clouds publish.
    #[arg(long, value_name = "FILE", conflicts_with = "ungoverned")]
    pub config: Option<PathBuf>,
    /// The plain SDK with its own retries instead of the governor.
    #[arg(long, value_name = "MODE")]
    pub ungoverned: Option<Plain>,
    /// The governor does not slow down ahead of a throttle by what Azure's answers say is left.
    #[arg(long, conflicts_with = "ungoverned")]
    pub ignore_quota_headers: bool,
    /// The services to list, separated by commas; all of the cloud, unless named. Who is calling is asked of AWS in any
    /// case.
    #[arg(long, value_enum, value_delimiter = ',', value_name = "SERVICES")]
    pub services: Vec<Service>,
    /// How the job goes about it.
    #[command(flatten)]
    pub effort: Effort,
    /// One JSON object on standard output instead of tables.
    #[arg(long)]
    pub json: bool,
    /// Events on standard error. RUST_LOG narrows or widens them.
    #[arg(long, value_enum, default_value_t = Log::Off, value_name = "FORM")]
    pub log: Log,
}

/// The simulation: what it holds, how it throttles, and when it fails.
#[derive(Clone, Debug, clap::Args)]
#[non_exhaustive]
pub struct Simulation {
    /// Simulated accounts of AWS.
    #[arg(long, default_value_t = 3, value_name = "COUNT")]
    pub accounts: usize,
    /// Simulated regions of each account.
    #[arg(long, default_value_t = 4, value_name = "COUNT")]
    pub regions: usize,
    /// Decides what the simulated accounts hold, and the chances of faults.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// How much the simulated accounts hold in each region, and the subscriptions and projects: small, default, large, or counts to set
    /// in the default, such as log_groups=10..80,secrets=5.
    #[arg(long, default_value = "default")]
    pub size: Size,
    /// A planned failure of the simulation, such as down@5s+3s, brownout=0.2:service=ssm, fail=429*0.1, slow=200ms
    /// or cut=1/20.
    #[arg(long = "fault", value_name = "FAULT")]
    pub faults: Vec<Fault>,
    /// A bucket of the simulation at another size, such as logs.DescribeLogGroups=10/5: burst and calls per second (or per
    /// whatever period the bucket refills by), or one number for both. The governor is not told: give it a --config.
    #[arg(long = "limit", value_name = "BUCKET=BURST[/RATE]")]
    pub limits: Vec<BucketSize>,
}

/// How many calls are made at once, and how often what gave up is tried again.
#[derive(Clone, Debug, clap::Args)]
#[non_exhaustive]
pub struct Effort {
    /// How many calls of one listing are under way at once.
    #[arg(long, default_value_t = 16, value_name = "CALLS")]
    pub fan_out: usize,
    /// How often a listing that gave up is queued again.
    #[arg(long, default_value_t = 8, value_name = "TIMES")]
    pub max_requeues: u32,
    /// How long it waits then, where the refusal does not say.
    #[arg(long, default_value = "2s", value_name = "TIME", value_parser = humantime::parse_duration)]
    pub requeue_pause: Duration,
    /// Nothing is queued again once this time has passed and nothing at all was ever answered: the server is not there.
    #[arg(long, default_value = "30s", value_name = "TIME", value_parser = humantime::parse_duration)]
    pub patience: Duration,
}

/// What is about the simulation alone.
const SIMULATION: [&str; 10] = [
    "accounts",
    "regions",
    "subscriptions",
    "projects",
    "minute",
    "left_of_minute",
    "seed",
    "size",
    "faults",
    "limits",
];

/// The longest that a minute of the simulation may be.
const LONGEST_MINUTE: Duration = Duration::from_secs(60 * 60);

/// The form of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[non_exhaustive]
pub enum Log {
    /// None.
    Off,
    /// For people.
    Text,
    /// One JSON object in each line.
    Json,
}

impl Args {
    /// Lists this simulation of AWS, governed by this configuration file or by what AWS publishes.
    pub fn of_simulation(simulation: Simulation, effort: Effort, config: Option<PathBuf>) -> Self {
        Args {
            cloud: Clouds::Aws,
            simulation,
            subscriptions: 0,
            projects: 0,
            minute: Duration::from_secs(60),
            left_of_minute: None,
            asset_page: gcp::PAGE,
            effort,
            config,
            endpoint_url: None,
            profiles: Vec::new(),
            region_names: Vec::new(),
            subscription_ids: Vec::new(),
            project_ids: Vec::new(),
            zones: Vec::new(),
            ungoverned: None,
            ignore_quota_headers: false,
            services: Service::of(Cloud::Aws).collect(),
            json: false,
            log: Log::Off,
        }
    }

    /// Whether the simulation is to be listed.
    pub fn simulated(&self) -> bool {
        self.endpoint_url.is_none()
            && self.profiles.is_empty()
            && self.region_names.is_empty()
            && self.subscription_ids.is_empty()
            && self.project_ids.is_empty()
    }

    /// The services to list, each once: those that are named, or all of the chosen clouds.
    pub fn listed(&self) -> Vec<Service> {
        if self.services.is_empty() {
            self.cloud.each().iter().copied().flat_map(Service::of).collect()
        } else {
            distinct(&self.services)
        }
    }

    /// Finds what cannot go together and is not for the parser to know.
    ///
    /// # Errors
    /// The first such thing.
    pub fn check(&self) -> Result<(), UsageError> {
        if self.cloud == Clouds::All && !self.simulated() {
            return Err(UsageError::OneRealCloud);
        }
        let foreign = |options, named: bool, cloud| match named && !self.cloud.has(cloud) {
            true => Err(UsageError::Foreign(options, cloud)),
            false => Ok(()),
        };
        let of_aws = !self.profiles.is_empty() || !self.region_names.is_empty();
        foreign("--profile and --region are", of_aws, Cloud::Aws)?;
        foreign("--subscription is", !self.subscription_ids.is_empty(), Cloud::Azure)?;
        foreign("--project is", !self.project_ids.is_empty(), Cloud::Gcp)?;
        self.check_endpoint()?;
        if let Some(cloud) = [Cloud::Azure, Cloud::Gcp].into_iter().find(|cloud| self.cloud.has(*cloud))
            && self.ungoverned == Some(Plain::Adaptive)
        {
            return Err(UsageError::Adaptive(cloud));
        }
        self.check_services()?;
        let (minute, left) = (self.minute, self.left_of_minute.unwrap_or(self.minute));
        if left.is_zero() || left > minute || minute > LONGEST_MINUTE {
            return Err(UsageError::Minute { minute, left });
        }
        match self.simulation.limits.iter().find(|limit| !self.cloud.has(limit.cloud())) {
            Some(limit) => Err(UsageError::Limit(limit.clone())),
            None => Ok(()),
        }
    }

    /// Whether there is something to ask the server for, and whether it may be told a token.
    fn check_endpoint(&self) -> Result<(), UsageError> {
        let Some(url) = self.endpoint_url.as_deref() else { return Ok(()) };
        let (named, safe) = match self.cloud {
            Clouds::Azure => (!self.subscription_ids.is_empty(), url.starts_with("https://")),
            Clouds::Gcp => (!self.project_ids.is_empty(), may_have_token(url)),
            Clouds::Aws | Clouds::All => return Ok(()),
        };
        match self.cloud.each().first() {
            Some(cloud) if !named => Err(UsageError::NothingNamed(*cloud)),
            Some(cloud) if !safe => Err(UsageError::NoTls(*cloud)),
            _ => Ok(()),
        }
    }

    fn check_services(&self) -> Result<(), UsageError> {
        let services = self.listed();
        if let Some(service) = services.iter().find(|service| !self.cloud.has(service.cloud())) {
            return Err(UsageError::Service(*service));
        }
        // Of AWS there is something to list in any case: who is calling.
        let idle = |cloud: &Cloud| self.cloud.has(*cloud) && !services.iter().any(|one| one.cloud() == *cloud);
        if let Some(cloud) = [Cloud::Azure, Cloud::Gcp].into_iter().find(idle) {
            return Err(UsageError::NothingOf(cloud));
        }
        let zoneless = !self.project_ids.is_empty() && self.zones.is_empty();
        if zoneless && services.contains(&Service::ComputeEngine) { Err(UsageError::NoZone) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests;
