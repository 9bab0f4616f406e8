//! Timeouts that were the SDK's.

use aws_sdk_ssm::config::StalledStreamProtectionConfig;
use aws_sdk_ssm::error::SdkError;
use aws_smithy_types::timeout::TimeoutConfig;
use cloud_governor::RefusalKind;
use cloud_governor_aws::{AwsHooks, refusal};

use crate::common::{Reply, Server, governor, plain, seconds, totals};

fn client(server: &Server, governor: &cloud_governor::Governor, timeouts: TimeoutConfig) -> aws_sdk_ssm::Client {
    let config = plain(server).timeout_config(timeouts).build();
    aws_sdk_ssm::Client::new(&AwsHooks::builder().governor(governor.clone()).install(&config))
}

fn per_attempt(limit: u64) -> TimeoutConfig {
    TimeoutConfig::builder().operation_attempt_timeout(seconds(limit)).build()
}

#[tokio::test(start_paused = true)]
async fn an_attempt_timeout_does_not_count_the_wait_for_admission() {
    let server = Server::always(Reply::parameter());
    let governor = governor(|aws| aws.max_rps(0.02).burst(1.0).floor_rps(0.01));
    let client = client(&server, &governor, per_attempt(5));
    for _ in 0..2 {
        client.get_parameter().name("a").send().await.expect("an answer");
    }
    assert!(server.requests()[1].at >= seconds(49));
    assert_eq!(totals(&governor).transient_errors, 0);
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_takes_longer_than_its_timeout_is_retried() {
    let server = Server::script([Reply::parameter().after(seconds(60)), Reply::parameter()]);
    let governor = governor(|aws| aws);
    client(&server, &governor, per_attempt(5)).get_parameter().name("a").send().await.expect("the second answer");
    let requests = server.requests();
    assert!(requests[1].at - requests[0].at >= seconds(5));
    assert!(requests[1].at - requests[0].at < seconds(6));
    assert_eq!(totals(&governor).transient_errors, 1);
}

#[tokio::test(start_paused = true)]
async fn attempts_that_all_time_out_end_as_a_dispatch_failure_of_the_kind_timeout() {
    let server = Server::always(Reply::parameter().after(seconds(60)));
    let governor = governor(|aws| aws.max_retries(2));
    let result = client(&server, &governor, per_attempt(5)).get_parameter().name("a").send().await;
    let error = result.expect_err("timed out");
    assert!(matches!(&error, SdkError::DispatchFailure(failure) if failure.is_timeout()), "{error:?}");
    assert_eq!(server.count(), 3);
}

#[tokio::test(start_paused = true)]
async fn the_attempt_timeout_covers_the_body() {
    let slow = Reply::SlowBody { status: 200, body: "{}".into(), after: seconds(60) };
    let server = Server::script([slow, Reply::parameter()]);
    let governor = governor(|aws| aws);
    client(&server, &governor, per_attempt(5)).get_parameter().name("a").send().await.expect("the second answer");
    assert_eq!(server.count(), 2);
    assert_eq!(totals(&governor).transient_errors, 1);
}

#[tokio::test(start_paused = true)]
async fn the_attempt_timeout_leaves_a_stream_alone_that_the_caller_reads() {
    let slow = Reply::SlowBody { status: 200, body: "content".into(), after: seconds(15) };
    let server = Server::always(slow);
    let governor = governor(|aws| aws);
    let config = plain(&server)
        .timeout_config(per_attempt(5))
        .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
        .build();
    let config = AwsHooks::builder().governor(governor.clone()).install(&config);
    let client = aws_sdk_s3::Client::new(&config);
    let object = client.get_object().bucket("b").key("k").send().await.expect("a head");
    let body = object.body.collect().await.expect("the whole body").into_bytes();
    assert_eq!(&body[..], b"content");
    assert_eq!(totals(&governor).transient_errors, 0);
}

#[tokio::test(start_paused = true)]
async fn the_operation_timeout_is_the_calls_deadline() {
    let server = Server::always(Reply::parameter());
    let governor = governor(|aws| aws.max_rps(0.02).burst(1.0).floor_rps(0.01));
    let client = client(&server, &governor, TimeoutConfig::builder().operation_timeout(seconds(10)).build());
    client.get_parameter().name("a").send().await.expect("an answer");
    let before = tokio::time::Instant::now();
    let error = client.get_parameter().name("a").send().await.expect_err("no token in time");
    assert_eq!(refusal(&error).map(|refusal| refusal.kind()), Some(RefusalKind::DeadlineExceeded));
    assert_eq!(before.elapsed(), std::time::Duration::ZERO, "known at once");
    assert_eq!(server.count(), 1);
}

/// One that a service's own builder sets cannot be moved. The attempt that it drops counts as failed, and its slot goes
/// back before the next attempt asks for one.
#[tokio::test(start_paused = true)]
async fn an_attempt_dropped_by_the_sdks_own_timeout_gives_its_slot_to_the_next() {
    let server = Server::script([Reply::parameter().after(seconds(60)), Reply::parameter()]);
    let governor = governor(|aws| aws.account_concurrency(std::num::NonZeroUsize::MIN));
    let config = crate::common::governed(&server, &governor);
    let config = aws_sdk_ssm::config::Builder::from(&config).timeout_config(per_attempt(5)).build();
    let client = aws_sdk_ssm::Client::from_conf(config);
    client.get_parameter().name("a").send().await.expect("the second answer");
    assert_eq!(server.count(), 2);
    assert_eq!(totals(&governor).transient_errors, 1);
}

/// The caller gave up, which says nothing about the service.
#[tokio::test(start_paused = true)]
async fn an_operation_timeout_that_passes_while_an_attempt_is_sent_is_no_failure() {
    for with_interceptor in [false, true] {
        let server = Server::always(Reply::parameter().after(seconds(60)));
        let governor = governor(|aws| aws.breaker_failures(1));
        let timeouts = TimeoutConfig::builder().operation_timeout(seconds(5)).build();
        let config = plain(&server).timeout_config(timeouts).build();
        let config = AwsHooks::builder().governor(governor.clone()).install(&config);
        let mut config = aws_sdk_ssm::config::Builder::from(&config);
        if with_interceptor {
            config = config.interceptor(cloud_governor_aws::GovernorInterceptor::new());
        }
        let client = aws_sdk_ssm::Client::from_conf(config.build());
        for _ in 0..2 {
            let error = client.get_parameter().name("a").send().await.expect_err("timed out");
            assert!(matches!(error, SdkError::TimeoutError(_)), "{error:?}");
        }
        let totals = totals(&governor);
        assert_eq!((totals.calls, totals.transient_errors, totals.gave_up), (2, 0, 0), "{with_interceptor}");
        let leaf = cloud_governor::Scope::new("aws", crate::common::ACCOUNT, "eu-west-1", "ssm");
        assert_eq!(governor.inspect(&leaf).map(|leaf| leaf.slots_in_use), Some(0));
    }
}
