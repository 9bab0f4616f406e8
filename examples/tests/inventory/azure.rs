//! Azure, on the simulation: its counts and the tenant's totals judge.

use std::future::pending;

use cloud_governor::{RefusalKind, Scope, Verb};
use cloud_governor_examples::inventory::{Cloud, LOST, Mode, Plain, World, azure};
use cloud_governor_examples::sim::azure::Fleet;

use crate::common::{answered_and_needed, args, governed, learning, plain, run, run_until, simulation, throttled};

#[tokio::test]
async fn twenty_subscriptions_are_listed_whole_and_nothing_is_asked_for_twice() {
    tokio::join!(twenty("published", governed("")), twenty("learning", learning()));
}

async fn twenty(name: &str, mode: Mode) {
    let args = args("--cloud azure --subscriptions 20 --size small --seed 3");
    let world = World::simulate(&args).await.expect("a simulation");
    let report = run_until(&args, &mode, &world, |_| pending()).await;
    let totals = simulation(&world, Cloud::Azure).totals();
    assert_eq!(report.found, totals.found, "{name}: {report}");
    assert_eq!((report.lost, report.exit_code, report.incomplete.len()), (0, 0, 0), "{name}: {report}");
    assert_eq!((totals.accounts, report.listed), (20, 20 + report.found.resources()), "{name}");
    for (call, answered, needed) in answered_and_needed(&world) {
        assert_eq!(answered, needed, "{name}: {call}");
    }
    let server = report.server.as_ref().expect("a simulation");
    let tokens = server.by_action.get("identity.token").map(|counts| counts.requests);
    assert_eq!(tokens, Some(1), "{name}: one credential for all subscriptions");
    assert_eq!(report.summary.totals.calls, server.totals.requests, "{name}: the governor counts what the server sees");
}

#[tokio::test]
async fn a_long_list_is_followed_from_page_to_page() {
    let size = "resource_groups=250,virtual_networks=2,network_subnets=130,virtual_machines=101";
    let args = args(&format!("--cloud azure --subscriptions 1 --size {size}"));
    let world = World::simulate(&args).await.expect("a simulation");
    let report = run_until(&args, &learning(), &world, |_| pending()).await;
    let found = report.found.in_azure();
    assert_eq!((found.resource_groups, found.subnets, found.virtual_machines), (250, 260, 101), "{report}");
    for (call, answered, needed) in answered_and_needed(&world) {
        assert_eq!(answered, needed, "{call}");
    }
}

#[tokio::test]
async fn nothing_is_lost_in_a_brownout_with_cuts_and_without_tokens_at_first() {
    let line = "--cloud azure --subscriptions 3 --size small --fault brownout=1/8 --fault cut=0.05 \
                --fault down@0s+300ms:service=identity --requeue-pause 100ms";
    let report = run(&args(line), &governed("ratelimit: { azure: { base_delay: 0.05, max_backoff: 0.5 } }")).await;
    assert_eq!((report.lost, report.exit_code), (0, 0), "{report}");
    let server = report.server.as_ref().expect("a simulation");
    assert!(server.totals.faulted > 20, "{report}");
    assert!(server.by_action.get("identity.token").is_some_and(|counts| counts.faulted > 0), "{report}");
}

#[tokio::test]
async fn a_failed_page_is_asked_for_again_and_no_other() {
    let size = "resource_groups=230,virtual_networks=12,network_subnets=120,virtual_machines=120";
    let line = format!(
        "--cloud azure --subscriptions 1 --size {size} --fault brownout=1/4 --fault cut=1/9 --max-requeues 100 --requeue-pause 1ms"
    );
    let args = args(&line);
    // Every failure goes back to the listing, which has to know where it was.
    let mode = governed("ratelimit: { azure: { max_retries: 0, breaker: { failures: 1000 } } }");
    let world = World::simulate(&args).await.expect("a simulation");
    let report = run_until(&args, &mode, &world, |_| pending()).await;
    assert_eq!((report.lost, report.exit_code), (0, 0), "{report}");
    assert!(report.requeues > 3, "{report}");
    for (call, answered, needed) in answered_and_needed(&world) {
        assert_eq!(answered, needed, "{call}");
    }
}

