//! Putting the hooks into an `SdkConfig`.
//!
//! A configuration carries neither interceptors nor a retry strategy. What it carries, and every client built from it
//! uses, is an identity cache, an HTTP client, a retry configuration and timeouts: the hooks live there.

use std::sync::Arc;
use std::time::Duration;

use aws_smithy_runtime::client::defaults::default_http_client_plugin_v2;
use aws_smithy_runtime::client::identity::IdentityCache;
use aws_smithy_runtime_api::client::behavior_version::BehaviorVersion;
use aws_smithy_runtime_api::client::http::SharedHttpClient;
use aws_smithy_runtime_api::client::identity::{ResolveIdentity, SharedIdentityCache};
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponentsBuilder;
use aws_smithy_runtime_api::client::runtime_plugin::RuntimePlugin;
use aws_smithy_types::retry::RetryConfig;
use aws_types::SdkConfig;
use cloud_governor::Governor;

use crate::gate::Gate;
use crate::hooks::{Given, Hooks, Wrapped};
use crate::observer::Observer;
use crate::timeouts::moved;

/// How many attempts the SDK's own loop allows at least, so that a policy, or a later
/// [`configure`](cloud_governor::configure), can ask for more retries than were set when the hooks were installed. It is
/// not more because an operation that passes no gate runs through the rest of it when it is to stop, on replays and on the
/// SDK's quota.
pub const MAX_ATTEMPTS: u32 = 16;

/// The SDK's own backoff inside a governed loop: every real wait happens at the gate.
pub(crate) const LOOP_BACKOFF: Duration = Duration::from_millis(1);

/// How a configuration is governed.
///
/// ```
/// # fn demo(config: &aws_types::SdkConfig) {
/// use cloud_governor_aws::AwsHooks;
///
/// let governed = AwsHooks::builder().account("123456789012").install(config);
/// let ssm = aws_sdk_ssm::Client::new(&governed);
/// # }
/// ```
#[derive(Debug, Clone, Default)]
#[must_use = "nothing is governed until `install`"]
pub struct AwsOptions {
    account: Option<String>,
    governor: Option<Governor>,
    http_client: Option<SharedHttpClient>,
    observe_only: bool,
}

/// The entry to [`AwsOptions`].
#[derive(Debug)]
#[non_exhaustive]
pub struct AwsHooks;

impl AwsHooks {
    /// Starts with the defaults: the process-wide governor, and the account that the credentials name.
    pub fn builder() -> AwsOptions {
        AwsOptions::default()
    }
}

/// The configuration with hooks: every client built from the result, of any service and in any crate, is governed.
///
/// Installing again on the result changes nothing, or replaces the first install if the options say more: calls are
/// never governed twice. A configuration whose retries are switched off (`RetryConfig::disabled()`) stays at one
/// attempt.
///
/// ```
/// # fn demo(config: &aws_types::SdkConfig) {
/// use cloud_governor_aws::{AwsOptions, install_aws_hooks};
///
/// let governed = install_aws_hooks(config, AwsOptions::default());
/// # let _ = governed;
/// # }
/// ```
pub fn install_aws_hooks(config: &SdkConfig, options: AwsOptions) -> SdkConfig {
    options.install(config)
}

impl AwsOptions {
    /// The account that the configuration's credentials belong to. Unset, it is what the credentials say, or, where
    /// they do not, a label of this install alone, so that calls of unknown accounts are never counted together.
    pub fn account(mut self, account: impl Into<String>) -> Self {
        self.account = Some(account.into());
        self
    }

    /// A governor of its own in place of the process-wide one.
    pub fn governor(mut self, governor: Governor) -> Self {
        self.governor = Some(governor);
        self
    }

    /// The HTTP client to send with, where the configuration has none and the SDK's default is not wanted.
    pub fn http_client(mut self, client: SharedHttpClient) -> Self {
        self.http_client = Some(client);
        self
    }

    /// Leaves retry policy, quota and timeouts to the SDK. Nothing waits and nothing is refused.
    ///
    /// Attempts and throttles are counted where the governor's settings for `aws` are disabled; an enabled one would
    /// have to pace, so it is left out altogether.
    pub fn observe_only(mut self) -> Self {
        self.observe_only = true;
        self
    }

    /// The configuration with hooks; see [`install_aws_hooks`].
    pub fn install(self, config: &SdkConfig) -> SdkConfig {
        self.install_over(config, None)
    }

