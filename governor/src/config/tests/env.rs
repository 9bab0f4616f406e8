use super::*;

fn variables<'a>(variables: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Config, ConfigError> {
    Config::builder().variables(variables).build()
}

#[test]
fn a_variable_sets_one_key_in_either_case() {
    for name in ["CLOUD_GOVERNOR__AWS__MAX_RETRIES", "cloud_governor__aws__max_retries"] {
        assert_eq!(variables([(name, "3")]).unwrap().provider("aws").retry.max_retries, 3);
    }
    assert!(!variables([("CLOUD_GOVERNOR__ENABLED", "false")]).unwrap().enabled());
    let config = variables([("CLOUD_GOVERNOR__DEFAULTS__BREAKER__COOLDOWN", "2m")]).unwrap();
    assert_eq!(config.provider("gcp").breaker.cooldown, SECOND * 120);
}

#[test]
fn a_variable_may_hold_a_whole_section() {
    let aws =
        variables([("CLOUD_GOVERNOR__AWS__SERVICES", "{ec2.RunInstances: {max_rps: 2}}")]).unwrap().provider("aws");
    assert_eq!(aws.limits_for(&of("ec2", Some("RunInstances"))).max_rps(), 2.0);
}

#[test]
fn a_variable_for_a_key_lies_over_one_for_its_section() {
    let config =
        variables([("CLOUD_GOVERNOR__AWS__BURST", "3"), ("CLOUD_GOVERNOR__AWS", "{burst: 2, max_retries: 1}")])
            .unwrap();
    assert_eq!((config.provider("aws").limits.burst(), config.provider("aws").retry.max_retries), (3.0, 1));
}

#[test]
fn a_service_in_a_variables_name_is_found_in_upper_case() {
    let config = Config::builder()
        .yaml("ratelimit: {aws: {services: {s3: {max_rps: 1, burst: 9}}}}", "test.yaml")
        .variables([("CLOUD_GOVERNOR__AWS__SERVICES__S3__MAX_RPS", "2")])
        .variables([("CLOUD_GOVERNOR__AWS__SERVICES__ec2.RunInstances__MAX_RPS", "4")])
        .build()
        .unwrap();
    let aws = config.provider("aws");
    assert_eq!(aws.limits_for(&of("s3", None)), Limits::new(2.0, 9.0, 0.05).unwrap());
    assert_eq!(aws.limits_for(&of("ec2", Some("RunInstances"))).max_rps(), 4.0);
}

#[test]
fn what_is_wrong_with_a_variable_names_it() {
    for (name, value) in [
        ("CLOUD_GOVERNOR__AWS__MAX_RETRYS", "3"),
        ("CLOUD_GOVERNOR__AWS__MAX_RETRIES", "-3"),
        ("CLOUD_GOVERNOR__AWS__MAX_RETRIES", "three"),
        ("CLOUD_GOVERNOR__AWS__MAX_RETRIES", ""),
        ("CLOUD_GOVERNOR__AWS__DEADLINE", " "),
        ("CLOUD_GOVERNOR__AWS__SERVICES", "{ec2: "),
        ("CLOUD_GOVERNOR__AWS__SERVICES", "{ec2: {rps: 2}}"),
        ("CLOUD_GOVERNOR__MAX_RETRIES", "3"),
        ("CLOUD_GOVERNOR__", "3"),
        ("CLOUD_GOVERNOR____AWS", "{}"),
        ("CLOUD_GOVERNOR___AWS__MAX_RETRIES", "3"),
    ] {
        let error = variables([(name, value)]).unwrap_err();
        assert_eq!(error.problems().len(), 1, "{error}");
        assert_eq!(error.problems()[0].origin(), &ConfigOrigin::Variable(name.into()), "{error}");
        assert!(error.to_string().contains(name), "{error}");
    }
}

