mod several;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Wake;

use proptest::prelude::*;

use super::*;
use crate::config::LawName;
use crate::waiters::Priority;

const SERVED: Answer = Answer { sent_at: Timestamp::ZERO, cost: 1.0, kind: AnswerKind::Served };

fn law() -> ThrottleSettings {
    settings(LawName::Aimd)
}

fn settings(law: LawName) -> ThrottleSettings {
    ThrottleSettings { law, ..ThrottleSettings::default() }
}

/// Of a bucket that takes what a caller says that it costs.
fn limits(max_rps: f64, burst: f64) -> Limits {
    Limits::new(max_rps, burst, 0.05_f64.min(max_rps)).unwrap().counting(Counts::Units)
}

fn at(seconds: f64) -> Timestamp {
    Timestamp::ZERO + Duration::from_secs_f64(seconds)
}

fn bucket_of(limits: Limits, throttle: ThrottleSettings) -> Arc<Bucket> {
    let scope = Scope::new("x", "1", "", "a");
    Arc::new(Bucket::new(scope, limits, throttle, Timestamp::ZERO, Duration::ZERO))
}

fn bucket(max_rps: f64, burst: f64) -> Arc<Bucket> {
    bucket_of(limits(max_rps, burst), law())
}

fn unlimited() -> Arc<Bucket> {
    bucket_of(Limits::default(), settings(LawName::DeliveryRate))
}

#[derive(Default)]
struct Wakes(AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

struct Caller {
    buckets: Vec<Arc<Bucket>>,
    cost: f64,
    place: Place,
    deadline: Option<Timestamp>,
    wakes: Arc<Wakes>,
}

impl Caller {
    fn with(buckets: &[Arc<Bucket>], cost: f64, priority: Priority, deadline: Option<Timestamp>) -> Self {
        Caller { buckets: buckets.to_vec(), cost, place: Place::next(priority), deadline, wakes: Arc::default() }
    }

    fn acquire(&self) -> Acquire<'_> {
        Acquire::new(&self.buckets, self.cost, self.place, self.deadline)
    }

    fn new(bucket: &Arc<Bucket>) -> Self {
        Caller::with(std::slice::from_ref(bucket), 1.0, Priority::Normal, None)
    }

    fn ask(&mut self, now: Timestamp) -> Asked {
        self.acquire().ask(now, &Waker::from(Arc::clone(&self.wakes)))
    }

    fn takes(&mut self, now: Timestamp) -> bool {
        self.ask(now) == Asked::Taken
    }

    fn wakes(&self) -> usize {
        self.wakes.0.load(Ordering::SeqCst)
    }
}

/// Empties the bucket.
fn drain(bucket: &Arc<Bucket>, now: Timestamp) {
    let burst = bucket.view(now).tokens;
    let mut all = Caller::with(std::slice::from_ref(bucket), burst, Priority::Normal, None);
    assert!(all.takes(now));
}

// ===== the law =====

#[test]
fn a_throttle_halves_the_rate_at_most_once_a_second() {
    let bucket = bucket(20.0, 20.0);
    assert_eq!(bucket.throttled(at(10.0), at(9.9), None).lowered, Some((20.0, 10.0)));
    assert_eq!(bucket.throttled(at(10.5), at(10.4), None).lowered, None, "the same congestion event");
    assert_eq!(bucket.throttled(at(11.0), at(10.9), None).lowered, Some((10.0, 5.0)));
}

#[test]
fn throttles_of_requests_sent_before_a_cut_do_not_cut_again() {
    let bucket = bucket(20.0, 20.0);
    bucket.throttled(at(10.0), at(4.0), None);
    assert_eq!(bucket.throttled(at(14.0), at(9.0), None).lowered, None);
    assert_eq!(bucket.throttled(at(14.0), at(13.0), None).lowered, Some((10.0, 5.0)));
}

#[test]
fn the_rate_never_falls_under_the_floor() {
    let bucket = bucket(20.0, 20.0);
    for second in 0..100 {
        bucket.throttled(at(f64::from(second) * 2.0), at(f64::from(second) * 2.0), None);
    }
    assert_eq!(bucket.view(at(300.0)).rate_rps, 0.05);
}

