//! How long the server asked to be left alone.

use std::fmt;
use std::time::{Duration, SystemTime};

use super::rate_limits::RateLimits;

const NANOS_PER_SECOND: u128 = 1_000_000_000;
const NANOS_PER_MILLISECOND: u128 = 1_000_000;

/// What the headers and details of one answer say about when to come back.
///
/// Where several speak, the finest unit wins:
///
/// | order | source | unit |
/// |---|---|---|
/// | 1 | `retry-after-ms` | milliseconds |
/// | 2 | `x-ms-retry-after-ms` | milliseconds |
/// | 3 | `x-amz-retry-after` | milliseconds |
/// | 4 | `google.rpc.RetryInfo` | a duration |
/// | 5 | `retry-after` | seconds, or one of the three HTTP dates of RFC 9110, section 5.6.7 |
/// | 6 | `x-ratelimit-reset`, `ratelimit-reset`, `ratelimit`, where their limit is used up | seconds, or a time |
///
/// Numbers may carry a fraction: Microsoft Graph sends `2.128`. What is no plain decimal number (a sign, `NaN`, `inf`,
/// an exponent, an empty text) is ignored, as if the header were missing. A number too large to hold saturates, as
/// RFC 9111, section 1.2.2 has it for seconds; the pause of a scope is capped by the engine, not here.
///
/// Zero, and a date that has passed, ask for no wait: [`delay`](RetryAfter::delay) then turns to the next source and at
/// last answers `None`, so that the caller's own backoff applies. It never answers a zero.
///
/// # Limits that are used up
///
/// Many an API says with every answer how much of a limit is left, and when it begins anew. That time is the wait where
/// nothing is left, or where it is not said how much. Of several limits that are used up the longest wait counts, and of
/// one that is not no wait follows.
///
/// | headers | who | until |
/// |---|---|---|
/// | `x-ratelimit-remaining`, `x-ratelimit-reset` | GitHub ([Rate limits for the REST API][github]) and many others | epoch seconds; others also: seconds from now |
/// | `ratelimit-remaining`, `ratelimit-reset` | GitLab ([Rate limits][gitlab]); the IETF's drafts 00 to 06 | epoch seconds; the drafts: seconds from now |
/// | `ratelimit: "default";r=0;t=30`, a list | Cloudflare ([Rate limits][cloudflare]); the IETF's [drafts][ietf] from 08 on | seconds from now |
/// | `ratelimit: limit=100, remaining=0, reset=30` | the IETF's draft 07 | seconds from now |
///
/// Epoch seconds and seconds from now are told apart by their size: what would be a wait of a billion seconds (31 years) is
/// a time since 2001. From a hundred billion on, where milliseconds since 1973 lie, it is neither.
///
/// [github]: https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api
/// [gitlab]: https://docs.gitlab.com/administration/settings/user_and_ip_rate_limits/
/// [cloudflare]: https://developers.cloudflare.com/fundamentals/api/reference/limits/
/// [ietf]: https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/
///
/// # Clocks
///
/// A date, and a time in epoch seconds, is compared with the `date` header of the same answer where there is one: both stamps are then the server's
/// and the client's clock has no say. Without it the client's clock is used as it is. A clock that is fast by a minute
/// then shortens the wait by a minute, down to none (own backoff); one that is slow lengthens it by as much, which the
/// engine's cap bounds for the scope and the deadline for the call.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct RetryAfter {
    retry_after_ms: Option<Duration>,
    x_ms_retry_after_ms: Option<Duration>,
    x_amz_retry_after: Option<Duration>,
    retry_info: Option<Duration>,
    seconds: Option<Duration>,
    date: Option<SystemTime>,
    answered: Option<SystemTime>,
    limits: RateLimits,
}

impl RetryAfter {
    /// Nothing said.
    pub const fn new() -> Self {
        RetryAfter {
            retry_after_ms: None,
            x_ms_retry_after_ms: None,
            x_amz_retry_after: None,
            retry_info: None,
            seconds: None,
            date: None,
            answered: None,
            limits: RateLimits::new(),
        }
    }

    /// Takes one header of the answer; true if it is one of those above and its value could be read.
    ///
    /// A header's name is compared without case. Of a repeated header the longest wait stays.
    pub fn header(&mut self, name: &str, value: impl AsRef<[u8]>) -> bool {
        let Ok(text) = std::str::from_utf8(value.as_ref()) else { return false };
        let text = text.trim_matches([' ', '\t']);
        let Some(known) = Header::named(name) else { return self.limits.header(name, text) };
        match known {
            Header::RetryAfterMs => keep_longest(&mut self.retry_after_ms, milliseconds(text)),
            Header::XMsRetryAfterMs => keep_longest(&mut self.x_ms_retry_after_ms, milliseconds(text)),
            Header::XAmzRetryAfter => keep_longest(&mut self.x_amz_retry_after, milliseconds(text)),
            Header::RetryAfter => match seconds(text) {
                Some(wait) => keep_longest(&mut self.seconds, Some(wait)),
                None => keep_longest(&mut self.date, httpdate::parse_http_date(text).ok()),
            },
            Header::Date => keep_longest(&mut self.answered, httpdate::parse_http_date(text).ok()),
        }
    }

    /// Takes the delay of a `google.rpc.RetryInfo`.
    pub fn retry_info(&mut self, delay: Duration) {
        keep_longest(&mut self.retry_info, Some(delay));
    }

