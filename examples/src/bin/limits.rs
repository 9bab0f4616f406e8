//! Lists the limits that cloud providers publish, as the governor knows them. `limits --help` tells how.
//!
//! `cargo run -p cloud-governor-examples --bin limits -- --provider azure --service compute`

use std::process::ExitCode;

use clap::Parser;
use cloud_governor_examples::limits::{self, Args};

fn main() -> ExitCode {
    limits::main(&Args::parse())
}
