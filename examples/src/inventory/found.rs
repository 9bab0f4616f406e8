//! Counts of what was found.

use std::ops::AddAssign;

use serde::Serialize;

use crate::sim::aws::Totals;

/// What was found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Found {
    /// Answers of `GetCallerIdentity`: one for each region of each account.
    pub identities: u64,
    /// Log groups whose streams are all listed.
    pub log_groups: u64,
    /// Log streams.
    pub log_streams: u64,
    /// Parameters that were read, too.
    pub parameters: u64,
    /// Secrets that were described, too.
    pub secrets: u64,
}

impl Found {
    /// Resources: everything but the identities, which are the accounts' own.
    pub fn resources(&self) -> u64 {
        self.log_groups + self.log_streams + self.parameters + self.secrets
    }

    /// How many resources of the fleet are not among these.
    pub fn missing(&self, of: &Totals) -> u64 {
        of.log_groups.saturating_sub(self.log_groups)
            + of.log_streams.saturating_sub(self.log_streams)
            + of.parameters.saturating_sub(self.parameters)
            + of.secrets.saturating_sub(self.secrets)
    }
}

impl AddAssign for Found {
    fn add_assign(&mut self, other: Found) {
        self.identities += other.identities;
        self.log_groups += other.log_groups;
        self.log_streams += other.log_streams;
        self.parameters += other.parameters;
        self.secrets += other.secrets;
    }
}
