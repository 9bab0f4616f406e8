//! The program: from the command line to the exit code.

use std::fmt;
use std::process::ExitCode;

use serde::Serialize;

use super::options::Args;
use crate::inventory::Log;
use crate::program::Program;

/// Runs the program. It sends nothing.
pub fn main(args: &Args) -> ExitCode {
    let program = Program::start("limits", Log::Off);
    let listed = match &args.scope {
        Some(scope) => match args.holding(scope) {
            Ok(holding) => show(args, &holding),
            Err(error) => return program.unusable(&error),
        },
        None => match args.listing() {
            Ok(listing) => show(args, &listing),
            Err(error) => return program.unusable(&error),
        },
    };
    match listed {
        Ok(text) => program.finish(0, |out| out.write_all(text.as_bytes())),
        Err(error) => program.failed(&error),
    }
}

fn show(args: &Args, shown: &(impl fmt::Display + Serialize)) -> serde_json::Result<String> {
    if args.json { Ok(serde_json::to_string(shown)? + "\n") } else { Ok(shown.to_string()) }
}
