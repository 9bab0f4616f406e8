use proptest::prelude::*;

use super::*;

fn at(seconds: f64) -> Timestamp {
    Timestamp::ZERO + Duration::from_secs_f64(seconds)
}

/// Of a server whose limits nobody knows.
fn law() -> DeliveryRate {
    DeliveryRate::new(Limits::default(), Timestamp::ZERO)
}

/// With nothing ready.
fn throttle(law: &mut DeliveryRate, now: Timestamp, sent_at: Timestamp) -> Option<(f64, f64)> {
    law.throttled(now, sent_at, 0.0)
}

fn answer(law: &mut DeliveryRate, now: f64, sent_at: f64, kind: AnswerKind) -> AnswerEffect {
    law.answered(at(now), Answer { sent_at: at(sent_at), cost: 1.0, kind })
}

/// Served evenly between two times, each answer at once.
fn serve(law: &mut DeliveryRate, from: f64, to: f64, per_second: f64) {
    let calls = ((to - from) * per_second).round() as usize;
    for call in 0..calls {
        let now = from + (call as f64 + 0.5) / per_second;
        law.advance(at(now), false);
        answer(law, now, now, AnswerKind::Served);
    }
}

/// One whose server was measured at ten calls a second, at 30 s.
fn measured() -> DeliveryRate {
    let mut law = law();
    throttle(&mut law, at(10.0), at(10.0));
    serve(&mut law, 10.0, 30.0, 10.0);
    throttle(&mut law, at(30.0), at(30.0));
    law
}

fn wait(law: &mut DeliveryRate, from: f64, to: f64) {
    let steps = ((to - from) * 10.0).round() as usize;
    for step in 0..=steps {
        law.advance(at(from + step as f64 / 10.0), true);
    }
}

// ===== what a throttle does =====

#[test]
fn the_first_two_throttles_halve_the_rate_as_long_as_nothing_is_measured() {
    let mut law = law();
    assert_eq!(throttle(&mut law, at(1.0), at(0.9)), Some((20.0, 10.0)));
    assert_eq!(throttle(&mut law, at(2.1), at(2.0)), Some((10.0, 5.0)));
    answer(&mut law, 3.2, 3.1, AnswerKind::Served);
    assert_eq!((law.rate(), law.measured()), (5.0, None));
}

#[test]
fn where_the_limit_is_known_the_first_throttle_cuts_to_what_was_granted_by_then() {
    let known = || DeliveryRate::new(Limits::new(20.0, 100.0, 0.05).unwrap(), Timestamp::ZERO);
    let cut = |law: &mut DeliveryRate, now: f64, tokens: f64| law.throttled(at(now), at(now), tokens).unwrap().1;
    let about = |rate: f64, expected: f64| assert!((rate - expected).abs() < 0.1, "{rate} and not {expected}");
    assert_eq!(cut(&mut known(), 0.1, 0.0), 10.0, "so little tells nothing");
    // The burst, and all of the 40 that came since but for a few.
    about(cut(&mut known(), 2.0, 0.0), 18.8);
    // Fifteen of them were not asked for.
    about(cut(&mut known(), 2.0, 15.0), 11.3);
    assert_eq!(cut(&mut known(), 60.0, 0.0), 0.97 * 20.0);
    let mut slow = known();
    answer(&mut slow, 1.0, 0.5, AnswerKind::Served);
    // Ten are still under way.
    about(cut(&mut slow, 2.0, 0.0), 13.8);
}

#[test]
fn what_was_granted_before_the_bucket_was_full_or_another_tells_nothing_at_the_first_throttle() {
    let mut law = DeliveryRate::new(Limits::new(20.0, 100.0, 0.05).unwrap(), Timestamp::ZERO);
    law.unused(at(80.0), 1.0);
    assert_eq!(throttle(&mut law, at(80.2), at(80.1)), Some((20.0, 10.0)));
    let mut law = DeliveryRate::new(Limits::new(20.0, 100.0, 0.05).unwrap(), Timestamp::ZERO);
    law.reconfigure(Limits::new(40.0, 100.0, 0.05).unwrap(), &Arc::new(ThrottleSettings::default()));
    assert_eq!(throttle(&mut law, at(60.2), at(60.1)), Some((40.0, 20.0)));
}

