use std::future::pending;
use std::time::Duration;

use cloud_governor::RefusalKind;
use cloud_governor_examples::inventory::{Cloud, INTERRUPTED, LOST, Mode, Plain, Report, World, aws};
use cloud_governor_examples::sim::aws::Fleet;

use crate::common::{answered_and_needed, args, governed, outage, plain, run, run_until, simulation};

const FLEET: &str = "--accounts 2 --regions 2 --size vpcs=1..6,subnets=0..3,security_groups=1..3,instances=0..120,\
                     volumes=90..210,log_groups=5..60,log_streams=0..120,parameters=5..70,secrets=5..120";

/// For tests of what one service does.
const WITHOUT_EC2: &str = "--services logs,ssm,secretsmanager";

#[tokio::test]
async fn everything_is_found_and_nothing_is_asked_for_twice() {
    let (args, mode) = (args(FLEET), governed(""));
    let world = World::simulate(&args).await.expect("a simulation");
    let report = run_until(&args, &mode, &world, |_| pending()).await;
    let totals = simulation(&world, Cloud::Aws).totals();
    let mut found = report.found;
    assert_eq!(std::mem::take(&mut found.identities), 4);
    assert_eq!(found, totals.found);
    assert_eq!((report.lost, report.exit_code, report.incomplete.len()), (0, 0, 0));
    assert_eq!(report.listed, found.resources() + totals.accounts);
    for (call, answered, needed) in answered_and_needed(&world) {
        assert_eq!(answered, needed, "{call}");
    }
    let server = report.server.expect("a simulation");
    assert_eq!(report.summary.totals.calls, server.totals.requests, "the governor counts what the server sees");
}

#[tokio::test]
async fn nothing_is_lost_in_a_brownout_with_cuts_and_an_outage() {
    let args = args(&format!("{FLEET} --fault brownout=1/10 --fault cut=0.05"));
    let mode = governed("");
    let world = World::simulate(&args).await.expect("a simulation");
    // All faults end with the outage.
    let report = run_until(&args, &mode, &world, async |world| {
        outage(world, "ssm", 60, 20).await;
        pending().await
    })
    .await;
    assert_eq!((report.lost, report.exit_code), (0, 0), "{report}");
    assert!(report.server.as_ref().is_some_and(|server| server.totals.faulted > 20), "{report}");
}

#[tokio::test]
async fn a_listing_that_met_an_open_circuit_goes_on_where_it_stopped() {
    // Calls give up at once, and two that do open the circuit for half a second.
    let config = "ratelimit: { aws: { max_retries: 0, breaker: { failures: 2, cooldown: 0.5 } } }";
    let args = args(&format!("{FLEET},parameters=60..90 --max-requeues 50 --requeue-pause 200ms"));
    let mode = governed(config);
    let world = World::simulate(&args).await.expect("a simulation");
    let report = run_until(&args, &mode, &world, async |world| {
        outage(world, "ssm", 40, 12).await;
        pending().await
    })
    .await;
    assert_eq!((report.lost, report.exit_code), (0, 0), "{report}");
    assert!(report.requeues > 0 && report.summary.totals.breaker_trips > 0, "{report}");
    for (call, answered, needed) in answered_and_needed(&world) {
        assert_eq!(answered, needed, "{call}");
    }
}

#[tokio::test]
async fn the_plain_sdk_loses_calls_where_the_governor_loses_none() {
    let line = "--accounts 1 --regions 1 --services logs,ssm,secretsmanager \
                --size log_groups=24,log_streams=1,parameters=5,secrets=5 \
                --limit logs.DescribeLogStreams=4/4 --max-requeues 0";
    let knows = "ratelimit: { aws: { services: { logs.DescribeLogStreams: { max_rps: 3.9, burst: 2 } } } }";
    let governed = run(&args(line), &governed(knows)).await;
    let ungoverned = args(&format!("{line} --ungoverned standard"));
    let plain = run(&ungoverned, &plain(&ungoverned)).await;
    let throttled = |report: &Report| report.server.as_ref().map_or(0, |server| server.totals.throttled);
    assert_eq!((governed.lost, governed.exit_code), (0, 0), "{governed}");
    assert!(plain.lost > 0 && plain.exit_code == LOST, "{plain}");
    assert!(throttled(&plain) > 10 * throttled(&governed).max(1), "{plain}\n{governed}");
}

