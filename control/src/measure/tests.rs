use super::*;
use crate::load::{Load, Phase};
use crate::quota::Quota;
use crate::scenario::Measures;
use crate::scenarios::SCENARIOS;
use crate::server::{Answer, Shape, Tells};
use crate::trace::{Arrival, Believed};

const THROTTLED: Answer = Answer::Throttled { shape: Shape::Aws503, told: None };
const ALL: Measures = Measures { convergence: true, recovery: true, goodput: true };

/// 10/2 for a hundred seconds.
fn scenario() -> Scenario {
    let base = SCENARIOS[0];
    let mut server = base.server;
    server.quota = Quota::Bucket { capacity: 10.0, refill: 2.0 };
    Scenario { server, seconds: 100.0, measures: ALL, ..base }
}

fn send(at: f64, answer: Answer) -> Send {
    let arrival = Some(Arrival { at, answer, closed: false });
    Send { process: 0, first: true, sent: at, arrival, answered: at + 0.1 }
}

/// Granted sends, evenly spread.
fn steady(from: f64, to: f64, rps: f64) -> Vec<Send> {
    let count = ((to - from) * rps).round() as usize;
    (0..count).map(|index| send(from + index as f64 / rps, Answer::Granted)).collect()
}

fn measured(scenario: &Scenario, sends: Vec<Send>) -> Measured {
    Measured::of(scenario, &Trace { begun: sends.len() as u64, sends, ..Trace::default() })
}

#[test]
fn goodput_is_what_was_granted_of_what_could_be() {
    let m = measured(&scenario(), steady(0.0, 100.0, 1.05));
    assert_eq!(m.goodput, Some(0.5), "105 of 10 + 2 * 100");
    let others = Trace { sends: steady(0.0, 100.0, 1.05), background: 105.0, begun: 105, ..Trace::default() };
    assert_eq!(Measured::of(&scenario(), &others).goodput, Some(1.0));
}

#[test]
fn where_calls_come_by_themselves_no_more_can_be_granted_than_come() {
    const OPEN: &[Phase] = &[Phase { from: 0.0, to: 100.0, load: Load::Open { rps: 1.0 } }];
    let m = measured(&Scenario { phases: OPEN, ..scenario() }, steady(0.0, 100.0, 1.0));
    assert_eq!(m.goodput, Some(1.0));
}

#[test]
fn waste_is_the_share_of_throttled_requests() {
    let mut sends = steady(0.0, 100.0, 0.9);
    sends.extend((0..10).map(|at| send(f64::from(at), THROTTLED)));
    let m = measured(&scenario(), sends);
    assert_eq!((m.waste, m.sent, m.granted, m.throttled, m.failed), (0.1, 100.0, 90.0, 10.0, 0.0));
}

#[test]
fn the_load_multiplier_counts_calls_that_were_refused_unsent() {
    let mut sends = steady(0.0, 100.0, 0.1);
    sends.iter_mut().skip(5).for_each(|send| send.first = false);
    let refused = Ended { began: 1.0, ended: 1.0, in_flight: 0.0, sends: 0, lost: true };
    let sent = Ended { sends: 2, lost: false, ..refused };
    let calls = vec![refused, refused, refused, sent];
    let m = Measured::of(&scenario(), &Trace { sends, calls, begun: 10, ..Trace::default() });
    assert_eq!(m.load, 10.0 / 8.0);
    assert_eq!(m.lost, 3.0);
}

#[test]
fn it_has_converged_when_it_sends_at_the_true_rate_and_stays() {
    let late = [steady(0.0, 40.0, 1.0), steady(40.0, 100.0, 2.0)].concat();
    let m = measured(&scenario(), late);
    // Windows are 25 s long: the one that begins at 36 s has 46 calls of 50.
    assert_eq!(m.converge_s, Some(35.0));
    let never = measured(&scenario(), steady(0.0, 100.0, 1.5));
    assert_eq!(never.converge_s, Some(100.0));
    let strays = [steady(0.0, 50.0, 2.0), steady(50.0, 100.0, 3.0)].concat();
    assert_eq!(measured(&scenario(), strays).converge_s, Some(100.0));
}

#[test]
fn it_has_recovered_when_nine_tenths_of_the_new_rate_are_granted() {
    let mut stepped = scenario();
    stepped.server.quota = Quota::Steps { capacity: 10.0, refills: &[(0.0, 1.0), (50.0, 4.0)] };
    let slow = [steady(0.0, 60.0, 1.0), steady(60.0, 100.0, 4.0)].concat();
    assert_eq!(measured(&stepped, slow).recover_s, Some(10.0));
    assert_eq!(measured(&stepped, steady(0.0, 100.0, 1.0)).recover_s, Some(50.0));
    stepped.server.quota = Quota::Steps { capacity: 10.0, refills: &[(0.0, 4.0), (50.0, 1.0)] };
    assert_eq!(measured(&stepped, steady(0.0, 100.0, 1.0)).recover_s, Some(0.0), "a step down is none to recover from");
}

