//! The inventory against the simulated AWS: the server's counts and the fleet's totals judge it.

mod common;
mod job;
mod program;
