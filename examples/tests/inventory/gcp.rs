//! Google Cloud, on the simulation: its counts and the organization's totals judge.

use std::future::pending;

use cloud_governor::{RefusalKind, Scope};
use cloud_governor_examples::inventory::{Cloud, LOST, Mode, Plain, World, gcp};
use cloud_governor_examples::sim::gcp::Fleet;

use crate::common::{answered_and_needed, args, governed, learning, plain, run, run_until, simulation, throttled};

#[tokio::test]
async fn twelve_projects_are_listed_whole_each_charged_for_its_own_and_nothing_is_asked_for_twice() {
    tokio::join!(twelve("published", governed("")), twelve("learning", learning()));
}

async fn twelve(name: &str, mode: Mode) {
    let args = args("--cloud gcp --projects 12 --size small --seed 3");
    let world = World::simulate(&args).await.expect("a simulation");
    let report = run_until(&args, &mode, &world, |_| pending()).await;
    let totals = simulation(&world, Cloud::Gcp).totals();
    assert_eq!(report.found, totals.found, "{name}: {report}");
    assert_eq!((report.lost, report.exit_code, report.incomplete.len()), (0, 0, 0), "{name}: {report}");
    assert_eq!((totals.accounts, report.listed), (12, 12 + report.found.resources()), "{name}");
    // By project, as the server charged them.
    for (call, answered, needed) in answered_and_needed(&world) {
        assert_eq!(answered, needed, "{name}: {call}");
    }
    let server = report.server.as_ref().expect("a simulation");
    assert_eq!(report.summary.totals.calls, server.totals.requests, "{name}: the governor counts what the server sees");
    let Mode::Governed(governor) = mode else { panic!("governed") };
    for leaf in simulation(&world, Cloud::Gcp).requests().keys() {
        let scope = Scope::new("gcp", &leaf.account, "", &leaf.service).with_operation(&leaf.operation);
        assert!(governor.inspect(&scope).is_some(), "{name}: the server's accounts are the governor's: {scope}");
    }
}

#[tokio::test]
async fn a_long_list_is_followed_from_page_to_page() {
    let size = "zone_instances=501,disks=1,service_accounts=0,storage_buckets=0";
    let args = args(&format!("--cloud gcp --projects 1 --size {size}"));
    let world = World::simulate(&args).await.expect("a simulation");
    let report = run_until(&args, &learning(), &world, |_| pending()).await;
    let found = report.found.in_gcp();
    assert_eq!((found.assets, found.search_results, found.instances), (2006, 2006, 2004), "{report}");
    for (call, answered, needed) in answered_and_needed(&world) {
        assert_eq!(answered, needed, "{call}");
    }
}

/// A project with seven pages of assets, of which two are granted in a minute that is two seconds long.
const SHORT_MINUTES: &str = "--cloud gcp --projects 1 --services cloudasset --minute 2s --minute-left 2s \
                             --limit cloudasset.ListAssets=2 \
                             --size zone_instances=2,disks=620,service_accounts=5,storage_buckets=5";

#[tokio::test]
async fn the_governor_loses_nothing_and_is_throttled_less_than_the_plain_sdk() {
    let knows = "ratelimit: { gcp: { services: { cloudasset.ListAssets: { max_rps: 0.9, burst: 1 } } } }";
    let ungoverned = args(&format!("{SHORT_MINUTES} --ungoverned standard --requeue-pause 50ms --max-requeues 1000"));
    let (known, governed, plain) = (args(SHORT_MINUTES), governed(knows), plain(&ungoverned));
    let (governed, plain) = tokio::join!(run(&known, &governed), run(&ungoverned, &plain));
    assert_eq!((governed.lost, governed.exit_code), (0, 0), "{governed}");
    assert_eq!((plain.mode, plain.lost), ("standard", 0), "{plain}");
    assert!(throttled(&governed) < throttled(&plain), "governed:\n{governed}\nplain:\n{plain}");
}

#[tokio::test]
async fn what_the_plain_sdk_does_not_ask_for_again_is_lost_and_nothing_of_the_governor_s_is() {
    let line = format!("{SHORT_MINUTES} --max-requeues 0");
    let ungoverned = args(&format!("{line} --ungoverned standard"));
    let (heard, learning, plain) = (args(&line), learning(), plain(&ungoverned));
    let (governed, plain) = tokio::join!(run(&heard, &learning), run(&ungoverned, &plain));
    assert_eq!((governed.lost, governed.exit_code, governed.requeues), (0, 0, 0), "{governed}");
    assert!(plain.lost > 0 && plain.exit_code == LOST, "{plain}");
    let reason = plain.incomplete[0].reason.as_deref();
    assert_eq!(reason, Some("cloudasset.ListAssets: RATE_LIMIT_EXCEEDED (HTTP 429)"), "{plain}");
}

