use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_types::body::SdkBody;
use proptest::prelude::*;

use super::Seen;

const AGENT: &str = "aws-sdk-rust/1.4 ua/2.1 api/cloudwatchlogs/1.162.0 os/linux lang/rust/1.94";

fn request(uri: &str, headers: &[(&'static str, &'static str)], body: &str) -> HttpRequest {
    let mut request = HttpRequest::new(SdkBody::from(body));
    request.set_uri(uri.to_owned()).expect("a sound address");
    for (name, value) in headers {
        request.headers_mut().insert(*name, *value);
    }
    request
}

#[test]
fn a_json_request_names_its_operation_in_the_target_header() {
    let seen = Seen::of(&request(
        "https://logs.eu-west-1.amazonaws.com/",
        &[
            ("x-amz-user-agent", AGENT),
            ("x-amz-target", "Logs_20140328.DescribeLogGroups"),
            ("amz-sdk-invocation-id", "0a"),
            ("amz-sdk-request", "attempt=2; max=9"),
        ],
        "{}",
    ));
    assert_eq!(seen.service.as_deref(), Some("logs"));
    assert_eq!(seen.operation.as_deref(), Some("DescribeLogGroups"));
    assert_eq!((seen.attempt, seen.max_attempts), (2, 9));
    assert_eq!(seen.invocation_id.as_deref(), Some("0a"));
    assert!(!seen.signed);
    assert!(seen.has_body);
}

#[test]
fn a_query_request_names_its_operation_in_the_form_and_its_region_in_the_signature() {
    let seen = Seen::of(&request(
        "https://sts.amazonaws.com/",
        &[
            ("user-agent", "aws-sdk-rust/1.4 api/sts/1.1"),
            ("content-type", "application/x-www-form-urlencoded"),
            (
                "authorization",
                "AWS4-HMAC-SHA256 Credential=AKIA/20261130/eu-west-1/sts/aws4_request, SignedHeaders=host, Signature=00",
            ),
        ],
        "Action=AssumeRoleWithWebIdentity&Version=2011-06-15",
    ));
    assert_eq!(seen.operation.as_deref(), Some("AssumeRoleWithWebIdentity"));
    assert_eq!(seen.signing_region.as_deref(), Some("eu-west-1"));
    assert!(seen.signed);
    assert_eq!((seen.attempt, seen.max_attempts), (1, u32::MAX));
}

#[test]
fn a_cbor_request_names_its_operation_in_the_path() {
    let seen = Seen::of(&request(
        "https://monitoring.eu-west-1.amazonaws.com/service/GraniteServiceVersion20100801/operation/GetMetricData?x=1",
        &[("user-agent", "api/cloudwatch/1"), ("smithy-protocol", "rpc-v2-cbor")],
        "",
    ));
    assert_eq!(seen.operation.as_deref(), Some("GetMetricData"));
    assert!(!seen.has_body);
}

#[test]
fn instance_metadata_is_no_service() {
    let seen = Seen::of(&request("http://169.254.169.254/latest/api/token", &[("user-agent", "aws-sdk-rust/1")], ""));
    assert_eq!(seen.service, None);
}

#[test]
fn any_answer_of_s3_may_be_an_error_unless_it_is_content() {
    let agent = ("user-agent", "api/s3/1");
    let copy = Seen::of(&request("https://b.s3.amazonaws.com/k", &[agent, ("x-amz-copy-source", "b/o")], ""));
    let list = Seen::of(&request("https://b.s3.amazonaws.com/?list-type=2", &[agent], ""));
    assert!(copy.may_fail_with_200 && list.may_fail_with_200 && !list.is_download);
    for query in ["versionId=7&x-id=GetObject", "x-id=GetObjectAnnotation", "torrent", "select&select-type=2"] {
        let seen = Seen::of(&request(&format!("https://b.s3.amazonaws.com/k?{query}"), &[agent], ""));
        assert!(seen.is_download && !seen.may_fail_with_200, "{query}");
    }
    let other = Seen::of(&request("https://x.amazonaws.com/?x-id=GetObject", &[("user-agent", "api/ssm/1")], ""));
    assert!(!other.is_download && !other.may_fail_with_200);
}

#[test]
fn content_that_is_no_form_names_no_operation() {
    let seen = |kind| Seen::of(&request("https://b.s3.amazonaws.com/k", &[("content-type", kind)], "Action=Secret"));
    assert_eq!(seen("text/plain").operation, None);
    assert_eq!(seen("application/x-www-form-urlencoded; charset=utf-8").operation.as_deref(), Some("Secret"));
}

proptest! {
    #[test]
    fn no_head_is_too_odd_to_look_into(text in "[ -~]{0,60}") {
        let mut odd = HttpRequest::new(SdkBody::from(text.clone()));
        for name in ["authorization", "user-agent", "x-amz-target", "amz-sdk-request", "amz-sdk-invocation-id"] {
            odd.headers_mut().insert(name, text.clone());
        }
        let seen = Seen::of(&odd);
        prop_assert!(seen.operation.is_none_or(|name| !name.contains('/')));
    }
}
