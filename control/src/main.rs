//! Prints how well each law controls in each scenario.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use clap::builder::PossibleValuesParser;
use cloud_governor_control::{LAWS, Merge, Row, SCENARIOS, draw, table, trials};

/// Drives the governor and its peers in virtual time, and says how well they control.
#[derive(Debug, Parser)]
#[command(name = "control", version)]
struct Options {
    /// Only this scenario; may be given more than once
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(SCENARIOS.iter().map(|one| one.name)))]
    scenario: Vec<String>,
    /// Only this law; may be given more than once
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(LAWS.iter().map(|law| law.name)))]
    law: Vec<String>,
    /// How many seeds each is run with; a row is the mean over them
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    seeds: u64,
    /// The first of them; what was tuned on some seeds is judged on others
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(..=u64::MAX - 10_000))]
    first_seed: u64,
    /// A row is the worst of each measure instead of the mean
    #[arg(long)]
    worst: bool,
    /// Prints one JSON array of rows
    #[arg(long)]
    json: bool,
    /// Draws the first seed's run of each row into an SVG file in this directory
    #[arg(long, value_name = "DIR")]
    draw: Option<PathBuf>,
    /// Lists the scenarios and the laws, and runs nothing
    #[arg(long)]
    list: bool,
}

fn main() -> ExitCode {
    let options = Options::parse();
    if options.list {
        list();
        return ExitCode::SUCCESS;
    }
    match run(&options) {
        Ok(text) => {
            println!("{text}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<String, String> {
    let chosen = |names: &[String], name: &str| names.is_empty() || names.iter().any(|chosen| chosen == name);
    let scenarios: Vec<_> = SCENARIOS.iter().filter(|scenario| chosen(&options.scenario, scenario.name)).collect();
    let laws: Vec<_> = LAWS.iter().filter(|law| chosen(&options.law, law.name)).collect();
    if let Some(directory) = &options.draw {
        std::fs::create_dir_all(directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    }
    let merge = if options.worst { Merge::Worst } else { Merge::Mean };
    let seeds = options.first_seed..options.first_seed + options.seeds;
    let rows: Vec<Row> = trials(&scenarios, &laws, seeds, merge, |scenario, law, seed, trace| {
        let Some(directory) = options.draw.as_ref().filter(|_| seed == options.first_seed) else { return Ok(()) };
        let path = directory.join(draw::file_name(scenario, law));
        draw::draw(&path, scenario, law, trace).map_err(|error| format!("{}: {error}", path.display()))
    })?;
    if options.json {
        return serde_json::to_string_pretty(&rows).map_err(|error| error.to_string());
    }
    Ok(table(&rows))
}

fn list() {
    println!("scenarios:");
    SCENARIOS.iter().for_each(|scenario| println!("  {:<16} {}", scenario.name, scenario.about));
    println!("laws:");
    LAWS.iter().for_each(|law| println!("  {:<16} {}", law.name, law.about));
}