#[tokio::test]
async fn nothing_is_lost_in_a_brownout_with_cuts_and_an_outage_at_first() {
    let line = "--cloud gcp --projects 3 --size small --fault brownout=1/8 --fault cut=0.05 \
                --fault down@0s+300ms:service=compute --requeue-pause 100ms";
    let report = run(&args(line), &governed("ratelimit: { gcp: { base_delay: 0.05, max_backoff: 0.5 } }")).await;
    assert_eq!((report.lost, report.exit_code), (0, 0), "{report}");
    assert!(report.server.as_ref().is_some_and(|server| server.totals.faulted > 5), "{report}");
}

#[tokio::test]
async fn a_failed_page_is_asked_for_again_and_no_other() {
    let size = "zone_instances=501,disks=1,service_accounts=0,storage_buckets=0";
    let line = format!(
        "--cloud gcp --projects 1 --size {size} --fault brownout=1/4 --fault cut=1/9 --max-requeues 100 --requeue-pause 1ms"
    );
    let args = args(&line);
    // Every failure goes back to the listing, which has to know where it was.
    let mode = governed("ratelimit: { gcp: { max_retries: 0, breaker: { failures: 1000 } } }");
    let world = World::simulate(&args).await.expect("a simulation");
    let report = run_until(&args, &mode, &world, |_| pending()).await;
    assert_eq!((report.lost, report.exit_code), (0, 0), "{report}");
    assert!(report.requeues > 3, "{report}");
    for (call, answered, needed) in answered_and_needed(&world) {
        assert_eq!(answered, needed, "{call}");
    }
}

#[tokio::test]
async fn a_refusal_that_cost_something_names_the_exit_code() {
    let config = "ratelimit: { gcp: { max_retries: 0, breaker: { failures: 1, cooldown: 60 } } }";
    let line = "--cloud gcp --projects 1 --size zone_instances=1,disks=1,service_accounts=1,storage_buckets=1 \
                --fault down:service=compute --fan-out 1 --max-requeues 1 --requeue-pause 10ms";
    let report = run(&args(line), &governed(config)).await;
    assert_eq!(report.exit_code, RefusalKind::CircuitOpen.exit_code(), "{report}");
    // The assets are listed and found, and the project is not, for want of its instances.
    assert_eq!((report.listed, report.incomplete.len()), (2 * (1 + 4 + 1 + 1 + 1), 1), "{report}");
    assert_eq!(
        (report.incomplete[0].cloud, report.incomplete[0].refusal),
        (Cloud::Gcp, Some("circuit_open")),
        "{report}"
    );
}

#[tokio::test]
async fn a_service_that_is_not_listed_is_not_missed() {
    let line = "--cloud gcp --projects 2 --size small --services compute-engine";
    let report = run(&args(line), &learning()).await;
    let found = report.found.in_gcp();
    assert_eq!((report.lost, found.assets, found.search_results), (0, 0, 0), "{report}");
    assert_eq!(report.listed, 2 + found.instances, "{report}");
    assert!(!report.to_string().contains("search results"), "{report}");
}

#[tokio::test]
async fn nothing_is_queued_again_when_nothing_was_ever_answered() {
    let config = "ratelimit: { gcp: { max_retries: 1, base_delay: 0.01, breaker: { failures: 1000 } } }";
    let line = "--cloud gcp --projects 1 --size small --max-requeues 1000000 --requeue-pause 10ms --patience 100ms";
    let silent = run(&args(&format!("{line} --fault down")), &governed(config)).await;
    let kinds = gcp::Kind::ALL.len();
    assert_eq!((silent.listed, silent.exit_code, silent.incomplete.len()), (0, LOST, kinds), "{silent}");
}

#[tokio::test]
async fn debug_shows_no_token_of_a_world_or_its_listings() {
    let args = args("--cloud gcp --projects 1 --size small");
    let world = World::simulate(&args).await.expect("a simulation");
    let fleet = Fleet::seeded(1, &args.simulation.size.organization(1)).expect("a possible size");
    for mode in [governed(""), Mode::Plain(Plain::Standard)] {
        let listings = world.listings(&mode, 4).await.expect("a possible world");
        let shown = format!("{world:?} {mode:?} {listings:?}");
        assert!(shown.contains("Listing") && shown.contains(fleet.caller().email()), "{shown}");
        assert!(!shown.contains(fleet.caller().token()));
    }
}
