//! A bucket that the server tells what is left.

use std::num::NonZeroU32;

use proptest::prelude::*;

use super::*;
use crate::limiter::{AnswerKind, NamedLimit, Report};

const FLOOR: f64 = 0.05;

fn at(seconds: f64) -> Timestamp {
    Timestamp::ZERO + Duration::from_secs_f64(seconds)
}

fn report(left: u64, sent_at: f64, ticket: Ticket) -> Report {
    Report { left, sent_at: at(sent_at), ticket }
}

#[test]
fn a_law_that_is_held_does_not_climb_and_goes_on_where_it_was() {
    let settings = ThrottleSettings { law: LawName::DeliveryRate, ..ThrottleSettings::default() };
    let mut bucket = TokenBucket::new(Limits::default(), settings.into(), at(0.0), Duration::ZERO);
    let mut law = Vec::new();
    for second in 1..=60 {
        let ticket = bucket.take(1.0, at(f64::from(second)));
        let told = Report { left: 10, sent_at: at(f64::from(second)), ticket };
        bucket.quota_left(at(f64::from(second) + 0.1), "reads", told, false, true);
        assert!(bucket.rate(at(f64::from(second) + 0.1)) < 20.0);
        law.push(bucket.law.get().rate());
    }
    assert!(law.iter().all(|rate| *rate == law[0]), "{law:?}");
    assert_eq!(bucket.view(at(200.0), 0).rate_rps, law[0], "it is told no more");
    bucket.reset(Limits::default(), at(200.0), Duration::ZERO);
    assert_eq!(bucket.view(at(200.0), 0).quota, None);
}

#[test]
fn new_settings_and_a_throttle_keep_what_was_told() {
    let settings = ThrottleSettings::default();
    let mut bucket = TokenBucket::new(Limits::default(), settings.clone().into(), at(0.0), Duration::ZERO);
    bucket.quota_left(at(1.0), "reads", report(5, 0.9, Ticket::default()), false, false);
    bucket.throttled(at(1.1), at(1.0), None, false);
    bucket.reconfigure(Limits::new(50.0, 50.0, FLOOR).unwrap(), settings.into(), at(1.2), Duration::ZERO, false);
    assert_eq!(bucket.view(at(1.2), 0).quota.unwrap().left, 5);
}

#[test]
fn an_answer_to_a_call_from_before_a_reset_is_placed_among_those_after_it() {
    let mut bucket = TokenBucket::new(Limits::default(), ThrottleSettings::default().into(), at(0.0), Duration::ZERO);
    bucket.quota_left(at(0.0), "reads", report(500, 0.0, Ticket::default()), false, false);
    let before = (0..10).map(|_| bucket.take(1.0, at(0.1))).last().unwrap();
    bucket.reset(Limits::default(), at(0.2), Duration::ZERO);
    assert!(bucket.view(at(0.2), 0).quota.is_none());
    for _ in 0..20 {
        bucket.take(1.0, at(0.2));
    }
    bucket.quota_left(at(0.3), "reads", report(50, 0.1, before), false, false);
    assert_eq!(bucket.quotas().unwrap().left(at(0.3)), 30.0);
    bucket.reset(Limits::default(), at(0.4), Duration::ZERO);
    bucket.refill(at(10.0), false);
    assert!(bucket.is_neutral(), "as good as new");
}

/// What may happen to a bucket that is told things.
#[derive(Debug, Clone)]
enum Step {
    Wait(f64),
    Take,
    GiveBack,
    Tell { quota: u8, left: u64, age: f64, ticket: usize },
    Throttle,
}

fn step() -> impl Strategy<Value = Step> {
    let left = prop_oneof![0..5_u64, 0..1000_u64, any::<u64>()];
    prop_oneof![
        (0.0..3.0_f64).prop_map(Step::Wait),
        Just(Step::Take),
        Just(Step::GiveBack),
        (0..6_u8, left, 0.0..200.0_f64, 0..20_usize).prop_map(|(quota, left, age, ticket)| Step::Tell {
            quota,
            left,
            age,
            ticket
        }),
        Just(Step::Throttle),
    ]
}

