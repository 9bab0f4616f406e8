//! Callers of one and of two buckets, each woken and asking as it would, at virtual time.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Wake, Waker};
use std::time::Duration;

use proptest::prelude::*;

use crate::clock::Timestamp;
use crate::config::{LawName, Limits, ThrottleSettings};
use crate::limiter::{Acquire, Asked, Bucket};
use crate::scope::Scope;
use crate::waiters::{Place, Priority};

fn at(seconds: f64) -> Timestamp {
    Timestamp::ZERO + Duration::from_secs_f64(seconds)
}

fn bucket(max_rps: f64, burst: f64) -> Arc<Bucket> {
    let limits = Limits::new(max_rps, burst, 0.001_f64.min(max_rps)).unwrap();
    let throttle = ThrottleSettings { law: LawName::Aimd, ..ThrottleSettings::default() };
    Arc::new(Bucket::new(Scope::new("x", "1", "", "a"), limits, throttle, Timestamp::ZERO, Duration::ZERO))
}

/// Which callers were woken, in order.
type Woken = Arc<Mutex<VecDeque<usize>>>;

struct Bell(usize, Woken);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.1.lock().unwrap_or_else(PoisonError::into_inner).push_back(self.0);
    }
}

struct Caller<'a> {
    comes_at: Timestamp,
    priority: Priority,
    buckets: &'a [Arc<Bucket>],
}

fn caller(comes_at: f64, buckets: &[Arc<Bucket>]) -> Caller<'_> {
    Caller { comes_at: at(comes_at), priority: Priority::Normal, buckets }
}

