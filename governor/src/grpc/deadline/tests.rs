use proptest::prelude::*;

use super::*;

fn read_text(text: &str) -> Option<Duration> {
    read(&HeaderMap::from_iter([(http::HeaderName::from_static(HEADER), HeaderValue::try_from(text).ok()?)]))
}

#[test]
fn every_unit_is_read() {
    let (second, hour) = (Duration::from_secs(1), Duration::from_secs(3_600));
    for (text, expected) in [
        ("2H", hour * 2),
        ("90M", hour * 3 / 2),
        ("00000001S", second),
        ("1500m", second * 3 / 2),
        ("1u", Duration::from_micros(1)),
        ("99999999n", Duration::from_nanos(99_999_999)),
        ("99999999H", hour * 99_999_999),
        ("0S", Duration::ZERO),
    ] {
        assert_eq!(read_text(text), Some(expected), "{text}");
    }
}

#[test]
fn the_finest_unit_that_holds_the_rest_is_written() {
    for (left, expected) in [
        (Duration::ZERO, "1n"),
        (Duration::from_nanos(99_999_999), "99999999n"),
        (Duration::from_nanos(100_000_999), "100000u"),
        (Duration::from_secs(60), "60000000u"),
        (Duration::from_secs(3_600), "3600000m"),
    ] {
        assert_eq!(write(left).unwrap(), expected);
    }
    assert_eq!(write(Duration::MAX), None, "more than the header can say");
}

proptest! {
    #[test]
    fn what_is_written_is_read_as_no_more_than_it_was_and_hardly_less(left in 1_u64..u64::MAX) {
        let left = Duration::from_nanos(left);
        let value = write(left).unwrap();
        prop_assert!(value.len() <= 9);
        let read = read_text(value.to_str().unwrap()).unwrap();
        prop_assert!(read <= left && (left - read).as_nanos() * 1_000 <= left.as_nanos());
    }

    #[test]
    fn nothing_that_a_header_may_hold_is_too_much(bytes in prop::collection::vec(any::<u8>(), 0..12)) {
        if let Ok(value) = HeaderValue::from_bytes(&bytes) {
            let told = read(&HeaderMap::from_iter([(http::HeaderName::from_static(HEADER), value)]));
            prop_assert!(told.is_none_or(|told| told <= Duration::from_secs(3_600) * 99_999_999));
        }
    }
}
