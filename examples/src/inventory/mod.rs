//! `inventory` lists several accounts at once: what it does, apart from the command line.
//!
//! | part | what it is |
//! |---|---|
//! | [`Args`] | the command line |
//! | [`World`] | where to look: a simulated cloud, or accounts of a real one |
//! | [`Mode`] | how the SDK is configured: governed, or plain |
//! | [`aws`], [`azure`], [`gcp`] | what is a cloud's own: places, clients, calls, errors |
//! | [`Listing`] | one kind of thing in one region of one account, or in one subscription or project, and how far it has come |
//! | [`Job`] | all listings at once; those that gave up are queued again |
//! | [`Report`] | what was found, what was lost, and what the server says |
//!
//! All listings run at once. Inside one, pages follow each other, and what each row needs (its streams, its value's
//! metadata) runs beside them, up to the fan-out. So every bucket of every place always has callers, and the slowest
//! one alone decides how long the job takes.

mod app;
pub mod aws;
pub mod azure;
mod calls;
mod cloud;
mod failure;
mod found;
pub mod gcp;
mod job;
mod kind;
mod listing;
mod mode;
mod options;
mod progress;
mod report;
mod service;
mod table;
mod text;
mod usage;
mod world;

pub use app::{UNUSABLE, config, main, run};
pub use cloud::{Cloud, Clouds};
pub(crate) use failure::chain;
pub use failure::{Failure, Worth};
pub use found::{Found, FoundInAzure, FoundInGcp};
pub use job::{Ended, Job, Outcome, Pace};
pub use kind::{Kind, Place};
pub use listing::{Listing, Progress};
pub use mode::{Mode, Plain};
pub use options::{Args, Effort, Log, Simulation};
pub use report::{INTERRUPTED, Incomplete, LOST, Report, ServerTruth};
pub use service::Service;
pub use text::{BucketSize, Size, TextError};
pub use usage::UsageError;
pub use world::{Simulated, Totals, World, WorldError};
