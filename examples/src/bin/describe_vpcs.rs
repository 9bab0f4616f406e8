//! The shortest real use: lists the VPCs of the default profile, governed. `AWS_ENDPOINT_URL` and the like are heeded.
//!
//! `cargo run -p cloud-governor-examples --features ec2 --bin describe_vpcs`

use std::io::{Write, stdout};

use aws_config::BehaviorVersion;
use cloud_governor_aws::{AwsOptions, install_aws_hooks};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let config = aws_config::load_defaults(BehaviorVersion::latest()).await;
    let config = install_aws_hooks(&config, AwsOptions::default());
    let mut pages = aws_sdk_ec2::Client::new(&config).describe_vpcs().into_paginator().page_size(100).send();
    while let Some(page) = pages.try_next().await? {
        for vpc in page.vpcs() {
            writeln!(stdout(), "{} {}", vpc.vpc_id().unwrap_or_default(), vpc.cidr_block().unwrap_or_default())?;
        }
    }
    Ok(())
}