#[test]
fn a_server_that_was_closed_for_long_before_it_was_measured_starts_at_a_quarter() {
    let reopened = |probes: u32| {
        let mut law = law();
        for late in 0..4 {
            throttle(&mut law, at(1.0 + f64::from(late) / 10.0), at(0.95 + f64::from(late) / 10.0));
        }
        assert_eq!((law.rate(), law.phase(at(1.3))), (10.0, Phase::Closed));
        for probe in 1..=probes {
            let now = f64::from(probe) * 40.0;
            law.taken(at(now));
            if probe < probes {
                throttle(&mut law, at(now + 0.1), at(now));
            } else {
                answer(&mut law, now + 0.1, now, AnswerKind::Served);
            }
        }
        law.rate()
    };
    assert_eq!((reopened(1), reopened(2), reopened(5)), (10.0, 2.5, 2.5));
}

#[test]
fn what_was_delivered_between_two_throttles_is_the_servers_rate() {
    let law = measured();
    let rate = law.measured().unwrap();
    assert!((rate - 10.0).abs() < 0.1, "{rate}");
    assert!((law.rate() - 0.97 * rate).abs() < 1e-9, "a little less is held");
}

#[test]
fn calls_sent_before_a_throttle_was_seen_do_not_count() {
    let mut law = law();
    throttle(&mut law, at(10.0), at(10.0));
    for _ in 0..100 {
        answer(&mut law, 10.5, 9.9, AnswerKind::Served);
    }
    serve(&mut law, 10.0, 30.0, 10.0);
    throttle(&mut law, at(30.0), at(30.0));
    assert!(law.measured().unwrap() < 11.0);
}

#[test]
fn a_storm_of_requests_that_were_under_way_is_one_event() {
    let mut law = law();
    assert!(throttle(&mut law, at(5.0), at(4.9)).is_some());
    for late in 1..64 {
        assert_eq!(throttle(&mut law, at(5.0 + f64::from(late) * 0.1), at(4.95)), None);
    }
    assert_eq!(law.rate(), 10.0);
}

#[test]
fn a_rate_that_fell_is_found_within_a_second() {
    let mut law = measured();
    for call in 0..40 {
        let now = 31.0 + f64::from(call) * 0.1;
        if call % 5 == 0 {
            answer(&mut law, now, now, AnswerKind::Served);
        } else {
            throttle(&mut law, at(now), at(now));
        }
    }
    assert!(law.rate() > 1.0 && law.rate() < 3.0, "2 of 10 a second are served: {}", law.rate());
}

// ===== growing =====

#[test]
fn the_rate_grows_from_the_start_only_while_callers_wait() {
    let mut law = law();
    for tenth in 0..100 {
        law.advance(at(f64::from(tenth) / 10.0), false);
        answer(&mut law, f64::from(tenth) / 10.0, 0.0, AnswerKind::Served);
    }
    assert_eq!(law.rate(), 20.0, "nobody waited");
    let mut told = 0;
    for tenth in 100..200 {
        let now = f64::from(tenth) / 10.0;
        law.advance(at(now), true);
        told += usize::from(answer(&mut law, now, now, AnswerKind::Served).raised.is_some());
    }
    assert!(law.rate() > 100.0, "{}", law.rate());
    assert!((10..40).contains(&told), "a raise is told when it is a tenth, not with every answer: {told}");
}

#[test]
fn the_rate_does_not_grow_without_answers() {
    let mut law = law();
    wait(&mut law, 0.0, 60.0);
    assert!(law.rate() <= 25.0, "{}", law.rate());
}

#[test]
fn a_measured_rate_is_held_and_then_probed() {
    let mut law = measured();
    let held = law.rate();
    serve(&mut law, 30.0, 37.0, 10.0);
    wait(&mut law, 30.0, 37.0);
    assert_eq!((law.rate(), law.phase(at(37.0))), (held, Phase::Holding));
    for second in 37..80 {
        answer(&mut law, f64::from(second), f64::from(second), AnswerKind::Served);
        wait(&mut law, f64::from(second), f64::from(second) + 1.0);
    }
    assert!(law.rate() > held, "{law:?}");
    assert_eq!(law.phase(at(80.0)), Phase::Probing);
}

