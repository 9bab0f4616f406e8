//! Facts from an error's source chain, and errors that bring their own.

#[cfg(feature = "tonic")]
mod with_h2;
#[cfg(feature = "hyper")]
mod with_hyper;
#[cfg(feature = "tonic")]
mod with_tonic;

use std::error::Error;
use std::io;

#[cfg(feature = "tonic")]
pub use with_tonic::error_details;

use super::{Classification, Facts, Rules, Transport};
use crate::{Refusal, Scope};

/// How far a chain is followed: an error may name itself as its own source.
const DEEPEST: usize = 32;

/// An error that knows its facts.
///
/// Implement it for an error type of your own, and the table does the rest:
///
/// ```
/// use cloud_governor::{Class, Classify, Facts, Rules, Scope};
///
/// struct ApiError { status: u16, kind: String, text: String }
///
/// impl Classify for ApiError {
///     fn facts(&self) -> Facts<'_> {
///         Facts::new().status(self.status).code(&self.kind).message(&self.text)
///     }
/// }
///
/// let error = ApiError { status: 429, kind: String::new(), text: "slow down".into() };
/// let scope = Scope::new("github", "*", "*", "api");
/// assert_eq!(error.classify(&Rules::new(), &scope).class, Class::Throttled);
/// ```
pub trait Classify {
    /// What is known of the failure. The provider and the service may be left out: they come from the call's scope.
    fn facts(&self) -> Facts<'_>;

    /// The verdict. Override it where the error knows better than any rule.
    fn classify(&self, rules: &Rules, scope: &Scope) -> Classification {
        rules.classify(&self.facts().in_scope(scope))
    }
}

impl Classify for dyn Error + 'static {
    fn facts(&self) -> Facts<'_> {
        Facts::from_error(self)
    }
}

impl Classify for dyn Error + Send + Sync + 'static {
    fn facts(&self) -> Facts<'_> {
        Facts::from_error(self)
    }
}

impl Classify for io::Error {
    fn facts(&self) -> Facts<'_> {
        Facts::from_error(self)
    }
}

impl<T: Classify + ?Sized> Classify for Box<T> {
    fn facts(&self) -> Facts<'_> {
        (**self).facts()
    }

    fn classify(&self, rules: &Rules, scope: &Scope) -> Classification {
        (**self).classify(rules, scope)
    }
}

/// The verdict of the built-in rules on an error of any type, by the facts in its source chain.
///
/// See [`Facts::from_error`] for what is found there. Use [`Rules::classify_error`] where the scope, or rules of the
/// user's, are at hand.
pub fn classify_error(error: &(dyn Error + 'static)) -> Classification {
    Rules::new().classify(&Facts::from_error(error))
}

impl<'a> Facts<'a> {
    /// The facts that an error and its sources hold.
    ///
    /// Known in a chain: [`std::io::Error`] by its kind, Tokio's `Elapsed`, and with the features `hyper`, `reqwest` and
    /// `tonic` the errors of those crates (hyper's client in hyper-util included, and with `tonic` h2's, and what tonic 0.12
    /// says of a timeout or a failed connect; with `reqwest-middleware` what its error wraps). A failed connect anywhere in
    /// the chain, or other proof that nothing was executed, decides; of other facts the outermost counts. Where there is
    /// none, the texts of all errors of the chain are the message.
    ///
    /// A `reqwest::Error` holds neither headers nor body: whoever wants a Retry-After honoured, or an error code seen,
    /// gives the facts of the response by hand.
    ///
    /// A [`Refusal`] in the chain is no answer of any server. It gives no facts, so that the verdict is
    /// [`Class::Fatal`](super::Class::Fatal).
    pub fn from_error(error: &'a (dyn Error + 'static)) -> Facts<'a> {
        if chain(error).any(|error| error.is::<Refusal>()) {
            return Facts::new();
        }
        Facts::known_in(error).unwrap_or_else(|| Facts::new().message(texts(error)))
    }

    /// The same without the texts; `None` if no error of the chain is known.
    pub(crate) fn known_in(error: &'a (dyn Error + 'static)) -> Option<Facts<'a>> {
        let mut found = Found { facts: Facts::new(), any: false };
        chain(error).for_each(|error| found.look_at(error));
        found.any.then_some(found.facts)
    }
}

