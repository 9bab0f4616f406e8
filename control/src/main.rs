//! Prints how well each law controls in each scenario.

use std::process::ExitCode;

use clap::Parser;
use clap::builder::PossibleValuesParser;
use cloud_governor_control::{LAWS, Law, Measured, Row, SCENARIOS, table};

/// Drives the governor and its peers in virtual time, and says how well they control.
#[derive(Debug, Parser)]
#[command(name = "control")]
struct Options {
    /// This scenario only; may be repeated.
    #[arg(long, value_parser = PossibleValuesParser::new(SCENARIOS.iter().map(|scenario| scenario.name)))]
    scenario: Vec<String>,
    /// This law only; may be repeated.
    #[arg(long, value_parser = PossibleValuesParser::new(LAWS.iter().map(|law| law.name)))]
    law: Vec<String>,
    /// Prints one JSON array of rows.
    #[arg(long)]
    json: bool,
}

fn main() -> ExitCode {
    let options = Options::parse();
    let chosen = |names: &[String], name: &str| names.is_empty() || names.iter().any(|chosen| chosen == name);
    let mut rows = Vec::new();
    for scenario in SCENARIOS.iter().filter(|scenario| chosen(&options.scenario, scenario.name)) {
        for law in LAWS.iter().filter(|law: &&Law| chosen(&options.law, law.name)) {
            match scenario.run(law, 1) {
                Ok(trace) => rows.push(Row::new(scenario, law, 1, Measured::of(scenario, &trace))),
                Err(error) => {
                    eprintln!("{}: {error}", law.name);
                    return ExitCode::FAILURE;
                }
            }
        }
    }
    if options.json {
        match serde_json::to_string_pretty(&rows) {
            Ok(json) => println!("{json}"),
            Err(error) => {
                eprintln!("{error}");
                return ExitCode::FAILURE;
            }
        }
    } else {
        println!("{}", table(&rows));
    }
    ExitCode::SUCCESS
}
