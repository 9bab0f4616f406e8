//! What an error of the AWS SDK says.

use std::error::Error;

use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use aws_smithy_runtime_api::client::result::SdkError;
use aws_smithy_types::error::metadata::ProvideErrorMetadata;
use cloud_governor::{Facts, Transport};

use crate::inventory::cloud::Cloud;
use crate::inventory::failure::{Failed, Reading, chain};

impl<E> Failed for SdkError<E, HttpResponse>
where
    E: Error + ProvideErrorMetadata + 'static,
{
    const CLOUD: Cloud = Cloud::Aws;

    fn reading(&self) -> Reading<'_> {
        let (facts, text) = read(self);
        Reading { facts, text, answered: matches!(self, SdkError::ServiceError(_) | SdkError::ResponseError(_)) }
    }
}

fn read<E>(error: &SdkError<E, HttpResponse>) -> (Option<Facts<'_>>, String)
where
    E: Error + ProvideErrorMetadata + 'static,
{
    match error {
        SdkError::ServiceError(failed) => {
            let (code, status) = (failed.err().code(), failed.raw().status().as_u16());
            let facts = Facts::new().status(status).headers(failed.raw().headers());
            let facts = match code {
                Some(code) => facts.code(code),
                None => facts,
            };
            // The message is a fact like any other, though it is not told to anybody.
            let facts = match failed.err().message() {
                Some(message) => facts.message(message),
                None => facts,
            };
            (Some(facts), format!("{} (HTTP {status})", code.unwrap_or("an error without a code")))
        }
        SdkError::ResponseError(_) => {
            (Some(Facts::new().transport(Transport::BodyCutShort)), "the answer did not come whole".to_owned())
        }
        SdkError::TimeoutError(_) => (Some(Facts::new().transport(Transport::Timeout)), "timed out".to_owned()),
        SdkError::DispatchFailure(failed) => {
            // Without a kind it is no failure of the network: credentials that cannot be had, for one.
            let passing = failed.is_io() || failed.is_timeout() || failed.as_other().is_some();
            let transport = if failed.is_timeout() { Transport::Timeout } else { Transport::Io };
            (passing.then(|| Facts::new().transport(transport)), chain(error))
        }
        _ => (None, chain(error)),
    }
}

#[cfg(test)]
mod tests;
