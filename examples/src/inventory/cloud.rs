//! Which cloud.

use std::fmt;

use serde::Serialize;

/// A cloud that can be listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Cloud {
    /// Amazon Web Services.
    Aws,
}

impl Cloud {
    /// The governor's provider for it, which is its name on the command line, too.
    pub fn provider(self) -> &'static str {
        match self {
            Cloud::Aws => "aws",
        }
    }
}

impl fmt::Display for Cloud {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Cloud::Aws => "AWS",
        })
    }
}
