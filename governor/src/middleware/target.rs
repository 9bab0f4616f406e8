//! What a request is charged to, and what is known of it.

use reqwest::Request;

use crate::call::ToldLimit;
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

    /// What a failed answer's body adds to the facts of its head, and the exceeded limit, if the answer names one: see
    /// [`Attempt::limit_told`](crate::Attempt::limit_told). `body` is whole, or empty where it was not looked into, is longer
    /// than 64 KiB or did not come in time.
    fn told<'a>(&self, _scope: &Scope, facts: Facts<'a>, _body: &[u8]) -> (Facts<'a>, Option<ToldLimit>) {
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

/// Charges each host apart, as a provider of its own, so that one API's trouble takes nothing from another: neither slots nor
/// retry budget, and no breaker opens for both.
///
/// The provider is the host as the URL has it, in lower case: `api.github.com`. The service is `http`, or the port where the
/// URL names one that is not its scheme's own: `8443`. Account and region are missing. So are they configured:
///
/// ```yaml
/// ratelimit:
///   api.github.com: { max_rps: 1.3 }
///   localhost: { max_retries: 2, services: { "8443": { max_rps: 50 } } }
/// ```
///
/// In the environment, `CLOUD_GOVERNOR__API.GITHUB.COM__MAX_RPS=1.3` says the same as the first line; a shell has no
/// such names, but `env`, containers and service managers do. An IPv6 address, in brackets, has to do with the defaults.
///
/// All requests to a host share one bucket, with whatever token they come. A program with several tokens, or for an API that
/// limits its parts apart, makes scopes in a closure:
///
/// ```
/// use cloud_governor::middleware::GovernorMiddleware;
/// use cloud_governor::{Resilience, Scope};
/// use reqwest::Request;
///
/// let by_part = |request: &Request| {
///     let path = request.url().path();
///     let part = if path.starts_with("/search/") { "search" } else { "core" };
///     Scope::new("github", "octo-org", "", part).with_operation(request.method())
/// };
/// let middleware = GovernorMiddleware::new(by_part, Resilience::new());
/// # let _ = middleware;
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct ByHost;

impl HttpTarget for ByHost {
    fn scope(&self, request: &Request) -> Scope {
        let url = request.url();
        let port = url.port().map(|port| port.to_string());
        Scope::new(url.host_str().unwrap_or_default(), "", "", port.as_deref().unwrap_or("http"))
    }
}
