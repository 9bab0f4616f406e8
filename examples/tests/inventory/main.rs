//! The inventory against the simulated clouds: the servers' counts and the fleets' totals judge it.

mod azure;
mod common;
#[cfg(feature = "ec2")]
mod ec2;
mod gcp;
mod job;
mod program;