proptest! {
    /// Whatever is told, and in whatever order.
    #[test]
    fn a_quota_never_makes_faster_never_stops_and_no_more_lies_ready_than_is_left(
        law in prop::sample::select(vec![LawName::Aimd, LawName::DeliveryRate]),
        steps in prop::collection::vec(step(), 1..80),
        waiting in any::<bool>(),
    ) {
        let settings = ThrottleSettings { law, ..ThrottleSettings::default() };
        let mut told = TokenBucket::new(Limits::default(), settings.clone().into(), at(0.0), Duration::ZERO);
        let mut now = 0.0;
        let mut tickets = vec![Ticket::default()];
        for step in steps {
            match step {
                Step::Wait(seconds) => now += seconds,
                Step::Take => tickets.extend(told.take_if_ready(1.0, at(now))),
                Step::GiveBack => told.give_back(1.0, at(now), at(now)),
                Step::Throttle => { told.throttled(at(now), at(now), None, waiting); }
                Step::Tell { quota, left, age, ticket } => {
                    let name = quota.to_string();
                    let ticket = tickets[ticket % tickets.len()];
                    told.quota_left(at(now), &name, report(left, (now - age).max(0.0), ticket), false, waiting);
                    if let Some(view) = told.view(at(now), 0).quota {
                        prop_assert!(view.allows_rps >= 0.0 && view.refill_rps.is_none_or(f64::is_finite));
                    }
                }
            }
            told.refill(at(now), waiting);
            let (rate, of_law) = (told.rate(at(now)), told.law.get().rate());
            let least = (of_law / 20.0).clamp(0.2, 1.0).min(of_law);
            prop_assert!(rate <= of_law && rate >= least, "{} of {}", rate, of_law);
            let ready = told.view(at(now), 0).tokens;
            prop_assert!(ready.is_finite());
            let late = 0.02 * rate;
            let left = told.quotas().map_or(f64::INFINITY, |quotas| quotas.left(at(now)));
            prop_assert!(ready <= left + late + 1e-6, "{} of {} lie ready", ready, left);
        }
    }
}

/// What may happen to a bucket of any limits, at any time.
#[derive(Debug, Clone)]
enum Blow {
    Wait(Duration),
    Take,
    GiveBack,
    Tell { quota: u8, left: u64, ago: Duration, ticket: usize },
    Name { calls: u64, per: Duration },
    Throttle { ago: Duration, retry_after: Option<Duration> },
    Answer { ago: Duration, kind: AnswerKind },
    Reconfigure(Limits, LawName),
    Reset,
}

fn any_limits() -> impl Strategy<Value = Limits> {
    let rate = || prop_oneof![Just(1e-6), 1e-6..1.0_f64, 1.0..1e6_f64, Just(1e6)];
    let burst = prop_oneof![Just(1.0), 1.0..1e6_f64];
    prop_oneof![
        Just(Limits::default()),
        (rate(), burst.clone(), rate(), any::<bool>()).prop_map(|(rate, burst, floor, published)| {
            let limits = Limits::new(rate, burst, floor).unwrap();
            if published { limits.as_published() } else { limits }
        }),
        (burst, 1..90_000_u32, rate()).prop_map(|(calls, window, floor)| {
            Limits::in_windows(calls, NonZeroU32::new(window).unwrap(), floor).as_published()
        }),
    ]
}

fn any_duration() -> impl Strategy<Value = Duration> {
    prop_oneof![
        Just(Duration::ZERO),
        (0..3_000_000_000_u64).prop_map(Duration::from_nanos),
        (0..100_000_u64).prop_map(Duration::from_secs),
        any::<u64>().prop_map(Duration::from_nanos),
        Just(Duration::MAX),
    ]
}

fn any_law() -> impl Strategy<Value = LawName> {
    prop::sample::select(vec![LawName::Aimd, LawName::DeliveryRate])
}

fn blow() -> impl Strategy<Value = Blow> {
    let left = prop_oneof![0..5_u64, 0..1000_u64, any::<u64>(), Just(60_000_000_u64), Just(u64::MAX)];
    let kind = prop::sample::select(vec![AnswerKind::Served, AnswerKind::Refused, AnswerKind::Failed]);
    prop_oneof![
        3 => any_duration().prop_map(Blow::Wait),
        4 => Just(Blow::Take),
        1 => Just(Blow::GiveBack),
        6 => (0..6_u8, left, any_duration(), 0..20_usize)
            .prop_map(|(quota, left, ago, ticket)| Blow::Tell { quota, left, ago, ticket }),
        2 => (prop_oneof![0..1000_u64, any::<u64>()], any_duration())
            .prop_map(|(calls, per)| Blow::Name { calls, per }),
        1 => (any_duration(), prop::option::of(any_duration()))
            .prop_map(|(ago, retry_after)| Blow::Throttle { ago, retry_after }),
        2 => (any_duration(), kind).prop_map(|(ago, kind)| Blow::Answer { ago, kind }),
        1 => (any_limits(), any_law()).prop_map(|(limits, law)| Blow::Reconfigure(limits, law)),
        1 => Just(Blow::Reset),
    ]
}