#[test]
fn two_variables_for_one_key_are_refused() {
    let error = variables([("CLOUD_GOVERNOR__AWS__BURST", "3"), ("cloud_governor__aws__burst", "3")]).unwrap_err();
    assert!(error.to_string().contains("sets the same key as CLOUD_GOVERNOR__AWS__BURST"), "{error}");
}

#[test]
fn the_rest_of_the_environment_is_not_looked_at() {
    let other = [("PATH", "/bin"), ("CLOUD_GOVERNOR", "x"), ("CLOUD_GOVERNOR_OTHER", "x"), ("ÄÖÜ_CLOUD", "x")];
    assert_eq!(variables(other), Ok(Config::default()));
    // What Kubernetes sets for services of these names.
    for service in ["", "_AWS", "_SHARED", "_AWS_SERVICES"] {
        for of_it in ["SERVICE_HOST", "SERVICE_PORT", "SERVICE_PORT_HTTP", "PORT", "PORT_80_TCP", "PORT_80_TCP_ADDR"] {
            assert_eq!(variables([(format!("CLOUD_GOVERNOR{service}_{of_it}").as_str(), "x")]), Ok(Config::default()));
        }
    }
    let builder = Config::builder().variables([("SOME_TOKEN", "hunter2")]);
    assert!(!format!("{builder:?}").contains("hunter2"));
}

#[cfg(unix)]
#[test]
fn a_value_that_is_not_utf8_is_refused() {
    use std::os::unix::ffi::OsStringExt;
    let bad = OsString::from_vec(vec![0xff]);
    let error = Config::builder().variables([("CLOUD_GOVERNOR__AWS__BURST", bad.clone())]).build().unwrap_err();
    assert!(error.to_string().contains("CLOUD_GOVERNOR__AWS__BURST: is not valid UTF-8"), "{error}");
    let mut name = OsString::from("CLOUD_GOVERNOR__");
    name.push(&bad);
    assert!(Config::builder().variables([(name, OsString::from("{}"))]).build().is_err());
    assert!(Config::builder().variables([(bad.clone(), bad)]).build().is_ok());
}

#[test]
fn the_variable_for_the_file_names_one() {
    assert_eq!(variables([("CLOUD_GOVERNOR_CONFIG", "")]), Ok(Config::default()));
    let error = variables([("CLOUD_GOVERNOR_CONFIG", "no/such/file.yaml")]).unwrap_err();
    assert!(error.to_string().contains("no/such/file.yaml"), "{error}");

    let path = std::env::temp_dir().join(format!("cloud-governor-config-{}.yaml", std::process::id()));
    std::fs::write(&path, "ratelimit: {aws: {max_retries: 2, burst: 2}}").unwrap();
    let config = Config::builder()
        .variables([("CLOUD_GOVERNOR_CONFIG", path.as_os_str()), ("CLOUD_GOVERNOR__AWS__BURST", "3".as_ref())])
        .build();
    std::fs::remove_file(&path).unwrap();
    let aws = config.unwrap().provider("aws");
    assert_eq!((aws.retry.max_retries, aws.limits.burst()), (2, 3.0));
}

#[test]
fn variables_of_which_neither_lies_over_the_other_are_not_set_together() {
    for (one, other) in [
        ("CLOUD_GOVERNOR__X__MAX_RPS", "CLOUD_GOVERNOR__X__PER_MINUTE"),
        ("CLOUD_GOVERNOR__X__BURST", "CLOUD_GOVERNOR__x__PER_MINUTE"),
        ("CLOUD_GOVERNOR__X__SERVICES__EC2__MAX_RPS", "CLOUD_GOVERNOR__X__SERVICES__ec2__PER_MINUTE"),
        ("CLOUD_GOVERNOR__X__SERVICES__EC2__MAX_RPS", "CLOUD_GOVERNOR__X__SERVICES__ec2__MAX_RPS"),
        ("CLOUD_GOVERNOR__X__SHARED__ALL__MAX_RPS", "CLOUD_GOVERNOR__X__SHARED__ALL__PER_MINUTE"),
    ] {
        let error = variables([(one, "2"), (other, "3")]).unwrap_err().to_string();
        assert!(error.contains(one) && error.contains(other), "{error}");
    }
    let x = variables([("CLOUD_GOVERNOR__X", "{max_rps: 2, burst: 3}"), ("CLOUD_GOVERNOR__X__PER_MINUTE", "60")]);
    assert_eq!(x.unwrap().provider("x").limits.burst(), 60.0, "a variable for a key lies over one for its section");
    assert!(variables([("CLOUD_GOVERNOR__X__PER_MINUTE", "2"), ("CLOUD_GOVERNOR__Y__MAX_RPS", "3")]).is_ok());
}

