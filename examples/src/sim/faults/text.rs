//! The text form of a fault: `KIND[=VALUE][@FROM[+LENGTH]][:PART=VALUE,..]`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use hyper::StatusCode;

use super::{Fault, FaultKind, Filter, Share, Window};

/// A fault's text that means nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FaultError {
    /// The word before `=` is no fault.
    #[error("`{0}` is no fault: there are down, brownout=SHARE, fail=STATUS*SHARE, slow=TIME, cut=SHARE")]
    Kind(String),
    /// `brownout`, `fail`, `slow` and `cut` need a value.
    #[error("`{0}` needs a value: `{0}=..`")]
    NoValue(&'static str),
    /// `down` takes none.
    #[error("`{0}` takes no value")]
    Value(&'static str),
    /// Not a chance from above 0 up to 1, nor `1/n`.
    #[error("`{0}` is no share: write a chance such as 0.2, or every nth such as 1/5")]
    Share(String),
    /// Not the status of a failure.
    #[error("`{0}` is no failure: write its status, from 400 to 599, such as 429 or 503")]
    Status(String),
    /// Not a time.
    #[error("`{0}` is no time: write it such as 200ms or 5s")]
    Time(String),
    /// Not `part=value`, or not a part that calls have.
    #[error("`{0}` is no filter: write account=, region=, service= or operation= and a value")]
    Filter(String),
}

impl FromStr for Fault {
    type Err = FaultError;

    fn from_str(text: &str) -> Result<Self, FaultError> {
        let (rest, filter) = split(text, ':');
        let (fault, window) = split(rest, '@');
        let (word, value) = split(fault, '=');
        let kind = match (word, value) {
            ("down", None) => FaultKind::Down,
            ("down", Some(_)) => return Err(FaultError::Value("down")),
            ("brownout", value) => FaultKind::Brownout(value.ok_or(FaultError::NoValue("brownout"))?.parse()?),
            ("fail", value) => parse_failure(value.ok_or(FaultError::NoValue("fail"))?)?,
            ("slow", value) => FaultKind::Slow(time(value.ok_or(FaultError::NoValue("slow"))?)?),
            ("cut", value) => FaultKind::Cut(value.ok_or(FaultError::NoValue("cut"))?.parse()?),
            _ => return Err(FaultError::Kind(word.to_owned())),
        };
        let window = window.map(parse_window).transpose()?.unwrap_or_default();
        let filter = filter.map(parse_filter).transpose()?.unwrap_or_default();
        Ok(Fault::new(kind)?.during(window).only(filter))
    }
}

impl FromStr for Share {
    type Err = FaultError;

    fn from_str(text: &str) -> Result<Self, FaultError> {
        let invalid = || FaultError::Share(text.to_owned());
        let share = match text.strip_prefix("1/") {
            Some(nth) => Share::Every(nth.parse().map_err(|_| invalid())?),
            None => Share::Chance(text.parse().map_err(|_| invalid())?),
        };
        share.validate().map_err(|_| invalid())?;
        Ok(share)
    }
}

/// `STATUS*SHARE`, or the status alone for all calls.
fn parse_failure(text: &str) -> Result<FaultKind, FaultError> {
    let (status, share) = split(text, '*');
    let status = status.parse::<StatusCode>().map_err(|_| FaultError::Status(status.to_owned()))?;
    Ok(FaultKind::Fail(status, share.map_or(Ok(Share::Every(1)), str::parse)?))
}

fn split(text: &str, at: char) -> (&str, Option<&str>) {
    match text.split_once(at) {
        Some((before, after)) => (before, Some(after)),
        None => (text, None),
    }
}

fn time(text: &str) -> Result<Duration, FaultError> {
    humantime::parse_duration(text).map_err(|_| FaultError::Time(text.to_owned()))
}

fn parse_window(text: &str) -> Result<Window, FaultError> {
    let (from, length) = split(text, '+');
    Ok(Window { from: time(from)?, length: length.map(time).transpose()? })
}

fn parse_filter(text: &str) -> Result<Filter, FaultError> {
    let mut filter = Filter::default();
    for part in text.split(',') {
        let invalid = || FaultError::Filter(part.to_owned());
        let (name, value) = part.split_once('=').ok_or_else(invalid)?;
        let place = match name {
            "account" => &mut filter.account,
            "region" => &mut filter.region,
            "service" => &mut filter.service,
            "operation" => &mut filter.operation,
            _ => return Err(invalid()),
        };
        if value.is_empty() || place.replace(value.to_owned()).is_some() {
            return Err(invalid());
        }
    }
    Ok(filter)
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Share::Chance(chance) => write!(f, "{chance}"),
            Share::Every(nth) => write!(f, "1/{nth}"),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            FaultKind::Down => f.write_str("down")?,
            FaultKind::Brownout(share) => write!(f, "brownout={share}")?,
            FaultKind::Fail(status, Share::Every(1)) => write!(f, "fail={}", status.as_u16())?,
            FaultKind::Fail(status, share) => write!(f, "fail={}*{share}", status.as_u16())?,
            FaultKind::Slow(delay) => write!(f, "slow={}", humantime::format_duration(delay))?,
            FaultKind::Cut(share) => write!(f, "cut={share}")?,
        }
        if self.window != Window::default() {
            write!(f, "@{}", humantime::format_duration(self.window.from))?;
            if let Some(length) = self.window.length {
                write!(f, "+{}", humantime::format_duration(length))?;
            }
        }
        let parts = [
            ("account", &self.only.account),
            ("region", &self.only.region),
            ("service", &self.only.service),
            ("operation", &self.only.operation),
        ];
        let named = parts.into_iter().filter_map(|(name, value)| value.as_ref().map(|value| (name, value)));
        for (index, (name, value)) in named.enumerate() {
            write!(f, "{}{name}={value}", if index == 0 { ':' } else { ',' })?;
        }
        Ok(())
    }
}
