//! The services' own typed errors, whatever the reason for giving up.

use std::num::NonZeroUsize;
use std::time::Duration;

use aws_sdk_ssm::config::IdentityCache;
use aws_sdk_ssm::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_ssm::operation::get_parameter::GetParameterError;
use aws_types::request_id::RequestId;
use cloud_governor::{Governor, RefusalKind, RetryPolicy};
use cloud_governor_aws::{AwsHooks, CallOptions, GovernorInterceptor, refusal};

use crate::common::{Reply, Server, governed, governor, plain, seconds, ssm, totals};

fn client(server: &Server, governor: &Governor, with_interceptor: bool) -> aws_sdk_ssm::Client {
    let config = aws_sdk_ssm::config::Builder::from(&governed(server, governor));
    let config = if with_interceptor { config.interceptor(GovernorInterceptor::new()) } else { config };
    aws_sdk_ssm::Client::from_conf(config.build())
}

fn assert_own(error: &SdkError<GetParameterError>, code: &str) {
    let typed = error.as_service_error().expect("the service's own error");
    assert_eq!(typed.code(), Some(code));
    assert_eq!(typed.message(), Some("no"));
    assert_eq!(typed.request_id(), Some("r-42"));
    assert!(refusal(error).is_none());
}

#[tokio::test(start_paused = true)]
async fn retries_that_are_exhausted() {
    for with_interceptor in [false, true] {
        let server = Server::always(Reply::json_error(500, "InternalServerError"));
        let client = client(&server, &governor(|aws| aws.max_retries(2)), with_interceptor);
        let error = client.get_parameter().name("a").send().await.expect_err("500");
        assert_own(&error, "InternalServerError");
        assert_eq!(server.count(), 3);
    }
}

#[tokio::test(start_paused = true)]
async fn an_empty_budget() {
    for with_interceptor in [false, true] {
        let server = Server::always(Reply::json_error(429, "TooManyUpdates"));
        let client = client(&server, &governor(|aws| aws.retry_budget(0)), with_interceptor);
        let error = client.get_parameter().name("a").send().await.expect_err("429");
        assert_own(&error, "TooManyUpdates");
        assert_eq!(server.count(), 3);
    }
}

#[tokio::test(start_paused = true)]
async fn a_deadline_that_passes_between_attempts() {
    for with_interceptor in [false, true] {
        let server = Server::always(Reply::json_error(400, "ThrottlingException").after(seconds(3)));
        let governor = governor(|aws| aws.deadline(seconds(10)));
        let client = client(&server, &governor, with_interceptor);
        let began = tokio::time::Instant::now();
        let error = client.get_parameter().name("a").send().await.expect_err("throttled");
        assert_own(&error, "ThrottlingException");
        assert!(began.elapsed() < seconds(14), "{:?}", began.elapsed());
        assert!(server.count() <= 4);
    }
}

#[tokio::test(start_paused = true)]
async fn a_tasks_own_deadline() {
    for with_interceptor in [false, true] {
        let answer = Reply::json_error(400, "ThrottlingException").header("x-amz-retry-after", "5000");
        let server = Server::always(answer);
        let client = client(&server, &governor(|aws| aws), with_interceptor);
        let policy = RetryPolicy::builder().deadline(seconds(12)).build().expect("sound");
        let call = CallOptions::new().policy(policy).scope(client.get_parameter().name("a").send());
        assert_own(&call.await.expect_err("throttled"), "ThrottlingException");
        assert!((2..=3).contains(&server.count()), "{}", server.count());
    }
}

#[tokio::test(start_paused = true)]
async fn a_circuit_that_others_opened_while_the_call_backed_off() {
    for with_interceptor in [false, true] {
        let server = Server::new(|request, _| match String::from_utf8_lossy(&request.body).contains("patient") {
            true => Reply::json_error(503, "InternalServerError").header("x-amz-retry-after", "20000"),
            false => Reply::json_error(503, "InternalServerError"),
        });
        let governor = governor(|aws| aws.breaker_failures(1));
        let client = client(&server, &governor, with_interceptor);
        let patient = tokio::spawn(client.get_parameter().name("patient").send());
        tokio::time::sleep(seconds(1)).await;
        let policy = RetryPolicy::builder().max_retries(0).build().expect("sound");
        let opening = CallOptions::new().policy(policy).scope(client.get_parameter().name("b").send());
        // A 503 with a Retry-After pauses the leaf: the call that opens the circuit waits it out first.
        opening.await.expect_err("503");
        let error = patient.await.expect("no panic").expect_err("stopped");
        assert_own(&error, "InternalServerError");
        let refused = client.get_parameter().name("c").send().await.expect_err("open");
        assert_eq!(refusal(&refused).map(|refusal| refusal.kind()), Some(RefusalKind::CircuitOpen));
        assert!(totals(&governor).breaker_trips >= 1);
    }
}

