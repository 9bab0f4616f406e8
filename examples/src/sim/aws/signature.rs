//! Who signed a request, where for and when. The signature itself is not checked.

use hyper::http::request::Parts;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use super::wire::{Error, Protocol};

/// How far a request's date may be from the server's, in either direction.
const TOLERANCE: SignedDuration = SignedDuration::from_mins(5);

const DATE_FORMAT: &str = "%Y%m%dT%H%M%SZ";

/// The credential of a SigV4 `Authorization` header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Signed {
    pub(super) access_key: String,
    pub(super) region: String,
    pub(super) service: String,
}

/// Reads the `Authorization` header and checks the date at the time `now`.
pub(super) fn read(head: &Parts, protocol: Protocol, now: Timestamp) -> Result<Signed, Error> {
    let header = text(head, "authorization").ok_or_else(|| Error::unsigned(protocol))?;
    let (day, signed) = credential(header).ok_or_else(|| Error::incomplete_signature(protocol))?;
    let date = text(head, "x-amz-date").ok_or_else(|| Error::incomplete_signature(protocol))?;
    let at = DateTime::strptime(DATE_FORMAT, date)
        .and_then(|date| TimeZone::UTC.to_timestamp(date))
        .map_err(|_| Error::incomplete_signature(protocol))?;
    if !date.starts_with(day) {
        return Err(Error::bad_signature(
            protocol,
            "Date in Credential scope does not match the request's date".into(),
        ));
    }
    check_age(at, now).map_err(|message| Error::bad_signature(protocol, message))?;
    Ok(signed)
}

/// The service a request is signed for, if that much can be read of it.
pub(super) fn service(head: &Parts) -> Option<&str> {
    text(head, "authorization")?.split_once("Credential=")?.1.split('/').nth(3)
}

fn text<'a>(head: &'a Parts, name: &str) -> Option<&'a str> {
    head.headers.get(name)?.to_str().ok()
}

/// `AWS4-HMAC-SHA256 Credential=<key>/<day>/<region>/<service>/aws4_request, SignedHeaders=.., Signature=..`
fn credential(header: &str) -> Option<(&str, Signed)> {
    let parts = header.strip_prefix("AWS4-HMAC-SHA256 ")?;
    let part = |name: &str| parts.split(',').find_map(|part| part.trim().strip_prefix(name));
    part("SignedHeaders=")?;
    part("Signature=")?;
    let mut scope = part("Credential=")?.split('/');
    let (access_key, day, region, service) = (scope.next()?, scope.next()?, scope.next()?, scope.next()?);
    let complete = scope.next()? == "aws4_request" && scope.next().is_none() && day.len() == 8;
    complete.then(|| (day, Signed { access_key: access_key.into(), region: region.into(), service: service.into() }))
}

fn check_age(at: Timestamp, now: Timestamp) -> Result<(), String> {
    let age = now.duration_since(at);
    let show = |time: Timestamp| time.strftime(DATE_FORMAT).to_string();
    let edge = |offset| now.checked_add(offset).map(show).unwrap_or_default();
    if age > TOLERANCE {
        let (at, edge, now) = (show(at), edge(-TOLERANCE), show(now));
        return Err(format!("Signature expired: {at} is now earlier than {edge} ({now} - 5 min.)"));
    }
    if age < -TOLERANCE {
        let (at, edge, now) = (show(at), edge(TOLERANCE), show(now));
        return Err(format!("Signature not yet current: {at} is still later than {edge} ({now} + 5 min.)"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::Request;

    const NOW: &str = "2026-03-01T12:00:00Z";

    fn signed(authorization: &str, date: &str) -> Result<Signed, Error> {
        let request = Request::builder().header("authorization", authorization).header("x-amz-date", date).body(());
        let (head, ()) = request.expect("a request").into_parts();
        read(&head, Protocol::Json, NOW.parse().expect("a time"))
    }

    fn header(scope: &str) -> String {
        format!("AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host;x-amz-date, Signature=00ff")
    }

    #[test]
    fn the_credential_scope_names_key_region_and_service() {
        let signed = signed(&header("AKIA1/20260301/eu-west-1/ssm/aws4_request"), "20260301T115800Z");
        let expected = Signed { access_key: "AKIA1".into(), region: "eu-west-1".into(), service: "ssm".into() };
        assert_eq!(signed.expect("well signed"), expected);
    }

    #[test]
    fn a_date_more_than_five_minutes_away_is_refused_either_way() {
        let at = |date: &str| signed(&header("AKIA1/20260301/eu-west-1/ssm/aws4_request"), date);
        assert!(at("20260301T115500Z").is_ok());
        assert!(at("20260301T120500Z").is_ok());
        let expired = at("20260301T115459Z").expect_err("too old");
        assert_eq!(
            expired.message.as_deref(),
            Some(
                "Signature expired: 20260301T115459Z is now earlier than 20260301T115500Z (20260301T120000Z - 5 min.)"
            )
        );
        let early = at("20260301T120501Z").expect_err("too new");
        assert!(early.message.is_some_and(|message| message.starts_with("Signature not yet current")));
    }

    #[test]
    fn what_is_not_a_whole_signature_is_refused() {
        let good_date = "20260301T120000Z";
        for scope in
            ["", "AKIA1", "AKIA1/20260301/eu-west-1/ssm", "A/20260301/r/s/aws4_request/x", "A/2026/r/s/aws4_request"]
        {
            let error = signed(&header(scope), good_date).expect_err(scope);
            assert_eq!(error.code, "IncompleteSignatureException", "{scope}");
        }
        assert!(signed("Bearer token", good_date).is_err());
        for date in ["", "yesterday", "20260301", "20261301T120000Z"] {
            assert!(signed(&header("A/20260301/r/s/aws4_request"), date).is_err(), "{date}");
        }
        assert!(signed(&header("A/20260228/r/s/aws4_request"), good_date).is_err(), "the scope's day is another");
    }
}
