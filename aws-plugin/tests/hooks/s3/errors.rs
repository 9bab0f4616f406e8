//! S3's errors, with bodies and without.

use aws_sdk_s3::error::{ProvideErrorMetadata, SdkError};

use crate::common::{Reply, Server, governor, leaf, s3, seconds, totals};

#[tokio::test(start_paused = true)]
async fn slow_down_slows_the_leaf_down_and_ends_as_the_error_that_it_is() {
    let server = Server::always(Reply::xml_error(503, "SlowDown"));
    let governor = governor(|aws| aws.max_retries(2));
    let error = s3(&server, &governor).get_object().bucket("b").key("k").send().await.expect_err("slow down");
    assert_eq!((error.code(), server.count()), (Some("SlowDown"), 3));
    assert_eq!(aws_sdk_s3::operation::RequestId::request_id(&error), Some("r-42"));
    let leaf = leaf(&governor, "s3");
    assert!(leaf.rate_rps < leaf.ceiling_rps, "{leaf:?}");
    assert_eq!(totals(&governor).throttled, 3);
}

#[tokio::test(start_paused = true)]
async fn the_server_says_how_long_to_stay_away_in_milliseconds() {
    let slow = Reply::xml_error(503, "SlowDown").header("x-amz-retry-after", "7000");
    let server = Server::script([slow, Reply::new(200, "content")]);
    let governor = governor(|aws| aws);
    s3(&server, &governor).get_object().bucket("b").key("k").send().await.expect("the second answer");
    let requests = server.requests();
    let waited = requests[1].at - requests[0].at;
    assert!((seconds(7)..seconds(9)).contains(&waited), "{waited:?}");
}

#[tokio::test(start_paused = true)]
async fn what_is_not_there_is_said_once() {
    let server = Server::always(Reply::new(404, ""));
    let governor = governor(|aws| aws);
    let error = s3(&server, &governor).head_object().bucket("b").key("k").send().await.expect_err("not found");
    assert!(error.as_service_error().is_some_and(|error| error.is_not_found()), "{error:?}");
    let totals = totals(&governor);
    assert_eq!((server.count(), totals.throttled, totals.transient_errors, totals.gave_up), (1, 0, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_head_request_is_throttled_by_its_status_alone() {
    let server = Server::script([Reply::new(503, ""), Reply::new(200, "")]);
    let governor = governor(|aws| aws);
    s3(&server, &governor).head_object().bucket("b").key("k").send().await.expect("the second answer");
    let totals = totals(&governor);
    assert_eq!((server.count(), totals.throttled, totals.retries), (2, 1, 1));
    assert_eq!(server.requests()[0].method, "HEAD");
}

#[tokio::test(start_paused = true)]
async fn a_bucket_elsewhere_and_an_object_unchanged_are_answers_and_no_failures() {
    for (status, code) in [(301, "PermanentRedirect"), (304, ""), (412, "PreconditionFailed"), (416, "InvalidRange")] {
        let body = if code.is_empty() { Reply::new(status, "") } else { Reply::xml_error(status, code) };
        let server = Server::always(body.header("x-amz-bucket-region", "us-east-2"));
        let governor = governor(|aws| aws);
        let error = s3(&server, &governor).get_object().bucket("b").key("k").send().await.expect_err(code);
        assert!(
            matches!(&error, SdkError::ServiceError(answer) if answer.raw().status().as_u16() == status),
            "{error:?}"
        );
        assert_eq!(error.code().unwrap_or_default(), code);
        let totals = totals(&governor);
        assert_eq!((server.count(), totals.throttled, totals.transient_errors), (1, 0, 0), "{status}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_s3_found_idle_is_a_transient_failure() {
    let server = Server::script([Reply::xml_error(400, "RequestTimeout"), Reply::new(200, "")]);
    let governor = governor(|aws| aws);
    s3(&server, &governor)
        .put_object()
        .bucket("b")
        .key("k")
        .body("c".to_owned().into_bytes().into())
        .send()
        .await
        .expect("stored");
    let totals = totals(&governor);
    assert_eq!((totals.calls, totals.throttled, totals.transient_errors), (2, 0, 1));
}
