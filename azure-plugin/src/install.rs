//! Putting the policies into a client's options.

use std::sync::Arc;

use azure_core::credentials::TokenCredential;
use azure_core::http::{ClientOptions, RetryOptions};
use cloud_governor::{Governor, Scope};

use crate::hosts::{HostRule, IDENTITY, IDENTITY_ACCOUNT};
use crate::policy::GovernorPolicy;
use crate::target::Targets;
use crate::wire::WirePolicy;

/// How a client is governed.
///
/// ```
/// use azure_core::http::ClientOptions;
/// use cloud_governor_azure::{AzureOptions, governed};
///
/// let options = governed(ClientOptions::default(), AzureOptions::new().account("7b795fb9-09d3-42f4-a494-38864f99ba3c"));
/// # let _ = options;
/// ```
#[derive(Debug, Clone)]
#[must_use = "nothing is governed until `governed`"]
pub struct AzureOptions {
    account: Option<String>,
    governor: Option<Governor>,
    hosts: Vec<HostRule>,
    release_at_headers: bool,
    resend_any: bool,
    learn: bool,
}

impl AzureOptions {
    /// The defaults: the process-wide governor, and whatever account a request's URL names.
    pub fn new() -> Self {
        AzureOptions {
            account: None,
            governor: None,
            hosts: Vec::new(),
            release_at_headers: false,
            resend_any: false,
            learn: true,
        }
    }

    /// The account that calls are charged to whose URL names none: the subscription, or the tenant. It is kept in lower
    /// case. Unset, it is a label of this install alone, so that calls of unknown accounts are never counted together.
    pub fn account(mut self, account: impl AsRef<str>) -> Self {
        self.account = Some(account.as_ref().to_lowercase());
        self
    }

    /// A governor of its own in place of the process-wide one.
    pub fn governor(mut self, governor: Governor) -> Self {
        self.governor = Some(governor);
        self
    }

    /// One more host that the URL alone does not tell about: a private endpoint, a domain of one's own. Of several that
    /// fit, the first said counts.
    pub fn host(mut self, rule: HostRule) -> Self {
        self.hosts.push(rule);
        self
    }

    /// Gives a slot back when the head of the answer has come, not at the end of its body: for programs that leave many
    /// downloads unread for long.
    pub fn release_at_headers(mut self, release: bool) -> Self {
        self.release_at_headers = release;
        self
    }

    /// Sends any operation again whose outcome is unknown, as the SDK's own retry policy would, not only those that may be
    /// executed twice.
    pub fn resend_any(mut self, resend: bool) -> Self {
        self.resend_any = resend;
        self
    }

    /// Whether to slow down ahead of a throttle, by what answers say is left of a quota. On unless said otherwise.
    pub fn learn(mut self, learn: bool) -> Self {
        self.learn = learn;
        self
    }
}

impl Default for AzureOptions {
    fn default() -> Self {
        AzureOptions::new()
    }
}

/// The options with the governor's policies: every client, and every credential, that is built with the result is
/// governed.
///
/// The SDK's own retry policy is switched off. Installing again on the result changes nothing: calls are never governed
/// twice. What a client or credential is built with first decides for good: its options are copied into it.
///
/// ```
/// use azure_core::http::ClientOptions;
/// use cloud_governor_azure::{AzureOptions, governed};
///
/// let options = governed(ClientOptions::default(), AzureOptions::default());
/// assert_eq!(options.per_call_policies.len(), 1);
/// ```
pub fn governed(mut options: ClientOptions, azure: AzureOptions) -> ClientOptions {
    let AzureOptions { account, governor, hosts, release_at_headers, resend_any, learn } = azure;
    let targets = Targets::new(account.as_deref(), hosts);
    let identity = identity_scope(&targets);
    let policy = GovernorPolicy { governor, targets, identity, release_at_headers, resend_any, learn };
    options.per_call_policies.push(Arc::new(policy));
    // First, so that a signature or a log of the user's sees each send as it goes out.
    options.per_try_policies.insert(0, Arc::new(WirePolicy));
    options.retry = RetryOptions::none();
    options
}

/// Builds a governed client in one call: `build` is given the credential and options with the governor's policies.
///
/// Calls whose URL names no subscription or other account are charged to `subscription`. For more, use [`governed`].
///
/// ```
/// # use std::sync::Arc;
/// # use azure_core::credentials::TokenCredential;
/// use azure_security_keyvault_secrets::{SecretClient, SecretClientOptions};
/// use cloud_governor_azure::build_azure_client;
///
/// # fn demo(credential: Arc<dyn TokenCredential>) -> azure_core::Result<()> {
/// let secrets = build_azure_client(credential, "7b795fb9-09d3-42f4-a494-38864f99ba3c", |credential, client_options| {
///     let options = SecretClientOptions { client_options, ..Default::default() };
///     SecretClient::new("https://my-vault.vault.azure.net", credential, Some(options))
/// })?;
/// # let _ = secrets;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// What `build` returns.
pub fn build_azure_client<C, E>(
    credential: Arc<dyn TokenCredential>,
    subscription: &str,
    build: impl FnOnce(Arc<dyn TokenCredential>, ClientOptions) -> Result<C, E>,
) -> Result<C, E> {
    build(credential, governed(ClientOptions::default(), AzureOptions::new().account(subscription)))
}

/// What the tokens of this install are charged to, where nothing is seen of the requests for them.
fn identity_scope(targets: &Targets) -> Scope {
    let account = format!("{IDENTITY_ACCOUNT}{}", targets.account());
    Scope::new("azure", account, "", IDENTITY).with_operation("token")
}
