use google_cloud_gax_internal::observability::{ClientRequestAttributes, RequestRecorder};
use google_cloud_gax_internal::options::InstrumentationClientInfo;

use super::*;

#[test]
fn a_recorder_is_read_whole() {
    let mut info = InstrumentationClientInfo::default();
    info.service_name = "cloudasset";
    info.default_host = "cloudasset.googleapis.com";
    let recorder = RequestRecorder::new(info);
    recorder.on_client_request(
        ClientRequestAttributes::default()
            .set_rpc_method("google.cloud.asset.v1.AssetService/ListAssets")
            .set_url_template("/v1/{parent}/assets")
            .set_resource_name("//cloudasset.googleapis.com/projects/p1".to_owned()),
    );
    let seen = Seen {
        service: "cloudasset",
        host: "cloudasset.googleapis.com",
        rpc: Some("google.cloud.asset.v1.AssetService/ListAssets"),
        template: Some("/v1/{parent}/assets"),
        resource: Some("//cloudasset.googleapis.com/projects/p1".into()),
        ..Seen::default()
    };
    assert_eq!(Seen::of(&recorder), seen);
}

#[test]
fn a_recorder_that_nobody_filled_in_says_nothing() {
    assert_eq!(Seen::of(&RequestRecorder::new(InstrumentationClientInfo::default())), Seen::default());
}
