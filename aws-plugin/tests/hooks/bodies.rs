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
