//! EC2 through its real client.

use std::process::{Command, Output};
use std::sync::Arc;
use std::time::Duration;

use aws_config::BehaviorVersion;
use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_sdk_ec2::error::{ProvideErrorMetadata, SdkError};
use aws_types::SdkConfig;
use aws_types::region::Region;
use cloud_governor::{Config, Governor, Scope};
use cloud_governor_examples::inventory::{Mode, World};
use cloud_governor_examples::sim::aws::{Aws, Ec2Size, Fleet, FleetSize, Limits};
use cloud_governor_examples::sim::{Limit, Server};

use crate::common::{answered_and_needed, args, governed, plain, run, run_until};

const REGION: &str = "eu-west-1";

/// One place of EC2, and a client for it.
struct Site {
    aws: Arc<Aws>,
    server: Server,
    governor: Governor,
    ec2: aws_sdk_ec2::Client,
}

impl Site {
    async fn start(limits: Limits, governor: &str) -> Self {
        let ec2 = Ec2Size { vpcs: 23..=23, ..Ec2Size::default() };
        let size = FleetSize { accounts: 1, regions: 1, ec2, ..FleetSize::default() };
        let aws = Arc::new(Aws::new(Fleet::seeded(2, &size).expect("a possible size"), limits));
        let server = Server::start(aws.clone(), 2).await.expect("a free port");
        let account = &aws.fleet().accounts()[0];
        let keys = Credentials::new(account.access_key_id(), account.secret_access_key(), None, None, "test");
        let config = SdkConfig::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::new(REGION))
            .credentials_provider(SharedCredentialsProvider::new(keys))
            .endpoint_url(server.url())
            .http_client(aws_smithy_http_client::Builder::new().build_http())
            .build();
        let settings = Config::from_yaml(governor, "test").expect("a valid configuration");
        let governor = Governor::builder().config(settings).seed(7).build();
        let config = Mode::Governed(governor.clone()).apply(&config, Some(account.id()));
        Site { ec2: aws_sdk_ec2::Client::new(&config), governor, aws, server }
    }

    fn scope(&self, operation: &str) -> Scope {
        Scope::new("aws", self.aws.fleet().accounts()[0].id(), REGION, "ec2").with_operation(operation)
    }
}

fn limits(bucket: &str, capacity: f64, refill_per_s: f64) -> Limits {
    Limits::default().with(bucket, Limit::new(capacity, refill_per_s).expect("possible")).expect("a known bucket")
}

#[tokio::test]
async fn everything_in_ec2_is_found_page_by_page_and_nothing_is_asked_for_twice() {
    let sizes = [
        "vpcs=103,subnets=0..2,security_groups=1,instances=250,volumes=301",
        "vpcs=2,subnets=230,security_groups=101,instances=0,volumes=0",
        "vpcs=0,instances=5,volumes=100",
    ];
    // What the client does is looked at here, not how fast.
    let open =
        ["DescribeVpcs", "DescribeSubnets", "DescribeSecurityGroups"].map(|name| format!("--limit ec2.{name}=1e6"));
    let mode = governed(
        "ratelimit: { aws: { services: { ec2.DescribeSubnets: { max_rps: 9999, burst: 999 }, \
                         ec2.DescribeSecurityGroups: { max_rps: 9999, burst: 999 } } } }",
    );
    for size in sizes {
        let args = args(&format!("--accounts 1 --regions 1 --services ec2 --size {size} {}", open.join(" ")));
        let world = World::simulate(&args).await.expect("a simulation");
        let report = run_until(&args, &mode, &world, |_| std::future::pending()).await;
        assert_eq!((report.lost, report.exit_code), (0, 0), "{report}");
        assert_eq!(report.listed, 1 + report.found.resources(), "{report}");
        for (call, answered, needed) in answered_and_needed(&world) {
            assert_eq!(answered, needed, "{size}: {call}");
        }
        let server = report.server.as_ref().expect("a simulation");
        assert_eq!(report.summary.totals.calls, server.totals.requests, "{report}");
        assert_eq!(server.by_action.len(), 6 - 2 * usize::from(size.starts_with("vpcs=0")), "{report}");
        assert!(report.to_string().contains("security groups"), "{report}");
    }
}

#[tokio::test]
async fn a_failed_page_is_asked_for_again_and_no_other() {
    let args = args(
        "--accounts 1 --regions 1 --services ec2 --fault brownout=1/3 --fault cut=1/7 --max-requeues 50 --requeue-pause 1ms \
         --size vpcs=12,subnets=3,security_groups=2,instances=450,volumes=330",
    );
    // Every failure goes back to the listing, which has to know where it was.
    let mode = governed("ratelimit: { aws: { max_retries: 0, breaker: { failures: 1000 } } }");
    let world = World::simulate(&args).await.expect("a simulation");
    let report = run_until(&args, &mode, &world, |_| std::future::pending()).await;
    assert_eq!((report.lost, report.exit_code), (0, 0), "{report}");
    assert!(report.requeues > 3, "{report}");
    for (call, answered, needed) in answered_and_needed(&world) {
        assert_eq!(answered, needed, "{call}");
    }
}

