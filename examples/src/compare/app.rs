//! The program: from the command line to the exit code.

use std::future::Future;
use std::io::{self, Write};
use std::pin::pin;
use std::process::ExitCode;

use cloud_governor::Config;

use super::contender::{Contender, Load};
use super::options::Args;
use super::row::{Comparison, Row};
use crate::inventory::{self, Log, World, WorldError};
use crate::program::{Program, interrupted};

/// Runs the program. Everything that can be wrong with the configuration is found before anything is sent.
pub async fn main(args: Args) -> ExitCode {
    let program = Program::start("compare", args.log);
    let job = args.job();
    if let Err(error) = job.check() {
        return program.unusable(&error);
    }
    let config = match inventory::config(&job) {
        Ok(config) => config,
        Err(error) => return program.unusable(&error),
    };
    let announce = |number, of, contender, load| announce(args.log, number, of, contender, load);
    let comparison = match run(&args, &config, interrupted(), announce).await {
        Ok(comparison) => comparison,
        Err(error @ WorldError::Start(_)) => return program.failed(&error),
        Err(error) => return program.unusable(&error),
    };
    program.finish(comparison.exit_code, |out| {
        if args.json {
            serde_json::to_writer(&mut *out, &comparison)?;
            writeln!(out)
        } else if args.markdown {
            write!(out, "{}", comparison.markdown())
        } else {
            write!(out, "{comparison}")
        }
    })
}

/// Makes all runs, one after the other, until `stop` is ready: the run that it meets has no row. `config` is that of
/// [`Contender::Governed`]. `announce` is told each run before it begins: its number, counted from 1, of how many, whose
/// it is, and over what.
///
/// # Errors
/// [`WorldError::Fleet`] before the first run, [`WorldError::Start`].
pub async fn run(
    args: &Args,
    config: &Config,
    stop: impl Future<Output = ()>,
    mut announce: impl FnMut(usize, usize, Contender, Load),
) -> Result<Comparison, WorldError> {
    let runs = args.runs();
    let mut stop = pin!(stop);
    let mut rows = Vec::with_capacity(runs.len());
    for (index, (load, contender)) in runs.iter().copied().enumerate() {
        announce(index + 1, runs.len(), contender, load);
        let job = contender.adapt(load.adapt(args.job()));
        let world = World::simulate(&job).await?;
        let mode = contender.mode(config, job.simulation.seed);
        let report = inventory::run(&job, &world, &mode, stop.as_mut()).await;
        world.close().await;
        let report = report?;
        if report.interrupted {
            return Ok(Comparison::new(args, rows, true));
        }
        rows.push(Row::new(contender, load, report));
    }
    Ok(Comparison::new(args, rows, false))
}

/// Says on standard error which run begins.
fn announce(log: Log, number: usize, of: usize, contender: Contender, load: Load) {
    if log == Log::Off {
        // Where standard error is closed there is nobody to tell.
        let _ = writeln!(io::stderr(), "compare: run {number} of {of}: {contender}, {load}");
    } else {
        tracing::info!(target: "compare", number, of, %contender, %load, "running");
    }
}
