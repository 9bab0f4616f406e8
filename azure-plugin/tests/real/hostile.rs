//! Servers that mean harm, or know no better.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use azure_core::http::Url;
use azure_storage_blob::models::BlobClientGetPropertiesOptions;
use cloud_governor::{RefusalKind, RetryPolicy};
use cloud_governor_azure::{CallOptions, refusal};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::common::{
    blob, blob_at, blobs, code, context, governor, millis, options, queue_at, seconds, status, totals,
};
use crate::server::{Reply, Server};

/// Answers every request with these bytes and closes the connection; counts the requests.
async fn serve_bytes(answer: Vec<u8>) -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port");
    let address = listener.local_addr().expect("an address");
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
    (address, count)
}

#[tokio::test]
async fn bytes_that_are_no_answer_are_a_failure_of_the_way() {
    let flood: Vec<u8> = (0..5000).flat_map(|number| format!("x-{number}: y\r\n").into_bytes()).collect();
    for answer in [
        b"SSH-2.0-OpenSSH_9.6\r\n".to_vec(),
        b"HTTP/1.1 999999 What\r\n\r\n".to_vec(),
        b"HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n".to_vec(),
        b"\0\0\0\0".to_vec(),
        Vec::new(),
        [b"HTTP/1.1 200 OK\r\n".to_vec(), flood].concat(),
    ] {
        let (address, count) = serve_bytes(answer.clone()).await;
        let governor = governor(|azure| azure.max_retries(2));
        let url = Url::parse(&format!("http://{address}/acct/container/blob")).expect("a URL");
        let shown = String::from_utf8_lossy(&answer[..answer.len().min(40)]).into_owned();
        blob(url, options(&governor)).download(None).await.map(drop).expect_err(&shown);
        let totals = totals(&governor);
        assert_eq!((count.load(Ordering::SeqCst), totals.calls, totals.transient_errors), (3, 3, 3), "{shown}");
        assert_eq!(blobs(&governor).slots_in_use, 0);
    }
}

#[tokio::test]
async fn a_retry_after_of_years_ends_the_call_and_pauses_no_longer_than_the_cap() {
    for (header, value) in [
        ("retry-after", "99999999999999999999"),
        ("retry-after", "1000000000"),
        ("x-ms-retry-after-ms", "99999999999999999999.5"),
        ("retry-after", "Fri, 31 Dec 9999 23:59:59 GMT"),
    ] {
        let server = Server::always(Reply::coded(429, "TooManyRequests").header(header, value));
        let governor = governor(|azure| azure.pause_cap(seconds(60)));
        let client = blob_at(&server, &governor);
        let error = client.get_properties(None).await.map(drop).expect_err("throttled");
        assert_eq!((status(&error), code(&error)), (Some(429), Some("TooManyRequests")), "{header}: {value}");
        assert_eq!((server.count(), totals(&governor).gave_up), (1, 1), "{header}: {value}");
        let paused = blobs(&governor).paused_for.expect("a pause");
        assert!(paused <= seconds(60), "{header}: {value}: {paused:?}");
        let policy = RetryPolicy::builder().deadline(millis(50)).build().expect("sound");
        let method_options = context(CallOptions::new().policy(policy));
        let hurried = BlobClientGetPropertiesOptions { method_options, ..Default::default() };
        let error = client.get_properties(Some(hurried)).await.map(drop).expect_err("refused");
        assert_eq!(refusal(&error).map(|refusal| refusal.kind()), Some(RefusalKind::DeadlineExceeded));
        assert_eq!(server.count(), 1);
    }
}

#[tokio::test]
async fn headers_of_any_bytes_do_no_harm() {
    let odd = |name, value: &[u8]| Reply::new(503, "").header(name, value.to_vec());
    for reply in [
        odd("x-ms-error-code", b"\xff\xfe"),
        odd("x-ms-error-code", &[b'x'; 8000]),
        odd("retry-after", b"\xff"),
        odd("retry-after", b"-5"),
        odd("x-ms-ratelimit-remaining-subscription-reads", b"99999999999999999999999"),
        odd("x-ms-ratelimit-remaining-resource", b";;;;,,,=\xff;-1"),
        odd("content-type", b"\xc3\x28"),
    ] {
        let server = Server::script([reply.clone(), Reply::ok()]);
        let governor = governor(|azure| azure);
        blob_at(&server, &governor).get_properties(None).await.map(drop).unwrap_or_else(|_| panic!("{reply:?}"));
        assert_eq!(server.count(), 2, "{reply:?}");
    }
}

#[tokio::test]
async fn an_error_of_megabytes_reaches_the_caller_whole() {
    let mut long = br#"{"error":{"code":"Forbidden","message":""#.to_vec();
    long.resize(4 << 20, b'x');
    long.extend_from_slice(br#""}}"#);
    let length = long.len();
    let server = Server::always(Reply::new(403, long));
    let governor = governor(|azure| azure);
    let error = queue_at(&server, &governor).peek_messages(None).await.map(drop).expect_err("forbidden");
    let azure_core::error::ErrorKind::HttpResponse { raw_response: Some(raw), error_code, .. } = error.kind() else {
        panic!("an answer: {error:?}");
    };
    assert_eq!((raw.body().len(), error_code.as_deref()), (length, Some("Forbidden")));
    assert_eq!((server.count(), totals(&governor).retries), (1, 0));
}

#[tokio::test]
async fn an_error_whose_body_never_comes_holds_a_call_no_longer_than_its_attempt() {
    let stalled = Reply::new(503, vec![b' '; 100]).header("x-ms-error-code", "ServerBusy").stalled();
    let server = Server::script([stalled, Reply::ok()]);
    let governor = governor(|azure| azure.attempt_timeout(millis(700)));
    blob_at(&server, &governor).download(None).await.map(drop).expect("a head");
    assert_eq!((server.count(), totals(&governor).throttled), (2, 1));
}

#[tokio::test]
async fn an_error_whose_body_is_cut_short_is_known_by_its_head() {
    let cut = Reply::new(503, vec![b' '; 100]).header("x-ms-error-code", "ServerBusy").cut();
    let server = Server::always(cut);
    let governor = governor(|azure| azure.max_retries(2));
    blob_at(&server, &governor).download(None).await.map(drop).expect_err("busy");
    assert_eq!((server.count(), totals(&governor).throttled, totals(&governor).gave_up), (3, 3, 1));
}
