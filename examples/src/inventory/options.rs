//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, ValueEnum};

use super::mode::Plain;
use super::service::Service;
use super::text::{BucketSize, Size};
use crate::sim::Fault;

/// Lists what several AWS accounts hold in several regions, all at once, through one governor.
///
/// Without --endpoint-url, --profile or --region it starts a simulated AWS on loopback and lists that: the server then
/// says what it really saw. Exit codes: 0 everything was listed; 1 something was lost; 2 the command line or the
/// configuration is of no use; 69, 74, 75, 76 something was lost because the governor refused (circuit open, attempts
/// timed out, deadline, retry budget); 130 stopped by Ctrl-C.
#[derive(Clone, Debug, Parser)]
#[command(name = "inventory", version, max_term_width = 110)]
#[non_exhaustive]
pub struct Args {
    /// The simulated AWS.
    #[command(flatten)]
    pub simulation: Simulation,
    /// A real AWS or a compatible server at this URL, instead of the simulation.
    #[arg(long, value_name = "URL", conflicts_with_all = SIMULATION)]
    pub endpoint_url: Option<String>,
    /// A profile of the shared AWS configuration, one for each account. The default one if only a region is named.
    #[arg(long = "profile", value_name = "NAME", conflicts_with_all = SIMULATION)]
    pub profiles: Vec<String>,
    /// A region of the real accounts. The profile's own if none is named.
    #[arg(long = "region", value_name = "NAME", conflicts_with_all = SIMULATION)]
    pub region_names: Vec<String>,
    /// The governor's configuration, a YAML file, in place of examples/inventory.yaml, which has the simulation's limits.
    #[arg(long, value_name = "FILE", conflicts_with = "ungoverned")]
    pub config: Option<PathBuf>,
    /// The plain SDK with its own retries instead of the governor.
    #[arg(long, value_name = "MODE")]
    pub ungoverned: Option<Plain>,
    /// The services to list, separated by commas. Who is calling is asked in any case.
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = Service::all().to_vec(), value_name = "SERVICES")]
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

/// The simulated AWS: what it holds, how it throttles, and when it fails.
#[derive(Clone, Debug, clap::Args)]
#[non_exhaustive]
pub struct Simulation {
    /// Simulated accounts.
    #[arg(long, default_value_t = 3, value_name = "COUNT")]
    pub accounts: usize,
    /// Simulated regions of each account.
    #[arg(long, default_value_t = 4, value_name = "COUNT")]
    pub regions: usize,
    /// Decides what the simulated accounts hold, and the chances of faults.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// How much the simulated accounts hold in each region: small, default, large, or counts to set in the default,
    /// such as log_groups=10..80,secrets=5.
    #[arg(long, default_value = "default")]
    pub size: Size,
    /// A planned failure of the simulation, such as down@5s+3s, brownout=0.2:service=ssm, slow=200ms or cut=1/20.
    #[arg(long = "fault", value_name = "FAULT")]
    pub faults: Vec<Fault>,
    /// A bucket of the simulation at another size, such as logs.DescribeLogGroups=10/5: burst and calls per second, or one
    /// number for both. The governor is not told: give it a --config.
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
const SIMULATION: [&str; 6] = ["accounts", "regions", "seed", "size", "faults", "limits"];

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
    /// Lists this simulation, governed by this configuration file or by `examples/inventory.yaml`.
    pub fn of_simulation(simulation: Simulation, effort: Effort, config: Option<PathBuf>) -> Self {
        Args {
            simulation,
            effort,
            config,
            endpoint_url: None,
            profiles: Vec::new(),
            region_names: Vec::new(),
            ungoverned: None,
            services: Service::all().to_vec(),
            json: false,
            log: Log::Off,
        }
    }

    /// Whether the simulation is to be listed.
    pub fn simulated(&self) -> bool {
        self.endpoint_url.is_none() && self.profiles.is_empty() && self.region_names.is_empty()
    }
}

#[cfg(test)]
mod tests;
