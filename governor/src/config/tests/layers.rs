use super::*;
use crate::config::services::MINUTE;

#[test]
fn the_defaults_are_those_of_the_contract() {
    let config = Config::default();
    assert!(config.enabled());
    for name in ["aws", "azure", "gcp", "github"] {
        let provider = config.provider(name);
        assert!(provider.enabled);
        assert_eq!(provider.account_concurrency.get(), 64);
        assert_eq!(provider.retry_budget, 500);
        assert_eq!(
            (provider.limits.max_rps(), provider.limits.burst(), provider.limits.floor_rps()),
            (20.0, 20.0, 0.05)
        );
        assert_eq!((provider.limits.ceiling(), provider.throttle.law), (None, LawName::DeliveryRate));
        assert_eq!((provider.breaker.failures.get(), provider.breaker.cooldown), (5, SECOND * 30));
        assert_eq!((provider.retry.max_retries, provider.retry.deadline), (8, Some(SECOND * 900)));
        assert_eq!((provider.retry.base_delay, provider.retry.max_backoff), (SECOND / 2, SECOND * 20));
        assert_eq!((provider.retry.jitter, provider.retry.attempt_timeout), (Jitter::Decorrelated, None));
        assert_eq!((provider.throttle.factor, provider.throttle.recovery_step), (0.5, 0.05));
        assert_eq!((provider.throttle.pause_cap, provider.throttle.cut_interval), (SECOND * 300, SECOND));
        assert_eq!(provider.throttle.recovery_after, SECOND * 5);
        assert_eq!((provider.connect_timeout, provider.read_timeout), (SECOND * 3, SECOND * 60));
        assert_eq!(provider.rules, []);
        assert_eq!(provider.is_per_operation(&of("ec2", Some("DescribeVpcs"))), name == "aws");
        assert_eq!(provider.is_per_operation(&of("cloudasset", Some("ListAssets"))), name == "gcp");
        assert_eq!(provider.is_per_operation(&of("pubsub", Some("Publish"))), name == "gcp");
    }
}

#[test]
fn nothing_said_is_the_default() {
    for text in ["", "# nothing\n", "---\n", "ratelimit:\n", "ratelimit: {}", "ratelimit:\n  aws:\n    services:\n"] {
        assert_eq!(yaml(text), Ok(Config::default()), "{text:?}");
    }
    assert_eq!(Config::builder().build(), Ok(Config::default()));
}

#[test]
fn the_worked_example_reads() {
    let config = yaml(
        "ratelimit:
  enabled: true
  aws:
    account_concurrency: 64
    max_retries: 8
    services:
      secretsmanager: { max_rps: 2, burst: 2 }
      ec2: { per_operation: true, max_rps: 20 }
      ec2.RunInstances: { max_rps: 2, burst: 5 }
",
    )
    .unwrap();
    let aws = config.provider("aws");
    assert_eq!(aws.limits_for(&of("secretsmanager", Some("GetSecretValue"))), Limits::new(2.0, 2.0, 0.05).unwrap());
    assert!(!aws.is_per_operation(&of("secretsmanager", Some("GetSecretValue"))));
    assert_eq!(aws.limits_for(&of("ec2", Some("DescribeVpcs"))), Limits::new(20.0, 20.0, 0.05).unwrap());
    assert!(aws.is_per_operation(&of("ec2", Some("DescribeVpcs"))));
    assert_eq!(aws.limits_for(&of("ec2", Some("RunInstances"))), Limits::new(2.0, 5.0, 0.05).unwrap());
    assert_eq!(aws.limits_for(&of("s3", None)), Limits::default());
}

