//! The interceptor: the same, and what only it can see.

use aws_sdk_ssm::error::{ProvideErrorMetadata, SdkError};
use cloud_governor_aws::GovernorInterceptor;

use crate::common::{Reply, Server, governed, governor, seconds, totals};

fn steered(server: &Server, governor: &cloud_governor::Governor) -> aws_sdk_ssm::Client {
    let config =
        aws_sdk_ssm::config::Builder::from(&governed(server, governor)).interceptor(GovernorInterceptor::new());
    aws_sdk_ssm::Client::from_conf(config.build())
}

#[tokio::test(start_paused = true)]
async fn with_the_interceptor_the_server_sees_as_many_requests_and_the_caller_gets_the_same_error() {
    let server = Server::always(Reply::json_error(503, "InternalServerError"));
    let governor = governor(|aws| aws.max_retries(3));
    let error = steered(&server, &governor).get_parameter().name("a").send().await.expect_err("503");
    assert_eq!(server.count(), 4);
    assert!(matches!(error, SdkError::ServiceError(_)), "{error:?}");
    assert_eq!(error.code(), Some("InternalServerError"));
    let totals = totals(&governor);
    assert_eq!((totals.operations, totals.calls, totals.gave_up), (1, 4, 1));
}

#[tokio::test(start_paused = true)]
async fn with_the_interceptor_a_bare_429_is_retried_and_returned() {
    let server = Server::always(Reply::new(429, ""));
    let governor = governor(|aws| aws.max_retries(2));
    let error = steered(&server, &governor).get_parameter().name("a").send().await.expect_err("429");
    assert_eq!(server.count(), 3);
    assert_eq!(error.raw_response().map(|response| response.status().as_u16()), Some(429));
}

#[tokio::test(start_paused = true)]
async fn with_the_interceptor_a_throttle_is_got_over() {
    let server = Server::script([Reply::json_error(400, "ThrottlingException"), Reply::parameter()]);
    let governor = governor(|aws| aws);
    steered(&server, &governor).get_parameter().name("a").send().await.expect("the second answer");
    assert_eq!(totals(&governor).throttled, 1);
}

#[tokio::test(start_paused = true)]
async fn with_the_interceptor_a_body_cut_short_is_a_failure() {
    let cut = Reply::Broken { status: 200, start: "{".into() };
    let server = Server::always(cut);
    let governor = governor(|aws| aws.max_retries(2));
    let error = steered(&server, &governor).get_parameter().name("a").send().await.expect_err("cut short");
    assert!(matches!(error, SdkError::ResponseError(_)), "{error:?}");
    assert_eq!(server.count(), 3);
    assert_eq!(totals(&governor).transient_errors, 3);
}

/// The SDK does not retry it either, with or without hooks.
#[tokio::test(start_paused = true)]
async fn an_answer_that_does_not_parse_is_returned_at_once() {
    let server = Server::always(Reply::new(200, "no json"));
    let governor = governor(|aws| aws);
    let error = steered(&server, &governor).get_parameter().name("a").send().await.expect_err("no json");
    assert!(matches!(error, SdkError::ResponseError(_)), "{error:?}");
    assert_eq!(server.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn with_the_interceptor_a_timeout_of_the_clients_own_is_typed_at_the_end() {
    let server = Server::always(Reply::parameter().after(seconds(60)));
    let governor = governor(|aws| aws.max_retries(1));
    let timeouts = aws_smithy_types::timeout::TimeoutConfig::builder().operation_attempt_timeout(seconds(5)).build();
    let config = aws_sdk_ssm::config::Builder::from(&governed(&server, &governor))
        .interceptor(GovernorInterceptor::new())
        .timeout_config(timeouts)
        .build();
    let result = aws_sdk_ssm::Client::from_conf(config).get_parameter().name("a").send().await;
    let error = result.expect_err("timed out");
    assert!(matches!(error, SdkError::TimeoutError(_)), "{error:?}");
    assert_eq!(server.count(), 2);
}

#[tokio::test(start_paused = true)]
async fn without_an_install_the_interceptor_changes_nothing() {
    let server = Server::always(Reply::json_error(503, "InternalServerError"));
    let config = aws_sdk_ssm::config::Builder::from(&crate::common::plain(&server).build())
        .interceptor(GovernorInterceptor::new())
        .build();
    aws_sdk_ssm::Client::from_conf(config).get_parameter().name("a").send().await.expect_err("503");
    assert_eq!(server.count(), 3, "the SDK's own three attempts");
}

/// Counts how often the SDK's loop goes round.
#[derive(Debug, Clone, Default)]
struct Rounds(std::sync::Arc<std::sync::atomic::AtomicUsize>);

#[aws_smithy_runtime_api::client::interceptors::dyn_dispatch_hint]
impl aws_smithy_runtime_api::client::interceptors::Intercept for Rounds {
    fn name(&self) -> &'static str {
        "Rounds"
    }

    fn read_before_attempt(
        &self,
        _: &aws_smithy_runtime_api::client::interceptors::context::BeforeTransmitInterceptorContextRef<'_>,
        _: &aws_smithy_runtime_api::client::runtime_components::RuntimeComponents,
        _: &mut aws_smithy_types::config_bag::ConfigBag,
    ) -> Result<(), aws_smithy_runtime_api::box_error::BoxError> {
        self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Ok(())
    }
}

async fn rounds(with_interceptor: bool) -> usize {
    let server = Server::always(Reply::json_error(503, "InternalServerError"));
    let governor = governor(|aws| aws.max_retries(2));
    let rounds = Rounds::default();
    let mut config = aws_sdk_ssm::config::Builder::from(&governed(&server, &governor)).interceptor(rounds.clone());
    if with_interceptor {
        config = config.interceptor(GovernorInterceptor::new());
    }
    aws_sdk_ssm::Client::from_conf(config.build()).get_parameter().name("a").send().await.expect_err("503");
    assert_eq!(server.count(), 3);
    rounds.0.load(std::sync::atomic::Ordering::Relaxed)
}

/// The one round more carries the replay. Were the empty retry quota that its identity carries one day ignored, the
/// replays would go on until the SDK's attempts are used up.
#[tokio::test(start_paused = true)]
async fn the_loop_ends_after_one_replay_without_the_interceptor_and_after_none_with_it() {
    assert_eq!(rounds(false).await, 4);
    assert_eq!(rounds(true).await, 3);
}

/// Without a gate each replay would take from the SDK's retry quota.
#[tokio::test(start_paused = true)]
async fn with_the_interceptor_a_client_without_the_gate_stops_without_a_replay() {
    let server = Server::always(Reply::json_error(503, "InternalServerError"));
    let governor = governor(|aws| aws.max_retries(2));
    let rounds = Rounds::default();
    let config = aws_sdk_ssm::config::Builder::from(&governed(&server, &governor))
        .identity_cache(aws_sdk_ssm::config::IdentityCache::no_cache())
        .interceptor(rounds.clone())
        .interceptor(GovernorInterceptor::new())
        .build();
    let result = aws_sdk_ssm::Client::from_conf(config).get_parameter().name("a").send().await;
    assert_eq!(result.expect_err("503").code(), Some("InternalServerError"));
    assert_eq!((server.count(), rounds.0.load(std::sync::atomic::Ordering::Relaxed)), (3, 3));
    assert_eq!(totals(&governor).gave_up, 1);
}
