//! Runs the inventory's job governed and with the plain SDK, and sets what the server saw side by side.
//! `compare --help` tells how.

use std::process::ExitCode;

use clap::Parser;
use cloud_governor_examples::compare::{self, Args};

#[tokio::main]
async fn main() -> ExitCode {
    compare::main(Args::parse()).await
}