#[test]
fn code_lies_over_the_environment_over_yaml_over_the_defaults() {
    let file = "ratelimit: {aws: {max_retries: 2, account_concurrency: 2, retry_budget: 2}}";
    let variables = [("CLOUD_GOVERNOR__AWS__MAX_RETRIES", "3"), ("CLOUD_GOVERNOR__AWS__ACCOUNT_CONCURRENCY", "3")];
    // The order of the calls does not matter.
    let config = Config::builder()
        .provider("AWS", |aws| aws.max_retries(4))
        .variables(variables)
        .yaml(file, "test.yaml")
        .build()
        .unwrap();
    let aws = config.provider("aws");
    let of_code_env_yaml_default =
        (aws.retry.max_retries, aws.account_concurrency.get(), aws.retry_budget, aws.limits.max_rps());
    assert_eq!(of_code_env_yaml_default, (4, 3, 2, 20.0));
}

#[test]
fn a_later_yaml_text_lies_over_an_earlier_one_key_by_key() {
    let config = Config::builder()
        .yaml("ratelimit: {aws: {max_retries: 1, breaker: {failures: 2, cooldown: 9}}}", "one")
        .yaml("ratelimit: {aws: {breaker: {cooldown: 10}}}", "two")
        .build()
        .unwrap();
    let aws = config.provider("aws");
    assert_eq!((aws.retry.max_retries, aws.breaker.failures.get(), aws.breaker.cooldown), (1, 2, SECOND * 10));
}

#[test]
fn a_provider_lies_over_the_defaults_of_every_layer() {
    let config = Config::builder()
        .yaml("ratelimit: {aws: {max_retries: 1}}", "test.yaml")
        .defaults(|all| all.max_retries(7).deadline(None))
        .build()
        .unwrap();
    assert_eq!((config.provider("aws").retry.max_retries, config.provider("aws").retry.deadline), (1, None));
    assert_eq!(config.provider("github").retry.max_retries, 7);
}

#[test]
fn the_global_switch_is_folded_into_every_provider() {
    let config = yaml("ratelimit: {enabled: false, aws: {enabled: true}}").unwrap();
    assert!(!config.enabled() && !config.provider("aws").enabled && !config.provider("github").enabled);
    let config = yaml("ratelimit: {aws: {enabled: false}}").unwrap();
    assert!(config.enabled() && !config.provider("aws").enabled && config.provider("azure").enabled);
}

#[test]
fn what_is_set_the_same_is_equal_wherever_it_was_written() {
    let in_yaml = yaml("ratelimit:\n  aws:\n    deadline: 2m\n    services: {s3: {max_rps: 5}}\n").unwrap();
    let in_code =
        Config::builder().provider("aws", |aws| aws.deadline(SECOND * 120).service("s3", |s3| s3.max_rps(5.0))).build();
    assert_eq!(in_code, Ok(in_yaml.clone()));
    assert_ne!(in_yaml, Config::default());
    assert_eq!(yaml("ratelimit: {github: {max_retries: 8}, aws: {floor_rps: 0.05}}"), Ok(Config::default()));
}

#[test]
fn every_setting_in_code_is_the_key_of_the_same_name() {
    let in_code = Config::builder()
        .enabled(true)
        .provider("x", |x| {
            x.enabled(true)
                .account_concurrency(NonZeroUsize::new(3).unwrap())
                .retry_budget(4)
                .law(LawName::DeliveryRate)
                .max_rps(5.0)
                .burst(6.0)
                .floor_rps(0.5)
                .max_retries(7)
                .base_delay(SECOND)
                .max_backoff(SECOND * 9)
                .jitter(Jitter::Full)
                .deadline(SECOND * 10)
                .attempt_timeout(SECOND * 11)
                .breaker_failures(12)
                .breaker_cooldown(SECOND * 13)
                .throttle_factor(0.25)
                .pause_cap(SECOND * 14)
                .cut_interval(SECOND * 15)
                .recovery_after(SECOND * 16)
                .recovery_step(0.125)
                .connect_timeout(SECOND * 17)
                .read_timeout(SECOND * 18)
                .rules([])
                .service("s", |s| s.per_operation(true).law(LawName::Aimd).max_rps(1.0).burst(2.0).floor_rps(0.25))
        })
        .build();
    let in_yaml = yaml(
        "ratelimit:
  x:
    enabled: true
    account_concurrency: 3
    retry_budget: 4
    law: delivery_rate
    max_rps: 5
    burst: 6
    floor_rps: 0.5
    max_retries: 7
    base_delay: 1
    max_backoff: 9s
    jitter: full
    deadline: 10
    attempt_timeout: 11
    breaker: { failures: 12, cooldown: 13 }
    throttle: { factor: 0.25, pause_cap: 14, cut_interval: 15, recovery_after: 16, recovery_step: 0.125 }
    connect_timeout: 17
    read_timeout: 18
    rules: []
    services: { s: { per_operation: true, law: aimd, max_rps: 1, burst: 2, floor_rps: 0.25 } }
",
    );
    assert!(in_yaml.is_ok());
    assert_eq!(in_code, in_yaml);
}

