//! Clients of Google's APIs on tonic 0.14 and 0.12, and gcloud-storage on reqwest, over real connections, against servers on
//! the loopback interface.
//!
//! Where the environment names a proxy, `NO_PROXY` has to name 127.0.0.1. Tests that would wait pause Tokio's time, which
//! then moves on when nothing but a connection is waited for: their governors have no deadlines.

#[path = "../real/governors.rs"]
#[allow(dead_code, reason = "some of it is for the official clients")]
mod governors;
#[path = "../real/log.rs"]
mod log;
#[path = "../real/reply.rs"]
#[allow(dead_code, reason = "some of it is for the official clients")]
mod reply;
#[path = "../real/server.rs"]
#[allow(dead_code, reason = "some of it is for the official clients")]
mod server;
#[path = "../real/wire.rs"]
mod wire;

mod clients;

mod always;
mod at_once;
mod cancel;
mod channels;
mod deadlines;
mod pace;
mod plain;
mod secrets;
mod settings;
mod storage;
mod streams;
