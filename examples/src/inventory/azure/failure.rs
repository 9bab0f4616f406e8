//! What an error of the Azure SDK says.

use std::error::Error as StdError;
use std::io;

use azure_core::error::{Error, ErrorKind};
use azure_core::http::headers::Headers;
use cloud_governor::{Facts, Transport};

use crate::inventory::cloud::Cloud;
use crate::inventory::failure::{Failed, Reading, chain, sources};

impl Failed for Error {
    const CLOUD: Cloud = Cloud::Azure;

    fn reading(&self) -> Reading<'_> {
        // A token that cannot be had is an error of kind `Credential`, and says why in its sources.
        let prefix = if matches!(self.kind(), ErrorKind::Credential) { "no token: " } else { "" };
        for error in sources(self) {
            let reading = match error.downcast_ref::<Error>().map(Error::kind) {
                Some(ErrorKind::HttpResponse { status, error_code, raw_response }) => {
                    let headers = raw_response.as_deref().map(|raw| raw.headers());
                    answer(u16::from(*status), error_code.as_deref(), headers)
                }
                Some(ErrorKind::Connection) => silence(Transport::Connect, chain(error)),
                Some(ErrorKind::Io) if is_late(error) => silence(Transport::Timeout, "timed out".to_owned()),
                Some(ErrorKind::Io) => silence(Transport::Io, chain(error)),
                _ => continue,
            };
            return Reading { text: format!("{prefix}{}", reading.text), ..reading };
        }
        Reading { facts: None, text: format!("{prefix}{}", chain(self)), answered: false }
    }
}

fn answer<'a>(status: u16, code: Option<&'a str>, headers: Option<&'a Headers>) -> Reading<'a> {
    let facts = Facts::new().status(status);
    let facts = match code {
        Some(code) => facts.code(code),
        None => facts,
    };
    let headers = headers.into_iter().flat_map(Headers::iter);
    let facts = facts.headers(headers.map(|(name, value)| (name.as_str(), value.as_str())));
    let text = format!("{} (HTTP {status})", code.unwrap_or("an error without a code"));
    Reading { facts: Some(facts), text, answered: true }
}

fn silence(transport: Transport, text: String) -> Reading<'static> {
    Reading { facts: Some(Facts::new().transport(transport)), text, answered: false }
}

fn is_late(error: &(dyn StdError + 'static)) -> bool {
    let mut kinds = sources(error).filter_map(|error| error.downcast_ref::<io::Error>()).map(io::Error::kind);
    kinds.any(|kind| kind == io::ErrorKind::TimedOut)
}

#[cfg(test)]
mod tests;
