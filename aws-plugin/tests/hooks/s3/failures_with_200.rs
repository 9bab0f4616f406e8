//! S3 answers some requests with a head of success and an error in the body.

use aws_sdk_s3::error::ProvideErrorMetadata;
use aws_sdk_s3::types::{CompletedMultipartUpload, Delete, ObjectIdentifier};

use crate::common::{Reply, Server, governor, leaf, s3, totals};

const LISTED: &str = "<ListBucketResult><Name>b</Name><KeyCount>0</KeyCount></ListBucketResult>";

/// The same body, all at once and in parts that tell nothing by themselves.
fn whole_and_in_parts(body: &str) -> [Reply; 2] {
    let parts = body.as_bytes().chunks(9).map(|part| (std::time::Duration::ZERO, Ok(part.to_vec().into())));
    [Reply::new(200, body.to_owned()), Reply::Stream { status: 200, parts: parts.collect() }]
}

#[tokio::test(start_paused = true)]
async fn copies_that_fail_are_retried_and_end_with_their_error() {
    for reply in whole_and_in_parts(&Reply::error_text("SlowDown")) {
        let server = Server::always(reply);
        let governor = governor(|aws| aws.max_retries(2));
        let copy = s3(&server, &governor).copy_object().bucket("b").key("k").copy_source("b/o");
        let error = copy.send().await.expect_err("slow down");
        assert_eq!((error.code(), error.message()), (Some("SlowDown"), Some("no")));
        assert_eq!(server.count(), 3);
        assert_eq!(totals(&governor).throttled, 3);
        assert!(leaf(&governor, "s3").rate_rps < leaf(&governor, "s3").ceiling_rps);
    }
}

#[tokio::test(start_paused = true)]
async fn completed_uploads_that_fail_are_retried_and_slow_nothing_down_unless_they_say_so() {
    for reply in whole_and_in_parts(&Reply::error_text("InternalError")) {
        let done = "<CompleteMultipartUploadResult><Key>k</Key></CompleteMultipartUploadResult>";
        let server = Server::script([reply, Reply::new(200, done)]);
        let governor = governor(|aws| aws);
        let parts = CompletedMultipartUpload::builder().build();
        let complete = s3(&server, &governor).complete_multipart_upload().bucket("b").key("k").upload_id("u");
        let completed = complete.multipart_upload(parts).send().await.expect("the second answer");
        assert_eq!(completed.key(), Some("k"));
        let totals = totals(&governor);
        assert_eq!((totals.calls, totals.throttled, totals.transient_errors), (2, 0, 1));
    }
}

