//! The `grpc-timeout` header.
//!
//! `Timeout → "grpc-timeout" TimeoutValue TimeoutUnit`: a value of one to eight digits, and a unit of `H`, `M`, `S`, `m`, `u`
//! or `n` (github.com/grpc/grpc, doc/PROTOCOL-HTTP2.md, "Requests").

use std::time::Duration;

use http::{HeaderMap, HeaderValue};

pub(super) const HEADER: &str = "grpc-timeout";

/// The units from the finest to the coarsest, in nanoseconds.
const UNITS: [(char, u64); 6] = [
    ('n', 1),
    ('u', 1_000),
    ('m', 1_000_000),
    ('S', 1_000_000_000),
    ('M', 60 * 1_000_000_000),
    ('H', 3_600 * 1_000_000_000),
];

const NANOS_PER_SECOND: u128 = 1_000_000_000;
const LONGEST_VALUE: u128 = 99_999_999;

/// How long the call may take, if its headers say so as they should.
pub(super) fn read(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(HEADER)?.to_str().ok()?;
    let unit = text.chars().next_back()?;
    let digits = text.strip_suffix(unit)?;
    if !(1..=8).contains(&digits.len()) || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let (_, nanos) = UNITS.iter().find(|(known, _)| *known == unit)?;
    let nanos = digits.parse::<u128>().ok()? * u128::from(*nanos);
    let (secs, rest) = (nanos / NANOS_PER_SECOND, nanos % NANOS_PER_SECOND);
    Some(Duration::new(u64::try_from(secs).ok()?, u32::try_from(rest).ok()?))
}

/// In the finest unit that holds it, rounded down, but never to nothing.
pub(super) fn write(left: Duration) -> Option<HeaderValue> {
    let nanos = left.as_nanos().max(1);
    let text = UNITS.iter().find_map(|(unit, size)| {
        let value = nanos / u128::from(*size);
        (value <= LONGEST_VALUE).then(|| format!("{value}{unit}"))
    });
    HeaderValue::try_from(text?).ok()
}

#[cfg(test)]
mod tests;
