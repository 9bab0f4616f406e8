//! tonic's errors, and gRPC's status with its details.

use std::error::Error;
use std::fmt;

use prost::Message;
use tonic::{Code, Status};
use tonic_types::{ErrorDetails, RetryInfo, RpcStatusExt, pb};

use super::Found;
use crate::classify::{Facts, GrpcCode, Transport};

/// Keys of an ErrorInfo's metadata that name the quota (google.rpc.ErrorInfo, google.api.ErrorReason).
const QUOTA_KEYS: [&str; 2] = ["quota_limit", "quota_unit"];

/// Types that cannot be named here: tonic 0.12's, hyper-util's and tower's. Their `Debug` begins with what they are called.
const BY_NAME: [(&str, Transport); 3] =
    [("ConnectError", Transport::Connect), ("TimeoutExpired", Transport::Timeout), ("Elapsed", Transport::Timeout)];

/// How the messages begin of statuses that tonic's client makes itself, without a source.
const NOT_READY: &str = "Service was not ready: ";
const FROM_HTTP: &str = "grpc-status header missing, mapped from HTTP status code ";
const CUT_SHORT: &str = "protocol error: missing grpc-status trailer";

impl Found<'_> {
    pub(super) fn look_at_tonic(&mut self, error: &(dyn Error + 'static)) {
        match error.downcast_ref::<Status>() {
            Some(status) => self.look_at_status(status),
            None => {
                let name = Name::of(error);
                self.transport(BY_NAME.iter().find(|(known, _)| name.is(known)).map(|(_, transport)| *transport));
                if name.is("Status")
                    && let Some(status) = shown_status(&error.to_string())
                {
                    self.look_at_status(&status);
                }
            }
        }
    }

    fn look_at_status(&mut self, status: &Status) {
        if self.facts.grpc.is_some() {
            return;
        }
        self.any = true;
        self.facts = std::mem::take(&mut self.facts).with_status(status);
        // A server's own would have more to it: the headers, at least, that it stood in.
        if status.metadata().is_empty() && status.details().is_empty() {
            self.look_at_clients_words(status);
        }
    }

    fn look_at_clients_words(&mut self, status: &Status) {
        let message = status.message();
        if let Some(http) = message.strip_prefix(FROM_HTTP).and_then(|http| http.parse().ok()) {
            // What stands before the service has answered in its place.
            self.facts.grpc = None;
            self.facts.status.get_or_insert(http);
        } else if message.starts_with(NOT_READY) && status.code() == Code::Unknown {
            self.transport(Some(Transport::Connect));
        } else if message.starts_with(CUT_SHORT) {
            self.transport(Some(Transport::BodyCutShort));
        }
    }
}

impl<'a> Facts<'a> {
    /// What a status tells that came over the wire. All of it is the server's word: what
    /// [`from_error`](Facts::from_error) would know for a client's own, that nothing was sent, any server may say.
    pub(crate) fn of_answered(status: &Status) -> Facts<'a> {
        Facts::new().with_status(status)
    }

    fn with_status(self, status: &Status) -> Facts<'a> {
        let mut facts = self.message(status.message().to_owned()).headers(status.metadata().as_ref());
        facts.grpc = GrpcCode::from_number(i32::from(status.code()));
        let details = error_details(status);
        if let Some(delay) = details.retry_info().and_then(|info| info.retry_delay) {
            facts = facts.retry_info(delay);
        }
        if let Some(info) = details.error_info() {
            facts = facts.reason(info.reason.clone());
            for quota in QUOTA_KEYS.iter().filter_map(|key| info.metadata.get(*key)) {
                facts = facts.quota(quota.clone());
            }
        }
        for violation in details.quota_failure().iter().flat_map(|failure| &failure.violations) {
            facts = facts.quota(violation.quota_id.clone()).quota(violation.description.clone());
        }
        facts
    }
}

/// The details that a status carries, whatever bytes a server sent for them: what cannot be read is left out.
///
/// `tonic_types::StatusExt::get_error_details` by itself panics where integer overflow is checked, as in debug builds, at the
/// most negative of delays.
pub fn error_details(status: &Status) -> ErrorDetails {
    let Ok(mut carried) = tonic_types::Status::decode(status.details()) else { return ErrorDetails::new() };
    let is_negative = |any: &[u8]| {
        let delay = pb::RetryInfo::decode(any).ok().and_then(|info| info.retry_delay);
        delay.is_some_and(|delay| delay.seconds < 0)
    };
    carried.details.retain(|any| any.type_url != RetryInfo::TYPE_URL || !is_negative(&any.value));
    carried.get_error_details()
}

/// A status of tonic 0.12 by its text, `status: NotFound, message: "no topic", details: [8, 5], metadata: ..`: what by-hand
/// calls of clients on it fail with.
fn shown_status(text: &str) -> Option<Status> {
    let (code, rest) = text.strip_prefix("status: ")?.split_once(", message: \"")?;
    let (message, rest) = rest.split_once("\", details: [")?;
    let (details, _) = rest.split_once(']')?;
    // They stand in the order of their numbers.
    let code = Code::from(GrpcCode::from_name(code)? as i32);
    let details: Result<Vec<u8>, _> = details.split(", ").filter(|byte| !byte.is_empty()).map(str::parse).collect();
    Some(Status::with_details(code, message, details.unwrap_or_default().into()))
}

/// The first letters of an error's `Debug`.
#[derive(Default)]
struct Name {
    text: String,
}

impl Name {
    /// Longer than what is known, and no more than that is kept of what may be anything.
    const LONGEST: usize = 24;

    fn of(error: &dyn Error) -> Self {
        let mut name = Name::default();
        // It never fails: what is too long is passed over.
        let _ = fmt::write(&mut name, format_args!("{error:?}"));
        name
    }

    fn is(&self, known: &str) -> bool {
        self.text.split(|letter: char| !letter.is_alphanumeric()).next() == Some(known)
    }
}

impl fmt::Write for Name {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = Name::LONGEST.saturating_sub(self.text.len());
        self.text.push_str(&text[..text.floor_char_boundary(room)]);
        Ok(())
    }
}
