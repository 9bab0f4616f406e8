//! Installing once, twice, on top of others, and only to observe.

use aws_runtime::invocation_id::{InvocationId, InvocationIdGenerator};
use aws_smithy_runtime_api::box_error::BoxError;
use aws_smithy_types::retry::RetryConfig;
use cloud_governor::Scope;
use cloud_governor_aws::{AwsHooks, AwsOptions, install_aws_hooks};

use crate::common::{Reply, Server, governed, governor, plain, seconds, ssm, totals};

#[tokio::test(start_paused = true)]
async fn a_second_install_does_not_multiply_retries() {
    let server = Server::always(Reply::json_error(503, "InternalServerError"));
    let governor = governor(|aws| aws.max_retries(2));
    let once = governed(&server, &governor);
    let twice = install_aws_hooks(&once, AwsOptions::default());
    let thrice = AwsHooks::builder().governor(governor.clone()).install(&twice);
    aws_sdk_ssm::Client::new(&thrice).get_parameter().name("a").send().await.expect_err("503");
    assert_eq!(server.count(), 3);
    let totals = totals(&governor);
    assert_eq!((totals.operations, totals.calls), (1, 3));
}

#[tokio::test(start_paused = true)]
async fn a_second_install_for_another_account_replaces_the_first() {
    let server = Server::always(Reply::parameter());
    let governor = governor(|aws| aws);
    let first = AwsHooks::builder().account("1").governor(governor.clone()).install(&plain(&server).build());
    let second = AwsHooks::builder().account("2").install(&first);
    let third = AwsHooks::builder().install(&second);
    for config in [second, third] {
        aws_sdk_ssm::Client::new(&config).get_parameter().name("a").send().await.expect("an answer");
    }
    let scopes: Vec<String> = governor.summary().scopes.keys().map(Scope::to_string).collect();
    assert_eq!(scopes, ["aws/2/eu-west-1/ssm"]);
}

#[tokio::test(start_paused = true)]
async fn a_second_install_brings_back_what_the_first_had_taken_off() {
    let server = Server::always(Reply::parameter().after(seconds(60)));
    let governor = governor(|aws| aws.max_retries(0));
    let timeouts = aws_smithy_types::timeout::TimeoutConfig::builder().operation_attempt_timeout(seconds(5)).build();
    let config = plain(&server).timeout_config(timeouts).build();
    let once = AwsHooks::builder().governor(governor.clone()).install(&config);
    let twice = AwsHooks::builder().install(&once);
    let before = tokio::time::Instant::now();
    aws_sdk_ssm::Client::new(&twice).get_parameter().name("a").send().await.expect_err("timed out");
    assert!((seconds(5)..seconds(6)).contains(&before.elapsed()));
}

#[tokio::test(start_paused = true)]
async fn an_install_whose_http_client_was_replaced_is_completed_and_not_doubled() {
    let old = Server::always(Reply::parameter());
    let new = Server::always(Reply::json_error(503, "InternalServerError"));
    let governor = governor(|aws| aws.max_retries(2));
    let mixed = governed(&old, &governor).to_builder().http_client(new.clone()).build();
    let config = AwsHooks::builder().install(&mixed);
    aws_sdk_ssm::Client::new(&config).get_parameter().name("a").send().await.expect_err("503");
    assert_eq!((old.count(), new.count()), (0, 3));
    assert_eq!(totals(&governor).operations, 1);
}

#[tokio::test(start_paused = true)]
async fn one_process_governs_many_accounts_apart() {
    let server = Server::always(Reply::parameter());
    let governor = governor(|aws| aws.max_rps(0.1).burst(1.0).floor_rps(0.01));
    for account in ["1", "2", "3"] {
        let config = AwsHooks::builder().account(account).governor(governor.clone()).install(&plain(&server).build());
        aws_sdk_ssm::Client::new(&config).get_parameter().name("a").send().await.expect("an answer");
    }
    assert!(server.requests().iter().all(|request| request.at < seconds(1)), "no account waits for another");
}

#[tokio::test(start_paused = true)]
async fn observing_only_leaves_the_sdks_policy_in_force_and_counts_where_the_provider_is_off() {
    let server = Server::always(Reply::json_error(503, "InternalServerError"));
    let governor = governor(|aws| aws.enabled(false));
    let config = plain(&server).retry_config(RetryConfig::standard().with_max_attempts(4)).build();
    let config = AwsHooks::builder().observe_only().governor(governor.clone()).install(&config);
    assert_eq!(config.retry_config().map(RetryConfig::max_attempts), Some(4));
    aws_sdk_ssm::Client::new(&config).get_parameter().name("a").send().await.expect_err("503");
    assert_eq!(server.count(), 4);
    assert_eq!(totals(&governor).calls, 4);
}

