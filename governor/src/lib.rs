//! One governor for every cloud API call a program makes: it paces, caps, breaks, budgets and retries them from one
//! place, so that a program that lists hundreds of accounts loses no call and hammers no service that is down.
//!
//! This crate is the engine and knows no SDK. Plugins install it in the hooks of the cloud SDKs; calls to anything
//! else are wrapped by hand:
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
//! use cloud_governor::{Config, Scope, call_with_resilience, configure};
//!
//! // Once, at start-up. Without it, the built-in defaults hold.
//! configure(Config::builder().yaml("ratelimit: { github: { max_rps: 5 } }", "inline").build()?);
//!
//! let scope = Scope::new("github", "octo-org", "", "rest").with_operation("ListRepos");
//! let repos = call_with_resilience(&scope, || async { list_repos().await }).await?;
//! # assert!(repos.is_empty());
//! # async fn list_repos() -> Result<Vec<String>, std::io::Error> { Ok(Vec::new()) }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```
//!
//! # What happens to one call
//!
//! ```text
//!              +--------------------------------- back off, from the start -------------------------------+
//!              v                                                                                          |
//! call --> breaker --> deadline --> [backoff] --> pause, token --> slot --> attempt --> classify          |
//!             |            |                          |                        |           |              |
//!             |            |                          |                        |           +- success ----|--> result
//!             +------------+--------- refusal --------+                        |           +- fatal ------|--> own error
//!                  (nothing sent; the caller's own error                       |           +- throttled --+
//!                   if an earlier attempt has one)                             |           |  transient --+  (retries, deadline
//!                                                                              |           |  locked -----+   and budget left)
//!                                                                              |           +- else give up --> own error
//!                                                                              +- dropped: everything goes back, no failure
//! ```
//!
//! | step | file | rule, by default |
//! |---|---|---|
//! | whom it is charged to | `scope.rs`, `registry.rs` | a bucket and a breaker per account, region and service, per operation where limits are published or set so; buckets that several [share](config#buckets-in-common); slots per account; a retry budget per provider |
//! | breaker | `breaker.rs` | five give-ups in a row open it for 30 s, then one probe decides |
//! | deadline | `call.rs` | 900 s; a wait that cannot end before it is refused at once |
//! | backoff | `backoff.rs` | decorrelated jitter from 0.5 s to 20 s, never under a Retry-After |
//! | pause, token | `limiter.rs`, `limiter/law`, `waiters.rs` | the [published](catalogue) limit, or 20 a second to begin with; the rate follows what the server delivers between two throttles, and a Retry-After pauses it: see [`control`] |
//! | slot | `bulkhead.rs` | 64 attempts of one account in flight |
//! | what an outcome means | [`classify`] | one table of rules, that users extend |
//! | retries | `call.rs`, `budget.rs` | 8, of which those beyond the second take from a budget of 500 |
//! | waiting, for tasks and threads | `drive.rs` | the only code that waits, by the governor's [`Clock`] |
//! | what one may set | [`config`], `policy.rs` | defaults < YAML < environment < code, then per call |
//! | what one sees | `stats.rs`, `events.rs` | [`Governor::summary`], [`Governor::messages`], [`Stats`], `tracing` events of target `cloud_governor` |
//!
//! [`Call`] and [`Attempt`] are that path for those who write a front end; every front end here drives the same two.
//! The control parts take the time as an argument and never wait, and take their locks and atomics from `sync.rs`,
//! which a model checker's can replace.
//!
//! # Front ends
//!
//! | what is called | what governs it |
//! |---|---|
//! | any async function | [`call_with_resilience`], [`resilient`] |
//! | any blocking function | [`call_with_resilience_sync`], [`call_with_resilience_blocking`], [`resilient`] |
//! | a [tower](https://docs.rs/tower) service | `tower::GovernorLayer`, with the feature `tower` |
//! | gRPC by [tonic](https://docs.rs/tonic) | `grpc::GrpcLayer`, with the feature `tonic` |
//! | HTTP by [reqwest-middleware](https://docs.rs/reqwest-middleware) | `middleware::GovernorMiddleware`, with the feature `reqwest-middleware` |
//! | the SDKs of AWS, Azure and Google Cloud | the plugins: `cloud-governor-aws`, `-azure` and `-gcp` |
//! | anything else | [`Governor::call`]: a front end of one's own |
//!
//! [`Resilience`] says how all calls of a front end are made, [`CallOptions`] how a single one is.
//!
//! # Features
//!
//! None is on by default.
//!
//! | feature | what it brings |
//! |---|---|
//! | `tower` | a `Layer` for any cloneable service |
//! | `hyper`, `reqwest` | the errors of these crates, and of hyper-util's client, are known in a source chain |
//! | `tonic` | a `Layer` for gRPC channels; a `tonic::Status` and its details, and the errors of h2 and hyper, are known in a source chain |
//! | `reqwest-middleware` | a middleware for HTTP clients, and what `reqwest` brings |

