use proptest::prelude::*;

use super::*;

const BUCKET: Quota = Quota::Bucket { capacity: 10.0, refill: 2.0 };
const STEPS: Quota = Quota::Steps { capacity: 10.0, refills: &[(0.0, 2.0), (30.0, 0.5), (60.0, 4.0)] };
const MINUTE: Quota = Quota::Minute { capacity: 12.0, refill: 4.0 };
const WINDOW: Quota = Quota::Window { limit: 25.0, seconds: 60.0 };
const DEBT: Quota = Quota::Debt { capacity: 10.0, refill: 2.0 };
const ACCOUNT: Quota = Quota::All(&[BUCKET, Quota::ByKind(&[Quota::Bucket { capacity: 4.0, refill: 1.5 }, BUCKET])]);
const INSTANCES: Quota = Quota::All(&[Quota::PerCall(&BUCKET), Quota::Bucket { capacity: 100.0, refill: 1.0 }]);

fn every() -> impl Strategy<Value = Quota> {
    prop::sample::select(vec![BUCKET, STEPS, MINUTE, WINDOW, DEBT, ACCOUNT, INSTANCES])
}

fn one(kind: usize) -> Request {
    Request { cost: 1.0, kind }
}

/// Tokens granted to someone who asks every tenth of a second.
fn greedy(quota: Quota, open: &[(f64, f64)], request: Request) -> f64 {
    let mut meter = Meter::new(quota);
    let mut granted = 0.0;
    for step in 0..1200 {
        let now = f64::from(step) / 10.0;
        if open.iter().any(|(from, to)| *from <= now && now < *to) {
            while meter.ask(now, request).is_ok() {
                granted += request.cost;
            }
        }
    }
    granted
}

proptest! {
    #[test]
    fn nothing_grants_more_than_the_most(
        quota in every(),
        gaps in prop::collection::vec(0.0_f64..3.0, 1..300),
        kinds in prop::collection::vec(0_usize..2, 300),
        cost in 1_u32..4,
    ) {
        let cost = f64::from(cost);
        let mut meter = Meter::new(quota);
        let (mut now, mut granted) = (0.0, 0.0);
        for (gap, kind) in gaps.into_iter().zip(kinds) {
            now += gap;
            if meter.ask(now, Request { cost, kind }).is_ok() {
                granted += cost;
            }
        }
        let most = quota.most(&[(0.0, now + 1e-6)], cost);
        prop_assert!(granted <= most + 1e-6, "{granted} of {most}");
    }

    #[test]
    fn who_waits_as_long_as_told_is_granted(
        quota in every(),
        kind in 0_usize..2,
        gaps in prop::collection::vec(0.0_f64..1.0, 1..100),
    ) {
        let mut meter = Meter::new(quota);
        let mut now = 0.0;
        for gap in gaps {
            now += gap;
            if let Err(wait) = meter.ask(now, one(kind)) {
                prop_assert!(wait > 0.0);
                now += wait + 1e-6;
                // A refused request may have driven a bucket deeper into debt; and a refill may drop before it is over.
                if !matches!(quota, Quota::Debt { .. } | Quota::Steps { .. }) {
                    prop_assert!(meter.ask(now, one(kind)).is_ok());
                }
            }
        }
    }

    #[test]
    fn time_that_goes_back_mints_nothing(quota in every(), back in 0.0_f64..100.0) {
        let mut meter = Meter::new(quota);
        while meter.ask(100.0, one(1)).is_ok() {}
        prop_assert!(meter.ask(100.0 - back, one(1)).is_err());
        prop_assert!(meter.ask(100.0, one(1)).is_err());
    }
}

#[test]
fn the_most_is_what_a_greedy_client_gets() {
    let open = [(0.0, 45.0), (75.0, 120.0)];
    for quota in [BUCKET, STEPS, MINUTE, WINDOW, DEBT] {
        let most = quota.most(&open, 1.0);
        let got = if matches!(quota, Quota::Debt { .. }) {
            greedy(BUCKET, &open, one(0))
        } else {
            greedy(quota, &open, one(0))
        };
        assert!(got <= most && got >= most - 3.0, "{quota:?}: {got} of {most}");
    }
    assert_eq!(BUCKET.most(&open, 1.0), 10.0 + 90.0 + 10.0 + 90.0);
    assert_eq!(WINDOW.most(&open, 1.0), 50.0);
    assert_eq!(MINUTE.most(&open, 1.0), 12.0 + 4.0);
}

#[test]
fn several_quotas_are_charged_together_or_not_at_all() {
    let mut meter = Meter::new(ACCOUNT);
    let granted = (0..20).filter(|_| meter.ask(0.0, one(0)).is_ok()).count();
    assert_eq!(granted, 4, "the action's own bucket is the narrower");
    let granted = (0..20).filter(|_| meter.ask(0.0, one(1)).is_ok()).count();
    assert_eq!(granted, 6, "the refused calls took nothing from the account's");
}

#[test]
fn a_call_may_cost_more_in_one_quota_than_in_another() {
    let mut meter = Meter::new(INSTANCES);
    let granted = (0..20).filter(|_| meter.ask(0.0, Request { cost: 20.0, kind: 0 }).is_ok()).count();
    assert_eq!(granted, 5, "a hundred instances");
    let mut meter = Meter::new(INSTANCES);
    let granted = (0..20).filter(|_| meter.ask(0.0, Request { cost: 2.0, kind: 0 }).is_ok()).count();
    assert_eq!(granted, 10, "ten requests");
}

#[test]
fn a_cost_beyond_the_capacity_is_never_granted() {
    assert_eq!(Meter::new(BUCKET).ask(0.0, Request { cost: 11.0, kind: 0 }), Err(f64::INFINITY));
}

#[test]
fn refused_calls_drive_a_bucket_into_debt() {
    let mut meter = Meter::new(DEBT);
    for _ in 0..100 {
        let _ = meter.ask(0.0, one(0));
    }
    assert_eq!(meter.ask(4.9, one(0)), Err((10.0 - 9.8 + 1.0) / 2.0), "ten in debt, and refilled by 9.8");
    assert!(meter.ask(10.0, one(0)).is_ok());
}

#[test]
fn a_window_begins_anew_and_a_minute_refills_on_the_minute() {
    let mut window = Meter::new(WINDOW);
    while window.ask(59.0, one(0)).is_ok() {}
    assert_eq!(window.ask(59.0, one(0)), Err(1.0));
    assert_eq!((0..100).filter(|_| window.ask(60.0, one(0)).is_ok()).count(), 25);
    let mut minute = Meter::new(MINUTE);
    while minute.ask(59.0, one(0)).is_ok() {}
    assert_eq!(minute.ask(59.5, one(0)), Err(0.5));
    assert_eq!((0..100).filter(|_| minute.ask(60.0, one(0)).is_ok()).count(), 4);
}

#[test]
fn the_rate_of_several_is_that_of_the_narrowest() {
    assert_eq!(ACCOUNT.rate(0.0, 1.0), 2.0);
    assert_eq!(INSTANCES.rate(0.0, 4.0), 1.0);
    assert_eq!(INSTANCES.burst(4.0), 40.0);
    assert_eq!(STEPS.rate(59.0, 1.0), 0.5);
    assert_eq!(STEPS.changes().collect::<Vec<_>>(), [30.0, 60.0]);
}
