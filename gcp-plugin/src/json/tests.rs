use std::time::Duration;

use cloud_governor::{Class, Rules};
use proptest::prelude::*;
use reqwest::{Method, Url};

use super::*;

fn target(options: GcpOptions) -> GoogleJson {
    GoogleJson { requests: Requests::new(options) }
}

fn request(method: Method, url: &str) -> Request {
    Request::new(method, Url::parse(url).unwrap())
}

fn scope(method: Method, url: &str) -> String {
    target(GcpOptions::new().account("mine")).scope(&request(method, url)).to_string()
}

#[test]
fn storages_operations_have_the_names_that_the_official_client_gives_them() {
    for (method, url, operation) in [
        (Method::GET, "https://storage.googleapis.com/storage/v1/b/b1/o/x?alt=media", "objects.get"),
        (
            Method::POST,
            "https://storage.googleapis.com/upload/storage/v1/b/b1/o?uploadType=media&name=x",
            "objects.insert",
        ),
        (Method::GET, "https://www.googleapis.com/storage/v1/b/b1/o", "objects.list"),
        (Method::DELETE, "http://127.0.0.1:4443/storage/v1/b/b1", "buckets.delete"),
    ] {
        assert_eq!(scope(method, url), format!("gcp/projects/mine/*/storage/{operation}"), "{url}");
    }
}

#[test]
fn a_request_is_charged_to_the_project_that_it_names() {
    for (url, scope_of_url) in [
        ("https://storage.googleapis.com/storage/v1/b?project=p1", "projects/p1/*/storage/buckets.list"),
        (
            "https://storage.googleapis.com/storage/v1/b?x=y&project=example.com%3Ap1",
            "projects/example.com:p1/*/storage/buckets.list",
        ),
        ("https://storage.googleapis.com/storage/v1/projects/p1/hmacKeys", "projects/p1/*/storage/hmacKeys.list"),
        ("https://compute.googleapis.com/compute/v1/projects/p1/zones/z/instances", "projects/p1/*/compute"),
        ("https://www.googleapis.com/compute/v1/projects/p1/zones/z", "projects/p1/*/compute"),
        ("https://www.googleapis.com/batch/bigquery/v2/projects/p1", "projects/p1/*/bigquery"),
        ("https://us-east1-run.googleapis.com/apis/serving.knative.dev/v1/namespaces/p1", "projects/mine/*/run"),
        ("https://logging.googleapis.com/v2/folders/12/sinks", "folders/12/*/logging"),
        ("https://secretmanager.googleapis.com/v1/projects/p1:verb", "projects/p1/*/secretmanager"),
        ("https://secretmanager.googleapis.com/v1/projects/example.com:p1", "projects/example.com:p1/*/secretmanager"),
        (
            "https://secretmanager.googleapis.com/v1/projects/example.com:p1:verb",
            "projects/example.com:p1/*/secretmanager",
        ),
        ("https://secretmanager.googleapis.com/v1/projects/-/secrets", "projects/mine/*/secretmanager"),
        ("https://secretmanager.googleapis.com/v1/projects", "projects/mine/*/secretmanager"),
        ("https://www.googleapis.com/", "projects/mine/*/*"),
        ("https://example.org/v1/projects/p1", "projects/p1/*/*"),
    ] {
        assert_eq!(scope(Method::GET, url), format!("gcp/{scope_of_url}"), "{url}");
    }
}

#[test]
fn a_bucket_that_is_called_like_a_collection_names_no_project() {
    let scope = scope(Method::GET, "https://storage.googleapis.com/storage/v1/b/projects/o/victim");
    assert_eq!(scope, "gcp/projects/mine/*/storage/objects.get");
}

#[test]
fn a_client_based_service_is_charged_to_the_quota_project_of_the_request() {
    let mut request = request(Method::GET, "https://cloudasset.googleapis.com/v1/projects/p1/assets");
    request.headers_mut().insert("x-goog-user-project", "quota".parse().unwrap());
    let scope = target(GcpOptions::new()).scope(&request);
    assert_eq!(scope.to_string(), "gcp/projects/quota/*/cloudasset");
}

#[test]
fn nothing_of_a_query_gets_into_a_scope_but_a_project() {
    let url = "https://user:secret@storage.googleapis.com/storage/v1/b/b1/o/x?key=secret&access_token=secret#secret";
    let google = target(GcpOptions::new());
    let scope = google.scope(&request(Method::GET, url));
    assert!(!scope.to_string().contains("secret"), "{scope}");
}

