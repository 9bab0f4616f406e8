//! Lists several AWS accounts and regions at once through one governor. `inventory --help` tells how.

use std::process::ExitCode;

use clap::Parser;
use cloud_governor_examples::inventory::{self, Args};

#[tokio::main]
async fn main() -> ExitCode {
    inventory::main(Args::parse()).await
}