#[tokio::test]
async fn the_governor_is_not_throttled_where_the_plain_sdk_loses_calls() {
    let line = "--accounts 1 --regions 1 --services ec2 --max-requeues 0 --limit ec2.DescribeSubnets=10/5 \
                --size vpcs=40,subnets=1,security_groups=1,instances=5,volumes=5";
    let knows = "ratelimit: { aws: { services: { ec2.DescribeSubnets: { max_rps: 4.9, burst: 9 } } } }";
    let governed = run(&args(line), &governed(knows)).await;
    let ungoverned = args(&format!("{line} --ungoverned standard"));
    let plain = run(&ungoverned, &plain(&ungoverned)).await;
    assert_eq!((governed.lost, governed.exit_code), (0, 0), "{governed}");
    assert!(plain.lost > 0, "{plain}");
    let throttled = governed.server.as_ref().map(|server| server.totals.throttled);
    assert!(throttled <= Some(1), "{governed}");
}

#[tokio::test]
async fn a_throttle_lowers_the_rate_of_its_own_operation_alone() {
    let settings = "ratelimit: { aws: { base_delay: 0.2, max_backoff: 0.4, services: { ec2: { max_rps: 500 } } } }";
    let site = Site::start(limits("ec2.DescribeVpcs", 2.0, 4.0), settings).await;
    for _ in 0..4 {
        let answer = site.ec2.describe_vpcs().max_results(100).send().await.expect("in the end");
        assert_eq!(answer.vpcs().len(), 23);
        site.ec2.describe_subnets().max_results(100).send().await.expect("an answer");
    }
    let seen = site.server.truth().snapshot();
    let totals = site.governor.summary().totals;
    assert!(seen.totals.throttled > 0);
    assert_eq!((totals.throttled, totals.calls), (seen.totals.throttled, seen.totals.requests));
    assert_eq!((totals.transient_errors, totals.gave_up), (0, 0));
    let rates = |operation| {
        let leaf = site.governor.inspect(&site.scope(operation)).expect("a leaf of its own");
        (leaf.rate_rps, leaf.ceiling_rps)
    };
    let (slowed, ceiling) = rates("DescribeVpcs");
    assert!(slowed < ceiling, "{slowed} of {ceiling}");
    assert_eq!(rates("DescribeSubnets"), (500.0, 500.0));
    let account = site.aws.fleet().accounts()[0].id();
    assert_eq!(site.scope("DescribeVpcs").to_string(), format!("aws/{account}/{REGION}/ec2/DescribeVpcs"));
}

#[tokio::test]
async fn a_throttle_without_end_costs_all_retries_and_gives_the_client_s_own_error() {
    let settings = "ratelimit: { aws: { max_retries: 3, base_delay: 0.01, max_backoff: 0.02 } }";
    let site = Site::start(limits("ec2.DescribeVpcs", 1.0, 1e-6), settings).await;
    site.ec2.describe_vpcs().max_results(100).send().await.expect("the one token");
    let error = site.ec2.describe_vpcs().max_results(100).send().await.expect_err("no token is left");
    let SdkError::ServiceError(failed) = &error else { panic!("{error:?}") };
    assert_eq!(failed.raw().status().as_u16(), 503);
    assert_eq!((error.code(), error.message()), (Some("RequestLimitExceeded"), Some("Request limit exceeded.")));
    let seen = site.server.truth().snapshot().totals;
    assert_eq!((seen.answered, seen.throttled), (1, 4), "the call and its three retries");
    let totals = site.governor.summary().totals;
    assert_eq!((totals.throttled, totals.retries, totals.gave_up), (4, 3, 1));
}

#[tokio::test]
async fn the_client_s_own_paginator_is_governed_page_by_page() {
    let site = Site::start(Limits::default(), "ratelimit: { aws: { max_retries: 2 } }").await;
    let mut pages = site.ec2.describe_vpcs().into_paginator().page_size(5).send();
    let (mut vpcs, mut count) = (Vec::new(), 0);
    while let Some(page) = pages.try_next().await.expect("a page") {
        vpcs.extend(page.vpcs().iter().filter_map(|vpc| vpc.vpc_id().map(str::to_owned)));
        count += 1;
    }
    let there = &site.aws.fleet().accounts()[0].estate(REGION).ec2.vpcs;
    assert_eq!(vpcs, there.iter().map(|vpc| vpc.id.clone()).collect::<Vec<_>>());
    assert_eq!((count, site.governor.summary().totals.operations), (5, 5));
}

