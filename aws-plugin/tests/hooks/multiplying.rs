//! Retries that never multiply: the server sees one request more than there are retries, whoever configures what.

use std::time::Duration;

use aws_sdk_ssm::config::Builder;
use aws_smithy_runtime::client::retries::RetryPartition;
use aws_smithy_types::retry::RetryConfig;
use aws_smithy_types::timeout::TimeoutConfig;
use aws_types::SdkConfig;
use cloud_governor::{Config, Governor};
use cloud_governor_aws::{AwsHooks, AwsOptions, GovernorInterceptor, install_aws_hooks};

use crate::common::{Reply, Server, governed, governor, plain, seconds};

/// Every way of failing that is worth retrying.
fn failures() -> Vec<(&'static str, Reply)> {
    vec![
        ("503", Reply::new(503, "")),
        ("503 with a code", Reply::json_error(503, "InternalServerError")),
        ("429", Reply::new(429, "")),
        ("429 with a code", Reply::json_error(429, "TooManyRequestsException")),
        ("408", Reply::new(408, "")),
        ("400 throttled", Reply::json_error(400, "ThrottlingException")),
        ("reset", Reply::Reset),
        ("cut short", Reply::Broken { status: 200, start: "{".into() }),
        ("hanging", Reply::parameter().after(seconds(3600))),
        ("hanging body", Reply::SlowBody { status: 200, body: "{}".into(), after: seconds(3600) }),
    ]
}

fn lasting() -> Governor {
    governor(|aws| aws.max_retries(3).max_rps(1000.0).breaker_failures(10_000).retry_budget(10_000))
}

fn user_config(server: &Server, retry: Option<RetryConfig>) -> SdkConfig {
    let timeouts = TimeoutConfig::builder().operation_attempt_timeout(seconds(5)).build();
    let mut config = plain(server).timeout_config(timeouts);
    config.set_retry_config(retry);
    config.build()
}

async fn requests(server: &Server, config: Builder, with_interceptor: bool) -> usize {
    let config = if with_interceptor { config.interceptor(GovernorInterceptor::new()) } else { config };
    let before = server.count();
    aws_sdk_ssm::Client::from_conf(config.build()).get_parameter().name("a").send().await.expect_err("a failure");
    server.count() - before
}

