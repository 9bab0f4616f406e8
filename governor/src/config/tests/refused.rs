use super::*;

#[test]
fn an_unknown_key_is_named_with_its_line_and_what_is_known() {
    let error = yaml("ratelimit:\n  aws:\n    max_retries: 3\n    max_retrys: 3\n").unwrap_err();
    assert_eq!(places(&error), [("ratelimit.aws.max_retrys", Some(4))]);
    let text = error.to_string();
    assert!(text.contains("ratelimit.aws.max_retrys (test.yaml, line 4): unknown key `max_retrys`"), "{text}");
    assert!(text.contains("known here: ") && text.contains("max_retries"), "{text}");
}

#[test]
fn unknown_keys_are_found_at_every_level() {
    let error = yaml(
        "other: 1
ratelimit:
  enabledd: false
  max_rps: 3
  aws:
    breaker:
      failure: 3
    throttle: { factr: 0.5 }
    services:
      ec2:
        rps: 3
",
    )
    .unwrap_err();
    let expected = [
        ("other", Some(1)),
        ("ratelimit.enabledd", Some(3)),
        ("ratelimit.max_rps", Some(4)),
        ("ratelimit.aws.breaker.failure", Some(7)),
        ("ratelimit.aws.throttle.factr", Some(8)),
        ("ratelimit.aws.services.ec2.rps", Some(11)),
    ];
    assert_eq!(places(&error), expected);
}

#[test]
fn every_bad_value_is_refused_with_its_path_and_line() {
    let numbers = [
        "-1",
        "0",
        ".nan",
        ".inf",
        "-.inf",
        "1e7",
        "99999999999999999999999999999999999999999",
        "x",
        "[]",
        "{}",
        "true",
        "",
    ];
    for key in ["max_rps", "burst", "floor_rps"] {
        refuse("    ", key, &numbers);
        refuse("    services:\n      ec2:\n        ", key, &numbers);
    }
    let counts =
        ["-1", "1.5", "1000001", "99999999999999999999999999999999999999999", "x", "'3'", "[]", "{}", "true", ""];
    for key in ["max_retries", "retry_budget", "account_concurrency"] {
        refuse("    ", key, &counts);
    }
    refuse("    ", "account_concurrency", &["0"]);
    for indent in ["    ", "    services:\n      ec2:\n        "] {
        refuse(indent, "law", &["cubic", "AIMD", "1", "true", "[]", "{}", ""]);
    }
    refuse("    breaker:\n      ", "failures", &["0"]);
    refuse("    breaker:\n      ", "failures", &counts);
    let durations =
        ["-1", "0", ".nan", ".inf", "31536001", "366d", "1e300", "x", "0s", "5 parsecs", "[]", "{}", "true"];
    for key in ["base_delay", "max_backoff", "deadline", "attempt_timeout", "connect_timeout", "read_timeout"] {
        refuse("    ", key, &durations);
    }
    refuse("    ", "base_delay", &["", "none", "null"]);
    refuse("    breaker:\n      ", "cooldown", &durations);
    for key in ["pause_cap", "cut_interval", "recovery_after"] {
        refuse("    throttle:\n      ", key, &durations);
    }
    refuse("    throttle:\n      ", "factor", &["0", "1", "-0.5", ".nan", "1.5", "x", ""]);
    refuse("    throttle:\n      ", "recovery_step", &["0", "1.1", "-0.5", ".nan", ".inf", "x", ""]);
    refuse("    ", "enabled", &["1", "yes", "x", "", "[]"]);
    refuse("    ", "jitter", &["none", "Full", "3", ""]);
    refuse("    ", "rules", &["3", "x", "{}"]);
    for key in ["breaker", "throttle", "services"] {
        refuse("    ", key, &["3", "x", "[]"]);
    }
}