#[test]
fn successes_raise_the_rate_by_a_twentieth_of_the_ceiling_every_five_quiet_seconds() {
    let bucket = bucket(20.0, 20.0);
    bucket.throttled(at(0.0), at(0.0), None);
    assert_eq!(bucket.answered(at(4.9), SERVED), None);
    assert_eq!(bucket.answered(at(5.0), SERVED), Some((10.0, 11.0)));
    assert_eq!(bucket.answered(at(5.1), SERVED), None, "one step, however many successes");
    assert_eq!(bucket.answered(at(9.9), SERVED), None);
    assert_eq!(bucket.answered(at(10.0), SERVED), Some((11.0, 12.0)));
    for step in 3..=10 {
        bucket.answered(at(5.0 * f64::from(step)), SERVED);
    }
    assert_eq!(bucket.view(at(60.0)).rate_rps, 20.0);
    assert_eq!(bucket.answered(at(99.0), SERVED), None, "not above the ceiling");
}

#[test]
fn a_throttle_pauses_for_the_retry_after_up_to_the_cap() {
    let bucket = bucket(20.0, 20.0);
    assert_eq!(bucket.throttled(at(0.0), at(0.0), Some(Duration::from_secs(7))).paused, Some(Duration::from_secs(7)));
    let mut caller = Caller::new(&bucket);
    assert!(matches!(caller.ask(at(1.0)), Asked::Wait(_)));
    assert!(!caller.takes(at(7.0)), "a pause brings no tokens");
    assert!(caller.takes(at(7.2)));
    let day = Duration::from_secs(86_400);
    assert_eq!(bucket.throttled(at(20.0), at(20.0), Some(day)).paused, Some(Duration::from_secs(300)));
    assert_eq!(bucket.throttled(at(21.0), at(21.0), Some(Duration::from_secs(1))).paused, None, "never shortened");
}

#[test]
fn tokens_at_hand_are_void_once_the_server_throttles() {
    let bucket = bucket(20.0, 20.0);
    bucket.throttled(at(1.0), at(0.9), None);
    let mut caller = Caller::new(&bucket);
    assert!(!caller.takes(at(1.0)));
    assert!(caller.takes(at(1.1)));
}

/// smithy-lang/smithy-rs#4749: a retry cost more than the bucket could hold.
#[test]
fn a_retry_at_the_floor_goes_on_and_pays_exactly_one_token() {
    let bucket = bucket(0.05, 1.0);
    assert!(Caller::new(&bucket).takes(at(0.0)));
    bucket.throttled(at(0.0), at(0.0), None);
    let mut retry = Caller::new(&bucket);
    assert!(!retry.takes(at(19.9)));
    assert!(retry.takes(at(20.1)));
    assert!(bucket.view(at(20.1)).tokens < 0.01);
}

/// tikv/pd#10745: a stale time rewound the bucket, which then minted the same tokens twice.
#[test]
fn time_that_goes_back_mints_nothing() {
    let bucket = bucket(10.0, 10.0);
    drain(&bucket, at(10.0));
    assert!(!Caller::new(&bucket).takes(at(5.0)));
    assert!(!Caller::new(&bucket).takes(at(10.0)));
}

#[test]
fn a_cost_above_the_capacity_is_taken_when_full_and_paid_off() {
    let bucket = bucket(10.0, 10.0);
    let mut large = Caller::with(std::slice::from_ref(&bucket), 25.0, Priority::Normal, None);
    assert!(large.takes(at(0.0)));
    let mut next = Caller::new(&bucket);
    assert!(!next.takes(at(1.5)));
    assert!(next.takes(at(1.7)));
}

// ===== the line =====

#[test]
fn those_in_line_are_served_in_order_at_the_rate() {
    let bucket = bucket(10.0, 1.0);
    drain(&bucket, at(0.0));
    let mut line: Vec<Caller> = (0..3).map(|_| Caller::new(&bucket)).collect();
    let waits: Vec<Asked> = line.iter_mut().map(|caller| caller.ask(at(0.0))).collect();
    for (index, wait) in waits.iter().enumerate() {
        let Asked::Wait(until) = wait else { panic!("{wait:?}") };
        let expected = at(0.1 * (index + 1) as f64);
        assert!(until.since(expected) < Duration::from_millis(1) && *until >= expected, "{until:?}");
    }
    assert!(!line[1].takes(at(0.15)), "there is a token, and another's turn");
    assert!(line[0].takes(at(0.15)));
    assert!(line[1].wakes() > 0);
    assert!(!line[1].takes(at(0.15)));
    assert!(line[1].takes(at(0.25)));
}