#[test]
fn sends_to_a_closed_server_are_counted_from_when_it_can_be_noticed() {
    let mut down = scenario();
    down.server.outages = &[(30.0, 65.0)];
    let mut sends = steady(0.0, 30.0, 2.0);
    let failed = Arrival { at: 0.0, answer: Answer::Failed { status: 500 }, closed: true };
    sends.extend([31.0, 33.0, 36.0, 50.0].map(|at| Send { arrival: Some(failed), ..send(at, THROTTLED) }));
    sends.extend(steady(70.0, 100.0, 3.0));
    let m = measured(&down, sends);
    assert_eq!(m.closed_sends, Some(4.0));
    assert_eq!(m.probes, Some(2.0), "two in the thirty seconds that count");
    assert_eq!(m.after, Some(1.5), "three in a second, at two that it may");
    assert_eq!(m.recover_s, Some(1.0), "from 66 s on, ten seconds have 18 calls");
    let well = measured(&scenario(), steady(0.0, 100.0, 2.0));
    assert_eq!((well.closed_sends, well.probes, well.after), (None, None, None));
}

#[test]
fn sends_in_a_pause_are_counted_for_each_process() {
    let told = Answer::Throttled { shape: Shape::Azure429, told: Some((Tells::RetryAfter, 10.0)) };
    let other = Send { process: 1, ..send(5.0, Answer::Granted) };
    let at = |at| send(at, Answer::Granted);
    let sends = vec![send(1.0, told), at(1.05), at(2.0), other, at(11.0), at(11.2)];
    let m = measured(&scenario(), sends);
    assert_eq!(m.pause_sends, 2.0, "at 2 and at 11: the pause is from 1.1 to 11.1, and the other process's own affair");
}

#[test]
fn jain_compares_what_processes_got_in_the_second_half() {
    let several = Scenario { processes: 2, ..scenario() };
    let fair = [steady(0.0, 50.0, 2.0), steady(50.0, 100.0, 1.0)].concat();
    let half = |process, sends: Vec<Send>| sends.into_iter().map(move |send| Send { process, ..send });
    let sends: Vec<Send> = half(0, fair).chain(half(1, steady(50.0, 100.0, 1.0))).collect();
    assert_eq!(measured(&several, sends).jain, Some(1.0));
    let alone = measured(&several, steady(0.0, 100.0, 1.0));
    assert_eq!(alone.jain, Some(0.5));
    assert_eq!(measured(&scenario(), steady(0.0, 100.0, 1.0)).jain, None);
}

#[test]
fn the_rate_kept_is_that_of_the_quiet_phase_s_end_by_its_start() {
    const PHASES: &[Phase] = &[
        Phase { from: 0.0, to: 30.0, load: Load::Closed { workers: 1 } },
        Phase { from: 30.0, to: 60.0, load: Load::Open { rps: 1.0 } },
        Phase { from: 60.0, to: 100.0, load: Load::Closed { workers: 1 } },
    ];
    let rates = [(10.0, 1.0), (30.0, 4.0), (31.0, 9.0), (60.0, 2.0), (61.0, 9.0)];
    let rates = rates.map(|(at, rate)| Believed { at, process: 0, rate }).to_vec();
    let trace = Trace { rates, ..Trace::default() };
    assert_eq!(Measured::of(&Scenario { phases: PHASES, ..scenario() }, &trace).kept, Some(0.5));
}

#[test]
fn a_wait_is_the_time_that_no_request_was_under_way() {
    let call = |wait: u32| {
        let wait = f64::from(wait);
        Ended { began: 1.0, ended: 1.0 + 0.5 + wait, in_flight: 0.5, sends: 1, lost: false }
    };
    let trace = Trace { calls: (1..=100).rev().map(call).collect(), ..Trace::default() };
    let m = Measured::of(&scenario(), &trace);
    assert_eq!((m.p50_s, m.p99_s), (50.0, 99.0));
}

#[test]
fn a_run_in_which_nothing_happened_has_measures_too() {
    let m = measured(&scenario(), Vec::new());
    assert_eq!((m.goodput, m.waste, m.load, m.p99_s), (Some(0.0), 0.0, 0.0, 0.0));
}

#[test]
fn several_runs_are_merged_by_the_mean_or_by_the_worst() {
    let one = measured(&scenario(), steady(0.0, 100.0, 2.1));
    let mut sends = steady(0.0, 100.0, 1.05);
    sends.extend((0..105).map(|at| send(f64::from(at) / 2.0, THROTTLED)));
    let other = measured(&scenario(), sends);
    let mean = Measured::merged(&[one.clone(), other.clone()], Merge::Mean).unwrap();
    assert_eq!((mean.goodput, mean.waste, mean.jain), (Some(0.75), 0.25, None));
    let worst = Measured::merged(&[one, other], Merge::Worst).unwrap();
    assert_eq!((worst.goodput, worst.waste, worst.granted), (Some(0.5), 0.5, 157.5));
    assert_eq!(Measured::merged(&[], Merge::Mean), None);
}
