//! A middleware that governs the HTTP clients of `reqwest-middleware`: any API that a program calls besides the clouds'.
//!
//! ```
//! use cloud_governor::middleware::GovernorMiddleware;
//! use cloud_governor::{Config, configure};
//! use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
//! use reqwest_middleware::{ClientBuilder, ClientWithMiddleware};
//!
//! fn github(token: &str) -> Result<ClientWithMiddleware, Box<dyn std::error::Error>> {
//!     let mut authorization = HeaderValue::try_from(format!("Bearer {token}"))?;
//!     // Or else the client's own `Debug` shows the token.
//!     authorization.set_sensitive(true);
//!     let headers = HeaderMap::from_iter([(AUTHORIZATION, authorization)]);
//!     let client = reqwest::Client::builder().user_agent("inventory").default_headers(headers).build()?;
//!     Ok(ClientBuilder::new(client).with(GovernorMiddleware::by_host()).build())
//! }
//!
//! // Once, at start-up: GitHub allows a token 5,000 requests an hour, and 100 at once.
//! let yaml = "ratelimit: { api.github.com: { max_rps: 1.3, burst: 100, account_concurrency: 50 } }";
//! configure(Config::builder().yaml(yaml, "inline").build()?);
//! # let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
//! # let api = format!("http://{}", listener.local_addr()?);
//! # let server = std::thread::spawn(move || -> std::io::Result<String> {
//! #     use std::io::{Read, Write};
//! #     let (mut stream, _) = listener.accept()?;
//! #     let mut asked = vec![0; 4096];
//! #     let length = stream.read(&mut asked)?;
//! #     stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n[]")?;
//! #     Ok(String::from_utf8_lossy(&asked[..length]).into_owned())
//! # });
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//! # let token = "ghp_secret";
//!
//! let github = github(token)?;
//! // `api` is "https://api.github.com".
//! let repos = github.get(format!("{api}/orgs/octo-org/repos")).send().await?.text().await?;
//! # assert!(repos == "[]" && server.join().unwrap()?.contains("ghp_secret"));
//! # assert!(!format!("{github:?} {:?}", cloud_governor::get_governor().summary()).contains("ghp_secret"));
//! # Ok::<_, Box<dyn std::error::Error>>(()) })?;
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```
//!
//! # One request, one call
//!
//! A request waits for its turn, is sent, and is sent again as the policy of its provider has it; redirects, which reqwest
//! follows by itself, are part of an attempt. What comes back is the service's own last word: its answer as it came, a 429
//! or 503 too, or the client's error. Where no attempt has one to give, it is an error in which
//! [`Refusal::find`](crate::Refusal::find) finds why.
//!
//! An attempt ends with the head of a success. Its body is the reader's: it holds no slot, however long it is read, and if it
//! breaks nothing is sent again. The attempt timeout ends there too, and a timeout that the request or the client has
//! is reqwest's, for each attempt. Of a failed answer that another may replace, no more is kept than 64 KiB, so that no
//! connection waits with it.
//!
//! # What is sent again
//!
//! | failure | GET, HEAD, OPTIONS, TRACE, PUT, DELETE; any with an `Idempotency-Key` | POST, PATCH |
//! |---|---|---|
//! | throttled: 429, and 403 with signs of a rate limit | yes | yes |
//! | no connection was made | yes | yes |
//! | 408, 500, 502, 503, 504, a connection that broke, an attempt that timed out | yes | no |
//! | anything else | no | no |
//!
//! A 503 slows the host down besides, as it is what servers say that have too much to do.
//!
//! What an answer means is said in [`classify`](crate::classify), what GitHub, GitLab, Cloudflare and the IETF's drafts say of
//! waiting at [`RetryAfter`](crate::RetryAfter). [`HttpTarget`], [`Resilience`] and [`CallOptions`] may say otherwise of what is
//! idempotent. A body that cannot be copied, as a stream, is paced and counted but not sent again.
//!
//! # One request treated differently
//!
//! [`CallOptions`] in a request's extensions are for that request alone:
//!
//! ```
//! # async fn search(github: reqwest_middleware::ClientWithMiddleware) -> reqwest_middleware::Result<()> {
//! use cloud_governor::{CallOptions, Scope};
//!
//! // GitHub counts searches apart: 30 a minute.
//! let search = CallOptions::from(Scope::new("api.github.com", "", "", "search"));
//! let url = "https://api.github.com/search/code?q=governor";
//! let found = github.get(url).with_extension(search).send().await?;
//! # Ok(()) }
//! ```
//!
//! # With other middlewares
//!
//! Those that stand after it run for each attempt: one that signs a request or fetches a token belongs there. Those before
//! it run once for the call. One that retries, as `RetryTransientMiddleware` of `reqwest-retry`, has to go, wherever it
//! stands: the two would multiply, and its requests are unpaced if it stands after. reqwest itself sends again, up to twice
//! and unpaced, what an HTTP/2 server says that it has not looked at: `ClientBuilder::retry(reqwest::retry::never())` leaves
//! that to the middleware. An error of another middleware that holds
//! none of the client says nothing of the service and is passed on. Put into a client twice, it governs once.
//!
//! # What is never told
//!
//! Events, refusals and counters name a request by its scope alone. [`ByHost`] takes no more than the host and the port from
//! a URL; whoever makes a scope of a path, in a closure, tells it. An error of reqwest's own holds the whole URL, as it
//! would without the middleware: `without_url` takes it out.

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

/// Governs every request of the clients it is put into: see the [module](self).
///
/// Cheap to clone. `Debug` does not show the target.
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
        let (governor, call) = self.resilience.begin_knowing(&scope, self.target.idempotent(&request));
        let call = options.apply(call);
        Calling { target: &*self.target, governor, call, options }.run(request, extensions, next).await
    }
}
