//! What a classification rule is to the configuration: something that a document's list holds.

use serde::Deserialize;

/// A user's classification rule.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// The error code it is about.
    pub code: String,
}