/// Each value, under the key, is refused, and the one problem names the key's full path and its line.
fn refuse(before: &str, key: &str, values: &[&str]) {
    let head = format!("ratelimit:\n  aws:\n{before}");
    let line = u64::try_from(head.lines().count()).unwrap();
    let sections: Vec<&str> =
        head.lines().map(|line| line.trim().trim_end_matches(':')).filter(|s| !s.is_empty()).collect();
    let path = format!("{}.{key}", sections.join("."));
    for value in values {
        let text = format!("{head}{key}: {value}\n");
        match yaml(&text) {
            Ok(_) => panic!("accepted: {text}"),
            Err(error) => {
                assert_eq!(places(&error), [(path.as_str(), Some(line))], "{text}{error}");
                assert!(
                    error.problems()[0].message().contains("must be ") || error.to_string().contains("write"),
                    "{error}"
                );
            }
        }
    }
}

#[test]
fn all_problems_are_reported_at_once_in_the_order_of_the_lines() {
    let error = yaml("ratelimit:\n  aws:\n    deadline: -1\n    burst: 0\n    nope: 1\n    max_rps: x\n").unwrap_err();
    let lines: Vec<_> = places(&error).into_iter().map(|(_, line)| line).collect();
    assert_eq!(lines, [Some(3), Some(4), Some(5), Some(6)]);
}

#[test]
fn a_backoff_base_above_its_cap_is_refused_where_it_was_set() {
    let error = yaml("ratelimit:\n  aws:\n    base_delay: 30\n").unwrap_err();
    assert_eq!(places(&error), [("ratelimit.aws.base_delay", Some(3))]);
    assert!(error.to_string().contains("at most max_backoff, which is 20s (the default)"), "{error}");

    let error = yaml("ratelimit:\n  aws:\n    max_backoff: 0.1\n").unwrap_err();
    assert_eq!(places(&error), [("ratelimit.aws.max_backoff", Some(3))]);

    // Inherited by every provider, said once.
    let error = yaml("ratelimit:\n  defaults:\n    base_delay: 30\n  aws:\n    burst: 3\n").unwrap_err();
    assert_eq!(places(&error), [("ratelimit.defaults.base_delay", Some(3))]);

    let error = Config::builder()
        .yaml("ratelimit:\n  aws:\n    base_delay: 3\n", "test.yaml")
        .variables([("CLOUD_GOVERNOR__AWS__MAX_BACKOFF", "2")])
        .build()
        .unwrap_err();
    assert_eq!(places(&error), [("ratelimit.aws.base_delay", Some(3))]);
    assert!(error.to_string().contains("CLOUD_GOVERNOR__AWS__MAX_BACKOFF"), "{error}");

    assert!(yaml("ratelimit: {aws: {base_delay: 20}}").is_ok());
    assert!(yaml("ratelimit: {defaults: {max_backoff: 60}, aws: {base_delay: 30}}").is_ok());
}

#[test]
fn per_operation_on_an_operation_is_refused_and_says_why() {
    let error =
        yaml("ratelimit:\n  aws:\n    services:\n      ec2.RunInstances: { per_operation: true }\n").unwrap_err();
    assert_eq!(places(&error), [("ratelimit.aws.services.ec2.RunInstances.per_operation", Some(4))]);
    assert!(error.to_string().contains("has a bucket of its own already"), "{error}");
}

#[test]
fn an_operation_with_a_verb_is_refused_and_told_how_it_is_written() {
    for key in ["network:write.PutGateway", "network.PutGateway:write"] {
        let error =
            yaml(&format!("ratelimit:\n  azure:\n    services:\n      '{key}': {{ max_rps: 1 }}\n")).unwrap_err();
        assert_eq!(error.problems()[0].origin().line(), Some(4), "{error}");
        assert!(error.to_string().contains("write `network.PutGateway`"), "{error}");
    }
}

#[test]
fn a_verb_in_the_plural_is_refused_and_told_how_it_is_written() {
    for (key, meant) in [("network:writes", "network:write"), ("storage.blob:Reads", "storage.blob:read")] {
        let error = yaml(&format!("ratelimit: {{azure: {{services: {{'{key}': {{max_rps: 1}}}}}}}}")).unwrap_err();
        assert!(error.to_string().contains(&format!("write `{meant}`")), "{error}");
    }
}

