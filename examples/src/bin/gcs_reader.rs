//! Reads one object of Cloud Storage, governed, and ends with an exit code that says how that went. `gcs_reader --help`
//! tells how.
//!
//! `cargo run -p cloud-governor-examples --bin gcs_reader -- --fault fail=503 --max-retries 2 --log text`

use std::process::ExitCode;

use clap::Parser;
use cloud_governor_examples::gcs_reader::{self, Args};

#[tokio::main]
async fn main() -> ExitCode {
    gcs_reader::main(Args::parse()).await
}
