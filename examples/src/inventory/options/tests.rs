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
        "--cloud gcp --project a --zone us-central1-a",
    ] {
        assert!(!parse(&format!("inventory {line}")).expect("valid").simulated(), "{line}");
    }
}

#[test]
fn what_is_about_the_simulation_does_not_go_with_a_real_place() {
    let real =
        ["--endpoint-url http://127.0.0.1:1", "--profile dev", "--region eu-west-1", "--subscription a", "--project a"];
    for real in real {
        for simulated in [
            "--accounts 2",
            "--subscriptions 2",
            "--projects 2",
            "--minute 5s",
            "--minute-left 5s",
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
    let [aws, azure, gcp] = [Cloud::Aws, Cloud::Azure, Cloud::Gcp].map(|cloud| Service::of(cloud).collect::<Vec<_>>());
    assert_eq!(listed(""), aws);
    assert_eq!(listed("--cloud azure"), azure);
    assert_eq!(listed("--cloud gcp"), gcp);
    assert_eq!(listed("--cloud all"), [aws, azure, gcp].concat());
    let named = [Service::Compute, Service::CloudAsset, Service::Ssm];
    assert_eq!(listed("--cloud all --services compute,cloudasset,ssm,compute"), named);
}

#[test]
fn what_does_not_go_with_the_cloud_is_named() {
    let check = |line: &str| parse(&format!("inventory {line}")).expect("it parses").check();
    let limit = |text: &str| text.parse().expect("a limit");
    let seconds = Duration::from_secs;
    for (line, error) in [
        ("--services network", UsageError::Service(Service::Network)),
        ("--services cloudasset", UsageError::Service(Service::CloudAsset)),
        ("--cloud azure --services ssm", UsageError::Service(Service::Ssm)),
        ("--cloud gcp --services compute", UsageError::Service(Service::Compute)),
        ("--cloud all --services ssm,cloudasset", UsageError::NothingOf(Cloud::Azure)),
        ("--cloud all --services compute", UsageError::NothingOf(Cloud::Gcp)),
        ("--cloud azure --ungoverned adaptive", UsageError::Adaptive(Cloud::Azure)),
        ("--cloud gcp --ungoverned adaptive", UsageError::Adaptive(Cloud::Gcp)),
        ("--limit arm.reads=4", UsageError::Limit(limit("arm.reads=4"))),
        ("--cloud azure --limit compute.lists=4", UsageError::Limit(limit("compute.lists=4"))),
        ("--cloud all --endpoint-url http://127.0.0.1:1", UsageError::OneRealCloud),
        ("--cloud all --project a", UsageError::OneRealCloud),
        ("--cloud azure --subscription a --profile dev", UsageError::Foreign("--profile and --region are", Cloud::Aws)),
        ("--subscription a", UsageError::Foreign("--subscription is", Cloud::Azure)),
        ("--cloud azure --project a", UsageError::Foreign("--project is", Cloud::Gcp)),
        ("--cloud azure --endpoint-url http://127.0.0.1:1", UsageError::NothingNamed(Cloud::Azure)),
        ("--cloud azure --subscription a --endpoint-url http://127.0.0.1:1", UsageError::NoTls(Cloud::Azure)),
        ("--cloud gcp --endpoint-url https://127.0.0.1:1", UsageError::NothingNamed(Cloud::Gcp)),
        ("--cloud gcp --project a --zone z --endpoint-url http://example.com", UsageError::NoTls(Cloud::Gcp)),
        ("--cloud gcp --project a", UsageError::NoZone),
        ("--cloud gcp --minute 0s", UsageError::Minute { minute: seconds(0), left: seconds(0) }),
        ("--cloud gcp --minute 2h", UsageError::Minute { minute: seconds(7200), left: seconds(7200) }),
        ("--cloud gcp --minute-left 61s", UsageError::Minute { minute: seconds(60), left: seconds(61) }),
    ] {
        assert_eq!(check(line), Err(error), "{line}");
    }
    for line in [
        "--ungoverned adaptive",
        "--cloud all --limit arm.reads=4 --limit ssm.parameter-reads=4 --limit cloudasset.ListAssets=4",
        "--cloud gcp --project a --zone z --endpoint-url http://127.0.0.1:1",
        "--cloud gcp --project a --services cloudasset",
        "--cloud gcp --minute 5s --minute-left 5s",
    ] {
        assert_eq!(check(line), Ok(()), "{line}");
    }
}
