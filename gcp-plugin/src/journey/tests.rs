use google_cloud_gax_internal::options::InstrumentationClientInfo;

use super::*;

async fn current(recorder: &RequestRecorder) -> Request {
    let current = recorder.clone().scope(async { Ok(Request::current()) });
    current.await.unwrap()
}

fn recorder() -> RequestRecorder {
    RequestRecorder::new(InstrumentationClientInfo::default())
}

#[tokio::test]
async fn a_request_is_itself_whatever_its_recorder_has_learnt_since() {
    let recorder = recorder();
    let before = current(&recorder).await;
    recorder.on_http_error(&Error::io("an attempt"));
    let after = current(&recorder).await;
    assert!(before.is(&after) && after.is(&before));
}

#[tokio::test]
async fn another_request_is_another_though_it_says_the_same() {
    let one = recorder();
    let first = current(&one).await;
    // Made at another nanosecond.
    let other = loop {
        let other = recorder();
        if other.client_snapshot() != one.client_snapshot() {
            break other;
        }
    };
    assert!(!first.is(&current(&other).await));
}

#[tokio::test]
async fn a_request_without_a_recorder_is_its_tasks() {
    let here = Request::current();
    assert!(here.is(&Request::current()));
    assert!(!here.is(&current(&recorder()).await));
    let elsewhere = tokio::spawn(async { Request::current() }).await.unwrap();
    assert!(!here.is(&elsewhere));
}

#[tokio::test]
async fn the_start_of_a_recorder_lies_in_its_span_however_old_it_is() {
    let before = Instant::now();
    let recorder = recorder();
    let after = Instant::now();
    for _ in 0..1000 {
        let (earliest, latest) = start(&recorder);
        assert!(earliest <= latest && earliest <= after && latest >= before);
    }
}

#[test]
fn what_may_be_a_stream_is_an_rpc_without_a_url_that_is_no_poll() {
    let seen = |rpc, template| Seen { rpc, template, ..Seen::default() };
    assert!(may_be_stream(&seen(Some("google.storage.v2.Storage/BidiReadObject"), None)));
    assert!(!may_be_stream(&seen(Some("google.longrunning.Operations/GetOperation"), None)));
    assert!(!may_be_stream(&seen(Some("google.cloud.asset.v1.AssetService/ListAssets"), Some("/v1/{parent}/assets"))));
    assert!(!may_be_stream(&seen(None, Some("/upload/storage/v1/b/{bucket}/o"))));
}
