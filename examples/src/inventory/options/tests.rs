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
fn the_simulation_is_listed_unless_a_real_place_is_named() {
    assert!(parse("inventory --accounts 2 --fault down@5s+3s --fault cut=1/20").expect("valid").simulated());
    for line in [
        "--endpoint-url http://127.0.0.1:1",
        "--profile dev --profile prod",
        "--region eu-west-1",
        "--cloud azure --subscription a --subscription b",
    ] {
        assert!(!parse(&format!("inventory {line}")).expect("valid").simulated(), "{line}");
    }
}

#[test]
fn what_is_about_the_simulation_does_not_go_with_a_real_place() {
    for real in ["--endpoint-url http://127.0.0.1:1", "--profile dev", "--region eu-west-1", "--subscription a"] {
        for simulated in [
            "--accounts 2",
            "--subscriptions 2",
            "--regions 2",
            "--seed 2",
            "--size small",
            "--fault down",
            "--limit ssm.parameter-reads=4",
        ] {
            let error = parse(&format!("inventory {real} {simulated}")).expect_err("a conflict");
            assert_eq!(error.kind(), ErrorKind::ArgumentConflict, "{real} {simulated}");
        }
    }
}

#[test]
fn a_configuration_does_not_go_with_the_plain_sdk() {
    let error = parse("inventory --config a.yaml --ungoverned standard").expect_err("a conflict");
    assert_eq!(error.kind(), ErrorKind::ArgumentConflict);
}

#[test]
fn a_fault_that_means_nothing_is_an_error_of_the_command_line() {
    let error = parse("inventory --fault earthquake").expect_err("no fault");
    assert_eq!(error.exit_code(), 2);
    assert!(error.to_string().contains("`earthquake` is no fault"), "{error}");
}

#[test]
fn all_services_of_the_chosen_clouds_are_listed_unless_some_are_named() {
    let listed = |line: &str| {
        let args = parse(&format!("inventory {line}")).expect("valid");
        args.check().expect("consistent");
        args.listed()
    };
    let (aws, azure): (Vec<_>, Vec<_>) = (Service::of(Cloud::Aws).collect(), Service::of(Cloud::Azure).collect());
    assert_eq!(listed(""), aws);
    assert_eq!(listed("--cloud azure"), azure);
    assert_eq!(listed("--cloud all"), [aws, azure].concat());
    assert_eq!(listed("--cloud all --services compute,ssm,compute"), [Service::Compute, Service::Ssm]);
}

#[test]
fn what_does_not_go_with_the_cloud_is_named() {
    let check = |line: &str| parse(&format!("inventory {line}")).expect("it parses").check();
    let limit = || "arm.reads=4".parse().expect("a limit");
    for (line, error) in [
        ("--services network", UsageError::Service(Service::Network)),
        ("--cloud azure --services ssm", UsageError::Service(Service::Ssm)),
        ("--cloud all --services ssm", UsageError::NothingOfAzure),
        ("--cloud azure --ungoverned adaptive", UsageError::Adaptive),
        ("--limit arm.reads=4", UsageError::Limit(limit())),
        ("--cloud all --endpoint-url http://127.0.0.1:1", UsageError::OneRealCloud),
        ("--cloud azure --subscription a --profile dev", UsageError::NotOfAzure),
        ("--subscription a", UsageError::NotOfAws),
        ("--cloud azure --endpoint-url http://127.0.0.1:1", UsageError::NoSubscription),
        ("--cloud azure --subscription a --endpoint-url http://127.0.0.1:1", UsageError::NoTls),
    ] {
        assert_eq!(check(line), Err(error), "{line}");
    }
    assert_eq!(check("--ungoverned adaptive"), Ok(()));
    assert_eq!(check("--cloud all --limit arm.reads=4 --limit ssm.parameter-reads=4"), Ok(()));
}
