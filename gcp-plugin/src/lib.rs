//! Governs the official Google Cloud clients for Rust.
//!
//! [`attach`] takes the builder of any client on `google-cloud-gax` 1.x, HTTP or gRPC, and gives one whose client's calls are
//! paced, capped, broken, budgeted and retried by a [`Governor`](cloud_governor::Governor). No service needs code of its own.
//! `attach_storage` does the same for Google's storage client, whose builder is one of its own (feature `storage`).
//!
//! ```
//! use cloud_governor::RetryPolicy;
//! use cloud_governor_gcp::{CallOptions, CallReport, GcpOptions, attach, call, refusal};
//! use google_cloud_asset_v1::client::AssetService;
//! use std::time::Duration;
//!
//! # async fn demo() -> Result<(), Box<dyn std::error::Error>> {
//! let credentials = google_cloud_auth::credentials::Builder::default().build()?;
//! let assets = attach(AssetService::builder(), credentials, GcpOptions::new()).build().await?;
//!
//! // Governed.
//! let page = assets.list_assets().set_parent("projects/my-project").send().await;
//! if let Some(refusal) = page.as_ref().err().and_then(|error| refusal(error)) {
//!     eprintln!("not sent: {refusal}");
//! }
//!
//! // Governed, with a policy of its own, and what it holds goes back at once if it is dropped.
//! let hasty = RetryPolicy::builder().deadline(Duration::from_secs(5)).build()?;
//! let report = CallReport::new();
//! let options = CallOptions::new().policy(hasty).report(&report);
//! let page = call(options, assets.list_assets().set_parent("projects/my-project").send()).await;
//! println!("{} attempts, gave up: {:?}", report.attempts(), report.gave_up());
//! # let _ = page;
//! # Ok(())
//! # }
//! ```
//!
//! # What happens to one call
//!
//! 1. `attach`: the client's credentials, retry policy, backoff policy, retry throttler and both polling policies are the
//!    governor's, which switches the SDK's own retry off. The SDK's loop goes on being what sends; it decides nothing.
//! 2. `credentials`: before each attempt, the first included, the SDK asks the credentials for headers, and that is
//!    where an attempt waits for admission: breaker, deadline, backoff, pause and token, slot. Nothing is sent before. The
//!    time in line is no part of the SDK's timeouts for the attempt.
//! 3. `recorder`, `target`: the client's own request recorder says which operation on which resource this is, and so
//!    which scope is charged.
//! 4. `journey`, `store`: hooks share nothing but the task, so the call is found again by its recorder.
//! 5. `hooks`: the outcome is classified (`facts`) and settled where the SDK asks its policy, which answers with the
//!    governor's verdict. When retrying stops, the caller gets the error of its own last attempt, unchanged.
//!
//! A call that was refused before anything was sent fails with an SDK error behind which [`refusal`] finds why. One that is
//! refused on a retry fails with its own last error.
//!
//! # What is sent again
//!
//! What the service did not execute (a throttle, no connection) is sent again whatever it is. Where that is unknown (a
//! 500, a 503, a connection that broke) it is sent again if the client takes the request for idempotent, as it does for GET,
//! PUT and DELETE, and where `with_idempotency` says so. [`CallOptions::idempotent`] says otherwise for one call,
//! [`GcpOptions::resend_any`] for all. A call ends after `max_retries` retries, at its deadline, or when the retry budget is
//! empty. The delay is the governor's backoff, never less than Retry-After or `RetryInfo` say.
//!
//! # Scopes
//!
//! `gcp/projects/my-project/*/cloudasset/ListAssets`. Services like Compute and Storage are charged to the project of the
//! resource that the request names; services like Cloud Asset to the caller's quota project, which is the one that the
//! credentials name: those of a service account or of the metadata server name none unless `GOOGLE_CLOUD_QUOTA_PROJECT`
//! does. Where neither is known, [`GcpOptions::account`] is, and without it a label of this client alone.
//! Compute's operations are called `instances.list`, Storage's transfers `objects.get` and `objects.insert`.
//! [`CallOptions::scope`] charges something else. A quota project that is set on one request (`with_quota_project`) is not
//! seen.
//!
//! # The recorder
//!
//! `attach` switches on the client's request recorder (`with_tracing()`). What that costs: the client makes a span for each
//! request and each attempt at `INFO`, and keeps OpenTelemetry's durations where the program has a meter provider. A
//! subscriber that listens to all gets an event at `WARN` for each request that failed for good
//! (`experimental.client.request`), one at `DEBUG` for each failed attempt, and the requests and answers themselves at
//! `DEBUG`, in spans and events of the client's crate: filter `google_cloud_asset_v1` and its like. The recorder comes from a
//! crate that promises no stability. Where a client is built against another version of it than this crate, a warning says
//! so once.
//!
//! Without a recorder, be it for that or by [`GcpOptions::recorder`]:
//!
//! * all calls of a client go to one scope, unless [`call`] names another;
//! * a call is known by its task. Calls that are joined in one task outside of `call` may trade attempts: their sums are
//!   right, but one may get another's retries, and if a retry is then refused its caller may get the refusal in place of its
//!   own last error;
//! * polls and resumable uploads hold no slot.
//!
//! # Cancellation
//!
//! Inside [`call`], a dropped future gives everything back at once. Outside, no hook tells that a request in flight was
//! dropped, so what it holds is leased ([`GcpOptions::lease`]): after its end the attempt counts as cancelled, and its
//! slot goes back as soon as another call of an attached client comes by or waits in line for one. A call that is dropped
//! while it waits in line leaves the line at once in either case. Wrap what you may drop: requests under a timeout, in a
//! `select!`, or raced. Inside a `call` that goes on, what is dropped is leased as well: wrap each of them.
//!
//! # Long-running operations
//!
//! Each poll is a call of its own. The SDK never retries a poll; here the poller polls again after what may pass (a throttle,
//! a transient failure, an open circuit), as often in a row as a call may be retried and for as long as one may take. It waits
//! as the SDK does, from 1 s up to 60 s, spread, and never less than a Retry-After or a refusal says. The wait is Tokio's,
//! without a slot.
//!
//! # Uploads, downloads, streams
//!
//! * Each request of a resumable upload takes a token and counts as a call; together they hold one slot. How often the
//!   upload is resumed is bounded by `max_retries` of the whole.
//! * A download's slot goes back at the head of the answer, and so does that of anything else that streams over HTTP: no hook
//!   sees the body. Where the SDK resumes a download that broke, it sends a request of the client's scope.
//! * A stream over gRPC is admitted and counted when it is opened, and gives its slot back at once. The SDK opens Storage's in
//!   60 s, time in line included, or tries again.
//! * google-cloud-storage 1.21 does not resume a buffered upload (`send_buffered`) whose connection breaks under a part: it
//!   leaves the part out and goes on, and may ask for ever. That is within one attempt, where no hook can end it: bound it by
//!   a timeout, and compare the checksum.
//! * The SDK times out no attempt of an upload or a download, and neither the policy's attempt timeout nor the deadline ends one
//!   that was sent: put `tokio::time::timeout` around [`call`].
//!
//! # Tokens
//!
//! A token is fetched before admission, so a slot is never held for one; if the wait for admission was long enough for it
//! to run out, another is asked for, without a slot as well. A credential that fails takes no token, slot or retry of the
//! service. If its failure may pass it is asked again, after the backoff of a call to the scope `identity` of the client's
//! account; successes of a credential that has not failed are not counted there. A credential that retries by itself is
//! asked again after it has.
//!
//! # What is different for some calls
//!
//! * A call site's `with_retry_policy` has the last word on whether to retry: the governor paces and counts, and a failure
//!   that it would have retried counts as a give-up. Over gRPC, such a call is not known from a stream, and its slot goes back
//!   when it is sent. A call site's `with_backoff_policy` delays in addition. Its `with_retry_throttler` keeps successes from
//!   the governor: what they hold is leased.
//! * A client that is attached twice is governed once, by the last options.
//! * Disabled in the governor's settings, a call passes through once and is counted. The SDK's own retry stays off.
//! * A request under way is bounded by the attempt timeout, if the policy has one, and by what is left of the deadline when
//!   it lines up.
//! * An attempt that outlives its lease is counted a second time when it ends, and its call goes on with its retries.
//! * Clients that keep their retry settings to themselves (Pub/Sub's publisher and subscriber) heed what their builders
//!   take, and no more.
//!
//! # Calls by hand
//!
//! Whatever else fails with an error of `google-cloud-gax` is wrapped by hand, with [`facts`] to classify it.