#[test]
fn waiters_who_come_a_moment_late_lose_nothing_even_at_a_burst_of_one() {
    let bucket = bucket(50.0, 1.0);
    drain(&bucket, at(0.0));
    let mut line: Vec<Caller> = (0..500).map(|_| Caller::new(&bucket)).collect();
    line.iter_mut().for_each(|caller| assert!(!caller.takes(at(0.0))));
    let mut now = at(0.0);
    for caller in &mut line {
        while let Asked::Wait(until) = caller.ask(now) {
            now = until + Duration::from_millis(1);
        }
    }
    assert!(now < at(10.01), "500 tokens at 50 a second took until {now:?}");
    assert!(bucket.view(at(60.0)).tokens <= 1.0, "a rested bucket is full at its burst");
}

#[test]
fn a_higher_priority_goes_before_those_already_in_line() {
    let bucket = bucket(1.0, 1.0);
    drain(&bucket, at(0.0));
    let mut normal = Caller::new(&bucket);
    let mut high = Caller::with(std::slice::from_ref(&bucket), 1.0, Priority::High, None);
    assert!(!normal.takes(at(0.0)) && !high.takes(at(0.0)));
    assert!(!normal.takes(at(1.1)));
    assert!(high.takes(at(1.1)));
}

#[test]
fn a_cancelled_waiters_place_goes_to_the_next() {
    let bucket = bucket(1.0, 1.0);
    drain(&bucket, at(0.0));
    let (mut first, mut second) = (Caller::new(&bucket), Caller::new(&bucket));
    assert!(!first.takes(at(0.0)) && !second.takes(at(0.0)));
    first.acquire().leave(at(0.5));
    assert_eq!(second.wakes(), 1);
    assert!(matches!(second.ask(at(0.5)), Asked::Wait(until) if until < at(1.01)));
    assert!(second.takes(at(1.01)));
}

#[test]
fn a_first_in_line_that_is_never_polled_does_not_hold_the_rest() {
    let bucket = bucket(1.0, 1.0);
    drain(&bucket, at(0.0));
    let (mut stuck, mut second) = (Caller::new(&bucket), Caller::new(&bucket));
    assert!(!stuck.takes(at(0.0)) && !second.takes(at(0.0)));
    assert!(second.takes(at(2.0)));
    assert!(!second.takes(at(2.0)));
    assert!(!second.takes(at(2.0)), "and is not forgotten");
    assert!(!stuck.takes(at(2.0)));
    assert!(!second.takes(at(3.01)), "the one that came back has its old place");
    assert!(stuck.takes(at(3.01)));
}

#[test]
fn a_lower_rate_holds_those_already_in_line() {
    let bucket = bucket(10.0, 1.0);
    drain(&bucket, at(0.0));
    let mut caller = Caller::new(&bucket);
    assert!(!caller.takes(at(0.0)));
    bucket.throttled(at(0.05), at(0.04), None);
    assert!(caller.wakes() > 0);
    assert!(!caller.takes(at(0.1)));
    assert!(caller.takes(at(0.26)));
}

#[test]
fn a_higher_rate_lets_those_in_line_go_early() {
    let bucket = bucket(1.0, 1.0);
    drain(&bucket, at(0.0));
    let mut caller = Caller::new(&bucket);
    assert!(!caller.takes(at(0.0)));
    bucket.reconfigure(limits(100.0, 1.0), law(), at(0.0), Duration::ZERO).into_iter().for_each(Waker::wake);
    assert!(caller.wakes() > 0);
    assert!(caller.takes(at(0.02)));
}

#[test]
fn one_that_cannot_be_served_before_its_deadline_is_told_at_once_and_takes_nothing() {
    let bucket = bucket(1.0, 1.0);
    drain(&bucket, at(0.0));
    let mut waiting = Caller::new(&bucket);
    assert!(!waiting.takes(at(0.0)));
    let mut hurried = Caller::with(std::slice::from_ref(&bucket), 1.0, Priority::Normal, Some(at(1.5)));
    assert!(matches!(hurried.ask(at(0.0)), Asked::TooLate(until) if until >= at(2.0) && until < at(2.01)));
    assert_eq!(bucket.view(at(0.0)).waiting, 1);
    assert!(waiting.takes(at(1.01)));
}