#[test]
fn a_variable_that_lacks_an_underscore_is_refused_and_told_its_name() {
    for (name, meant) in [
        ("CLOUD_GOVERNOR_ENABLED", "CLOUD_GOVERNOR__ENABLED"),
        ("CLOUD_GOVERNOR_AWS", "CLOUD_GOVERNOR__AWS"),
        ("CLOUD_GOVERNOR_DEFAULTS", "CLOUD_GOVERNOR__DEFAULTS"),
        ("CLOUD_GOVERNOR_AWS__MAX_RETRIES", "CLOUD_GOVERNOR__AWS__MAX_RETRIES"),
        ("cloud_governor_aws__max_retries", "CLOUD_GOVERNOR__aws__max_retries"),
        ("CLOUD_GOVERNOR_AWS_MAX_RETRIES", "CLOUD_GOVERNOR__AWS__MAX_RETRIES"),
        ("CLOUD_GOVERNOR_DEFAULTS_MAX_RETRIES", "CLOUD_GOVERNOR__DEFAULTS__MAX_RETRIES"),
        ("CLOUD_GOVERNOR_GITHUB__MAX_RETRIES", "CLOUD_GOVERNOR__GITHUB__MAX_RETRIES"),
        ("CLOUD_GOVERNOR_MAX_RETRIES", "CLOUD_GOVERNOR__DEFAULTS__MAX_RETRIES"),
        ("CLOUD_GOVERNOR_AWS__BREAKER__FAILURES", "CLOUD_GOVERNOR__AWS__BREAKER__FAILURES"),
        ("CLOUD_GOVERNOR_AWS_BREAKER_FAILURES", "CLOUD_GOVERNOR__AWS__BREAKER__FAILURES"),
        ("CLOUD_GOVERNOR_AWS_THROTTLE__PAUSE_CAP", "CLOUD_GOVERNOR__AWS__THROTTLE__PAUSE_CAP"),
        ("CLOUD_GOVERNOR_AWS__SERVICES", "CLOUD_GOVERNOR__AWS__SERVICES"),
        ("CLOUD_GOVERNOR_X__SERVICES__EC2", "CLOUD_GOVERNOR__X__SERVICES__EC2"),
        ("CLOUD_GOVERNOR_AWS_SERVICES_EC2_MAX_RPS", "CLOUD_GOVERNOR__AWS__SERVICES__EC2__MAX_RPS"),
        (
            "CLOUD_GOVERNOR_AWS_SERVICES__ec2.RunInstances__MAX_RPS",
            "CLOUD_GOVERNOR__AWS__SERVICES__ec2.RunInstances__MAX_RPS",
        ),
        ("CLOUD_GOVERNOR_AZURE_SHARED_MY_BUCKET_PER_MINUTE", "CLOUD_GOVERNOR__AZURE__SHARED__MY_BUCKET__PER_MINUTE"),
        (
            "CLOUD_GOVERNOR_AWS_SERVICES_EC2_SHARED_RUN_INSTANCES_MAX_RPS",
            "CLOUD_GOVERNOR__AWS__SERVICES__EC2__SHARED__RUN_INSTANCES__MAX_RPS",
        ),
        ("cloud_governor_config", "CLOUD_GOVERNOR_CONFIG"),
        ("CLOUD_GOVERNOR__CONFIG", "CLOUD_GOVERNOR_CONFIG"),
    ] {
        let error = variables([(name, "3")]).unwrap_err();
        assert_eq!(error.problems().len(), 1, "{error}");
        assert_eq!(error.problems()[0].origin(), &ConfigOrigin::Variable(name.into()), "{error}");
        assert!(error.to_string().contains(&format!("write {meant}")), "{error}");
    }
}