#[tokio::test]
async fn a_thousand_lists_left_on_any_page_leave_nothing_behind() {
    let settings = "ratelimit: { aws: { account_concurrency: 8, base_delay: 0.01, max_backoff: 0.1, retry_budget: 100000, \
                    breaker: { failures: 100000 }, services: { ec2: { max_rps: 5000, burst: 50 } } } }";
    let site = Site::start(limits("ec2.DescribeVpcs", 400.0, 400.0), settings).await;
    for fault in ["brownout=1/5", "cut=1/9", "slow=2ms"] {
        site.server.faults().add(fault.parse().expect("a fault"));
    }
    let lists: Vec<_> = (0..1000_u64)
        .map(|number| {
            let mut pages = site.ec2.describe_vpcs().into_paginator().page_size(5).send();
            let patience = Duration::from_millis(number.wrapping_mul(7919) % 2000);
            tokio::spawn(tokio::time::timeout(patience, async move { while pages.next().await.is_some() {} }))
        })
        .collect();
    let mut left = 0;
    for list in lists {
        left += u32::from(list.await.expect("no panic").is_err());
    }
    assert!(left > 100, "{left}");
    let leaf = site.governor.inspect(&site.scope("DescribeVpcs")).expect("a leaf that was called");
    assert_eq!((leaf.slots_in_use, leaf.waiting_for_rate, leaf.waiting_for_slot), (0, 0, 0), "{leaf:?}");
    site.server.faults().clear();
    site.ec2.describe_subnets().max_results(100).send().await.expect("an answer");
    let Site { server, ec2, .. } = site;
    drop(ec2);
    server.stop().await;
    let ended = async {
        while tokio::runtime::Handle::current().metrics().num_alive_tasks() > 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), ended).await.expect("no task is left");
}

#[tokio::test]
async fn what_the_client_reads_of_an_instance_is_what_the_simulation_has() {
    let site = Site::start(Limits::default(), "ratelimit: { enabled: true }").await;
    let estate = &site.aws.fleet().accounts()[0].estate(REGION).ec2;
    let answer = site.ec2.describe_instances().send().await.expect("an answer");
    let read: Vec<_> = answer.reservations().iter().flat_map(|launched| launched.instances()).collect();
    assert_eq!(read.len(), estate.instances.len());
    for (read, is) in read.iter().zip(&estate.instances) {
        assert_eq!((read.instance_id(), read.vpc_id()), (Some(is.id.as_str()), Some(is.vpc.as_str())));
        assert_eq!(read.subnet_id(), Some(is.subnet.as_str()));
        assert_eq!(read.state().and_then(|state| state.code()), Some(16));
        assert!(read.launch_time().is_some());
    }
    let disk = read[0].block_device_mappings()[0].ebs().and_then(|ebs| ebs.volume_id());
    assert_eq!(disk, estate.volumes.first().map(String::as_str));
    let answer = site.ec2.describe_volumes().send().await.expect("an answer");
    assert_eq!(answer.volumes()[0].attachments()[0].instance_id(), read[0].instance_id());
    let answer = site.ec2.describe_security_groups().send().await.expect("an answer");
    assert_eq!(answer.security_groups()[0].ip_permissions()[0].from_port(), Some(443));
}

/// The shortest program, signed with the keys of an account.
async fn describe_vpcs(site: &Site, key: &str, secret: &str, region: Option<&str>) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_describe_vpcs"));
    command
        .env("AWS_ENDPOINT_URL", site.server.url())
        .env_remove("AWS_REGION")
        .env_remove("AWS_DEFAULT_REGION")
        .env("AWS_ACCESS_KEY_ID", key)
        .env("AWS_SECRET_ACCESS_KEY", secret)
        .env("AWS_EC2_METADATA_DISABLED", "true")
        .env("AWS_CONFIG_FILE", "/dev/null")
        .env("AWS_SHARED_CREDENTIALS_FILE", "/dev/null");
    if let Some(region) = region {
        command.env("AWS_REGION", region);
    }
    tokio::task::spawn_blocking(move || command.output()).await.expect("a thread").expect("the program starts")
}

#[tokio::test(flavor = "multi_thread")]
async fn describe_vpcs_prints_every_vpc_of_the_default_profile() {
    let site = Site::start(Limits::default(), "ratelimit: { enabled: true }").await;
    let account = &site.aws.fleet().accounts()[0];
    let output = describe_vpcs(&site, account.access_key_id(), account.secret_access_key(), Some(REGION)).await;
    assert!(output.status.success(), "{output:?}");
    let printed = String::from_utf8(output.stdout).expect("text");
    let printed: Vec<_> = printed.lines().filter_map(|line| line.split(' ').next()).collect();
    let there = &account.estate(REGION).ec2.vpcs;
    assert_eq!(printed, there.iter().map(|vpc| vpc.id.as_str()).collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread")]
async fn describe_vpcs_says_what_is_wrong_and_shows_no_answer() {
    let site = Site::start(Limits::default(), "ratelimit: { enabled: true }").await;
    for (region, reason) in [(Some(REGION), "AuthFailure"), (None, "missing signing region")] {
        let output = describe_vpcs(&site, "AKIANOBODY", "hush", region).await;
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let said = String::from_utf8(output.stderr).expect("text");
        assert!(output.stdout.is_empty() && said.contains(reason), "{said}");
        assert!(["hush", "SdkBody", "headers", "Signature="].iter().all(|word| !said.contains(word)), "{said}");
    }
}
