use google_cloud_gax_internal::options::InstrumentationClientInfo;

use super::*;

async fn current(recorder: &RequestRecorder) -> Request {
    let current = recorder.clone().scope(async { Ok(Request::current()) });
    current.await.unwrap()
}

fn recorder() -> RequestRecorder {
    RequestRecorder::new(InstrumentationClientInfo::default())
}

fn same(one: &Request, other: &Request) -> bool {
    one.recognised(|is_it| is_it(other))
}

#[tokio::test(start_paused = true)]
async fn a_request_is_itself_whatever_its_recorder_has_learnt_since() {
    let recorder = recorder();
    let before = current(&recorder).await;
    recorder.on_http_error(&Error::io("an attempt"));
    let after = current(&recorder).await;
    assert!(same(&before, &after) && same(&after, &before));
}

#[tokio::test(start_paused = true)]
async fn another_request_is_another_though_it_says_the_same_and_began_at_the_same_moment() {
    let (one, other) = (recorder(), recorder());
    assert_eq!(one.client_snapshot(), other.client_snapshot());
    assert!(!same(&current(&one).await, &current(&other).await));
}

#[tokio::test(start_paused = true)]
async fn a_recorder_says_what_it_said_after_it_was_looked_for() {
    let recorder = recorder();
    for resource in [None, Some("//host/projects/p")] {
        let mut attributes = ClientRequestAttributes::default().set_rpc_method("a.B/C").set_url_template("/v1/{name}");
        attributes.resource_name = resource.map(str::to_owned);
        recorder.on_client_request(attributes);
        let before = recorder.client_snapshot();
        let request = current(&recorder).await;
        assert!(same(&request, &request));
        assert_eq!(recorder.client_snapshot(), before);
    }
}

#[tokio::test]
async fn a_request_without_a_recorder_is_its_tasks() {
    let here = Request::current();
    assert!(same(&here, &Request::current()));
    assert!(!same(&here, &current(&recorder()).await));
    assert!(!same(&current(&recorder()).await, &here));
    let elsewhere = tokio::spawn(async { Request::current() }).await.unwrap();
    assert!(!same(&here, &elsewhere));
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
