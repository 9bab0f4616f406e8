//! The official clients over real connections, against servers on the loopback interface.
//!
//! Where the environment names a proxy, `NO_PROXY` has to name 127.0.0.1. Some of the clients' waits are in Tokio's time
//! and not in the governor's: tests that would wait so pause it. Then it moves on when nothing but a connection is waited
//! for, so that their governors have no deadlines.

mod common;
mod governors;
mod log;
#[allow(dead_code, reason = "half of it is for the clients on tonic")]
mod reply;
#[allow(dead_code, reason = "half of it is for the clients on tonic")]
mod server;
mod wire;

mod always;
mod always_grpc;
mod at_once;
mod cancel;
mod cancel_many;
mod hostile;
mod limits;
mod operations;
mod options;
mod pages;
mod reads;
mod refusals;
mod scopes;
mod secrets;
mod uploads;
