//! What a run is judged by.
//!
//! | measure | definition |
//! |---|---|
//! | goodput | tokens granted / the most that could have been: what the server could grant while open ([`Quota::most`]) less what others were granted; or, where calls come by themselves, what was asked for if that is less |
//! | waste | requests throttled / requests that reached the server |
//! | lost | logical calls given up, or refused before anything was sent |
//! | converge_s | the earliest time from which the rate sent, over windows of 10 s (or of 50 calls, if longer) that begin at each full second, is within 10 % of the true rate, in that window and in 95 % of those after it; up to the first step or closure; the time until then if it never is |
//! | recover_s | after a step up or a closure, the seconds until 5 s (or 20 calls' time, if longer) begin in which 90 % of the new true rate is granted; the longest of all; the time that was left if it never happens |
//! | jain | `(sum x)^2 / (n * sum x^2)` of what each process was granted in the second half of the run |
//! | pause_sends | requests that a process sent after an answer had asked it to wait and before that time was over |
//! | closed_sends | requests that reached a server in an outage or under a penalty |
//! | probes | requests sent to a closed server from 5 s after its closing on (it takes that long to notice) per 30 s, the default cooldown of a breaker; the worst closure |
//! | after | requests sent in the one second that begins with the sending of the first that is granted after a closure / the true rate; the worst closure |
//! | load | requests sent / logical calls that sent any or were refused before they did |
//! | kept | the rate believed at the end of a quiet phase / the rate believed at its start |
//! | p50_s, p99_s | of calls that ended, the time that none of their requests was under way |
//!
//! [`Quota::most`]: crate::Quota::most

use crate::scenario::Scenario;
use crate::trace::{Ended, Send, Trace};

/// The measures of one run, or their means over several. Those without a meaning in its scenario are none.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Measured {
    /// From 0 to 1.
    pub goodput: Option<f64>,
    /// From 0 to 1.
    pub waste: f64,
    /// Calls.
    pub lost: f64,
    /// Seconds.
    pub converge_s: Option<f64>,
    /// Seconds.
    pub recover_s: Option<f64>,
    /// From 1 / processes to 1.
    pub jain: Option<f64>,
    /// Requests.
    pub pause_sends: f64,
    /// Requests.
    pub closed_sends: Option<f64>,
    /// Requests per cooldown.
    pub probes: Option<f64>,
    /// Multiple of the true rate.
    pub after: Option<f64>,
    /// Requests per call.
    pub load: f64,
    /// Share.
    pub kept: Option<f64>,
    /// Seconds.
    pub p50_s: f64,
    /// Seconds.
    pub p99_s: f64,
    /// Logical calls begun.
    pub calls: f64,
    /// Requests that reached the server.
    pub sent: f64,
    /// Requests granted.
    pub granted: f64,
    /// Requests throttled.
    pub throttled: f64,
    /// Requests that failed otherwise.
    pub failed: f64,
}

const NOTICE: f64 = 5.0;
const COOLDOWN: f64 = 30.0;

impl Measured {
    /// The measures of this run of that scenario.
    pub fn of(scenario: &Scenario, trace: &Trace) -> Self {
        let count = |counts: fn(&Send) -> bool| trace.sends.iter().filter(|send| counts(send)).count() as f64;
        let arrived = count(|send| send.arrival.is_some());
        let granted = count(is_granted);
        let throttled = count(|send| send.arrival.is_some_and(|arrival| arrival.answer.is_throttled()));
        let sent = trace.sends.len() as f64;
        let unsent = trace.calls.iter().filter(|call| call.sends == 0).count() as f64;
        let measures = scenario.measures;
        let closures = closures(scenario, trace);
        let open = scenario.server.open(scenario.seconds);
        let could = scenario.server.quota.most(&open, scenario.cost) - trace.background;
        // Workers would always have made more calls.
        let asked = if scenario.is_open_loop() { trace.begun as f64 * scenario.cost } else { f64::INFINITY };
        let waits = Waits::of(&trace.calls);
        Measured {
            goodput: measures.goodput.then(|| share(granted * scenario.cost, could.min(asked))),
            waste: share(throttled, arrived),
            lost: trace.calls.iter().filter(|call| call.lost).count() as f64,
            converge_s: measures.convergence.then(|| converge(scenario, trace, &closures)),
            recover_s: measures.recovery.then(|| recover(scenario, trace, &closures)),
            jain: (scenario.processes > 1).then(|| jain(scenario, trace)),
            pause_sends: pause_sends(&trace.sends),
            closed_sends: (!closures.is_empty())
                .then(|| count(|send| send.arrival.is_some_and(|arrival| arrival.closed))),
            probes: worst(closures.iter().filter_map(|closure| probes(&trace.sends, *closure))),
            after: worst(closures.iter().filter_map(|(_, to)| after(scenario, &trace.sends, *to))),
            load: share(sent, count(|send| send.first) + unsent),
            kept: kept(scenario, trace),
            p50_s: waits.percentile(0.50),
            p99_s: waits.percentile(0.99),
            calls: trace.begun as f64,
            sent: arrived,
            granted,
            throttled,
            failed: arrived - granted - throttled,
        }
    }
}

