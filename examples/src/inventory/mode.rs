//! How the SDKs are configured.

use clap::ValueEnum;
use cloud_governor::{Governor, Rules};

use super::cloud::Cloud;

/// How the SDKs are configured.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Mode {
    /// By this governor.
    Governed(Governor),
    /// Not at all: the SDK's own retries, with their defaults.
    Plain(Plain),
}

/// The SDKs' own retry modes, with their defaults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[non_exhaustive]
pub enum Plain {
    /// The standard mode of the AWS SDK; the exponential retries of the Azure SDK; what Google's clients do by themselves,
    /// which is to ask again where a service was unavailable, and not where a quota is used up.
    Standard,
    /// The adaptive mode of the AWS SDK. The others have none.
    Adaptive,
}

impl Mode {
    /// A name for reports.
    pub fn name(&self) -> &'static str {
        match self {
            Mode::Governed(_) => "governed",
            Mode::Plain(Plain::Standard) => "standard",
            Mode::Plain(Plain::Adaptive) => "adaptive",
        }
    }

    /// The rules that say which failures of a cloud are worth another try.
    pub fn rules(&self, cloud: Cloud) -> Rules {
        match self {
            Mode::Governed(governor) => governor.rules(cloud.provider()),
            Mode::Plain(_) => Rules::new(),
        }
    }
}
