//! The SDK's clients, governed or plain.

use aws_smithy_types::retry::RetryConfig;
use aws_types::SdkConfig;
use cloud_governor::{Governor, Rules};
use cloud_governor_aws::{AwsHooks, install_aws_hooks};

/// How the SDK is configured.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Mode {
    /// By this governor.
    Governed(Governor),
    /// Not at all: the SDK's own retries, with their defaults.
    Plain(RetryConfig),
}

impl Mode {
    /// A name for reports.
    pub fn name(&self) -> &'static str {
        match self {
            Mode::Governed(_) => "governed",
            Mode::Plain(retry) if retry.mode() == aws_smithy_types::retry::RetryMode::Adaptive => "adaptive",
            Mode::Plain(_) => "standard",
        }
    }

    /// The configuration that clients are built from. `account` is the account's id where it is known beforehand.
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
            Mode::Plain(retry) => config.to_builder().retry_config(retry.clone()).build(),
        }
    }

    /// The rules that say which failures are worth another try.
    pub fn rules(&self) -> Rules {
        match self {
            Mode::Governed(governor) => governor.rules("aws"),
            Mode::Plain(_) => Rules::new(),
        }
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
    pub fn new(config: &SdkConfig, rules: Rules) -> Self {
        Clients {
            sts: aws_sdk_sts::Client::new(config),
            logs: aws_sdk_cloudwatchlogs::Client::new(config),
            ssm: aws_sdk_ssm::Client::new(config),
            secrets: aws_sdk_secretsmanager::Client::new(config),
            #[cfg(feature = "ec2")]
            ec2: aws_sdk_ec2::Client::new(config),
            rules,
        }
    }
}