    /// With an identity cache in place of the configuration's own.
    pub(crate) fn install_over(self, config: &SdkConfig, cache: Option<SharedIdentityCache>) -> SdkConfig {
        let gate = config.identity_cache().and_then(|cache| Hooks::behind(&cache));
        let observer = config.http_client().and_then(|client| Hooks::behind(&client));
        let wrapped = [&gate, &observer].into_iter().flatten().any(|(_, wrapped)| *wrapped == Wrapped::ByOthers);
        if wrapped {
            tracing::warn!(
                target: "cloud_governor",
                "the configuration is governed already, by hooks that something else wraps: it is left as it is",
            );
            return config.clone();
        }
        let mut given = self.given(config, gate.map(|(hooks, _)| hooks), observer.map(|(hooks, _)| hooks));
        if let Some(cache) = cache {
            given.cache = cache;
        }
        let hooks = Hooks::install(given);
        let given = &hooks.given;
        let settings = hooks.governor().settings("aws");
        let mut builder = config.to_builder().identity_cache(Gate::new(Arc::clone(&hooks)));
        if let Some(client) = &given.client {
            builder = builder.http_client(Observer::new(Arc::clone(&hooks), client.clone()));
        }
        if given.observe_only {
            builder.set_retry_config(given.retry.clone());
            builder.set_timeout_config(given.timeouts.clone());
            return builder.build();
        }
        let (timeouts, _) = moved(given.timeouts.as_ref(), &settings);
        builder
            .retry_config(governed_loop(given.retry.as_ref(), settings.retry.max_retries))
            .timeout_config(timeouts)
            .build()
    }

    /// What the configuration had before any hooks, and what is said about it now or was said before.
    fn given(self, config: &SdkConfig, gate: Option<Arc<Hooks>>, observer: Option<Arc<Hooks>>) -> Given {
        let provider = config.credentials_provider().and_then(|provider| provider.cache_partition());
        let earlier = gate.as_ref().or(observer.as_ref()).map(|hooks| hooks.given.clone());
        let cache = match &gate {
            Some(hooks) => hooks.given.cache.clone(),
            None => config.identity_cache().unwrap_or_else(|| IdentityCache::lazy().build()),
        };
        let client = match &observer {
            Some(hooks) => hooks.given.client.clone(),
            None => config.http_client(),
        };
        let version = config.behavior_version();
        let client = client.or(self.http_client).or_else(|| default_http_client(version));
        let (retry, timeouts) = match &earlier {
            Some(earlier) => (earlier.retry.clone(), earlier.timeouts.clone()),
            None => (config.retry_config().cloned(), config.timeout_config().cloned()),
        };
        // Another provider may mean another account: what was said then does not hold for it.
        let same = earlier.as_ref().filter(|earlier| earlier.provider == provider);
        Given {
            cache,
            client,
            attempt_timeout: if self.observe_only {
                None
            } else {
                timeouts.as_ref().and_then(|timeouts| timeouts.operation_attempt_timeout())
            },
            retry,
            timeouts,
            account: self.account.or_else(|| same.and_then(|earlier| earlier.account.clone())),
            provider,
            region: config.region().map(|region| region.as_ref().to_owned()),
            governor: self.governor.or_else(|| earlier.as_ref().and_then(|earlier| earlier.governor.clone())),
            observe_only: self.observe_only,
            label: same.and_then(|earlier| earlier.label),
        }
    }
}

/// The SDK's loop with its policy off: never adaptive, which paces by itself. Retries that are off stay off.
fn governed_loop(own: Option<&RetryConfig>, max_retries: u32) -> RetryConfig {
    let retry = match own {
        Some(own) if !own.has_retry() => RetryConfig::disabled(),
        _ => RetryConfig::standard()
            .with_max_attempts(max_retries.saturating_add(1).max(MAX_ATTEMPTS))
            .with_initial_backoff(LOOP_BACKOFF)
            .with_max_backoff(LOOP_BACKOFF),
    };
    match own {
        Some(own) => retry.with_reconnect_mode(own.reconnect_mode()),
        None => retry,
    }
}

/// The client that the SDK would use by itself, of whatever stack this build has.
fn default_http_client(version: Option<BehaviorVersion>) -> Option<SharedHttpClient> {
    let plugin = default_http_client_plugin_v2(version.unwrap_or_else(BehaviorVersion::latest))?;
    let none = RuntimeComponentsBuilder::new("cloud-governor");
    plugin.runtime_components(&none).http_client()
}
