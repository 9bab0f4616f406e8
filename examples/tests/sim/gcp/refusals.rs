//! What the clients read of a refusal.

use std::time::Duration;

use super::{Site, Told, size, sized, start, start_with};
use cloud_governor_examples::sim::gcp::{Bucket, Fleet, Limits, Telling, credentials};
use google_cloud_auth::credentials::anonymous;
use google_cloud_gax::error::Error;

/// A site whose quotas are of one call each.
async fn used_up(telling: Telling) -> Site {
    let limits = sized(&[
        (Bucket::ListAssets, 1.0),
        (Bucket::SearchAllResources, 1.0),
        (Bucket::ComputeLists, 1.0),
        (Bucket::StorageReads, 1.0),
    ]);
    start_with(limits, &size(), telling).await
}

/// The refusal of the second list of assets, charged to the second project.
async fn second_list(site: &Site) -> Error {
    let client = site.assets(Some(1)).await;
    let call = || client.list_assets().set_parent(site.parent(0)).send();
    call().await.expect("an answer");
    call().await.expect_err("throttled")
}

#[tokio::test(start_paused = true)]
async fn assets_are_refused_with_429_and_the_quota_that_is_used_up() {
    let site = used_up(Telling::default()).await;
    let number = site.project(1).number;
    let error = second_list(&site).await;
    let metadata = [
        ("consumer", format!("projects/{number}")),
        ("service", "cloudasset.googleapis.com".to_owned()),
        ("quota_metric", "cloudasset.googleapis.com/list_assets_requests".to_owned()),
        ("quota_limit", "apiListAssetsQpmPerProject".to_owned()),
        ("quota_limit_value", "1".to_owned()),
        ("quota_location", "global".to_owned()),
        ("quota_unit", "1/min/{project}".to_owned()),
    ];
    let expected = Told {
        http: Some(429),
        code: "RESOURCE_EXHAUSTED".into(),
        message: format!(
            "Quota exceeded for quota metric 'ListAssets Requests' and limit 'ListAssets Requests per minute' of \
             service 'cloudasset.googleapis.com' for consumer 'project_number:{number}'."
        ),
        reason: "RATE_LIMIT_EXCEEDED".into(),
        domain: "googleapis.com".into(),
        metadata: metadata.map(|(name, value)| (name.to_owned(), value)).into(),
        retry_after: None,
    };
    assert_eq!(Told::by(&error), expected);
    assert_eq!(error.http_headers().and_then(|headers| headers.get("retry-after")), None);

    let client = site.assets(None).await;
    let call = || client.search_all_resources().set_scope(site.parent(0)).send();
    call().await.expect("an answer");
    let told = Told::by(&call().await.expect_err("throttled"));
    assert_eq!(told.metadata["quota_limit"], "apiSearchAllResourcesQpmPerProject");
    assert_eq!(told.metadata["consumer"], format!("projects/{}", site.project(0).number));
}

#[tokio::test(start_paused = true)]
async fn a_refusal_tells_as_much_as_it_is_let() {
    let all = Telling::default();
    let site = used_up(Telling { retry_info: true, ..all }).await;
    tokio::time::advance(Duration::from_millis(47_500)).await;
    let error = second_list(&site).await;
    let date = error.http_headers().and_then(|headers| headers.get("date")).expect("a date");
    assert_eq!(date, "Thu, 01 Jan 2026 00:00:47 GMT");
    let told = Told::by(&error);
    assert_eq!(told.retry_after, Some(Duration::from_millis(12_500)), "until the minute is over");
    assert_eq!(told.metadata["quota_limit_value"], "1");

    let told = Told::by(&second_list(&used_up(Telling { limit_value: false, ..all }).await).await);
    assert_eq!(told.reason, "RATE_LIMIT_EXCEEDED");
    assert_eq!(told.metadata.get("quota_limit_value"), None);

    let told = Told::by(&second_list(&used_up(Telling { error_info: false, ..all }).await).await);
    let bare = Told {
        http: Some(429),
        code: "RESOURCE_EXHAUSTED".into(),
        message: "Resource has been exhausted (e.g. check quota).".into(),
        ..Told::default()
    };
    assert_eq!(told, bare);
}