/// How several runs are made one row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Merge {
    /// The mean of each measure.
    Mean,
    /// Of each measure, the worst.
    Worst,
}

impl Measured {
    /// Several runs of one scenario as one; none if there are none. Counts of calls are always means.
    pub fn merged(runs: &[Measured], merge: Merge) -> Option<Self> {
        if runs.is_empty() {
            return None;
        }
        let all = |field: fn(&Measured) -> Option<f64>, worst: fn(f64, f64) -> f64| {
            let mut values = runs.iter().filter_map(field);
            match merge {
                Merge::Worst => values.reduce(worst),
                Merge::Mean => {
                    let (sum, count) =
                        values.by_ref().fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
                    (count > 0.0).then(|| sum / count)
                }
            }
        };
        let high = |field| all(field, f64::max);
        let low = |field| all(field, f64::min);
        let mean = |field: fn(&Measured) -> f64| runs.iter().map(field).sum::<f64>() / runs.len() as f64;
        Some(Measured {
            goodput: low(|m| m.goodput),
            waste: high(|m| Some(m.waste))?,
            lost: high(|m| Some(m.lost))?,
            converge_s: high(|m| m.converge_s),
            recover_s: high(|m| m.recover_s),
            jain: low(|m| m.jain),
            pause_sends: high(|m| Some(m.pause_sends))?,
            closed_sends: high(|m| m.closed_sends),
            probes: high(|m| m.probes),
            after: high(|m| m.after),
            load: high(|m| Some(m.load))?,
            kept: low(|m| m.kept),
            p50_s: high(|m| Some(m.p50_s))?,
            p99_s: high(|m| Some(m.p99_s))?,
            calls: mean(|m| m.calls),
            sent: mean(|m| m.sent),
            granted: mean(|m| m.granted),
            throttled: mean(|m| m.throttled),
            failed: mean(|m| m.failed),
        })
    }
}

fn is_granted(send: &Send) -> bool {
    send.arrival.is_some_and(|arrival| arrival.answer.is_granted())
}

/// A share of nothing is nothing.
fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

fn worst(values: impl Iterator<Item = f64>) -> Option<f64> {
    values.reduce(f64::max)
}

/// When the server was closed, within the run.
fn closures(scenario: &Scenario, trace: &Trace) -> Vec<(f64, f64)> {
    let all = scenario.server.outages.iter().chain(&trace.penalties);
    all.map(|&(from, to)| (from, to.min(scenario.seconds))).filter(|(from, to)| to > from).collect()
}

// ===== convergence, recovery =====

/// Events counted by the second, summed up.
struct Counted {
    sums: Vec<f64>,
}

impl Counted {
    fn new(seconds: f64, times: impl Iterator<Item = f64>) -> Self {
        let mut counts = vec![0.0; seconds.ceil() as usize + 1];
        for time in times {
            if let Some(count) = counts.get_mut(time as usize + 1) {
                *count += 1.0;
            }
        }
        for second in 1..counts.len() {
            counts[second] += counts[second - 1];
        }
        Counted { sums: counts }
    }

    /// Events a second in a window of full seconds; none if it is not within the run.
    fn rate(&self, from: usize, length: usize) -> Option<f64> {
        Some((self.sums.get(from + length)? - self.sums.get(from)?) / length as f64)
    }
}

fn converge(scenario: &Scenario, trace: &Trace, closures: &[(f64, f64)]) -> f64 {
    let changes = scenario.server.quota.changes().chain(scenario.server.background.iter().skip(1).map(|(at, _)| *at));
    let end = changes.chain(closures.iter().map(|(from, _)| *from)).fold(scenario.seconds, f64::min);
    let rate = scenario.server.true_rate(0.0, scenario.cost);
    let length = 10.0_f64.max((50.0 / rate).ceil()) as usize;
    let sent = Counted::new(scenario.seconds, trace.sends.iter().map(|send| send.sent));
    let last = (end as usize).saturating_sub(length);
    let near: Vec<bool> =
        (0..=last).map(|from| sent.rate(from, length).is_some_and(|sent| (sent - rate).abs() <= 0.1 * rate)).collect();
    let mut good = 0.0;
    let mut earliest = end;
    for (index, near) in near.iter().enumerate().rev() {
        if *near {
            good += 1.0;
            if good >= 0.95 * (last + 1 - index) as f64 {
                earliest = index as f64;
            }
        }
    }
    earliest
}

