//! Governs every client of the AWS SDK for Rust.
//!
//! [`install_aws_hooks`] takes an `SdkConfig` and returns one whose clients are paced, capped, broken, budgeted and
//! retried by a [`Governor`](cloud_governor::Governor). No service needs code of its own.
//!
//! # What happens to one call
//!
//! 1. `install`: the configuration's identity cache, HTTP client, retry configuration and timeouts were replaced. The
//!    SDK still runs the loop, with its own policy off.
//! 2. `gate`: each attempt passes the identity cache before it is signed. There the scope is made (`names`, `hooks`),
//!    the policy of the task applied (`task_scope`), and admission waited for. The identity goes on with a layer
//!    (`identity`) that carries the operation's state.
//! 3. `operation`: the state of one operation over its attempts, owned by its config bag (`handle`); `registry` finds it
//!    by invocation id.
//! 4. `observer`: the HTTP client tells whose a request is (`sniff`), sends what was admitted within the attempt timeout
//!    (`timeouts`), looks into the bodies of failures (`read_ahead`) for their codes (`named`), watches the bodies of
//!    successes (`body`), and reports the outcome (`report`).
//! 5. To stop, the next attempt passes the gate unsent, and the observer gives the last answer again (`replay`): the
//!    caller gets the service's own typed error.
//! 6. `interceptor`, where a client has it: the typed result, and a stop without a replay.
//!
//! A call that was refused before anything was sent fails with an SDK error behind which [`refusal`] finds why.
//!
//! # What a call costs
//!
//! Some of EC2's limits count instances, not calls: those of RunInstances, StartInstances, StopInstances and
//! TerminateInstances. With the interceptor, the request tells how many it is about (`cost`). Without it they are not seen
//! before the gate, and such a call counts as one instance, unless [`CallOptions::cost`] says how many; what that says holds
//! in any case.
//!
//! # Bodies
//!
//! * A slot goes back when the SDK returns. For most operations that is when the answer has come whole; for a stream, an S3
//!   download or the like, when the head has come. However long the caller reads, it holds no slot.
//! * A download's outcome is known at its end. Cut short, it counts as a transient failure that was given up, because
//!   neither the SDK nor the governor comes again; left by the caller, it counts as a success. What the SDK finds wrong with a
//!   body that came whole (a checksum), or takes for too slow while the caller reads, is not seen here. Streams of events are
//!   successes as soon as they begin.
//! * A half-open circuit closes at a download's head.
//! * An upload that cannot be sent twice is sent once; the caller gets its error, which counts as given up if it was worth
//!   retrying. An upload whose source fails is the caller's own failure, whatever the error says.
//! * An error that S3 puts into an answer with status 200 is treated like any.
//! * The start of a failed answer's body, 64 KiB of it, tells its code, if it comes within five seconds and the attempt
//!   timeout; otherwise the head has to. An error whose body is longer than that is given again, when retrying stops, with
//!   that start alone. Where the body breaks before its code, and the head says nothing of a retry, it is a body cut short.
//!
//! # What is different for some calls
//!
//! * Operations with credentials of their own, clients with an identity cache of their own, and S3 Express pass no gate,
//!   or none that lasts. They are admitted at the HTTP client, and the SDK's own retry quota bounds their retries, and
//!   waits of over a minute, as well: give such clients the interceptor, which lifts it. Credentials that are not the
//!   configuration's are charged to an account of unknown name, also where an account was given.
//!   Operations that need no signature pass the gate like any other.
//! * Presigning is neither paced nor counted: it sends nothing. For an S3 Express bucket it may need a session, whose
//!   creation is sent, and counts.
//! * A user's `operation_attempt_timeout` spans the HTTP call and the body, not the wait for admission. When it passes, the
//!   error is a `DispatchFailure` (or a `ResponseError`, if the head was in time) instead of a `TimeoutError`. One set on
//!   a service's own builder still spans the wait, which then goes on at the next attempt.
//! * `operation_timeout` spans everything, and bounds the call's deadline.
//! * A client that sets its own retry configuration, identity cache or HTTP client replaces that part of the hooks; a
//!   warning says so once. Without ours, an HTTP client tells nothing of outcomes: successes count for nothing, and what
//!   the SDK retries counts as a transient failure. The interceptor sees outcomes there too.

#![warn(clippy::unwrap_used)]

mod body;
mod cost;
mod error;
mod gate;
mod handle;
mod hooks;
mod identity;
mod install;
mod interceptor;
mod named;
mod names;
mod observer;
mod operation;
mod read_ahead;
mod registry;
mod replay;
mod report;
#[cfg(feature = "roles")]
mod roles;
mod sniff;
mod task_scope;
mod timeouts;

pub use error::refusal;
pub use install::{AwsHooks, AwsOptions, MAX_ATTEMPTS, install_aws_hooks};
pub use interceptor::GovernorInterceptor;
pub use names::service_name;
#[cfg(feature = "roles")]
pub use roles::{AssumedRole, InvalidRole};
pub use task_scope::CallOptions;

// Unit tests share the server in memory of the integration tests, which know this crate by its name.
#[cfg(test)]
extern crate self as cloud_governor_aws;

#[cfg(test)]
#[expect(dead_code, reason = "the integration tests use all of it")]
#[path = "../tests/hooks/common.rs"]
mod common;
