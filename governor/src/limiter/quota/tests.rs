use std::time::Duration;

use super::*;

const FLOOR: f64 = 0.05;

fn at(seconds: f64) -> Timestamp {
    Timestamp::ZERO + Duration::from_secs_f64(seconds)
}

fn report(left: u64, sent_at: f64, taken: f64) -> Report {
    Report { left, sent_at: at(sent_at), ticket: Ticket(taken) }
}

/// A server's bucket, and calls at an even rate that are answered 0.1 s after they were sent.
struct Told {
    quotas: Quotas,
    now: f64,
    level: f64,
}

impl Told {
    fn new(level: f64) -> Self {
        Told { quotas: Quotas::default(), now: 0.0, level }
    }

    /// For so many seconds, at this rate, of a server that gains `refill` a second and holds `capacity`.
    fn go(&mut self, seconds: f64, rate: f64, refill: f64, capacity: f64) {
        for _ in 0..(seconds * rate) as usize {
            self.now += 1.0 / rate;
            let ticket = self.quotas.take(1.0);
            self.level = (self.level + refill / rate - 1.0).clamp(0.0, capacity);
            let told = Report { left: self.level as u64, sent_at: at(self.now), ticket };
            self.quotas.tell(at(self.now + 0.1), "reads", told, None);
        }
    }

    fn rate(&self, law: f64) -> f64 {
        self.quotas.rate(at(self.now + 0.1), law, FLOOR)
    }

    fn refill(&self) -> Option<f64> {
        self.quotas.view(at(self.now + 0.1)).and_then(|view| view.refill_rps)
    }
}

#[test]
fn a_scope_that_has_plenty_is_not_slowed() {
    let mut told = Told::new(250.0);
    told.go(10.0, 20.0, 25.0, 250.0);
    assert_eq!(told.rate(20.0), 20.0);
    assert_eq!(Told::new(250.0).rate(20.0), 20.0, "nor one that was told nothing");
}

#[test]
fn the_refill_is_what_is_left_more_and_what_was_drawn() {
    let mut told = Told::new(200.0);
    told.go(4.0, 50.0, 25.0, 1000.0);
    let refill = told.refill().unwrap();
    assert!((refill - 25.0).abs() < 4.0, "{refill}");
}

#[test]
fn what_was_throttled_drew_nothing() {
    let mut quotas = Quotas::default();
    quotas.tell(at(0.1), "reads", report(100, 0.0, 1.0), None);
    quotas.tell(at(1.1), "reads", report(50, 1.0, 51.0), None);
    assert_eq!(quotas.view(at(1.1)).unwrap().refill_rps, Some(0.0));
    for _ in 0..20 {
        quotas.throttled(at(1.5));
    }
    quotas.throttled(at(0.5));
    quotas.tell(at(3.1), "reads", report(20, 3.0, 101.0), None);
    assert_eq!(quotas.view(at(3.1)).unwrap().refill_rps, Some(0.0));
}

#[test]
fn the_rate_glides_into_the_refill_and_calls_are_left() {
    let mut told = Told::new(250.0);
    let mut rates = Vec::new();
    for _ in 0..300 {
        let rate = told.rate(60.0);
        told.go(0.2_f64.max(1.0 / rate), rate, 25.0, 250.0);
        rates.push(rate);
        assert!(told.level >= 1.0, "{} left at {rate}", told.level);
    }
    let settled = &rates[200..];
    assert!(settled.iter().all(|rate| (rate - 25.0).abs() < 2.5), "{settled:?}");
    assert!(told.level < 100.0, "{} are not used", told.level);
}

#[test]
fn what_others_draw_is_a_lower_refill() {
    let mut told = Told::new(150.0);
    told.go(6.0, 20.0, 12.5, 1000.0);
    let alone = told.rate(100.0);
    told.go(6.0, 20.0, 2.5, 1000.0);
    assert!(told.refill().unwrap() < 6.0 && told.rate(100.0) < alone);
}

