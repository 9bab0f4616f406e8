//! How clients are governed.

#[cfg(feature = "clients")]
use std::time::Duration;

use cloud_governor::Governor;

#[cfg(any(feature = "tonic", feature = "reqwest-middleware"))]
use crate::requests::{AccountFrom, RequestHead};

/// How long an attempt may be silent before what it holds is given back, unless the policy has an attempt timeout.
#[cfg(feature = "clients")]
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
#[must_use = "nothing is governed by options alone"]
pub struct GcpOptions {
    pub(crate) account: Option<String>,
    pub(crate) governor: Option<Governor>,
    pub(crate) resend_any: bool,
    #[cfg(feature = "clients")]
    pub(crate) lease: Duration,
    #[cfg(feature = "clients")]
    pub(crate) recorder: bool,
    #[cfg(any(feature = "tonic", feature = "reqwest-middleware"))]
    pub(crate) account_from: Option<AccountFrom>,
}

impl GcpOptions {
    /// The defaults: the process-wide governor, and whatever account a call's resource or the credentials name.
    pub fn new() -> Self {
        GcpOptions {
            account: None,
            governor: None,
            resend_any: false,
            #[cfg(feature = "clients")]
            lease: LEASE,
            #[cfg(feature = "clients")]
            recorder: true,
            #[cfg(any(feature = "tonic", feature = "reqwest-middleware"))]
            account_from: None,
        }
    }

    /// The account that calls are charged to whose resource and credentials name none: `projects/my-project`,
    /// `folders/123`, `organizations/456`; `my-project` alone means `projects/my-project`. Unset, empty, or a placeholder such
    /// as `-`, it is a label of this client alone, so that calls of unknown accounts are never counted together.
    pub fn account(mut self, account: impl Into<String>) -> Self {
        self.account = Some(account.into());
        self
    }

    /// A governor of its own in place of the process-wide one.
    pub fn governor(mut self, governor: Governor) -> Self {
        self.governor = Some(governor);
        self
    }

    /// Sends any operation again whose outcome is unknown, not only those that may be executed twice.
    pub fn resend_any(mut self, resend: bool) -> Self {
        self.resend_any = resend;
        self
    }
}

/// Of the official clients alone.
#[cfg(feature = "clients")]
impl GcpOptions {
    /// How long the slot of a call is kept that was dropped in flight outside [`call`](crate::call()), or inside of one that
    /// goes on: 5 minutes unless said otherwise. Where the policy has an attempt timeout, it is that and 5 seconds, save for
    /// Storage's uploads and downloads, which the SDK does not time out. An attempt that takes longer goes on without a
    /// slot, and counts as a second call when it ends.
    pub fn lease(mut self, lease: Duration) -> Self {
        self.lease = lease;
        self
    }

    /// Whether the client's own request recorder is switched on (`with_tracing()`), which tells the operation and the
    /// resource of each call. On unless said otherwise; [the crate's documentation](crate#the-recorder) tells its price,
    /// and what is lost without it.
    pub fn recorder(mut self, recorder: bool) -> Self {
        self.recorder = recorder;
        self
    }
}

/// Of those whose requests are seen: `grpc_layer` and `http_middleware`.
#[cfg(any(feature = "tonic", feature = "reqwest-middleware"))]
impl GcpOptions {
    /// Whom a request is charged to, by a function of its head. Where it answers `None`, or what is no account, the request
    /// is charged as without it. It is called once for each call, so it should be quick.
    ///
    /// For requests that name no project, as those of Storage, whose names of buckets are anybody's:
    ///
    /// ```
    /// use cloud_governor_gcp::{GcpOptions, RequestHead};
    ///
    /// let options = GcpOptions::new().account_from(|head: &RequestHead<'_>| {
    ///     head.path().contains("/b/acme-").then(|| "projects/acme".to_owned())
    /// });
    /// # let _ = options;
    /// ```
    pub fn account_from(
        mut self,
        account: impl Fn(&RequestHead<'_>) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        self.account_from = Some(AccountFrom::new(account));
        self
    }
}

impl Default for GcpOptions {
    fn default() -> Self {
        GcpOptions::new()
    }
}