#[test]
fn durations_are_seconds_or_texts() {
    for (text, expected) in [
        ("2", SECOND * 2),
        ("0.25", SECOND / 4),
        ("500ms", SECOND / 2),
        ("2m", SECOND * 120),
        ("1h 30m", SECOND * 5400),
    ] {
        let config = yaml(&format!("ratelimit: {{aws: {{read_timeout: {text}}}}}")).unwrap();
        assert_eq!(config.provider("aws").read_timeout, expected, "{text}");
    }
}

#[test]
fn a_deadline_may_be_none() {
    for none in ["none", "None", "null", "~", ""] {
        let config = yaml(&format!("ratelimit:\n  aws:\n    deadline: {none}\n")).unwrap();
        assert_eq!(config.provider("aws").retry.deadline, None, "{none:?}");
    }
}

#[test]
fn anchors_and_merges_are_read() {
    let config = yaml(
        "ratelimit:
  aws: &shared
    max_retries: 3
  azure:
    <<: *shared
    retry_budget: 9
",
    )
    .unwrap();
    assert_eq!((config.provider("azure").retry.max_retries, config.provider("azure").retry_budget), (3, 9));
}

#[test]
fn the_names_of_providers_are_compared_in_lower_case() {
    let config = yaml("ratelimit: {GitHub: {max_rps: 1}}").unwrap();
    assert_eq!(config.provider("github").limits.max_rps(), 1.0);
    assert_eq!(config.provider("GITHUB"), config.provider("github"));
}

#[test]
fn a_law_is_the_operations_else_the_services_else_the_providers_else_the_defaults() {
    let config = Config::builder()
        .yaml(
            "ratelimit:
  defaults: { law: aimd }
  aws:
    law: delivery_rate
    services:
      ec2: { law: aimd }
      ec2.RunInstances: { law: delivery_rate }
      ssm: { max_rps: 3 }
",
            "test.yaml",
        )
        .variables([("CLOUD_GOVERNOR__AZURE__LAW", "delivery_rate")])
        .provider("gcp", |gcp| gcp.law(LawName::DeliveryRate))
        .build()
        .unwrap();
    let law =
        |provider: &str, service: &str, operation| config.provider(provider).throttle_for(&of(service, operation)).law;
    assert_eq!(law("github", "rest", None), LawName::Aimd);
    assert_eq!(law("aws", "ssm", None), LawName::DeliveryRate);
    assert_eq!(law("aws", "EC2", None), LawName::Aimd);
    assert_eq!(law("aws", "ec2", Some("DescribeVpcs")), LawName::Aimd);
    assert_eq!(law("aws", "ec2", Some("RunInstances")), LawName::DeliveryRate);
    assert_eq!(
        (law("azure", "compute", None), law("gcp", "compute", None)),
        (LawName::DeliveryRate, LawName::DeliveryRate)
    );
    assert_eq!(config.provider("aws").throttle.law, LawName::DeliveryRate);
}