#[tokio::test]
async fn a_refusal_that_cost_something_names_the_exit_code() {
    let config = "ratelimit: { aws: { max_retries: 0, breaker: { failures: 1, cooldown: 60 } } }";
    let line =
        "--accounts 1 --regions 1 --size log_groups=3,log_streams=1,parameters=3,secrets=3 --fault down:service=ssm";
    let args = args(&format!("{line} {WITHOUT_EC2} --max-requeues 1 --requeue-pause 10ms"));
    let report = run(&args, &governed(config)).await;
    // The first failure opens the circuit for a minute, and the second try meets it.
    assert!(report.lost > 0, "{report}");
    assert_eq!(report.exit_code, RefusalKind::CircuitOpen.exit_code(), "{report}");
    assert!(report.incomplete.iter().all(|incomplete| incomplete.refusal == Some("circuit_open")), "{report}");
}

#[tokio::test]
async fn stopping_early_tells_what_was_found_so_far() {
    let size = "--accounts 1 --regions 1 --size log_groups=400,log_streams=1,parameters=60,secrets=60";
    let args = args(&format!("{size} {WITHOUT_EC2}"));
    let mode = governed("");
    let world = World::simulate(&args).await.expect("a simulation");
    let report = run_until(&args, &mode, &world, |world| async {
        let truth = simulation(world, Cloud::Aws).server().truth();
        while truth.snapshot().totals.answered < 40 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    assert!(report.interrupted);
    assert_eq!(report.exit_code, INTERRUPTED);
    assert!(report.listed > 0 && report.lost > 0, "{report}");
    assert!(report.incomplete.iter().any(|incomplete| incomplete.reason.is_none()));
}

#[tokio::test]
async fn nothing_is_queued_again_when_nothing_was_ever_answered() {
    let config = "ratelimit: { aws: { max_retries: 1, base_delay: 0.01, breaker: { failures: 1000 } } }";
    // It would go on for hours.
    let line = "--accounts 1 --regions 1 --size small --max-requeues 1000000 --requeue-pause 10ms --patience 100ms";
    let silent = run(&args(&format!("{line} --fault down")), &governed(config)).await;
    assert_eq!((silent.listed, silent.exit_code, silent.incomplete.len()), (0, LOST, aws::Kind::ALL.len()), "{silent}");
}

#[tokio::test]
async fn one_service_that_answers_is_reason_to_wait_for_the_others() {
    let config = "ratelimit: { aws: { max_retries: 1, base_delay: 0.01, breaker: { failures: 1000 } } }";
    let line = "--accounts 1 --regions 1 --size log_groups=2,log_streams=1,parameters=2,secrets=2 \
                --max-requeues 1000000 --requeue-pause 10ms --patience 2s --fault down@0s+3s:service=ssm";
    let report = run(&args(&format!("{line} {WITHOUT_EC2}")), &governed(config)).await;
    assert_eq!((report.lost, report.exit_code), (0, 0), "{report}");
    assert!(report.requeues > 0, "{report}");
}

#[tokio::test]
async fn debug_shows_no_key_of_a_world_or_its_listings() {
    let args = args("--accounts 1 --regions 1 --size small");
    let world = World::simulate(&args).await.expect("a simulation");
    let fleet = Fleet::seeded(1, &args.simulation.size.fleet(1, 1)).expect("a possible size");
    let secret = fleet.accounts()[0].secret_access_key();
    for mode in [governed(""), Mode::Plain(Plain::Standard)] {
        let listings = world.listings(&mode, 4).await.expect("a possible world");
        let shown = format!("{world:?} {mode:?} {listings:?}");
        assert!(shown.contains("Listing") && !shown.contains(secret));
    }
}
