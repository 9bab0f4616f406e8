use super::*;
use crate::sim::Throttle;
use proptest::prelude::*;

fn leaf(account: &str, operation: &str) -> Leaf {
    Leaf { account: account.into(), region: "r".into(), service: "ssm".into(), operation: operation.into() }
}

fn draw(name: &str, capacity: f64, refill_per_s: f64, cost: u32) -> Draw {
    let key = BucketKey { account: "a".into(), region: "r".into(), name: name.into() };
    Draw { key, limit: Limit::new(capacity, refill_per_s).expect("a possible limit"), cost }
}

#[test]
fn every_request_is_counted_once_in_each_grouping() {
    let truth = Arc::new(Truth::default());
    let outcomes = [Outcome::Answered, Outcome::Throttled, Outcome::Faulted, Outcome::Refused];
    for (second, outcome) in (1..).zip(outcomes) {
        let seat = truth.arrive(Duration::from_secs(second));
        seat.record(Some(&leaf(if second % 2 == 0 { "a" } else { "b" }, "Get")), outcome);
    }
    truth.arrive(Duration::from_secs(9)).record(None, Outcome::Refused);

    let seen = truth.snapshot();
    assert_eq!(
        seen.totals,
        Counts {
            requests: 5,
            answered: 1,
            throttled: 1,
            faulted: 1,
            refused: 2,
            first_s: Some(1.0),
            last_s: Some(9.0)
        }
    );
    assert_eq!(seen.unrecognised.requests, 1);
    assert_eq!(seen.actions["ssm.Get"].requests, 4);
    assert_eq!(
        seen.leaves.iter().map(|l| (l.leaf.account.as_str(), l.counts.requests)).collect::<Vec<_>>(),
        [("a", 2), ("b", 2)]
    );
}

#[test]
fn the_peak_is_of_requests_that_were_there_together() {
    let truth = Arc::new(Truth::default());
    let first = truth.arrive(Duration::ZERO);
    let second = truth.arrive(Duration::ZERO);
    assert_eq!((first.number(), second.number()), (1, 2));
    drop((first, second));
    drop(truth.arrive(Duration::ZERO));
    assert_eq!(truth.snapshot().peak_concurrent, 2);
}

#[test]
fn the_snapshot_serialises_with_its_leaves_flat() {
    let truth = Arc::new(Truth::default());
    truth.arrive(Duration::from_secs(1)).record(Some(&leaf("a", "Get")), Outcome::Answered);
    let json = serde_json::to_value(truth.snapshot()).expect("plain data");
    assert_eq!(json["leaves"][0]["operation"], "Get");
    assert_eq!(json["leaves"][0]["answered"], 1);
    assert_eq!(json["totals"]["first_s"], 1.0);
}

#[test]
fn the_ideal_is_set_by_the_bucket_that_takes_longest() {
    let job = [
        (30, vec![draw("quick", 10.0, 10.0, 1)]),
        (25, vec![draw("slow", 5.0, 5.0, 1)]),
        (10, vec![draw("slow", 5.0, 5.0, 2), draw("quick", 10.0, 10.0, 1)]),
    ];
    let ideal = Ideal::of(job);
    assert_eq!(ideal.seconds, 8.0);
    assert_eq!(ideal.bucket.map(|key| key.name), Some("slow".to_owned()));
}

#[test]
fn a_job_that_fits_the_bursts_takes_no_time() {
    assert_eq!(Ideal::of([(5, vec![draw("b", 5.0, 1.0, 1)])]), Ideal::default());
}

#[test]
fn a_client_that_never_waits_too_long_takes_the_ideal_time_of_a_bucket_that_is_refilled_by_the_minute() {
    let limit = Limit::stepped(9.0, 4.0, Duration::from_secs(60)).expect("a possible limit");
    for (calls, minutes) in [(9, 0), (10, 1), (13, 1), (14, 2), (30, 6)] {
        let call = vec![Draw { limit, ..draw("b", 1.0, 1.0, 1) }];
        assert_eq!(Ideal::of([(calls, call.clone())]).seconds, f64::from(minutes) * 60.0);
        let (mut throttle, mut now, mut granted) = (Throttle::default(), Duration::ZERO, 0);
        while granted < calls {
            let verdict = throttle.admit(now, &call);
            if verdict.is_granted() { granted += 1 } else { now += verdict.wait }
        }
        assert_eq!(now, Duration::from_secs(60) * minutes);
    }
}

proptest! {
    #[test]
    fn a_client_that_never_waits_too_long_takes_the_ideal_time(
        // A bucket of one token is full whenever the client is a moment late, and loses that moment.
        capacity in 2u32..20,
        refill in 2.0f64..50.0,
        calls in 1u64..60,
    ) {
        let call = vec![draw("b", f64::from(capacity), refill, 1)];
        let ideal = Ideal::of([(calls, call.clone())]).seconds;
        let (mut throttle, mut now, mut granted) = (Throttle::default(), Duration::ZERO, 0);
        while granted < calls {
            if throttle.admit(now, &call).is_granted() { granted += 1 } else { now += Duration::from_millis(1) }
        }
        let took = now.as_secs_f64();
        prop_assert!(took >= ideal - 1e-6, "{took} beats the ideal {ideal}");
        prop_assert!(took <= ideal + 0.002, "{took} is not the ideal {ideal}");
    }
}
