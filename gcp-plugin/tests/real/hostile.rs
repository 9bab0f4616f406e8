//! Servers that mean harm, or know no better.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use cloud_governor::{RefusalKind, RetryPolicy};
use cloud_governor_gcp::{CallOptions, attach, call, refusal};
use google_cloud_asset_v1::client::AssetService;
use google_cloud_auth::credentials::Credentials;
use google_cloud_storage::client::StorageControl;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::common::{
    BUCKET, HOME, Key, answered, assets, by, control, governor, inspect, instances, is_at_rest, millis, seconds,
    slots_in_use, storage, totals,
};
use crate::reply::Reply;
use crate::server::Server;

/// Answers every request with these bytes and closes the connection; counts the connections that asked something.
async fn serve_bytes(answer: Vec<u8>) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = [0; 16 * 1024];
            if stream.read(&mut request).await.is_ok_and(|read| read > 0) {
                counted.fetch_add(1, Ordering::SeqCst);
                let _sent = stream.write_all(&answer).await;
            }
        }
    });
    (url, count)
}

fn no_answers() -> Vec<Vec<u8>> {
    let flood: Vec<u8> = (0..5000).flat_map(|number| format!("x-{number}: y\r\n").into_bytes()).collect();
    vec![
        b"SSH-2.0-OpenSSH_9.6\r\n".to_vec(),
        b"HTTP/1.1 999999 What\r\n\r\n".to_vec(),
        b"HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n".to_vec(),
        b"\0\0\0\0".to_vec(),
        Vec::new(),
        [b"HTTP/1.1 200 OK\r\n".to_vec(), flood].concat(),
    ]
}

#[tokio::test]
async fn bytes_that_are_no_answer_are_a_failure_of_the_way() {
    for answer in no_answers() {
        let (url, count) = serve_bytes(answer.clone()).await;
        let governor = governor(|gcp| gcp.max_retries(2));
        let shown = String::from_utf8_lossy(&answer[..answer.len().min(40)]).into_owned();
        let builder = AssetService::builder().with_endpoint(url);
        let client = attach(builder, Credentials::from(Key::new()), by(&governor)).build().await.expect("a client");
        client.list_assets().set_parent(HOME).send().await.map(drop).expect_err(&shown);
        let totals = totals(&governor);
        assert_eq!((count.load(Ordering::SeqCst), totals.calls, totals.transient_errors), (3, 3, 3), "{shown}");
        assert!(is_at_rest(&governor));
    }
}

#[tokio::test]
async fn bytes_that_are_no_http2_end_a_grpc_call_after_its_retries() {
    for answer in no_answers() {
        let (url, _) = serve_bytes(answer.clone()).await;
        let governor = governor(|gcp| gcp.max_retries(2));
        let shown = String::from_utf8_lossy(&answer[..answer.len().min(40)]).into_owned();
        let builder = StorageControl::builder().with_endpoint(url);
        let client = attach(builder, Credentials::from(Key::new()), by(&governor)).build().await.expect("a client");
        client.get_bucket().set_name(BUCKET).send().await.map(drop).expect_err(&shown);
        let totals = totals(&governor);
        assert_eq!((totals.operations, totals.calls, totals.gave_up), (1, 3, 1), "{shown}");
        assert!(is_at_rest(&governor));
    }
}