#![warn(clippy::unwrap_used)]
// Without any feature there is nobody to use what all have in common.
#![cfg_attr(not(any(feature = "clients", feature = "tonic", feature = "reqwest-middleware")), allow(dead_code))]

#[cfg(feature = "clients")]
mod attach;
#[cfg(feature = "clients")]
mod call;
#[cfg(feature = "clients")]
mod client;
#[cfg(feature = "clients")]
mod credentials;
#[cfg(feature = "clients")]
mod error;
mod facts;
#[cfg(feature = "tonic")]
mod grpc;
#[cfg(feature = "clients")]
mod handover;
#[cfg(feature = "clients")]
mod hooks;
#[cfg(feature = "clients")]
mod journey;
#[cfg(feature = "reqwest-middleware")]
mod json;
mod options;
#[cfg(feature = "clients")]
mod polling;
#[cfg(feature = "clients")]
mod recorder;
#[cfg(any(feature = "tonic", feature = "reqwest-middleware"))]
mod requests;
mod seen;
mod services;
#[cfg(feature = "clients")]
mod store;
mod target;
#[cfg(all(test, feature = "clients"))]
mod testing;

#[cfg(feature = "clients")]
pub use attach::attach;
#[cfg(feature = "storage")]
pub use attach::attach_storage;
#[cfg(feature = "clients")]
pub use call::call;
pub use cloud_governor::{CallOptions, CallReport};
#[cfg(feature = "clients")]
pub use error::{facts, refusal};
#[cfg(feature = "tonic")]
pub use grpc::{GoogleRpcs, grpc_layer};
#[cfg(feature = "reqwest-middleware")]
pub use json::{GoogleJson, http_middleware};
pub use options::GcpOptions;
#[cfg(any(feature = "tonic", feature = "reqwest-middleware"))]
pub use requests::RequestHead;
