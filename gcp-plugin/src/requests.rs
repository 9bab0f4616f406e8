//! What the front ends share that see the requests themselves.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use cloud_governor::{Governor, Resilience, Scope, ToldLimit, get_governor};
use http::{HeaderMap, Method};
use percent_encoding::percent_decode_str;

use crate::facts::Told;
use crate::options::GcpOptions;
use crate::seen::Seen;
use crate::target::Targets;

/// The header by which a request names the project that is charged.
const QUOTA_PROJECT: &str = "x-goog-user-project";

/// The head of a request that is about to be governed.
#[derive(Clone, Copy)]
pub struct RequestHead<'a> {
    pub(crate) method: &'a Method,
    pub(crate) host: Option<&'a str>,
    pub(crate) path: &'a str,
    pub(crate) query: Option<&'a str>,
    pub(crate) headers: &'a HeaderMap,
}

impl<'a> RequestHead<'a> {
    /// The HTTP method; `POST` of every RPC.
    pub fn method(&self) -> &'a Method {
        self.method
    }

    /// The host, without a port. A generated gRPC client knows none unless it was made `with_origin`: it is the channel that
    /// adds it.
    pub fn host(&self) -> Option<&'a str> {
        self.host
    }

    /// The path as it is sent, percent-encoded; `/package.Service/Method` of an RPC.
    pub fn path(&self) -> &'a str {
        self.path
    }

    /// The query as it is sent, percent-encoded.
    pub fn query(&self) -> Option<&'a str> {
        self.query
    }

    /// The headers; an RPC's metadata. What is added below, such as a token, is not among them yet.
    pub fn headers(&self) -> &'a HeaderMap {
        self.headers
    }

    /// A header's text; `None` if it is missing or is none.
    pub fn header(&self, name: &str) -> Option<&'a str> {
        self.headers.get(name)?.to_str().ok()
    }
}

impl fmt::Debug for RequestHead<'_> {
    // Queries and headers hold what is secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestHead").field("method", self.method).field("host", &self.host).finish_non_exhaustive()
    }
}

/// See [`GcpOptions::account_from`].
#[derive(Clone)]
pub(crate) struct AccountFrom(Arc<AccountOf>);

type AccountOf = dyn Fn(&RequestHead<'_>) -> Option<String> + Send + Sync;

impl AccountFrom {
    pub(crate) fn new(account: impl Fn(&RequestHead<'_>) -> Option<String> + Send + Sync + 'static) -> Self {
        AccountFrom(Arc::new(account))
    }
}

impl fmt::Debug for AccountFrom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AccountFrom")
    }
}

/// What the requests of one channel, or of one HTTP client, are charged to.
#[derive(Debug)]
pub(crate) struct Requests {
    governor: Option<Governor>,
    targets: Targets,
    account_from: Option<AccountFrom>,
    pub(crate) resend_any: bool,
}

impl Requests {
    pub(crate) fn new(options: GcpOptions) -> Self {
        let targets = Targets::new(options.account.as_deref(), "");
        let GcpOptions { governor, account_from, resend_any, .. } = options;
        Requests { governor, targets, account_from, resend_any }
    }

    /// What they are governed by.
    pub(crate) fn resilience(&self) -> Resilience {
        match &self.governor {
            Some(governor) => Resilience::new().governor(governor),
            None => Resilience::new(),
        }
    }

    pub(crate) fn scope(&self, head: &RequestHead<'_>, seen: Seen<'_>) -> Scope {
        let account = self.account_from.as_ref().and_then(|AccountFrom(account)| account(head)).map(Cow::Owned);
        self.targets.of(Some(&Seen { account, ..seen }), head.header(QUOTA_PROJECT))
    }

    /// Takes note of what a failure told; the limit of this scope's, or of what it shares, if it named one.
    pub(crate) fn heard(&self, scope: &Scope, told: &Told<'_>) -> Option<ToldLimit> {
        let governor = self.governor.clone().unwrap_or_else(get_governor);
        self.targets.heard(&governor, scope, told.consumer.as_deref(), told.limit.as_ref())
    }
}

/// A percent-encoded text as it was meant. What is no UTF-8 then is none of Google's names.
pub(crate) fn decoded(text: &str) -> Option<Cow<'_, str>> {
    percent_decode_str(text).decode_utf8().ok()
}

#[cfg(test)]
mod tests;
