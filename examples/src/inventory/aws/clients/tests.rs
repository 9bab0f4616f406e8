use std::collections::BTreeSet;

use aws_config::BehaviorVersion;
use aws_types::region::Region;

use super::*;

fn partitions(quotas: &Quotas, region: &'static str) -> Vec<RetryPartition> {
    let config = SdkConfig::builder().behavior_version(BehaviorVersion::latest()).region(Region::new(region)).build();
    let clients = Clients::new(&config, Rules::new(), quotas);
    let partitions = [
        clients.sts.config().retry_partition(),
        clients.logs.config().retry_partition(),
        clients.ssm.config().retry_partition(),
        clients.secrets.config().retry_partition(),
    ];
    partitions.into_iter().map(|partition| partition.expect("a partition").clone()).collect()
}

#[test]
fn accounts_of_one_run_share_the_sdk_s_quotas_by_service_and_region() {
    let quotas = Quotas::fresh();
    let (one, other) = (partitions(&quotas, "eu-west-1"), partitions(&quotas, "eu-west-1"));
    assert_eq!(one, other);
    let elsewhere = partitions(&quotas, "us-east-1");
    let all: BTreeSet<_> = one.iter().chain(&elsewhere).map(ToString::to_string).collect();
    assert_eq!(all.len(), 8, "{all:?}");
}

#[test]
fn two_runs_share_none() {
    let (one, other) = (partitions(&Quotas::fresh(), "eu-west-1"), partitions(&Quotas::fresh(), "eu-west-1"));
    assert!(one.iter().all(|partition| !other.contains(partition)), "{one:?} {other:?}");
}