#[test]
fn a_pause_tells_those_in_line_whose_deadline_it_passes() {
    let bucket = bucket(1.0, 1.0);
    drain(&bucket, at(0.0));
    let mut first = Caller::new(&bucket);
    let mut hurried = Caller::with(std::slice::from_ref(&bucket), 1.0, Priority::Normal, Some(at(5.0)));
    assert!(!first.takes(at(0.0)) && !hurried.takes(at(0.0)));
    bucket.throttled(at(0.1), at(0.0), Some(Duration::from_secs(60)));
    assert!(hurried.wakes() > 0);
    assert!(matches!(hurried.ask(at(0.1)), Asked::TooLate(_)));
}

#[test]
fn several_buckets_are_taken_from_together_or_not_at_all() {
    let (leaf, account) = (bucket(100.0, 10.0), bucket(1.0, 1.0));
    drain(&account, at(0.0));
    let both = [Arc::clone(&leaf), Arc::clone(&account)];
    let mut caller = Caller::with(&both, 1.0, Priority::Normal, None);
    assert!(!caller.takes(at(0.0)));
    assert_eq!(leaf.view(at(0.0)).tokens, 10.0, "no token is spent while another is waited for");
    assert!(caller.takes(at(1.01)));
    assert_eq!((leaf.view(at(1.01)).waiting, account.view(at(1.01)).waiting), (0, 0));
}

#[test]
fn one_that_waits_for_its_narrow_bucket_does_not_hold_up_others_at_the_wide_one() {
    let (slow, quick, account) = (bucket(0.1, 1.0), bucket(100.0, 10.0), bucket(100.0, 10.0));
    drain(&slow, at(0.0));
    let mut held = Caller::with(&[Arc::clone(&slow), Arc::clone(&account)], 1.0, Priority::Normal, None);
    assert!(!held.takes(at(0.0)));
    let mut other = Caller::with(&[Arc::clone(&quick), Arc::clone(&account)], 1.0, Priority::Normal, None);
    assert!(other.takes(at(0.0)));
}

#[test]
fn one_that_any_of_its_buckets_serves_too_late_is_told_at_once() {
    for slow in 0..2 {
        let both = [0, 1].map(|index| bucket(if index == slow { 0.01 } else { 1.0 }, 1.0));
        both.iter().for_each(|bucket| drain(bucket, at(0.0)));
        let mut hurried = Caller::with(&both, 1.0, Priority::Normal, Some(at(10.0)));
        assert!(matches!(hurried.ask(at(0.0)), Asked::TooLate(ready_at) if ready_at > at(99.0)));
        assert!(both.iter().all(|bucket| bucket.view(at(0.0)).waiting == 0));
    }
}

#[test]
fn each_bucket_is_paid_in_what_it_counts() {
    let (calls, instances) = (bucket_of(limits(10.0, 10.0).counting(Counts::Calls), law()), bucket(2.0, 100.0));
    let both = [Arc::clone(&calls), Arc::clone(&instances)];
    let tokens = |now| (calls.view(now).tokens, instances.view(now).tokens);
    let mut caller = Caller::with(&both, 40.0, Priority::Normal, None);
    assert!(caller.takes(at(0.0)));
    assert_eq!(tokens(at(0.0)), (9.0, 60.0));
    let tickets = take_at_once(&both, 60.0, at(0.0)).unwrap();
    assert_eq!(tokens(at(0.0)), (8.0, 0.0));
    give_back(&both, 60.0, &tickets, at(0.0), at(0.0));
    assert_eq!(tokens(at(0.0)), (9.0, 60.0));
    assert!(take_at_once(&both, 61.0, at(0.0)).is_none(), "nothing is taken from one while another cannot give");
    assert_eq!(tokens(at(0.0)), (9.0, 60.0));
}

