//! Simulated clouds, for programs that show the governor at work and for tests that need a server to judge them, and
//! the libraries of those programs.
//!
//! Nothing here leaves the machine unless it is told to: a simulated cloud listens on loopback, speaks the vendor's
//! wire protocol well enough for the vendor's own SDK, throttles by the vendor's published figures and counts what it
//! saw.

pub mod arm;
pub mod compare;
pub mod gcs_reader;
pub mod inventory;
pub mod limits;
mod program;
pub mod pubsub;
pub mod sim;
