use super::*;

const MINUTE: Duration = Duration::from_secs(60);

fn at(seconds: f64) -> Timestamp {
    Timestamp::ZERO + Duration::from_secs_f64(seconds)
}

/// One of 100 calls a minute, a quarter past a full one.
fn window() -> Window {
    Window::new(at(0.0), MINUTE, Duration::from_secs(15), 100.0)
}

/// When so many tokens will have come, where none lies ready.
fn missing(window: &Window, tokens: f64) -> Timestamp {
    window.ready_at(tokens, 0.0, at(0.0))
}

/// Takes the windows to the one that is under way then.
fn pass(window: &mut Window, now: f64) {
    window.turn_over(at(now), 100.0);
}

#[test]
fn windows_begin_at_the_clocks_full_minutes_a_little_late() {
    let mut window = window();
    assert_eq!(window.turn_over(at(45.2), 100.0), 0);
    assert_eq!(missing(&window, 1.0), at(45.25));
    assert_eq!(window.turn_over(at(45.25), 100.0), 1);
    assert_eq!(missing(&window, 100.0), at(105.25));
    assert_eq!(missing(&window, 101.0), at(165.25), "a window brings no more than it holds");
    assert_eq!(window.turn_over(at(1_000.0), 100.0), 15, "those that passed unseen began, too");
    assert_eq!(missing(&window, 1.0), at(1_005.25));
}

#[test]
fn what_is_left_over_is_lost_and_what_was_taken_beyond_is_paid_off_by_each_that_begins_seen_or_not() {
    let mut window = window();
    assert_eq!(window.tokens_after(1, 30.0), 100.0);
    assert_eq!(window.tokens_after(1, -250.0), -150.0);
    let begun = window.turn_over(at(300.0), 100.0);
    assert_eq!((begun, window.tokens_after(begun, -450.0), window.tokens_after(begun, -30.0)), (5, 50.0, 100.0));
}

#[test]
fn what_comes_during_a_pause_does_not_add_up() {
    let window = window();
    assert_eq!(window.ready_at(100.0, 0.0, at(200.0)), at(200.0));
    assert_eq!(window.ready_at(101.0, 0.0, at(200.0)), at(225.25));
    assert_eq!(window.ready_at(150.0, -320.0, at(200.0)), at(285.25));
}

#[test]
fn nothing_comes_before_the_next_one_after_a_throttle_of_this_one() {
    let mut window = window();
    assert_eq!(window.throttled(at(10.0)), Some(at(45.25)));
    pass(&mut window, 50.0);
    assert_eq!(window.throttled(at(44.0)), None, "it was sent in the last one");
}

#[test]
fn the_first_one_teaches_nothing_as_others_may_have_used_it_up_before() {
    let mut window = window();
    window.throttled(at(1.0));
    pass(&mut window, 50.0);
    assert_eq!(window.size(), 100.0);
}

#[test]
fn a_throttled_window_teaches_how_many_it_served_and_quiet_ones_bring_the_rest_back() {
    let mut window = window();
    pass(&mut window, 50.0);
    window.served(at(50.0), 80.0);
    window.served(at(44.0), 7.0);
    window.throttled(at(60.0));
    pass(&mut window, 106.0);
    assert_eq!(window.size(), 80.0);
    pass(&mut window, 166.0);
    assert_eq!(window.size(), 85.0);
    for minute in 0..10 {
        pass(&mut window, 226.0 + 60.0 * f64::from(minute));
    }
    assert_eq!(window.size(), 100.0);
    assert!(window.is_neutral(100.0));
}

#[test]
fn one_that_others_used_up_halves_the_next_at_most() {
    let mut window = window();
    pass(&mut window, 50.0);
    window.throttled(at(60.0));
    pass(&mut window, 106.0);
    assert_eq!(window.size(), 50.0);
}

#[test]
fn a_clock_beyond_all_measure_and_a_size_of_nothing_harm_nobody() {
    let mut window = Window::new(at(0.0), Duration::from_nanos(1), Duration::MAX, 1.0);
    assert!(window.turn_over(Timestamp::MAX, 0.0) > 0);
    assert_eq!(window.size(), 1.0);
    assert_eq!(missing(&window, f64::MAX), Timestamp::MAX);
}
