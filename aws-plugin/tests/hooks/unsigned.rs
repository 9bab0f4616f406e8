//! Operations without a signature, and requests that no gate sees.

use std::num::NonZeroUsize;

use aws_credential_types::Credentials;
use aws_sdk_sts::error::{ProvideErrorMetadata, SdkError};
use aws_smithy_types::body::SdkBody;
use cloud_governor::{RefusalKind, Scope};
use cloud_governor_aws::{AwsHooks, refusal};

use crate::common::{Reply, Server, governed, governor, plain, seconds, totals};

const DENIED: &str = "<ErrorResponse><Error><Code>Throttling</Code><Message>m</Message></Error></ErrorResponse>";

fn answer() -> Reply {
    Reply::new(
        200,
        "<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Provider>p</Provider>\
         </AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>",
    )
}

async fn assume(
    client: &aws_sdk_sts::Client,
) -> Result<(), SdkError<aws_sdk_sts::operation::assume_role_with_web_identity::AssumeRoleWithWebIdentityError>> {
    let call = client.assume_role_with_web_identity().role_arn("arn").role_session_name("s").web_identity_token("t");
    call.send().await.map(drop)
}

#[tokio::test(start_paused = true)]
async fn an_unsigned_operation_is_governed_under_its_own_name() {
    let server = Server::always(answer());
    let governor = governor(|aws| aws.service("sts", |sts| sts.per_operation(true)));
    let config = AwsHooks::builder().account("1").governor(governor.clone()).install(&plain(&server).build());
    assume(&aws_sdk_sts::Client::new(&config)).await.expect("an answer");
    let scopes: Vec<String> = governor.summary().scopes.keys().map(Scope::to_string).collect();
    assert_eq!(scopes, ["aws/1/eu-west-1/sts/AssumeRoleWithWebIdentity"]);
    assert_eq!(totals(&governor).calls, 1);
}

#[tokio::test(start_paused = true)]
async fn an_unsigned_operation_is_retried_as_often_as_any_and_ends_with_its_own_error() {
    let server = Server::always(Reply::new(400, DENIED));
    let governor = governor(|aws| aws.max_retries(3));
    let error = assume(&aws_sdk_sts::Client::new(&governed(&server, &governor))).await.expect_err("throttled");
    assert_eq!(server.count(), 4);
    assert_eq!(error.code(), Some("Throttling"));
    let totals = totals(&governor);
    assert_eq!((totals.operations, totals.calls, totals.gave_up), (1, 4, 1));
}

#[tokio::test(start_paused = true)]
async fn an_unsigned_operation_gets_over_a_bare_429() {
    let server = Server::script([Reply::new(429, ""), answer()]);
    let governor = governor(|aws| aws);
    assume(&aws_sdk_sts::Client::new(&governed(&server, &governor))).await.expect("the second answer");
    assert_eq!(totals(&governor).throttled, 1);
}

#[tokio::test(start_paused = true)]
async fn an_unsigned_operation_meets_an_open_circuit_as_a_refusal() {
    let server = Server::always(Reply::new(500, ""));
    let governor = governor(|aws| aws.max_retries(0).breaker_failures(1));
    let client = aws_sdk_sts::Client::new(&governed(&server, &governor));
    assume(&client).await.expect_err("500");
    let error = assume(&client).await.expect_err("open");
    assert_eq!(refusal(&error).map(|refusal| refusal.kind()), Some(RefusalKind::CircuitOpen));
    assert_eq!(server.count(), 1);
}

/// A client whose own identity cache replaces the gate: nothing is seen of its operations before the HTTP client.
#[tokio::test(start_paused = true)]
async fn a_client_without_the_gate_is_governed_at_the_http_client() {
    let server = Server::always(Reply::new(400, DENIED));
    let governor = governor(|aws| aws.max_retries(3).service("sts", |sts| sts.per_operation(true)));
    let config = AwsHooks::builder().account("1").governor(governor.clone()).install(&plain(&server).build());
    let config = aws_sdk_sts::config::Builder::from(&config)
        .identity_cache(aws_sdk_sts::config::IdentityCache::no_cache())
        .build();
    let client = aws_sdk_sts::Client::from_conf(config);
    assert_eq!(assume(&client).await.expect_err("throttled").code(), Some("Throttling"));
    assert_eq!(server.count(), 4);
    client.get_caller_identity().send().await.expect_err("throttled");
    assert_eq!(server.count(), 8);
    let totals = totals(&governor);
    assert_eq!((totals.operations, totals.calls, totals.gave_up), (2, 8, 2));
    let scopes: Vec<String> = governor.summary().scopes.keys().map(Scope::to_string).collect();
    assert_eq!(scopes, ["aws/1/eu-west-1/sts/AssumeRoleWithWebIdentity", "aws/1/eu-west-1/sts/GetCallerIdentity"]);
}

