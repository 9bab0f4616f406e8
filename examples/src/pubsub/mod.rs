//! `pubsub` publishes messages to topics of several projects through generated tonic clients, and pulls and acknowledges them
//! again, against a simulated [Pub/Sub](crate::sim::gcp::pubsub) that grants each project only so many calls of a kind.
//!
//! Governed, each channel has [`grpc_layer`](cloud_governor_gcp::grpc_layer) around it, and the client library's own retry is
//! off. `--ungoverned` runs the same job with that retry as `gcloud-pubsub` has it by default: up to five more attempts, in
//! some three seconds.
//!
//! # What counts
//! | figure | meaning |
//! |---|---|
//! | published | messages whose `Publish` succeeded, by the client's count |
//! | received | different messages that came |
//! | lost | messages that never came, be it that they were never published |
//! | duplicated | deliveries beyond each message's first: it was published twice, or not acknowledged in time |
//!
//! A publish that fails is not tried again by the program: its messages are what the program loses. A pull or an
//! acknowledgement that fails is repeated a second later, or left to the service, which delivers the message again. Requests
//! are counted by the server.
//!
//! The run ends when everything is published, or failed to be, and the service has nothing left to deliver; or when no topic or
//! subscription was made, and nothing was published or came, for a while (`--patience`). Where topics or subscriptions could
//! not be made, or messages were lost, and the governor refused the last call that failed, the exit code is the
//! [refusal's](cloud_governor::RefusalKind::exit_code).

mod app;
mod client;
mod failure;
mod job;
mod ledger;
mod options;
mod report;

pub use app::main;
pub use client::{Client, ClientError};
pub use failure::{Failure, SetUpError};
pub use job::{Failures, Outcome, Streams, run};
pub use ledger::{Count, Ledger};
pub use options::{Args, Mode, Pulling, Rate, UsageError};
pub use report::PubsubReport;