#![warn(clippy::unwrap_used)]

mod backoff;
mod breaker;
mod budget;
mod bulkhead;
mod by_hand;
mod call;
pub mod catalogue;
pub mod classify;
mod clock;
pub mod config;
#[doc = include_str!("_guide/control.md")]
#[doc = concat!("<figure>", include_str!("_guide/drawings/100-20-delivery_rate.svg"), "</figure>\n")]
#[doc = concat!("<figure>", include_str!("_guide/drawings/100-20-aimd.svg"), "</figure>\n")]
#[doc = concat!("<figure>", include_str!("_guide/drawings/step-delivery_rate.svg"), "</figure>\n")]
pub mod control {}
mod drive;
mod error;
mod events;
mod governor;
#[cfg(feature = "tonic")]
pub mod grpc;
mod handle;
mod limiter;
#[cfg(feature = "reqwest-middleware")]
pub mod middleware;
#[cfg(all(test, cloud_governor_loom))]
mod models;
mod options;
mod policy;
mod registry;
mod scope;
mod stats;
mod sync;
#[cfg(feature = "tower")]
pub mod tower;
mod waiters;

pub use breaker::BreakerState;
pub use by_hand::{
    ByClosure, ByFacts, BySource, ClassifyError, Resilience, Resilient, ScopeOf, call_with_resilience,
    call_with_resilience_blocking, call_with_resilience_sync, resilient,
};
pub use call::{Attempt, Call, GiveUp, Outcome, ToldLimit, Verdict};
pub use classify::{
    Class, Classification, Classify, Facts, GrpcCode, InvalidRule, Resend, RetryAfter, Rule, RuleBuilder, Rules,
    Transport, UnknownGrpcCode, classify_error,
};
pub use clock::{Clock, FakeClock, Sleep, SystemClock, Timestamp};
pub use config::{
    BreakerSettings, Config, ConfigBuilder, ConfigError, ConfigOrigin, ConfigProblem, Counts, InvalidLimits, Jitter,
    LawName, Limits, ProviderBuilder, ProviderSettings, RetrySettings, ServiceBuilder, SharedBuilder, SharedLimit,
    ThrottleSettings,
};
pub use drive::{Admit, within};
pub use error::{Error, Refusal, RefusalKind};
pub use governor::{Governor, GovernorBuilder, Inspection, SharedInspection, configure, get_governor, reset_governor};
pub use handle::Handle;
pub use limiter::{Phase, QuotaView};
pub use options::{CallOptions, CallReport};
pub use policy::{PolicyError, RetryPolicy, RetryPolicyBuilder};
pub use registry::MAX_LEAVES;
pub use scope::{ParseScopeError, Scope, UnknownVerb, Verb};
pub use stats::{Bound, SlowedBucket, Stats, Summary, Totals, stats_scope};
pub use waiters::Priority;
