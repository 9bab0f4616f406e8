//! EC2, with what moto puts into every region by itself (a VPC with its subnets and its security group) and what is
//! launched into it here.

use aws_sdk_ec2::types::VolumeType;

use crate::server::{Moto, REGIONS};

/// More than fit a page.
const INSTANCES: u64 = 103;
const VOLUMES: u64 = 3;
const VPCS: usize = 4;

/// What there is, as the client itself is told it without pages, filters or the governor.
#[derive(Debug, Default, PartialEq, Eq)]
struct There {
    vpcs: Vec<String>,
    subnets: u64,
    security_groups: u64,
    instances: u64,
    volumes: u64,
}

async fn fill(ec2: &aws_sdk_ec2::Client, region: &str) {
    for number in 1..=VPCS {
        let vpc = ec2.create_vpc().cidr_block(format!("10.{number}.0.0/16")).send().await.expect("moto makes VPCs");
        let id = vpc.vpc().and_then(|vpc| vpc.vpc_id()).expect("an id").to_owned();
        let subnet = ec2.create_subnet().vpc_id(&id).cidr_block(format!("10.{number}.1.0/24"));
        subnet.send().await.expect("moto makes subnets");
        let group = ec2.create_security_group().vpc_id(&id).group_name(format!("app-{number}")).description("test");
        group.send().await.expect("moto makes security groups");
    }
    let count = i32::try_from(INSTANCES).expect("a small number");
    let launch = ec2.run_instances().image_id("ami-12c6146b").min_count(count).max_count(count);
    launch.send().await.expect("moto launches instances");
    for _ in 0..VOLUMES {
        let volume = ec2.create_volume().availability_zone(format!("{region}a")).size(8).volume_type(VolumeType::Gp3);
        volume.send().await.expect("moto makes volumes");
    }
}

async fn there(ec2: &aws_sdk_ec2::Client) -> There {
    let vpcs = ec2.describe_vpcs().send().await.expect("VPCs");
    let subnets = ec2.describe_subnets().send().await.expect("subnets");
    let groups = ec2.describe_security_groups().send().await.expect("security groups");
    let instances = ec2.describe_instances().send().await.expect("instances");
    let volumes = ec2.describe_volumes().send().await.expect("volumes");
    There {
        vpcs: vpcs.vpcs().iter().filter_map(|vpc| vpc.vpc_id().map(str::to_owned)).collect(),
        subnets: subnets.subnets().len() as u64,
        security_groups: groups.security_groups().len() as u64,
        instances: instances.reservations().iter().map(|launched| launched.instances().len() as u64).sum(),
        volumes: volumes.volumes().len() as u64,
    }
}

#[tokio::test]
#[ignore = "needs moto: MOTO_SERVER names its server program"]
async fn a_governed_inventory_finds_all_that_another_implementation_has_in_ec2() {
    let moto = Moto::start();
    let mut all = Vec::new();
    for region in REGIONS {
        let ec2 = aws_sdk_ec2::Client::new(&moto.config(region));
        fill(&ec2, region).await;
        all.push(there(&ec2).await);
    }
    for there in &all {
        // The default VPC is there too, and every instance has a volume of its own.
        assert_eq!((there.vpcs.len(), there.instances), (VPCS + 1, INSTANCES), "{there:?}");
        assert_eq!(there.volumes, INSTANCES + VOLUMES, "{there:?}");
        assert!(there.subnets > VPCS as u64 && there.security_groups > 2 * VPCS as u64, "{there:?}");
    }

    let report = moto.inventory("ec2");
    let sum = |count: fn(&There) -> u64| all.iter().map(count).sum::<u64>();
    let expected = [
        ("vpcs", sum(|there| there.vpcs.len() as u64)),
        ("subnets", sum(|there| there.subnets)),
        ("security_groups", sum(|there| there.security_groups)),
        ("instances", sum(|there| there.instances)),
        ("volumes", sum(|there| there.volumes)),
    ];
    for (kind, expected) in expected {
        assert_eq!(report["found"][kind], expected, "{kind}: {report:#}");
    }
    let totals = &report["summary"]["totals"];
    assert_eq!((&totals["throttled"], &totals["retries"]), (&0.into(), &0.into()), "{report:#}");

    let output = moto.output(env!("CARGO_BIN_EXE_describe_vpcs"), &[]);
    assert!(output.status.success(), "{output:?}");
    let printed = String::from_utf8(output.stdout).expect("text");
    let mut printed: Vec<_> = printed.lines().filter_map(|line| line.split(' ').next()).collect();
    let mut expected: Vec<_> = all[0].vpcs.iter().map(String::as_str).collect();
    printed.sort_unstable();
    expected.sort_unstable();
    assert_eq!(printed, expected);
}
