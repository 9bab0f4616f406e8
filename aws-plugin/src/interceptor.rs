//! The interceptor: what only a service's own configuration can add.
//!
//! It sees the typed result of an attempt, which the HTTP client does not: an answer that did not parse, an error whose
//! code no sniffing finds, a timeout by name. And it can stop the SDK's loop at once, without a replay. Attach it where
//! exactness is worth a line per client:
//!
//! ```
//! # fn demo(config: &aws_types::SdkConfig) {
//! let config = aws_sdk_ssm::config::Builder::from(config).interceptor(cloud_governor_aws::GovernorInterceptor::new());
//! let client = aws_sdk_ssm::Client::from_conf(config.build());
//! # }
//! ```
//!
//! With and without it the server sees the same requests and the caller gets the same errors, with these differences:
//! attempts that only carry a replay do not happen; the SDK's retry quota bounds nothing where no gate is passed either
//! (S3 Express, credentials of an operation's own); outcomes are known where a client's own HTTP client replaces ours; a
//! failure with an unknown code counts as what the SDK's own classifiers make of it; a success that does not parse
//! counts as a failure; and calls of EC2 that start, stop or terminate instances cost as many as they are about.

use std::sync::Arc;

use aws_runtime::invocation_id::InvocationId;
use aws_smithy_runtime::client::retries::TokenBucket;
use aws_smithy_runtime::client::retries::classifiers::run_classifiers_on_ctx;
use aws_smithy_runtime_api::box_error::BoxError;
use aws_smithy_runtime_api::client::interceptors::context::{
    BeforeTransmitInterceptorContextMut, FinalizerInterceptorContextMut,
};
use aws_smithy_runtime_api::client::interceptors::{Intercept, dyn_dispatch_hint};
use aws_smithy_runtime_api::client::orchestrator::Metadata;
use aws_smithy_runtime_api::client::retries::classifiers::{RetryAction, RetryReason};
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::config_bag::ConfigBag;
use aws_smithy_types::retry::{ErrorKind, RetryConfig};
use aws_smithy_types::timeout::TimeoutConfig;
use cloud_governor::{Class, Classification, Facts, Outcome, Transport, Verdict};

use crate::cost::Cost;
use crate::gate::id_text;
use crate::handle::Handle;
use crate::operation::Operation;
use crate::registry::REGISTRY;

/// Marks a request whose outcome the interceptor will see.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Steered;

/// A smithy interceptor that completes an install for one client. Without an install it does nothing.
#[derive(Debug, Clone, Default)]
pub struct GovernorInterceptor {
    _private: (),
}

impl GovernorInterceptor {
    /// The interceptor.
    pub fn new() -> Self {
        GovernorInterceptor::default()
    }
}

#[dyn_dispatch_hint]
impl Intercept for GovernorInterceptor {
    fn name(&self) -> &'static str {
        "CloudGovernor"
    }

    /// The last hook ahead of the first gate: what other interceptors do to the request is done as a rule.
    fn modify_before_retry_loop(
        &self,
        context: &mut BeforeTransmitInterceptorContextMut<'_>,
        _: &RuntimeComponents,
        bag: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let cost = bag.load::<Metadata>().and_then(|metadata| Cost::of(metadata, context.request()));
        if let Some(cost) = cost {
            bag.interceptor_state().store_put(cost);
        }
        Ok(())
    }

    fn modify_before_transmit(
        &self,
        context: &mut BeforeTransmitInterceptorContextMut<'_>,
        _: &RuntimeComponents,
        bag: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        context.request_mut().add_extension(Steered);
        if let Some(cost) = bag.load::<Cost>() {
            context.request_mut().add_extension(*cost);
        }
        Ok(())
    }

    fn modify_before_attempt_completion(
        &self,
        context: &mut FinalizerInterceptorContextMut<'_>,
        components: &RuntimeComponents,
        bag: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let id = bag.load::<InvocationId>().and_then(id_text);
        let in_bag = bag.load::<Handle>().map(|handle| Arc::clone(handle.operation()));
        let gated = in_bag.is_some();
        // S3 Express and credentials of an operation's own leave nothing in the bag.
        let Some(operation) = in_bag.or_else(|| REGISTRY.find(id.as_deref()?)) else { return Ok(()) };
        if !gated && !operation.is_observed() {
            // What the gate does for others: the SDK's own quota, shared by all clients of a service, bounds nothing.
            bag.interceptor_state().store_put(TokenBucket::unlimited());
        }
        let own_timeout = bag.load::<TimeoutConfig>().and_then(TimeoutConfig::operation_attempt_timeout);
        let outcome = match context.output_or_error() {
            // The caller's patience for the whole operation is at an end, which says nothing about the service.
            Some(Err(error)) if error.is_timeout_error() && own_timeout.is_none() => return Ok(()),
            Some(Ok(_)) => Outcome::Success,
            Some(Err(_)) => Outcome::Failure(classify(context, components, &operation)),
            None => return Ok(()),
        };
        let verdict = operation.settle(outcome, was_sent(context));
        let ends = matches!(verdict, Some(Verdict::Done | Verdict::GiveUp(_)));
        if ends && !operation.is_observed() && !operation.may_mend_clock() {
            bag.interceptor_state().store_put(RetryConfig::disabled());
            drop(id.and_then(|id| REGISTRY.unpark(&id)));
        }
        Ok(())
    }
}

fn was_sent(context: &FinalizerInterceptorContextMut<'_>) -> bool {
    let broke = matches!(
        context.output_or_error(),
        Some(Err(error)) if error.is_connector_error() || error.is_timeout_error()
    );
    broke || context.response().is_some()
}

fn classify(
    context: &FinalizerInterceptorContextMut<'_>,
    components: &RuntimeComponents,
    operation: &Operation,
) -> Classification {
    let mut facts = Facts::new();
    if let Some(Err(error)) = context.output_or_error() {
        if error.is_timeout_error() {
            facts = facts.transport(Transport::Timeout);
        } else if error.is_response_error() {
            facts = facts.transport(Transport::BodyCutShort);
        } else if let Some(response) = context.response() {
            facts = facts.status(response.status().as_u16()).headers(response.headers().iter_bytes());
        }
    }
    let found = operation.classify(facts);
    let action = run_classifiers_on_ctx(components.retry_classifiers(), context.inner());
    match (found.class, action) {
        // The SDK's classifiers see the error's type.
        (Class::Fatal, RetryAction::RetryIndicated(RetryReason::RetryableError { kind, .. })) => {
            let mut typed = match kind {
                ErrorKind::ThrottlingError => Classification::throttled(),
                _ => Classification::transient(),
            };
            typed.retry_after = found.retry_after;
            typed
        }
        _ => found,
    }
}
