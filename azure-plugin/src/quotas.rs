//! What an answer says of the calls that are left.
//!
//! * Resource Manager: `x-ms-ratelimit-remaining-subscription-reads` and its kin, one number each
//!   (<https://learn.microsoft.com/azure/azure-resource-manager/management/request-limits-and-throttling>).
//! * Resource Graph: `x-ms-user-quota-remaining`
//!   (<https://learn.microsoft.com/azure/governance/resource-graph/concepts/guidance-for-throttled-requests>).
//!
//! A leaf heeds what counts all of its calls. What Compute lists in `x-ms-ratelimit-remaining-resource` counts a group of
//! operations each, often on a single machine
//! (<https://learn.microsoft.com/azure/virtual-machines/compute-throttling-limits>): twelve calls left for one machine
//! would slow those to all others. It is passed over, and so are counts of entities, which are not calls.

use std::borrow::Cow;

use azure_core::http::headers::Headers;

/// More than any answer has been seen to carry: Resource Manager sends one to three.
const MOST_QUOTAS: usize = 16;
/// Longer than any quota's name by far.
const LONGEST_NAME: usize = 96;

const PREFIX: &str = "x-ms-ratelimit-remaining-";
const USER_QUOTA: &str = "x-ms-user-quota-remaining";

/// The quotas that the answer names, and how many calls each has left. At most 16; what cannot be read is passed over.
pub(crate) fn quotas_left(headers: &Headers) -> impl Iterator<Item = (Cow<'_, str>, u64)> {
    headers.iter().filter_map(|(name, value)| in_header(name.as_str(), value.as_str())).take(MOST_QUOTAS)
}

fn in_header<'a>(name: &'a str, value: &str) -> Option<(Cow<'a, str>, u64)> {
    let quota = match name.strip_prefix(PREFIX) {
        Some(quota) if quota.starts_with("subscription-") || quota.starts_with("tenant-") => quota,
        None if name == USER_QUOTA => "user-quota",
        _ => return None,
    };
    let counts_calls = quota.len() <= LONGEST_NAME && !quota.contains("-entities-");
    counts_calls.then_some(())?;
    Some((Cow::Borrowed(quota), value.trim().parse().ok()?))
}

#[cfg(test)]
mod tests;
