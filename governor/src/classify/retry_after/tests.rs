use super::*;
use proptest::prelude::*;

/// 6 November 1994, 08:49:37 GMT: the instant of RFC 9110's examples.
const EXAMPLE: u64 = 784_111_777;

fn at(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
}

fn delay_of(headers: &[(&str, &str)]) -> Option<Duration> {
    let mut said = RetryAfter::new();
    for (name, value) in headers {
        said.header(name, value);
    }
    said.delay(at(EXAMPLE - 90))
}

fn millis(millis: u64) -> Option<Duration> {
    Some(Duration::from_millis(millis))
}

#[test]
fn seconds_may_carry_a_fraction_and_blanks() {
    assert_eq!(delay_of(&[("Retry-After", "120")]), millis(120_000));
    assert_eq!(delay_of(&[("retry-after", " 2.128\t")]), millis(2_128));
    assert_eq!(delay_of(&[("retry-after", "0.000000001")]), Some(Duration::from_nanos(1)));
}

#[test]
fn all_three_http_dates_are_read() {
    for date in ["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"] {
        assert_eq!(delay_of(&[("retry-after", date)]), millis(90_000), "{date}");
    }
}

#[test]
fn a_date_that_has_passed_asks_for_no_wait() {
    let mut said = RetryAfter::new();
    assert!(said.header("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT"));
    assert_eq!(said.delay(at(EXAMPLE)), None);
    assert_eq!(said.delay(at(EXAMPLE + 3_600)), None);
}

#[test]
fn the_servers_own_date_rules_out_the_clients_clock() {
    let mut said = RetryAfter::new();
    said.header("date", "Sun, 06 Nov 1994 08:49:27 GMT");
    said.header("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT");
    for client in [0, EXAMPLE - 86_400, EXAMPLE, EXAMPLE + 86_400] {
        assert_eq!(said.delay(at(client)), millis(10_000), "client clock at {client}");
    }
}

#[test]
fn the_millisecond_headers_are_read_in_milliseconds() {
    for name in ["retry-after-ms", "x-ms-retry-after-ms", "x-amz-retry-after", "X-Amz-Retry-After"] {
        assert_eq!(delay_of(&[(name, "1500")]), millis(1_500), "{name}");
        assert_eq!(delay_of(&[(name, "0.5")]), Some(Duration::from_micros(500)), "{name}");
    }
}

#[test]
fn the_finest_unit_wins_in_the_documented_order() {
    let headers = [
        ("retry-after", "5"),
        ("x-amz-retry-after", "3000"),
        ("x-ms-retry-after-ms", "2000"),
        ("retry-after-ms", "1000"),
    ];
    assert_eq!(delay_of(&headers), millis(1_000));
    assert_eq!(delay_of(&headers[..3]), millis(2_000));
    assert_eq!(delay_of(&headers[..2]), millis(3_000));

    let mut said = RetryAfter::new();
    said.header("retry-after", "5");
    said.retry_info(Duration::from_secs(4));
    assert_eq!(said.delay(at(EXAMPLE)), millis(4_000));
    said.header("x-amz-retry-after", "3000");
    assert_eq!(said.delay(at(EXAMPLE)), millis(3_000));
}

#[test]
fn zero_or_garbage_gives_way_to_the_next_source() {
    assert_eq!(delay_of(&[("retry-after-ms", "0"), ("retry-after", "2")]), millis(2_000));
    assert_eq!(delay_of(&[("retry-after-ms", "soon"), ("retry-after", "2")]), millis(2_000));
}

#[test]
fn zero_is_no_wait_and_never_a_zero_sleep() {
    for zero in ["0", "0.0", "0.0000000001", "000"] {
        for name in ["retry-after", "retry-after-ms"] {
            assert_eq!(delay_of(&[(name, zero)]), None, "{name}: {zero}");
        }
    }
}

#[test]
fn garbage_is_ignored() {
    let garbage = [
        "",
        " ",
        "-1",
        "-0.5",
        "+5",
        "NaN",
        "nan",
        "inf",
        "-inf",
        "infinity",
        "1e3",
        "1e400",
        "0x10",
        ".",
        "5.",
        ".5",
        "1.2.3",
        "1,5",
        "10 s",
        "soon",
        "٣",
        "Sun, 06 Nov",
        "Sun, 32 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 25:61:61 GMT",
    ];
    for value in garbage {
        for name in ["retry-after", "retry-after-ms", "x-ms-retry-after-ms", "x-amz-retry-after"] {
            let mut said = RetryAfter::new();
            assert!(!said.header(name, value), "{name}: {value:?}");
            assert_eq!(said, RetryAfter::new(), "{name}: {value:?}");
        }
    }
    let mut said = RetryAfter::new();
    assert!(!said.header("retry-after", [0xff, 0xfe]));
    assert!(!said.header("retry-later", "5"), "an unknown header");
}

#[test]
fn a_number_too_large_to_hold_saturates() {
    let huge = "9".repeat(400);
    assert_eq!(delay_of(&[("retry-after", &huge)]), Some(Duration::from_secs(u64::MAX)));
    assert_eq!(delay_of(&[("retry-after-ms", &huge)]), Some(Duration::from_millis(u64::MAX)));
}

#[test]
fn the_longest_of_a_repeated_header_stays() {
    assert_eq!(delay_of(&[("retry-after", "2"), ("retry-after", "7"), ("retry-after", "3")]), millis(7_000));
}

#[test]
fn retry_info_is_read_in_its_json_form() {
    for (text, wait) in
        [("3.5s", millis(3_500)), ("12s", millis(12_000)), ("0.000000001s", Some(Duration::from_nanos(1)))]
    {
        let mut said = RetryAfter::new();
        assert!(said.retry_info_text(text));
        assert_eq!(said.delay(at(EXAMPLE)), wait, "{text}");
    }
    for garbage in ["", "s", "3.5", "-3.5s", "NaNs", "infs", "1e9s", "3.5m"] {
        let mut said = RetryAfter::new();
        assert!(!said.retry_info_text(garbage), "{garbage:?}");
        assert_eq!(said.delay(at(EXAMPLE)), None, "{garbage:?}");
    }
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic_or_answer_zero(
        headers in prop::collection::vec(("(retry-after|retry-after-ms|x-amz-retry-after|date)", any::<Vec<u8>>()), 0..6),
        texts in prop::collection::vec("\\PC*", 0..3),
        now in any::<u32>(),
    ) {
        let mut said = RetryAfter::new();
        for (name, value) in &headers {
            said.header(name, value);
        }
        for text in &texts {
            said.retry_info_text(text);
            said.header("retry-after", text);
        }
        prop_assert_ne!(said.delay(at(u64::from(now))), Some(Duration::ZERO));
    }

    #[test]
    fn number_like_texts_are_read_or_ignored(text in "[-+0-9.eEnNaAiIfFs ]{0,40}") {
        let mut said = RetryAfter::new();
        let readable = said.header("retry-after", &text);
        let trimmed = text.trim_matches(' ');
        let plain = trimmed.split('.').count() <= 2
            && trimmed.split('.').all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()));
        prop_assert_eq!(readable, plain);
    }

    #[test]
    fn every_duration_survives_its_decimal_text(seconds in any::<u64>(), nanos in 0..1_000_000_000_u32) {
        let wait = Duration::new(seconds, nanos);
        prop_assume!(!wait.is_zero());
        let mut said = RetryAfter::new();
        let text = format!("{seconds}.{nanos:09}");
        said.header("retry-after", text);
        prop_assert_eq!(said.delay(SystemTime::UNIX_EPOCH), Some(wait));
    }
}
