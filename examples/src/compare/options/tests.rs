use clap::CommandFactory;
use clap::error::ErrorKind;

use super::*;

fn parse(line: &str) -> Result<Args, clap::Error> {
    Args::try_parse_from(line.split_whitespace())
}

#[test]
fn the_command_line_is_consistent() {
    Args::command().debug_assert();
}

#[test]
fn everything_is_compared_unless_the_command_line_says_what() {
    let all = parse("compare").expect("valid");
    assert_eq!(all.runs().len(), Contender::ALL.len() * Load::all().len());
    let some = parse("compare --mode standard,governed --mode adaptive --job base").expect("valid");
    let modes: Vec<_> = some.runs().into_iter().map(|(_, contender)| contender).collect();
    assert_eq!(modes, [Contender::Standard, Contender::Governed, Contender::Adaptive]);
}

#[test]
fn the_simulation_and_the_effort_are_the_inventory_s() {
    let job =
        parse("compare --accounts 2 --seed 9 --size small --fan-out 3 --limit ssm.parameter-reads=4").expect("valid");
    let job = job.job();
    assert_eq!((job.simulation.accounts, job.simulation.seed, job.effort.fan_out), (2, 9, 3));
    assert_eq!(job.simulation.limits.len(), 1);
    assert!(job.simulated());
}

#[test]
fn a_name_that_nobody_has_and_two_forms_at_once_are_errors() {
    for (line, kind) in [
        ("--mode legacy", ErrorKind::InvalidValue),
        ("--mode governed,", ErrorKind::InvalidValue),
        ("--job s3", ErrorKind::InvalidValue),
        ("--json --markdown", ErrorKind::ArgumentConflict),
        ("--ungoverned standard", ErrorKind::UnknownArgument),
    ] {
        assert_eq!(parse(&format!("compare {line}")).expect_err(line).kind(), kind, "{line}");
    }
}