#[test]
fn ten_thousand_in_line_of_whom_half_leave_do_not_delay_the_rest() {
    let bucket = bucket(50.0, 1.0);
    drain(&bucket, at(0.0));
    let mut line: Vec<Caller> = (0..10_000).map(|_| Caller::new(&bucket)).collect();
    line.iter_mut().for_each(|caller| assert!(!caller.takes(at(0.0))));
    for caller in line.iter().step_by(2) {
        caller.acquire().leave(at(0.0));
    }
    let mut rest: Vec<&mut Caller> = line.iter_mut().skip(1).step_by(2).collect();
    assert_eq!(bucket.view(at(0.0)).waiting, rest.len());
    for (index, caller) in rest.iter_mut().enumerate() {
        let due = (index + 1) as f64 / 50.0;
        assert!(caller.takes(at(due + 0.001)), "{index} is late");
    }
}

// ===== a closed server =====

/// At 2.0 s, with three in line.
fn closed_with_three_in_line() -> (Arc<Bucket>, Vec<Caller>) {
    let bucket = unlimited();
    drain(&bucket, at(0.0));
    for tenth in 10..13 {
        bucket.throttled(at(f64::from(tenth) / 10.0), at(f64::from(tenth) / 10.0), None);
    }
    let line: Vec<Caller> = (0..3).map(|_| Caller::new(&bucket)).collect();
    (bucket, line)
}

#[test]
fn of_those_who_wait_for_a_closed_server_one_goes_at_a_time() {
    let (bucket, mut line) = closed_with_three_in_line();
    assert_eq!(bucket.view(at(1.5)).phase, Phase::Closed);
    let mut sent = Vec::new();
    for tenth in 15..400 {
        let now = f64::from(tenth) / 10.0;
        line.retain_mut(|caller| {
            let taken = caller.takes(at(now));
            if taken {
                sent.push(now);
                bucket.throttled(at(now), at(now), None);
            }
            !taken
        });
    }
    assert_eq!(sent, [2.2, 4.2, 34.2]);
}

#[test]
fn a_call_from_before_that_was_not_sent_makes_no_probe_of_a_closed_server() {
    let (bucket, mut line) = closed_with_three_in_line();
    let give_back = |taken_at, now| give_back(&[Arc::clone(&bucket)], 1.0, &Tickets::default(), taken_at, now);
    assert!(line[0].takes(at(2.2)));
    bucket.throttled(at(2.3), at(2.2), None);
    give_back(at(0.0), at(2.4));
    assert!(!line[1].takes(at(2.5)));
    assert!(line[1].takes(at(4.3)));
    give_back(at(4.3), at(4.4));
    assert!(line[2].takes(at(4.5)), "and one that was to be the probe leaves its place to the next");
}

#[test]
fn a_probe_that_is_served_wakes_those_who_wait() {
    let (bucket, mut line) = closed_with_three_in_line();
    assert!(line[0].takes(at(2.2)));
    assert!(!line[1].takes(at(2.2)) && !line[2].takes(at(2.2)));
    let woken = line[1].wakes();
    bucket.answered(at(2.3), Answer { sent_at: at(2.2), ..SERVED });
    assert!(line[1].wakes() > woken);
    assert!(!line[1].takes(at(2.3)), "at its rate, not in a burst");
    assert!(line[1].takes(at(2.45)));
}

#[test]
fn a_closed_server_makes_late_those_whose_deadline_comes_before_the_probe() {
    let (bucket, _line) = closed_with_three_in_line();
    let mut hurried = Caller::with(std::slice::from_ref(&bucket), 1.0, Priority::Normal, Some(at(2.0)));
    assert_eq!(hurried.ask(at(1.5)), Asked::TooLate(at(2.2)));
    let mut patient = Caller::with(std::slice::from_ref(&bucket), 1.0, Priority::Normal, Some(at(3.0)));
    assert!(matches!(patient.ask(at(1.5)), Asked::Wait(_)));
}

#[test]
fn a_change_of_law_keeps_the_rate_the_pause_and_those_in_line() {
    let bucket = bucket(20.0, 20.0);
    bucket.throttled(at(1.0), at(1.0), Some(Duration::from_secs(9)));
    let mut caller = Caller::new(&bucket);
    assert!(!caller.takes(at(2.0)));
    let limits = limits(20.0, 20.0);
    bucket
        .reconfigure(limits, settings(LawName::DeliveryRate), at(2.0), Duration::ZERO)
        .into_iter()
        .for_each(Waker::wake);
    let view = bucket.view(at(2.0));
    assert_eq!((view.law, view.rate_rps, view.waiting), (LawName::DeliveryRate, 10.0, 1));
    assert_eq!(view.paused_for, Some(Duration::from_secs(8)));
    bucket.reconfigure(limits, law(), at(2.0), Duration::ZERO).into_iter().for_each(Waker::wake);
    assert_eq!(bucket.view(at(2.0)).rate_rps, 10.0);
    assert_eq!(bucket.answered(at(7.0), SERVED), Some((10.0, 11.0)), "and climbs from there");
}

