//! The gate: an identity cache that every signed attempt passes before it is signed.
//!
//! The orchestrator asks for an identity once per attempt, inside the SDK's own loop and ahead of the signature. Waiting
//! here never ages one. The identity that is handed back carries a layer for the operation's config bag: the
//! operation's state, so that it ends with the operation, and a retry quota of our choice in place of the SDK's,
//! unlimited while the call goes on and empty when it is to stop.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use aws_runtime::invocation_id::{InvocationId, InvocationIdInterceptor, SharedInvocationIdGenerator};
use aws_smithy_runtime::client::retries::TokenBucket;
use aws_smithy_runtime_api::box_error::BoxError;
use aws_smithy_runtime_api::client::identity::{
    Identity, IdentityFuture, ResolveCachedIdentity, SharedIdentityResolver,
};
use aws_smithy_runtime_api::client::interceptors::DisableInterceptor;
use aws_smithy_runtime_api::client::orchestrator::Metadata;
use aws_smithy_runtime_api::client::retries::RequestAttempts;
use aws_smithy_runtime_api::client::runtime_components::{RuntimeComponents, RuntimeComponentsBuilder};
use aws_smithy_types::config_bag::ConfigBag;
use aws_smithy_types::retry::RetryConfig;
use aws_smithy_types::timeout::TimeoutConfig;
use aws_types::region::Region;
use cloud_governor::{Attempt, Call, Refusal};

use crate::cost::Cost;
use crate::handle::Handle;
use crate::hooks::{Hooks, Replaced};
use crate::identity::{can_carry, carrying};
use crate::install::LOOP_BACKOFF;
use crate::names::service_name;
use crate::operation::{Next, Operation};
use crate::registry::REGISTRY;
use crate::task_scope::CallOptions;

/// An identity that a wait brought this near to its expiry is resolved again. The SDK's lazy cache renews ten seconds
/// ahead, with a jitter of up to half of that.
const EXPIRY_MARGIN: Duration = Duration::from_secs(15);

/// How often an identity is resolved again for one attempt before it is used as it is.
const MOST_RENEWALS: usize = 3;

/// Set when a later attempt does not find what an earlier one's identity carried: the SDK has stopped pushing the layer.
/// The registry keeps every operation between its attempts then.
static LAYERS_ARE_LOST: AtomicBool = AtomicBool::new(false);

static NEXT_INVOCATION: AtomicU64 = AtomicU64::new(1);

/// The identity cache of a hooked configuration.
pub(crate) struct Gate {
    hooks: Arc<Hooks>,
}

impl Gate {
    pub(crate) fn new(hooks: Arc<Hooks>) -> Self {
        Gate { hooks }
    }
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.hooks.fmt(f)
    }
}

impl ResolveCachedIdentity for Gate {
    fn resolve_cached_identity<'a>(
        &'a self,
        resolver: SharedIdentityResolver,
        components: &'a RuntimeComponents,
        bag: &'a ConfigBag,
    ) -> IdentityFuture<'a> {
        let passage = Passage { hooks: &self.hooks, resolver, components, bag };
        match bag.load::<Metadata>() {
            Some(metadata) if !is_presigning(bag) => IdentityFuture::new(passage.pass(metadata)),
            _ => IdentityFuture::new(async move { passage.resolve().await }),
        }
    }

    fn validate_base_client_config(
        &self,
        components: &RuntimeComponentsBuilder,
        bag: &ConfigBag,
    ) -> Result<(), BoxError> {
        self.hooks.given.cache.validate_base_client_config(components, bag)
    }

    fn validate_final_config(&self, components: &RuntimeComponents, bag: &ConfigBag) -> Result<(), BoxError> {
        self.hooks.given.cache.validate_final_config(components, bag)
    }
}

/// Presigning resolves an identity and sends nothing. It runs without the interceptor that numbers invocations, and says
/// so in the bag (`presigning_interceptors.rs` of any SDK).
fn is_presigning(bag: &ConfigBag) -> bool {
    let unnumbered = bag.load::<InvocationId>().is_none() && bag.load::<SharedInvocationIdGenerator>().is_none();
    unnumbered || bag.load::<DisableInterceptor<InvocationIdInterceptor>>().is_some()
}

/// One attempt on its way through the gate.
struct Passage<'a> {
    hooks: &'a Arc<Hooks>,
    resolver: SharedIdentityResolver,
    components: &'a RuntimeComponents,
    bag: &'a ConfigBag,
}