/// The SDK looks for an error in the body of any S3 answer that is not a stream for the caller.
#[tokio::test(start_paused = true)]
async fn a_listing_that_fails_is_throttled_and_ends_with_its_error() {
    for reply in whole_and_in_parts(&Reply::error_text("SlowDown")) {
        let server = Server::always(reply);
        let governor = governor(|aws| aws.max_retries(1));
        let error = s3(&server, &governor).list_objects_v2().bucket("b").send().await.expect_err("slow down");
        assert_eq!((error.code(), error.message()), (Some("SlowDown"), Some("no")));
        let totals = totals(&governor);
        assert_eq!((totals.calls, totals.throttled, totals.transient_errors, totals.gave_up), (2, 2, 0, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn a_deletion_that_fails_with_a_code_unknown_to_the_sdk_is_retried_and_ends_with_its_error() {
    for reply in whole_and_in_parts(&Reply::error_text("ServiceUnavailable")) {
        let server = Server::always(reply);
        let governor = governor(|aws| aws.max_retries(2));
        let key = ObjectIdentifier::builder().key("k").build().expect("a key");
        let delete = Delete::builder().objects(key).build().expect("an object");
        let delete = s3(&server, &governor).delete_objects().bucket("b").delete(delete);
        let error = delete.send().await.expect_err("unavailable");
        assert_eq!(error.code(), Some("ServiceUnavailable"));
        let totals = totals(&governor);
        assert_eq!((server.count(), totals.calls, totals.transient_errors, totals.gave_up), (3, 3, 3, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn a_failure_that_no_retry_mends_is_returned_at_once() {
    for reply in whole_and_in_parts(&Reply::error_text("NoSuchBucket")) {
        let server = Server::always(reply);
        let governor = governor(|aws| aws);
        let error = s3(&server, &governor).list_objects_v2().bucket("b").send().await.expect_err("no such bucket");
        assert_eq!(error.code(), Some("NoSuchBucket"));
        let totals = totals(&governor);
        assert_eq!((server.count(), totals.transient_errors, totals.gave_up), (1, 0, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn a_failure_is_known_without_a_gate_too() {
    for reply in whole_and_in_parts(&Reply::error_text("SlowDown")) {
        let server = Server::script([reply, Reply::new(200, LISTED)]);
        let governor = governor(|aws| aws);
        let config = aws_sdk_s3::config::Builder::from(&crate::common::governed(&server, &governor))
            .identity_cache(aws_sdk_s3::config::IdentityCache::no_cache())
            .build();
        let list = aws_sdk_s3::Client::from_conf(config).list_objects_v2().bucket("b");
        assert_eq!(list.send().await.expect("the second answer").name(), Some("b"));
        let totals = totals(&governor);
        assert_eq!((totals.operations, totals.calls, totals.throttled), (1, 2, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn answers_of_success_are_handed_on_as_they_are() {
    for reply in whole_and_in_parts("<CopyObjectResult><ETag>\"e\"</ETag></CopyObjectResult>") {
        let server = Server::always(reply);
        let governor = governor(|aws| aws);
        let copy = s3(&server, &governor).copy_object().bucket("b").key("k").copy_source("b/o");
        let copied = copy.send().await.expect("copied");
        assert_eq!(copied.copy_object_result().and_then(|result| result.e_tag()), Some("\"e\""));
        assert_eq!(totals(&governor).throttled, 0);
    }
}

/// What an object holds says nothing about the service.
#[tokio::test(start_paused = true)]
async fn an_object_that_reads_like_an_error_is_an_object() {
    let content = Reply::error_text("SlowDown");
    for reply in whole_and_in_parts(&content) {
        let server = Server::always(reply);
        let governor = governor(|aws| aws);
        let object = s3(&server, &governor).get_object().bucket("b").key("k").send().await.expect("an object");
        assert_eq!(object.body.collect().await.expect("its content").to_vec(), content.as_bytes());
        let totals = totals(&governor);
        assert_eq!((totals.calls, totals.throttled, totals.transient_errors), (1, 0, 0));
    }
}

/// Copies may take minutes, for which S3 sends white space, lest the connection be taken for dead.
#[tokio::test(start_paused = true)]
async fn a_slow_copy_that_is_kept_alive_with_white_space_is_waited_for() {
    let space = (std::time::Duration::from_secs(1), Ok(" ".into()));
    let mut parts = vec![space; 120];
    parts.push((std::time::Duration::ZERO, Ok("<CopyObjectResult><ETag>\"e\"</ETag></CopyObjectResult>".into())));
    let server = Server::always(Reply::Stream { status: 200, parts });
    let governor = governor(|aws| aws);
    let copy = s3(&server, &governor).copy_object().bucket("b").key("k").copy_source("b/o");
    let copied = copy.send().await.expect("copied");
    assert_eq!(copied.copy_object_result().and_then(|result| result.e_tag()), Some("\"e\""));
    assert_eq!(server.count(), 1);
}

/// White space between declaration and error means nothing; inside a tag it does.
#[tokio::test(start_paused = true)]
async fn an_error_is_found_however_it_is_cut_up_and_whatever_white_space_stands_before_it() {
    let error = |before: &str| {
        format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>{before}<Error xmlns=\"urn:x\"><Code>SlowDown</Code><Message>not  now</Message></Error>"
        )
    };
    for body in [error(""), error(&"\n".repeat(5000))] {
        for size in [1, 7, 1000, body.len()] {
            let parts = body.as_bytes().chunks(size).map(|part| (std::time::Duration::ZERO, Ok(part.to_vec().into())));
            let server = Server::always(Reply::Stream { status: 200, parts: parts.collect() });
            let governor = governor(|aws| aws.max_retries(1));
            let copy = s3(&server, &governor).copy_object().bucket("b").key("k").copy_source("b/o");
            let failed = copy.send().await.expect_err("slow down");
            assert_eq!((failed.code(), failed.message()), (Some("SlowDown"), Some("not  now")), "{size}");
            assert_eq!((server.count(), totals(&governor).throttled), (2, 2), "{size} {}", body.len());
        }
        let server = Server::always(Reply::new(200, body));
        let governor = governor(|aws| aws.max_retries(1));
        let copy = s3(&server, &governor).copy_object().bucket("b").key("k").copy_source("b/o");
        copy.send().await.expect_err("slow down");
        assert_eq!(totals(&governor).throttled, 2);
    }
}

#[tokio::test(start_paused = true)]
async fn the_interceptor_changes_nothing_about_them() {
    for (code, throttled) in [("SlowDown", 3), ("ServiceUnavailable", 0)] {
        for reply in whole_and_in_parts(&Reply::error_text(code)) {
            let server = Server::always(reply);
            let governor = governor(|aws| aws.max_retries(2));
            let config = aws_sdk_s3::config::Builder::from(&crate::common::governed(&server, &governor))
                .interceptor(cloud_governor_aws::GovernorInterceptor::new())
                .build();
            let list = aws_sdk_s3::Client::from_conf(config).list_objects_v2().bucket("b");
            let error = list.send().await.expect_err(code);
            let totals = totals(&governor);
            assert_eq!((error.code(), server.count(), totals.calls), (Some(code), 3, 3));
            assert_eq!((totals.throttled, totals.transient_errors, totals.gave_up), (throttled, 3 - throttled, 1));
        }
    }
}

/// The SDK's policy is in force, and decides by what the service said.
#[tokio::test(start_paused = true)]
async fn they_are_counted_and_left_alone_where_the_governor_only_observes() {
    for reply in whole_and_in_parts(&Reply::error_text("SlowDown")) {
        let server = Server::always(reply);
        let governor = governor(|aws| aws.enabled(false));
        let config = crate::common::plain(&server).build();
        let hooks = cloud_governor_aws::AwsHooks::builder().governor(governor.clone()).observe_only();
        let list = aws_sdk_s3::Client::new(&hooks.install(&config)).list_objects_v2().bucket("b");
        let error = list.send().await.expect_err("slow down");
        assert_eq!((error.code(), server.count()), (Some("SlowDown"), 3), "three attempts are the SDK's default");
        assert_eq!(totals(&governor).throttled, 3);
    }
}

/// Nothing comes again after it: to hold it back would lose it.
#[tokio::test(start_paused = true)]
async fn one_that_the_sdk_does_not_come_again_for_is_handed_on() {
    for reply in whole_and_in_parts(&Reply::error_text("ServiceUnavailable")) {
        let server = Server::always(reply);
        let governor = governor(|aws| aws);
        let config =
            crate::common::plain(&server).retry_config(aws_smithy_types::retry::RetryConfig::disabled()).build();
        let config = cloud_governor_aws::AwsHooks::builder().governor(governor.clone()).install(&config);
        let error = aws_sdk_s3::Client::new(&config).list_objects_v2().bucket("b").send().await.expect_err("once");
        assert_eq!((error.code(), server.count()), (Some("ServiceUnavailable"), 1));
        assert_eq!(totals(&governor).gave_up, 1);
    }
}

/// The head came with success: what broke is the way here, and no error of the service.
#[tokio::test(start_paused = true)]
async fn one_that_is_cut_short_is_a_body_cut_short() {
    let server = Server::script([
        Reply::Broken { status: 200, start: "<Error><Code>SlowDown".into() },
        Reply::Broken { status: 200, start: "".into() },
        Reply::new(200, LISTED),
    ]);
    let governor = governor(|aws| aws);
    s3(&server, &governor).list_objects_v2().bucket("b").send().await.expect("the third answer");
    let totals = totals(&governor);
    assert_eq!((totals.calls, totals.throttled, totals.transient_errors), (3, 0, 2));
}
