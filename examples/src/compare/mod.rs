//! `compare` runs the inventory's job several times, governed and with the plain SDK, and sets what the server saw side
//! by side.
//!
//! | part | what it is |
//! |---|---|
//! | [`Args`] | the command line |
//! | [`Contender`] | who makes the calls: the governor, or one of the SDK's retry modes |
//! | [`Load`] | which services the job is about |
//! | [`Row`] | what the server saw of one run |
//! | [`Comparison`] | all rows |
//!
//! The runs follow each other in one process. Equal in all of them are the seed, and so the fleet and the chances of
//! faults, the server's buckets, the listings, their fan-out and the connections' settings; how often a listing that
//! gave up is queued again, and after how long, is equal in all but the one that says so in its name. Different is what
//! stands between a listing and the wire: the governor, or the SDK's own retries as they are without configuration
//! (three attempts).
//!
//! No run inherits anything. Each has a server, connections and clients of its own, and either a governor of its own or
//! retry quotas and adaptive rates of its own ([`Quotas`](crate::inventory::aws::Quotas)), which the SDK would keep for the
//! whole process. That is why they need no process of their own.
//!
//! The ideal is the least time in which the buckets can grant the job if nothing fails
//! ([`Ideal`](crate::sim::Ideal)). A run that loses calls may be faster, for it does less.

mod app;
mod contender;
mod options;
mod row;
mod table;

pub use app::{main, run};
pub use contender::{Contender, Load};
pub use options::Args;
pub use row::{Comparison, Row};
