//! The middleware in clients of `reqwest-middleware`, against servers on this machine.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod answers;
mod bodies;
mod cancel;
mod common;
mod hostile;
mod hosts;
mod layers;
mod options;
mod outages;
mod resends;
mod retries;
mod secrets;
mod server;
mod storm;