#[tokio::test(start_paused = true)]
async fn every_failure_is_sent_as_often_as_the_policy_says_whatever_the_users_retry_configuration() {
    let slow = || RetryConfig::standard().with_max_attempts(7).with_initial_backoff(seconds(1));
    let configured = [
        ("none", None, 4),
        ("standard", Some(slow()), 4),
        ("adaptive", Some(RetryConfig::adaptive().with_max_attempts(7)), 4),
        ("disabled", Some(RetryConfig::disabled()), 1),
        ("adaptive, one attempt", Some(RetryConfig::adaptive().with_max_attempts(1)), 1),
    ];
    for (failure, reply) in failures() {
        for (name, retry, expected) in &configured {
            for with_interceptor in [false, true] {
                let server = Server::always(reply.clone());
                let config = user_config(&server, retry.clone());
                let config = AwsHooks::builder().governor(lasting()).install(&config);
                let seen = requests(&server, Builder::from(&config), with_interceptor).await;
                assert_eq!(seen, *expected, "{failure}, {name}, interceptor: {with_interceptor}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_retry_configuration_on_the_services_own_builder_can_only_lower_the_number() {
    let configured = [
        ("standard", RetryConfig::standard().with_max_attempts(9), 4),
        ("standard, fewer", RetryConfig::standard().with_max_attempts(2), 2),
        ("adaptive", RetryConfig::adaptive().with_max_attempts(9), 4),
        ("disabled", RetryConfig::disabled(), 1),
    ];
    for (failure, reply) in failures() {
        for (name, retry, expected) in &configured {
            for with_interceptor in [false, true] {
                let server = Server::always(reply.clone());
                let config = AwsHooks::builder().governor(lasting()).install(&user_config(&server, None));
                let config = Builder::from(&config).retry_config(retry.clone());
                let seen = requests(&server, config, with_interceptor).await;
                assert_eq!(seen, *expected, "{failure}, {name}, interceptor: {with_interceptor}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_replaces_a_hook_sends_no_more_than_the_policy_says() {
    for (failure, reply) in failures() {
        for with_interceptor in [false, true] {
            let server = Server::always(reply.clone());
            let config = AwsHooks::builder().governor(lasting()).install(&user_config(&server, None));
            // Without a gate and an interceptor the SDK's quota counts: one of its own for each case.
            let quota = RetryPartition::new(format!("{failure}, interceptor: {with_interceptor}"));
            let without_gate = Builder::from(&config)
                .identity_cache(aws_sdk_ssm::config::IdentityCache::no_cache())
                .retry_partition(quota);
            let seen = requests(&server, without_gate, with_interceptor).await;
            assert_eq!(seen, 4, "{failure}, no gate, interceptor: {with_interceptor}");
        }
    }
    for with_interceptor in [false, true] {
        let server = Server::always(Reply::new(503, ""));
        let config = AwsHooks::builder().governor(lasting()).install(&user_config(&server, None));
        let without_observer = Builder::from(&config).http_client(server.clone());
        let seen = requests(&server, without_observer, with_interceptor).await;
        assert_eq!(seen, 4, "no observer, interceptor: {with_interceptor}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_configure_says_later_holds_for_clients_that_live() {
    let aws = |max_retries: u32, enabled: bool| {
        Config::builder()
            .provider("aws", |aws| {
                let aws = aws.base_delay(Duration::from_millis(10)).max_backoff(Duration::from_millis(100));
                aws.enabled(enabled).max_retries(max_retries).max_rps(1000.0).breaker_failures(10_000)
            })
            .build()
            .expect("a sound configuration")
    };
    for (failure, reply) in failures() {
        for with_interceptor in [false, true] {
            let server = Server::always(reply.clone());
            let governor = lasting();
            let config = AwsHooks::builder().governor(governor.clone()).install(&user_config(&server, None));
            let config = install_aws_hooks(&config, AwsOptions::default());
            let builder = || Builder::from(&config);
            for (max_retries, enabled, expected) in
                [(3, true, 4), (1, true, 2), (10, true, 11), (3, false, 1), (0, true, 1)]
            {
                governor.reconfigure(aws(max_retries, enabled));
                let seen = requests(&server, builder(), with_interceptor).await;
                assert_eq!(seen, expected, "{failure}, {max_retries}, {enabled}, interceptor: {with_interceptor}");
            }
        }
    }
}

/// Each turn of a wait at the HTTP client is a retry to the SDK, which has a quota of them.
#[tokio::test(start_paused = true)]
async fn many_calls_without_a_gate_wait_their_turn_and_none_is_lost() {
    for with_interceptor in [false, true] {
        let server = Server::always(Reply::parameter());
        let governor = governor(|aws| aws.max_rps(1.0).burst(1.0));
        let config = Builder::from(&governed(&server, &governor))
            .identity_cache(aws_sdk_ssm::config::IdentityCache::no_cache())
            .retry_partition(RetryPartition::new(format!("turns, interceptor: {with_interceptor}")));
        let config = if with_interceptor { config.interceptor(GovernorInterceptor::new()) } else { config };
        let client = aws_sdk_ssm::Client::from_conf(config.build());
        let calls: Vec<_> = (0..60).map(|_| tokio::spawn(client.get_parameter().name("a").send())).collect();
        let mut lost = 0;
        for call in calls {
            lost += usize::from(call.await.expect("no panic").is_err());
        }
        assert_eq!((lost, server.count()), (0, 60), "interceptor: {with_interceptor}");
    }
}