#[test]
fn what_was_learned_does_not_decay_while_unused() {
    let mut law = measured();
    let held = law.rate();
    law.unused(at(500.0), 470.0);
    law.advance(at(500.0), false);
    serve(&mut law, 500.0, 501.0, 60.0);
    throttle(&mut law, at(501.0), at(501.0));
    let rate = law.measured().unwrap();
    assert!((9.0..=11.0).contains(&rate), "a burst that was saved up says nothing of the refill: {rate}");
    assert!(law.rate() > 0.85 * held);
}

#[test]
fn a_few_calls_now_and_then_do_not_pull_the_rate_down_to_theirs() {
    let mut law = measured();
    for second in 30..130 {
        let now = f64::from(second);
        law.unused(at(now), 0.4);
        law.unused(at(now + 0.5), 0.4);
        answer(&mut law, now + 0.5, now + 0.5, AnswerKind::Served);
    }
    throttle(&mut law, at(130.0), at(130.0));
    assert!(law.measured().unwrap() > 4.0, "{law:?}");
}

#[test]
fn failures_end_a_probe_and_never_raise_the_rate() {
    let mut law = measured();
    let held = law.rate();
    serve(&mut law, 30.0, 60.0, 10.0);
    wait(&mut law, 60.0, 62.0);
    assert!(law.rate() > held);
    for tenth in 0..200 {
        let now = 62.0 + f64::from(tenth) / 10.0;
        law.advance(at(now), true);
        answer(&mut law, now, now, AnswerKind::Failed);
    }
    assert_eq!(law.rate(), held);
}

// ===== closed =====

/// One that found its measured server closed at 40 s.
fn closed() -> DeliveryRate {
    let mut law = measured();
    serve(&mut law, 30.0, 40.0, 10.0);
    throttle(&mut law, at(40.0), at(40.0));
    throttle(&mut law, at(40.2), at(40.1));
    throttle(&mut law, at(40.3), at(40.2));
    law
}

#[test]
fn a_server_that_serves_nothing_is_closed_and_keeps_its_rate() {
    let law = closed();
    assert_eq!((law.phase(at(40.3)), law.closed_until()), (Phase::Closed, Some(at(41.3))));
    assert!((law.rate() - 9.7).abs() < 0.2, "{}", law.rate());
    assert_eq!(law.capacity(), 1.0);
}

#[test]
fn a_closed_server_is_asked_after_one_and_two_seconds_and_then_once_in_thirty_seconds() {
    let mut law = closed();
    let mut now = at(41.3);
    let mut waits = Vec::new();
    for _ in 0..8 {
        law.taken(now);
        assert!(throttle(&mut law, now, now).is_none());
        let next = law.closed_until().unwrap();
        waits.push(seconds(next.until(now)));
        now = next;
    }
    assert_eq!(waits, [2.0, 30.0, 30.0, 30.0, 30.0, 30.0, 30.0, 30.0]);
}

#[test]
fn a_closed_server_that_serves_a_probe_is_open_again() {
    let mut law = closed();
    let rate = law.rate();
    law.taken(at(41.3));
    assert!(answer(&mut law, 41.4, 41.3, AnswerKind::Served).reopened);
    assert_eq!((law.closed_until(), law.rate()), (None, rate));
}

#[test]
fn neither_a_late_throttle_nor_a_late_answer_of_before_moves_a_closure() {
    let mut law = closed();
    let until = law.closed_until();
    assert_eq!(throttle(&mut law, at(41.0), at(40.25)), None);
    assert!(!answer(&mut law, 41.1, 39.9, AnswerKind::Served).reopened);
    assert_eq!(law.closed_until(), until);
}

#[test]
fn a_probe_that_is_not_sent_leaves_its_turn_to_the_next() {
    let mut law = closed();
    law.taken(at(41.3));
    law.given_back(at(41.3), at(41.3));
    assert_eq!(law.closed_until(), Some(at(41.3)));
    law.taken(at(41.3));
    assert_eq!(law.closed_until(), Some(at(43.3)));
}

// ===== a limit that the server names =====

const LIMIT: f64 = 100.0 / 60.0;

