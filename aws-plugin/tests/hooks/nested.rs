//! Calls inside calls, of one account with one slot.

use std::num::NonZeroUsize;

use aws_credential_types::Credentials;
use aws_credential_types::provider::{ProvideCredentials, SharedCredentialsProvider, error::CredentialsError, future};
use aws_sdk_s3::error::ProvideErrorMetadata;
use aws_types::SdkConfig;
use cloud_governor::{Governor, RetryPolicy, Scope};
use cloud_governor_aws::{AwsHooks, CallOptions};

use crate::common::{ACCOUNT, Reply, Server, governed, governor, plain, seconds, totals};

fn one_slot() -> Governor {
    governor(|aws| aws.account_concurrency(NonZeroUsize::MIN).deadline(seconds(60)))
}

/// Credentials that take a governed call for the same account, each time.
#[derive(Debug)]
struct Asking(aws_sdk_sts::Client);

impl ProvideCredentials for Asking {
    fn provide_credentials<'a>(&'a self) -> future::ProvideCredentials<'a>
    where
        Self: 'a,
    {
        future::ProvideCredentials::new(async {
            self.0.get_caller_identity().send().await.map_err(CredentialsError::provider_error)?;
            Ok(Credentials::builder()
                .access_key_id("AKIDNESTED")
                .secret_access_key("s")
                .account_id(ACCOUNT)
                .provider_name("asking")
                .build())
        })
    }
}

fn asking(server: &Server, governor: &Governor) -> SdkConfig {
    let outer = governed(server, governor);
    let config = plain(server)
        .credentials_provider(SharedCredentialsProvider::new(Asking(aws_sdk_sts::Client::new(&outer))))
        .identity_cache(aws_sdk_ssm::config::IdentityCache::no_cache())
        .build();
    AwsHooks::builder().governor(governor.clone()).install(&config)
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_calls_for_the_same_account_on_every_attempt_never_waits_for_its_callers_slot() {
    let server = Server::new(|request, number| match request.uri.contains("sts") {
        true => Reply::caller(),
        false if number < 8 => Reply::json_error(503, "InternalServerError"),
        false => Reply::parameter(),
    });
    let governor = one_slot();
    let client = aws_sdk_ssm::Client::new(&asking(&server, &governor));
    client.get_parameter().name("a").send().await.expect("an answer in the end");
    assert_eq!(totals(&governor).calls, server.count() as u64);
}

#[tokio::test(start_paused = true)]
async fn a_call_inside_the_task_scope_of_another_needs_no_second_slot_before_the_first_is_back() {
    let server = Server::new(|request, _| match request.uri.contains("sts") {
        true => Reply::caller(),
        false => Reply::parameter(),
    });
    let governor = one_slot();
    let config = governed(&server, &governor);
    let (ssm, sts) = (aws_sdk_ssm::Client::new(&config), aws_sdk_sts::Client::new(&config));
    let policy = || RetryPolicy::builder().deadline(seconds(30)).build().expect("sound");
    let outer = CallOptions::new().policy(policy()).scope(async {
        ssm.get_parameter().name("a").send().await.expect("an answer");
        let inner = CallOptions::new().policy(policy()).scope(sts.get_caller_identity().send());
        inner.await.expect("an answer");
        tokio::join!(ssm.get_parameter().name("b").send(), sts.get_caller_identity().send())
    });
    let (first, second) = outer.await;
    assert!(first.is_ok() && second.is_ok());
    let leaf = Scope::new("aws", ACCOUNT, "eu-west-1", "ssm");
    assert_eq!(governor.inspect(&leaf).expect("a leaf").slots_in_use, 0);
}

/// The clock that the session's call mends, twenty minutes off, is the second chance of a call that must take no slot.
#[tokio::test(start_paused = true)]
async fn a_session_that_has_to_mend_its_clock_does_not_wait_for_its_callers_slot() {
    let skewed = Reply::new(403, "<Error><Code>RequestTimeTooSkewed</Code><Message>m</Message></Error>")
        .header("date", "Mon, 30 Nov 2026 01:13:20 GMT");
    let session = Reply::new(
        200,
        "<CreateSessionResult><Credentials><AccessKeyId>AKIDSESSION</AccessKeyId><SecretAccessKey>s</SecretAccessKey>\
         <SessionToken>t</SessionToken><Expiration>2026-11-30T02:00:00Z</Expiration></Credentials></CreateSessionResult>",
    );
    let server = Server::new(move |request, number| match request.uri.contains("session") {
        true if number == 1 => skewed.clone(),
        true => session.clone(),
        false => Reply::new(200, "x"),
    });
    let client = aws_sdk_s3::Client::new(&governed(&server, &one_slot()));
    let answer = client.get_object().bucket("data--euw1-az1--x-s3").key("k").send().await;
    let code = answer.as_ref().err().and_then(ProvideErrorMetadata::code).map(str::to_owned);
    assert!(answer.is_ok(), "{code:?} {answer:?}");
    assert_eq!(server.count(), 3);
}

/// The second chance is still the same call: its deadline is the one it had.
#[tokio::test(start_paused = true)]
async fn a_clock_that_is_mended_keeps_the_calls_policy() {
    let skewed = Reply::json_error(403, "InvalidSignatureException").header("date", "Mon, 30 Nov 2026 01:13:20 GMT");
    let server = Server::script([skewed, Reply::json_error(503, "InternalServerError")]);
    let client = crate::common::ssm(&server, &governor(|aws| aws));
    let policy = RetryPolicy::builder().max_retries(1).build().expect("sound");
    CallOptions::new().policy(policy).scope(client.get_parameter().name("a").send()).await.expect_err("503");
    assert_eq!(server.count(), 3, "one that shows the skew, one, and its one retry");
}
