//! Putting the governor into a client's builder.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use cloud_governor::Governor;
use google_cloud_auth::credentials::Credentials;
use google_cloud_gax::client_builder::ClientBuilder;

use crate::client::Client;
use crate::credentials::GovernedCredentials;
use crate::hooks::Hooks;
use crate::polling::Polling;
use crate::target::Targets;

/// How long an attempt may be silent before what it holds is given back, unless the policy has an attempt timeout.
const LEASE: Duration = Duration::from_secs(300);

/// How a client is governed.
///
/// ```
/// use cloud_governor_gcp::GcpOptions;
///
/// let options = GcpOptions::new().account("projects/my-project");
/// # let _ = options;
/// ```
#[derive(Debug, Clone)]
#[must_use = "nothing is governed until `attach`"]
pub struct GcpOptions {
    account: Option<String>,
    governor: Option<Governor>,
    lease: Duration,
    resend_any: bool,
    recorder: bool,
}

impl GcpOptions {
    /// The defaults: the process-wide governor, and whatever account a call's resource or the credentials name.
    pub fn new() -> Self {
        GcpOptions { account: None, governor: None, lease: LEASE, resend_any: false, recorder: true }
    }

    /// The account that calls are charged to whose resource and credentials name none: `projects/my-project`,
    /// `folders/123`, `organizations/456`. Unset, it is a label of this client alone, so that calls of unknown accounts
    /// are never counted together.
    pub fn account(mut self, account: impl Into<String>) -> Self {
        self.account = Some(account.into());
        self
    }

    /// A governor of its own in place of the process-wide one.
    pub fn governor(mut self, governor: Governor) -> Self {
        self.governor = Some(governor);
        self
    }

    /// How long the slot of a call is kept that was dropped in flight outside [`call`](crate::call()), or inside of one that
    /// goes on: 5 minutes unless said otherwise. Where the policy has an attempt timeout, it is that and 5 seconds, save for Storage's uploads and
    /// downloads, which the SDK does not time out. An attempt that takes longer goes on without a slot, and counts as a
    /// second call when it ends.
    pub fn lease(mut self, lease: Duration) -> Self {
        self.lease = lease;
        self
    }

    /// Sends any operation again whose outcome is unknown, not only those that may be executed twice.
    pub fn resend_any(mut self, resend: bool) -> Self {
        self.resend_any = resend;
        self
    }

    /// Whether the client's own request recorder is switched on (`with_tracing()`), which tells the operation and the
    /// resource of each call. On unless said otherwise; [the crate's documentation](crate#the-recorder) tells its price,
    /// and what is lost without it.
    pub fn recorder(mut self, recorder: bool) -> Self {
        self.recorder = recorder;
        self
    }

    /// `factory` is the type that makes the client: it tells the service where no request does.
    fn client<F>(self) -> (Arc<Client>, bool) {
        let GcpOptions { account, governor, lease, resend_any, recorder } = self;
        let mut client = Client::new(Targets::new(account.as_deref(), std::any::type_name::<F>()), lease);
        client.governor = governor;
        client.resend_any = resend_any;
        client.awaits_recorder = AtomicBool::new(recorder);
        (Arc::new(client), recorder)
    }
}

impl Default for GcpOptions {
    fn default() -> Self {
        GcpOptions::new()
    }
}

/// The builder with the governor's credentials, policies and throttler: the client that it builds is governed. It takes
/// the builder of every generated client, HTTP or gRPC.
///
/// Storage's builder is none of these ("expected `ClientBuilder<_, Credentials>`, found `ClientBuilder`"): `attach_storage`,
/// with the feature `storage`, takes it.
///
/// What the builder had of these is replaced, so the SDK's own retry is off; attaching twice is attaching once, by the
/// last options. `credentials` are what requests are sent with.
///
/// ```
/// use cloud_governor_gcp::{GcpOptions, attach};
/// use google_cloud_asset_v1::client::AssetService;
///
/// # async fn demo() -> Result<(), Box<dyn std::error::Error>> {
/// let credentials = google_cloud_auth::credentials::Builder::default().build()?;
/// let assets = attach(AssetService::builder(), credentials, GcpOptions::new()).build().await?;
/// # let _ = assets;
/// # Ok(())
/// # }
/// ```
pub fn attach<F>(
    builder: ClientBuilder<F, Credentials>,
    credentials: impl Into<Credentials>,
    options: GcpOptions,
) -> ClientBuilder<F, Credentials> {
    let (client, recorder) = options.client::<F>();
    let hooks = Hooks::new(&client);
    let builder = builder
        .with_credentials(GovernedCredentials::new(&client, credentials.into()))
        .with_retry_policy(hooks.clone())
        .with_backoff_policy(hooks.clone())
        .with_retry_throttler(hooks)
        .with_polling_error_policy(Polling::new(&client))
        .with_polling_backoff_policy(Polling::new(&client));
    if recorder { builder.with_tracing() } else { builder }
}

/// [`attach`] for Google's storage client, whose builder is one of its own.
///
/// ```
/// use cloud_governor_gcp::{GcpOptions, attach_storage};
/// use google_cloud_storage::client::Storage;
///
/// # async fn demo() -> Result<(), Box<dyn std::error::Error>> {
/// let credentials = google_cloud_auth::credentials::Builder::default().build()?;
/// let options = GcpOptions::new().account("projects/my-project");
/// let storage = attach_storage(Storage::builder(), credentials, options).build().await?;
/// # let _ = storage;
/// # Ok(())
/// # }
/// ```
#[cfg(feature = "storage")]
pub fn attach_storage(
    builder: google_cloud_storage::builder::storage::ClientBuilder,
    credentials: impl Into<Credentials>,
    options: GcpOptions,
) -> google_cloud_storage::builder::storage::ClientBuilder {
    let (client, recorder) = options.client::<google_cloud_storage::client::Storage>();
    let hooks = Hooks::new(&client);
    let builder = builder
        .with_credentials(GovernedCredentials::new(&client, credentials.into()))
        .with_retry_policy(hooks.clone())
        .with_backoff_policy(hooks.clone())
        .with_retry_throttler(hooks);
    if recorder { builder.with_tracing() } else { builder }
}
