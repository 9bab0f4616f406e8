use http::Request;
use proptest::prelude::*;

use super::*;

fn target(options: GcpOptions) -> GoogleRpcs {
    GoogleRpcs { requests: Requests::new(options) }
}

fn request(uri: &str, headers: &[(&str, &str)]) -> Parts {
    let request = headers.iter().fold(Request::post(uri), |request, (name, value)| request.header(*name, *value));
    request.body(()).unwrap().into_parts().0
}

fn scope(uri: &str, headers: &[(&str, &str)]) -> String {
    target(GcpOptions::new().account("mine")).scope(&request(uri, headers)).to_string()
}

const PUBLISH: &str = "/google.pubsub.v1.Publisher/Publish";

#[test]
fn an_rpc_is_charged_to_the_project_that_it_is_routed_by() {
    for params in [
        "topic=projects/p1/topics/t",
        "topic=projects%2Fp1%2Ftopics%2Ft",
        "name=projects%2fp1",
        "a=b&topic=projects/p1/topics/t&parent=projects/p2",
        "database=projects/p1/instances/i/databases/d&x",
    ] {
        assert_eq!(scope(PUBLISH, &[(ROUTING, params)]), "gcp/projects/p1/*/pubsub/Publish", "{params}");
    }
    let several = [(ROUTING, "bucket=projects/_/buckets/b"), (ROUTING, "parent=folders/12")];
    assert_eq!(scope(PUBLISH, &several), "gcp/folders/12/*/pubsub/Publish");
}

#[test]
fn an_rpc_that_is_routed_by_nothing_is_charged_to_the_channels_account() {
    for headers in [
        &[][..],
        &[(ROUTING, "")],
        &[(ROUTING, "topic")],
        &[(ROUTING, "topic=%ff")],
        &[(ROUTING, "bucket=projects/_/buckets/b")],
        &[("x-goog-user-project", "quota")],
    ] {
        assert_eq!(scope(PUBLISH, headers), "gcp/projects/mine/*/pubsub/Publish", "{headers:?}");
    }
}

#[test]
fn a_client_based_service_is_charged_to_the_quota_project_of_the_request() {
    let rpc = "/google.cloud.asset.v1.AssetService/ListAssets";
    let headers = [("x-goog-user-project", "quota"), (ROUTING, "parent=projects/p1")];
    assert_eq!(scope(rpc, &headers), "gcp/projects/quota/*/cloudasset/ListAssets");
}

#[test]
fn the_service_is_that_of_the_package_and_of_the_host_where_every_service_serves_it() {
    for (uri, path) in [
        ("https://pubsub.googleapis.com/google.pubsub.v1.Publisher/Publish", "pubsub/Publish"),
        ("https://eu-pubsub.googleapis.com/google.pubsub.v1.Publisher/Publish", "pubsub/Publish"),
        ("http://localhost:8085/google.pubsub.v1.Publisher/Publish", "pubsub/Publish"),
        ("/google.cloud.kms.v1.KeyManagementService/Encrypt", "cloudkms/Encrypt"),
        ("/google.spanner.v1.Spanner/ExecuteSql", "spanner/ExecuteSql"),
        ("/google.storage.v2.Storage/GetObject", "storage/GetObject"),
        ("https://spanner.googleapis.com/google.longrunning.Operations/GetOperation", "spanner/GetOperation"),
        ("https://us-east1-run.googleapis.com/google.longrunning.Operations/GetOperation", "run/GetOperation"),
        ("http://localhost:1/google.longrunning.Operations/GetOperation", "*/GetOperation"),
        ("/example.v1.Files/GetFile", "*/GetFile"),
    ] {
        assert_eq!(scope(uri, &[]), format!("gcp/projects/mine/*/{path}"), "{uri}");
    }
}

#[test]
fn a_path_that_names_no_rpc_has_no_operation() {
    let long = format!("/google.pubsub.v1.Publisher/{}", "P".repeat(LONGEST_NAME + 1));
    for uri in
        ["/", "/x", "/a/b/c", "//", "/google.pubsub.v1.Publisher/", "/a/b%2Fc", "/a/b:read", "/é/x", long.as_str()]
    {
        let Ok(uri) = uri.parse::<http::Uri>() else { continue };
        assert_eq!(scope(&uri.to_string(), &[]), "gcp/projects/mine/*/*", "{uri}");
    }
}

#[test]
fn what_is_known_of_an_rpc_goes_by_its_path() {
    let google = target(GcpOptions::new());
    let get = request("/google.pubsub.v1.Publisher/GetTopic", &[]);
    assert_eq!((google.idempotent(&get), google.is_unary(&get)), (Some(true), true));
    let commit = request("/google.spanner.v1.Spanner/Commit", &[]);
    assert_eq!((google.idempotent(&commit), google.is_unary(&commit)), (Some(false), false));
    let none = request("/", &[]);
    assert_eq!((google.idempotent(&none), google.is_unary(&none)), (Some(false), false));
}

#[test]
fn any_rpc_may_be_sent_again_if_the_options_say_so() {
    let any = target(GcpOptions::new().resend_any(true));
    assert_eq!(any.idempotent(&request("/google.spanner.v1.Spanner/Commit", &[])), Some(true));
    assert_eq!(any.idempotent(&request("/", &[])), Some(true));
}

proptest! {
    #[test]
    fn any_request_has_a_scope_that_survives_its_text(
        path in "(/google\\.pubsub\\.v1\\.Publisher)?/[!-~]{0,30}",
        params in "[a-z]{0,5}=?(projects(/|%2[Ff]))?[ -~]{0,40}",
        raw in proptest::collection::vec(any::<u8>(), 0..40),
    ) {
        let Ok(uri) = path.parse::<http::Uri>() else { return Ok(()) };
        let mut head = request("/", &[(ROUTING, &params)]);
        head.uri = uri;
        if let Ok(value) = http::HeaderValue::from_bytes(&raw) {
            head.headers.append(ROUTING, value.clone());
            head.headers.insert("x-goog-user-project", value);
        }
        let google = target(GcpOptions::new());
        let scope = google.scope(&head);
        prop_assert_eq!(scope.provider(), "gcp");
        prop_assert_eq!(scope.to_string().parse::<Scope>(), Ok(scope));
        google.is_unary(&head);
        google.idempotent(&head);
    }
}
