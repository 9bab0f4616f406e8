//! Putting the governor into a client's builder.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use google_cloud_auth::credentials::Credentials;
use google_cloud_gax::client_builder::ClientBuilder;

use crate::client::Client;
use crate::credentials::GovernedCredentials;
use crate::hooks::Hooks;
use crate::options::GcpOptions;
use crate::polling::Polling;
use crate::target::Targets;

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
    let (client, recorder) = governed::<F>(options);
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
    let (client, recorder) = governed::<google_cloud_storage::client::Storage>(options);
    let hooks = Hooks::new(&client);
    let builder = builder
        .with_credentials(GovernedCredentials::new(&client, credentials.into()))
        .with_retry_policy(hooks.clone())
        .with_backoff_policy(hooks.clone())
        .with_retry_throttler(hooks);
    if recorder { builder.with_tracing() } else { builder }
}

/// What the hooks share, and whether the recorder is to be switched on. `F` is the type that makes the client: it tells the
/// service where no request does.
fn governed<F>(options: GcpOptions) -> (Arc<Client>, bool) {
    let recorder = options.recorder;
    let targets = Targets::new(options.account.as_deref(), std::any::type_name::<F>());
    let mut client = Client::new(targets, options.lease);
    client.governor = options.governor;
    client.resend_any = options.resend_any;
    client.awaits_recorder = AtomicBool::new(recorder);
    (Arc::new(client), recorder)
}
