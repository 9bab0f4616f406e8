//! The program: from the command line to the exit code.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use cloud_governor::{Governor, Scope, configure};

use super::client::Client;
use super::failure::{FAILED, Failure, SetUpError};
use super::job::{Outcome, run};
use super::ledger::Ledger;
use super::options::{Args, UsageError};
use super::report::PubsubReport;
use crate::inventory::INTERRUPTED;
use crate::program::{Program, interrupted};
use crate::sim::gcp::pubsub::{Bucket, Project, Pubsub, Rpc, SERVICE, kilobytes};
use crate::sim::{Ideal, Report};

/// Runs the program. Everything that can be wrong with the configuration is found before anything is sent.
pub async fn main(args: Args) -> ExitCode {
    let program = Program::start("pubsub", args.log);
    let (pubsub, governor) = match prepare(&args) {
        Ok(prepared) => prepared,
        Err(error) => return program.unusable(&error),
    };
    let report = tokio::select! {
        report = report(&args, pubsub, &governor) => report,
        () = interrupted() => return ExitCode::from(INTERRUPTED),
    };
    match report {
        Ok(report) => {
            let code = exit_code(report.count.lost > 0, report.last_failure.as_ref());
            program.finish(code, |out| {
                if args.json {
                    serde_json::to_writer(&mut *out, &report)?;
                    return writeln!(out);
                }
                write!(out, "{report}")?;
                governor.messages().iter().try_for_each(|message| writeln!(out, "{message}"))
            })
        }
        Err(error) => {
            let code = error.downcast_ref().map_or(FAILED, SetUpError::exit_code);
            program.failed_by(error.as_ref(), code)
        }
    }
}

fn exit_code(lost: bool, last: Option<&Failure>) -> u8 {
    if lost { last.map_or(FAILED, Failure::exit_code) } else { 0 }
}

fn prepare(args: &Args) -> Result<(Arc<Pubsub>, Governor), UsageError> {
    let pubsub = args.pubsub()?;
    Ok((Arc::new(pubsub), configure(args.settings()?)))
}

async fn report(args: &Args, pubsub: Arc<Pubsub>, governor: &Governor) -> anyhow::Result<PubsubReport> {
    let server = Arc::clone(&pubsub).serve(args.seed).await?;
    for fault in &args.faults {
        server.faults().add(fault.clone());
    }
    let client = |project| Client::new(&server.url(), project, args.mode());
    let clients = pubsub.projects().iter().map(client).collect::<Result<Vec<_>, _>>()?;
    let ledger = Arc::new(Ledger::new(args.messages as usize));
    let started = Instant::now();
    let mut slots_in_use = 0;
    let finish = || slots_in_use = pubsub.projects().iter().map(|project| slots(governor, project)).sum();
    let Outcome { failed, streams, gave_up, last: last_failure } = run(args, &pubsub, clients, &ledger, finish).await?;
    let wall = started.elapsed();
    let (service, truth) = (pubsub.tally(), server.truth());
    server.stop().await;
    let seen = Report::new(truth.snapshot(), wall, ideal(args, &pubsub));
    let (mode, count) = (args.mode(), ledger.count());
    Ok(PubsubReport { mode, count, failed, last_failure, gave_up, streams, slots_in_use, service, seen })
}

/// The slots in use of a project's account, whichever RPC has them.
fn slots(governor: &Governor, project: &Project) -> usize {
    let scope = Scope::new("gcp", project.account(), "", SERVICE).with_operation(Rpc::StreamingPull.name());
    governor.inspect(&scope).map_or(0, |inspection| inspection.slots_in_use)
}

/// The least that the job costs: each batch is published once, and pulled and acknowledged together with others.
fn ideal(args: &Args, pubsub: &Pubsub) -> Ideal {
    let batch = args.batch as usize;
    let job = pubsub.projects().iter().zip(args.shares()).flat_map(|(project, messages)| {
        let (batches, rest) = (messages / batch, messages % batch);
        let cost = |messages: usize| u64::from(kilobytes(messages * args.bytes as usize));
        let publish = batches as u64 * cost(batch) + if rest > 0 { cost(rest) } else { 0 };
        [(project, Bucket::Publish, publish), (project, Bucket::Administrator, 2)]
    });
    pubsub.ideal(job)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[test]
    fn the_ideal_is_what_the_quota_of_the_largest_share_takes() {
        let args = Args::parse_from(["pubsub", "--messages", "1205", "--limit", "Publish=10", "--projects", "3"]);
        let ideal = ideal(&args, &args.pubsub().expect("possible limits"));
        // 402 messages are 41 batches, of which ten are granted at once.
        assert!((ideal.seconds - 3.1).abs() < 1e-6, "{ideal:?}");
    }
}
