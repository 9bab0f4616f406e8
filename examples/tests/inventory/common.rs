use std::future::{Future, pending};
use std::time::Duration;

use clap::Parser;
use cloud_governor::{Config, Governor};
use cloud_governor_examples::inventory::{self, Args, Cloud, Mode, Report, Simulated, World};
use cloud_governor_examples::sim::{Counts, Leaf};

/// How often the server is asked what it saw.
pub(crate) const LOOK: Duration = Duration::from_millis(5);

pub(crate) fn args(line: &str) -> Args {
    Args::try_parse_from(std::iter::once("inventory").chain(line.split_whitespace())).expect("a valid command line")
}

/// A governor of the test's own, which goes by the limits that are published, and this on top.
pub(crate) fn governed(more: &str) -> Mode {
    let config = Config::from_yaml(more, "test").expect("a valid configuration");
    Mode::Governed(Governor::builder().config(config).seed(7).build())
}

/// A governor of the test's own that knows no limit.
pub(crate) fn learning() -> Mode {
    governed("ratelimit: { defaults: { published: false } }")
}

pub(crate) fn plain(args: &Args) -> Mode {
    Mode::Plain(args.ungoverned.expect("--ungoverned"))
}

/// How many requests the server throttled.
pub(crate) fn throttled(report: &Report) -> u64 {
    report.server.as_ref().map_or(0, |server| server.totals.throttled)
}

/// A run in a simulation that ends with it.
pub(crate) async fn run(args: &Args, mode: &Mode) -> Report {
    let world = World::simulate(args).await.expect("a simulation");
    let report = inventory::run(args, &world, mode, pending()).await;
    world.close().await;
    report.expect("a possible world")
}

/// A run that is stopped when the future that `stop` makes of the world is ready.
pub(crate) async fn run_until<'a, F: Future<Output = ()>>(
    args: &Args,
    mode: &Mode,
    world: &'a World,
    stop: impl FnOnce(&'a World) -> F,
) -> Report {
    inventory::run(args, world, mode, stop(world)).await.expect("a possible world")
}

/// The simulation of a cloud.
pub(crate) fn simulation(world: &World, cloud: Cloud) -> &Simulated {
    world.simulation(cloud).expect("a simulation")
}

/// The requests that were answered, by `service.Operation`, beside those that the job needs.
pub(crate) fn answered_and_needed(world: &World) -> Vec<(String, u64, u64)> {
    world.simulated().iter().flat_map(answered_and_needed_of).collect()
}

fn answered_and_needed_of(simulated: &Simulated) -> Vec<(String, u64, u64)> {
    let truth = simulated.server().truth().snapshot();
    let answered =
        |leaf: &Leaf| truth.leaves.iter().find(|seen| &seen.leaf == leaf).map_or(0, |seen| seen.counts.answered);
    let named = |(leaf, needed): (&Leaf, &u64)| {
        let name = format!("{} {} {}.{}", leaf.account, leaf.region, leaf.service, leaf.operation);
        (name, answered(leaf), *needed)
    };
    simulated.requests().iter().map(named).collect()
}

/// Takes a service of AWS down once it has answered so many requests, and up again when so many more found it down.
pub(crate) async fn outage(world: &World, service: &str, after: u64, lasts: u64) {
    let server = simulation(world, Cloud::Aws).server();
    let sum = |count: fn(&Counts) -> u64| {
        let leaves = server.truth().snapshot().leaves;
        leaves.iter().filter(|seen| seen.leaf.service == service).map(|seen| count(&seen.counts)).sum::<u64>()
    };
    while sum(|counts| counts.answered) < after {
        tokio::time::sleep(LOOK).await;
    }
    let faulted = sum(|counts| counts.faulted);
    server.faults().add(format!("down:service={service}").parse().expect("a fault"));
    while sum(|counts| counts.faulted) < faulted + lasts {
        tokio::time::sleep(LOOK).await;
    }
    server.faults().clear();
}
