//! What an error of the Azure SDK says.

use std::error::Error as StdError;
use std::io;

use azure_core::error::{Error, ErrorKind};
use cloud_governor_azure::facts;

use crate::inventory::cloud::Cloud;
use crate::inventory::failure::{Failed, Reading, chain, sources};

impl Failed for Error {
    const CLOUD: Cloud = Cloud::Azure;

    fn reading(&self) -> Reading<'_> {
        // A token that cannot be had is an error of kind `Credential`, and says why in its sources.
        let prefix = if matches!(self.kind(), ErrorKind::Credential) { "no token: " } else { "" };
        for error in sources(self) {
            let (text, answered) = match error.downcast_ref::<Error>().map(Error::kind) {
                Some(ErrorKind::HttpResponse { status, error_code, .. }) => {
                    let code = error_code.as_deref().unwrap_or("an error without a code");
                    (format!("{code} (HTTP {})", u16::from(*status)), true)
                }
                Some(ErrorKind::Io) if is_late(error) => ("timed out".to_owned(), false),
                Some(ErrorKind::Connection | ErrorKind::Io) => (chain(error), false),
                _ => continue,
            };
            return Reading { facts: Some(facts(self)), text: format!("{prefix}{text}"), answered };
        }
        Reading { facts: None, text: format!("{prefix}{}", chain(self)), answered: false }
    }
}

fn is_late(error: &(dyn StdError + 'static)) -> bool {
    let mut kinds = sources(error).filter_map(|error| error.downcast_ref::<io::Error>()).map(io::Error::kind);
    kinds.any(|kind| kind == io::ErrorKind::TimedOut)
}

#[cfg(test)]
mod tests;
