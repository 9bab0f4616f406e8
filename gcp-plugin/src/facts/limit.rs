//! What the name of a quota gives away: its period, and with the value of the quota a rate.
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

/// Whose limit it is if not the project's: of these a scope knows nothing.
const OTHERS: [&str; 5] = ["organization", "perorg", "region", "zone", "user"];

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

/// How many calls a project may make in which time. `None` where the period is in doubt, where calls are not what is
/// counted, and where the limit is a user's, a region's or an organization's.
pub(super) fn limit_of(text: &LimitText<'_>) -> Option<(u64, Duration)> {
    let calls = text.value?.parse().ok().filter(|calls| *calls > 0)?;
    let named = [text.name, text.unit];
    let mut periods = named.into_iter().flatten().filter_map(period);
    let first = periods.next()?;
    let whole: String = named.into_iter().chain([text.metric]).flatten().map(plain).collect();
    let certain =
        periods.all(|other| other == first) && counts_calls(&whole) && !OTHERS.iter().any(|word| whole.contains(word));
    certain.then_some((calls, first))
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