fn per_minute(calls: u64) -> NamedLimit {
    NamedLimit::new(calls, Duration::from_secs(60)).unwrap()
}

#[test]
fn a_law_that_halves_does_not_halve_a_limit_that_comes_with_the_throttle_and_climbs_no_higher() {
    let bucket = bucket(20.0, 20.0);
    assert_eq!(bucket.limit_named(at(10.0), per_minute(120)), Some((20.0, 2.0)));
    assert_eq!(bucket.throttled(at(10.0), at(9.9), None).lowered, None, "the same congestion event");
    assert_eq!(bucket.throttled(at(20.0), at(19.9), None).lowered, Some((2.0, 1.0)));
    for seconds in 21..400 {
        bucket.answered(at(f64::from(seconds)), SERVED);
    }
    assert_eq!((bucket.view(at(400.0)).rate_rps, bucket.heeds_answers()), (2.0, true));
    assert!(bucket.take_at_once(1.0, at(1_300.0)).is_some());
    assert_eq!(bucket.answered(at(1_300.1), SERVED), Some((2.0, 3.0)), "it is forgotten by then");
}

#[test]
fn a_limit_makes_those_in_line_plan_anew_and_what_lies_ready_is_void() {
    let bucket = bucket(20.0, 20.0);
    drain(&bucket, at(0.0));
    let mut patient = Caller::new(&bucket);
    let mut hurried = Caller::with(std::slice::from_ref(&bucket), 1.0, Priority::Normal, Some(at(5.0)));
    assert!(matches!(patient.ask(at(0.0)), Asked::Wait(_)) && matches!(hurried.ask(at(0.0)), Asked::Wait(_)));
    bucket.limit_named(at(0.01), per_minute(20));
    assert_eq!((patient.wakes(), hurried.wakes()), (1, 1));
    assert!(matches!(hurried.ask(at(0.01)), Asked::TooLate(_)), "a call every three seconds");
    let ready = self::bucket(20.0, 20.0);
    ready.limit_named(at(0.0), per_minute(20));
    assert_eq!(ready.view(at(0.0)).tokens, 0.0);
}

#[test]
fn a_limit_survives_throttles_new_settings_and_another_law_and_is_forgotten_by_a_reset() {
    let bucket = unlimited();
    bucket.limit_named(at(1.0), per_minute(60));
    bucket.throttled(at(1.0), at(0.9), None);
    for (limits, law) in [
        (limits(50.0, 50.0), LawName::DeliveryRate),
        (limits(50.0, 50.0), LawName::Aimd),
        (Limits::default(), LawName::Aimd),
        (Limits::default(), LawName::DeliveryRate),
    ] {
        drop(bucket.reconfigure(limits, settings(law), at(2.0), Duration::ZERO));
        let view = bucket.view(at(2.0));
        assert!(view.rate_rps <= 1.0 && view.limit_rps == Some(1.0), "{view:?}");
        assert!(!bucket.is_neutral(at(2.0)));
    }
    bucket.reset(Limits::default(), at(3.0), Duration::ZERO);
    assert_eq!((bucket.view(at(3.0)).rate_rps, bucket.view(at(3.0)).limit_rps), (20.0, None));
    assert!(bucket.is_neutral(at(3.0)));
}

/// What the server says is left, in the answer to the attempt that took this ticket.
fn told(left: u64, sent_at: Timestamp) -> Report {
    Report { left, sent_at, ticket: Ticket::default() }
}

