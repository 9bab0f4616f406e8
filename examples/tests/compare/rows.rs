use std::collections::BTreeMap;
use std::future::{pending, ready};

use cloud_governor::Config;
use cloud_governor_examples::compare::{self, Comparison, Contender};
use cloud_governor_examples::inventory::{self, Cloud, INTERRUPTED, World};

use crate::common::{SMALL, args};

async fn compare(line: &str) -> Comparison {
    compare::run(&args(line), &Config::default(), pending(), |_, _, _, _| {}).await.expect("all runs")
}

/// The requests that the job needs by `service.Operation`, and what there is to list.
async fn needed() -> (BTreeMap<String, u64>, u64) {
    let compare::Args { simulation, effort, config, .. } = args(SMALL);
    let mut job = inventory::Args::of_simulation(simulation, effort, config);
    job.services.retain(|service| service.name() != "ec2");
    let world = World::simulate(&job).await.expect("a simulation");
    let simulated = world.simulation(Cloud::Aws).expect("a simulation");
    let mut needed = BTreeMap::new();
    for (leaf, requests) in simulated.requests() {
        *needed.entry(format!("{}.{}", leaf.service, leaf.operation)).or_default() += requests;
    }
    let totals = simulated.totals();
    let there = totals.accounts + totals.found.resources();
    world.close().await;
    (needed, there)
}

#[tokio::test]
async fn each_contender_has_a_row_with_its_server_s_counts() {
    let comparison = compare(SMALL).await;
    let (needed, there) = needed().await;
    let modes: Vec<_> = comparison.rows.iter().map(|row| row.mode).collect();
    assert_eq!(modes, Contender::ALL);
    for row in &comparison.rows {
        assert_eq!(row.listed + row.lost, there, "{comparison}");
        assert!(row.wall_s > 0.0);
        assert_eq!(row.requests, row.actions.values().map(|counts| counts.requests).sum::<u64>());
        assert_eq!(row.throttled, row.actions.values().map(|counts| counts.throttled).sum::<u64>());
        assert_eq!(row.throttled_share, row.throttled as f64 / row.requests as f64);
        if row.lost == 0 {
            let answered = row.actions.iter().map(|(action, counts)| (action.clone(), counts.answered));
            assert_eq!(answered.collect::<BTreeMap<_, _>>(), needed, "{comparison}");
        }
    }
    for row in comparison.rows.iter().filter(|row| row.mode.governed()) {
        assert_eq!((row.lost, row.exit_code), (0, 0), "{comparison}");
    }
    assert_eq!(comparison.exit_code, 0);
}

/// The cells of the Markdown row that begins with this one.
fn cells(markdown: &str, first: &str) -> Vec<String> {
    let row = |line: &str| line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
    let found = markdown.lines().map(row).find(|cells| cells.first().is_some_and(|cell| cell == first));
    found.unwrap_or_else(|| panic!("no row {first} in {markdown}"))
}

#[tokio::test]
async fn the_tables_tell_the_rows_figures() {
    let comparison = compare(&format!("{SMALL} --mode governed,standard-alone --fault brownout=1/5")).await;
    let (markdown, plain) = (comparison.markdown(), comparison.to_string());
    assert!(comparison.rows.iter().all(|row| row.faulted > 0), "{comparison}");
    assert_eq!(cells(&markdown, "")[5..], ["throttled", "faulted", "lost", "listed"]);
    for row in &comparison.rows {
        let cells = cells(&markdown, &row.mode.to_string());
        let count = |cell: usize| cells[cell].split(' ').next().and_then(|count| count.parse::<u64>().ok());
        let counts: Vec<_> = (4..9).filter_map(count).collect();
        assert_eq!(counts, [row.requests, row.throttled, row.faulted, row.lost, row.listed], "{markdown}");
        assert_eq!(cells[1..3], [format!("{:.1} s", row.wall_s), format!("{:.1} s", row.ideal_s)]);
    }
    for action in comparison.rows[0].actions.keys() {
        let expected = comparison.rows.iter().map(|row| {
            row.actions
                .get(action)
                .map_or("0 (0)".to_owned(), |counts| format!("{} ({})", counts.requests, counts.throttled))
        });
        assert_eq!(cells(&markdown, action)[1..], expected.collect::<Vec<_>>(), "{markdown}");
        assert!(plain.contains(action.as_str()), "{plain}");
    }
}

#[tokio::test]
async fn without_a_fault_no_column_tells_of_any() {
    let comparison = compare(&format!("{SMALL} --mode governed")).await;
    assert!(!comparison.markdown().contains("faulted"));
}

#[tokio::test]
async fn a_run_that_is_stopped_has_no_row() {
    let comparison =
        compare::run(&args(SMALL), &Config::default(), ready(()), |_, _, _, _| {}).await.expect("a simulation");
    assert!(comparison.interrupted && comparison.rows.is_empty(), "{comparison}");
    assert_eq!(comparison.exit_code, INTERRUPTED);
    assert_eq!((comparison.markdown().as_str(), comparison.to_string().as_str()), ("", "stopped before the end\n"));
}

#[cfg(feature = "ec2")]
#[tokio::test]
async fn one_program_runs_the_same_job_with_and_without_ec2() {
    let size = "vpcs=3,subnets=2,security_groups=1,instances=5,volumes=6";
    let line = SMALL.replace("--job base", "--job base,ec2 --mode governed,standard");
    let comparison = compare(&format!("{line},{size}")).await;
    let listed: Vec<_> = comparison.rows.iter().map(|row| row.listed).collect();
    let ec2 = 2 * (3 + 3 * 2 + 3 + 5 + 6);
    assert_eq!(listed, [listed[0], listed[0], listed[0] + ec2, listed[0] + ec2], "{comparison}");
    for row in &comparison.rows {
        let asked = row.actions.keys().filter(|action| action.starts_with("ec2.")).count();
        assert_eq!(asked, if row.listed == listed[0] { 0 } else { 5 }, "{comparison}");
        assert_eq!(row.lost, 0, "{comparison}");
    }
}
