//! What an answer says of the calls that are left.
//!
//! * Resource Manager: `x-ms-ratelimit-remaining-subscription-reads` and its kin, one number each
//!   (<https://learn.microsoft.com/azure/azure-resource-manager/management/request-limits-and-throttling>).
//! * Compute and other resource providers: `x-ms-ratelimit-remaining-resource`, a list of `policy;number`
//!   (<https://learn.microsoft.com/azure/virtual-machines/compute-throttling-limits>).
//! * Resource Graph: `x-ms-user-quota-remaining`
//!   (<https://learn.microsoft.com/azure/governance/resource-graph/concepts/guidance-for-throttled-requests>).

use std::borrow::Cow;

use azure_core::http::headers::Headers;

/// More than any answer has been seen to carry: ARM sends one to three headers, Compute two or three policies.
const MOST_QUOTAS: usize = 16;
/// Longer than any policy's name by far.
const LONGEST_NAME: usize = 96;

const PREFIX: &str = "x-ms-ratelimit-remaining-";
const USER_QUOTA: &str = "x-ms-user-quota-remaining";

/// The quotas that the answer names, and how many calls each has left. At most 16; what cannot be read is passed over.
pub(crate) fn quotas_left(headers: &Headers) -> impl Iterator<Item = (Cow<'_, str>, u64)> {
    headers.iter().flat_map(|(name, value)| in_header(name.as_str(), value.as_str())).take(MOST_QUOTAS)
}

fn in_header<'a>(name: &'a str, value: &'a str) -> impl Iterator<Item = (Cow<'a, str>, u64)> {
    let (policies, one) = match name.strip_prefix(PREFIX) {
        Some("resource") => (value, None),
        Some(quota) if quota.starts_with("subscription-") || quota.starts_with("tenant-") => ("", Some((quota, value))),
        None if name == USER_QUOTA => ("", Some(("user-quota", value))),
        _ => ("", None),
    };
    // Where a transport joins repeated headers, it does so with a comma, as the server itself lists policies.
    let policies = policies.split(',').filter_map(|policy| policy.rsplit_once(';'));
    policies.chain(one).filter_map(|(name, left)| {
        let name = name.trim();
        let is_name = (1..=LONGEST_NAME).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_graphic());
        is_name.then_some(())?;
        Some((Cow::Borrowed(name), left.trim().parse().ok()?))
    })
}

#[cfg(test)]
mod tests;
