//! What is known of one failed attempt.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::time::{Duration, SystemTime};

use super::RetryAfter;
use crate::Scope;

/// Facts about one failed attempt, from which [`Rules`](super::Rules) draw a verdict.
///
/// Every fact is optional. Texts are borrowed where they can be. `Debug` shows neither the message nor any header, as
/// both may carry what should not be logged.
///
/// ```
/// use cloud_governor::{Class, Facts, Rules};
/// use std::time::Duration;
///
/// let facts = Facts::new().provider("aws").code("Throttling").status(400).header("x-amz-retry-after", "1500");
/// let verdict = Rules::new().classify(&facts);
/// assert_eq!(verdict.class, Class::Throttled);
/// assert_eq!(verdict.retry_after, Some(Duration::from_millis(1500)));
/// ```
#[derive(Clone, Default)]
pub struct Facts<'a> {
    pub(super) provider: Option<Cow<'a, str>>,
    pub(super) service: Option<Cow<'a, str>>,
    pub(super) code: Option<Cow<'a, str>>,
    pub(super) status: Option<u16>,
    pub(super) reason: Option<Cow<'a, str>>,
    pub(super) quota: Option<Cow<'a, str>>,
    pub(super) message: Option<Cow<'a, str>>,
    pub(super) grpc: Option<GrpcCode>,
    pub(super) transport: Option<Transport>,
    retry_after: RetryAfter,
    received_at: Option<SystemTime>,
}

impl<'a> Facts<'a> {
    /// Nothing known yet.
    pub fn new() -> Self {
        Facts::default()
    }

    /// The cloud or API as a [`Scope`] spells it: `aws`, `azure`, `gcp`, `github`. While it is unknown, the rules of
    /// every provider apply that look at a code, a reason or a quota.
    #[must_use]
    pub fn provider(mut self, provider: impl Into<Cow<'a, str>>) -> Self {
        self.provider = known(provider);
        self
    }

    /// The service as a [`Scope`] spells it: `ec2`, `storage.blob`, `cloudasset`.
    #[must_use]
    pub fn service(mut self, service: impl Into<Cow<'a, str>>) -> Self {
        self.service = known(service);
        self
    }

    /// Fills in the provider and the service from a scope, where they are not known yet.
    #[must_use]
    pub fn in_scope(mut self, scope: &'a Scope) -> Self {
        self.provider = self.provider.or_else(|| known(scope.provider()));
        self.service = self.service.or_else(|| known(scope.service()));
        self
    }

    /// The service's error code. The forms in which AWS protocols send one
    /// (`com.amazonaws.foo#ThrottlingException:http://..`, `Throttling;Sender`) are understood.
    #[must_use]
    pub fn code(mut self, code: impl Into<Cow<'a, str>>) -> Self {
        self.code = normal_code(code.into());
        self
    }

    /// The HTTP status.
    #[must_use]
    pub fn status(mut self, status: u16) -> Self {
        self.status = Some(status);
        self
    }

    /// Google's reason: `google.rpc.ErrorInfo.reason`, or the older `errors[].reason`.
    #[must_use]
    pub fn reason(mut self, reason: impl Into<Cow<'a, str>>) -> Self {
        self.reason = known(reason);
        self
    }

    /// The quota that was exceeded, by whatever name the server gives: Google's `quota_limit` or `quota_unit` in the
    /// metadata of an ErrorInfo, or a QuotaFailure's `quota_id`. It tells a quota per day from one per minute. Several
    /// are kept, one after the other.
    #[must_use]
    pub fn quota(mut self, quota: impl Into<Cow<'a, str>>) -> Self {
        self.quota = match (self.quota.take(), known(quota)) {
            (Some(first), Some(next)) => Some(format!("{first} {next}").into()),
            (first, next) => first.or(next),
        };
        self
    }

    /// The message of the service's error.
    #[must_use]
    pub fn message(mut self, message: impl Into<Cow<'a, str>>) -> Self {
        self.message = known(message);
        self
    }

    /// The gRPC status.
    #[must_use]
    pub fn grpc(mut self, code: GrpcCode) -> Self {
        self.grpc = Some(code);
        self
    }

    /// The gRPC status by its name (`RESOURCE_EXHAUSTED`, as Google's JSON errors have it) or its number (`8`, as the
    /// `grpc-status` header has it). An unknown one says nothing.
    #[must_use]
    pub fn grpc_status(mut self, status: &str) -> Self {
        self.grpc = status.parse().ok();
        self
    }

