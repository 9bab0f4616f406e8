//! Which cloud.

use std::fmt;

use clap::ValueEnum;
use serde::Serialize;

/// A cloud that can be listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Cloud {
    /// Amazon Web Services.
    Aws,
    /// Microsoft Azure.
    Azure,
    /// Google Cloud.
    Gcp,
}

impl Cloud {
    /// The governor's provider for it, which is its name on the command line, too.
    pub fn provider(self) -> &'static str {
        match self {
            Cloud::Aws => "aws",
            Cloud::Azure => "azure",
            Cloud::Gcp => "gcp",
        }
    }
}

impl fmt::Display for Cloud {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Cloud::Aws => "AWS",
            Cloud::Azure => "Azure",
            Cloud::Gcp => "Google Cloud",
        })
    }
}

/// One cloud, or all of them at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[non_exhaustive]
pub enum Clouds {
    /// Amazon Web Services.
    Aws,
    /// Microsoft Azure.
    Azure,
    /// Google Cloud.
    Gcp,
    /// All of them at once, through one governor.
    All,
}

impl Clouds {
    /// Which they are.
    pub fn each(self) -> &'static [Cloud] {
        match self {
            Clouds::Aws => &[Cloud::Aws],
            Clouds::Azure => &[Cloud::Azure],
            Clouds::Gcp => &[Cloud::Gcp],
            Clouds::All => &[Cloud::Aws, Cloud::Azure, Cloud::Gcp],
        }
    }

    /// Whether this one is among them.
    pub fn has(self, cloud: Cloud) -> bool {
        self.each().contains(&cloud)
    }
}