#[test]
fn after_one_throttle_that_names_the_limit_the_rate_is_about_that() {
    let mut law = law();
    law.name_limit(at(5.0), LIMIT);
    assert_eq!(throttle(&mut law, at(5.0), at(4.9)), None, "the throttle is the same event");
    assert_eq!((law.rate(), law.measured(), law.phase(at(5.0))), (0.97 * LIMIT, Some(LIMIT), Phase::Holding));
    serve(&mut law, 5.0, 60.0, LIMIT);
    wait(&mut law, 60.0, 70.0);
    assert_eq!(law.rate(), LIMIT, "and never above it");
}

#[test]
fn a_rate_that_was_measured_to_be_less_than_the_limit_stays() {
    let mut law = measured();
    let before = (law.rate(), law.measured());
    law.name_limit(at(31.0), 25.0);
    assert_eq!((law.rate(), law.measured()), before);
    law.name_limit(at(32.0), 5.0);
    assert_eq!((law.rate(), law.measured()), (0.97 * 5.0, Some(5.0)));
}

#[test]
fn a_limit_above_the_rate_neither_slows_nor_hastens_and_bounds_what_it_grows_to() {
    let mut law = law();
    law.name_limit(at(0.0), 40.0);
    assert_eq!(law.rate(), 20.0);
    for tenth in 0..200 {
        let now = f64::from(tenth) / 10.0;
        law.advance(at(now), true);
        answer(&mut law, now, now, AnswerKind::Served);
    }
    assert_eq!(law.rate(), 40.0);
    law.loosen_limit(None);
    wait(&mut law, 20.0, 24.0);
    assert!(law.rate() > 40.0);
}

#[test]
fn a_limit_lies_under_the_configured_ceiling_and_over_the_floor() {
    let mut law = DeliveryRate::new(Limits::new(8.0, 8.0, 0.5).unwrap(), Timestamp::ZERO);
    law.name_limit(at(1.0), 40.0);
    assert_eq!(law.rate(), 8.0);
    law.name_limit(at(2.0), 0.001);
    assert_eq!(law.rate(), 0.5);
}

#[test]
fn a_window_that_is_spent_is_found_closed_and_opens_at_the_limit() {
    let mut law = law();
    law.name_limit(at(5.0), LIMIT);
    throttle(&mut law, at(5.0), at(4.9));
    throttle(&mut law, at(5.7), at(5.65));
    throttle(&mut law, at(6.3), at(6.25));
    assert_eq!(law.phase(at(6.3)), Phase::Closed);
    law.taken(at(60.0));
    answer(&mut law, 60.1, 60.0, AnswerKind::Served);
    assert_eq!((law.rate(), law.closed_until()), (0.97 * LIMIT, None));
}

// ===== limits =====

#[test]
fn a_configured_ceiling_is_where_it_starts_and_never_exceeded() {
    let limits = Limits::new(8.0, 4.0, 0.05).unwrap();
    let mut law = DeliveryRate::new(limits, Timestamp::ZERO);
    assert_eq!((law.rate(), law.capacity()), (8.0, 4.0));
    for second in 0..100 {
        answer(&mut law, f64::from(second), f64::from(second), AnswerKind::Served);
        wait(&mut law, f64::from(second), f64::from(second) + 1.0);
    }
    assert_eq!((law.rate(), law.ceiling()), (8.0, 8.0));
    law.reconfigure(Limits::new(3.0, 4.0, 0.05).unwrap(), &Arc::new(ThrottleSettings::default()));
    assert_eq!(law.rate(), 3.0);
}

#[test]
fn a_new_ceiling_keeps_what_was_learned_below_it() {
    let mut law = measured();
    let rate = law.rate();
    law.reconfigure(Limits::new(50.0, 50.0, 0.05).unwrap(), &Arc::new(ThrottleSettings::default()));
    assert_eq!(law.rate(), rate);
    law.reconfigure(Limits::new(2.0, 2.0, 0.05).unwrap(), &Arc::new(ThrottleSettings::default()));
    assert_eq!((law.rate(), law.measured()), (2.0, Some(2.0)));
}

#[derive(Debug, Clone)]
enum Event {
    Throttled(u64, f64),
    Answered(u64, AnswerKind, f64),
    Advance(bool),
    Unused(u64),
    Taken,
    GivenBack,
    Reconfigure(f64),
    Name(f64),
    Loosen(Option<f64>),
}

