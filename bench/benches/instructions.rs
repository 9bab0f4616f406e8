//! The same rows in instructions, which do not depend on what else the machine does.
//!
//! `cargo bench -p cloud-governor-bench --bench instructions`, with valgrind installed. The program runs itself under
//! callgrind, each row with two numbers of calls; the difference is what the calls cost, free of starting up. What gets a row
//! ready is not counted at all: a clock that is calibrated takes as long as it takes.

mod rows;

use std::process::Command;

use rows::{CONTENDED, PARTS, Row};

/// More than a new scope's law heeds the answers of.
const FEW: u64 = 4_000;
const MANY: u64 = 14_000;
/// Set for the program under callgrind: the row's name and the number of calls.
const UNDER_CALLGRIND: &str = "COUNTED_ROW";

type Error = Box<dyn std::error::Error>;

fn main() -> Result<(), Error> {
    match std::env::var(UNDER_CALLGRIND) {
        Ok(counted) => run(&counted),
        Err(_) => print_table(),
    }
}

fn run(counted: &str) -> Result<(), Error> {
    let (calls, name) = counted.split_once(' ').ok_or("a number and a name")?;
    counted_calls(rows::row(name)?, calls.parse()?);
    Ok(())
}

/// Callgrind counts in here.
#[inline(never)]
fn counted_calls(mut row: Row, calls: u64) {
    (row.run)(calls);
}

fn print_table() -> Result<(), Error> {
    let mut counts = Vec::new();
    // Callgrind runs one thread at a time.
    for name in rows::names().filter(|name| *name != CONTENDED) {
        let spent = instructions(name, MANY)?.saturating_sub(instructions(name, FEW)?);
        counts.push((name, spent as f64 / (MANY - FEW) as f64));
    }
    let sum: f64 = counts.iter().filter(|(name, _)| PARTS.contains(name)).map(|(_, count)| count).sum();
    println!("instructions per call; the best existing parts, summed: {sum:.0}");
    for (name, count) in counts {
        println!("{count:>8.0}  {:.2} of the sum  {name}", count / sum);
    }
    Ok(())
}

fn instructions(name: &str, calls: u64) -> Result<u64, Error> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null", "--toggle-collect=*counted_calls*"])
        .arg(std::env::current_exe()?)
        .env(UNDER_CALLGRIND, format!("{calls} {name}"))
        .output()
        .map_err(|error| format!("valgrind cannot be run: {error}"))?;
    let report = String::from_utf8_lossy(&output.stderr);
    let collected = report.lines().find_map(|line| line.split_once("Collected : "));
    let (_, count) = collected.ok_or_else(|| format!("callgrind counted nothing:\n{report}"))?;
    Ok(count.trim().parse()?)
}