#[tokio::test]
async fn what_answers_say_is_left_saves_throttles() {
    // Each subscription has some 70 reads to make, of two services that share 40 and 10 a second and do not know it.
    let line = "--cloud azure --subscriptions 8 --services network,compute --limit arm.reads=40/10 \
                --size resource_groups=3,virtual_networks=18,network_subnets=2,virtual_machines=50";
    let (heed, ignore) = (args(line), args(&format!("{line} --ignore-quota-headers")));
    let (one, other) = (learning(), learning());
    let (heeded, ignored) = tokio::join!(run(&heed, &one), run(&ignore, &other));
    for report in [&heeded, &ignored] {
        assert_eq!((report.lost, report.exit_code), (0, 0), "{report}");
    }
    assert!(throttled(&heeded) < throttled(&ignored), "heeded:\n{heeded}\nignored:\n{ignored}");
}

#[tokio::test]
async fn reads_of_each_service_have_a_leaf_of_their_own() {
    let args = args("--cloud azure --subscriptions 1 --size small");
    let mode = learning();
    let world = World::simulate(&args).await.expect("a simulation");
    run_until(&args, &mode, &world, |_| pending()).await;
    let Mode::Governed(governor) = mode else { panic!("governed") };
    let leaves = simulation(&world, Cloud::Azure).requests().keys();
    for leaf in leaves {
        let scope = Scope::new("azure", &leaf.account, "", &leaf.service).with_verb(Verb::Read);
        assert!(governor.inspect(&scope).is_some(), "{scope}");
    }
}

#[tokio::test]
async fn the_plain_sdk_is_throttled_where_the_configured_governor_is_not() {
    let line = "--cloud azure --subscriptions 1 --services compute --limit arm.reads=20/20 --size resource_groups=2,virtual_machines=60";
    let knows = "ratelimit: { azure: { services: { 'compute:read': { max_rps: 19, burst: 15 } } } }";
    let (known, ungoverned) = (args(line), args(&format!("{line} --ungoverned standard")));
    let (governed, plain) = (governed(knows), plain(&ungoverned));
    let (governed, plain) = tokio::join!(run(&known, &governed), run(&ungoverned, &plain));
    assert_eq!((governed.lost, throttled(&governed)), (0, 0), "{governed}");
    assert_eq!(plain.mode, "standard");
    assert!(throttled(&plain) > 10, "{plain}");
}

#[tokio::test]
async fn a_refusal_that_cost_something_names_the_exit_code() {
    let config = "ratelimit: { azure: { max_retries: 0, breaker: { failures: 1, cooldown: 60 } } }";
    let line = "--cloud azure --subscriptions 1 --size resource_groups=2,virtual_networks=2,virtual_machines=2 \
                --fault down:service=network --max-requeues 1 --requeue-pause 10ms";
    let report = run(&args(line), &governed(config)).await;
    assert_eq!(report.exit_code, RefusalKind::CircuitOpen.exit_code(), "{report}");
    // What the others have is listed, and the subscription is not, for want of its networks.
    assert_eq!((report.listed, report.incomplete.len()), (4, 1), "{report}");
    assert_eq!(report.incomplete[0].refusal, Some("circuit_open"), "{report}");
}