/// The error and its sources, those included that an error wraps whose own `source` passes over them: [`io::Error`], and
/// that of `reqwest-middleware`.
pub(crate) fn chain<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    fn next<'a>(error: &&'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
        #[cfg(feature = "reqwest-middleware")]
        if let Some(error) = error.downcast_ref::<reqwest_middleware::Error>() {
            return Some(match error {
                reqwest_middleware::Error::Reqwest(wrapped) => wrapped,
                reqwest_middleware::Error::Middleware(wrapped) => &**wrapped,
            });
        }
        match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
            Some(wrapped) => Some(wrapped),
            None => (*error).source(),
        }
    }
    std::iter::successors(Some(error), next).take(DEEPEST)
}

fn texts(error: &(dyn Error + 'static)) -> String {
    chain(error).map(|error| error.to_string()).collect::<Vec<_>>().join(": ")
}

struct Found<'a> {
    facts: Facts<'a>,
    any: bool,
}

impl<'a> Found<'a> {
    fn look_at(&mut self, error: &'a (dyn Error + 'static)) {
        if let Some(error) = error.downcast_ref::<io::Error>() {
            self.transport(io_transport(error));
        }
        if error.is::<tokio::time::error::Elapsed>() {
            self.transport(Some(Transport::Timeout));
        }
        #[cfg(feature = "hyper")]
        self.look_at_hyper(error);
        #[cfg(feature = "reqwest")]
        self.look_at_reqwest(error);
        #[cfg(feature = "tonic")]
        self.look_at_h2(error);
        #[cfg(feature = "tonic")]
        self.look_at_tonic(error);
    }

    /// A connection that failed to open outranks what else went wrong: nothing was sent.
    fn transport(&mut self, transport: Option<Transport>) {
        let Some(transport) = transport else { return };
        self.any = true;
        if transport == Transport::Connect || self.facts.transport.is_none() {
            self.facts.transport = Some(transport);
        }
    }
}

/// Whether the error's kind speaks of a connection, and if so of what.
///
/// Only a refused connection, or no local address to open one from, proves that nothing was sent: an unreachable host
/// or network can also end a connection that was open. A failed name look-up has no kind of its own in the standard
/// library, so it is known by its text.
fn io_transport(error: &io::Error) -> Option<Transport> {
    use io::ErrorKind as Kind;
    match error.kind() {
        Kind::ConnectionRefused | Kind::AddrNotAvailable => Some(Transport::Connect),
        Kind::TimedOut => Some(Transport::Timeout),
        Kind::BrokenPipe
        | Kind::ConnectionAborted
        | Kind::ConnectionReset
        | Kind::HostUnreachable
        | Kind::Interrupted
        | Kind::NetworkDown
        | Kind::NetworkUnreachable
        | Kind::NotConnected
        | Kind::UnexpectedEof
        | Kind::WouldBlock
        | Kind::WriteZero => Some(Transport::Io),
        _ => is_failed_lookup(error).then_some(Transport::Connect),
    }
}

fn is_failed_lookup(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|text| text.to_string().starts_with("failed to lookup address information"))
}

#[cfg(feature = "reqwest")]
impl Found<'_> {
    fn look_at_reqwest(&mut self, error: &(dyn Error + 'static)) {
        let Some(error) = error.downcast_ref::<reqwest::Error>() else { return };
        // Its text holds the URL, which may have any word in it: not a message to search.
        self.any = true;
        if let Some(status) = error.status() {
            self.facts.status = self.facts.status.or(Some(status.as_u16()));
            return;
        }
        let transport = match error {
            error if error.is_connect() => Some(Transport::Connect),
            error if error.is_timeout() => Some(Transport::Timeout),
            error if error.is_body() => Some(Transport::BodyCutShort),
            error if error.is_request() => Some(Transport::Io),
            // A builder's, a redirect's or a decoder's error; what broke a body while it was decoded is its source.
            _ => None,
        };
        self.transport(transport);
    }
}

#[cfg(feature = "reqwest")]
impl Classify for reqwest::Error {
    fn facts(&self) -> Facts<'_> {
        Facts::from_error(self)
    }
}

#[cfg(feature = "hyper")]
impl Classify for hyper::Error {
    fn facts(&self) -> Facts<'_> {
        Facts::from_error(self)
    }
}

#[cfg(feature = "tonic")]
impl Classify for tonic::Status {
    fn facts(&self) -> Facts<'_> {
        Facts::from_error(self)
    }
}

#[cfg(test)]
mod tests;