/// A wait that nobody has.
fn for_years() -> Vec<Reply> {
    let delays = ["99999999999999999999s", "9223372036854775807s", "315576000000.999999999s"];
    let details = delays.map(|delay| {
        let info = format!(r#"{{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"{delay}"}}"#);
        let body =
            format!(r#"{{"error":{{"code":429,"message":"no","status":"RESOURCE_EXHAUSTED","details":[{info}]}}}}"#);
        Reply::new(429, body).header("content-type", "application/json")
    });
    let values = ["99999999999999999999", "1000000000", "Fri, 31 Dec 9999 23:59:59 GMT"];
    let headers = values.map(|value| Reply::rate_limited("projects/1").header("retry-after", value));
    headers.into_iter().chain(details).collect()
}

#[tokio::test]
async fn a_wait_of_years_ends_the_call_and_pauses_no_longer_than_the_cap() {
    for reply in for_years() {
        let server = Server::always(reply.clone());
        let governor = governor(|gcp| gcp.pause_cap(seconds(60)).deadline(seconds(20)).max_retries(3));
        let client = assets(&server, by(&governor)).await;
        let error = client.list_assets().set_parent(HOME).send().await.expect_err("throttled");
        assert_eq!(answered(&error).0, Some(429), "{reply:?}");
        let paused = inspect(&governor, HOME, "cloudasset", "ListAssets").paused_for;
        if server.count() == 1 {
            let paused = paused.expect("a pause");
            assert!(paused <= seconds(60), "{reply:?}: {paused:?}");
            let hasty = RetryPolicy::builder().deadline(millis(50)).build().expect("sound");
            let error = call(hasty, client.list_assets().set_parent(HOME).send()).await.expect_err("refused");
            assert_eq!(refusal(&error).map(|refusal| refusal.kind()), Some(RefusalKind::DeadlineExceeded));
        }
        assert!(server.count() <= 4 && totals(&governor).gave_up == 1, "{reply:?}: {}", server.count());
    }
}

#[tokio::test]
async fn headers_of_any_bytes_do_no_harm() {
    let odd = |name, value: &[u8]| Reply::error(503, "UNAVAILABLE").header(name, value);
    for reply in [
        odd("retry-after", b"\xff"),
        odd("retry-after", b"-5"),
        odd("retry-after", b""),
        odd("date", b"\xff\xfe"),
        odd("x-long", &[b'x'; 8000]),
        odd("content-type", b"\xc3\x28"),
        odd("content-encoding", b"\x80"),
        odd("x-goog-user-project", b"\xff"),
    ] {
        let server = Server::script([reply.clone(), Reply::ok()]);
        let governor = governor(|gcp| gcp);
        let client = assets(&server, by(&governor)).await;
        client.list_assets().set_parent(HOME).send().await.unwrap_or_else(|error| panic!("{reply:?}: {error:?}"));
        assert_eq!((server.count(), slots_in_use(&governor)), (2, 0), "{reply:?}");
    }
}

fn garbage() -> Vec<Vec<u8>> {
    let deep = |open: &str, close: &str| [open.repeat(20_000), close.repeat(20_000)].concat().into_bytes();
    let odd = br#"{"error":{"code":"429","message":7,"status":[],"errors":{},"details":"x"}}"#;
    let details = r#"{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":{}},{"@type":7},[],null,"x""#;
    vec![
        Vec::new(),
        b"{\"error\":".to_vec(),
        b"null".to_vec(),
        b"\0\xff\xfe".to_vec(),
        deep("[", "]"),
        deep("{\"error\":", "}"),
        odd.to_vec(),
        format!(r#"{{"error":{{"code":429,"message":"m","status":"NOPE","details":[{details}]}}}}"#).into_bytes(),
        format!(r#"[{{"error":{{"code":429,"errors":[{{"reason":"{}"}}]}}}}]"#, "x".repeat(100_000)).into_bytes(),
        "\u{1f4a9}".repeat(1000).into_bytes(),
    ]
}

#[tokio::test(start_paused = true)]
async fn errors_of_any_bytes_are_known_by_their_status() {
    for (status, is_throttle) in [(429, true), (503, true), (500, false)] {
        for body in garbage() {
            let shown = String::from_utf8_lossy(&body[..body.len().min(40)]).into_owned();
            let server = Server::always(Reply::new(status, body).header("content-type", "application/json"));
            let governor = governor(|gcp| gcp.max_retries(2));
            let client = assets(&server, by(&governor)).await;
            let error = client.list_assets().set_parent(HOME).send().await.expect_err("always");
            assert_eq!(answered(&error).0, Some(status), "{shown}");
            let totals = totals(&governor);
            assert_eq!((server.count(), totals.calls, totals.gave_up), (3, 3, 1), "{status} {shown}");
            assert_eq!(
                (totals.throttled, totals.transient_errors),
                if is_throttle { (3, 0) } else { (0, 3) },
                "{shown}"
            );
        }
    }
}

#[tokio::test]
async fn an_answer_of_any_bytes_ends_the_call_with_one_request() {
    for body in garbage().into_iter().filter(|body| body != b"null" && !body.is_empty()) {
        let shown = String::from_utf8_lossy(&body[..body.len().min(40)]).into_owned();
        let is_read = serde_json::from_slice::<serde_json::Map<String, serde_json::Value>>(&body).is_ok();
        let server = Server::always(Reply::json(body));
        let governor = governor(|gcp| gcp);
        let result = assets(&server, by(&governor)).await.list_assets().set_parent(HOME).send().await;
        assert_eq!(result.is_ok(), is_read, "{shown}");
        let page = instances(&server, by(&governor)).await.list().set_project("p1").set_zone("z").send().await;
        assert_eq!(page.is_ok(), is_read, "{shown}");
        assert_eq!((server.count(), totals(&governor).calls, totals(&governor).retries), (2, 2, 0), "{shown}");
        assert!(is_at_rest(&governor));
    }
}

#[tokio::test]
async fn an_error_of_megabytes_reaches_the_caller_whole() {
    let message = "x".repeat(4 << 20);
    let server = Server::always(Reply::saying(403, "PERMISSION_DENIED", &message));
    let governor = governor(|gcp| gcp);
    let client = assets(&server, by(&governor)).await;
    let error = client.list_assets().set_parent(HOME).send().await.expect_err("forbidden");
    assert_eq!(error.status().map(|status| status.message.len()), Some(message.len()));
    assert_eq!((server.count(), totals(&governor).retries), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn an_error_whose_body_never_comes_holds_a_call_no_longer_than_its_attempt() {
    let stalled = Reply::new(503, vec![b' '; 100]).stalled();
    let server = Server::always(stalled);
    let governor = governor(|gcp| gcp.attempt_timeout(seconds(5)).max_retries(2));
    let client = assets(&server, by(&governor)).await;
    client.list_assets().set_parent(HOME).send().await.expect_err("never");
    assert_eq!((totals(&governor).calls, totals(&governor).gave_up), (3, 1));
    assert!(is_at_rest(&governor));
}

#[tokio::test]
async fn an_error_whose_body_is_cut_short_is_sent_again() {
    let server = Server::always(Reply::new(503, vec![b' '; 100]).cut());
    let governor = governor(|gcp| gcp.max_retries(2));
    let client = assets(&server, by(&governor)).await;
    client.list_assets().set_parent(HOME).send().await.expect_err("busy");
    assert_eq!((server.count(), totals(&governor).calls, totals(&governor).gave_up), (3, 3, 1));
}

#[tokio::test]
async fn a_grpc_status_of_any_bytes_ends_the_call() {
    let odd = |headers: &[(&'static str, &[u8])]| {
        let empty = Reply::new(200, "").header("content-type", "application/grpc");
        headers.iter().fold(empty, |reply, (name, value)| reply.header(name, value))
    };
    for reply in [
        odd(&[("grpc-status", b"abc")]),
        odd(&[("grpc-status", b"-1")]),
        odd(&[("grpc-status", b"99999999999")]),
        odd(&[("grpc-status", b"8"), ("grpc-message", b"%ff%fe%")]),
        odd(&[("grpc-status", b"8"), ("grpc-status-details-bin", b"/////////w")]),
        odd(&[("grpc-status", b"8"), ("retry-after", b"\xff")]),
        odd(&[("grpc-status", b"14"), ("x-long", &[b'x'; 10_000])]),
        odd(&[]),
        Reply::grpc(&[0xff; 100]),
        Reply::new(200, Bytes::from_static(&[0, 0xff, 0xff, 0xff, 0xff, 1])).header("content-type", "application/grpc"),
    ] {
        let server = Server::always(reply.clone());
        let governor = governor(|gcp| gcp.max_retries(2));
        let client = control(&server, by(&governor)).await;
        client.get_bucket().set_name(BUCKET).send().await.map(drop).expect_err("never");
        let totals = totals(&governor);
        assert_eq!((server.count() as u64, totals.operations), (totals.calls, 1), "{reply:?}");
        assert!(totals.calls <= 3 && is_at_rest(&governor), "{reply:?}");
    }
}

/// As the gRPC library does at details that are no base64, while it reads a head.
#[tokio::test]
async fn a_client_that_panics_leaves_nothing_behind() {
    let headers = [("grpc-status", "8"), ("grpc-status-details-bin", "!!!")];
    let reply = Reply::new(200, "").header("content-type", "application/grpc");
    let server = Server::always(headers.into_iter().fold(reply, |reply, (name, value)| reply.header(name, value)));
    let governor = governor(|gcp| gcp.account_concurrency(std::num::NonZeroUsize::MIN).max_retries(0));
    let client = control(&server, by(&governor)).await;
    for sent in 1..=3 {
        let get = call(CallOptions::new(), client.get_bucket().set_name(BUCKET).send());
        assert!(tokio::spawn(get).await.is_err_and(|ended| ended.is_panic()));
        assert_eq!((server.count(), slots_in_use(&governor)), (sent, 0));
    }
    assert_eq!((totals(&governor).calls, totals(&governor).gave_up), (3, 0));
}

#[tokio::test]
async fn an_upload_that_makes_no_progress_is_counted_request_by_request() {
    let server = Server::start(|asked, number| match (asked.method.as_str(), number) {
        ("POST", _) => Reply::new(200, "").header("location", format!("http://{}/upload/session", asked.server)),
        (_, 60) => Reply::error(403, "PERMISSION_DENIED"),
        _ => Reply::new(308, ""),
    });
    let governor = governor(|gcp| gcp.account_concurrency(std::num::NonZeroUsize::MIN));
    let client = storage(&server, by(&governor)).await;
    let upload = client.write_object(BUCKET, "o", Bytes::from(vec![7; 1 << 20]));
    Box::pin(upload.send_buffered()).await.expect_err("refused at last");
    let totals = totals(&governor);
    assert_eq!((server.count(), totals.calls as usize), (60, 60));
    assert_eq!((totals.transient_errors, totals.gave_up, server.most_in_flight()), (0, 0, 1));
    assert!(is_at_rest(&governor));
}
