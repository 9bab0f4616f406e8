use super::*;
use proptest::prelude::*;

const MINUTE: Duration = Duration::from_secs(60);

fn draw(name: &str, capacity: f64, refill_per_s: f64, cost: u32) -> Draw {
    let key = BucketKey { account: "a".into(), region: "r".into(), name: name.into() };
    Draw { key, limit: Limit::new(capacity, refill_per_s).expect("a possible limit"), cost }
}

#[test]
fn a_new_bucket_is_full_and_an_empty_one_refuses() {
    let mut throttle = Throttle::default();
    let call = [draw("b", 3.0, 1.0, 1)];
    let granted = (0..5).filter(|_| throttle.admit(Duration::ZERO, &call).is_granted()).count();
    assert_eq!(granted, 3);
}

#[test]
fn a_bucket_grants_again_after_exactly_one_refill_interval() {
    let mut throttle = Throttle::default();
    let call = [draw("b", 1.0, 5.0, 1)];
    assert!(throttle.admit(Duration::ZERO, &call).is_granted());
    assert!(!throttle.admit(Duration::from_millis(199), &call).is_granted());
    assert!(throttle.admit(Duration::from_millis(200), &call).is_granted());
}

#[test]
fn nested_buckets_grant_all_or_take_nothing() {
    let mut throttle = Throttle::default();
    let both = [draw("wide", 10.0, 1.0, 1), draw("narrow", 1.0, 1.0, 1)];
    assert!(throttle.admit(Duration::ZERO, &both).is_granted());
    assert!(!throttle.admit(Duration::ZERO, &both).is_granted());
    let nine = [draw("wide", 10.0, 1.0, 9)];
    assert!(
        throttle.admit(Duration::ZERO, &nine).is_granted(),
        "the refused call must not have cost the wide bucket a token"
    );
}

#[test]
fn a_bucket_drawn_on_twice_by_one_call_pays_twice() {
    let mut throttle = Throttle::default();
    let twice = [draw("b", 3.0, 1.0, 2), draw("b", 3.0, 1.0, 2)];
    assert!(!throttle.admit(Duration::ZERO, &twice).is_granted());
    assert!(throttle.admit(Duration::ZERO, &[draw("b", 3.0, 1.0, 3)]).is_granted());
}

#[test]
fn time_that_runs_backwards_refills_nothing() {
    let mut throttle = Throttle::default();
    let call = [draw("b", 1.0, 1.0, 1)];
    assert!(throttle.admit(Duration::from_secs(10), &call).is_granted());
    assert!(!throttle.admit(Duration::from_secs(1), &call).is_granted());
    assert!(!throttle.admit(Duration::from_millis(10_500), &call).is_granted());
}

#[test]
fn a_refusal_tells_how_long_until_the_call_would_be_granted_and_a_grant_what_is_left() {
    let mut throttle = Throttle::default();
    let call = [draw("wide", 10.0, 1.0, 4), draw("narrow", 5.0, 0.5, 2)];
    let granted = throttle.admit(Duration::ZERO, &call);
    assert_eq!(granted, Verdict { refused_by: None, wait: Duration::ZERO, left: vec![6.0, 3.0] });
    assert!(throttle.admit(Duration::ZERO, &call).is_granted());
    let refused = throttle.admit(Duration::ZERO, &call);
    // The wide bucket lacks two tokens, the narrow one lacks one and is slower.
    assert_eq!(refused, Verdict { refused_by: Some(0), wait: Duration::from_secs(2), left: vec![2.0, 1.0] });
    assert!(!throttle.admit(Duration::from_millis(1_999), &call).is_granted());
    assert!(throttle.admit(Duration::from_secs(2), &call).is_granted());
}

#[test]
fn a_call_that_no_full_bucket_covers_waits_for_ever() {
    let mut throttle = Throttle::default();
    let refused = throttle.admit(Duration::ZERO, &[draw("b", 3.0, 1.0, 2), draw("b", 3.0, 1.0, 2)]);
    assert_eq!((refused.refused_by, refused.wait), (Some(1), Duration::MAX));
}

#[test]
fn a_gate_that_was_passed_keeps_what_it_took_when_the_next_one_refuses() {
    let mut throttle = Throttle::default();
    let gates = [vec![draw("outer", 9.0, 1.0, 1)], vec![draw("inner", 1.0, 0.25, 1)], vec![draw("last", 9.0, 1.0, 1)]];
    assert_eq!(throttle.pass(Duration::ZERO, &gates).left, [8.0, 0.0, 8.0]);
    let refused = throttle.pass(Duration::ZERO, &gates);
    assert_eq!(refused, Verdict { refused_by: Some(1), wait: Duration::from_secs(4), left: vec![7.0, 0.0] });
}

/// As Compute's own example: four tokens a minute, twelve at most.
#[test]
fn a_bucket_that_is_refilled_every_minute_follows_the_published_example() {
    let limit = Limit::stepped(12.0, 4.0, MINUTE).expect("a possible limit");
    let call = [Draw { limit, ..draw("vm", 1.0, 1.0, 1) }];
    let mut throttle = Throttle::default();
    let mut refused = Vec::new();
    for (minute, calls) in (0u32..).zip([0, 8, 0, 13, 5, 0]) {
        // Late in the minute: what counts is the turn of it, not the time since the last call.
        let now = MINUTE * minute + Duration::from_secs(50);
        refused.push((0..calls).filter(|_| !throttle.admit(now, &call).is_granted()).count());
    }
    assert_eq!(refused, [0, 0, 0, 1, 1, 0]);
    let verdict = throttle.admit(MINUTE * 5 + Duration::from_secs(55), &[Draw { cost: 9, ..call[0].clone() }]);
    assert_eq!((verdict.wait, verdict.left), (MINUTE + Duration::from_secs(5), vec![4.0]));
}