/// Uploads twice with credentials of their own; the second waits for 45 s.
async fn upload_twice(body: impl Fn() -> SdkBody) -> Vec<crate::common::Request> {
    let server = Server::always(Reply::new(200, ""));
    let governor = governor(|aws| aws.max_rps(1.0 / 45.0).burst(1.0).floor_rps(0.01));
    let client = aws_sdk_s3::Client::new(&governed(&server, &governor));
    for _ in 0..2 {
        let put = client.put_object().bucket("b").key("k").content_length(7).body(body().into()).customize();
        let own = aws_sdk_s3::Config::builder().credentials_provider(Credentials::new("AKIDOWN", "s", None, None, "t"));
        put.config_override(own).send().await.expect("an answer");
    }
    let requests = server.requests();
    assert_eq!(requests.len(), 2);
    assert!(requests[1].at >= seconds(44), "{:?}", requests[1].at);
    assert!(requests[1].header("authorization").contains("AKIDOWN"));
    let totals = totals(&governor);
    assert_eq!((totals.operations, totals.calls), (2, 2), "no wait was cut off by the SDK");
    requests
}

#[tokio::test(start_paused = true)]
async fn an_upload_with_credentials_of_its_own_waits_in_turns_and_is_not_taken_for_stalled() {
    let content = || http_body_util::Full::new(bytes::Bytes::from_static(b"content"));
    let requests = upload_twice(|| SdkBody::retryable(move || SdkBody::from_body_1_x(content()))).await;
    assert_ne!(requests[0].header("x-amz-date"), requests[1].header("x-amz-date"), "signed again while it waited");
}

/// Each turn would take from the SDK's retry quota, and from its attempts.
#[tokio::test(start_paused = true)]
async fn an_upload_from_memory_waits_in_one_turn_and_is_not_taken_for_stalled() {
    let requests = upload_twice(|| SdkBody::from("content")).await;
    assert_eq!(requests[1].header("amz-sdk-request"), "attempt=1; max=16");
    assert_eq!(requests[0].body, requests[1].body);
    assert_eq!(requests[1].body, b"content");
}

#[tokio::test(start_paused = true)]
async fn credentials_of_an_operations_own_do_not_escape_the_governor() {
    let server = Server::always(Reply::json_error(503, "InternalServerError"));
    let governor = governor(|aws| aws.max_retries(2).account_concurrency(NonZeroUsize::MIN));
    let client = crate::common::ssm(&server, &governor);
    let own = aws_sdk_ssm::Config::builder().credentials_provider(Credentials::new("AKIDOWN", "s", None, None, "t"));
    let error = client.get_parameter().name("a").customize().config_override(own).send().await.expect_err("503");
    assert_eq!(server.count(), 3);
    assert!(matches!(error, SdkError::ServiceError(_)), "{error:?}");
    assert!(governor.summary().scopes.keys().all(|scope| scope.account().starts_with("unknown-")));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_the_sdk_would_not_make_again_waits_at_the_http_client_until_it_is_its_turn() {
    let server = Server::always(Reply::parameter());
    let governor = governor(|aws| aws.max_rps(0.01).burst(1.0).floor_rps(0.01));
    let config = plain(&server).retry_config(aws_smithy_types::retry::RetryConfig::disabled()).build();
    let config = AwsHooks::builder().governor(governor.clone()).install(&config);
    let config = aws_sdk_ssm::config::Builder::from(&config)
        .identity_cache(aws_sdk_ssm::config::IdentityCache::no_cache())
        .build();
    let client = aws_sdk_ssm::Client::from_conf(config);
    for _ in 0..2 {
        client.get_parameter().name("a").send().await.expect("an answer");
    }
    assert!(server.requests()[1].at >= seconds(99));
    assert_eq!(totals(&governor).calls, 2);
}