#[test]
fn what_may_be_sent_twice_is_known_of_storage_and_goes_by_the_method_elsewhere() {
    let google = target(GcpOptions::new());
    let object = "https://storage.googleapis.com/storage/v1/b/b1/o/x";
    assert_eq!(google.idempotent(&request(Method::DELETE, object)), Some(false));
    assert_eq!(google.idempotent(&request(Method::DELETE, &format!("{object}?generation=1"))), Some(true));
    let instance = "https://compute.googleapis.com/compute/v1/projects/p/zones/z/instances/i";
    for (method, expected) in [(Method::GET, true), (Method::DELETE, true), (Method::PUT, true), (Method::POST, false)]
    {
        let request = request(method.clone(), instance);
        assert_eq!(google.idempotent(&request), Some(expected), "{method}");
    }
    let any = target(GcpOptions::new().resend_any(true));
    assert_eq!(any.idempotent(&request(Method::DELETE, object)), Some(true));
    assert_eq!(any.idempotent(&request(Method::POST, instance)), Some(true));
}

// ===== bodies =====

fn told(status: u16, body: &str) -> (Class, Option<ToldLimit>) {
    let google = target(GcpOptions::new());
    let scope = Scope::new("gcp", "projects/p", "", "cloudasset").with_operation("ListAssets");
    let (facts, limit) = google.told(&scope, Facts::new().status(status), body.as_bytes());
    (Rules::new().classify(&facts.in_scope(&scope)).class, limit)
}

#[test]
fn a_body_tells_a_rate_from_a_quota() {
    let reason = |reason: &str| format!(r#"{{"error":{{"code":403,"errors":[{{"reason":"{reason}"}}]}}}}"#);
    assert_eq!(told(403, &reason("rateLimitExceeded")).0, Class::Throttled);
    assert_eq!(told(403, &reason("dailyLimitExceeded")).0, Class::Fatal);
    assert_eq!(told(403, "").0, Class::Fatal);
    assert_eq!(told(500, "<html>upstream").0, Class::Transient);
}

#[test]
fn a_body_tells_the_limit_of_an_operation_with_a_bucket_of_its_own() {
    let body = r#"{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","details":[{
        "@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"RATE_LIMIT_EXCEEDED","metadata":{
            "quota_limit":"ListAssetsRequestsPerMinutePerProject","quota_limit_value":"100",
            "quota_metric":"cloudasset.googleapis.com/list_assets_requests"}}]}}"#;
    assert_eq!(told(429, body), (Class::Throttled, Some(ToldLimit::new(100, Duration::from_secs(60)))));
}

#[test]
fn without_a_body_the_facts_stay_as_they_are() {
    let google = target(GcpOptions::new());
    let scope = Scope::new("gcp", "projects/p", "", "storage");
    let facts = Facts::new().status(429).header("retry-after", "7").message("slow down");
    let before = format!("{facts:?}");
    let (after, limit) = google.told(&scope, facts, b"");
    assert_eq!((format!("{after:?}"), limit), (before, None));
    assert!(google.looks_into_bodies());
}

proptest! {
    #[test]
    fn any_url_has_a_scope_that_survives_its_text(
        host in "([a-z0-9-]{0,10}\\.){0,2}(storage\\.)?googleapis\\.com|[a-z]{1,10}|127\\.0\\.0\\.1:80",
        path in "(/upload)?(/storage/v1/b|/v1/projects|/compute/v1)?/[!-~é]{0,40}",
        query in "(project=)?[!-~é]{0,20}",
    ) {
        let Ok(url) = Url::parse(&format!("https://{host}{path}?{query}")) else { return Ok(()) };
        let google = target(GcpOptions::new());
        let request = Request::new(Method::GET, url);
        let scope = google.scope(&request);
        prop_assert_eq!(scope.provider(), "gcp");
        prop_assert_eq!(scope.to_string().parse::<Scope>(), Ok(scope));
        google.idempotent(&request);
    }

    #[test]
    fn any_body_is_read_without_a_panic(status in 400..600u16, body in proptest::collection::vec(any::<u8>(), 0..200)) {
        let google = target(GcpOptions::new());
        let scope = Scope::new("gcp", "projects/p", "", "storage");
        google.told(&scope, Facts::new().status(status), &body);
    }
}
