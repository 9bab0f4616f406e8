//! Short calls: answers, failures, broken connections.

use std::sync::atomic::Ordering;
use std::time::Duration;

use aws_sdk_ssm::error::{ProvideErrorMetadata, SdkError};
use cloud_governor::{Config, Governor};
use tokio::net::TcpListener;

use crate::common::{client, governor, serve, serve_bytes};

#[tokio::test]
async fn a_server_that_always_throttles_sees_every_retry_and_the_caller_its_error() {
    let (address, count) =
        serve(|_| (400, r#"{"__type":"ThrottlingException","message":"Rate exceeded"}"#.into())).await;
    let error = client(&address, &governor(2)).get_parameter().name("a").send().await.expect_err("throttled");
    assert_eq!(count.load(Ordering::SeqCst), 3);
    assert_eq!((error.code(), error.message()), (Some("ThrottlingException"), Some("Rate exceeded")));
}

#[tokio::test]
async fn a_bare_429_and_a_503_are_got_over() {
    let (address, count) = serve(|number| match number {
        1 => (429, String::new()),
        2 => (503, String::new()),
        _ => (200, r#"{"Parameter":{"Value":"v"}}"#.into()),
    })
    .await;
    let answer = client(&address, &governor(4)).get_parameter().name("a").send().await.expect("the third answer");
    assert_eq!(answer.parameter().and_then(|parameter| parameter.value()), Some("v"));
    assert_eq!(count.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn a_port_where_nobody_listens_is_a_transport_failure_and_no_throttle() {
    let closed = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = format!("http://{}", closed.local_addr().expect("an address"));
    drop(closed);
    let governor = governor(1);
    let error = client(&address, &governor).get_parameter().name("a").send().await.expect_err("refused");
    assert!(matches!(error, SdkError::DispatchFailure(_)), "{error:?}");
    let totals = governor.summary().totals;
    assert_eq!((totals.calls, totals.transient_errors, totals.throttled), (2, 2, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_calls_at_once_each_get_their_own_answer() {
    let (address, count) = serve(|number| {
        if number % 3 == 0 { (503, String::new()) } else { (200, format!(r#"{{"Parameter":{{"Value":"{number}"}}}}"#)) }
    })
    .await;
    let config = Config::builder().provider("aws", |aws| aws.max_rps(10_000.0).base_delay(Duration::from_millis(1)));
    let governor = Governor::builder().config(config.build().expect("sound")).build();
    let client = client(&address, &governor);
    let calls: Vec<_> = (0..60).map(|_| tokio::spawn(client.get_parameter().name("a").send())).collect();
    let mut values = std::collections::BTreeSet::new();
    for call in calls {
        let answer = call.await.expect("no panic").expect("an answer");
        values.insert(answer.parameter().and_then(|parameter| parameter.value()).map(str::to_owned));
    }
    assert_eq!(values.len(), 60);
    let totals = governor.summary().totals;
    assert_eq!(totals.calls, count.load(Ordering::SeqCst) as u64);
    assert_eq!(totals.calls, 60 + totals.retries);
}

#[tokio::test]
async fn connections_that_break_anywhere_are_tried_as_often_as_the_policy_says() {
    let broken = [
        "",
        "HTTP/1.1 200 OK\r\ncontent-le",
        "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"Parameter\":",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{\"Par",
        "HTTP/1.1 503 Slow Down\r\ncontent-length: 100\r\n\r\n{",
        "HTTP/1.1 429 Too Many Requests\r\ncontent-length: 100\r\n\r\n",
    ];
    for answer in broken {
        let (address, count) = serve_bytes(answer).await;
        let governor = governor(2);
        let error = client(&address, &governor).get_parameter().name("a").send().await.expect_err("broken");
        assert_eq!(count.load(Ordering::SeqCst), 3, "{answer:?}: {error:?}");
        let totals = governor.summary().totals;
        assert_eq!((totals.calls, totals.throttled + totals.transient_errors), (3, 3), "{answer:?}");
    }
}
