//! The command line.

use std::path::PathBuf;

use clap::Parser;

use super::contender::{Contender, Load};
use crate::inventory::{self, Effort, Log, Simulation};

/// Runs the inventory's job governed and with the plain SDK, one after the other, each on a simulated AWS of its own with
/// the same seed, and sets side by side what the servers saw.
///
/// Exit codes: 0 every run finished and the governed ones lost nothing; 1 a governed run lost something; 2 the command
/// line or the configuration is of no use; 69, 74, 75, 76 a governed run lost something because the governor refused
/// (circuit open, attempts timed out, deadline, retry budget); 130 stopped by Ctrl-C, which leaves the rows that are
/// complete.
#[derive(Clone, Debug, Parser)]
#[command(name = "compare", version, max_term_width = 110)]
#[non_exhaustive]
pub struct Args {
    /// Who is compared, in this order.
    #[arg(long = "mode", value_name = "MODES", value_enum, value_delimiter = ',', default_values_t = Contender::ALL)]
    pub modes: Vec<Contender>,
    /// Over which services, in this order.
    #[arg(long = "job", value_name = "JOBS", value_enum, value_delimiter = ',', default_values_t = Load::all().to_vec())]
    pub jobs: Vec<Load>,
    /// The simulated AWS.
    #[command(flatten)]
    pub simulation: Simulation,
    /// How the job goes about it.
    #[command(flatten)]
    pub effort: Effort,
    /// The configuration of `governed`, a YAML file. Without one it goes by the limits that AWS publishes.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// One JSON object on standard output instead of tables.
    #[arg(long, conflicts_with = "markdown")]
    pub json: bool,
    /// Tables in Markdown.
    #[arg(long)]
    pub markdown: bool,
    /// Events on standard error. RUST_LOG narrows or widens them.
    #[arg(long, value_enum, default_value_t = Log::Off, value_name = "FORM")]
    pub log: Log,
}

impl Args {
    /// The runs, in their order.
    pub(super) fn runs(&self) -> Vec<(Load, Contender)> {
        self.jobs.iter().flat_map(|load| self.modes.iter().map(|contender| (*load, *contender))).collect()
    }

    /// The job that all runs have in common.
    pub(super) fn job(&self) -> inventory::Args {
        let mut job = inventory::Args::of_simulation(self.simulation.clone(), self.effort.clone(), self.config.clone());
        job.log = self.log;
        job
    }
}

#[cfg(test)]
mod tests;
