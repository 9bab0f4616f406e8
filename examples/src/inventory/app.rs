//! The program: from the command line to the exit code.

use std::future::Future;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use cloud_governor::{Config, ConfigError, Governor, configure, get_governor};
use tracing_subscriber::EnvFilter;

use super::clients::Mode;
use super::job::{Job, Outcome, Pace};
use super::options::{Args, Log};
use super::progress::Bar;
use super::report::Report;
use super::world::{World, WorldError};

/// The exit code of a command line or a configuration that is of no use.
pub const UNUSABLE: u8 = 2;

/// The configuration that knows the simulation's limits.
const BUILT_IN: &str = include_str!("../../inventory.yaml");

/// What events are told unless `RUST_LOG` says otherwise.
const EVENTS: &str = "warn,cloud_governor=debug,inventory=info";

/// Runs the program. Everything that can be wrong with the configuration is found before anything is sent.
pub async fn main(args: Args) -> ExitCode {
    log_to_stderr(args.log);
    let mode = match mode(&args) {
        Ok(mode) => mode,
        Err(error) => return unusable(args.log, &error),
    };
    let world = if args.simulated() { World::simulate(&args).await } else { World::real(&args).await };
    let world = match world {
        Ok(world) => world,
        Err(error @ WorldError::Start(_)) => return failed(args.log, &error),
        Err(error) => return unusable(args.log, &error),
    };
    let report = run(&args, &world, &mode, interrupted()).await;
    world.close().await;
    match print(&args, &report) {
        Ok(()) => report.exit(),
        // Whoever reads the output went away: what they saw is what there is.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => report.exit(),
        Err(error) => failed(args.log, &error),
    }
}

/// Runs the job in a world that is there, until it ends or `stop` is ready.
pub async fn run(args: &Args, world: &World, mode: &Mode, stop: impl Future<Output = ()>) -> Report {
    let listings = world.listings(mode, args.fan_out);
    let bar = Bar::new(listings.len(), args.log == Log::Off);
    let pace = Pace { max_requeues: args.max_requeues, pause: args.requeue_pause };
    let outcome: Outcome = Job::new(listings, pace).run(stop, |all| bar.show(all)).await;
    bar.clear();
    Report::new(mode.name(), world, outcome, &governor(mode))
}

/// The governor's settings for these arguments: `inventory.yaml`, or the file that is named, under the environment.
///
/// # Errors
/// Whatever is wrong with either.
pub fn config(args: &Args) -> Result<Config, ConfigError> {
    let builder = match &args.config {
        Some(file) => Config::builder().file(file),
        None => Config::builder().yaml(BUILT_IN, "inventory.yaml"),
    };
    builder.env().build()
}

fn mode(args: &Args) -> Result<Mode, ConfigError> {
    match args.ungoverned {
        Some(plain) => Ok(Mode::Plain(plain.retry())),
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

fn log_to_stderr(log: Log) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(EVENTS));
    let subscriber =
        tracing_subscriber::fmt().with_env_filter(filter).with_ansi(io::stderr().is_terminal()).with_writer(io::stderr);
    // An error means that a subscriber is set already, which then has the events.
    let _ = match log {
        Log::Off => Ok(()),
        Log::Text => subscriber.try_init(),
        Log::Json => subscriber.json().flatten_event(true).try_init(),
    };
}

/// Ready at Ctrl-C; never, where that cannot be listened for.
async fn interrupted() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}

fn print(args: &Args, report: &Report) -> io::Result<()> {
    let mut out = io::stdout().lock();
    if args.json {
        serde_json::to_writer(&mut out, report)?;
        writeln!(out)?;
    } else {
        write!(out, "{report}")?;
    }
    out.flush()
}

fn unusable(log: Log, error: &dyn std::error::Error) -> ExitCode {
    complain(log, error);
    ExitCode::from(UNUSABLE)
}

fn failed(log: Log, error: &dyn std::error::Error) -> ExitCode {
    complain(log, error);
    ExitCode::FAILURE
}

/// Says what is wrong, in the form that whoever reads standard error expects.
fn complain(log: Log, error: &dyn std::error::Error) {
    if log == Log::Json {
        tracing::error!(target: "inventory", reason = %error, "failed");
    } else {
        // Where standard error is closed there is nobody to tell.
        let _ = writeln!(io::stderr(), "inventory: {error}");
    }
}