#[tokio::test(start_paused = true)]
async fn instances_are_refused_with_403_in_the_older_form() {
    let site = used_up(Telling { retry_info: true, ..Telling::default() }).await;
    let client = site.instances(None).await;
    let project = site.project(0);
    let call = || client.list().set_project(&project.id).set_zone(project.zones[0]).send();
    call().await.expect("an answer");
    let told = Told::by(&call().await.expect_err("throttled"));
    let expected = Told {
        http: Some(403),
        code: "UNKNOWN".into(),
        message: "Rate Limit Exceeded".into(),
        reason: "rateLimitExceeded".into(),
        domain: "usageLimits".into(),
        metadata: [("message".to_owned(), "Rate Limit Exceeded".to_owned())].into(),
        retry_after: None,
    };
    assert_eq!(told, expected);
}

#[tokio::test(start_paused = true)]
async fn reads_of_a_busy_bucket_are_refused_with_429_in_the_older_form() {
    let site = used_up(Telling::default()).await;
    let client = site.storage().await;
    let bucket = &site.project(0).buckets[0];
    let call = || client.read_object(format!("projects/_/buckets/{}", bucket.name), bucket.object(0)).send();
    call().await.expect("an answer");
    let told = Told::by(&call().await.map(drop).expect_err("throttled"));
    assert_eq!((told.http, told.code.as_str()), (Some(429), "UNKNOWN"));
    assert_eq!((told.reason.as_str(), told.domain.as_str()), ("rateLimitExceeded", "usageLimits"));
    assert_eq!(site.by_account("objects.get"), [(site.parent(0), (1, 1))].into());
}

#[tokio::test(start_paused = true)]
async fn a_call_without_the_callers_token_is_nobodys() {
    let site = start(Limits::default()).await;
    let stranger = Fleet::seeded(12, &size()).expect("a possible size");
    let strange = credentials(stranger.caller(), None).expect("a header");
    let project = site.project(0);
    let mut told = Vec::new();
    for credentials in [anonymous::Builder::new().build(), strange] {
        let assets = site.assets_as(credentials.clone()).await;
        told.push(Told::by(&assets.list_assets().set_parent(site.parent(0)).send().await.expect_err("nobody")));
        let instances = site.instances_as(credentials).await;
        let list = instances.list().set_project(&project.id).set_zone(project.zones[0]);
        told.push(Told::by(&list.send().await.expect_err("nobody")));
    }
    let seen: Vec<_> = told.iter().map(|told| (told.http, told.code.as_str(), told.reason.as_str())).collect();
    let expected = [
        (Some(401), "UNAUTHENTICATED", "CREDENTIALS_MISSING"),
        (Some(401), "UNKNOWN", "required"),
        (Some(401), "UNAUTHENTICATED", "ACCESS_TOKEN_TYPE_UNSUPPORTED"),
        (Some(401), "UNKNOWN", "required"),
    ];
    assert_eq!(seen, expected);
    assert_eq!(site.server.truth().snapshot().unrecognised.refused, 4);
}

#[tokio::test(start_paused = true)]
async fn a_call_cannot_be_charged_to_a_project_of_somebody_else() {
    let site = start(Limits::default()).await;
    let credentials = credentials(site.fleet().caller(), Some("not-ours")).expect("a header");
    let client = site.assets_as(credentials).await;
    let told = Told::by(&client.list_assets().set_parent(site.parent(0)).send().await.expect_err("denied"));
    assert_eq!((told.http, told.code.as_str()), (Some(403), "PERMISSION_DENIED"));
    assert_eq!(
        (told.reason.as_str(), told.metadata["consumer"].as_str()),
        ("USER_PROJECT_DENIED", "projects/not-ours")
    );
    assert!(site.by_account("ListAssets").is_empty());
}