fn events() -> impl Strategy<Value = Vec<(u64, Event)>> {
    let kind = prop_oneof![Just(AnswerKind::Served), Just(AnswerKind::Refused), Just(AnswerKind::Failed)];
    let nanos = prop_oneof![0_u64..10_000_000_000, Just(0), Just(u64::MAX)];
    let event = prop_oneof![
        3 => (nanos.clone(), -1e6_f64..1e6).prop_map(|(age, tokens)| Event::Throttled(age, tokens)),
        5 => (nanos.clone(), kind, prop_oneof![Just(1.0), 0.0_f64..1e6]).prop_map(|(age, kind, cost)| Event::Answered(age, kind, cost)),
        4 => any::<bool>().prop_map(Event::Advance),
        1 => nanos.prop_map(Event::Unused),
        1 => Just(Event::Taken),
        1 => Just(Event::GivenBack),
        1 => (0.000_001_f64..1e6).prop_map(Event::Reconfigure),
        1 => prop_oneof![1e-9_f64..1e6, 0.1_f64..100.0].prop_map(Event::Name),
        1 => prop::option::of(1.0_f64..2.0).prop_map(Event::Loosen),
    ];
    let step = prop_oneof![8 => 0_u64..3_000_000_000, 1 => Just(u64::MAX / 64), 1 => Just(0)];
    prop::collection::vec((step, event), 1..200)
}

proptest! {
    /// Whatever happens in whatever order, at whatever times: the rate is a number within its limits, the capacity is
    /// at least one, and time and spells without callers never lower the rate.
    #[test]
    fn the_rate_stays_within_its_limits(
        ceiling in prop::option::of(0.01_f64..1e6),
        floor in 0.000_001_f64..1.0,
        events in events(),
    ) {
        let of = |ceiling: Option<f64>| match ceiling {
            Some(ceiling) => Limits::new(ceiling, ceiling.max(1.0), floor).unwrap(),
            None => Limits::default(),
        };
        let mut limits = of(ceiling);
        let mut law = DeliveryRate::new(limits, Timestamp::ZERO);
        let mut now = Timestamp::ZERO;
        let mut named: Option<f64> = None;
        for (step, event) in events {
            now = now + Duration::from_nanos(step);
            let before = law.rate();
            let sent_at = |age: u64| Timestamp::from_nanos(now.as_nanos().saturating_sub(age));
            match event {
                Event::Throttled(age, tokens) => drop(law.throttled(now, sent_at(age), tokens)),
                Event::Answered(age, kind, cost) => {
                    law.answered(now, Answer { sent_at: sent_at(age), cost, kind });
                }
                Event::Advance(waiting) => {
                    law.advance(now, waiting);
                    prop_assert!(law.rate() >= before);
                }
                Event::Unused(nanos) => {
                    law.unused(now, nanos as f64 / 1e9);
                    prop_assert_eq!(law.rate(), before);
                }
                Event::Taken => law.taken(now),
                Event::GivenBack => law.given_back(now, now),
                Event::Reconfigure(rps) => {
                    limits = of(Some(rps));
                    law.reconfigure(limits, &Arc::new(ThrottleSettings::default()));
                }
                Event::Name(limit) => {
                    named = Some(limit);
                    law.name_limit(now, limit);
                    prop_assert!(law.rate() <= before);
                }
                Event::Loosen(factor) => {
                    named = named.and_then(|limit| Some(limit * factor?));
                    law.loosen_limit(named);
                    prop_assert_eq!(law.rate(), before);
                }
            }
            let most = limits.ceiling().unwrap_or(f64::INFINITY).min(named.unwrap_or(f64::INFINITY));
            let most = most.max(limits.floor_rps());
            prop_assert!(law.rate().is_finite() && (limits.floor_rps()..=most).contains(&law.rate()), "{:?}", law);
            prop_assert!(law.capacity().is_finite() && law.capacity() >= 1.0, "{:?}", law);
            prop_assert!(law.measured().is_none_or(f64::is_finite), "{:?}", law);
            prop_assert!(law.ceiling() >= law.rate(), "{:?}", law);
        }
    }
}