/// The floor; and a window holds a call at least, however low the rate.
fn least_rate(bucket: &TokenBucket) -> f64 {
    let floor = bucket.law.get().limits().floor_rps();
    bucket.window().map_or(floor, |window| floor.max(1.0 / window.period().as_secs_f64()))
}

proptest! {
    #[test]
    fn no_limits_times_or_reports_make_a_figure_that_is_none(
        limits in any_limits(),
        law in any_law(),
        blows in prop::collection::vec(blow(), 1..60),
        waiting in any::<bool>(),
    ) {
        let settings = |law| Arc::new(ThrottleSettings { law, ..ThrottleSettings::default() });
        let mut now = Timestamp::ZERO;
        let mut bucket = TokenBucket::new(limits, settings(law), now, Duration::ZERO);
        let mut tickets = vec![Ticket::default()];
        for blow in blows {
            let before = |ago: Duration| Timestamp::from_nanos(now.as_nanos().saturating_sub(
                u64::try_from(ago.as_nanos()).unwrap_or(u64::MAX)
            ));
            match blow {
                Blow::Wait(time) => now = now + time,
                Blow::Take => tickets.extend(bucket.take_if_ready(1.0, now)),
                Blow::GiveBack => bucket.give_back(1.0, now, now),
                Blow::Tell { quota, left, ago, ticket } => {
                    let report = Report { left, sent_at: before(ago), ticket: tickets[ticket % tickets.len()] };
                    bucket.quota_left(now, &quota.to_string(), report, quota == 0, waiting);
                }
                Blow::Name { calls, per } => {
                    bucket.refill(now, waiting);
                    let before = bucket.untold_rate();
                    let named = NamedLimit::new(calls, per);
                    let lowered = named.and_then(|limit| bucket.limit_named(now, limit, waiting));
                    let rate = bucket.untold_rate();
                    // At the end of time every look begins another window.
                    if now < Timestamp::MAX {
                        prop_assert_eq!(lowered, (rate < before).then_some((before, rate)));
                    }
                    if named.is_some() {
                        let most = calls as f64 / per.as_secs_f64();
                        prop_assert!(rate <= most.max(least_rate(&bucket)) * (1.0 + 1e-9));
                    }
                }
                Blow::Throttle { ago, retry_after } => {
                    bucket.throttled(now, before(ago), retry_after, waiting);
                }
                Blow::Answer { ago, kind } => {
                    bucket.answered(now, Answer { sent_at: before(ago), cost: 1.0, kind });
                }
                Blow::Reconfigure(limits, law) => bucket.reconfigure(limits, settings(law), now, Duration::ZERO, waiting),
                Blow::Reset => bucket.reset(Limits::default(), now, Duration::ZERO),
            }
            bucket.refill(now, waiting);
            let law = bucket.law.get();
            let (rate, of_law, limits) = (bucket.rate(now), bucket.untold_rate(), law.limits());
            prop_assert!(of_law.is_finite() && law.rate().is_finite() && law.rate() >= limits.floor_rps());
            let named = bucket.view(now, 0).limit_rps;
            let is_named = named.is_none_or(|named| of_law <= named.max(least_rate(&bucket)) * (1.0 + 1e-9));
            prop_assert!(is_named, "{} of {:?}", of_law, named);
            let least = match bucket.window() {
                None => (of_law / 20.0).clamp(0.2, 1.0).max(limits.floor_rps()).min(of_law),
                Some(_) => f64::MIN_POSITIVE,
            };
            let most = of_law * (1.0 + 1e-9);
            prop_assert!(bucket.tokens() <= bucket.capacity(now) + 0.02 * rate + 1e-6);
            prop_assert!(rate <= most && rate >= least, "{} of {}", rate, of_law);
            let view = bucket.view(now, 0);
            prop_assert!(view.tokens.is_finite() && bucket.capacity(now) >= 1.0);
            let is_told_well = view.quota.is_none_or(|quota| {
                quota.allows_rps.is_finite() && quota.allows_rps >= 0.0 && quota.refill_rps.is_none_or(f64::is_finite)
            });
            prop_assert!(is_told_well);
            let turn = bucket.turn(3.0, 1.0, now);
            prop_assert!(turn.expected_at >= now && turn.expected_at <= turn.ready_at);
        }
    }
}
