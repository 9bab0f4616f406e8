//! The calls that the listings are made of.

use super::clients::Clients;
use super::failure::Failure;
use super::found::Found;
use super::listing::Kind;

/// The largest pages that the services give.
const LOGS_PAGE: i32 = 50;
const PARAMETERS_PAGE: i32 = 50;
const SECRETS_PAGE: i32 = 100;

/// One page of a list.
#[derive(Debug, Default)]
pub(super) struct Page {
    pub(super) names: Vec<String>,
    /// The token of the next page, if there is one.
    pub(super) next: Option<String>,
    /// What the page itself counts for, where its rows need nothing more.
    pub(super) found: Found,
    /// The account, where the service said so.
    pub(super) account: Option<String>,
}

/// One row that needs something more, and how far that has come.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) name: String,
    token: Option<String>,
}

impl Row {
    pub(super) fn new(name: String) -> Self {
        Row { name, token: None }
    }
}

impl Clients {
    /// The page that `token` stands for; the first one without.
    pub(super) async fn page(&self, kind: Kind, token: Option<String>) -> Result<Page, Failure> {
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
                Ok(Page { names: names.collect(), next: answer.next_token, ..Page::default() })
            }
            Kind::Parameters => {
                let call = self.ssm.describe_parameters().max_results(PARAMETERS_PAGE).set_next_token(token);
                let answer = call.send().await;
                let answer = answer.map_err(|error| Failure::of("ssm.DescribeParameters", &error, &self.rules))?;
                let names = answer.parameters.unwrap_or_default().into_iter().filter_map(|row| row.name);
                Ok(Page { names: names.collect(), next: answer.next_token, ..Page::default() })
            }
            Kind::Secrets => {
                let answer = self.secrets.list_secrets().max_results(SECRETS_PAGE).set_next_token(token).send().await;
                let answer = answer.map_err(|error| Failure::of("secretsmanager.ListSecrets", &error, &self.rules))?;
                let names = answer.secret_list.unwrap_or_default().into_iter().filter_map(|row| row.arn.or(row.name));
                Ok(Page { names: names.collect(), next: answer.next_token, ..Page::default() })
            }
        }
    }

    /// Everything that a row needs. What is found is handed to `count` as it comes, and the row remembers how far it
    /// came, so that a failure costs nothing twice.
    pub(super) async fn complete(
        &self,
        kind: Kind,
        row: &mut Row,
        count: impl Fn(Found) + Send + Sync,
    ) -> Result<(), Failure> {
        match kind {
            Kind::Identity => Ok(()),
            Kind::LogGroups => self.streams(row, count).await,
            Kind::Parameters => {
                let answer = self.ssm.get_parameter().name(&row.name).with_decryption(false).send().await;
                answer.map_err(|error| Failure::of("ssm.GetParameter", &error, &self.rules))?;
                count(Found { parameters: 1, ..Found::default() });
                Ok(())
            }
            Kind::Secrets => {
                let answer = self.secrets.describe_secret().secret_id(&row.name).send().await;
                answer.map_err(|error| Failure::of("secretsmanager.DescribeSecret", &error, &self.rules))?;
                count(Found { secrets: 1, ..Found::default() });
                Ok(())
            }
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
