//! The calls to AWS.

use super::clients::Clients;
use super::kind::Kind;
use crate::inventory::calls;
use crate::inventory::failure::Failure;
use crate::inventory::found::Found;

#[cfg(feature = "ec2")]
mod ec2;

/// The largest pages that the services give.
const LOGS_PAGE: i32 = 50;
const PARAMETERS_PAGE: i32 = 50;
const SECRETS_PAGE: i32 = 100;
/// Ten times as many would be given. XML of that length takes long, and what a page costs is what a failure costs.
#[cfg(feature = "ec2")]
const EC2_PAGE: i32 = super::world::EC2_PAGE as i32;

type Page = calls::Page<Row, String>;

/// What a row needs.
#[derive(Clone, Copy, Debug)]
enum Need {
    /// The streams of a log group.
    Streams,
    /// A parameter's value.
    Value,
    /// A secret's description.
    Description,
    /// The subnets of a VPC.
    #[cfg(feature = "ec2")]
    Subnets,
    /// The security groups of a VPC.
    #[cfg(feature = "ec2")]
    SecurityGroups,
}

/// One row that needs something more, and how far that has come.
#[derive(Debug)]
pub(in crate::inventory) struct Row {
    need: Need,
    name: String,
    token: Option<String>,
}

impl Row {
    fn new(need: Need, name: String) -> Self {
        Row { need, name, token: None }
    }

    fn all(need: Need, names: impl IntoIterator<Item = String>) -> Vec<Self> {
        names.into_iter().map(|name| Row::new(need, name)).collect()
    }
}

impl Clients {
    /// The page that `token` stands for; the first one without.
    pub(in crate::inventory) async fn page(&self, kind: Kind, token: Option<String>) -> Result<Page, Failure> {
        match kind {
            Kind::Identity => {
                let answer = self.sts.get_caller_identity().send().await;
                let answer = answer.map_err(|error| Failure::of("sts.GetCallerIdentity", &error, &self.rules))?;
                let found = Found { identities: 1, ..Found::default() };
                Ok(Page { found, account: answer.account, ..Page::default() })
            }
            Kind::LogGroups => {
                let answer = self.logs.describe_log_groups().limit(LOGS_PAGE).set_next_token(token).send().await;
                let answer = answer.map_err(|error| Failure::of("logs.DescribeLogGroups", &error, &self.rules))?;
                let names = answer.log_groups.unwrap_or_default().into_iter().filter_map(|row| row.log_group_name);
                Ok(Page { rows: Row::all(Need::Streams, names), next: answer.next_token, ..Page::default() })
            }
            Kind::Parameters => {
                let call = self.ssm.describe_parameters().max_results(PARAMETERS_PAGE).set_next_token(token);
                let answer = call.send().await;
                let answer = answer.map_err(|error| Failure::of("ssm.DescribeParameters", &error, &self.rules))?;
                let names = answer.parameters.unwrap_or_default().into_iter().filter_map(|row| row.name);
                Ok(Page { rows: Row::all(Need::Value, names), next: answer.next_token, ..Page::default() })
            }
            Kind::Secrets => {
                let answer = self.secrets.list_secrets().max_results(SECRETS_PAGE).set_next_token(token).send().await;
                let answer = answer.map_err(|error| Failure::of("secretsmanager.ListSecrets", &error, &self.rules))?;
                let names = answer.secret_list.unwrap_or_default().into_iter().filter_map(|row| row.arn.or(row.name));
                Ok(Page { rows: Row::all(Need::Description, names), next: answer.next_token, ..Page::default() })
            }
            #[cfg(feature = "ec2")]
            Kind::Vpcs => self.vpcs(token).await,
            #[cfg(feature = "ec2")]
            Kind::Instances => self.instances(token).await,
            #[cfg(feature = "ec2")]
            Kind::Volumes => self.volumes(token).await,
        }
    }

    /// Everything that a row needs.
    pub(in crate::inventory) async fn complete(
        &self,
        row: &mut Row,
        count: impl Fn(Found) + Send + Sync,
    ) -> Result<(), Failure> {
        match row.need {
            Need::Streams => self.streams(row, count).await,
            Need::Value => {
                let answer = self.ssm.get_parameter().name(&row.name).with_decryption(false).send().await;
                answer.map_err(|error| Failure::of("ssm.GetParameter", &error, &self.rules))?;
                count(Found { parameters: 1, ..Found::default() });
                Ok(())
            }
            Need::Description => {
                let answer = self.secrets.describe_secret().secret_id(&row.name).send().await;
                answer.map_err(|error| Failure::of("secretsmanager.DescribeSecret", &error, &self.rules))?;
                count(Found { secrets: 1, ..Found::default() });
                Ok(())
            }
            #[cfg(feature = "ec2")]
            Need::Subnets => self.subnets(row, count).await,
            #[cfg(feature = "ec2")]
            Need::SecurityGroups => self.security_groups(row, count).await,
        }
    }

    async fn streams(&self, row: &mut Row, count: impl Fn(Found) + Send + Sync) -> Result<(), Failure> {
        loop {
            let call = self.logs.describe_log_streams().log_group_name(&row.name).limit(LOGS_PAGE);
            let answer = call.set_next_token(row.token.clone()).send().await;
            let answer = answer.map_err(|error| Failure::of("logs.DescribeLogStreams", &error, &self.rules))?;
            let streams = answer.log_streams.map_or(0, |streams| streams.len() as u64);
            count(Found { log_streams: streams, ..Found::default() });
            row.token = answer.next_token;
            if row.token.is_none() {
                count(Found { log_groups: 1, ..Found::default() });
                return Ok(());
            }
        }
    }
}
