use std::time::Duration;

use super::*;

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn an_empty_policy_is_the_providers_settings() {
    let provider = RetrySettings::default();
    let resolved = RetryPolicy::default().resolve(&provider);
    assert_eq!(resolved.max_retries, 8);
    assert_eq!(resolved.base_delay, Duration::from_millis(500));
    assert_eq!(resolved.max_backoff, Duration::from_secs(20));
    assert_eq!(resolved.jitter, Jitter::Decorrelated);
    assert_eq!(resolved.deadline, Some(Duration::from_secs(900)));
    assert_eq!(resolved.attempt_timeout, None);
    assert!(resolved.use_budget && resolved.retry_transient);
    assert_eq!(RetryPolicy::builder().build(), Ok(RetryPolicy::default()));
}

#[test]
fn each_field_set_replaces_the_providers() {
    let policy = RetryPolicy::builder()
        .max_retries(1)
        .base_delay(SECOND)
        .max_backoff(SECOND * 2)
        .jitter(Jitter::Full)
        .deadline(None)
        .attempt_timeout(SECOND * 3)
        .use_budget(false)
        .retry_transient(false)
        .build()
        .unwrap();
    let expected = ResolvedPolicy {
        max_retries: 1,
        base_delay: SECOND,
        max_backoff: SECOND * 2,
        jitter: Jitter::Full,
        deadline: None,
        attempt_timeout: Some(SECOND * 3),
        use_budget: false,
        retry_transient: false,
    };
    assert_eq!(policy.resolve(&RetrySettings::default()), expected);
}

#[test]
fn the_end_of_the_backoff_that_the_policy_sets_holds_against_the_providers() {
    let provider = RetrySettings::default();
    let slow = RetryPolicy::builder().base_delay(SECOND * 60).build().unwrap().resolve(&provider);
    assert_eq!((slow.base_delay, slow.max_backoff), (SECOND * 60, SECOND * 60));
    let fast = RetryPolicy::builder().max_backoff(SECOND / 10).build().unwrap().resolve(&provider);
    assert_eq!((fast.base_delay, fast.max_backoff), (SECOND / 10, SECOND / 10));
}

#[test]
fn none_makes_one_attempt() {
    assert_eq!(RetryPolicy::none().resolve(&RetrySettings::default()).max_retries, 0);
}

#[test]
fn a_policy_that_cannot_be_followed_is_refused_with_the_field_named() {
    let builder = RetryPolicy::builder;
    let refused = [
        ("base_delay", builder().base_delay(Duration::ZERO)),
        ("base_delay", builder().base_delay(SECOND * 2).max_backoff(SECOND)),
        ("max_backoff", builder().max_backoff(Duration::MAX)),
        ("deadline", builder().deadline(Duration::ZERO)),
        ("attempt_timeout", builder().attempt_timeout(Duration::ZERO)),
        ("max_retries", builder().max_retries(u32::MAX)),
    ];
    for (field, builder) in refused {
        let error = builder.build().unwrap_err();
        assert_eq!(error.field(), field);
        assert!(error.to_string().contains(field), "{error}");
    }
}

#[test]
fn over_a_providers_settings_a_policy_has_the_say_in_what_it_sets() {
    let settings = RetrySettings::default();
    assert_eq!(RetryPolicy::default().over(&settings), settings);
    let policy = RetryPolicy::builder().max_retries(2).deadline(None).attempt_timeout(Duration::from_secs(3));
    let over = policy.build().unwrap().over(&settings);
    assert_eq!((over.max_retries, over.deadline, over.attempt_timeout), (2, None, Some(Duration::from_secs(3))));
    assert_eq!((over.base_delay, over.max_backoff), (settings.base_delay, settings.max_backoff));
}