#[test]
fn what_is_left_of_a_window_is_lost_with_it() {
    let limit = Limit::window(3.0, MINUTE * 5).expect("a possible limit");
    let call = [Draw { limit, ..draw("reads", 1.0, 1.0, 1) }];
    let mut throttle = Throttle::default();
    let granted = |throttle: &mut Throttle, minute| {
        (0..5).filter(|_| throttle.admit(MINUTE * minute, &call).is_granted()).count()
    };
    assert_eq!([0, 4, 5, 14, 15].map(|minute| granted(&mut throttle, minute)), [3, 0, 3, 3, 3]);
    assert_eq!(throttle.admit(MINUTE * 19, &call).wait, MINUTE);
}

#[test]
fn a_window_that_had_begun_before_the_start_ends_that_much_sooner() {
    let limit = Limit::window(2.0, MINUTE).expect("a possible limit").begun(MINUTE * 7 + Duration::from_secs(45));
    let call = [Draw { limit, ..draw("lists", 1.0, 1.0, 1) }];
    let mut throttle = Throttle::default();
    let mut seen = Vec::new();
    for at in [0, 0, 0, 14_999, 15_000, 15_000, 74_999, 75_000].map(Duration::from_millis) {
        seen.push(throttle.admit(at, &call).wait.as_millis());
    }
    assert_eq!(seen, [0, 0, 15_000, 1, 0, 0, 1, 0]);
    assert_eq!(limit.least_time(5.0), Duration::from_secs(75));
    assert_eq!(limit.resized(2.0, 2.0), Ok(limit), "the size does not move the window");
}

#[test]
fn a_limit_may_refill_at_another_pace() {
    let limit = Limit::window(2.0, MINUTE).expect("a possible limit");
    assert_eq!(limit.every(MINUTE * 5), Limit::window(2.0, MINUTE * 5));
    assert!(limit.every(Duration::ZERO).is_err());
}

#[test]
fn impossible_limits_are_refused() {
    assert!(Limit::stepped(1.0, 1.0, Duration::ZERO).is_err());
    assert!(Limit::stepped(1.0, 0.0, MINUTE).is_err());
    for (capacity, refill) in [(0.5, 1.0), (1.0, 0.0), (1.0, -1.0), (f64::NAN, 1.0), (1.0, f64::INFINITY)] {
        assert!(Limit::new(capacity, refill).is_err(), "{capacity}/{refill}");
    }
}

#[test]
fn the_least_time_is_what_the_burst_leaves_over() {
    let limit = Limit::new(5.0, 2.0).expect("a possible limit");
    assert_eq!(limit.least_time(4.0), Duration::ZERO);
    assert_eq!(limit.least_time(15.0), Duration::from_secs(5));
    let limit = Limit::stepped(900.0, 300.0, MINUTE).expect("a possible limit");
    assert_eq!(
        [900.0, 901.0, 1_200.0, 1_201.0].map(|tokens| limit.least_time(tokens)),
        [0, 1, 1, 2].map(|n| MINUTE * n)
    );
    let limit = Limit::stepped(2.0, 300.0, MINUTE).expect("a possible limit");
    assert_eq!(limit.least_time(5.0), MINUTE * 2, "what does not fit is lost");
}

#[test]
fn a_limit_of_another_size_refills_as_it_did() {
    let limit = Limit::stepped(900.0, 300.0, MINUTE).expect("a possible limit");
    assert_eq!(limit.resized(20.0, 6.0), Limit::stepped(20.0, 6.0, MINUTE));
    assert_eq!(limit.refill_per_s(), 5.0);
    assert_eq!(limit.to_string(), "900 and 300/1m");
    assert!(limit.resized(0.0, 6.0).is_err());
}

fn any_limit() -> impl Strategy<Value = Limit> {
    let period = prop::option::of((1u64..200_000).prop_map(Duration::from_millis));
    let begun = (0u64..400_000).prop_map(Duration::from_millis);
    (1.0f64..50.0, 0.05f64..100.0, period, begun).prop_filter_map(
        "a possible limit",
        |(capacity, refill, period, begun)| match period {
            None => Limit::new(capacity, refill).ok(),
            Some(period) => Limit::stepped(capacity, refill, period).ok().map(|limit| limit.begun(begun)),
        },
    )
}

proptest! {
    #[test]
    fn a_call_is_granted_after_the_wait_that_it_was_told_and_not_a_moment_before(
        limit in any_limit(),
        start in 0u64..200_000,
        cost in 1u32..4,
    ) {
        let call = [Draw { limit, cost, ..draw("b", 1.0, 1.0, 1) }];
        let (mut throttle, mut now) = (Throttle::default(), Duration::from_millis(start));
        let mut wait = Duration::ZERO;
        for _ in 0..200 {
            wait = throttle.admit(now, &call).wait;
            if !wait.is_zero() { break }
        }
        if wait == Duration::MAX {
            prop_assert!(f64::from(cost) > limit.capacity());
        } else if wait > Duration::from_micros(1) {
            now += wait;
            prop_assert!(!throttle.admit(now - Duration::from_micros(1), &call).is_granted());
            prop_assert!(throttle.admit(now, &call).is_granted());
        }
    }

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
            if throttle.admit(now, &[draw("b", capacity, refill, cost)]).is_granted() {
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
            prop_assert!(throttle.admit(now, &[draw("b", 1.0, refill, 1)]).is_granted());
        }
    }
}
