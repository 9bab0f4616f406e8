//! What a request is charged to, and what is known of it.

use std::time::Duration;

use reqwest::Request;

use crate::classify::Facts;
use crate::scope::Scope;

/// Says what the requests of a client are charged to, and what is known of them.
///
/// A [`Scope`] charges all to one; a closure makes a scope of each; [`ByHost`] charges each host apart.
///
/// What goes into a scope is logged, counted and shown in refusals: leave out what is secret, as a URL's query may be.
pub trait HttpTarget: Send + Sync + 'static {
    /// The scope of a request.
    fn scope(&self, request: &Request) -> Scope;

    /// Whether the request may be executed twice; `None` if that is not known. Unless said otherwise it may by its method
    /// (RFC 9110, section 9.2.2), or if it has an `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header).
    fn idempotent(&self, request: &Request) -> Option<bool> {
        Some(request.method().is_idempotent() || request.headers().contains_key("idempotency-key"))
    }

    /// Whether the bodies of failed answers are looked into: up to 64 KiB are then read ahead, and passed on.
    fn looks_into_bodies(&self) -> bool {
        false
    }

    /// What a failed answer's body adds to the facts of its head, and how many calls the exceeded limit allows in which
    /// time, if the answer says so: see [`Attempt::limit_told`](crate::Attempt::limit_told). `body` is whole, or empty
    /// where it was not looked into, is longer than 64 KiB or did not come in time.
    fn told<'a>(&self, _scope: &Scope, facts: Facts<'a>, _body: &[u8]) -> (Facts<'a>, Option<(u64, Duration)>) {
        (facts, None)
    }
}

impl HttpTarget for Scope {
    fn scope(&self, _: &Request) -> Scope {
        self.clone()
    }
}

impl<F: Fn(&Request) -> Scope + Send + Sync + 'static> HttpTarget for F {
    fn scope(&self, request: &Request) -> Scope {
        self(request)
    }
}

/// Charges each host apart, as a provider of its own.
#[derive(Debug, Clone, Copy, Default)]
pub struct ByHost;

impl HttpTarget for ByHost {
    fn scope(&self, request: &Request) -> Scope {
        let url = request.url();
        let port = url.port().map(|port| port.to_string());
        Scope::new(url.host_str().unwrap_or_default(), "", "", port.as_deref().unwrap_or("http"))
    }
}
