//! Bodies: cut short, malformed, and failures that come with 200.

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
async fn s3_copies_that_fail_with_200_are_retried_and_end_with_their_error() {
    let body = "<?xml version=\"1.0\"?><Error><Code>SlowDown</Code><Message>Reduce your rate</Message></Error>";
    let server = Server::always(Reply::new(200, body));
    let governor = governor(|aws| aws.max_retries(2));
    let client = aws_sdk_s3::Client::new(&governed(&server, &governor));
    let error = client.copy_object().bucket("b").key("k").copy_source("b/o").send().await.expect_err("slow down");
    assert_eq!(error.code(), Some("SlowDown"));
    assert_eq!(server.count(), 3);
    assert_eq!(totals(&governor).throttled, 3);
}

#[tokio::test(start_paused = true)]
async fn a_copy_that_succeeds_is_a_success() {
    let body = "<CopyObjectResult><ETag>\"e\"</ETag></CopyObjectResult>";
    let server = Server::always(Reply::new(200, body));
    let governor = governor(|aws| aws);
    let client = aws_sdk_s3::Client::new(&governed(&server, &governor));
    let copied = client.copy_object().bucket("b").key("k").copy_source("b/o").send().await.expect("copied");
    assert_eq!(copied.copy_object_result().and_then(|result| result.e_tag()), Some("\"e\""));
    assert_eq!(totals(&governor).throttled, 0);
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

#[tokio::test(start_paused = true)]
async fn an_event_stream_is_a_success_as_soon_as_it_begins_and_holds_neither_slot_nor_probe() {
    let stream = Reply::SlowBody { status: 200, body: "".into(), after: std::time::Duration::from_secs(3600) };
    let stream = Reply::With("content-type", "application/vnd.amazon.eventstream", Box::new(stream));
    let server = Server::script([Reply::new(503, ""), stream]);
    let governor = governor(|aws| {
        let aws = aws.account_concurrency(std::num::NonZeroUsize::MIN).max_retries(0);
        aws.breaker_failures(1).breaker_cooldown(std::time::Duration::from_secs(30))
    });
    let client = aws_sdk_s3::Client::new(&governed(&server, &governor));
    let select = || {
        use aws_sdk_s3::types::{CsvInput, CsvOutput, ExpressionType, InputSerialization, OutputSerialization};
        client
            .select_object_content()
            .bucket("b")
            .key("k")
            .expression("select 1")
            .expression_type(ExpressionType::Sql)
            .input_serialization(InputSerialization::builder().csv(CsvInput::builder().build()).build())
            .output_serialization(OutputSerialization::builder().csv(CsvOutput::builder().build()).build())
            .send()
    };
    select().await.expect_err("503, which opens the circuit");
    tokio::time::sleep(std::time::Duration::from_secs(31)).await;
    let first = select().await;
    let second = select().await;
    assert!(first.is_ok() && second.is_ok(), "{first:?} {second:?}");
    assert_eq!(totals(&governor).calls, 3);
}