#[tokio::test(start_paused = true)]
async fn observing_only_neither_waits_nor_refuses_where_the_provider_is_on() {
    let server = Server::always(Reply::parameter());
    let governor = governor(|aws| aws.max_rps(0.1).burst(1.0).floor_rps(0.01));
    let config = AwsHooks::builder().observe_only().governor(governor.clone()).install(&plain(&server).build());
    let client = aws_sdk_ssm::Client::new(&config);
    for _ in 0..3 {
        client.get_parameter().name("a").send().await.expect("an answer");
    }
    assert!(server.requests().iter().all(|request| request.at < seconds(1)));
}

#[test]
fn what_the_configuration_has_is_kept() {
    let server = Server::always(Reply::parameter());
    let config = governed(&server, &governor(|aws| aws));
    let timeouts = config.timeout_config().expect("timeouts");
    assert_eq!(timeouts.connect_timeout(), Some(seconds(3)));
    assert_eq!(timeouts.read_timeout(), Some(seconds(60)));
    assert_eq!(config.region().map(|region| region.as_ref()), Some("eu-west-1"));
    assert!(config.credentials_provider().is_some());
}

#[test]
fn the_sdks_own_pacing_is_off_also_where_retries_are() {
    let server = Server::always(Reply::parameter());
    for own in [RetryConfig::adaptive(), RetryConfig::adaptive().with_max_attempts(1), RetryConfig::disabled()] {
        let had_retries = own.has_retry();
        let config = AwsHooks::builder().install(&plain(&server).retry_config(own).build());
        let retry = config.retry_config().expect("a retry configuration");
        assert_eq!(retry.mode(), aws_smithy_types::retry::RetryMode::Standard);
        assert_eq!(retry.has_retry(), had_retries);
    }
}

// ===== invocation ids of other makes =====

#[derive(Debug)]
struct Ids(Option<&'static str>);

impl InvocationIdGenerator for Ids {
    fn generate(&self) -> Result<Option<InvocationId>, BoxError> {
        Ok(self.0.map(|id| InvocationId::new(id.to_owned())))
    }
}

fn with_ids(server: &Server, governor: &cloud_governor::Governor, id: Option<&'static str>) -> aws_sdk_ssm::Client {
    let mut config = aws_sdk_ssm::config::Builder::from(&governed(server, governor));
    config.set_invocation_id_generator(Some(aws_runtime::invocation_id::SharedInvocationIdGenerator::new(Ids(id))));
    aws_sdk_ssm::Client::from_conf(config.build())
}

#[tokio::test(start_paused = true)]
async fn operations_without_an_invocation_id_are_governed() {
    let server = Server::always(Reply::json_error(503, "InternalServerError"));
    let governor = governor(|aws| aws.max_retries(2));
    with_ids(&server, &governor, None).get_parameter().name("a").send().await.expect_err("503");
    assert_eq!(server.count(), 3);
    assert_eq!(totals(&governor).operations, 1);
}

#[tokio::test(start_paused = true)]
async fn operations_that_share_an_invocation_id_get_their_own_answers() {
    let server = Server::new(|request, _| {
        let body = String::from_utf8_lossy(&request.body).into_owned();
        let value = if body.contains("\"a\"") { "va" } else { "vb" };
        Reply::new(200, format!(r#"{{"Parameter":{{"Value":"{value}"}}}}"#)).after(seconds(1))
    });
    let governor = governor(|aws| aws);
    let client = with_ids(&server, &governor, Some("constant"));
    let (a, b) = tokio::join!(client.get_parameter().name("a").send(), client.get_parameter().name("b").send());
    let value = |answer: aws_sdk_ssm::operation::get_parameter::GetParameterOutput| {
        answer.parameter.and_then(|parameter| parameter.value)
    };
    assert_eq!(value(a.expect("an answer")).as_deref(), Some("va"));
    assert_eq!(value(b.expect("an answer")).as_deref(), Some("vb"));
    assert_eq!(totals(&governor).calls, 2);
}

#[tokio::test(start_paused = true)]
async fn a_client_whose_own_http_client_replaces_ours_still_ends() {
    let server = Server::always(Reply::json_error(503, "InternalServerError"));
    let governor = governor(|aws| aws.max_retries(2));
    let config = aws_sdk_ssm::config::Builder::from(&governed(&server, &governor)).http_client(server.clone()).build();
    let client = aws_sdk_ssm::Client::from_conf(config);
    client.get_parameter().name("a").send().await.expect_err("503");
    assert!(server.count() >= 3);
    drop(ssm(&server, &governor));
}

#[tokio::test(start_paused = true)]
async fn a_configuration_without_an_http_client_sends_with_the_one_that_is_given() {
    let server = Server::always(Reply::json_error(503, "InternalServerError"));
    let governor = governor(|aws| aws.max_retries(2));
    let mut config = plain(&server);
    config.set_http_client(None);
    let client = aws_smithy_runtime_api::client::http::SharedHttpClient::new(server.clone());
    let config = AwsHooks::builder().http_client(client).governor(governor.clone()).install(&config.build());
    aws_sdk_ssm::Client::new(&config).get_parameter().name("a").send().await.expect_err("503");
    assert_eq!(server.count(), 3);
    assert_eq!(totals(&governor).operations, 1);
}
