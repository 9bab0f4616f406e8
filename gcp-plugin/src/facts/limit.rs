//! What the name of a quota gives away: its period, and with the value of the quota a rate; whose it is, and of which group of
//! operations.
//!
//! Names seen in answers: `ReadRequestsPerMinutePerProject`, `defaultPerMinutePerProject`, `USER-100s`, `CLIENT_PROJECT-1d`;
//! units: `1/min/{project}`, `1/d/{project}`; in messages: "Read requests per minute", "Queries per 100 seconds per user".

use std::time::Duration;

const DAY: u64 = 24 * 60 * 60;

/// Words for a period, in a text without spaces, hyphens and underscores, in lower case.
const WORDS: [(&str, u64); 8] = [
    ("persecond", 1),
    ("perminute", 60),
    ("permin", 60),
    ("per60seconds", 60),
    ("per100seconds", 100),
    ("perhour", 60 * 60),
    ("perday", DAY),
    ("daily", DAY),
];

/// What the units of Service Usage begin with.
const UNITS: [(&str, u64); 4] = [("1/s/", 1), ("1/min/", 60), ("1/h/", 60 * 60), ("1/d/", DAY)];

/// How the names of older limits end.
const ENDS: [(&str, u64); 4] = [("-60s", 60), ("-100s", 100), ("-1h", 60 * 60), ("-1d", DAY)];

/// Whose limit it is if neither the project's nor the organization's: of these a scope knows nothing.
const OTHERS: [&str; 3] = ["region", "zone", "user"];

/// What names the organization.
const ORGANIZATION: [&str; 2] = ["organization", "perorg"];

/// How the limits of an organization are called, and their units.
const OF_ORGANIZATION: [&str; 3] = ["perorganization", "perorg", "/{organization}"];

/// A limit that an answer names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Limit {
    /// How many calls
    pub(crate) calls: u64,
    /// in which time.
    pub(crate) per: Duration,
    /// Whose it is.
    pub(crate) whose: Whose,
    /// The group of operations that it counts, if its name begins with one, without spaces and in lower case: `read` for
    /// `ReadRequestsPerMinutePerProject`.
    pub(crate) group: Option<String>,
}

/// Whose a limit is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whose {
    Project,
    Organization,
}

/// The words by which a metric or a limit counts calls, and not tokens, bytes or machines.
const CALLS: [&str; 3] = ["request", "quer", "call"];

/// How an ErrorInfo describes the limit.
pub(super) struct LimitText<'a> {
    /// `quota_limit`.
    pub(super) name: Option<&'a str>,
    /// `quota_unit`.
    pub(super) unit: Option<&'a str>,
    /// `quota_metric`.
    pub(super) metric: Option<&'a str>,
    /// `quota_limit_value`.
    pub(super) value: Option<&'a str>,
}

/// How many calls a project or an organization may make in which time. `None` where the period or the owner is in doubt,
/// where calls are not what is counted, and where the limit is a user's or a region's.
pub(super) fn limit_of(text: &LimitText<'_>) -> Option<Limit> {
    let calls = text.value?.parse().ok().filter(|calls| *calls > 0)?;
    let named = [text.name, text.unit];
    let mut periods = named.into_iter().flatten().filter_map(period);
    let first = periods.next()?;
    let whole: String = named.into_iter().chain([text.metric]).flatten().map(plain).collect();
    let certain =
        periods.all(|other| other == first) && counts_calls(&whole) && !OTHERS.iter().any(|word| whole.contains(word));
    let whose = whose(&named.map(|text| text.map(plain)), &whole)?;
    let group = text.name.and_then(group);
    certain.then_some(Limit { calls, per: first, whose, group })
}

/// Where name or unit ends with the organization, it is that one's. Any other word of one leaves it in doubt: a metric may
/// count what is read of organizations.
fn whose(named: &[Option<String>; 2], whole: &str) -> Option<Whose> {
    let is_of_organization = |text: &String| OF_ORGANIZATION.iter().any(|end| text.ends_with(end));
    let named = || named.iter().flatten();
    if named().any(is_of_organization) {
        // Both have to mean the same.
        (!named().any(|text| text.contains("project"))).then_some(Whose::Organization)
    } else {
        (!ORGANIZATION.iter().any(|word| whole.contains(word))).then_some(Whose::Project)
    }
}

/// What stands before the word for calls.
fn group(name: &str) -> Option<String> {
    let name = plain(name);
    let (group, _) = name.split_once("requests")?;
    (!group.is_empty()).then(|| group.to_owned())
}

/// The period that a text names; `None` if it names none, or several.
pub(super) fn period(text: &str) -> Option<Duration> {
    let plain = plain(text);
    let lower = text.to_ascii_lowercase();
    let words = WORDS.iter().filter(|(word, _)| plain.contains(word));
    let units = UNITS.iter().filter(|(unit, _)| lower.starts_with(unit));
    let ends = ENDS.iter().filter(|(end, _)| lower.ends_with(end));
    let mut found = words.chain(units).chain(ends).map(|(_, seconds)| *seconds);
    let first = found.next()?;
    found.all(|other| other == first).then(|| Duration::from_secs(first))
}

/// Whether the name of a metric or a limit speaks of calls.
pub(super) fn counts_calls(name: &str) -> bool {
    let name = plain(name);
    CALLS.iter().any(|word| name.contains(word))
}

/// Whether a text speaks of a quota per day.
pub(super) fn is_daily(text: &str) -> bool {
    period(text) == Some(Duration::from_secs(DAY))
}

fn plain(text: &str) -> String {
    text.chars().filter(|c| !matches!(c, ' ' | '-' | '_')).map(|c| c.to_ascii_lowercase()).collect()
}