    /// What went wrong on the way, where no full answer came.
    #[must_use]
    pub fn transport(mut self, transport: Transport) -> Self {
        self.transport = Some(transport);
        self
    }

    /// One header of the answer: those that [`RetryAfter`] knows, of rate limits too, and those that carry an error code
    /// (`x-amzn-errortype`, `x-amzn-query-error`, `x-ms-error-code`) where no code is known yet. Others are passed over.
    #[must_use]
    pub fn header(mut self, name: impl AsRef<str>, value: impl AsRef<[u8]>) -> Self {
        let (name, value) = (name.as_ref(), value.as_ref());
        const CODE_HEADERS: [&str; 3] = ["x-amzn-errortype", "x-amzn-query-error", "x-ms-error-code"];
        if self.code.is_none()
            && CODE_HEADERS.iter().any(|known| name.eq_ignore_ascii_case(known))
            && let Ok(code) = std::str::from_utf8(value)
        {
            self.code = normal_code(code.to_owned().into());
        }
        self.retry_after.header(name, value);
        self
    }

    /// All headers of the answer, of which [`header`](Facts::header) picks what it knows. The pairs of an
    /// `http::HeaderMap` fit.
    #[must_use]
    pub fn headers<N: AsRef<str>, V: AsRef<[u8]>>(self, headers: impl IntoIterator<Item = (N, V)>) -> Self {
        headers.into_iter().fold(self, |facts, (name, value)| facts.header(name, value))
    }

    /// The delay of a `google.rpc.RetryInfo`.
    #[must_use]
    pub fn retry_info(mut self, delay: Duration) -> Self {
        self.retry_after.retry_info(delay);
        self
    }

    /// The delay of a `google.rpc.RetryInfo` in its JSON form, `"3.5s"`; garbage says nothing.
    #[must_use]
    pub fn retry_info_text(mut self, delay: &str) -> Self {
        self.retry_after.retry_info_text(delay);
        self
    }

    /// The client's wall clock when the answer came. Unset, the system's clock is read when it is needed: for a
    /// `retry-after` date, or a quota that comes back at the full minute, in an answer without a `date` header.
    #[must_use]
    pub fn received_at(mut self, at: SystemTime) -> Self {
        self.received_at = Some(at);
        self
    }

    /// Of an answer that had begun: whatever broke it, the request was sent.
    #[cfg(feature = "tonic")]
    pub(crate) fn of_begun_answer(mut self) -> Self {
        if self.transport == Some(Transport::Connect) {
            self.transport = Some(Transport::BodyCutShort);
        }
        self
    }

    /// How long the server asked to be left alone; see [`RetryAfter::delay`].
    pub fn retry_after(&self) -> Option<Duration> {
        self.retry_after.delay(self.received())
    }

    /// See [`RetryAfter::is_held_off`].
    pub(super) fn is_held_off(&self) -> bool {
        self.retry_after.is_held_off(self.received())
    }

    /// See [`RetryAfter::until_next_minute`].
    pub(super) fn until_next_minute(&self) -> Duration {
        self.retry_after.until_next_minute(self.received())
    }

    fn received(&self) -> SystemTime {
        self.received_at.unwrap_or_else(SystemTime::now)
    }
}

impl fmt::Debug for Facts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Facts");
        let texts = [
            ("provider", &self.provider),
            ("service", &self.service),
            ("code", &self.code),
            ("reason", &self.reason),
            ("quota", &self.quota),
        ];
        for (name, text) in texts {
            if let Some(text) = text {
                shown.field(name, text);
            }
        }
        if let Some(status) = self.status {
            shown.field("status", &status);
        }
        if let Some(grpc) = self.grpc {
            shown.field("grpc", &grpc);
        }
        if let Some(transport) = self.transport {
            shown.field("transport", &transport);
        }
        shown.field("retry_after", &self.retry_after).field("has_message", &self.message.is_some()).finish()
    }
}

/// Empty texts, and a scope's `*`, say nothing.
fn known<'a>(text: impl Into<Cow<'a, str>>) -> Option<Cow<'a, str>> {
    Some(text.into()).filter(|text| !matches!(text.trim(), "" | "*"))
}

