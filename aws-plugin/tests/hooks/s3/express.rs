//! S3 Express: a session inside an operation.

use std::num::NonZeroUsize;

use aws_sdk_s3::error::ProvideErrorMetadata;

use crate::common::{Reply, Server, governor, leaf, s3, totals};

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
    let client = s3(&server, &governor);
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
    let client = s3(&server, &governor);
    let error = client.get_object().bucket(BUCKET).key("k").send().await.expect_err("slow down");
    assert_eq!(error.code(), Some("SlowDown"));
    assert_eq!(server.count(), 1 + 3);
    let totals = totals(&governor);
    assert_eq!((totals.operations, totals.calls, totals.gave_up), (2, 4, 1));
}

#[tokio::test(start_paused = true)]
async fn many_at_once_share_one_slot_and_their_sessions_none() {
    let server = server(Reply::new(200, "x").after(std::time::Duration::from_secs(1)));
    let governor = governor(|aws| aws.account_concurrency(NonZeroUsize::MIN));
    let client = s3(&server, &governor);
    let calls: Vec<_> = (0..5).map(|_| tokio::spawn(client.get_object().bucket(BUCKET).key("k").send())).collect();
    for call in calls {
        let object = call.await.expect("no panic").expect("an answer");
        assert_eq!(object.body.collect().await.expect("its content").to_vec(), b"x");
    }
    let objects = server.requests().iter().filter(|request| !request.uri.contains("session")).count();
    let totals = totals(&governor);
    assert_eq!((objects, totals.calls), (5, server.count() as u64));
    assert_eq!((totals.operations, totals.transient_errors), (totals.calls, 0));
    assert_eq!(leaf(&governor, "s3").slots_in_use, 0);
}

#[tokio::test(start_paused = true)]
async fn a_session_that_is_throttled_is_retried_and_its_caller_goes_on() {
    let server = Server::new(|request, number| match (request.uri.contains("session"), number) {
        (true, 1) => Reply::xml_error(503, "SlowDown"),
        (true, _) => session(),
        _ => Reply::new(200, "x"),
    });
    let governor = governor(|aws| aws.account_concurrency(NonZeroUsize::MIN));
    s3(&server, &governor).get_object().bucket(BUCKET).key("k").send().await.expect("an answer");
    let totals = totals(&governor);
    assert_eq!((totals.operations, totals.calls, totals.throttled), (2, 3, 1));
}

#[tokio::test(start_paused = true)]
async fn a_session_that_is_refused_leaves_no_slot_and_no_token_behind() {
    let server = Server::always(Reply::xml_error(403, "AccessDenied"));
    let governor = governor(|aws| aws.account_concurrency(NonZeroUsize::MIN));
    let client = s3(&server, &governor);
    for _ in 0..3 {
        client.get_object().bucket(BUCKET).key("k").send().await.expect_err("denied");
    }
    assert_eq!(leaf(&governor, "s3").slots_in_use, 0);
    assert!(server.requests().iter().all(|request| request.uri.contains("session")));
}

/// The session is asked for, as without hooks; the object is not.
#[tokio::test(start_paused = true)]
async fn presigning_counts_its_session_and_nothing_else() {
    let server = server(Reply::new(200, "x"));
    let governor = governor(|aws| aws.account_concurrency(NonZeroUsize::MIN));
    let client = s3(&server, &governor);
    for _ in 0..3 {
        let soon = aws_sdk_s3::presigning::PresigningConfig::expires_in(std::time::Duration::from_secs(60));
        let presigned = client.get_object().bucket(BUCKET).key("k").presigned(soon.expect("sound")).await;
        assert!(presigned.expect("an address").uri().contains("X-Amz-Signature"));
    }
    let totals = totals(&governor);
    assert_eq!((server.count(), totals.operations, totals.calls), (1, 1, 1));
}
