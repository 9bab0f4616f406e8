//! Downloads: a slot's life, and a body's.

use std::num::NonZeroUsize;
use std::time::Duration;

use aws_sdk_s3::primitives::ByteStream;
use cloud_governor::{BreakerState, Governor, ProviderBuilder};

use crate::common::{Reply, Server, governor, leaf, s3, seconds, totals};

async fn start(server: &Server, governor: &Governor) -> ByteStream {
    s3(server, governor).get_object().bucket("b").key("k").send().await.expect("a head").body
}

fn one_slot(aws: ProviderBuilder) -> ProviderBuilder {
    aws.account_concurrency(NonZeroUsize::MIN)
}

/// Half of an object, and a broken connection.
fn cut() -> Reply {
    Reply::Broken { status: 200, start: "half".into() }
}

#[tokio::test(start_paused = true)]
async fn a_slot_is_held_until_the_head_has_come_and_not_while_the_caller_reads() {
    let body = Reply::SlowBody { status: 200, body: "content".into(), after: seconds(4) };
    let server = Server::always(body.after(seconds(2)));
    let governor = governor(one_slot);
    let client = s3(&server, &governor);
    let calls: Vec<_> = (0..4).map(|_| tokio::spawn(client.get_object().bucket("b").key("k").send())).collect();
    let mut streams = Vec::new();
    for call in calls {
        streams.push(call.await.expect("no panic").expect("a head").body);
    }
    let sent: Vec<u64> = server.requests().iter().map(|request| request.at.as_secs()).collect();
    assert_eq!(sent, [0, 2, 4, 6], "one head at a time");
    assert_eq!(leaf(&governor, "s3").slots_in_use, 0, "four bodies are yet to come");
    for stream in streams {
        assert_eq!(stream.collect().await.expect("the content").to_vec(), b"content");
    }
    let totals = totals(&governor);
    assert_eq!((totals.calls, totals.transient_errors), (4, 0));
}

#[tokio::test(start_paused = true)]
async fn a_download_cut_short_is_a_transient_failure_that_nobody_retries() {
    let server = Server::always(cut());
    let governor = governor(one_slot);
    start(&server, &governor).await.collect().await.expect_err("cut short");
    let totals = totals(&governor);
    assert_eq!((totals.calls, totals.transient_errors, totals.retries, totals.gave_up), (1, 1, 0, 1));
    assert_eq!(server.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn downloads_that_are_always_cut_short_open_the_circuit_unless_one_comes_whole() {
    let whole = || Reply::new(200, "content");
    let server = Server::script([cut(), whole(), cut(), cut()]);
    let governor = governor(|aws| aws.breaker_failures(2));
    for broken in [true, false, true] {
        assert_eq!(start(&server, &governor).await.collect().await.is_err(), broken);
        assert_eq!(leaf(&governor, "s3").breaker, BreakerState::Closed);
    }
    start(&server, &governor).await.collect().await.expect_err("cut short");
    assert_eq!(leaf(&governor, "s3").breaker, BreakerState::Open);
}

#[tokio::test(start_paused = true)]
async fn a_download_that_the_caller_leaves_is_no_failure_and_holds_nothing() {
    let parts = vec![(Duration::ZERO, Ok("half".into())), (seconds(3600), Ok("never".into()))];
    let server = Server::always(Reply::Stream { status: 200, parts });
    let governor = governor(one_slot);
    for _ in 0..3 {
        let mut stream = start(&server, &governor).await;
        assert_eq!(stream.next().await.expect("a part").expect("no error"), "half");
    }
    let totals = totals(&governor);
    assert_eq!((totals.calls, totals.transient_errors, totals.gave_up), (3, 0, 0));
    assert_eq!(leaf(&governor, "s3").slots_in_use, 0);
}

/// A probe asks whether the service is there: its head says so, and the caller may read for hours.
#[tokio::test(start_paused = true)]
async fn the_head_of_a_download_closes_a_half_open_circuit() {
    let server = Server::script([
        Reply::new(500, ""),
        Reply::SlowBody { status: 200, body: "content".into(), after: seconds(3600) },
        Reply::new(200, "other"),
    ]);
    let governor = governor(|aws| aws.max_retries(0).breaker_failures(1).breaker_cooldown(seconds(5)));
    s3(&server, &governor).get_object().bucket("b").key("k").send().await.expect_err("500");
    assert_eq!(leaf(&governor, "s3").breaker, BreakerState::Open);
    tokio::time::sleep(seconds(6)).await;
    let _unread = start(&server, &governor).await;
    assert_eq!(leaf(&governor, "s3").breaker, BreakerState::Closed);
    assert_eq!(start(&server, &governor).await.collect().await.expect("the content").to_vec(), b"other");
}

#[tokio::test(start_paused = true)]
async fn an_attempt_timeout_does_not_end_what_the_caller_reads() {
    let server = Server::always(Reply::SlowBody { status: 200, body: "content".into(), after: seconds(4) });
    let governor = governor(|aws| aws.attempt_timeout(seconds(1)));
    let stream = start(&server, &governor).await;
    assert_eq!(stream.collect().await.expect("the content").to_vec(), b"content");
}

#[tokio::test(start_paused = true)]
async fn the_interceptor_sees_a_download_cut_short_too() {
    let server = Server::always(cut());
    let governor = governor(|aws| aws);
    let config = aws_sdk_s3::config::Builder::from(&crate::common::governed(&server, &governor))
        .interceptor(cloud_governor_aws::GovernorInterceptor::new())
        .build();
    let object = aws_sdk_s3::Client::from_conf(config).get_object().bucket("b").key("k").send().await;
    object.expect("a head").body.collect().await.expect_err("cut short");
    let totals = totals(&governor);
    assert_eq!((totals.calls, totals.transient_errors, totals.gave_up), (1, 1, 1));
}

/// Sessions and credentials of an operation's own pass no gate that lasts.
#[tokio::test(start_paused = true)]
async fn a_download_cut_short_is_a_failure_also_where_no_gate_is() {
    let server = Server::script([cut(), Reply::stream(200, ["con", "tent"])]);
    let governor = governor(one_slot);
    let config = aws_sdk_s3::config::Builder::from(&crate::common::governed(&server, &governor))
        .identity_cache(aws_sdk_s3::config::IdentityCache::no_cache())
        .build();
    let client = aws_sdk_s3::Client::from_conf(config);
    let object = client.get_object().bucket("b").key("k").send().await.expect("a head");
    object.body.collect().await.expect_err("cut short");
    let object = client.get_object().bucket("b").key("k").send().await.expect("a head");
    assert_eq!(object.body.collect().await.expect("the content").to_vec(), b"content");
    let totals = totals(&governor);
    assert_eq!((totals.calls, totals.transient_errors, totals.gave_up), (2, 1, 1));
}

#[tokio::test(start_paused = true)]
async fn an_object_without_content_is_a_success() {
    let server = Server::script([Reply::new(200, ""), Reply::stream(200, [""]), Reply::stream(200, [])]);
    let governor = governor(one_slot);
    for _ in 0..3 {
        assert!(start(&server, &governor).await.collect().await.expect("no content").to_vec().is_empty());
    }
    assert_eq!(totals(&governor).transient_errors, 0);
}