#[test]
fn a_jump_of_what_is_left_is_no_refill_to_rely_on() {
    let mut told = Told::new(500.0);
    told.go(40.0, 10.0, 0.0, 1000.0);
    told.level += 300.0;
    told.go(2.0, 10.0, 0.0, 1000.0);
    let refill = told.refill().unwrap();
    assert!(refill < 30.0, "{refill}");
    told.go(8.0, 10.0, 0.0, 1000.0);
    assert!(told.refill().unwrap() < refill / 5.0);
}

#[test]
fn a_full_bucket_says_no_more_than_that_the_refill_is_larger() {
    let mut told = Told::new(100.0);
    let mut before = 5.0;
    told.go(1.5, before, 1000.0, 100.0);
    for _ in 0..5 {
        let rate = told.rate(1000.0);
        assert!(rate > before + 10.0, "{rate} after {before}");
        told.go(1.5, rate, 1000.0, 100.0);
        before = rate;
    }
}

#[test]
fn an_answer_that_was_overtaken_is_passed_over() {
    let mut quotas = Quotas::default();
    quotas.tell(at(1.0), "reads", report(50, 0.9, 10.0), None);
    quotas.tell(at(1.1), "reads", report(90, 0.2, 2.0), None);
    assert_eq!(quotas.view(at(1.1)).unwrap().left, 50);
    quotas.tell(at(1.2), "reads", report(49, 0.9, 11.0), None);
    assert_eq!(quotas.view(at(1.2)).unwrap().left, 49);
}

#[test]
fn calls_under_way_are_taken_to_have_drawn() {
    let mut quotas = Quotas::default();
    let ticket = quotas.take(1.0);
    quotas.tell(at(0.1), "reads", Report { left: 40, sent_at: at(0.0), ticket }, None);
    let mut seen = vec![(quotas.left(at(0.1)), quotas.rate(at(0.1), 1000.0, FLOOR))];
    for calls in [20.0, 10.0, 30.0] {
        quotas.take(calls);
        seen.push((quotas.left(at(0.1)), quotas.rate(at(0.1), 1000.0, FLOOR)));
    }
    assert_eq!(seen.iter().map(|(left, _)| *left).collect::<Vec<_>>(), [40.0, 20.0, 10.0, 1.0]);
    assert!(seen.windows(2).all(|pair| pair[0].1 > pair[1].1), "{seen:?}");
    quotas.give_back(40.0);
    assert_eq!(quotas.left(at(0.1)), 20.0, "those that were not sent drew nothing");
}

#[test]
fn no_refill_is_measured_from_an_answer_to_a_call_that_was_not_counted() {
    let mut quotas = Quotas::default();
    quotas.tell(at(0.3), "reads", report(100, 0.0, 0.0), None);
    quotas.tell(at(2.1), "reads", report(90, 2.0, 5.0), None);
    assert_eq!(quotas.view(at(2.1)).unwrap().refill_rps, None);
    quotas.tell(at(3.1), "reads", report(80, 3.0, 15.0), None);
    assert_eq!(quotas.view(at(3.1)).unwrap().refill_rps, Some(0.0));
}

#[test]
fn the_least_of_several_quotas_holds_and_is_shown() {
    let mut quotas = Quotas::default();
    quotas.tell(at(0.0), "reads", report(900, 0.0, 0.0), None);
    quotas.tell(at(0.0), "resources", report(13, 0.0, 0.0), None);
    let view = quotas.view(at(0.0)).unwrap();
    assert_eq!((&*view.name, view.left, view.refill_rps), ("resources", 13, None));
    assert_eq!(quotas.rate(at(0.0), 1000.0, FLOOR), view.allows_rps);
}

#[test]
fn of_more_than_four_the_one_told_longest_ago_is_forgotten() {
    let mut quotas = Quotas::default();
    for (second, name) in ["a", "b", "c", "d", "a", "e"].iter().enumerate() {
        quotas.tell(at(second as f64), name, report(100, second as f64, 0.0), None);
    }
    let mut known: Vec<&str> = quotas.told.iter().map(|quota| &*quota.name).collect();
    known.sort_unstable();
    assert_eq!(known, ["a", "c", "d", "e"]);
}

