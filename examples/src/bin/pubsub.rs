//! Publishes, pulls and acknowledges messages with generated tonic clients, governed or not, against a simulated Pub/Sub.
//! `pubsub --help` tells how.
//!
//! `cargo run -p cloud-governor-examples --bin pubsub -- --pull streaming`

use std::process::ExitCode;

use clap::Parser;
use cloud_governor_examples::pubsub::{self, Args};

#[tokio::main]
async fn main() -> ExitCode {
    pubsub::main(Args::parse()).await
}
