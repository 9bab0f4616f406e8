//! What an error of the official clients says.

use std::time::Duration;

use cloud_governor::{Facts, Transport};
use google_cloud_gax::error::Error;

/// What one failed attempt tells.
#[derive(Debug, Default)]
pub(crate) struct Told {
    pub(crate) facts: Facts<'static>,
    pub(crate) consumer: Option<String>,
    pub(crate) limit: Option<(u64, Duration)>,
}

impl Told {
    pub(crate) fn of(error: &Error) -> Told {
        let mut facts = Facts::new().provider("gcp");
        if let Some(status) = error.http_status_code() {
            facts = facts.status(status);
        }
        if let Some(headers) = error.http_headers() {
            facts = facts.headers(headers.iter());
        }
        if let Some(status) = error.status() {
            facts = facts.grpc_status(status.code.name()).message(status.message.clone());
        }
        if error.is_timeout() {
            facts = facts.transport(Transport::Timeout);
        } else if error.is_connect() {
            facts = facts.transport(Transport::Connect);
        } else if error.is_io() {
            facts = facts.transport(Transport::Io);
        }
        Told { facts, consumer: None, limit: None }
    }
}