impl<'a> Passage<'a> {
    async fn pass(self, metadata: &'a Metadata) -> Result<Identity, BoxError> {
        let own_id = self.bag.load::<InvocationId>().and_then(id_text);
        let earlier = self.bag.load::<Handle>().cloned().or_else(|| {
            let parked = REGISTRY.unpark(own_id.as_deref()?)?;
            Some(Handle::new(parked))
        });
        match earlier {
            Some(handle) => self.again(handle).await,
            None => self.first(metadata, own_id).await,
        }
    }

    async fn resolve(&self) -> Result<Identity, BoxError> {
        self.hooks.given.cache.resolve_cached_identity(self.resolver.clone(), self.components, self.bag).await
    }

    async fn first(&self, metadata: &Metadata, own_id: Option<String>) -> Result<Identity, BoxError> {
        let options = CallOptions::current();
        // Never with a slot held: the provider may make governed calls for the same account.
        let identity = self.resolve().await?;
        let service = service_name(metadata.service());
        let attempts = self.bag.load::<RequestAttempts>().map_or(1, |attempts| attempts.attempts());
        if attempts > 1 && &*service != "s3" && !self.may_be_cut_off() {
            LAYERS_ARE_LOST.store(true, Ordering::Relaxed);
        }
        let region = self.bag.load::<Region>().map(Region::as_ref);
        let provider = self.resolver.cache_partition();
        let scope = self.hooks.scope(&service, metadata.name(), region, &identity, provider);
        if !self.hooks.given.observe_only && has_foreign_backoff(self.bag) {
            self.hooks.warn(Replaced::RetryConfig, &scope);
        }
        let given_id =
            own_id.is_none().then(|| format!("cloud-governor-{}", NEXT_INVOCATION.fetch_add(1, Ordering::Relaxed)));
        let operation = Operation::new(
            own_id.or_else(|| given_id.clone()),
            scope.clone(),
            self.hooks.governor(),
            self.hooks.given.observe_only,
        );
        if !REGISTRY.register(&operation) {
            // Another running operation has the same id: the observer cannot tell the two apart. It governs this one
            // as one that passed no gate, for one attempt.
            return Ok(carrying(identity, |layer| {
                layer.store_put(TokenBucket::new(0));
            }));
        }
        let (identity, goes_on) = if options.skips() {
            operation.ready(None, None);
            (identity, false)
        } else {
            let mut call = options.apply(operation.governor().call(&scope), self.bag.load::<Cost>().copied());
            if &*service == "s3" && metadata.name() == "CreateSession" {
                // Made inside another operation, which may hold the only slot.
                call = call.without_slot();
            }
            if let Some(within) = self.bag.load::<TimeoutConfig>().and_then(TimeoutConfig::operation_timeout) {
                call.limit_deadline(within);
            }
            let goes_on = call.is_governed();
            if self.hooks.given.observe_only && call.is_governed() {
                operation.ready(None, None);
                (identity, goes_on)
            } else {
                let (admitted, identity) = self.admitted(&mut call, identity).await?;
                operation.ready(Some(call), Some(admitted?));
                (identity, goes_on)
            }
        };
        Ok(self.hand_out(identity, Handle::new(operation), given_id, goes_on))
    }

    async fn again(&self, handle: Handle) -> Result<Identity, BoxError> {
        let operation = Arc::clone(handle.operation());
        if self.hooks.given.observe_only {
            return self.observe_again(handle).await;
        }
        let unseen = operation.is_unseen();
        if unseen {
            self.hooks.warn(Replaced::HttpClient, operation.scope());
        }
        if let Next::Admit(call) = operation.next() {
            match self.admitted_again(&operation, call).await? {
                (Some((attempt, is_last)), identity) => {
                    operation.ready_again(attempt);
                    // Where nothing replays, nobody could keep the attempt after the last one from being sent.
                    return Ok(self.hand_out(identity, handle, None, !(unseen && is_last)));
                }
                // The caller has an error of its own to get: not the refusal.
                (None, _) => operation.stop(),
            }
        }
        if unseen && let Some(mut call) = operation.take_call() {
            // There is no answer to give again, and nobody to give it: the refusal says why the call ended.
            drop(call.admit().await?);
        }
        let identity = match operation.identity() {
            Some(identity) => identity,
            None => self.resolve().await?,
        };
        Ok(self.hand_out(identity, handle, None, false))
    }

