use super::*;
use crate::sim::aws::Ec2Size;

#[test]
fn a_size_is_a_name_or_parts_of_the_default() {
    assert_eq!("default".parse(), Ok(Size::default()));
    assert_eq!("small".parse(), Ok(Size::small()));
    assert_eq!("large".parse(), Ok(Size::large()));
    let set: Size = "log_groups=10..80,secrets=5".parse().expect("a size");
    assert_eq!(set, Size { log_groups: 10..=80, secrets: 5..=5, ..Size::default() });
}

#[test]
fn the_parts_of_ec2_are_set_like_the_others() {
    let set: Size = "vpcs=3,subnets=0..2,security_groups=4,instances=5..6,volumes=7".parse().expect("a size");
    let ec2 = Ec2Size { vpcs: 3..=3, subnets: 0..=2, security_groups: 4..=4, instances: 5..=6, volumes: 7..=7 };
    assert_eq!(set, Size { ec2, ..Size::default() });
}

#[test]
fn the_parts_of_azure_are_set_like_the_others() {
    let size: Size =
        "resource_groups=3,virtual_networks=0..2,network_subnets=4,virtual_machines=5..6".parse().expect("a size");
    let tenant = azure::FleetSize {
        subscriptions: 7,
        resource_groups: 3..=3,
        virtual_networks: 0..=2,
        subnets: 4..=4,
        virtual_machines: 5..=6,
        ..azure::FleetSize::default()
    };
    assert_eq!(size.tenant(7), tenant);
    assert_eq!(size.fleet(1, 1), Size::default().fleet(1, 1));
}

#[test]
fn the_parts_of_google_cloud_are_set_like_the_others() {
    let size: Size = "zone_instances=3,disks=0..2,service_accounts=4,storage_buckets=5..6".parse().expect("a size");
    let organization = gcp::FleetSize {
        projects: 7,
        instances: 3..=3,
        disks: 0..=2,
        service_accounts: 4..=4,
        buckets: 5..=6,
        ..gcp::FleetSize::default()
    };
    assert_eq!(size.organization(7), organization);
    assert_eq!((size.fleet(1, 1), size.tenant(1)), (Size::default().fleet(1, 1), Size::default().tenant(1)));
}

#[test]
fn the_largest_default_project_needs_somewhat_more_than_a_minute_s_quota() {
    let fleet = gcp::Fleet::seeded(1, &Size::default().organization(3)).expect("a possible size");
    let assets = |project: &gcp::Project| gcp::AssetKind::ALL.into_iter().map(|kind| project.assets(kind)).sum::<u64>();
    let pages = fleet.projects().iter().map(|project| assets(project).div_ceil(u64::from(gcp::PAGE)));
    let minute = gcp::Limits::default().quota(gcp::Bucket::ListAssets).limit.capacity() as u64;
    let over = pages.map(|pages| pages.saturating_sub(minute)).max().expect("three projects");
    assert!((1..20).contains(&over), "{over}");
}

#[test]
fn the_busiest_default_subscription_keeps_its_reads_busy_for_some_twenty_seconds() {
    let fleet = azure::Fleet::seeded(1, &Size::default().tenant(3)).expect("a possible size");
    let reads = fleet.subscriptions().iter().map(|one| one.networks.len() + one.machines.len()).max();
    let reads = reads.expect("three subscriptions") as f64;
    let limits = azure::Limits::default();
    let seconds = limits.quota(azure::Bucket::Reads).limit.least_time(reads).as_secs();
    assert!((17..25).contains(&seconds), "{seconds}");
}

#[test]
fn the_default_fleet_is_the_one_that_figures_are_published_of() {
    let fleet = crate::sim::aws::Fleet::seeded(1, &Size::default().fleet(3, 4)).expect("a possible size");
    let totals = fleet.totals();
    let resources = totals.log_groups + totals.log_streams + totals.parameters + totals.secrets;
    assert_eq!(resources + totals.accounts, 69_128);
}

