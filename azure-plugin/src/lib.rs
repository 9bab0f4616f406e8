//! Governs every client of the Azure SDK for Rust.
//!
//! [`governed`] takes the `ClientOptions` of any client or credential on `azure_core` 1.x and returns ones whose calls are
//! paced, capped, broken, budgeted and retried by a [`Governor`](cloud_governor::Governor). No service needs code of its
//! own. [`build_azure_client`] is the same in one call.
//!
//! ```
//! # use std::sync::Arc;
//! use azure_core::http::{ClientOptions, Url};
//! use azure_identity::{ManagedIdentityCredential, ManagedIdentityCredentialOptions};
//! use azure_storage_blob::{BlobServiceClient, BlobServiceClientOptions};
//! use cloud_governor_azure::{AzureOptions, governed};
//!
//! # fn demo() -> azure_core::Result<()> {
//! let client_options = governed(ClientOptions::default(), AzureOptions::new());
//! let credential = ManagedIdentityCredential::new(Some(ManagedIdentityCredentialOptions {
//!     client_options: client_options.clone(),
//!     ..Default::default()
//! }))?;
//! let blobs = BlobServiceClient::new(
//!     Url::parse("https://contoso.blob.core.windows.net")?,
//!     Some(credential),
//!     Some(BlobServiceClientOptions { client_options, ..Default::default() }),
//! )?;
//! # let _ = blobs;
//! # Ok(())
//! # }
//! ```
//!
//! # What happens to one call
//!
//! 1. `install`: two policies were put into the client's options, and the SDK's own retry was switched off.
//! 2. `policy`: the last of the per-call policies loops over the call's attempts. The scope is made (`target`), what the
//!    call's context says is applied ([`CallOptions`]), and admission waited for. Each attempt is a copy of the request that
//!    passes the rest of the pipeline, authorization included, with the same `x-ms-client-request-id`.
//! 3. `journey`: what the two policies share of one attempt travels in the context.
//! 4. `wire`: the first of the per-try policies sees each physical send, and bounds them by the attempt timeout.
//! 5. `answer`: the start of a failed answer's body is read for its code. When retrying stops, the caller gets the last
//!    answer as it came, and the SDK makes of it the error that it always makes. A success goes on with a watch on its
//!    body (`body`).
//! 6. `token`: a failure of the credential is identity's, not the service's.
//! 7. `quotas`: what an answer says is left to a subscription or tenant slows the next calls down before the service has
//!    to.
//!
//! A call that was refused before anything was sent fails with an SDK error behind which [`refusal`] finds why.
//!
//! # Bodies
//!
//! * A slot goes back when the answer's body has ended or is dropped. The SDK reads most answers whole before it returns; a
//!   download it returns at the head, and the reader holds the slot. Programs that leave many downloads unread give it back
//!   at the head ([`AzureOptions::release_at_headers`]).
//! * A download's outcome is known at its end. Cut short, it counts as a transient failure that was given up, because
//!   nobody comes again; left by the reader, it counts as a success. An answer that the SDK reads whole and that is cut
//!   short is retried.
//! * A half-open circuit closes at the head of the answer, and its slot goes back then.
//! * An upload from a stream is rewound before each attempt. One that cannot be rewound is sent once, and the caller gets
//!   its answer, which counts as given up.
//! * The start of a failed answer's body, 64 KiB of it, tells its code, if the whole of it comes within five seconds and the
//!   attempt timeout; otherwise the head has to. An answer that another attempt was to replace, and that is the caller's
//!   after all, has no more of its body than that. A body that breaks breaks for the caller too; where the head says nothing
//!   of a retry, it is a body cut short.
//! * Each part of a transfer in parts is a call of its own, with the context of the whole, and counts against the caps. The
//!   parts are read by tasks of the SDK, so fewer slots than parts are enough.
//!
//! # Tokens
//!
//! A credential fetches its token inside an attempt at a service, which holds its slot meanwhile.
//!
//! * Govern the credential too, with the same options: its calls are then paced, retried and broken as calls of an account
//!   and a service of their own, whose slots nobody else takes. Its failure is retried there and nowhere else.
//! * The failure of a credential that is not governed is charged to identity as well, by the answer that its error holds,
//!   and asked again when that call's backoff has passed. Switch off the SDK's retry in such a credential: the governor
//!   cannot, and a credential that retries is asked again after it has. Its successes are not seen before it has failed.
//! * Neither touches the service's rate, circuit or retries, and the attempt timeout does not count while a token is
//!   waited for.
//! * A 401 that asks for a token is answered by the SDK within the attempt, by a second send. One that is the SDK's last
//!   word is the caller's.
//!
//! # What is sent again
//!
//! What the service did not execute (a throttle, a lock, no connection) is sent again whatever it is. Where that is unknown (a
//! 500, a bare 503, a connection that broke) it is sent again if a second execution does no harm: GET, HEAD, PUT and DELETE,
//! but not POST and PATCH. Not either: an append block without a position or tag as its condition, a snapshot, an increment
//! of a page blob's sequence number. All the same: a query of Resource Graph or of a blob, a user delegation key, a token.
//! [`CallOptions::idempotent`] says otherwise for one call, [`AzureOptions::resend_any`] for all, as the SDK does.
//!
//! # What is different for some calls
//!
//! * A governed call inside another, such as a credential's that reads from a vault, takes no slot unless it is for a token,
//!   and goes by the policy and priority of the outer one, if it was given the outer one's context. Without that it is a
//!   call like any, and needs a slot of its own: one slot for both is too few.
//! * Options that are governed twice are governed once, by the first install.
//! * Where a client does not heed its options and leaves the SDK's retry on, as a virtual machine's managed identity does,
//!   that loop finds nothing to retry: the governor's retries are all there are. A loop that stands above the governor's
//!   policies, in a program or a client crate of its own kind, is not seen and multiplies.
//! * Messages of a queue are read again after any failure worth a retry: those that a lost answer held come back when their
//!   visibility timeout has passed. One whose sending may have gone through is not sent again, unless the call says that it
//!   may be ([`CallOptions::idempotent`]).
//! * A pager's pages and a poller's polls are calls of their own. A poller sleeps without a slot.
//! * A client that is built without these options is not governed.
//! * The transport's headers are a map: of a header that an answer repeats, one value is seen. No header that is read here is
//!   known to be repeated but Compute's `x-ms-ratelimit-remaining-resource`, which counts single machines and is not heeded.
//! * Disabled in the governor's settings, a call passes through once and is counted. The SDK's own retry stays off, but in
//!   clients that leave it on by themselves.