/// The bare error code: no `namespace#` before it, no `:uri` and no `;fault` after it.
///
/// The first two are Smithy's rule for the error types of AWS JSON and REST-JSON (smithy.io, "AWS restJson1 protocol",
/// operation error serialization: cut at the first `:`, then keep what follows the first `#`); the last is how
/// `x-amzn-query-error` joins a code and who is at fault.
pub(super) fn normal_code(code: Cow<'_, str>) -> Option<Cow<'_, str>> {
    let bare = code.split([':', ';']).next().unwrap_or_default();
    let bare = bare.split_once('#').map_or(bare, |(_, name)| name).trim();
    match bare {
        "" => None,
        bare if bare.len() == code.len() => Some(code),
        bare => Some(bare.to_owned().into()),
    }
}

/// How an attempt failed where no full answer came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Transport {
    /// No connection was made (name look-up, TCP or TLS failed), or the one there was did not take the request: nothing was
    /// executed.
    Connect,
    /// No answer in time. The request may have been executed.
    Timeout,
    /// The connection broke, or spoke no HTTP. The request may have been executed.
    Io,
    /// The answer's head came and its body did not come whole. The request was probably executed.
    BodyCutShort,
}

/// A gRPC status code, by the names and numbers of `google.rpc.Code`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the names are google.rpc.Code's")]
pub enum GrpcCode {
    Ok,
    Cancelled,
    Unknown,
    InvalidArgument,
    DeadlineExceeded,
    NotFound,
    AlreadyExists,
    PermissionDenied,
    ResourceExhausted,
    FailedPrecondition,
    Aborted,
    OutOfRange,
    Unimplemented,
    Internal,
    Unavailable,
    DataLoss,
    Unauthenticated,
}

impl GrpcCode {
    /// Every code at the place of its number.
    const ALL: [(GrpcCode, &'static str); 17] = [
        (GrpcCode::Ok, "OK"),
        (GrpcCode::Cancelled, "CANCELLED"),
        (GrpcCode::Unknown, "UNKNOWN"),
        (GrpcCode::InvalidArgument, "INVALID_ARGUMENT"),
        (GrpcCode::DeadlineExceeded, "DEADLINE_EXCEEDED"),
        (GrpcCode::NotFound, "NOT_FOUND"),
        (GrpcCode::AlreadyExists, "ALREADY_EXISTS"),
        (GrpcCode::PermissionDenied, "PERMISSION_DENIED"),
        (GrpcCode::ResourceExhausted, "RESOURCE_EXHAUSTED"),
        (GrpcCode::FailedPrecondition, "FAILED_PRECONDITION"),
        (GrpcCode::Aborted, "ABORTED"),
        (GrpcCode::OutOfRange, "OUT_OF_RANGE"),
        (GrpcCode::Unimplemented, "UNIMPLEMENTED"),
        (GrpcCode::Internal, "INTERNAL"),
        (GrpcCode::Unavailable, "UNAVAILABLE"),
        (GrpcCode::DataLoss, "DATA_LOSS"),
        (GrpcCode::Unauthenticated, "UNAUTHENTICATED"),
    ];

    /// The code with this number, if there is one.
    pub fn from_number(number: i32) -> Option<Self> {
        let place = usize::try_from(number).ok()?;
        Self::ALL.get(place).map(|(code, _)| *code)
    }

    /// The code with this name, compared without case; `Canceled` and `ResourceExhausted` are understood too.
    pub fn from_name(name: &str) -> Option<Self> {
        let letters = |text: &str| text.bytes().filter(|byte| *byte != b'_').collect::<Vec<u8>>();
        let wanted = letters(name.trim());
        if wanted.eq_ignore_ascii_case(b"CANCELED") {
            return Some(GrpcCode::Cancelled);
        }
        Self::ALL.iter().find(|(_, known)| letters(known).eq_ignore_ascii_case(&wanted)).map(|(code, _)| *code)
    }
}

/// A text that names no gRPC status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownGrpcCode;

impl fmt::Display for UnknownGrpcCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no gRPC status: expected a number from 0 to 16 or a name such as RESOURCE_EXHAUSTED")
    }
}

impl std::error::Error for UnknownGrpcCode {}

impl FromStr for GrpcCode {
    type Err = UnknownGrpcCode;

    fn from_str(text: &str) -> Result<Self, UnknownGrpcCode> {
        let code = match text.trim().parse() {
            Ok(number) => GrpcCode::from_number(number),
            Err(_) => GrpcCode::from_name(text),
        };
        code.ok_or(UnknownGrpcCode)
    }
}

#[cfg(test)]
mod tests;