    /// Waits for another attempt, unless it is refused, and says whether it is the call's last. The call is the
    /// operation's again when the wait ends, or is cut off.
    async fn admitted_again(
        &self,
        operation: &Operation,
        call: Call,
    ) -> Result<(Option<(Attempt, bool)>, Identity), BoxError> {
        let mut lent = Lent { operation, call: Some(call) };
        let identity = self.resolve().await?;
        let Some(call) = &mut lent.call else { return Ok((None, identity)) };
        let (admitted, identity) = self.admitted(call, identity).await?;
        let is_last = call.is_exhausted();
        Ok((admitted.ok().map(|attempt| (attempt, is_last)), identity))
    }

    /// Whether the SDK's own attempt timeout spans the gate. It may end an attempt here, which leaves no trace.
    fn may_be_cut_off(&self) -> bool {
        self.bag.load::<TimeoutConfig>().and_then(TimeoutConfig::operation_attempt_timeout).is_some()
    }

    /// The SDK's own policy is in force: whatever it decides, the attempt passes.
    async fn observe_again(&self, handle: Handle) -> Result<Identity, BoxError> {
        let operation = Arc::clone(handle.operation());
        let identity = self.resolve().await?;
        let mut call = operation.observe_next();
        if call.is_governed() {
            operation.ready(None, None);
        } else {
            let attempt = call.admit().await?;
            operation.ready(Some(call), Some(attempt));
        }
        Ok(self.hand_out(identity, handle, None, true))
    }

    /// Waits to be admitted, and resolves the identity again if the wait brought it near its expiry.
    async fn admitted(
        &self,
        call: &mut Call,
        mut identity: Identity,
    ) -> Result<(Result<Attempt, Refusal>, Identity), BoxError> {
        for renewals in 0.. {
            let was_fresh = self.is_fresh(&identity);
            let attempt = match call.admit().await {
                Ok(attempt) => attempt,
                Err(refusal) => return Ok((Err(refusal), identity)),
            };
            if !was_fresh || self.is_fresh(&identity) || renewals >= MOST_RENEWALS {
                return Ok((Ok(attempt), identity));
            }
            attempt.unsent();
            identity = self.resolve().await?;
        }
        Err("the wait for admission has no end".into())
    }

    fn is_fresh(&self, identity: &Identity) -> bool {
        let now = self.components.time_source().map_or_else(SystemTime::now, |source| source.now());
        identity.expiration().is_none_or(|expiry| now + EXPIRY_MARGIN < expiry)
    }

    /// The identity with what the operation's config bag is to hold.
    fn hand_out(&self, identity: Identity, handle: Handle, given_id: Option<String>, goes_on: bool) -> Identity {
        handle.operation().keep_identity(&identity);
        if !can_carry(&identity) {
            // The registry keeps the operation instead, once its handle is gone.
            handle.operation().loosen();
            return identity;
        }
        if LAYERS_ARE_LOST.load(Ordering::Relaxed) {
            handle.operation().loosen();
        }
        let observe_only = self.hooks.given.observe_only;
        carrying(identity, |layer| {
            if !observe_only {
                layer.store_put(if goes_on { TokenBucket::unlimited() } else { TokenBucket::new(0) });
            }
            if let Some(id) = given_id {
                // Nothing numbers the invocations of this client: the SDK's interceptor sends what it finds here.
                layer.store_put(InvocationId::new(id));
            }
            layer.store_put(handle);
        })
    }
}

/// The call of an operation while it waits: it goes back however the wait ends, and goes on from there if the SDK's own
/// attempt timeout cut it off.
struct Lent<'a> {
    operation: &'a Operation,
    call: Option<Call>,
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        if let Some(call) = self.call.take() {
            self.operation.postponed(call);
        }
    }
}

/// The id's text: it has no accessor, and shows as `InvocationId("<text>")`.
pub(crate) fn id_text(id: &InvocationId) -> Option<String> {
    let shown = format!("{id:?}");
    let text = shown.strip_prefix("InvocationId(\"")?.strip_suffix("\")")?;
    Some(text.to_owned())
}

/// Whether a client has a retry configuration of its own, whose backoff comes on top of the governor's.
fn has_foreign_backoff(bag: &ConfigBag) -> bool {
    bag.load::<RetryConfig>().is_some_and(|retry| retry.has_retry() && retry.max_backoff() > LOOP_BACKOFF)
}

#[cfg(test)]
mod tests;
