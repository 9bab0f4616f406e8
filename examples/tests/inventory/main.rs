//! The inventory against the simulated AWS: the server's counts and the fleet's totals judge it.

mod common;
#[cfg(feature = "ec2")]
mod ec2;
mod job;
mod program;
