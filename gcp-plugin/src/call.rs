//! What the calls of a future are treated like.
//!
//! A client's methods take no argument for the governor, so what a call should be treated like is said around it.

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use cloud_governor::{CallOptions, Clock};

use crate::client::Client;
use crate::store::Store;

tokio::task_local! {
    static CONTEXT: Arc<Context>;
}

/// Where the calls belong that are made outside of [`call`]: one for each clock that governors go by, because clients that
/// share a governor wait for each other's slots.
static OUTSIDE: Mutex<Vec<Weak<Context>>> = Mutex::new(Vec::new());

/// Runs a future whose calls, of any attached client, are governed by these options.
///
/// If it is dropped, everything that its calls hold goes back at once: slots, tokens of a wait, the place of a half-open
/// circuit's probe. Several calls may be made inside, one after the other or side by side: a paginator's pages, a poller's
/// polls, joined requests. The options hold for each of them: to bound all together, put `tokio::time::timeout` around
/// this. What is dropped inside while the rest goes on is leased, as outside
/// ([`GcpOptions::lease`](crate::GcpOptions::lease)). An inner `call` replaces an outer one. Task-locals do not enter
/// `tokio::spawn`: wrap the spawned future instead.
///
/// ```
/// # use google_cloud_asset_v1::client::AssetService;
/// # async fn demo(assets: AssetService) -> Result<(), Box<dyn std::error::Error>> {
/// use std::time::Duration;
/// use cloud_governor::{Priority, RetryPolicy};
/// use cloud_governor_gcp::{CallOptions, CallReport, call};
///
/// let report = CallReport::new();
/// let urgent = CallOptions::new()
///     .priority(Priority::High)
///     .policy(RetryPolicy::builder().deadline(Duration::from_secs(5)).build()?)
///     .report(&report);
/// let page = call(urgent, assets.list_assets().set_parent("projects/my-project").send()).await?;
/// println!("{} assets, {} attempts", page.assets.len(), report.attempts());
/// # Ok(())
/// # }
/// ```
pub fn call<F: Future>(options: impl Into<CallOptions>, future: F) -> impl Future<Output = F::Output> {
    let context = Arc::new(Context { options: options.into(), store: Store::inside() });
    async move {
        // When this ends, or is dropped, nobody else holds the context, and with it goes what its calls hold.
        let _ends = Ends(Arc::clone(&context));
        CONTEXT.scope(context, future).await
    }
}

/// What the hooks of a call find around it.
#[derive(Debug)]
pub(crate) struct Context {
    options: CallOptions,
    store: Store,
}

impl Context {
    /// Of the task that is running.
    pub(crate) fn current(client: &Client) -> Arc<Context> {
        CONTEXT.try_with(Arc::clone).unwrap_or_else(|_| client.outside())
    }

    /// Of the calls that are made outside of [`call`].
    pub(crate) fn outside(clock: &Arc<dyn Clock>) -> Arc<Context> {
        let mut all = OUTSIDE.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|context| context.strong_count() > 0);
        all.iter().filter_map(Weak::upgrade).find(|context| context.store.goes_by(clock)).unwrap_or_else(|| {
            let context = Arc::new(Context { options: CallOptions::new(), store: Store::outside(Arc::clone(clock)) });
            all.push(Arc::downgrade(&context));
            context
        })
    }

    pub(crate) fn options(&self) -> &CallOptions {
        &self.options
    }

    pub(crate) fn store(&self) -> &Store {
        &self.store
    }
}

/// Ends a context, whoever else may still hold it.
struct Ends(Arc<Context>);

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.store.close();
    }
}

#[cfg(test)]
mod tests;