#[test]
fn a_text_that_is_no_size_is_refused_with_what_would_be() {
    for text in ["huge", "", "log_groups", "buckets=4", "secrets=4,,"] {
        let error = text.parse::<Size>().expect_err(text);
        assert!(matches!(error, TextError::Size(_)), "{error:?}");
        assert!(error.to_string().contains("small, default or large"));
    }
    for text in ["secrets=", "secrets=-1", "secrets=9..3", "secrets=a..b", "secrets=99999999999"] {
        assert!(matches!(text.parse::<Size>(), Err(TextError::Count(_))), "{text}");
    }
}

#[test]
fn a_limit_sets_one_bucket_of_the_simulation() {
    let both: BucketSize = "logs.DescribeLogGroups=10/5".parse().expect("a limit");
    let same: BucketSize = "ssm.parameter-reads=7".parse().expect("a limit");
    let limits = same.apply(both.apply(Limits::default()));
    let size = |bucket: &str| {
        let quota = limits.quotas().into_iter().find(|quota| quota.bucket == bucket).expect("a bucket");
        (quota.limit.capacity(), quota.limit.refill_per_s())
    };
    assert_eq!(size("logs.DescribeLogGroups"), (10.0, 5.0));
    assert_eq!(size("ssm.parameter-reads"), (7.0, 7.0));
    assert_eq!(size("logs.DescribeLogStreams"), (25.0, 25.0));
}

#[test]
fn a_limit_of_azure_sets_a_bucket_of_azure_and_keeps_its_period() {
    let reads: BucketSize = "arm.reads=40/10".parse().expect("a limit");
    let lists: BucketSize = "compute.list-vms=90/30".parse().expect("a limit");
    assert_eq!((reads.cloud(), reads.bucket()), (Cloud::Azure, "arm.reads"));
    assert_eq!(reads.apply(Limits::default()), Limits::default());
    let limits = lists.apply_to_azure(reads.apply_to_azure(azure::Limits::default()));
    let [reads, lists] = [azure::Bucket::Reads, azure::Bucket::HighCostGet].map(|bucket| limits.quota(bucket).limit);
    assert_eq!((reads.capacity(), reads.refill_per_s(), reads.period()), (40.0, 10.0, None));
    assert_eq!((lists.capacity(), lists.refill_per_s()), (90.0, 0.5));
    assert_eq!("ssm.parameter-reads=4".parse::<BucketSize>().expect("a limit").apply_to_azure(limits.clone()), limits);
}

#[test]
fn a_limit_of_google_cloud_sets_a_bucket_of_google_cloud_and_keeps_its_minute() {
    let assets: BucketSize = "cloudasset.ListAssets=40".parse().expect("a limit");
    assert_eq!((assets.cloud(), assets.bucket()), (Cloud::Gcp, "cloudasset.ListAssets"));
    assert_eq!(assets.apply(Limits::default()), Limits::default());
    let minute = std::time::Duration::from_secs(2);
    let limits = assets.apply_to_gcp(gcp::Limits::default().with_minute(minute).expect("a possible minute"));
    let limit = limits.quota(gcp::Bucket::ListAssets).limit;
    assert_eq!((limit.capacity(), limit.refill_per_s(), limit.period()), (40.0, 20.0, Some(minute)));
}

#[test]
fn a_text_that_is_no_limit_is_refused() {
    for text in ["logs.DescribeLogGroups", "logs.DescribeLogGroups=", "logs.DescribeLogGroups=5/x"] {
        assert!(matches!(text.parse::<BucketSize>(), Err(TextError::Limit(_))), "{text}");
    }
    assert!(matches!("logs.DescribeLogGroups=0/5".parse::<BucketSize>(), Err(TextError::Invalid(_))));
    let error = "logs.Nothing=5".parse::<BucketSize>().expect_err("an unknown bucket");
    assert!(error.to_string().contains("logs.DescribeLogStreams"), "{error}");
}