#[test]
fn a_key_given_twice_is_named_with_its_line() {
    let error = yaml("ratelimit:\n  aws:\n    burst: 1\n    burst: 2\n").unwrap_err();
    assert_eq!(places(&error), [("", Some(4))]);
    assert!(error.to_string().contains("`burst` is given twice"), "{error}");

    let error = yaml("ratelimit:\n  aws: {burst: 1}\n  AWS: {burst: 2}\n").unwrap_err();
    assert_eq!(places(&error), [("ratelimit.AWS", Some(3))]);

    let error = yaml("ratelimit:\n  aws:\n    services:\n      s3: {burst: 1}\n      S3: {burst: 2}\n").unwrap_err();
    assert_eq!(places(&error), [("ratelimit.aws.services.S3", Some(5))]);
}

#[test]
fn names_that_are_none_are_refused() {
    for name in
        ["a b", "9x", "a__b", "é", "''", "default", "Defaults", "Enabled", "services", "throttle", "recovery_step"]
    {
        let error = yaml(&format!("ratelimit:\n  {name}: {{}}\n")).unwrap_err();
        assert_eq!(error.problems()[0].origin().line(), Some(2), "{error}");
    }
    for name in
        ["''", "' s3'", "s3.", ".Op", "a..b", "':read'", "s3.:read", "'s3:'", "s3::read", "'s3 :read'", "'s3: read'"]
    {
        let error = yaml(&format!("ratelimit:\n  aws:\n    services:\n      {name}: {{}}\n")).unwrap_err();
        assert_eq!(error.problems()[0].origin().line(), Some(4), "{error}");
    }
    assert!(Config::builder().provider("enabled", |none| none).build().is_err());
}

#[test]
fn every_key_of_a_provider_is_refused_one_level_too_high() {
    let error = yaml("ratelimit: {aws: {nope: 1}}").unwrap_err();
    let known = error.problems()[0].message().split("known here: ").nth(1).unwrap().to_owned();
    assert!(known.split(", ").count() > 15, "{known}");
    for key in known.split(", ").filter(|key| *key != "enabled") {
        let error = yaml(&format!("ratelimit: {{{key}: {{}}}}")).unwrap_err();
        assert!(error.to_string().contains("ratelimit.defaults"), "{error}");
    }
}

#[test]
fn what_is_not_one_yaml_document_is_refused_with_the_line() {
    for (text, line) in [
        ("ratelimit:\n  aws: [\n", None),
        ("ratelimit:\n\taws: 1\n", Some(2)),
        ("ratelimit: {}\n---\nratelimit: {}\n", None),
        ("ratelimit:\n  aws: *nothing\n", Some(2)),
        ("[]", Some(1)),
        ("3", Some(1)),
    ] {
        let error = yaml(text).unwrap_err();
        assert_eq!(error.problems().len(), 1, "{error}");
        if line.is_some() {
            assert_eq!(error.problems()[0].origin().line(), line, "{error}");
        }
        assert!(error.to_string().contains("test.yaml"), "{error}");
    }
}

#[test]
fn deep_nesting_is_refused() {
    let text = format!("ratelimit: {}{}", "[".repeat(5000), "]".repeat(5000));
    assert_eq!(yaml(&text).unwrap_err().problems().len(), 1);
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let error = Config::from_file("no/such/file.yaml").unwrap_err();
    assert!(error.to_string().contains("no/such/file.yaml: cannot be read"), "{error}");
}

#[test]
fn a_bad_value_in_code_says_so() {
    let error = Config::builder().provider("aws", |aws| aws.max_rps(f64::NAN)).build().unwrap_err();
    assert_eq!(error.problems()[0].path(), "ratelimit.aws.max_rps");
    assert_eq!(error.problems()[0].origin(), &ConfigOrigin::Code);
}

#[test]
fn a_text_in_the_wrong_place_is_not_repeated() {
    let error = yaml("ratelimit: {aws: {max_rps: hunter2, deadline: hunter2, jitter: hunter2}}").unwrap_err();
    assert_eq!(error.problems().len(), 3);
    assert!(!error.to_string().contains("hunter2"), "{error}");
}

