use proptest::prelude::*;

use super::*;

/// Every number that the engine will calculate with is one that it can calculate with.
fn assert_valid(settings: &ProviderSettings) {
    let in_range = |duration: Duration| duration > Duration::ZERO && duration <= bounds::LONGEST;
    for scope in [
        of("ec2", None),
        of("ec2", Some("RunInstances")),
        of("ec2", Some("RunInstances")).with_verb(Verb::Read),
        of("s3", Some("Get")),
    ] {
        let limits = settings.limits_for(&scope);
        assert!(limits.max_rps() > 0.0 && limits.max_rps() <= 1e6);
        assert!(limits.burst() >= 1.0 && limits.burst() <= 1e6);
        assert!(limits.floor_rps() > 0.0 && limits.floor_rps() <= limits.max_rps());
    }
    let retry = &settings.retry;
    assert!(in_range(retry.base_delay) && in_range(retry.max_backoff) && retry.base_delay <= retry.max_backoff);
    assert!(retry.deadline.is_none_or(in_range) && retry.attempt_timeout.is_none_or(in_range));
    assert!(retry.max_retries <= MOST && settings.retry_budget <= MOST);
    assert!(in_range(settings.breaker.cooldown));
    let throttle = &settings.throttle;
    assert!(throttle.factor > 0.0 && throttle.factor < 1.0);
    assert!(throttle.recovery_step > 0.0 && throttle.recovery_step <= 1.0);
    assert!([throttle.pause_cap, throttle.cut_interval, throttle.recovery_after].into_iter().all(in_range));
    assert!(in_range(settings.connect_timeout) && in_range(settings.read_timeout));
}

fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<f64>().prop_map(|number| number.to_string()),
        (0.000_001..1e6_f64).prop_map(|number| number.to_string()),
        (-2..2_000_000_i64).prop_map(|number| number.to_string()),
        (0..100_u32).prop_map(|number| format!("{number}ms")),
        Just("none".to_owned()),
        Just("true".to_owned()),
        Just(".inf".to_owned()),
    ]
}

fn key() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "account_concurrency",
        "max_retries",
        "base_delay",
        "max_backoff",
        "deadline",
        "attempt_timeout",
        "retry_budget",
        "max_rps",
        "burst",
        "floor_rps",
        "connect_timeout",
        "read_timeout",
        "breaker.failures",
        "breaker.cooldown",
        "throttle.factor",
        "throttle.pause_cap",
        "throttle.cut_interval",
        "throttle.recovery_after",
        "throttle.recovery_step",
        "services.ec2.max_rps",
        "services.ec2.burst",
        "services.ec2.floor_rps",
        "per_minute",
        "services.ec2.per_minute",
        "shared.a.max_rps",
        "shared.a.burst",
        "services.ec2:read.max_rps",
        "services.ec2:read.burst",
        "services.s3.max_rps",
    ])
}

/// `a.b.c` and a value as `{a: {b: {c: value}}}`.
fn document(provider: &str, key: &str, value: &str) -> String {
    let path: Vec<&str> = ["ratelimit", provider].into_iter().chain(key.split('.')).collect();
    format!("{{{}: {value}{}", path.join(": {"), "}".repeat(path.len()))
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in any::<String>()) {
        let _ = yaml(&text);
        let _ = Config::builder().variables([("CLOUD_GOVERNOR__AWS", text.as_str())]).build();
        let _ = Config::builder().variables([(format!("CLOUD_GOVERNOR__{text}"), "{}")]).build();
        let _ = Config::builder().variables([(format!("CLOUD_GOVERNOR_AWS_{text}"), "{}")]).build();
    }

    #[test]
    fn any_yaml_like_text_is_read_or_refused(text in "(ratelimit|aws|services|[a-z&*!<>|%@ .0-9:{},\\[\\]'\"#~-]|\n|\n  |: ){0,40}") {
        if let Ok(config) = yaml(&text) {
            assert_valid(&config.provider("aws"));
        }
    }

    #[test]
    fn whatever_is_accepted_is_valid(set in prop::collection::vec((any::<bool>(), key(), value()), 1..6)) {
        let mut accepted = Config::builder();
        for (shared, key, value) in set {
            let next = accepted.clone().yaml(document(if shared { "defaults" } else { "aws" }, key, &value), "test.yaml");
            match next.clone().build() {
                Ok(config) => {
                    assert_valid(&config.provider("aws"));
                    assert_valid(&config.provider("github"));
                    prop_assert_eq!(next.clone().build().unwrap(), config);
                    accepted = next;
                }
                Err(error) => prop_assert!(!error.problems().is_empty()),
            }
        }
    }
}
