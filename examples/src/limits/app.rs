//! The program: from the command line to the exit code.

use std::process::ExitCode;

use super::options::Args;
use crate::inventory::Log;
use crate::program::Program;

/// Runs the program. It sends nothing.
pub fn main(args: &Args) -> ExitCode {
    let program = Program::start("limits", Log::Off);
    let listing = match args.listing() {
        Ok(listing) => listing,
        Err(error) => return program.unusable(&error),
    };
    program.finish(0, |out| {
        if args.json {
            serde_json::to_writer(&mut *out, &listing)?;
            writeln!(out)
        } else {
            write!(out, "{listing}")
        }
    })
}
