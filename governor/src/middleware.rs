//! A middleware that governs the HTTP clients of `reqwest-middleware`.

mod answer;
mod calling;
mod target;

use std::fmt;
use std::sync::Arc;

use http::Extensions;
use reqwest::{Request, Response};
use reqwest_middleware::{Middleware, Next};

pub use target::{ByHost, HttpTarget};

use crate::by_hand::Resilience;
use crate::options::CallOptions;
use calling::{Calling, Governed};

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
        let options = extensions.get::<CallOptions>().cloned().unwrap_or_default();
        if options.is_skipped() || extensions.get::<Governed>().is_some() {
            return next.run(request, extensions).await;
        }
        let scope = options.own_scope().cloned().unwrap_or_else(|| self.target.scope(&request));
        let (governor, call) = self.resilience.begin(&scope);
        let call = match self.resilience.own_idempotence().or_else(|| self.target.idempotent(&request)) {
            Some(idempotent) => call.idempotent(idempotent),
            None => call,
        };
        let call = options.apply(call);
        Calling { target: &*self.target, governor, call, options }.run(request, extensions, next).await
    }
}
