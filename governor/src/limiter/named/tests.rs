use proptest::prelude::*;

use super::*;

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);

fn at(seconds: u64) -> Timestamp {
    Timestamp::ZERO + Duration::from_secs(seconds)
}

fn limit(calls: u64, per: Duration) -> NamedLimit {
    NamedLimit::new(calls, per).unwrap()
}

#[test]
fn what_is_no_pace_is_no_limit() {
    let day = HOUR * 24;
    for (calls, per) in [
        (0, MINUTE),
        (100, Duration::ZERO),
        (u64::MAX, MINUTE),
        (1, Duration::from_nanos(1)),
        (6_000, day),
        (1, Duration::MAX),
    ] {
        assert_eq!(NamedLimit::new(calls, per), None, "{calls} per {per:?}");
    }
    for (calls, per) in [(100, MINUTE), (1, HOUR), (60_000_000, MINUTE), (1, Duration::from_millis(1))] {
        assert!(NamedLimit::new(calls, per).is_some(), "{calls} per {per:?}");
    }
}

/// Calls a minute.
fn lowest(limits: &NamedLimits, now: u64) -> Option<f64> {
    limits.lowest(at(now)).map(|rps| rps * 60.0)
}

#[test]
fn the_lowest_holds_while_it_is_named() {
    let mut limits = NamedLimits::default();
    limits.name(at(0), limit(800, MINUTE));
    limits.name(at(10), limit(120, MINUTE));
    limits.name(at(20), limit(800, MINUTE));
    assert_eq!(lowest(&limits, 610), Some(120.0));
    limits.name(at(611), limit(800, MINUTE));
    assert_eq!(lowest(&limits, 611), Some(800.0), "who names another one means it");
}

#[test]
fn a_limit_that_is_named_no_more_loosens_to_twice_itself_and_is_forgotten() {
    let mut limits = NamedLimits::default();
    limits.name(at(0), limit(100, MINUTE));
    let after = |minutes: u64| lowest(&limits, minutes * 60).map(|calls| calls.round() as u64);
    assert_eq!([1, 10, 11, 15, 19].map(after), [100, 100, 110, 150, 190].map(Some));
    assert_eq!(after(20), None);
    limits.name(at(660), limit(100, MINUTE));
    assert_eq!(lowest(&limits, 1_260), Some(100.0), "named again");
}

#[test]
fn a_limit_of_a_long_span_is_believed_for_two_of_them() {
    let mut limits = NamedLimits::default();
    limits.name(at(0), limit(5_000, HOUR));
    assert_eq!(limits.lowest(at(7_200)), limits.lowest(at(0)));
    assert!(limits.lowest(at(7_201)) > limits.lowest(at(0)));
    assert_eq!(limits.lowest(at(7_800)), None);
}

#[test]
fn of_more_than_four_the_lowest_are_kept() {
    let mut limits = NamedLimits::default();
    for calls in [500, 300, 400, 200, 100, 600, 350] {
        limits.name(at(0), limit(calls, Duration::from_secs(1)));
    }
    let mut kept: Vec<f64> = limits.named.iter().map(|(rps, _)| *rps).collect();
    kept.sort_by(f64::total_cmp);
    assert_eq!(kept, [100.0, 200.0, 300.0, 350.0]);
}

proptest! {
    /// Of up to four limits the lowest that is believed holds, exactly, whatever was named when.
    #[test]
    fn the_lowest_that_was_named_of_late_holds(
        named in prop::collection::vec((0_usize..4, 0_u64..400), 1..60),
    ) {
        const CALLS: [u64; 4] = [60, 120, 180, 240];
        let mut limits = NamedLimits::default();
        let mut last: [Option<u64>; 4] = [None; 4];
        let mut now = 0;
        for (which, wait) in named {
            now += wait;
            limits.name(at(now), limit(CALLS[which], MINUTE));
            last[which] = Some(now);
            let believed = CALLS.iter().zip(last).filter(|(_, last)| last.is_some_and(|last| now < last + 600));
            let expected = believed.map(|(calls, _)| *calls as f64 / 60.0).reduce(f64::min);
            prop_assert_eq!(limits.lowest(at(now)), expected);
        }
    }
}
