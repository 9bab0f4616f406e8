//! What a run brought, for people and for machines.

use std::collections::{BTreeMap, BTreeSet};

use cloud_governor::{Governor, RefusalKind, Summary};
use serde::Serialize;

use super::cloud::Cloud;
use super::found::{Found, FoundInAzure, FoundInGcp};
use super::job::{Ended, Outcome};
use super::kind::{Kind, Place};
use super::service::Service;
use super::world::{Simulated, Totals, World};
use crate::sim::{BucketKey, Counts};

/// Something was lost, and not because the governor refused.
pub const LOST: u8 = 1;
/// The shell's own code for a program that Ctrl-C ended.
pub const INTERRUPTED: u8 = 130;

/// What a run brought. It serialises to the object that `--json` prints.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// `governed`, or the SDK's retry mode: `standard`, `adaptive`.
    pub mode: &'static str,
    /// The clouds that were listed, side by side.
    pub clouds: BTreeSet<Cloud>,
    /// Whether the server was a simulation.
    pub simulated: bool,
    /// The services whose resources were to be listed.
    pub services: Vec<Service>,
    /// Accounts and resources that were listed. An account of AWS is listed once each of its regions said who is calling,
    /// a subscription of Azure and a project of Google Cloud once everything in it is.
    pub listed: u64,
    /// Against the simulation: accounts and resources that it has and that were not listed. Against a real server,
    /// where nobody knows: listings that are not complete.
    pub lost: u64,
    /// What was found, by kind.
    pub found: Found,
    /// Listings that were queued again, counted each time.
    pub requeues: u64,
    /// Listings that are not complete, and why.
    pub incomplete: Vec<Incomplete>,
    /// Whether the run was stopped before its end.
    pub interrupted: bool,
    /// The process's exit code.
    pub exit_code: u8,
    /// Wall time, in seconds.
    pub wall_s: f64,
    /// The least time in which the simulation's buckets can grant the job, in seconds.
    pub ideal_s: Option<f64>,
    /// The bucket that sets this time.
    pub ideal_bucket: Option<BucketKey>,
    /// `wall_s / ideal_s`, where that says something.
    pub ratio: Option<f64>,
    /// What the simulation saw.
    pub server: Option<ServerTruth>,
    /// What the governor counted in this run.
    pub summary: Summary,
    /// The governor's line for each service that has something to tell.
    pub messages: Vec<String>,
    /// Every place, for the table.
    #[serde(skip)]
    pub(super) places: Vec<PlaceRow>,
}

/// A listing that is not complete.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Incomplete {
    /// Of which cloud.
    pub cloud: Cloud,
    /// Where.
    #[serde(flatten)]
    pub place: Place,
    /// What.
    pub kind: Kind,
    /// Pages and rows that were given up.
    pub given_up: u64,
    /// The last reason for that; none where the run was stopped.
    pub reason: Option<String>,
    /// The governor's refusal, if that was the reason: its code.
    pub refusal: Option<&'static str>,
}

/// The server's counts.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ServerTruth {
    /// All of it.
    #[serde(flatten)]
    pub totals: Counts,
    /// The most requests that one server was answering at one time.
    pub peak_concurrent: u64,
    /// By `service.Operation`.
    pub by_action: BTreeMap<String, Counts>,
}

/// One line of the table.
#[derive(Clone, Debug)]
pub(super) struct PlaceRow {
    pub(super) cloud: Cloud,
    pub(super) place: Place,
    pub(super) found: Found,
    pub(super) incomplete: usize,
}

impl ServerTruth {
    /// What the simulations saw, taken together.
    fn of(simulated: &[Simulated]) -> Option<Self> {
        let seen = simulated.iter().map(|simulated| simulated.server().truth().snapshot());
        let seen = seen.map(|seen| ServerTruth {
            totals: seen.totals,
            peak_concurrent: seen.peak_concurrent,
            by_action: seen.actions,
        });
        seen.reduce(ServerTruth::and)
    }

    fn and(mut self, other: Self) -> Self {
        self.totals.add(&other.totals);
        self.peak_concurrent = self.peak_concurrent.max(other.peak_concurrent);
        for (action, counts) in other.by_action {
            self.by_action.entry(action).or_default().add(&counts);
        }
        self
    }
}