/// When each is served, and how often they ask in all, until `end`.
fn run(callers: &[Caller<'_>], end: f64) -> (Vec<Option<f64>>, usize) {
    let woken = Woken::default();
    let wakers: Vec<Waker> =
        (0..callers.len()).map(|index| Waker::from(Arc::new(Bell(index, Arc::clone(&woken))))).collect();
    let mut waiting: Vec<Option<Acquire<'_>>> = callers
        .iter()
        .map(|Caller { comes_at, priority, buckets }| {
            let place = Place::next(*priority).since(*comes_at);
            Some(Acquire::new(buckets, 1.0, place, None))
        })
        .collect();
    let mut timers: BTreeSet<(Timestamp, usize)> =
        callers.iter().enumerate().map(|(index, caller)| (caller.comes_at, index)).collect();
    let mut set_for: Vec<Timestamp> = callers.iter().map(|caller| caller.comes_at).collect();
    let mut served = vec![None; callers.len()];
    let (mut now, mut asked) = (Timestamp::ZERO, 0);
    loop {
        let next = woken.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let index = match next {
            Some(index) => index,
            None => match timers.pop_first().filter(|(time, _)| *time <= at(end)) {
                Some((time, index)) => {
                    now = now.max(time);
                    index
                }
                None => return (served, asked),
            },
        };
        let Some(acquire) = &mut waiting[index] else { continue };
        timers.remove(&(set_for[index], index));
        asked += 1;
        match acquire.ask(now, &wakers[index]) {
            Asked::Taken => {
                waiting[index] = None;
                served[index] = Some(now.since(Timestamp::ZERO).as_secs_f64());
            }
            Asked::Wait(until) => {
                assert!(until > now, "asks again at once");
                set_for[index] = until;
                timers.insert((until, index));
            }
            Asked::TooLate(_) => unreachable!("none has a deadline"),
        }
    }
}

fn pair(one: &Arc<Bucket>, other: &Arc<Bucket>) -> [Arc<Bucket>; 2] {
    [Arc::clone(one), Arc::clone(other)]
}

fn alone(bucket: &Arc<Bucket>) -> [Arc<Bucket>; 1] {
    [Arc::clone(bucket)]
}

/// When the last of these was served, all of whom were.
fn last(served: &[Option<f64>]) -> f64 {
    served.iter().map(|served| served.expect("everyone is served")).fold(0.0, f64::max)
}

#[test]
fn one_that_waits_for_a_wide_bucket_holds_up_nobody_at_the_narrow_one() {
    let (leaf, account) = (bucket(100.0, 1.0), bucket(0.001, 1.0));
    let (both, own) = (pair(&leaf, &account), alone(&leaf));
    let mut callers = vec![caller(0.0, &both), caller(0.0, &both)];
    callers.extend((0..20).map(|n| caller(1.0 + f64::from(n), &own)));
    let (served, _) = run(&callers, 900.0);
    assert_eq!(served[1], None, "the account's next token comes after a thousand seconds");
    for (served, caller) in served[2..].iter().zip(&callers[2..]) {
        assert_eq!(*served, Some(caller.comes_at.since(Timestamp::ZERO).as_secs_f64()));
    }
}

#[test]
fn who_needs_two_busy_buckets_gets_its_turn_among_those_who_need_either() {
    for (narrow, wide) in [(10.0, 10.0), (10.0, 3.0), (3.0, 10.0), (7.0, 11.0)] {
        let (leaf, account) = (bucket(narrow, 1.0), bucket(wide, 1.0));
        let (both, own, others) = (pair(&leaf, &account), alone(&leaf), alone(&account));
        // Each alone asks for all that its bucket gives, always.
        let all = |rate: f64, own| (0..(rate * 120.0) as u32).map(move |n| caller(f64::from(n) / rate, own));
        let mut callers: Vec<Caller<'_>> = (1..=10).map(|n| caller(f64::from(n), &both)).collect();
        callers.extend(all(narrow, &own[..]).chain(all(wide, &others[..])));
        let (served, _) = run(&callers, 300.0);
        for (served, caller) in served[..10].iter().zip(&callers) {
            let waited = served.expect("it is served") - caller.comes_at.since(Timestamp::ZERO).as_secs_f64();
            let turns = 1.0 / narrow + 1.0 / wide;
            // As many wait before it as have been overtaken by those who came before, and one or two go while it changes lines.
            assert!(waited < 12.0 * turns, "{narrow} and {wide}: it waits {waited} s");
        }
        let busy = served.iter().flatten().fold(0.0, |last: f64, served| last.max(*served));
        assert!(busy < 120.0 + 12.0 * (1.0 / narrow + 1.0 / wide), "{narrow} and {wide}: all are served by {busy} s");
    }
}

#[test]
fn one_that_others_always_overtake_elsewhere_holds_nobody_up_here() {
    let (leaf, account) = (bucket(2.0, 1.0), bucket(10.0, 1.0));
    let (both, own, others) = (pair(&leaf, &account), alone(&leaf), alone(&account));
    let urgent = |n| Caller { priority: Priority::High, ..caller(f64::from(n) / 20.0, &others) };
    let mut callers = vec![caller(0.5, &both)];
    callers.extend((0..100).map(|n| caller(1.0 + f64::from(n) / 2.0, &own)));
    callers.extend((0..4_000).map(urgent));
    let (served, _) = run(&callers, 200.0);
    assert_eq!(served[0], None, "the urgent ones ask for twice what there is");
    assert!(last(&served[1..101]) < 60.0, "they take what is theirs");
}

#[test]
fn a_thousand_who_need_two_buckets_do_not_look_again_for_each_that_is_served() {
    for (narrow, wide) in [(50.0, 10.0), (10.0, 50.0), (20.0, 20.0)] {
        let (leaf, account) = (bucket(narrow, 30.0), bucket(wide, 30.0));
        let (both, own, others) = (pair(&leaf, &account), alone(&leaf), alone(&account));
        let mut callers: Vec<Caller<'_>> = (0..1_000).map(|n| caller(f64::from(n) / 1_000.0, &both)).collect();
        callers.extend((0..500).map(|n| caller(f64::from(n) / narrow, &own)));
        callers.extend((0..500).map(|n| caller(f64::from(n) / wide, &others)));
        let (served, asked) = run(&callers, 1_000.0);
        let ideal = 1_500.0 / f64::min(narrow, wide);
        assert!(last(&served) < ideal * 1.05 + 1.0, "{narrow} and {wide}: {} of {ideal} s", last(&served));
        // Where both give alike, now one is behind and now the other, and then who waits there changes lines.
        assert!(asked < 150 * callers.len(), "{narrow} and {wide}: {asked} looks for {} calls", callers.len());
    }
}

#[test]
fn those_whom_others_overtake_for_long_do_not_look_again_and_again() {
    let bucket = bucket(50.0, 1.0);
    let own = alone(&bucket);
    let mut callers: Vec<Caller<'_>> =
        (0..2_000).map(|_| Caller { priority: Priority::Low, ..caller(0.0, &own) }).collect();
    callers.extend((0..3_000).map(|n| caller(f64::from(n) / 50.0, &own)));
    let (served, asked) = run(&callers, 200.0);
    assert!(last(&served) < 101.0, "{}", last(&served));
    assert!(asked < 15 * callers.len(), "{asked} looks for {} calls", callers.len());
}

proptest! {
    /// Whatever comes, each bucket's share is kept, everyone is served, and nobody's tokens are left unused for long.
    #[test]
    fn everyone_is_served_in_about_the_time_that_the_busiest_bucket_takes(
        rates in (1.0_f64..50.0, 1.0_f64..50.0),
        bursts in (1.0_f64..20.0, 1.0_f64..20.0),
        comings in prop::collection::vec((0.0_f64..10.0, 0_u8..3), 1..300),
    ) {
        let (leaf, account) = (bucket(rates.0, bursts.0), bucket(rates.1, bursts.1));
        let (both, own, others) = (pair(&leaf, &account), alone(&leaf), alone(&account));
        let callers: Vec<Caller<'_>> = comings
            .iter()
            .map(|(comes_at, kind)| caller(*comes_at, [&both[..], &own[..], &others[..]][usize::from(*kind)]))
            .collect();
        let (served, _) = run(&callers, 10_000.0);
        for (rate, burst, other) in [(rates.0, bursts.0, 2), (rates.1, bursts.1, 1)] {
            let mut taken: Vec<f64> =
                comings.iter().zip(&served).filter(|((_, kind), _)| *kind != other).filter_map(|(_, at)| *at).collect();
            taken.sort_by(f64::total_cmp);
            for (before, at) in taken.iter().enumerate() {
                prop_assert!(before as f64 <= burst + rate * at + 1e-3);
            }
        }
        let count = |other| comings.iter().filter(|(_, kind)| *kind != other).count() as f64;
        let work = count(2) / rates.0 + count(1) / rates.1;
        prop_assert!(last(&served) < 10.0 + work + 1.0 / rates.0 + 1.0 / rates.1 + 1.0, "{}", last(&served));
    }
}