#[test]
fn a_duration_that_is_too_long_is_shown() {
    let error = yaml("ratelimit: {aws: {deadline: 366d}}").unwrap_err().to_string();
    assert!(error.contains("is 31622400s, but must be above 0 s"), "{error}");
}

#[test]
fn a_key_that_belongs_elsewhere_is_told_where() {
    for (text, says) in [
        (
            "services: { ec2.RunInstances: { shared: { x: { max_rps: 1 } } } }",
            "unknown key `shared`; operations share buckets under their service: write \
             `ratelimit.aws.services.ec2.shared`, with `operations: [RunInstances]` in the bucket",
        ),
        (
            "services: { ec2.Describe*: { shared: { x: { max_rps: 1 } } } }",
            "with `operations: ['Describe*']` in the bucket",
        ),
        (
            "services: { 'network:write': { shared: { x: { max_rps: 1 } } } }",
            "write `ratelimit.aws.services.network.shared`, with `verbs: [write]` in the bucket",
        ),
        (
            "services: { ec2: { shared: { run-instances: { share: 0.5 } } } }",
            "unknown key `share`; a bucket in common has that of what it is set under: write `ratelimit.aws.services.ec2.share`",
        ),
        ("shared: { x: { max_rps: 1, share: 0.5 } }", "write `ratelimit.aws.share`"),
        ("services: { ec2.RunInstances: { per_operation: true } }", "write `ratelimit.aws.services.ec2.per_operation`"),
        ("services: { ec2: { max_retries: 1 } }", "unknown key `max_retries`; it stands under a provider or defaults"),
        (
            "services: { ec2: { enabled: false } }",
            "it stands under ratelimit, a provider, defaults or a bucket of shared",
        ),
        ("services: { ec2: { operations: [A] } }", "it stands under a bucket of shared"),
        ("per_operation: true", "it stands under a service or a verb of one"),
        ("failures: 3", "it stands under breaker of a provider or of defaults"),
        ("factor: 0.5", "it stands under throttle of a provider or of defaults"),
        ("breaker: { factor: 0.5 }", "it stands under throttle"),
        (
            "breaker: { max_rps: 1 }",
            "it stands under a provider, defaults, a service, a verb or an operation of one, or a bucket of shared",
        ),
        ("shared: { x: { max_rps: 1, rules: [] } }", "it stands under a provider or defaults"),
        ("aws: {}", "it stands under ratelimit"),
    ] {
        let error = yaml(&format!("ratelimit: {{ aws: {{ {text} }} }}")).unwrap_err();
        assert_eq!(error.problems().len(), 1, "{error}");
        let message = error.problems()[0].message();
        assert!(message.contains(says) && message.contains("; known here: "), "{message}");
    }
    let error =
        yaml("ratelimit: { aws: { services: { ec2.RunInstances: { per_operation: true, nope: 1 } } } }").unwrap_err();
    assert!(
        !error
            .to_string()
            .split("known here: ")
            .any(|known| known.starts_with("burst") && known.contains("per_operation")),
        "{error}"
    );
    for key in ["aws", "enabled", "defaults"] {
        let error = yaml(&format!("{key}: {{}}")).unwrap_err().to_string();
        assert!(error.contains("it stands under ratelimit"), "{error}");
    }
}

#[test]
fn every_key_is_told_to_stand_where_it_is_known() {
    for (text, place) in [
        ("nope: 1", "a provider"),
        ("breaker: { nope: 1 }", "breaker of a provider"),
        ("throttle: { nope: 1 }", "throttle of a provider"),
        ("services: { s: { nope: 1 } }", "a service"),
        ("services: { 's:read': { nope: 1 } }", "a verb"),
        ("services: { s.List: { nope: 1 } }", "operation of one"),
        ("shared: { b: { max_rps: 1, nope: 1 } }", "a bucket of shared"),
    ] {
        let error = yaml(&format!("ratelimit: {{ x: {{ {text} }} }}")).unwrap_err().to_string();
        let known = error.split("known here: ").nth(1).unwrap();
        for key in known.split(", ") {
            assert!(names::place_of(key).unwrap().contains(place), "{key} under {place}");
        }
    }
}
