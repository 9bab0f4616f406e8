//! What an error of Google's clients says.

use cloud_governor_gcp::facts;
use google_cloud_gax::error::Error;
use google_cloud_gax::error::rpc::StatusDetails;

use crate::inventory::cloud::Cloud;
use crate::inventory::failure::{Failed, Reading, chain, sources};

impl Failed for Error {
    const CLOUD: Cloud = Cloud::Gcp;

    fn reading(&self) -> Reading<'_> {
        let facts = Some(facts(self));
        // The clients wrap a service's answer where they would have gone on asking.
        let answer = sources(self).filter_map(|error| error.downcast_ref::<Error>()).find_map(answer);
        let answered = answer.is_some();
        let text = answer.unwrap_or_else(|| match self {
            error if error.is_timeout() => "timed out".to_owned(),
            error if error.is_authentication() => format!("no token: {}", chain(error)),
            error => chain(error),
        });
        Reading { facts, text, answered }
    }
}

/// The reason or the code of an answer, and its status, if a service answered.
pub(crate) fn answer(error: &Error) -> Option<String> {
    let status = error.status();
    let http = error.http_status_code();
    if status.is_none() && http.is_none() {
        return None;
    }
    let details = status.map_or(&[][..], |status| &status.details);
    let reason = details.iter().find_map(|detail| match detail {
        StatusDetails::ErrorInfo(info) => Some(info.reason.as_str()).filter(|reason| !reason.is_empty()),
        _ => None,
    });
    let code = reason.or(status.map(|status| status.code.name())).unwrap_or("an error without a code");
    Some(match http {
        Some(http) => format!("{code} (HTTP {http})"),
        None => code.to_owned(),
    })
}

#[cfg(test)]
mod tests;
