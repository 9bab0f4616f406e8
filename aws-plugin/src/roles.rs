//! One governed configuration per assumed role, for programs that work in many accounts.
//!
//! The SDK's own `AssumeRoleProvider` takes the identity cache, and with it the gate, off the configuration that it is
//! given. The provider here does not: AssumeRole calls are paced and retried like any other, charged to the account that
//! makes them, and the calls made with the role are charged to the role's account.

use std::fmt;
use std::time::{Duration, SystemTime};

use aws_credential_types::Credentials;
use aws_credential_types::credential_feature::AwsCredentialFeature;
use aws_credential_types::provider::error::CredentialsError;
use aws_credential_types::provider::{self, ProvideCredentials, SharedCredentialsProvider, future};
use aws_smithy_runtime::client::identity::IdentityCache;
use aws_types::SdkConfig;

use crate::install::AwsOptions;

/// How long the identity cache of a role waits for its credentials at most. The provider's calls are governed and may
/// wait as long as any call's default deadline; the SDK's default of some twenty seconds would cut them off.
const LOAD_TIMEOUT: Duration = Duration::from_secs(900);

/// A role to assume.
///
/// ```
/// # async fn demo(config: &aws_types::SdkConfig) -> Result<(), Box<dyn std::error::Error>> {
/// use cloud_governor_aws::{AssumedRole, AwsOptions, install_aws_hooks};
///
/// let home = install_aws_hooks(config, AwsOptions::default());
/// for account in ["111111111111", "222222222222"] {
///     let role = AssumedRole::new(format!("arn:aws:iam::{account}:role/inventory"))?.session_name("nightly");
///     let there = role.config(&home, AwsOptions::default());
///     let ssm = aws_sdk_ssm::Client::new(&there);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct AssumedRole {
    arn: String,
    account: String,
    session_name: String,
    external_id: Option<String>,
    duration: Option<Duration>,
}

impl AssumedRole {
    /// The role with this ARN.
    ///
    /// # Errors
    ///
    /// [`InvalidRole`] if the text is not the ARN of an IAM role.
    pub fn new(arn: impl Into<String>) -> Result<Self, InvalidRole> {
        let arn = arn.into();
        let account = match arn.split(':').collect::<Vec<_>>().as_slice() {
            ["arn", _, "iam", "", account, role] if is_account(account) && role.starts_with("role/") => {
                (*account).to_owned()
            }
            _ => return Err(InvalidRole { arn }),
        };
        Ok(AssumedRole { arn, account, session_name: "cloud-governor".to_owned(), external_id: None, duration: None })
    }

    /// The account that the role belongs to.
    pub fn account(&self) -> &str {
        &self.account
    }

    /// The name of the session, as CloudTrail shows it: 2 to 64 characters. Unset, `cloud-governor`.
    #[must_use]
    pub fn session_name(mut self, name: impl Into<String>) -> Self {
        self.session_name = name.into();
        self
    }

    /// The external id that the role's trust policy asks for.
    #[must_use]
    pub fn external_id(mut self, id: impl Into<String>) -> Self {
        self.external_id = Some(id.into());
        self
    }

    /// How long the credentials are to hold. Unset, it is the role's default of an hour.
    #[must_use]
    pub fn duration(mut self, duration: Duration) -> Self {
        self.duration = Some(duration);
        self
    }

    /// A configuration whose clients act as this role, governed as its account. AssumeRole itself is called with
    /// `home`'s credentials; hook `home` first, or those calls are not governed.
    pub fn config(&self, home: &SdkConfig, options: AwsOptions) -> SdkConfig {
        let provider = RoleProvider { client: aws_sdk_sts::Client::new(home), role: self.clone() };
        let config = home.to_builder().credentials_provider(SharedCredentialsProvider::new(provider)).build();
        let cache = IdentityCache::lazy().load_timeout(LOAD_TIMEOUT).build();
        options.account(&self.account).install_over(&config, Some(cache))
    }
}

fn is_account(text: &str) -> bool {
    text.len() == 12 && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// A text that is not the ARN of an IAM role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidRole {
    arn: String,
}

impl fmt::Display for InvalidRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is not the ARN of a role: expected arn:<partition>:iam::<12 digits>:role/<name>", self.arn)
    }
}

impl std::error::Error for InvalidRole {}

// ===== the provider =====

#[derive(Debug)]
struct RoleProvider {
    client: aws_sdk_sts::Client,
    role: AssumedRole,
}

impl RoleProvider {
    async fn assume(&self) -> provider::Result {
        let role = &self.role;
        let seconds = role.duration.map(|duration| i32::try_from(duration.as_secs()).unwrap_or(i32::MAX));
        let assumed = self
            .client
            .assume_role()
            .role_arn(&role.arn)
            .role_session_name(&role.session_name)
            .set_external_id(role.external_id.clone())
            .set_duration_seconds(seconds)
            .send()
            .await
            .map_err(CredentialsError::provider_error)?;
        let keys =
            assumed.credentials.ok_or_else(|| CredentialsError::unhandled("AssumeRole returned no credentials"))?;
        let expiry = SystemTime::try_from(keys.expiration)
            .map_err(|_| CredentialsError::unhandled("AssumeRole returned an expiry that is no time"))?;
        let mut credentials = Credentials::builder()
            .access_key_id(keys.access_key_id)
            .secret_access_key(keys.secret_access_key)
            .session_token(keys.session_token)
            .expiry(expiry)
            .account_id(role.account.as_str())
            .provider_name("CloudGovernorAssumedRole")
            .build();
        credentials
            .get_property_mut_or_default::<Vec<AwsCredentialFeature>>()
            .push(AwsCredentialFeature::CredentialsStsAssumeRole);
        Ok(credentials)
    }
}

impl ProvideCredentials for RoleProvider {
    fn provide_credentials<'a>(&'a self) -> future::ProvideCredentials<'a>
    where
        Self: 'a,
    {
        future::ProvideCredentials::new(self.assume())
    }
}
