use std::time::Duration;

use cloud_governor::{Config, Facts};
use http::HeaderValue;
use proptest::prelude::*;

use super::*;
use crate::facts::{Limit, Whose};

fn scope_with(options: GcpOptions, seen: Seen<'_>, quota_project: Option<&str>) -> Scope {
    let mut headers = HeaderMap::new();
    if let Some(project) = quota_project {
        headers.insert(QUOTA_PROJECT, HeaderValue::from_str(project).unwrap());
    }
    let head = RequestHead {
        method: &Method::POST,
        host: Some("pubsub.googleapis.com"),
        path: "/google.pubsub.v1.Publisher/Publish",
        query: None,
        headers: &headers,
    };
    Requests::new(options).scope(&head, seen)
}

fn publish() -> Seen<'static> {
    let resource = Some(Cow::Borrowed("projects/of-the-topic"));
    Seen { service: "pubsub", rpc: Some("google.pubsub.v1.Publisher/Publish"), resource, ..Seen::default() }
}

fn list_assets() -> Seen<'static> {
    let resource = Some(Cow::Borrowed("projects/of-the-assets"));
    Seen { service: "cloudasset", rpc: Some("google.cloud.asset.v1.AssetService/ListAssets"), resource, ..publish() }
}

#[test]
fn whom_the_program_says_is_charged_whatever_the_request_names() {
    let options = || GcpOptions::new().account("mine").account_from(|_| Some("tenant".to_owned()));
    assert_eq!(scope_with(options(), publish(), None).to_string(), "gcp/projects/tenant/*/pubsub/Publish");
    let scope = scope_with(options(), list_assets(), Some("quota"));
    assert_eq!(scope.to_string(), "gcp/projects/tenant/*/cloudasset/ListAssets");
}

#[test]
fn where_the_program_does_not_know_the_request_is_charged_as_ever() {
    let long = "x".repeat(1000);
    for answer in [None, Some(""), Some("-"), Some("projects/_"), Some(long.as_str())] {
        let answer = answer.map(str::to_owned);
        let options = GcpOptions::new().account_from(move |_| answer.clone());
        assert_eq!(scope_with(options.clone(), publish(), None).account(), "projects/of-the-topic");
        assert_eq!(scope_with(options, list_assets(), Some("quota")).account(), "projects/quota");
    }
}

#[test]
fn the_program_is_asked_with_the_head_as_it_is() {
    let options = GcpOptions::new().account_from(|head| {
        let quota = head.headers().get(QUOTA_PROJECT)?.to_str().ok()?;
        Some(format!("{}-{}-{quota}", head.method().as_str().to_lowercase(), head.host()?.split('.').next()?))
    });
    assert_eq!(scope_with(options, publish(), Some("q")).account(), "projects/post-pubsub-q");
}

#[test]
fn a_head_shows_neither_its_query_nor_its_headers() {
    let mut headers = HeaderMap::new();
    headers.insert("authorization", HeaderValue::from_static("Bearer secret"));
    let head = RequestHead {
        method: &Method::GET,
        host: None,
        path: "/p-secret",
        query: Some("key=secret"),
        headers: &headers,
    };
    assert!(!format!("{head:?}").contains("secret"));
    let options = GcpOptions::new().account_from(|_| Some("secret".to_owned()));
    assert!(!format!("{options:?}").contains("secret"));
}

#[test]
fn a_limit_is_heard_where_the_operation_has_a_bucket_of_its_own() {
    let config = Config::builder().provider("gcp", |gcp| gcp.service("kms", |kms| kms.per_operation(true)));
    let governor = Governor::builder().config(config.build().unwrap()).build();
    let requests = Requests::new(GcpOptions::new().governor(governor));
    let per = Duration::from_secs(60);
    let limit = Some(Limit { calls: 60, per, whose: Whose::Project, group: None });
    let told = Told { facts: Facts::new(), consumer: None, limit };
    let scope = |service: &str| Scope::new("gcp", "p", "", service).with_operation("Encrypt");
    assert_eq!(requests.heard(&scope("kms"), &told), Some(ToldLimit::new(60, per)));
    assert_eq!(requests.heard(&scope("storage"), &told), None);
}

#[test]
fn a_limit_is_heard_of_the_bucket_that_it_is_of() {
    let requests = Requests::new(GcpOptions::new().governor(Governor::builder().build()));
    let heard = |service: &str, operation: &str, whose, group: &str| {
        let limit = Some(Limit { calls: 60, per: Duration::from_secs(60), whose, group: Some(group.to_owned()) });
        let scope = Scope::new("gcp", "projects/p", "", service).with_operation(operation);
        requests.heard(&scope, &Told { facts: Facts::new(), consumer: None, limit })
    };
    let own = ToldLimit::new(60, Duration::from_secs(60));
    let of = |name: &str| Some(own.clone().of_shared(name));
    let (project, organization) = (Whose::Project, Whose::Organization);
    for (service, operation, whose, group, told) in [
        ("cloudasset", "ListAssets", organization, "listassets", of("organization-list-assets")),
        ("cloudasset", "ListAssets", project, "listassets", Some(own.clone())),
        ("cloudasset", "CreateFeed", organization, "feed", None),
        ("compute", "instances.list", project, "list", of("lists")),
        ("compute", "instances.list", project, "read", Some(own.clone())),
        ("compute", "zoneOperations.get", project, "operationread", of("operation-reads")),
        ("compute", "zoneOperations.get", project, "read", of("reads")),
        ("compute", "instances.list", organization, "list", None),
        ("secretmanager", "GetSecret", project, "read", of("reads")),
        ("secretmanager", "GetSecret", project, "access", None),
    ] {
        assert_eq!(heard(service, operation, whose, group), told, "{service} {operation} {group}");
    }
}

#[test]
fn what_a_failure_tells_of_the_consumer_is_learnt() {
    let of_another = Requests::new(GcpOptions::new());
    let told = |consumer: &str| Told { facts: Facts::new(), consumer: Some(consumer.to_owned()), limit: None };
    let headers = HeaderMap::new();
    let head = RequestHead { method: &Method::POST, host: None, path: "/", query: None, headers: &headers };
    let first = of_another.scope(&head, list_assets());
    of_another.heard(&first, &told("projects/990001"));
    let ours = Requests::new(GcpOptions::new());
    let before = ours.scope(&head, list_assets());
    assert_ne!(before, first);
    ours.heard(&before, &told("projects/990001"));
    assert_eq!(ours.scope(&head, list_assets()), first);
}

#[test]
fn percent_encoding_is_undone_and_what_is_no_text_then_is_nothing() {
    assert_eq!(decoded("projects%2Fp%2Ftopics%2F%C3%A9").as_deref(), Some("projects/p/topics/é"));
    assert_eq!(decoded("plain/%zz").as_deref(), Some("plain/%zz"));
    assert_eq!(decoded("%ff"), None);
}

proptest! {
    #[test]
    fn any_account_that_a_program_names_makes_a_scope_that_survives_its_text(account in ".{0,40}|(projects/)?[ -~]{0,140}") {
        let options = GcpOptions::new().account_from(move |_| Some(account.clone()));
        let scope = scope_with(options, publish(), None);
        prop_assert_eq!(scope.to_string().parse::<Scope>(), Ok(scope));
    }
}
