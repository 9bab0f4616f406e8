//! What a call does to what it names, where limits are counted by that.

use std::fmt;
use std::str::FromStr;

/// What a call does to what it names: the kind of call that a limit is counted for.
///
/// Azure Resource Manager counts a subscription's reads, writes and deletes in buckets of their own
/// ([request limits](https://learn.microsoft.com/azure/azure-resource-manager/management/request-limits-and-throttling)).
/// Where a service does not, its scopes have no verb.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Verb {
    /// It changes nothing.
    Read,
    /// It creates or changes.
    Write,
    /// It removes.
    Delete,
}

impl Verb {
    pub(crate) const ALL: [Verb; 3] = [Verb::Read, Verb::Write, Verb::Delete];

    /// A stable name in snake_case: `read`, `write`, `delete`.
    pub const fn code(self) -> &'static str {
        match self {
            Verb::Read => "read",
            Verb::Write => "write",
            Verb::Delete => "delete",
        }
    }

    /// The name and the verb of `<name>:<verb>`, if it is one. A name is never empty.
    pub(crate) fn split(text: &str) -> Option<(&str, Verb)> {
        let (name, code) = text.rsplit_once(':')?;
        let verb = code.parse().ok()?;
        (!name.is_empty()).then_some((name, verb))
    }
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

/// A text that is no [`Verb`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownVerb;

impl fmt::Display for UnknownVerb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no verb: expected read, write or delete")
    }
}

impl std::error::Error for UnknownVerb {}

impl FromStr for Verb {
    type Err = UnknownVerb;

    fn from_str(text: &str) -> Result<Self, UnknownVerb> {
        Verb::ALL.into_iter().find(|verb| verb.code() == text).ok_or(UnknownVerb)
    }
}
