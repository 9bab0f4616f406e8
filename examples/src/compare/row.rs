//! What the server saw, run by run.

use std::collections::BTreeMap;

use serde::Serialize;

use super::contender::{Contender, Load};
use super::options::Args;
use crate::inventory::{INTERRUPTED, Report};
use crate::sim::Counts;

/// What the server saw of one run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Row {
    /// Who made the calls.
    pub mode: Contender,
    /// Which services they were for.
    pub job: Load,
    /// Wall time, in seconds.
    pub wall_s: f64,
    /// The least time in which the buckets can grant the job, in seconds.
    pub ideal_s: f64,
    /// `wall_s / ideal_s`, where that says something.
    pub ratio: Option<f64>,
    /// Requests that reached the server.
    pub requests: u64,
    /// Those that a bucket refused.
    pub throttled: u64,
    /// `throttled / requests`.
    pub throttled_share: f64,
    /// Those that a planned fault struck.
    pub faulted: u64,
    /// Accounts and resources that the simulation has and that were not listed.
    pub lost: u64,
    /// Accounts and resources that were listed.
    pub listed: u64,
    /// Listings that were queued again, counted each time.
    pub requeues: u64,
    /// The exit code that `inventory` would have had.
    pub exit_code: u8,
    /// The server's counts by `service.Operation`.
    pub actions: BTreeMap<String, Counts>,
}

impl Row {
    /// The row of a run that ended.
    pub(super) fn new(mode: Contender, job: Load, report: Report) -> Self {
        let Report { wall_s, ideal_s, ratio, lost, listed, requeues, exit_code, server, .. } = report;
        let (totals, actions) = server.map(|server| (server.totals, server.by_action)).unwrap_or_default();
        let Counts { requests, throttled, faulted, .. } = totals;
        Row {
            mode,
            job,
            wall_s,
            ideal_s: ideal_s.unwrap_or_default(),
            ratio,
            requests,
            throttled,
            throttled_share: share(throttled, requests),
            faulted,
            lost,
            listed,
            requeues,
            exit_code,
            actions,
        }
    }
}

/// All rows. It serialises to the object that `--json` prints; `Display` is the tables.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Comparison {
    /// What decided the fleet and the chances of faults.
    pub seed: u64,
    /// Accounts of the simulation.
    pub accounts: usize,
    /// Regions of each account.
    pub regions: usize,
    /// Whether it was stopped before its end.
    pub interrupted: bool,
    /// The process's exit code.
    pub exit_code: u8,
    /// The runs that ended.
    pub rows: Vec<Row>,
}

impl Comparison {
    pub(super) fn new(args: &Args, rows: Vec<Row>, interrupted: bool) -> Self {
        let simulation = &args.simulation;
        Comparison {
            seed: simulation.seed,
            accounts: simulation.accounts,
            regions: simulation.regions,
            interrupted,
            exit_code: exit_code(&rows, interrupted),
            rows,
        }
    }
}

/// The plain SDK may lose: that is what is shown. The governor must not.
fn exit_code(rows: &[Row], interrupted: bool) -> u8 {
    if interrupted {
        return INTERRUPTED;
    }
    rows.iter().filter(|row| row.mode.governed()).map(|row| row.exit_code).find(|code| *code != 0).unwrap_or(0)
}

fn share(part: u64, of: u64) -> f64 {
    if of == 0 { 0.0 } else { part as f64 / of as f64 }
}

#[cfg(test)]
mod tests;