#[tokio::test]
async fn all_clouds_are_listed_at_once_through_one_governor() {
    let size = "log_groups=4,log_streams=2,parameters=4,secrets=4,vpcs=2,resource_groups=3,virtual_networks=4,\
                network_subnets=2,virtual_machines=5,zone_instances=3,disks=105,service_accounts=1,storage_buckets=1";
    let args = args(&format!("--cloud all --accounts 1 --regions 2 --subscriptions 2 --projects 2 --size {size}"));
    let mode = governed("");
    let world = World::simulate(&args).await.expect("a simulation");
    let report = run_until(&args, &mode, &world, |_| pending()).await;
    assert_eq!((report.lost, report.exit_code), (0, 0), "{report}");
    let clouds = [Cloud::Aws, Cloud::Azure, Cloud::Gcp];
    assert_eq!(report.clouds, clouds.into());
    let simulated = clouds.map(|cloud| simulation(&world, cloud));
    let there = simulated.map(|simulated| simulated.totals().accounts + simulated.totals().found.resources());
    assert_eq!((there[1], there[2]), (2 + 2 * (3 + 4 + 8 + 5), 2 + 2 * (2 * (1 + 12 + 105 + 1 + 1) + 12)), "{report}");
    assert_eq!(report.listed, there.iter().sum::<u64>(), "{report}");
    for (call, answered, needed) in answered_and_needed(&world) {
        assert_eq!(answered, needed, "{call}");
    }
    let seen = simulated.map(|simulated| simulated.server().truth().snapshot().totals);
    let server = report.server.as_ref().expect("a simulation");
    assert_eq!(server.totals.requests, seen.iter().map(|seen| seen.requests).sum::<u64>(), "{report}");
    assert_eq!(server.totals.answered, seen.iter().map(|seen| seen.answered).sum::<u64>(), "{report}");
    assert_eq!(report.summary.totals.calls, server.totals.requests, "{report}");
    let ideals = simulated.map(|simulated| simulated.ideal().seconds);
    assert_eq!(report.ideal_s, ideals.into_iter().reduce(f64::max));
    let told = report.to_string();
    for expected in [
        "AWS, Azure, Google Cloud side by side",
        "log groups",
        "virtual machines",
        "search results",
        "logs",
        "VirtualNetworks.listAll",
        "SearchAllResources",
    ] {
        assert!(told.contains(expected), "{expected}:\n{told}");
    }
}

#[tokio::test]
async fn a_service_that_is_not_listed_is_not_missed() {
    let line = "--cloud azure --subscriptions 2 --size small --services resources";
    let report = run(&args(line), &learning()).await;
    let found = report.found.in_azure();
    assert_eq!((report.lost, found.virtual_networks, found.virtual_machines), (0, 0, 0), "{report}");
    assert_eq!(report.listed, 2 + found.resource_groups, "{report}");
    assert!(!report.to_string().contains("virtual networks"), "{report}");
}

#[tokio::test]
async fn nothing_is_queued_again_when_nothing_was_ever_answered() {
    let config = "ratelimit: { azure: { max_retries: 1, base_delay: 0.01, breaker: { failures: 1000 } } }";
    let line =
        "--cloud azure --subscriptions 1 --size small --max-requeues 1000000 --requeue-pause 10ms --patience 100ms";
    let silent = run(&args(&format!("{line} --fault down")), &governed(config)).await;
    let kinds = azure::Kind::ALL.len();
    assert_eq!((silent.listed, silent.exit_code, silent.incomplete.len()), (0, LOST, kinds), "{silent}");
}

#[tokio::test]
async fn debug_shows_no_secret_of_a_world_or_its_listings() {
    let args = args("--cloud azure --subscriptions 1 --size small");
    let world = World::simulate(&args).await.expect("a simulation");
    let fleet = Fleet::seeded(1, &args.simulation.size.tenant(1)).expect("a possible size");
    let principal = &fleet.principals()[0];
    for mode in [governed(""), Mode::Plain(Plain::Standard)] {
        let listings = world.listings(&mode, 4).await.expect("a possible world");
        let shown = format!("{world:?} {mode:?} {listings:?}");
        assert!(shown.contains("Listing") && shown.contains(principal.client_id()), "{shown}");
        assert!(!shown.contains(principal.secret()));
    }
}
