//! S3 Express: a session inside an operation.

use std::num::NonZeroUsize;

use aws_sdk_s3::error::ProvideErrorMetadata;

use crate::common::{Reply, Server, governed, governor, totals};

const BUCKET: &str = "data--euw1-az1--x-s3";

fn session() -> Reply {
    Reply::new(
        200,
        "<CreateSessionResult><Credentials><AccessKeyId>AKIDSESSION</AccessKeyId><SecretAccessKey>s</SecretAccessKey>\
         <SessionToken>t</SessionToken><Expiration>2026-11-30T02:00:00Z</Expiration></Credentials></CreateSessionResult>",
    )
}

fn server(object: Reply) -> Server {
    Server::new(move |request, _| if request.uri.contains("session") { session() } else { object.clone() })
}

#[tokio::test(start_paused = true)]
async fn a_session_does_not_wait_for_the_slot_that_its_own_caller_holds() {
    let server = server(Reply::new(200, "x"));
    let governor = governor(|aws| aws.account_concurrency(NonZeroUsize::MIN));
    let client = aws_sdk_s3::Client::new(&governed(&server, &governor));
    for _ in 0..2 {
        client.get_object().bucket(BUCKET).key("k").send().await.expect("an answer");
    }
    let uris: Vec<String> = server.requests().into_iter().map(|request| request.uri).collect();
    assert_eq!(uris.len(), 3, "one session, two objects: {uris:?}");
    let totals = totals(&governor);
    assert_eq!((totals.operations, totals.calls), (3, 3), "the token paid at the gate is the one that is used");
}

#[tokio::test(start_paused = true)]
async fn an_express_operation_is_retried_as_often_as_any_and_ends_with_its_own_error() {
    let server = server(Reply::new(503, "<Error><Code>SlowDown</Code><Message>m</Message></Error>"));
    let governor = governor(|aws| aws.max_retries(2));
    let client = aws_sdk_s3::Client::new(&governed(&server, &governor));
    let error = client.get_object().bucket(BUCKET).key("k").send().await.expect_err("slow down");
    assert_eq!(error.code(), Some("SlowDown"));
    assert_eq!(server.count(), 1 + 3);
    let totals = totals(&governor);
    assert_eq!((totals.operations, totals.calls, totals.gave_up), (2, 4, 1));
}