    /// Takes the delay of a `google.rpc.RetryInfo` in its JSON form, `"3.5s"`; true if it could be read.
    pub fn retry_info_text(&mut self, delay: &str) -> bool {
        keep_longest(&mut self.retry_info, delay.trim().strip_suffix('s').and_then(seconds))
    }

    /// The wait asked for, from the moment the answer came; `None` where none is. Never zero.
    ///
    /// `now` is the client's wall clock, needed only for a date in an answer that has no `date` header.
    pub fn delay(&self, now: SystemTime) -> Option<Duration> {
        self.asked(now).or_else(|| self.limits.wait(self.answered.unwrap_or(now))).filter(|wait| !wait.is_zero())
    }

    /// The same of the first five sources, which ask for a wait whatever is left of a limit.
    fn asked(&self, now: SystemTime) -> Option<Duration> {
        let reference = self.answered.unwrap_or(now);
        let until_date = self.date.and_then(|date| date.duration_since(reference).ok());
        [
            self.retry_after_ms,
            self.x_ms_retry_after_ms,
            self.x_amz_retry_after,
            self.retry_info,
            self.seconds.max(until_date),
        ]
        .into_iter()
        .flatten()
        .find(|wait| !wait.is_zero())
    }

    /// Whether the answer says that a limit is used up, or asks for a wait. When a limit begins anew is no more than news.
    pub(super) fn is_held_off(&self, now: SystemTime) -> bool {
        self.limits.is_any_used_up() || self.asked(now).is_some()
    }

    /// From when the answer came to the next full minute, by the server's clock where the answer has a `date`, else by `now`,
    /// the client's: at least a second, at most 59.
    ///
    /// In a minute's first second it is one second. A refusal of then is of the minute before, as its quota is hardly spent
    /// at once; and should it be, the next one comes within the second.
    pub(super) fn until_next_minute(&self, now: SystemTime) -> Duration {
        const MINUTE: Duration = Duration::from_secs(60);
        const FIRST: Duration = Duration::from_secs(1);
        let since_epoch = self.answered.unwrap_or(now).duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let into = Duration::new(since_epoch.as_secs() % MINUTE.as_secs(), since_epoch.subsec_nanos());
        if into < FIRST { FIRST } else { MINUTE.saturating_sub(into).max(FIRST) }
    }
}

impl fmt::Debug for RetryAfter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("RetryAfter");
        let waits = [
            ("retry_after_ms", self.retry_after_ms),
            ("x_ms_retry_after_ms", self.x_ms_retry_after_ms),
            ("x_amz_retry_after", self.x_amz_retry_after),
            ("retry_info", self.retry_info),
            ("seconds", self.seconds),
        ];
        for (name, wait) in waits {
            if let Some(wait) = wait {
                shown.field(name, &wait);
            }
        }
        if let Some(date) = self.date {
            shown.field("date", &date);
        }
        if self.limits != RateLimits::new() {
            shown.field("limits", &self.limits);
        }
        shown.finish()
    }
}

#[derive(Clone, Copy)]
enum Header {
    RetryAfterMs,
    XMsRetryAfterMs,
    XAmzRetryAfter,
    RetryAfter,
    Date,
}

impl Header {
    fn named(name: &str) -> Option<Header> {
        const NAMES: [(&str, Header); 5] = [
            ("retry-after-ms", Header::RetryAfterMs),
            ("x-ms-retry-after-ms", Header::XMsRetryAfterMs),
            ("x-amz-retry-after", Header::XAmzRetryAfter),
            ("retry-after", Header::RetryAfter),
            ("date", Header::Date),
        ];
        NAMES.iter().find(|(known, _)| name.eq_ignore_ascii_case(known)).map(|(_, header)| *header)
    }
}

pub(super) fn keep_longest<T: Ord>(slot: &mut Option<T>, read: Option<T>) -> bool {
    let readable = read.is_some();
    if read > *slot {
        *slot = read;
    }
    readable
}

pub(super) fn seconds(text: &str) -> Option<Duration> {
    decimal(text, NANOS_PER_SECOND)
}

fn milliseconds(text: &str) -> Option<Duration> {
    decimal(text, NANOS_PER_MILLISECOND)
}

/// `digits [ "." digits ]`, in units of `unit` nanoseconds. Anything below a nanosecond is cut off.
///
/// Read digit by digit rather than as a float: a float would take `inf` and `1e3`, and lose nanoseconds.
fn decimal(text: &str, unit: u128) -> Option<Duration> {
    let (whole, fraction) = match text.split_once('.') {
        Some((whole, fraction)) => (whole, fraction),
        None => (text, "0"),
    };
    let all_digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if !all_digits(whole) || !all_digits(fraction) {
        return None;
    }
    // All digits, so the only way not to parse is to be too large.
    let whole = whole.parse::<u64>().unwrap_or(u64::MAX);
    let billionths: u128 = (fraction.bytes().chain(std::iter::repeat(b'0')).take(9))
        .fold(0, |sum, digit| sum * 10 + u128::from(digit.saturating_sub(b'0')));
    let nanos = u128::from(whole) * unit + billionths * unit / NANOS_PER_SECOND;
    let seconds = u64::try_from(nanos / NANOS_PER_SECOND).ok()?;
    let rest = u32::try_from(nanos % NANOS_PER_SECOND).ok()?;
    Some(Duration::new(seconds, rest))
}

#[cfg(test)]
mod tests;