#[test]
fn those_in_line_plan_anew_when_the_server_says_that_little_is_left_and_when_it_says_that_much_is() {
    let bucket = bucket(10.0, 1.0);
    let mut first = Caller::new(&bucket);
    assert!(first.takes(at(0.0)));
    let mut patient = Caller::new(&bucket);
    let mut hurried = Caller::with(std::slice::from_ref(&bucket), 1.0, Priority::Normal, Some(at(1.0)));
    assert!(matches!(patient.ask(at(0.0)), Asked::Wait(_)) && matches!(hurried.ask(at(0.0)), Asked::Wait(_)));
    bucket.quota_left(at(0.05), "reads", told(0, at(0.0)), false);
    assert_eq!((patient.wakes(), hurried.wakes()), (1, 0));
    assert!(matches!(patient.ask(at(0.05)), Asked::Wait(until) if until > at(0.5)), "half a call a second");
    assert!(matches!(hurried.ask(at(0.05)), Asked::Wait(_)), "which may be over in a moment");
    bucket.quota_left(at(0.2), "reads", told(500, at(0.1)), false);
    assert!(patient.wakes() >= 2);
    assert!(matches!(patient.ask(at(0.2)), Asked::Wait(until) if until < at(0.31)), "ten a second again");
}

#[test]
fn a_server_with_nothing_left_makes_callers_late_once_its_refill_is_known() {
    let bucket = bucket(10.0, 1.0);
    assert!(bucket.take_at_once(1.0, at(0.0)).is_some());
    bucket.quota_left(at(0.05), "reads", told(0, at(0.0)), false);
    let tell = |seconds: f64| {
        let ticket = bucket.take_at_once(1.0, at(seconds)).unwrap().of_bucket(0);
        Report { left: 0, sent_at: at(seconds), ticket }
    };
    bucket.quota_left(at(2.05), "reads", tell(2.0), false);
    let second = tell(4.5);
    let mut line: Vec<Caller> = (0..5).map(|_| Caller::new(&bucket)).collect();
    assert!(line.iter_mut().all(|caller| matches!(caller.ask(at(4.5)), Asked::Wait(_))));
    let mut hurried = Caller::with(std::slice::from_ref(&bucket), 1.0, Priority::Normal, Some(at(9.0)));
    assert!(matches!(hurried.ask(at(4.5)), Asked::Wait(_)));
    bucket.quota_left(at(4.55), "reads", second, false);
    assert_eq!(hurried.wakes(), 1);
    assert!(matches!(hurried.ask(at(4.55)), Asked::TooLate(_)));
}

proptest! {
    /// Whatever is asked, cancelled and throttled in whatever order, no more is granted than burst and rate allow.
    #[test]
    fn never_grants_more_than_burst_and_rate(
        law in prop_oneof![Just(LawName::Aimd), Just(LawName::DeliveryRate)],
        rate in 0.1_f64..100.0,
        burst in 1.0_f64..50.0,
        steps in prop::collection::vec((0_u64..2_000, 0_u8..10), 1..400),
    ) {
        let bucket = bucket_of(limits(rate, burst), settings(law));
        let mut now = Timestamp::ZERO;
        let mut line: Vec<Caller> = Vec::new();
        let mut granted = 0.0;
        for (millis, action) in steps {
            now = now + Duration::from_millis(millis);
            match action {
                0 => drop(bucket.throttled(now, now, None)),
                1 => drop(bucket.answered(now, SERVED)),
                2 => line.pop().into_iter().for_each(|caller| caller.acquire().leave(now)),
                _ => line.push(Caller::new(&bucket)),
            }
            line.retain_mut(|caller| {
                let taken = caller.takes(now);
                granted += f64::from(u8::from(taken));
                !taken
            });
            let elapsed = now.since(Timestamp::ZERO).as_secs_f64();
            prop_assert!(granted <= burst + rate * elapsed + 1e-6);
            prop_assert_eq!(bucket.view(now).waiting, line.len());
        }
    }

    /// One that asks when it was told to is served then, if nothing changed meanwhile.
    #[test]
    fn the_first_in_line_is_served_when_it_was_told(rate in 0.05_f64..1_000.0, debt in 0.0_f64..10.0) {
        let bucket = bucket_of(limits(rate, 10.0), law());
        drain(&bucket, at(0.0));
        Caller::with(std::slice::from_ref(&bucket), debt, Priority::Normal, None).takes(at(debt / rate));
        let mut caller = Caller::new(&bucket);
        let mut now = at(debt / rate);
        let mut asked = 0;
        while let Asked::Wait(until) = caller.ask(now) {
            prop_assert!(until > now);
            now = until;
            asked += 1;
            prop_assert!(asked < 40, "asks {} times", asked);
        }
    }
}
