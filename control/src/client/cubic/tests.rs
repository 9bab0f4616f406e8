use super::*;

/// A limiter that saw `rps` answers a second for some seconds, the last of them a throttle.
fn throttled_at(rps: u32) -> Limiter {
    let mut limiter = Limiter::default();
    for answer in 0..10 * rps {
        limiter.update(f64::from(answer) / f64::from(rps), false);
    }
    limiter.update(10.0, true);
    limiter
}

#[test]
fn it_does_nothing_before_the_first_throttle() {
    let mut limiter = Limiter::default();
    assert!((0..1000).all(|_| limiter.acquire(0.0).is_none()));
}

#[test]
fn a_throttle_cuts_to_seven_tenths_of_what_was_measured() {
    let limiter = throttled_at(40);
    assert!((limiter.measured - 40.0).abs() < 2.0, "{}", limiter.measured);
    assert!((limiter.fill_rate - 0.7 * limiter.measured).abs() < 1e-9);
}

#[test]
fn it_is_back_at_the_last_maximum_after_the_window() {
    let mut limiter = throttled_at(40);
    let most = limiter.last_max;
    let mut now = 10.0;
    let back = 10.0 + limiter.window();
    while now < back {
        now += 0.025;
        limiter.update(now, false);
    }
    assert!((limiter.fill_rate - most).abs() < 0.5, "{} of {most}", limiter.fill_rate);
}

#[test]
fn it_never_grows_beyond_twice_what_is_measured() {
    let mut limiter = throttled_at(40);
    for answer in 0..200 {
        limiter.update(11.0 + f64::from(answer), false);
        assert!(limiter.fill_rate <= (2.0 * limiter.measured).max(MIN_FILL));
    }
    assert!(limiter.measured < 2.0);
}

#[test]
fn it_never_goes_below_half_a_call_a_second() {
    let mut limiter = throttled_at(40);
    for answer in 0..100 {
        limiter.update(10.0 + f64::from(answer) / 10.0, true);
    }
    assert_eq!(limiter.fill_rate, MIN_FILL);
    assert_eq!(limiter.capacity, MIN_CAPACITY);
}

#[test]
fn who_waits_as_long_as_told_has_a_token() {
    let mut limiter = throttled_at(40);
    let mut now = 10.0;
    for _ in 0..100 {
        if let Some(wait) = limiter.acquire(now) {
            now += wait;
            assert!(limiter.acquire(now).is_none());
        }
    }
    assert!(now > 10.0);
}
