//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;
use cloud_governor::{Config, ConfigError, PolicyError, RetryPolicy};

use super::read::Object;
use crate::inventory::Log;
use crate::program::{self, may_have_token};
use crate::sim::Fault;
use crate::sim::gcp::FleetSize;

/// Reads one object of Cloud Storage through Google's own client, governed, and tells how that ended: by a line, an event
/// and an exit code.
///
/// Unless --endpoint names a server, it starts a simulated Cloud Storage on loopback. That has one bucket with the objects
/// `exports/part 000000.csv` to `exports/part 000005.csv`. Nobody may read the last but one, and the last is never to be had
/// (503).
///
/// Exit codes: 0 read; 65 the bytes broke off too often; 66 the service says no; 69 the circuit is open; 73 all attempts
/// failed; 75 the deadline could not be kept; 76 the retry budget is empty; 1 anything
/// else; 2 the command line or the configuration is of no use; 130 stopped by Ctrl-C. Of several reads the last one
/// decides.
#[derive(Clone, Debug, Parser)]
#[command(name = "gcs_reader", version, max_term_width = 110)]
#[non_exhaustive]
pub struct Args {
    /// The object's name.
    #[arg(long, default_value = "exports/part 000000.csv", value_name = "NAME")]
    pub object: String,
    /// The bucket: the simulation's own, unless named.
    #[arg(long, value_name = "NAME")]
    pub bucket: Option<String>,
    /// A real Cloud Storage (<https://storage.googleapis.com>) or a compatible server, instead of the simulation. The
    /// application default credentials read.
    #[arg(long, value_name = "URL", requires = "bucket", conflicts_with_all = ["faults", "seed"])]
    pub endpoint: Option<String>,
    /// Without credentials: for public objects and for emulators.
    #[arg(long, requires = "endpoint")]
    pub anonymous: bool,
    /// The project that has the bucket, as the governor is to call it: projects/my-project.
    #[arg(long, value_name = "PROJECT", requires = "endpoint")]
    pub account: Option<String>,
    /// When the object has to be read, waiting included.
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    pub deadline: Option<Duration>,
    /// How often a request is sent again, at most.
    #[arg(long, value_name = "TIMES")]
    pub max_retries: Option<u32>,
    /// How often the object is read, one time after the other.
    #[arg(long, default_value_t = 1, value_name = "TIMES", value_parser = clap::value_parser!(u32).range(1..))]
    pub reads: u32,
    /// A planned failure of the simulation, such as down@1s+3s, brownout=0.5, fail=429, slow=200ms or cut=1/2.
    #[arg(long = "fault", value_name = "FAULT")]
    pub faults: Vec<Fault>,
    /// Decides the simulated bucket's name, and the chances of faults.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// The governor's configuration, a YAML file.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Events on standard error. RUST_LOG narrows or widens them.
    #[arg(long, value_enum, default_value_t = Log::Off, value_name = "FORM")]
    pub log: Log,
}

/// A command line that is of no use.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UsageError {
    /// A server that must not be trusted with a token.
    #[error(
        "--endpoint: it has to begin with https://, as no token is sent without TLS, unless to this machine; or add \
         --anonymous"
    )]
    NoTls,
    /// A deadline or a number of retries that no policy has.
    #[error("--deadline, --max-retries: {0}")]
    Policy(#[from] PolicyError),
    /// The governor's configuration.
    #[error(transparent)]
    Config(#[from] ConfigError),
}

impl Args {
    /// What is read, if the simulation's bucket has this name.
    pub fn wanted(&self, simulated: &str) -> Object {
        let bucket = self.bucket.as_deref().unwrap_or(simulated);
        Object { bucket: bucket.to_owned(), name: self.object.clone() }
    }

    /// The size of the simulated Cloud Storage.
    pub fn fleet() -> FleetSize {
        FleetSize {
            projects: 1,
            buckets: 1..=1,
            objects: 6..=6,
            object_bytes: 4096..=4096,
            forbidden_objects: 1,
            broken_objects: 1,
            ..FleetSize::default()
        }
    }

    /// The policy of each request, over the configured one.
    ///
    /// # Errors
    /// [`UsageError::Policy`].
    pub fn policy(&self) -> Result<RetryPolicy, UsageError> {
        let policy = RetryPolicy::builder();
        let policy = match self.max_retries {
            Some(retries) => policy.max_retries(retries),
            None => policy,
        };
        let policy = match self.deadline {
            Some(deadline) => policy.deadline(deadline),
            None => policy,
        };
        Ok(policy.build()?)
    }

    /// The governor's settings: the file that is named, under the environment.
    ///
    /// # Errors
    /// [`UsageError::Config`].
    pub fn settings(&self) -> Result<Config, UsageError> {
        Ok(program::config(self.config.as_deref())?)
    }

    /// Finds what is not for the parser to know.
    ///
    /// # Errors
    /// [`UsageError::NoTls`].
    pub fn check(&self) -> Result<(), UsageError> {
        match &self.endpoint {
            Some(url) if !self.anonymous && !may_have_token(url) => Err(UsageError::NoTls),
            _ => Ok(()),
        }
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
    fn a_server_needs_a_bucket_and_has_no_planned_failures() {
        assert!(parse("gcs_reader --endpoint https://storage.googleapis.com --bucket b").is_ok());
        for line in ["", "--bucket b --fault down", "--bucket b --seed 2"] {
            assert!(parse(&format!("gcs_reader --endpoint https://storage.googleapis.com {line}")).is_err(), "{line}");
        }
        for line in ["--anonymous", "--account projects/p", "--reads 0", "--fault earthquake"] {
            assert!(parse(&format!("gcs_reader {line}")).is_err(), "{line}");
        }
    }

    #[test]
    fn a_token_goes_to_no_other_machine_without_tls() {
        let check = |line: &str| parse(&format!("gcs_reader --bucket b --endpoint {line}")).expect("it parses").check();
        assert!(check("http://127.0.0.1:9000").is_ok() && check("http://example.com --anonymous").is_ok());
        assert!(matches!(check("http://example.com"), Err(UsageError::NoTls)));
    }
}
