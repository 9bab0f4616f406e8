//! Who is compared, and over what.

use std::fmt;

use clap::ValueEnum;
use cloud_governor::{Config, Governor};
use serde::Serialize;

use crate::inventory::{self, Mode, Plain};

/// Who makes the calls of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Contender {
    /// The governor, with the limits that are published, or those of its configuration.
    Governed,
    /// The governor, which knows no limit and finds out.
    Learning,
    /// The SDK's adaptive retry mode.
    Adaptive,
    /// The SDK's standard retry mode.
    Standard,
    /// The SDK's standard retry mode; no listing is queued again.
    StandardAlone,
}

impl Contender {
    /// All of them, in the order in which they run.
    pub const ALL: [Contender; 5] =
        [Contender::Governed, Contender::Learning, Contender::Adaptive, Contender::Standard, Contender::StandardAlone];

    /// Whether a governor governs.
    pub fn governed(self) -> bool {
        matches!(self, Contender::Governed | Contender::Learning)
    }

    /// The name on the command line and in JSON.
    pub fn id(self) -> &'static str {
        match self {
            Contender::Governed => "governed",
            Contender::Learning => "learning",
            Contender::Adaptive => "adaptive",
            Contender::Standard => "standard",
            Contender::StandardAlone => "standard-alone",
        }
    }

    /// The SDK's configuration, with nothing learned in it. `config` is the configured governor's.
    pub(super) fn mode(self, config: &Config, seed: u64) -> Mode {
        let governed = |config| Mode::Governed(Governor::builder().config(config).seed(seed).build());
        match self {
            Contender::Governed => governed(config.clone()),
            Contender::Learning => governed(no_limit_known()),
            Contender::Adaptive => Mode::Plain(Plain::Adaptive),
            Contender::Standard | Contender::StandardAlone => Mode::Plain(Plain::Standard),
        }
    }

    /// The job as this contender does it.
    pub(super) fn adapt(self, mut job: inventory::Args) -> inventory::Args {
        if self == Contender::StandardAlone {
            job.effort.max_requeues = 0;
        }
        job
    }
}

/// The defaults without what is published.
fn no_limit_known() -> Config {
    let set = Config::builder().defaults(|every| every.published(false));
    // It sets nothing that could be refused.
    set.build().unwrap_or_default()
}

impl fmt::Display for Contender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Contender::Governed => "governed",
            Contender::Learning => "governed, no limit known",
            Contender::Adaptive => "SDK adaptive",
            Contender::Standard => "SDK standard",
            Contender::StandardAlone => "SDK standard alone (no requeues)",
        })
    }
}

/// Which services the job is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Load {
    /// STS, CloudWatch Logs, SSM and Secrets Manager.
    Base,
    /// The same and EC2.
    #[cfg(feature = "ec2")]
    Ec2,
}

impl Load {
    /// All that were compiled in, in the order in which they run.
    pub fn all() -> &'static [Load] {
        Load::value_variants()
    }

    /// The job over these services.
    pub(super) fn adapt(self, mut job: inventory::Args) -> inventory::Args {
        match self {
            Load::Base => job.services.retain(|service| service.name() != "ec2"),
            #[cfg(feature = "ec2")]
            Load::Ec2 => {}
        }
        job
    }
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Load::Base => "four services",
            #[cfg(feature = "ec2")]
            Load::Ec2 => "with EC2",
        })
    }
}

#[cfg(test)]
mod tests;
