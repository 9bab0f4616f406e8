use super::*;
use proptest::prelude::*;

fn draw(name: &str, capacity: f64, refill_per_s: f64, cost: u32) -> Draw {
    let key = BucketKey { account: "a".into(), region: "r".into(), name: name.into() };
    Draw { key, limit: Limit::new(capacity, refill_per_s).expect("a possible limit"), cost }
}

#[test]
fn a_new_bucket_is_full_and_an_empty_one_refuses() {
    let mut throttle = Throttle::default();
    let call = [draw("b", 3.0, 1.0, 1)];
    let granted = (0..5).filter(|_| throttle.admit(Duration::ZERO, &call)).count();
    assert_eq!(granted, 3);
}

#[test]
fn a_bucket_grants_again_after_exactly_one_refill_interval() {
    let mut throttle = Throttle::default();
    let call = [draw("b", 1.0, 5.0, 1)];
    assert!(throttle.admit(Duration::ZERO, &call));
    assert!(!throttle.admit(Duration::from_millis(199), &call));
    assert!(throttle.admit(Duration::from_millis(200), &call));
}

#[test]
fn nested_buckets_grant_all_or_take_nothing() {
    let mut throttle = Throttle::default();
    let both = [draw("wide", 10.0, 1.0, 1), draw("narrow", 1.0, 1.0, 1)];
    assert!(throttle.admit(Duration::ZERO, &both));
    assert!(!throttle.admit(Duration::ZERO, &both));
    let nine = [draw("wide", 10.0, 1.0, 9)];
    assert!(throttle.admit(Duration::ZERO, &nine), "the refused call must not have cost the wide bucket a token");
}

#[test]
fn a_bucket_drawn_on_twice_by_one_call_pays_twice() {
    let mut throttle = Throttle::default();
    let twice = [draw("b", 3.0, 1.0, 2), draw("b", 3.0, 1.0, 2)];
    assert!(!throttle.admit(Duration::ZERO, &twice));
    assert!(throttle.admit(Duration::ZERO, &[draw("b", 3.0, 1.0, 3)]));
}

#[test]
fn time_that_runs_backwards_refills_nothing() {
    let mut throttle = Throttle::default();
    let call = [draw("b", 1.0, 1.0, 1)];
    assert!(throttle.admit(Duration::from_secs(10), &call));
    assert!(!throttle.admit(Duration::from_secs(1), &call));
    assert!(!throttle.admit(Duration::from_millis(10_500), &call));
}

#[test]
fn impossible_limits_are_refused() {
    for (capacity, refill) in [(0.5, 1.0), (1.0, 0.0), (1.0, -1.0), (f64::NAN, 1.0), (1.0, f64::INFINITY)] {
        assert!(Limit::new(capacity, refill).is_err(), "{capacity}/{refill}");
    }
}

#[test]
fn the_least_time_is_what_the_burst_leaves_over() {
    let limit = Limit::new(5.0, 2.0).expect("a possible limit");
    assert_eq!(limit.least_time(4.0), Duration::ZERO);
    assert_eq!(limit.least_time(15.0), Duration::from_secs(5));
}

proptest! {
    #[test]
    fn a_bucket_never_grants_more_than_its_burst_and_its_refill(
        capacity in 1.0f64..50.0,
        refill in 0.05f64..100.0,
        calls in prop::collection::vec((0u64..2_000, 1u32..4), 1..200),
    ) {
        let mut throttle = Throttle::default();
        let (mut now, mut granted) = (Duration::ZERO, 0.0);
        for (step, cost) in calls {
            now += Duration::from_millis(step);
            if throttle.admit(now, &[draw("b", capacity, refill, cost)]) {
                granted += f64::from(cost);
            }
            prop_assert!(granted <= capacity + refill * now.as_secs_f64() + 1e-6);
        }
    }

    #[test]
    fn a_caller_that_comes_at_the_refill_rate_is_never_refused(refill in 0.1f64..100.0, calls in 1u32..300) {
        let mut throttle = Throttle::default();
        for n in 0..calls {
            let now = Duration::from_secs_f64(f64::from(n) / refill) + Duration::from_nanos(u64::from(n));
            prop_assert!(throttle.admit(now, &[draw("b", 1.0, refill, 1)]));
        }
    }
}