//!
//! # Clients without this pipeline
//!
//! `azure_data_cosmos` and `azure_messaging_eventhubs` have drivers of their own. Switch off their retries
//! (`ThrottlingRetryOptions { max_retry_count: Some(0), .. }` in Cosmos' operation options, `RetryOptions { max_retries: 0, .. }`
//! in `with_retry_options` of an Event Hubs client) and wrap their calls:
//!
//! ```
//! use cloud_governor::{Error, Resilience, Scope, get_governor};
//! use cloud_governor_azure::facts;
//!
//! # async fn read_item() -> azure_core::Result<u32> { Ok(7) }
//! # async fn demo() -> Result<u32, Error<azure_core::Error>> {
//! let scope = Scope::new("azure", "my-account", "", "cosmos").with_operation("ReadItem");
//! let resilience =
//!     Resilience::new().classify_with(|error: &azure_core::Error| get_governor().classify(&scope, facts(error)));
//! let item = resilience.call(&scope, || async { read_item().await }).await?;
//! # Ok(item)
//! # }
//! ```

#![warn(clippy::unwrap_used)]

mod answer;
mod arm;
mod body;
mod call_options;
mod error;
mod hosts;
mod idempotence;
mod install;
mod journey;
mod operation;
mod policy;
mod quotas;
mod target;
mod token;
mod wire;

pub use call_options::CallOptions;
pub use error::{facts, refusal};
pub use hosts::{HostRule, HostRuleError};
pub use install::{AzureOptions, build_azure_client, governed};
