//! The SDK's clients, governed or plain.

use std::sync::atomic::{AtomicU64, Ordering};

use aws_sdk_sts::config::retry::RetryPartition;
use aws_smithy_types::retry::RetryConfig;
use aws_types::SdkConfig;
use cloud_governor::Rules;
use cloud_governor_aws::{AwsHooks, install_aws_hooks};

use crate::inventory::mode::{Mode, Plain};

impl Plain {
    /// The AWS SDK's configuration for it.
    pub fn retry(self) -> RetryConfig {
        match self {
            Plain::Standard => RetryConfig::standard(),
            Plain::Adaptive => RetryConfig::adaptive(),
        }
    }
}

impl Mode {
    /// The configuration that the AWS SDK's clients are built from. `account` is the account's id where it is known
    /// beforehand.
    pub fn apply(&self, config: &SdkConfig, account: Option<&str>) -> SdkConfig {
        match self {
            Mode::Governed(governor) => {
                let hooks = AwsHooks::builder().governor(governor.clone());
                let hooks = match account {
                    Some(account) => hooks.account(account),
                    None => hooks,
                };
                install_aws_hooks(config, hooks)
            }
            Mode::Plain(plain) => config.to_builder().retry_config(plain.retry()).build(),
        }
    }
}

/// Which clients share the SDK's own retry quotas and adaptive rates.
///
/// The SDK keeps them for the whole process, by service and region (`RetryPartition` of aws-smithy-runtime), so that a
/// run would begin with what an earlier one has left. The clients of one `Quotas` share as those of a process do, also
/// across accounts, with the SDK's own defaults; two `Quotas` share nothing.
#[derive(Debug)]
pub struct Quotas {
    run: u64,
}

impl Quotas {
    /// Full quotas, and rates that nothing has lowered.
    pub fn fresh() -> Self {
        static RUNS: AtomicU64 = AtomicU64::new(0);
        Quotas { run: RUNS.fetch_add(1, Ordering::Relaxed) }
    }

    /// The partition of a service in the configuration's region.
    fn of(&self, service: &str, config: &SdkConfig) -> RetryPartition {
        let region = config.region().map_or("", |region| region.as_ref());
        // `custom` would take a bucket with costs of an older retry behaviour; a name alone has the present defaults.
        RetryPartition::new(format!("run-{}-{service}-{region}", self.run))
    }
}

/// The clients of one region of one account.
#[derive(Clone, Debug)]
pub struct Clients {
    pub(super) sts: aws_sdk_sts::Client,
    pub(super) logs: aws_sdk_cloudwatchlogs::Client,
    pub(super) ssm: aws_sdk_ssm::Client,
    pub(super) secrets: aws_sdk_secretsmanager::Client,
    #[cfg(feature = "ec2")]
    pub(super) ec2: aws_sdk_ec2::Client,
    pub(super) rules: Rules,
}

impl Clients {
    /// Clients of this configuration, to which a [`Mode`] was applied, and the rules by which their failures are read.
    pub fn new(config: &SdkConfig, rules: Rules, quotas: &Quotas) -> Self {
        use {
            aws_sdk_cloudwatchlogs as logs, aws_sdk_secretsmanager as secrets, aws_sdk_ssm as ssm, aws_sdk_sts as sts,
        };
        let own = |service| quotas.of(service, config);
        Clients {
            sts: sts::Client::from_conf(sts::config::Builder::from(config).retry_partition(own("sts")).build()),
            logs: logs::Client::from_conf(logs::config::Builder::from(config).retry_partition(own("logs")).build()),
            ssm: ssm::Client::from_conf(ssm::config::Builder::from(config).retry_partition(own("ssm")).build()),
            secrets: secrets::Client::from_conf(
                secrets::config::Builder::from(config).retry_partition(own("secretsmanager")).build(),
            ),
            #[cfg(feature = "ec2")]
            ec2: aws_sdk_ec2::Client::from_conf(
                aws_sdk_ec2::config::Builder::from(config).retry_partition(own("ec2")).build(),
            ),
            rules,
        }
    }
}

#[cfg(test)]
mod tests;
