//! The inventory against moto, an implementation of AWS that is none of ours.
//!
//! `MOTO_SERVER=path/to/moto_server cargo test -p cloud-governor-examples --test moto -- --ignored`; with
//! `--features ec2`, EC2 too.

#[cfg(feature = "ec2")]
mod ec2;
mod server;

use aws_sdk_ssm::types::ParameterType;

use server::{Moto, REGIONS};

const PARAMETERS: usize = 25;

async fn put_parameters(moto: &Moto, region: &'static str) {
    let ssm = aws_sdk_ssm::Client::new(&moto.config(region));
    for number in 0..PARAMETERS {
        let put = ssm.put_parameter().name(format!("/app/{number}")).value("x").r#type(ParameterType::String);
        put.send().await.expect("moto takes parameters");
    }
}

#[tokio::test]
#[ignore = "needs moto: MOTO_SERVER names its server program"]
async fn a_governed_inventory_of_another_implementation_finds_everything() {
    let moto = Moto::start();
    for region in REGIONS {
        put_parameters(&moto, region).await;
    }
    let report = moto.inventory("logs,ssm,secretsmanager");
    assert!(report["listed"].as_u64() >= Some((REGIONS.len() * PARAMETERS) as u64), "{report:#}");
    // Each parameter is read once, and there is a caller identity and a listing for each region besides.
    let calls = report["summary"]["totals"]["calls"].as_u64();
    assert!(calls > Some((REGIONS.len() * (PARAMETERS + 1)) as u64), "{report:#}");
}
