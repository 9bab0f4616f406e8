//! How often the server is asked, and what the caller gets.

use aws_sdk_ssm::error::{ProvideErrorMetadata, SdkError};
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::retry::RetryConfig;
use cloud_governor::RefusalKind;
use cloud_governor_aws::{AwsHooks, refusal};

use crate::common::{Reply, Server, governed, governor, plain, seconds, ssm, totals};

#[tokio::test(start_paused = true)]
async fn a_server_that_always_answers_503_sees_one_request_more_than_there_are_retries() {
    let server = Server::always(Reply::json_error(503, "InternalServerError"));
    let governor = governor(|aws| aws.max_retries(3));
    let error = ssm(&server, &governor).get_parameter().name("a").send().await.expect_err("503");
    assert_eq!(server.count(), 4);
    assert_eq!(error.raw_response().expect("the server's answer").status().as_u16(), 503);
    assert!(matches!(error, SdkError::ServiceError(_)), "{error:?}");
    let totals = totals(&governor);
    assert_eq!((totals.operations, totals.calls, totals.retries, totals.gave_up), (1, 4, 3, 1));
}

#[tokio::test(start_paused = true)]
async fn the_error_at_the_end_is_the_services_own_typed_one_with_code_and_request_id() {
    let server = Server::always(Reply::json_error(400, "ThrottlingException"));
    let governor = governor(|aws| aws.max_retries(2));
    let error = ssm(&server, &governor).get_parameter().name("a").send().await.expect_err("throttled");
    assert_eq!(server.count(), 3);
    let error = error.as_service_error().expect("a typed error");
    assert_eq!(error.code(), Some("ThrottlingException"));
    assert_eq!(aws_types::request_id::RequestId::request_id(error), Some("r-42"));
    assert_eq!(totals(&governor).throttled, 3);
}

#[tokio::test(start_paused = true)]
async fn a_query_service_gives_its_own_error_back_too() {
    let body = "<ErrorResponse><Error><Type>Sender</Type><Code>Throttling</Code><Message>Rate exceeded</Message></Error>\
                <RequestId>q-1</RequestId></ErrorResponse>";
    let server = Server::always(Reply::new(400, body));
    let governor = governor(|aws| aws.max_retries(2));
    let client = aws_sdk_sts::Client::new(&governed(&server, &governor));
    let error = client.get_caller_identity().send().await.expect_err("throttled");
    assert_eq!(server.count(), 3);
    assert_eq!(error.code(), Some("Throttling"));
}

#[tokio::test(start_paused = true)]
async fn a_bare_429_is_retried_and_is_what_the_caller_gets_at_the_end() {
    let server = Server::always(Reply::new(429, ""));
    let governor = governor(|aws| aws.max_retries(2));
    let error = ssm(&server, &governor).get_parameter().name("a").send().await.expect_err("429");
    assert_eq!(server.count(), 3);
    assert_eq!(error.raw_response().expect("the server's answer").status().as_u16(), 429);
    assert_eq!(totals(&governor).throttled, 3);
}

