//! A middleware that governs the HTTP clients of `reqwest-middleware`. (Skeleton: signatures agreed on, HTTP fills them in.)

use std::sync::Arc;
use std::time::Duration;

use reqwest::Request;

use crate::by_hand::Resilience;
use crate::classify::Facts;
use crate::scope::Scope;

/// Says what the requests of a client are charged to, and what is known of them.
///
/// A [`Scope`] charges all to one; a closure makes a scope of each; [`ByHost`] charges each host apart.
pub trait HttpTarget: Send + Sync + 'static {
    /// The scope of a request.
    fn scope(&self, request: &Request) -> Scope;

    /// Whether the request may be executed twice. Unless said otherwise, by its method (RFC 9110, section 9.2.2), or if it has
    /// an `Idempotency-Key`.
    fn idempotent(&self, request: &Request) -> Option<bool>;

    /// Whether the bodies of failed answers are looked into: up to 64 KiB are then read ahead, and passed on.
    fn looks_into_bodies(&self) -> bool {
        false
    }

    /// What a failed answer's body adds to the facts of its head. `body` is whole, or empty.
    fn told<'a>(&self, _scope: &Scope, facts: Facts<'a>, _body: &[u8]) -> (Facts<'a>, Option<(u64, Duration)>) {
        (facts, None)
    }
}

/// Charges each host apart, as a provider of its own.
#[derive(Debug, Clone, Copy, Default)]
pub struct ByHost;

/// Governs every request of the clients it is put into.
#[derive(Debug)]
pub struct GovernorMiddleware<T = ByHost> {
    target: Arc<T>,
    resilience: Resilience,
}
