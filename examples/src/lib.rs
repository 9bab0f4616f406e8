//! Simulated clouds, for programs that show the governor at work and for tests that need a server to judge them.
//!
//! Nothing here leaves the machine: a simulated cloud listens on loopback, speaks the vendor's wire protocol well
//! enough for the vendor's own SDK, throttles by the vendor's published figures and counts what it saw.

pub mod sim;
