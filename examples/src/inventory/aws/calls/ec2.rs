//! The calls to EC2.

use aws_sdk_ec2::types::Filter;

use super::{EC2_PAGE, Need, Page, Row};
use crate::inventory::aws::clients::Clients;
use crate::inventory::failure::Failure;
use crate::inventory::found::Found;

impl Clients {
    /// One page of VPCs. Each needs its subnets and its security groups.
    pub(super) async fn vpcs(&self, token: Option<String>) -> Result<Page, Failure> {
        let answer = self.ec2.describe_vpcs().max_results(EC2_PAGE).set_next_token(token).send().await;
        let answer = answer.map_err(|error| Failure::of("ec2.DescribeVpcs", &error, &self.rules))?;
        let vpcs = answer.vpcs.unwrap_or_default();
        let found = Found { vpcs: vpcs.len() as u64, ..Found::default() };
        let ids = vpcs.into_iter().filter_map(|vpc| vpc.vpc_id);
        let rows = ids.flat_map(|id| [Row::new(Need::Subnets, id.clone()), Row::new(Need::SecurityGroups, id)]);
        Ok(Page { rows: rows.collect(), next: answer.next_token, found, ..Page::default() })
    }

    pub(super) async fn instances(&self, token: Option<String>) -> Result<Page, Failure> {
        let answer = self.ec2.describe_instances().max_results(EC2_PAGE).set_next_token(token).send().await;
        let answer = answer.map_err(|error| Failure::of("ec2.DescribeInstances", &error, &self.rules))?;
        let instances = answer.reservations().iter().map(|launched| launched.instances().len() as u64).sum();
        Ok(Page { next: answer.next_token, found: Found { instances, ..Found::default() }, ..Page::default() })
    }

    pub(super) async fn volumes(&self, token: Option<String>) -> Result<Page, Failure> {
        let answer = self.ec2.describe_volumes().max_results(EC2_PAGE).set_next_token(token).send().await;
        let answer = answer.map_err(|error| Failure::of("ec2.DescribeVolumes", &error, &self.rules))?;
        let found = Found { volumes: answer.volumes().len() as u64, ..Found::default() };
        Ok(Page { next: answer.next_token, found, ..Page::default() })
    }

    pub(super) async fn subnets(&self, row: &mut Row, count: impl Fn(Found) + Send + Sync) -> Result<(), Failure> {
        loop {
            let call = self.ec2.describe_subnets().filters(of_vpc(&row.name)).max_results(EC2_PAGE);
            let answer = call.set_next_token(row.token.clone()).send().await;
            let answer = answer.map_err(|error| Failure::of("ec2.DescribeSubnets", &error, &self.rules))?;
            count(Found { subnets: answer.subnets().len() as u64, ..Found::default() });
            row.token = answer.next_token;
            if row.token.is_none() {
                return Ok(());
            }
        }
    }

    pub(super) async fn security_groups(
        &self,
        row: &mut Row,
        count: impl Fn(Found) + Send + Sync,
    ) -> Result<(), Failure> {
        loop {
            let call = self.ec2.describe_security_groups().filters(of_vpc(&row.name)).max_results(EC2_PAGE);
            let answer = call.set_next_token(row.token.clone()).send().await;
            let answer = answer.map_err(|error| Failure::of("ec2.DescribeSecurityGroups", &error, &self.rules))?;
            count(Found { security_groups: answer.security_groups().len() as u64, ..Found::default() });
            row.token = answer.next_token;
            if row.token.is_none() {
                return Ok(());
            }
        }
    }
}

fn of_vpc(id: &str) -> Filter {
    Filter::builder().name("vpc-id").values(id).build()
}