#[test]
fn a_ceiling_may_be_unknown_and_a_burst_known() {
    let config = yaml(
        "ratelimit:
  aws:
    max_rps: 50
    services:
      s3: { max_rps: none }
      sqs: { max_rps: none, burst: 7 }
  azure: { burst: 7 }
",
    )
    .unwrap();
    let aws = config.provider("aws");
    assert_eq!((aws.limits.ceiling(), aws.limits.burst()), (Some(50.0), 50.0));
    assert_eq!(aws.limits_for(&of("s3", None)), Limits::default());
    let sqs = aws.limits_for(&of("sqs", None));
    assert_eq!((sqs.ceiling(), sqs.max_rps(), sqs.burst()), (None, 20.0, 7.0));
    let azure = config.provider("azure").limits;
    assert_eq!((azure.ceiling(), azure.max_rps(), azure.burst()), (None, 20.0, 7.0));
    let in_code =
        Config::builder().provider("aws", |aws| aws.max_rps(50.0).service("s3", |s3| s3.max_rps(None))).build();
    assert_eq!(in_code.unwrap().provider("aws").limits_for(&of("s3", None)), Limits::default());
}

/// The figures of a service that the file and then a variable set.
fn overridden(file: &str, key: &str, value: &str) -> Limits {
    let config = Config::builder()
        .yaml(format!("ratelimit: {{x: {{services: {{a: {{{file}}}}}}}}}"), "test.yaml")
        .variables([(format!("CLOUD_GOVERNOR__X__SERVICES__A__{key}"), value)])
        .build();
    config.unwrap().provider("x").limits_for(&of("a", None))
}

#[test]
fn a_rate_of_a_later_layer_takes_the_place_of_one_of_the_other_kind() {
    let minute = |calls: f64| Limits::in_windows(calls, MINUTE, 0.05);
    assert_eq!(overridden("max_rps: 3, burst: 9", "PER_MINUTE", "60"), minute(60.0));
    assert_eq!(overridden("burst: 9", "PER_MINUTE", "60"), minute(60.0));
    assert_eq!(overridden("per_minute: 60", "MAX_RPS", "3"), Limits::new(3.0, 3.0, 0.05).unwrap());
    assert_eq!(overridden("per_minute: 60", "MAX_RPS", "none"), Limits::default());
    assert_eq!(overridden("per_minute: 60", "PER_MINUTE", "90"), minute(90.0));
    assert_eq!(overridden("per_minute: 60, floor_rps: 0.5", "MAX_RPS", "3").floor_rps(), 0.5);

    let config = Config::builder()
        .yaml("ratelimit: {defaults: {per_minute: 60}, x: {max_rps: 3}, y: {shared: {all: {max_rps: 3}}}}", "test.yaml")
        .provider("y", |y| y.shared("all", |all| all.per_minute(30.0)))
        .build()
        .unwrap();
    assert_eq!(config.provider("x").limits.ceiling(), Some(3.0), "a provider's lies over that of the defaults");
    let all = config.provider("y").shared_for(&Scope::new("y", "1", "", "a"));
    assert_eq!(all[0].limits.window(), Some(SECOND * 60));
}

#[test]
fn rates_of_both_kinds_in_one_layer_are_refused() {
    let message = "takes the place of max_rps";
    let error = yaml("ratelimit: {x: {per_minute: 60, max_rps: 1}}").unwrap_err();
    assert_eq!(places(&error), [("ratelimit.x.per_minute", Some(1))]);
    assert!(error.to_string().contains(message), "{error}");
    let over = Config::builder().yaml("ratelimit: {x: {per_minute: 60, max_rps: 1}}", "test.yaml");
    let error = over.variables([("CLOUD_GOVERNOR__X__MAX_RPS", "3")]).build().unwrap_err();
    assert_eq!(places(&error), [("ratelimit.x.per_minute", Some(1))], "also where a variable decides");
    let error = Config::builder().provider("x", |x| x.per_minute(60.0).max_rps(1.0)).build().unwrap_err();
    assert!(error.to_string().contains(message), "{error}");
}