#[tokio::test(start_paused = true)]
async fn a_bare_429_and_a_408_are_got_over() {
    let server = Server::script([Reply::new(429, ""), Reply::new(408, ""), Reply::parameter()]);
    let governor = governor(|aws| aws);
    let answer = ssm(&server, &governor).get_parameter().name("a").send().await.expect("the third answer");
    assert_eq!(answer.parameter().and_then(|parameter| parameter.value()), Some("v"));
    assert_eq!(server.count(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_broken_connection_is_retried_and_is_the_error_at_the_end() {
    let server = Server::always(Reply::Reset);
    let governor = governor(|aws| aws.max_retries(2));
    let error = ssm(&server, &governor).get_parameter().name("a").send().await.expect_err("reset");
    assert_eq!(server.count(), 3);
    assert!(matches!(&error, SdkError::DispatchFailure(failure) if failure.is_io()), "{error:?}");
    assert!(refusal(&error).is_none());
}

#[tokio::test(start_paused = true)]
async fn a_fatal_answer_is_returned_at_once() {
    let server = Server::always(Reply::json_error(400, "ParameterNotFound"));
    let governor = governor(|aws| aws);
    let error = ssm(&server, &governor).get_parameter().name("a").send().await.expect_err("not found");
    assert!(error.as_service_error().is_some_and(|error| error.is_parameter_not_found()));
    assert_eq!(server.count(), 1);
    assert_eq!(totals(&governor).gave_up, 0);
}

/// The SDK's quota is 500 tokens, at five or ten for a retry. If the layer that an identity carries were one day not
/// pushed onto the config bag any more, this call would end before its retries do.
#[tokio::test(start_paused = true)]
async fn the_sdks_own_retry_quota_bounds_nothing() {
    let server = Server::always(Reply::json_error(503, "InternalServerError"));
    let governor = governor(|aws| aws.max_retries(20).retry_budget(10_000).breaker_failures(1000).max_rps(1000.0));
    let client = ssm(&server, &governor);
    for _ in 0..10 {
        client.get_parameter().name("a").send().await.expect_err("503");
    }
    assert_eq!(server.count(), 10 * 21);
}

#[tokio::test(start_paused = true)]
async fn an_empty_budget_ends_with_the_callers_own_error() {
    let server = Server::always(Reply::json_error(503, "InternalServerError"));
    let governor = governor(|aws| aws.max_retries(8).retry_budget(0));
    let error = ssm(&server, &governor).get_parameter().name("a").send().await.expect_err("503");
    assert_eq!(server.count(), 3, "the first two retries are free");
    assert!(matches!(error, SdkError::ServiceError(_)), "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn a_deadline_that_leaves_no_time_ends_with_the_callers_own_error() {
    let answer = Reply::json_error(503, "InternalServerError").header("x-amz-retry-after", "60000");
    let server = Server::always(answer);
    let governor = governor(|aws| aws.deadline(seconds(30)));
    let error = ssm(&server, &governor).get_parameter().name("a").send().await.expect_err("503");
    assert_eq!(server.count(), 1);
    assert!(matches!(error, SdkError::ServiceError(_)), "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn a_service_that_is_down_opens_the_breaker_and_its_probes_are_single() {
    let server = Server::always(Reply::json_error(503, "InternalServerError"));
    let governor = governor(|aws| aws.max_retries(2).breaker_failures(2).breaker_cooldown(seconds(30)).max_rps(1000.0));
    let client = ssm(&server, &governor);
    for _ in 0..2 {
        client.get_parameter().name("a").send().await.expect_err("503");
    }
    assert_eq!(server.count(), 6);

    let error = client.get_parameter().name("a").send().await.expect_err("open");
    let refused = refusal(&error).expect("a refusal behind the SDK's error");
    assert_eq!(refused.kind(), RefusalKind::CircuitOpen);
    assert_eq!(refused.scope().service(), "ssm");
    assert_eq!(server.count(), 6);

    tokio::time::sleep(seconds(31)).await;
    let all = (0..20).map(|_| client.get_parameter().name("a").send()).map(tokio::spawn);
    for call in all.collect::<Vec<_>>() {
        call.await.expect("no panic").expect_err("down");
    }
    assert_eq!(server.count(), 7, "one probe, which does not retry");
}

#[tokio::test(start_paused = true)]
async fn retries_that_the_user_switched_off_stay_off() {
    let server = Server::always(Reply::json_error(503, "InternalServerError"));
    let governor = governor(|aws| aws);
    let config = plain(&server).retry_config(RetryConfig::disabled()).build();
    let config = AwsHooks::builder().governor(governor.clone()).install(&config);
    let error = aws_sdk_ssm::Client::new(&config).get_parameter().name("a").send().await.expect_err("503");
    assert_eq!(server.count(), 1);
    assert!(matches!(error, SdkError::ServiceError(_)), "{error:?}");
    assert_eq!(totals(&governor).gave_up, 1);
}

#[tokio::test(start_paused = true)]
async fn a_disabled_provider_means_one_attempt_and_no_wait() {
    let server = Server::always(Reply::json_error(503, "InternalServerError"));
    let governor = governor(|aws| aws.enabled(false));
    let error = ssm(&server, &governor).get_parameter().name("a").send().await.expect_err("503");
    assert_eq!(server.count(), 1);
    assert!(matches!(error, SdkError::ServiceError(_)), "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn a_provider_disabled_after_the_client_was_built_means_one_attempt() {
    let server = Server::always(Reply::json_error(503, "InternalServerError"));
    let governor = governor(|aws| aws);
    let client = ssm(&server, &governor);
    let off = cloud_governor::Config::builder().provider("aws", |aws| aws.enabled(false)).build().expect("sound");
    governor.reconfigure(off);
    client.get_parameter().name("a").send().await.expect_err("503");
    assert_eq!(server.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_body_that_cannot_be_sent_twice_ends_with_the_right_error_after_one_request() {
    let server = Server::always(Reply::new(503, "<Error><Code>SlowDown</Code></Error>"));
    let governor = governor(|aws| aws);
    let client = aws_sdk_s3::Client::new(&governed(&server, &governor));
    let once = SdkBody::from_body_1_x(http_body_util::Full::new(bytes::Bytes::from_static(b"once")));
    let put = client.put_object().bucket("b").key("k").content_length(4).body(once.into());
    let error = put.send().await.expect_err("503");
    assert_eq!(server.count(), 1);
    assert_eq!(error.code(), Some("SlowDown"), "{error:?}");
    assert_eq!(totals(&governor).retries, 0);
    assert_eq!(totals(&governor).gave_up, 1);
}

#[tokio::test(start_paused = true)]
async fn a_bare_429_on_a_body_that_cannot_be_sent_twice_is_not_held_back() {
    let server = Server::always(Reply::new(429, ""));
    let governor = governor(|aws| aws);
    let client = aws_sdk_s3::Client::new(&governed(&server, &governor));
    let once = SdkBody::from_body_1_x(http_body_util::Full::new(bytes::Bytes::from_static(b"once")));
    let put = client.put_object().bucket("b").key("k").content_length(4).body(once.into());
    let error = put.send().await.expect_err("429");
    assert_eq!(error.raw_response().expect("the server's answer").status().as_u16(), 429);
    assert_eq!(server.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_throttle_lowers_the_rate_and_waits_as_long_as_the_server_says() {
    let throttled = Reply::json_error(400, "ThrottlingException").header("x-amz-retry-after", "4000");
    let server = Server::script([throttled, Reply::parameter()]);
    let governor = governor(|aws| aws);
    ssm(&server, &governor).get_parameter().name("a").send().await.expect("the second answer");
    let requests = server.requests();
    assert!(requests[1].at - requests[0].at >= seconds(4));
    assert_eq!(governor.summary().slowed_buckets.len(), 1);
}
