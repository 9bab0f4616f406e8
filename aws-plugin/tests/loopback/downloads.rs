//! Downloads over connections that keep their word, and over others.

use std::num::NonZeroUsize;
use std::sync::atomic::Ordering;

use aws_sdk_s3::error::ProvideErrorMetadata;
use cloud_governor::{Config, Governor};

use crate::common::{governor, s3, serve, serve_bytes};

#[tokio::test]
async fn a_body_shorter_than_announced_is_a_failure_of_the_download() {
    let (address, count) = serve_bytes("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf").await;
    let governor = governor(2);
    let object = s3(&address, &governor).get_object().bucket("b").key("k").send().await.expect("a head");
    object.body.collect().await.expect_err("cut short");
    let totals = governor.summary().totals;
    assert_eq!((count.load(Ordering::SeqCst), totals.calls, totals.transient_errors, totals.gave_up), (1, 1, 1, 1));
}

#[tokio::test]
async fn a_body_longer_than_announced_is_as_long_as_announced() {
    let (address, count) = serve_bytes("HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nhalf and more").await;
    let governor = governor(2);
    for number in 1..=3 {
        let object = s3(&address, &governor).get_object().bucket("b").key("k").send().await.expect("a head");
        assert_eq!(object.body.collect().await.expect("the content").to_vec(), b"half");
        assert_eq!(count.load(Ordering::SeqCst), number);
    }
    assert_eq!(governor.summary().totals.transient_errors, 0);
}

#[tokio::test]
async fn an_error_with_a_length_that_is_not_its_own_is_known_by_what_came() {
    for length in [1000, 60] {
        let answer = format!(
            "HTTP/1.1 400 Bad Request\r\ncontent-length: {length}\r\n\r\n<Error><Code>SlowDown</Code><Message>no</Message></Error>"
        );
        let (address, count) = serve_bytes(answer.leak()).await;
        let governor = governor(1);
        s3(&address, &governor).get_object().bucket("b").key("k").send().await.expect_err("slow down");
        assert_eq!((count.load(Ordering::SeqCst), governor.summary().totals.throttled), (2, 2), "{length}");
    }
}

#[tokio::test]
async fn an_interim_answer_is_none() {
    let (address, _) =
        serve_bytes("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n").await;
    let governor = governor(2);
    let head = s3(&address, &governor).head_object().bucket("b").key("k").send().await;
    assert_eq!(head.expect_err("not found").code(), Some("NotFound"));
    assert_eq!(governor.summary().totals.calls, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn downloads_overlap_though_there_is_one_slot_and_leave_none_taken() {
    let content = "x".repeat(4 << 20);
    let length = content.len();
    let (address, _) = serve(move |_| (200, content.clone())).await;
    let config = Config::builder().provider("aws", |aws| aws.account_concurrency(NonZeroUsize::MIN).max_rps(1000.0));
    let governor = Governor::builder().config(config.build().expect("sound")).build();
    let client = s3(&address, &governor);
    let mut streams = Vec::new();
    for _ in 0..4 {
        streams.push(client.get_object().bucket("b").key("k").send().await.expect("a head").body);
    }
    for stream in streams.into_iter().map(|stream| tokio::spawn(stream.collect())) {
        let content = stream.await.expect("no panic").expect("the content");
        assert_eq!(content.into_bytes().len(), length);
    }
    let leaf = cloud_governor::Scope::new("aws", "1", "eu-west-1", "s3");
    assert_eq!(governor.inspect(&leaf).map(|leaf| leaf.slots_in_use), Some(0));
    assert_eq!(governor.summary().totals.transient_errors, 0);
}