#[test]
fn a_quota_that_is_told_no_more_is_forgotten_after_a_minute() {
    let mut quotas = Quotas::default();
    quotas.tell(at(0.0), "reads", report(0, 0.0, 1.0), None);
    assert!(quotas.rate(at(59.0), 20.0, FLOOR) < 20.0 && !quotas.is_forgotten(at(59.0)));
    assert_eq!((quotas.rate(at(60.0), 20.0, FLOOR), quotas.left(at(60.0))), (20.0, f64::INFINITY));
    assert!(quotas.is_forgotten(at(60.0)) && quotas.view(at(60.0)).is_none());
}

#[test]
fn one_that_says_that_nothing_is_left_does_not_stop_a_scope() {
    let mut quotas = Quotas::default();
    for second in 0..30 {
        quotas.tell(at(f64::from(second)), "reads", report(0, f64::from(second), f64::from(second)), None);
    }
    for (law, least) in [(20.0, 1.0), (1000.0, 1.0), (10.0, 0.5), (2.0, 0.2), (0.1, 0.1)] {
        assert_eq!(quotas.rate(at(30.0), law, FLOOR), least, "{law}");
    }
}

/// For how many seconds a scope is held whose server says once that so much is left, and 250 from then on.
fn held_after(first: u64) -> Option<u32> {
    let mut quotas = Quotas::default();
    (0..600_u32).find(|second| {
        let now = f64::from(*second);
        let ticket = (0..5).map(|_| quotas.take(1.0)).last().unwrap();
        let left = if *second == 0 { first } else { 250 };
        quotas.tell(at(now + 0.1), "reads", Report { left, sent_at: at(now), ticket }, None);
        *second > 0 && quotas.rate(at(now + 0.1), 20.0, FLOOR) > 10.0
    })
}

#[test]
fn a_fall_of_any_size_is_got_over_within_half_a_minute() {
    for first in [500, 12_000, 1_000_000, 60_000_000, u64::from(u32::MAX), u64::MAX] {
        let held = held_after(first);
        assert!(held.is_some_and(|seconds| seconds <= 30), "{first}: {held:?}");
    }
}

#[test]
fn a_count_that_could_not_be_used_up_is_no_limit() {
    let mut quotas = Quotas::default();
    quotas.tell(at(0.0), "reads", report(u64::MAX, 0.0, 1.0), None);
    assert!(quotas.is_forgotten(at(0.0)));
    quotas.tell(at(1.0), "reads", report(2, 1.0, 2.0), None);
    assert!(!quotas.is_forgotten(at(1.0)));
    quotas.tell(at(1.5), "reads", report(u64::MAX, 0.5, 1.5), None);
    assert!(!quotas.is_forgotten(at(1.5)), "it was overtaken");
    quotas.tell(at(2.0), "reads", report(u64::from(u32::MAX), 2.0, 3.0), None);
    assert!(quotas.is_forgotten(at(2.0)), "there is none any more");
}

#[test]
fn a_known_limit_goes_at_its_rate_while_no_less_is_left_than_is_counted_here() {
    let mut quotas = Quotas::default();
    let rate = |quotas: &Quotas| quotas.rate(at(0.2), 25.0, 0.05);
    quotas.tell(at(0.1), "reads", report(6, 0.0, 1.0), Some(2.0));
    assert_eq!(rate(&quotas), 25.0);
    quotas.tell(at(0.2), "reads", report(5, 0.1, 2.0), Some(40.0));
    assert!(rate(&quotas) < 5.0, "others draw on it");
    quotas.tell(at(0.2), "reads", report(2, 0.2, 2.0), Some(0.0));
    assert!(rate(&quotas) < 5.0, "no more is left than is kept back");
}
