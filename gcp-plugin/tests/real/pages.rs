//! Paginators: each page is a call.

use cloud_governor_gcp::{CallOptions, CallReport, call, refusal};
use google_cloud_gax::paginator::{ItemPaginator, Paginator};
use tonic::Code;

use crate::common::{
    HOME, answered, assets, by, control, governor, instances, is_at_rest, scope, slots_in_use, totals, totals_of,
};
use crate::reply::{Reply, message};
use crate::server::Server;

/// A page of Cloud Asset's, of two assets.
fn page(number: usize, is_last: bool) -> Reply {
    let next = if is_last { String::new() } else { format!("page-{}", number + 1) };
    let assets = format!(r#"[{{"name":"asset-{number}-a"}},{{"name":"asset-{number}-b"}}]"#);
    Reply::json(format!(r#"{{"assets":{assets},"nextPageToken":"{next}"}}"#))
}

/// Three pages, of which the second is throttled at first.
fn three_pages() -> Server {
    Server::start(|asked, number| match (asked.parameter("pageToken"), number) {
        (Some("page-2"), 2) => Reply::rate_limited("projects/1"),
        (Some("page-2"), _) => page(2, false),
        (Some("page-3"), _) => page(3, true),
        _ => page(1, false),
    })
}

const ALL: [&str; 6] = ["asset-1-a", "asset-1-b", "asset-2-a", "asset-2-b", "asset-3-a", "asset-3-b"];

#[tokio::test]
async fn each_page_is_a_call_and_a_throttled_one_is_asked_for_again() {
    for inside in [false, true] {
        let server = three_pages();
        let governor = governor(|gcp| gcp);
        let client = assets(&server, by(&governor)).await;
        let report = CallReport::new();
        let reading = async {
            let mut items = client.list_assets().set_parent("projects/p1").by_item();
            let mut names = Vec::new();
            while let Some(item) = items.next().await {
                names.push(item.expect("an asset").name);
            }
            names
        };
        let names = match inside {
            true => call(CallOptions::new().report(&report), reading).await,
            false => reading.await,
        };
        assert_eq!(names, ALL);
        let totals = totals_of(&governor, &scope(HOME, "cloudasset", "ListAssets"));
        assert_eq!((totals.operations, totals.calls, totals.throttled, totals.retries), (3, 4, 1, 1));
        assert_eq!((server.count(), report.attempts()), (4, if inside { 4 } else { 0 }));
        assert!(is_at_rest(&governor));
    }
}

#[tokio::test]
async fn pages_of_buckets_over_grpc_are_calls_too() {
    let page = |name: &str, next: &str| {
        let bucket = message(1, &message(1, name.as_bytes()));
        Reply::grpc(&[bucket, message(2, next.as_bytes())].concat())
    };
    let server = Server::script([
        page("one", "2"),
        Reply::trailers(Code::Unavailable, None),
        page("two", "3"),
        page("three", ""),
    ]);
    let governor = governor(|gcp| gcp);
    let client = control(&server, by(&governor)).await;
    let mut items = client.list_buckets().set_parent("projects/p1").by_item();
    let mut names = Vec::new();
    while let Some(item) = items.next().await {
        names.push(item.expect("a bucket").name);
    }
    assert_eq!(names, ["one", "two", "three"]);
    let totals = totals(&governor);
    assert_eq!((totals.operations, totals.calls, totals.transient_errors, totals.retries), (3, 4, 1, 1));
    assert_eq!(server.count(), 4);
}

#[tokio::test]
async fn pages_of_instances_are_calls_of_their_project() {
    let server = Server::script([
        Reply::json(r#"{"items":[{"name":"i1"}],"nextPageToken":"2"}"#),
        Reply::error(503, "UNAVAILABLE"),
        Reply::json(r#"{"items":[{"name":"i2"}]}"#),
    ]);
    let governor = governor(|gcp| gcp.service("compute", |compute| compute.per_operation(true)));
    let client = instances(&server, by(&governor)).await;
    let mut items = client.list().set_project("p1").set_zone("z").by_item();
    let mut names = Vec::new();
    while let Some(item) = items.next().await {
        names.push(item.expect("an instance").name.expect("a name"));
    }
    assert_eq!(names, ["i1", "i2"]);
    let totals = totals_of(&governor, &scope("projects/p1", "compute", "instances.list"));
    assert_eq!((totals.operations, totals.calls, server.count()), (2, 3, 3));
}

#[tokio::test]
async fn a_paginator_dropped_in_the_middle_of_a_page_leaves_nothing_behind() {
    let server = Server::script([page(1, false), Reply::Silence]);
    let governor = governor(|gcp| gcp);
    let client = assets(&server, by(&governor)).await;
    let reading = async {
        let mut items = client.list_assets().set_parent("projects/p1").by_item();
        for name in &ALL[..2] {
            assert_eq!(items.next().await.expect("an item").expect("an asset").name, *name);
        }
        items.next().await.map(drop)
    };
    let reading = call(CallOptions::new(), reading);
    tokio::select! {
        _ = reading => panic!("nothing comes"),
        () = crate::common::until("the second page on its way", || server.count() == 2) => {}
    }
    assert_eq!(slots_in_use(&governor), 0);
    assert_eq!((totals(&governor).calls, totals(&governor).gave_up), (2, 0));
}

#[tokio::test]
async fn a_paginator_dropped_between_pages_holds_nothing() {
    let server = three_pages();
    let governor = governor(|gcp| gcp.account_concurrency(std::num::NonZeroUsize::MIN));
    let client = assets(&server, by(&governor)).await;
    let mut pages = client.list_assets().set_parent("projects/p1").by_page();
    pages.next().await.expect("a page").expect("an answer");
    assert!(is_at_rest(&governor));
    // Outside of `call()`, with the paginator still there and one slot.
    client.list_assets().set_parent("projects/p1").send().await.expect("an answer");
    drop(pages);
    assert_eq!(totals(&governor).calls, 2);
}

#[tokio::test]
async fn a_paginator_ends_with_the_page_that_cannot_be_had() {
    let server = Server::script([page(1, false), Reply::error(503, "UNAVAILABLE")]);
    let governor = governor(|gcp| gcp.max_retries(2));
    let client = assets(&server, by(&governor)).await;
    let mut pages = client.list_assets().set_parent("projects/p1").by_page();
    pages.next().await.expect("a page").expect("an answer");
    let error = pages.next().await.expect("a page").expect_err("never");
    assert_eq!(answered(&error), (Some(503), Some("UNAVAILABLE")));
    assert!(refusal(&error).is_none());
    assert!(pages.next().await.is_none());
    assert_eq!((server.count(), totals(&governor).gave_up), (4, 1));
}
