//! The rate limits that an answer tells of: what is left of them, and when they begin anew.
//!
//! Who sends which header is said at [`RetryAfter`](super::RetryAfter).

use std::time::{Duration, SystemTime};

use sfv::{BareItem, Dictionary, Item, List, ListEntry, Parser};

use super::retry_after::{keep_longest, seconds};

/// The least number of seconds that is a time: 9 September 2001. As a wait it would be 31 years.
const FIRST_TIME: Duration = Duration::from_secs(1_000_000_000);
/// The least that is none any more: 1973 in milliseconds, the year 5138 in seconds.
const NO_TIME: Duration = Duration::from_secs(100_000_000_000);

/// What one answer says, by the family of the header.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct RateLimits {
    /// `x-ratelimit-*`.
    customary: Limit,
    /// `ratelimit-*`.
    by_parts: Limit,
    /// `ratelimit`: those of its limits that are used up, as one.
    listed: Limit,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Limit {
    is_used_up: Option<bool>,
    /// From when the answer came.
    begins_anew_in: Option<Duration>,
    begins_anew_at: Option<SystemTime>,
}

impl RateLimits {
    pub(super) const fn new() -> Self {
        const UNTOLD: Limit = Limit { is_used_up: None, begins_anew_in: None, begins_anew_at: None };
        RateLimits { customary: UNTOLD, by_parts: UNTOLD, listed: UNTOLD }
    }

    /// Takes one header; true if it is known and could be read.
    pub(super) fn header(&mut self, name: &str, text: &str) -> bool {
        type Read = fn(&mut RateLimits, &str) -> bool;
        const NAMES: [(&str, Read); 5] = [
            ("x-ratelimit-remaining", |limits, text| limits.customary.left(text)),
            ("x-ratelimit-reset", |limits, text| limits.customary.reset(text)),
            ("ratelimit-remaining", |limits, text| limits.by_parts.left(text)),
            ("ratelimit-reset", |limits, text| limits.by_parts.reset(text)),
            ("ratelimit", |limits, text| limits.listed.list(text)),
        ];
        let known = NAMES.iter().find(|(known, _)| name.eq_ignore_ascii_case(known));
        known.is_some_and(|(_, read)| read(self, text))
    }

    fn all(&self) -> [&Limit; 3] {
        [&self.customary, &self.by_parts, &self.listed]
    }

    pub(super) fn is_any_used_up(&self) -> bool {
        self.all().iter().any(|limit| limit.is_used_up == Some(true))
    }

    /// Until the limits begin anew that are used up, for all that is known, from when the answer came.
    pub(super) fn wait(&self, answered: SystemTime) -> Option<Duration> {
        let open = self.all().into_iter().filter(|limit| limit.is_used_up != Some(false));
        open.filter_map(|limit| limit.wait(answered)).max()
    }
}

impl Limit {
    fn left(&mut self, text: &str) -> bool {
        let left = seconds(text);
        self.is_left(left.map(|left| left.is_zero()))
    }

    /// Of a repeated header the one counts that says that nothing is left.
    fn is_left(&mut self, is_used_up: Option<bool>) -> bool {
        keep_longest(&mut self.is_used_up, is_used_up)
    }

    fn reset(&mut self, text: &str) -> bool {
        match seconds(text) {
            Some(wait) if wait < FIRST_TIME => keep_longest(&mut self.begins_anew_in, Some(wait)),
            Some(time) if time < NO_TIME => {
                keep_longest(&mut self.begins_anew_at, SystemTime::UNIX_EPOCH.checked_add(time))
            }
            _ => false,
        }
    }

    /// Structured fields (RFC 9651): a list of limits, each with parameters, or one limit as a dictionary.
    fn list(&mut self, text: &str) -> bool {
        if let Ok(list) = Parser::new(text).parse::<List>() {
            let limits = list.iter().filter_map(|entry| match entry {
                ListEntry::Item(Item { params, .. }) => Some((params.get("r")?, params.get("t"))),
                ListEntry::InnerList(_) => None,
            });
            return limits.fold(false, |any, (left, reset)| self.one(left, reset) || any);
        }
        let Ok(limit) = Parser::new(text).parse::<Dictionary>() else { return false };
        let value = |name| match limit.get(name) {
            Some(ListEntry::Item(item)) => Some(&item.bare_item),
            _ => None,
        };
        value("remaining").is_some_and(|left| self.one(left, value("reset")))
    }

    /// One limit of a list: what is not used up is passed over once another is.
    fn one(&mut self, left: &BareItem, reset: Option<&BareItem>) -> bool {
        let Some(left) = whole(left) else { return false };
        self.is_left(Some(left == 0));
        if left == 0 {
            keep_longest(&mut self.begins_anew_in, reset.and_then(whole).map(Duration::from_secs));
        }
        true
    }

    fn wait(&self, answered: SystemTime) -> Option<Duration> {
        let until = self.begins_anew_at.and_then(|at| at.duration_since(answered).ok());
        self.begins_anew_in.max(until)
    }
}

fn whole(item: &BareItem) -> Option<u64> {
    match item {
        BareItem::Integer(number) => u64::try_from(*number).ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