impl Report {
    /// Adds everything up. `governor` is whose view of the run's calls is told.
    pub fn new(mode: &'static str, world: &World, outcome: Outcome, governor: &Governor) -> Self {
        let Outcome { listings, losers, interrupted, wall, stats } = outcome;
        let mut found = Found::default();
        let clouds: BTreeSet<_> = listings.iter().map(|listing| listing.kind.cloud()).collect();
        for cloud in &clouds {
            match cloud {
                Cloud::Aws => {}
                Cloud::Azure => found += FoundInAzure::default().into(),
                Cloud::Gcp => found += FoundInGcp::default().into(),
            }
        }
        listings.iter().for_each(|listing| found += listing.progress.found);
        let incomplete: Vec<_> =
            listings.iter().filter(|listing| !listing.progress.complete()).map(Incomplete::of).collect();
        let accounts = accounts(&listings);
        let simulated = world.simulated();
        let lost = if simulated.is_empty() {
            incomplete.len() as u64
        } else {
            let there = totals(simulated);
            found.missing(&there.found) + there.accounts.saturating_sub(accounts)
        };
        let last_cause = losers.last().and_then(|index| listings.get(*index)).and_then(refusal_of);
        let ideal = simulated.iter().map(Simulated::ideal).max_by(|one, other| one.seconds.total_cmp(&other.seconds));
        let ideal_s = ideal.map(|ideal| ideal.seconds);
        let wall_s = wall.as_secs_f64();
        let summary = governor.summary_of(&stats);
        Report {
            mode,
            clouds,
            simulated: !simulated.is_empty(),
            services: world.services().to_vec(),
            listed: accounts + found.resources(),
            lost,
            found,
            requeues: listings.iter().map(|listing| u64::from(listing.progress.requeues)).sum(),
            exit_code: exit_code(interrupted, lost > 0 || !incomplete.is_empty(), last_cause),
            incomplete,
            interrupted,
            wall_s,
            ideal_s,
            ratio: ideal_s.filter(|ideal| *ideal > 0.0).map(|ideal| wall_s / ideal),
            ideal_bucket: ideal.and_then(|ideal| ideal.bucket.clone()),
            server: ServerTruth::of(simulated),
            messages: summary.messages(),
            summary,
            places: places(&listings),
        }
    }
}

impl Incomplete {
    fn of(listing: &Ended) -> Self {
        Incomplete {
            cloud: listing.kind.cloud(),
            place: listing.place.clone(),
            kind: listing.kind,
            given_up: listing.progress.given_up,
            reason: listing.progress.reason.as_ref().map(ToString::to_string),
            refusal: refusal_of(listing).map(RefusalKind::code),
        }
    }
}

fn refusal_of(listing: &Ended) -> Option<RefusalKind> {
    listing.progress.reason.as_ref().and_then(|reason| reason.refusal())
}

fn exit_code(interrupted: bool, lost: bool, last_cause: Option<RefusalKind>) -> u8 {
    match (interrupted, lost, last_cause) {
        (true, ..) => INTERRUPTED,
        (_, false, _) => 0,
        (_, true, Some(refusal)) => refusal.exit_code(),
        (_, true, None) => LOST,
    }
}

fn totals(simulated: &[Simulated]) -> Totals {
    simulated.iter().map(Simulated::totals).fold(Totals::default(), |mut sum, totals| {
        sum.accounts += totals.accounts;
        sum.found += totals.found;
        sum
    })
}

/// How many accounts are listed.
fn accounts(listings: &[Ended]) -> u64 {
    let vouching = || listings.iter().filter(|listing| listing.kind.vouches());
    let named: BTreeSet<_> = vouching().map(|listing| &listing.place.account).collect();
    let silent: BTreeSet<_> =
        vouching().filter(|listing| !listing.progress.complete()).map(|listing| &listing.place.account).collect();
    named.difference(&silent).count() as u64
}

fn places(listings: &[Ended]) -> Vec<PlaceRow> {
    let mut rows: BTreeMap<&Place, PlaceRow> = BTreeMap::new();
    for Ended { place, kind, progress } in listings {
        let fresh = || PlaceRow { cloud: kind.cloud(), place: place.clone(), found: Found::default(), incomplete: 0 };
        let row = rows.entry(place).or_insert_with(fresh);
        row.found += progress.found;
        row.incomplete += usize::from(!progress.complete());
        if let Some(account) = &progress.account {
            // A profile's name stands for the account until the account is known.
            row.place.account.clone_from(account);
        }
    }
    rows.into_values().collect()
}

#[cfg(test)]
mod tests;
