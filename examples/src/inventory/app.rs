//! The program: from the command line to the exit code.

use std::future::Future;
use std::process::ExitCode;

use cloud_governor::{Config, ConfigError, Governor, configure, get_governor};

use super::job::{Job, Outcome, Pace};
use super::mode::Mode;
use super::options::{Args, Effort, Log};
use super::progress::Bar;
use super::report::Report;
use super::world::{World, WorldError};
use crate::program::{self, Program, interrupted};

/// The exit code of a command line or a configuration that is of no use.
pub const UNUSABLE: u8 = 2;

/// Runs the program. Everything that can be wrong with the configuration is found before anything is sent.
pub async fn main(args: Args) -> ExitCode {
    let program = Program::start("inventory", args.log);
    if let Err(error) = args.check() {
        return program.unusable(&error);
    }
    let mode = match mode(&args) {
        Ok(mode) => mode,
        Err(error) => return program.unusable(&error),
    };
    let world = if args.simulated() { World::simulate(&args).await } else { World::real(&args).await };
    let world = match world {
        Ok(world) => world,
        Err(error @ WorldError::Start(_)) => return program.failed(&error),
        Err(error) => return program.unusable(&error),
    };
    let report = run(&args, &world, &mode, interrupted()).await;
    world.close().await;
    let report = match report {
        Ok(report) => report,
        Err(error) => return program.unusable(&error),
    };
    program.finish(report.exit_code, |out| {
        if args.json {
            serde_json::to_writer(&mut *out, &report)?;
            writeln!(out)
        } else {
            write!(out, "{report}")
        }
    })
}

/// Runs the job in a world that is there, until it ends or `stop` is ready.
///
/// # Errors
/// As [`World::listings`], before anything is sent.
pub async fn run(
    args: &Args,
    world: &World,
    mode: &Mode,
    stop: impl Future<Output = ()>,
) -> Result<Report, WorldError> {
    let listings = world.listings(mode, args.effort.fan_out).await?;
    let bar = Bar::new(listings.len(), args.log == Log::Off);
    let Effort { max_requeues, requeue_pause: pause, patience, .. } = args.effort;
    let pace = Pace { max_requeues, pause, patience };
    let outcome: Outcome = Job::new(listings, pace).run(stop, |all| bar.show(all)).await;
    bar.clear();
    Ok(Report::new(mode.name(), world, outcome, &governor(mode)))
}

/// The governor's settings for these arguments: the built-in ones, the file that is named over them, and the environment.
///
/// # Errors
/// Whatever is wrong with either.
pub fn config(args: &Args) -> Result<Config, ConfigError> {
    program::config(args.config.as_deref())
}

fn mode(args: &Args) -> Result<Mode, ConfigError> {
    match args.ungoverned {
        Some(plain) => Ok(Mode::Plain(plain)),
        None => Ok(Mode::Governed(configure(config(args)?))),
    }
}

/// Whose counts are told: those of a governor that saw nothing, where none governed.
fn governor(mode: &Mode) -> Governor {
    match mode {
        Mode::Governed(governor) => governor.clone(),
        Mode::Plain(_) => get_governor(),
    }
}