fn recover(scenario: &Scenario, trace: &Trace, closures: &[(f64, f64)]) -> f64 {
    let server = &scenario.server;
    let rate = |at: f64| server.true_rate(at, scenario.cost);
    let steps = server.quota.changes().chain(server.background.iter().skip(1).map(|(at, _)| *at));
    let ups = steps.filter(|at| rate(*at) > rate(at - 1e-3));
    let starts: Vec<f64> = ups.chain(closures.iter().map(|(_, to)| *to)).filter(|at| *at < scenario.seconds).collect();
    let all_changes: Vec<f64> = server
        .quota
        .changes()
        .chain(server.background.iter().skip(1).map(|(at, _)| *at))
        .chain(closures.iter().map(|(from, _)| *from))
        .collect();
    let served = Counted::new(
        scenario.seconds,
        trace.sends.iter().filter(|send| is_granted(send)).filter_map(|send| Some(send.arrival?.at)),
    );
    let recovery = |start: f64| {
        let end = all_changes.iter().copied().filter(|at| *at > start).fold(scenario.seconds, f64::min);
        let wanted = 0.9 * rate(start);
        let length = 5.0_f64.max((20.0 / rate(start)).ceil()) as usize;
        let seconds = (start.ceil() as usize)..=(end as usize).saturating_sub(length);
        let found = seconds.into_iter().find(|from| served.rate(*from, length).is_some_and(|got| got >= wanted));
        found.map_or(end - start, |from| from as f64 - start)
    };
    worst(starts.into_iter().map(recovery)).unwrap_or(0.0)
}

// ===== closures =====

fn probes(sends: &[Send], (from, to): (f64, f64)) -> Option<f64> {
    let from = from + NOTICE;
    let cooldowns = (to - from) / COOLDOWN;
    let sent = sends.iter().filter(|send| from <= send.sent && send.sent < to).count() as f64;
    (cooldowns > 0.0).then(|| sent / cooldowns)
}

fn after(scenario: &Scenario, sends: &[Send], end: f64) -> Option<f64> {
    let first = sends.iter().find(|send| send.sent >= end && is_granted(send))?.sent;
    let sent = sends.iter().filter(|send| first <= send.sent && send.sent < first + 1.0).count() as f64;
    Some(sent / scenario.server.true_rate(end, scenario.cost))
}

/// The sends of each process that came while the server had asked it for silence.
fn pause_sends(sends: &[Send]) -> f64 {
    let mut told: Vec<(f64, usize, f64)> = sends
        .iter()
        .filter_map(|send| Some((send.answered, send.process, send.answered + send.arrival?.answer.retry_after()?)))
        .collect();
    told.sort_by(|one, other| one.0.total_cmp(&other.0));
    let mut told = told.into_iter().peekable();
    let mut silent_until: Vec<f64> = Vec::new();
    let mut count = 0.0;
    for send in sends {
        while let Some((_, process, until)) = told.next_if(|(at, ..)| *at < send.sent) {
            if silent_until.len() <= process {
                silent_until.resize(process + 1, 0.0);
            }
            silent_until[process] = silent_until[process].max(until);
        }
        if silent_until.get(send.process).is_some_and(|until| send.sent < *until) {
            count += 1.0;
        }
    }
    count
}

// ===== the others =====

fn jain(scenario: &Scenario, trace: &Trace) -> f64 {
    let mut got = vec![0.0; scenario.processes];
    for send in trace.sends.iter().filter(|send| is_granted(send) && send.sent >= scenario.seconds / 2.0) {
        if let Some(got) = got.get_mut(send.process) {
            *got += 1.0;
        }
    }
    let sum: f64 = got.iter().sum();
    let squares: f64 = got.iter().map(|got| got * got).sum();
    share(sum * sum, got.len() as f64 * squares)
}

/// Over the second of three or more phases, which is the quiet one.
fn kept(scenario: &Scenario, trace: &Trace) -> Option<f64> {
    let [_, quiet, _, ..] = scenario.phases else { return None };
    let believed = |at: f64| trace.rates.iter().rev().find(|believed| believed.at <= at).map(|believed| believed.rate);
    Some(share(believed(quiet.to)?, believed(quiet.from)?))
}

struct Waits(Vec<f64>);

impl Waits {
    fn of(calls: &[Ended]) -> Self {
        let mut waits: Vec<f64> =
            calls.iter().map(|call| (call.ended - call.began - call.in_flight).max(0.0)).collect();
        waits.sort_by(f64::total_cmp);
        Waits(waits)
    }

    /// The nearest rank.
    fn percentile(&self, share: f64) -> f64 {
        let rank = (share * self.0.len() as f64).ceil() as usize;
        self.0.get(rank.saturating_sub(1)).copied().unwrap_or(0.0)
    }
}

#[cfg(test)]
mod tests;
