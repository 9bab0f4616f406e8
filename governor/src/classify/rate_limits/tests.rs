use proptest::prelude::*;

use super::super::RetryAfter;
use super::*;

/// When the answer came, by either clock.
const NOW: u64 = 1_764_500_000;

fn said(headers: &[(&str, &str)]) -> RetryAfter {
    let mut said = RetryAfter::new();
    for (name, value) in headers {
        said.header(name, value);
    }
    said
}

fn at(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
}

/// What is waited for, in seconds.
fn wait(headers: &[(&str, &str)]) -> Option<u64> {
    said(headers).delay(at(NOW)).map(|wait| wait.as_secs())
}

#[test]
fn githubs_used_up_limit_is_waited_for_until_its_epoch_second() {
    let github = [("X-RateLimit-Remaining", "0"), ("X-RateLimit-Reset", "1764501800")];
    assert_eq!(wait(&github), Some(1_800));
    assert!(said(&github).is_held_off(at(NOW)));
}

#[test]
fn gitlabs_is_in_epoch_seconds_and_the_drafts_in_seconds_from_now() {
    assert_eq!(wait(&[("RateLimit-Remaining", "0"), ("RateLimit-Reset", "1764500060")]), Some(60));
    assert_eq!(wait(&[("ratelimit-remaining", "0"), ("ratelimit-reset", "60")]), Some(60));
}

#[test]
fn the_list_is_cloudflares_and_the_newer_drafts() {
    for (list, expected) in [
        (r#""default";r=0;t=30"#, Some(30)),
        ("default;r=0;t=30", Some(30)),
        (r#""burst";r=0;t=2, "daily";r=0;t=40"#, Some(40)),
        (r#""burst";r=0;t=2, "daily";r=900;t=40000"#, Some(2)),
        (r#""daily";r=900;t=40000, "burst";r=0;t=2;pk=:cHJvamVjdA==:"#, Some(2)),
        ("limit=100, remaining=0, reset=30", Some(30)),
        (r#""default";r=50;t=30"#, None),
        ("limit=100, remaining=3, reset=30", None),
        (r#""default";r=0"#, None),
        (r#""default";r=-1;t=30"#, None),
        (r#""default";t=30"#, None),
        (r#""default";r=0;t=-30"#, None),
        (r#""default";r="0";t="30""#, None),
        (r#""default;r=0;t=30"#, None),
        ("((", None),
        ("(\"a\" \"b\");r=0;t=3", None),
        ("reset=30", None),
        ("", None),
    ] {
        assert_eq!(wait(&[("Ratelimit", list)]), expected, "{list}");
    }
}

#[test]
fn a_limit_of_which_something_is_left_is_not_waited_for() {
    // GitHub's secondary limits leave the hourly one as it is.
    let left = [("x-ratelimit-remaining", "4990"), ("x-ratelimit-reset", "1764503000")];
    assert_eq!(wait(&left), None);
    assert!(!said(&left).is_held_off(at(NOW)));
    let two = [("x-ratelimit-remaining", "10"), ("x-ratelimit-reset", "1764503000"), ("ratelimit", r#""a";r=0;t=5"#)];
    assert_eq!(wait(&two), Some(5));
}

#[test]
fn a_reset_without_what_is_left_is_waited_for_and_holds_nobody_off() {
    let reset = [("x-ratelimit-reset", "25")];
    assert_eq!(wait(&reset), Some(25));
    assert!(!said(&reset).is_held_off(at(NOW)));
}

#[test]
fn a_retry_after_goes_before_a_reset_unless_it_asks_for_nothing() {
    let limit = [("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "1764501800")];
    assert_eq!(wait(&[limit[0], limit[1], ("retry-after", "7")]), Some(7));
    assert_eq!(wait(&[limit[0], limit[1], ("retry-after", "0")]), Some(1_800));
}

#[test]
fn the_servers_own_date_rules_out_the_clients_clock() {
    // 30 November 2025, 10:53:20 GMT.
    let headers = [
        ("date", "Sun, 30 Nov 2025 10:53:20 GMT"),
        ("x-ratelimit-remaining", "0"),
        ("x-ratelimit-reset", "1764500090"),
    ];
    for client in [0, NOW - 86_400, NOW + 86_400] {
        assert_eq!(said(&headers).delay(at(client)), Some(Duration::from_secs(90)), "client clock at {client}");
    }
}

#[test]
fn times_and_waits_are_told_apart_by_their_size() {
    for (reset, expected) in [
        ("1", Some(1)),
        ("86400", Some(86_400)),
        ("999999999", Some(999_999_999)),
        // Times that have passed.
        ("1000000000", None),
        ("1764499999", None),
        ("1764500000", None),
        ("1764500001", Some(1)),
        ("1764500000.5", Some(0)),
        ("99999999999", Some(99_999_999_999 - NOW)),
        // Milliseconds, and beyond.
        ("1764500001000", None),
        ("18446744073709551616", None),
        ("0", None),
        ("-5", None),
        ("soon", None),
        ("Sun, 30 Nov 2025 10:53:20 GMT", None),
    ] {
        assert_eq!(wait(&[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", reset)]), expected, "{reset}");
    }
}

#[test]
fn of_repeated_headers_the_worst_counts() {
    let headers = [
        ("x-ratelimit-remaining", "0"),
        ("x-ratelimit-remaining", "12"),
        ("x-ratelimit-reset", "30"),
        ("x-ratelimit-reset", "10"),
    ];
    assert_eq!(wait(&headers), Some(30));
    assert!(said(&headers).is_held_off(at(NOW)));
}

fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        "[0-9]{1,25}",
        "[0-9]{0,12}\\.[0-9]{0,12}",
        "-?[0-9]{1,3}",
        r#"("[a-z]{0,3}";r=[0-9]{1,20};t=[0-9]{1,20}(, )?){0,4}"#,
        "(limit|remaining|reset)=[0-9]{1,4}(, (remaining|reset)=[0-9]{1,4}){0,2}",
        "\\PC{0,40}",
    ]
}

proptest! {
    #[test]
    fn whatever_is_said_no_wait_is_zero_and_none_follows_from_what_is_left(
        headers in proptest::collection::vec(
            (prop_oneof![
                Just("x-ratelimit-remaining"), Just("x-ratelimit-reset"), Just("ratelimit-remaining"),
                Just("ratelimit-reset"), Just("ratelimit"),
            ], value()),
            0..6,
        ),
        now in 0..u64::from(u32::MAX) * 4,
    ) {
        let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let told = said(&headers);
        prop_assert_ne!(told.delay(at(now)), Some(Duration::ZERO));
        let has_reset = headers.iter().any(|(name, _)| *name != "x-ratelimit-remaining" && *name != "ratelimit-remaining");
        prop_assert!(told.delay(at(now)).is_none() || has_reset);
    }

    #[test]
    fn a_time_ahead_is_waited_for_exactly_and_one_behind_not_at_all(ahead in 0..2_000_000u64, behind in 0..2_000_000u64) {
        let reset = |time: u64| wait(&[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", &time.to_string())]);
        prop_assert_eq!(reset(NOW + ahead), (ahead > 0).then_some(ahead));
        prop_assert_eq!(reset(NOW - behind), None);
    }

    #[test]
    fn a_wait_is_waited_for_exactly_whatever_the_clock_says(wait in 1..1_000_000_000u64, now in 0..u64::from(u32::MAX)) {
        let told = said(&[("ratelimit-remaining", "0"), ("ratelimit-reset", &wait.to_string())]);
        prop_assert_eq!(told.delay(at(now)), Some(Duration::from_secs(wait)));
    }
}