async fn probe_with_a_hundred_clients(client: impl Fn(&Server, &Governor) -> aws_sdk_ssm::Client) {
    let server = Server::script([Reply::json_error(503, "InternalServerError"), Reply::parameter().after(seconds(2))]);
    let governor = governor(|aws| aws.max_retries(0).breaker_failures(1).breaker_cooldown(seconds(30)));
    client(&server, &governor).get_parameter().name("a").send().await.expect_err("503");
    tokio::time::sleep(seconds(31)).await;
    let clients: Vec<_> = (0..100).map(|_| client(&server, &governor)).collect();
    let calls: Vec<_> = clients.iter().map(|client| tokio::spawn(client.get_parameter().name("a").send())).collect();
    let mut answered = 0;
    for call in calls {
        match call.await.expect("no panic") {
            Ok(_) => answered += 1,
            Err(error) => {
                let refused = refusal(&error).expect("a refusal");
                assert_eq!(refused.kind(), RefusalKind::CircuitOpen);
                assert_eq!(error.to_string(), "dispatch failure");
            }
        }
    }
    assert_eq!((answered, server.count()), (1, 2));
    clients[0].get_parameter().name("a").send().await.expect("closed");
}

#[tokio::test(start_paused = true)]
async fn a_half_open_circuit_lets_one_of_a_hundred_clients_through() {
    probe_with_a_hundred_clients(ssm).await;
}

#[tokio::test(start_paused = true)]
async fn a_half_open_circuit_lets_one_of_a_hundred_clients_without_a_gate_through() {
    let without_gate = |server: &Server, governor: &Governor| {
        let config = AwsHooks::builder().account("1").governor(governor.clone()).install(&plain(server).build());
        let config = aws_sdk_ssm::config::Builder::from(&config).identity_cache(IdentityCache::no_cache());
        aws_sdk_ssm::Client::from_conf(config.build())
    };
    probe_with_a_hundred_clients(without_gate).await;
}

/// To stop, the SDK has to be given something to sign with: what it had, not what a provider may take long to find.
#[tokio::test(start_paused = true)]
async fn credentials_that_are_gone_by_then() {
    use aws_credential_types::Credentials;
    use aws_credential_types::provider::{
        ProvideCredentials, SharedCredentialsProvider, error::CredentialsError, future,
    };
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[derive(Debug, Default)]
    struct Once(AtomicUsize);
    impl ProvideCredentials for Once {
        fn provide_credentials<'a>(&'a self) -> future::ProvideCredentials<'a>
        where
            Self: 'a,
        {
            future::ProvideCredentials::ready(match self.0.fetch_add(1, Ordering::Relaxed) {
                0 => Ok(Credentials::builder().access_key_id("A").secret_access_key("s").provider_name("t").build()),
                _ => Err(CredentialsError::provider_error("gone")),
            })
        }
    }

    let server = Server::always(Reply::json_error(503, "InternalServerError"));
    let config = plain(&server)
        .credentials_provider(SharedCredentialsProvider::new(Once::default()))
        .identity_cache(IdentityCache::no_cache())
        .build();
    let governor = governor(|aws| aws.max_retries(0).account_concurrency(NonZeroUsize::MIN));
    let config = AwsHooks::builder().governor(governor).install(&config);
    let error = aws_sdk_ssm::Client::new(&config).get_parameter().name("a").send().await.expect_err("503");
    assert_own(&error, "InternalServerError");
}

/// An attempt timeout on a service's own builder spans the wait for admission too.
#[tokio::test(start_paused = true)]
async fn a_wait_that_the_clients_own_attempt_timeout_cuts_goes_on_at_the_next_attempt() {
    let answer = Reply::json_error(503, "InternalServerError").header("x-amz-retry-after", "12000");
    let server = Server::script([answer, Reply::parameter()]);
    let governor = governor(|aws| aws);
    let timeouts = aws_smithy_types::timeout::TimeoutConfig::builder().operation_attempt_timeout(seconds(5)).build();
    let config = aws_sdk_ssm::config::Builder::from(&governed(&server, &governor)).timeout_config(timeouts).build();
    let client = aws_sdk_ssm::Client::from_conf(config);
    client.get_parameter().name("a").send().await.expect("the second answer");
    let requests = server.requests();
    assert!((seconds(12)..seconds(20)).contains(&(requests[1].at - requests[0].at)), "{:?}", requests[1].at);
    let totals = totals(&governor);
    assert_eq!((totals.operations, totals.calls, totals.retries), (1, 2, 1));
    assert!(Duration::from_secs_f64(totals.wait_seconds) < seconds(20));
}