#[test]
fn a_variable_with_single_underscores_where_there_should_be_two_further_on_is_told_its_name() {
    let error = variables([("CLOUD_GOVERNOR__AWS_MAX_RETRIES", "3")]).unwrap_err();
    assert!(error.to_string().contains("write CLOUD_GOVERNOR__AWS__MAX_RETRIES"), "{error}");
    let error = variables([("CLOUD_GOVERNOR__AWS__BREAKER_FAILURES", "3")]).unwrap_err();
    assert!(error.to_string().contains("write CLOUD_GOVERNOR__AWS__BREAKER__FAILURES"), "{error}");
    assert!(
        variables([("CLOUD_GOVERNOR__AWS_MAX_RETRIES", "{max_retries: 3}")]).is_ok(),
        "a provider may have any name"
    );
}

#[test]
fn an_underscore_in_a_variables_name_stands_for_a_dash_where_nothing_else_could_be_meant() {
    let run = Scope::new("aws", "1", "eu-west-1", "ec2").with_operation("RunInstances");
    for name in ["RUN_INSTANCES", "run_instances", "RUN-INSTANCES"] {
        let set = [(format!("CLOUD_GOVERNOR__AWS__SERVICES__EC2__SHARED__{name}__MAX_RPS"), "7")];
        let aws = Config::builder().variables(set).build().unwrap().provider("aws");
        assert_eq!(aws.shared_for(&run)[0].limits.max_rps(), 7.0, "{name}");
    }
    let x = variables([("CLOUD_GOVERNOR__X__SHARED__MY_BUCKET", "{max_rps: 7}")]).unwrap().provider("x");
    assert_eq!(x.shared_for(&of("a", None))[0].scope.operation(), Some("my-bucket"));
    let both = [("CLOUD_GOVERNOR__X__SHARED__A_B__MAX_RPS", "1"), ("CLOUD_GOVERNOR__X__SHARED__A-B__MAX_RPS", "2")];
    assert!(variables(both).unwrap_err().to_string().contains("sets the same key as"));

    let rate = |provider: &str, service: &str, written: &str| {
        let name = format!("CLOUD_GOVERNOR__{provider}__SERVICES__{written}__MAX_RPS");
        let config = variables([(name.as_str(), "7")]).unwrap();
        config.provider(provider).limits_for(&of(service, None)).max_rps()
    };
    assert_eq!(rate("AWS", "service-quotas", "SERVICE_QUOTAS"), 7.0, "one that is published");
    assert_eq!(rate("AWS", "bedrock-runtime", "BEDROCK_RUNTIME"), 7.0, "no service of AWS has an underscore");
    assert_eq!(rate("GITHUB", "my_part", "MY_PART"), 7.0, "others have names of any kind");
    assert_eq!(rate("AWS", "s3", "S3"), 7.0);
    let kept = variables([("CLOUD_GOVERNOR__AWS__SERVICES", "{my_part: {max_rps: 7}}")]).unwrap().provider("aws");
    assert_eq!(kept.limits_for(&of("my_part", None)).max_rps(), 7.0, "a value is taken as it is written");
    let put = variables([("CLOUD_GOVERNOR__AWS__SERVICES__a_b.Put_It__MAX_RPS", "7")]).unwrap().provider("aws");
    assert_eq!(put.limits_for(&of("a-b", Some("Put_It"))).max_rps(), 7.0, "an operation's name is left as it is");
}
