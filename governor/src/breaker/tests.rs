use super::*;

const COOLDOWN: Duration = Duration::from_secs(30);
const LEASE: Duration = Duration::from_secs(60);

fn at(seconds: u64) -> Timestamp {
    Timestamp::ZERO + Duration::from_secs(seconds)
}

fn breaker() -> Breaker {
    Breaker::new(NonZeroU32::new(3).unwrap(), COOLDOWN)
}

/// A breaker that opened at second zero.
fn opened() -> Breaker {
    let breaker = breaker();
    for _ in 0..3 {
        let pass = breaker.check(at(0), None, LEASE).unwrap();
        breaker.gave_up(at(0), pass);
    }
    assert_eq!(breaker.state(at(0)), BreakerState::Open);
    breaker
}

#[test]
fn opens_after_consecutive_give_ups_only() {
    let breaker = breaker();
    let pass = breaker.check(at(0), None, LEASE).unwrap();
    assert_eq!(breaker.gave_up(at(0), pass), None);
    assert_eq!(breaker.gave_up(at(0), pass), None);
    assert!(!breaker.answered(pass));
    assert_eq!(breaker.gave_up(at(0), pass), None, "an answer ends the row");
    assert_eq!(breaker.gave_up(at(0), pass), None);
    assert_eq!(breaker.gave_up(at(0), pass), Some(COOLDOWN));
}

#[test]
fn refuses_while_open_and_says_for_how_long() {
    let breaker = opened();
    assert_eq!(
        breaker.check(at(10), None, LEASE),
        Err(Refused { retry_after: Duration::from_secs(20), probing: false })
    );
}

#[test]
fn lets_exactly_one_of_a_hundred_through_when_the_cooldown_ends() {
    let breaker = opened();
    let passed: Vec<Pass> = (0..100).filter_map(|_| breaker.check(at(30), None, LEASE).ok()).collect();
    assert_eq!(passed.len(), 1);
    assert!(passed[0].probe);
    assert_eq!(breaker.state(at(30)), BreakerState::HalfOpen);
}

#[test]
fn closes_when_the_probe_is_answered() {
    let breaker = opened();
    let probe = breaker.check(at(30), None, LEASE).unwrap();
    assert!(breaker.answered(probe));
    assert!(!breaker.check(at(31), None, LEASE).unwrap().probe);
    assert!(breaker.is_neutral());
}

#[test]
fn reopens_for_a_whole_cooldown_when_the_probe_gives_up() {
    let breaker = opened();
    let probe = breaker.check(at(40), None, LEASE).unwrap();
    assert_eq!(breaker.gave_up(at(45), probe), Some(COOLDOWN));
    assert!(breaker.check(at(74), None, LEASE).is_err());
    assert!(breaker.check(at(75), None, LEASE).unwrap().probe);
}

#[test]
fn a_released_probe_frees_its_place_at_once() {
    let breaker = opened();
    let probe = breaker.check(at(30), None, LEASE).unwrap();
    breaker.release(probe);
    let next = breaker.check(at(30), None, LEASE).unwrap();
    assert!(next.probe);
    assert_ne!(next, probe);
    assert!(!breaker.answered(probe), "the first probe's late answer decides nothing");
    assert_eq!(breaker.state(at(30)), BreakerState::HalfOpen);
}

#[test]
fn a_probe_that_never_settles_loses_its_place_after_its_lease() {
    let breaker = opened();
    let lost = breaker.check(at(30), None, LEASE).unwrap();
    assert!(breaker.check(at(89), None, LEASE).is_err());
    let next = breaker.check(at(90), None, LEASE).unwrap();
    assert!(next.probe);
    assert_eq!(breaker.gave_up(at(91), lost), None);
    assert!(breaker.answered(next));
}

#[test]
fn a_waiting_probe_keeps_its_place() {
    let breaker = opened();
    let probe = breaker.check(at(30), None, LEASE).unwrap();
    breaker.extend(probe, at(300));
    assert!(breaker.check(at(200), None, LEASE).is_err());
    assert_eq!(breaker.check(at(250), Some(probe), LEASE), Ok(probe));
    assert!(breaker.check(at(309), None, LEASE).is_err(), "its lease runs anew from its last check");
}

#[test]
fn an_answer_to_a_request_from_before_the_opening_does_not_close() {
    let breaker = breaker();
    let early = breaker.check(at(0), None, LEASE).unwrap();
    for _ in 0..3 {
        breaker.gave_up(at(1), early);
    }
    assert!(!breaker.answered(early));
    assert_eq!(breaker.state(at(2)), BreakerState::Open);
}

#[test]
fn a_give_up_from_before_the_opening_does_not_prolong_it() {
    let breaker = opened();
    let stale = Pass { generation: 0, probe: false };
    assert_eq!(breaker.gave_up(at(29), stale), None);
    assert!(breaker.check(at(30), None, LEASE).is_ok());
}
