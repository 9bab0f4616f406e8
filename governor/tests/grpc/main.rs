//! The gRPC layer over channels that are played, on a paused clock, and over tonic's own against an HTTP/2 server.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "../common/mod.rs"]
mod common;

mod facts;
mod fake;
mod given_back;
mod hostile;
mod options;
mod requests;
mod streams;
mod unary;
mod wire;
