//! Waits, and the signature that follows them.

use cloud_governor_aws::AwsHooks;

use crate::common::{Reply, Server, TokioTime, credentials, governor, plain, seconds, totals};
use aws_credential_types::Credentials;
use aws_credential_types::provider::{ProvideCredentials, SharedCredentialsProvider, future};
use aws_smithy_async::time::TimeSource;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

#[tokio::test(start_paused = true)]
async fn a_request_that_waited_six_minutes_is_signed_after_the_wait() {
    let server = Server::always(Reply::parameter());
    let governor = governor(|aws| aws.service("ssm", |ssm| ssm.max_rps(1.0 / 360.0).burst(1.0).floor_rps(0.001)));
    let client = crate::common::ssm(&server, &governor);
    for _ in 0..2 {
        client.get_parameter().name("a").send().await.expect("an answer");
    }
    let requests = server.requests();
    assert!(requests[1].at - requests[0].at >= seconds(359));
    assert_eq!(requests[0].header("x-amz-date"), "20261130T005320Z");
    assert_eq!(requests[1].header("x-amz-date"), "20261130T005920Z");
    assert!(totals(&governor).wait_seconds >= 359.0);
}

/// Credentials that hold for a hundred seconds each, numbered.
#[derive(Debug)]
struct ShortLived {
    time: TokioTime,
    given: Arc<AtomicU64>,
}

impl ProvideCredentials for ShortLived {
    fn provide_credentials<'a>(&'a self) -> future::ProvideCredentials<'a>
    where
        Self: 'a,
    {
        let number = self.given.fetch_add(1, Ordering::Relaxed) + 1;
        let expiry = self.time.now() + seconds(100);
        let credentials = Credentials::new(format!("AKID{number}"), "secret", None, Some(expiry), "test");
        future::ProvideCredentials::ready(Ok(credentials))
    }
}

#[tokio::test(start_paused = true)]
async fn credentials_that_expire_during_the_wait_are_resolved_again() {
    let server = Server::always(Reply::parameter());
    let governor = governor(|aws| aws.service("ssm", |ssm| ssm.max_rps(1.0 / 360.0).burst(1.0).floor_rps(0.001)));
    let time = TokioTime::new();
    let given = Arc::new(AtomicU64::new(0));
    let provider = ShortLived { time: time.clone(), given: Arc::clone(&given) };
    let config =
        plain(&server).time_source(time).credentials_provider(SharedCredentialsProvider::new(provider)).build();
    let config = AwsHooks::builder().account("1").governor(governor.clone()).install(&config);
    let client = aws_sdk_ssm::Client::new(&config);
    for _ in 0..2 {
        client.get_parameter().name("a").send().await.expect("an answer");
    }
    let requests = server.requests();
    assert!(requests[0].header("authorization").contains("AKID1"));
    assert!(requests[1].header("authorization").contains("AKID2"), "{}", requests[1].header("authorization"));
    assert_eq!(totals(&governor).operations, 2);
}

#[tokio::test(start_paused = true)]
async fn every_attempt_has_a_signature_of_its_own() {
    let server = Server::script([Reply::new(503, "").after(seconds(2)), Reply::parameter()]);
    let governor = governor(|aws| aws);
    crate::common::ssm(&server, &governor).get_parameter().name("a").send().await.expect("the second answer");
    let requests = server.requests();
    assert_ne!(requests[0].header("authorization"), requests[1].header("authorization"));
    assert_eq!(requests[0].header("amz-sdk-invocation-id"), requests[1].header("amz-sdk-invocation-id"));
}

#[tokio::test(start_paused = true)]
async fn presigning_is_neither_paced_nor_counted_and_sends_nothing() {
    let server = Server::always(Reply::new(200, ""));
    let governor = governor(|aws| aws.max_rps(0.1).burst(1.0).floor_rps(0.01));
    let client = aws_sdk_s3::Client::new(&crate::common::governed(&server, &governor));
    let before = tokio::time::Instant::now();
    for _ in 0..5 {
        let presigning = aws_sdk_s3::presigning::PresigningConfig::expires_in(seconds(60)).expect("sound");
        let presigned = client.get_object().bucket("b").key("k").presigned(presigning).await.expect("an address");
        assert!(presigned.uri().contains("X-Amz-Signature"));
    }
    assert_eq!(before.elapsed(), std::time::Duration::ZERO);
    assert_eq!(server.count(), 0);
    assert_eq!(totals(&governor).operations, 0);
}

#[tokio::test(start_paused = true)]
async fn the_user_agent_keeps_the_features_of_the_credentials() {
    let server = Server::always(Reply::parameter());
    let governor = governor(|aws| aws);
    let plain_client = aws_sdk_ssm::Client::new(&plain(&server).build());
    plain_client.get_parameter().name("a").send().await.expect("an answer");
    crate::common::ssm(&server, &governor).get_parameter().name("a").send().await.expect("an answer");
    let metrics = |request: &crate::common::Request| {
        let agent = request.header("x-amz-user-agent").to_owned();
        let metrics = agent.split(' ').find_map(|part| part.strip_prefix("m/")).unwrap_or_default().to_owned();
        metrics.split(',').map(str::to_owned).collect::<std::collections::BTreeSet<_>>()
    };
    let requests = server.requests();
    // "T" is RESOLVED_ACCOUNT_ID.
    assert!(metrics(&requests[0]).contains("T"), "{}", requests[0].header("x-amz-user-agent"));
    assert_eq!(metrics(&requests[0]), metrics(&requests[1]));
    assert_eq!(credentials().account_id().map(|account| account.as_str()), Some(crate::common::ACCOUNT));
}

fn skewed(code: &str) -> Reply {
    // Twenty minutes ahead of the client.
    Reply::json_error(403, code).header("date", "Mon, 30 Nov 2026 01:13:20 GMT")
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_is_wrong_is_mended_by_the_sdk_as_ever() {
    let server = Server::script([skewed("InvalidSignatureException"), Reply::parameter()]);
    let governor = governor(|aws| aws);
    crate::common::ssm(&server, &governor).get_parameter().name("a").send().await.expect("the second answer");
    let requests = server.requests();
    assert_eq!(requests[0].header("x-amz-date"), "20261130T005320Z");
    assert!(requests[1].header("x-amz-date") > "20261130T0110", "{}", requests[1].header("x-amz-date"));
}

#[tokio::test(start_paused = true)]
async fn a_clock_is_mended_once_per_operation() {
    let server = Server::always(skewed("InvalidSignatureException"));
    let governor = governor(|aws| aws);
    let error = crate::common::ssm(&server, &governor).get_parameter().name("a").send().await.expect_err("forbidden");
    assert!(server.count() <= 2, "{}", server.count());
    assert_eq!(aws_sdk_ssm::error::ProvideErrorMetadata::code(&error), Some("InvalidSignatureException"));
}
