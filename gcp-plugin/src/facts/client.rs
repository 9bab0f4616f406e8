//! What an error of the official clients says.
//!
//! The clients parse most answers. What they lose is read here again:
//!
//! * an answer that they could not parse is kept as it came, and looked into for the same fields, leniently; of one in an
//!   array, as calls that stream their answer have it, they keep the status alone;
//! * of the older answers (`errors[].reason`) they keep the reason only if there is no other detail: without one, the
//!   message "Quota exceeded for quota metric '..' and limit '..'" names the limit;
//! * Compute's 403 has no status that they know, so it comes as `UNKNOWN`, which says nothing;
//! * uploads to Storage wrap an answer into a broken connection;
//! * an answer to a gRPC call that is none of gRPC's has its HTTP status in a text alone.
//!
//! Credentials that fail for now are told as a connection that was not made: nothing was sent, so a re-send is safe.
//! Whatever else fails before a request is sent, or after a whole answer came, has no facts, which makes it fatal.

use std::error::Error as StdError;

use cloud_governor::{Facts, GrpcCode, Refusal, Transport};
use google_cloud_gax::error::Error;
use google_cloud_gax::error::rpc::{Code, Status, StatusDetails};

use super::details::{Details, MOST};
use super::{Told, payload};
use crate::target::PROVIDER;

/// How far a chain of errors is followed: one may name itself as its own source.
const DEEPEST: usize = 32;

impl Told<'static> {
    /// Reads an error, and those that it wraps.
    pub(crate) fn of(error: &Error) -> Self {
        let facts = Facts::new().provider(PROVIDER);
        if Refusal::find(error).is_some() {
            return Told::nothing_but(facts);
        }
        let error = telling(error);
        if error.is_transient_and_before_rpc() {
            return Told::nothing_but(facts.transport(Transport::Connect));
        }
        if error.is_timeout() {
            return Told::nothing_but(facts.transport(Transport::Timeout));
        }
        let facts = match error.http_headers() {
            Some(headers) => facts.headers(headers),
            None => facts,
        };
        match (error.status(), error.http_status_code()) {
            (Some(status), http) => answered(facts, status, http),
            (None, Some(http)) => match error.http_payload() {
                Some(payload) => payload::read(payload, facts.status(http)),
                None => Told::nothing_but(facts.status(http)),
            },
            (None, None) if error.is_transport() => Told::nothing_but(match foreign_status(error) {
                Some(http) => facts.status(http),
                None => facts.transport(Transport::Io),
            }),
            (None, None) => Told::nothing_but(facts),
        }
    }

    fn nothing_but(facts: Facts<'static>) -> Self {
        Told { facts, consumer: None, limit: None }
    }
}

/// An answer that the client has parsed.
fn answered(facts: Facts<'static>, status: &Status, http: Option<u16>) -> Told<'static> {
    let facts = match http {
        Some(http) => facts.status(http),
        None => facts,
    };
    let code = match status.code {
        // A status that the client does not know, or none.
        Code::Unknown if http.is_some() => None,
        code => GrpcCode::from_name(code.name()),
    };
    let facts = match code {
        Some(code) => facts.grpc(code),
        None => facts,
    };
    let mut details = Details::default();
    status.details.iter().take(MOST).for_each(|detail| add(&mut details, detail));
    details.told(facts, &status.message)
}

/// Adds a detail that the client has parsed.
fn add(details: &mut Details, detail: &StatusDetails) {
    match detail {
        StatusDetails::ErrorInfo(info) => {
            details.error_info(&info.reason, |key| info.metadata.get(key).map(String::as_str));
        }
        StatusDetails::RetryInfo(info) => {
            details.wait(info.retry_delay.and_then(|delay| delay.try_into().ok()));
        }
        StatusDetails::QuotaFailure(failure) => {
            for violation in failure.violations.iter().take(MOST) {
                details.violation(&violation.quota_id, &violation.description);
            }
        }
        _ => {}
    }
}

// ===== chains =====

/// The error and its sources.
pub(crate) fn chain(error: &Error) -> impl Iterator<Item = &(dyn StdError + 'static)> {
    fn source<'a>(error: &&'a (dyn StdError + 'static)) -> Option<&'a (dyn StdError + 'static)> {
        (*error).source()
    }
    std::iter::successors(Some(error as &(dyn StdError + 'static)), source).take(DEEPEST)
}

/// The error itself, or the one in it that has more to say.
fn telling(error: &Error) -> &Error {
    let wrapper = |error: &Error| error.is_exhausted() || error.is_io();
    let mut inner = chain(error).skip(1).filter_map(|source| source.downcast_ref::<Error>());
    if wrapper(error) { inner.find(|inner| !wrapper(inner)).unwrap_or(error) } else { error }
}

/// The HTTP status of an answer to a gRPC call that is no gRPC, such as a load balancer's page.
fn foreign_status(error: &Error) -> Option<u16> {
    const BEFORE: &str = "mapped from HTTP status code ";
    chain(error).skip(1).find_map(|source| {
        let text = source.to_string();
        let (_, after) = text.split_once(BEFORE)?;
        after.get(..3)?.parse().ok()
    })
}
