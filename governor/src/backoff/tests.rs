use proptest::prelude::*;

use super::*;

fn backoff(base: Duration, cap: Duration, jitter: Jitter, seed: u64) -> Backoff {
    Backoff::new(base, cap, jitter, fastrand::Rng::with_seed(seed))
}

fn millis() -> impl Strategy<Value = Duration> {
    (1_u64..100_000).prop_map(Duration::from_millis)
}

fn jitter() -> impl Strategy<Value = Jitter> {
    prop_oneof![Just(Jitter::Decorrelated), Just(Jitter::Full)]
}

proptest! {
    #[test]
    fn every_wait_is_under_the_cap_and_never_zero(base in millis(), cap in millis(), jitter in jitter(), seed: u64) {
        let mut backoff = backoff(base, cap, jitter, seed);
        for _ in 0..200 {
            let wait = backoff.next(None);
            prop_assert!(wait >= SHORTEST && wait <= cap.max(base).max(SHORTEST));
        }
    }

    #[test]
    fn decorrelated_waits_lie_between_the_base_and_three_times_the_last(base in millis(), cap in millis(), seed: u64) {
        let mut backoff = backoff(base, cap, Jitter::Decorrelated, seed);
        let mut last = base;
        for _ in 0..50 {
            let wait = backoff.next(None);
            prop_assert!(wait >= base && wait <= last * 3);
            last = wait;
        }
    }

    #[test]
    fn a_retry_after_is_a_floor_whatever_the_cap(floor in millis(), base in millis(), seed: u64) {
        let mut backoff = backoff(base, base, Jitter::Full, seed);
        let wait = backoff.next(Some(floor));
        prop_assert!(wait >= floor && wait <= floor + base);
    }
}

#[test]
fn waits_told_the_same_retry_after_are_spread_above_it() {
    let floor = Duration::from_secs(30);
    let waits: std::collections::BTreeSet<Duration> = (0..50)
        .map(|seed| {
            backoff(Duration::from_secs(1), Duration::from_secs(20), Jitter::Decorrelated, seed).next(Some(floor))
        })
        .collect();
    assert!(waits.len() > 40, "{waits:?}");
}

#[test]
fn a_retry_after_beyond_expression_does_not_overflow() {
    let mut backoff = backoff(Duration::from_secs(1), Duration::from_secs(20), Jitter::Full, 1);
    assert_eq!(backoff.next(Some(Duration::MAX)), Duration::MAX);
}

/// aws-sdk-rust#960, djc/tokio-retry#1, tryhard#24, mulligan#31: overflow in the exponent, and a wrap to no wait.
#[test]
fn full_jitter_does_not_overflow_or_spin_at_any_number_of_retries() {
    let mut backoff = backoff(Duration::from_millis(500), Duration::from_secs(20), Jitter::Full, 7);
    for retries in [0, 1, 31, 32, 33, 1_000, u32::MAX - 1, u32::MAX, u32::MAX] {
        backoff.retries = retries;
        let wait = backoff.next(None);
        assert!(wait >= SHORTEST && wait <= Duration::from_secs(20), "{wait:?} after {retries}");
    }
}
