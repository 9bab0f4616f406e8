//! Bodies: cut short, and malformed.

use aws_sdk_ssm::error::{ProvideErrorMetadata, SdkError};

use crate::common::{Reply, Server, governed, governor, ssm, totals};

#[tokio::test(start_paused = true)]
async fn a_success_whose_body_is_cut_short_counts_as_a_failure_and_is_retried() {
    let cut = Reply::Broken { status: 200, start: "{\"Para".into() };
    let server = Server::script([cut, Reply::parameter()]);
    let governor = governor(|aws| aws);
    ssm(&server, &governor).get_parameter().name("a").send().await.expect("the second answer");
    let totals = totals(&governor);
    assert_eq!((totals.calls, totals.transient_errors, totals.retries), (2, 1, 1));
}

#[tokio::test(start_paused = true)]
async fn bodies_that_are_always_cut_short_end_as_the_response_error_that_they_are() {
    let server = Server::always(Reply::Broken { status: 200, start: "{\"Para".into() });
    let governor = governor(|aws| aws.max_retries(2));
    let error = ssm(&server, &governor).get_parameter().name("a").send().await.expect_err("cut short");
    assert!(matches!(error, SdkError::ResponseError(_)), "{error:?}");
    assert_eq!(server.count(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_failed_answer_whose_body_breaks_is_retried_too() {
    let server = Server::script([Reply::Broken { status: 503, start: "{".into() }, Reply::parameter()]);
    let governor = governor(|aws| aws);
    ssm(&server, &governor).get_parameter().name("a").send().await.expect("the second answer");
    assert_eq!(server.count(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_long_error_body_is_handed_on_whole() {
    let message = "x".repeat(200_000);
    let body = format!(r#"{{"__type":"ParameterNotFound","message":"{message}"}}"#);
    let server = Server::new(move |_, _| Reply::SlowBody {
        status: 400,
        body: body.clone().into(),
        after: std::time::Duration::ZERO,
    });
    let governor = governor(|aws| aws);
    let error = ssm(&server, &governor).get_parameter().name("a").send().await.expect_err("not found");
    assert_eq!(error.message().map(str::len), Some(200_000));
}

#[tokio::test(start_paused = true)]
async fn a_body_cut_short_is_a_failure_also_where_the_sdk_does_not_come_again() {
    let server = Server::always(Reply::Broken { status: 200, start: "{".into() });
    let governor = governor(|aws| aws);
    let config = crate::common::plain(&server).retry_config(aws_smithy_types::retry::RetryConfig::disabled()).build();
    let config = cloud_governor_aws::AwsHooks::builder().governor(governor.clone()).install(&config);
    aws_sdk_ssm::Client::new(&config).get_parameter().name("a").send().await.expect_err("cut short");
    let totals = totals(&governor);
    assert_eq!((totals.calls, totals.transient_errors, totals.gave_up), (1, 1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_body_cut_short_is_retried_also_where_no_gate_is() {
    let server = Server::script([Reply::Broken { status: 200, start: "{".into() }, Reply::parameter()]);
    let governor = governor(|aws| aws);
    let config = aws_sdk_ssm::config::Builder::from(&governed(&server, &governor))
        .identity_cache(aws_sdk_ssm::config::IdentityCache::no_cache())
        .build();
    aws_sdk_ssm::Client::from_conf(config).get_parameter().name("a").send().await.expect("the second answer");
    let totals = totals(&governor);
    assert_eq!((totals.operations, totals.calls, totals.transient_errors), (1, 2, 1));
}

/// AWS JSON services throttle with 400: without its body, the answer is not known to be the caller's fault.
#[tokio::test(start_paused = true)]
async fn a_failed_answer_that_breaks_before_its_code_is_a_body_cut_short() {
    let cut = || Reply::Broken { status: 400, start: "{\"mess".into() };
    let server = Server::script([cut(), Reply::Broken { status: 400, start: "".into() }, Reply::parameter()]);
    let governor = governor(|aws| aws.max_retries(2));
    let client = ssm(&server, &governor);
    client.get_parameter().name("a").send().await.expect("the third answer");
    let seen = totals(&governor);
    assert_eq!((seen.calls, seen.throttled, seen.transient_errors), (3, 0, 2));

    let server = Server::always(cut());
    let error = ssm(&server, &governor).get_parameter().name("a").send().await.expect_err("cut short");
    assert!(matches!(error, SdkError::ResponseError(_)), "{error:?}");
    assert_eq!(server.count(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_failed_answer_that_breaks_is_judged_by_the_code_in_its_head() {
    for (code, attempts, throttled) in [("ThrottlingException", 3, 3), ("ParameterNotFound", 1, 0)] {
        let broken = Reply::Broken { status: 400, start: "".into() };
        let server = Server::always(Reply::With("x-amzn-errortype", code, Box::new(broken)));
        let governor = governor(|aws| aws.max_retries(2));
        ssm(&server, &governor).get_parameter().name("a").send().await.expect_err(code);
        assert_eq!((server.count(), totals(&governor).throttled), (attempts, throttled), "{code}");
    }
}
