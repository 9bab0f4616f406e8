//! Limits that answers name, told to the bucket that they are of; and calls that cost more than one.

use std::num::NonZeroU32;

use cloud_governor::{Counts, Governor, Inspection};
use cloud_governor_gcp::{CallOptions, call};

use crate::common::{HOME, assets, by, governor, inspect, instances};
use crate::reply::Reply;
use crate::server::Server;

/// By what Google publishes, and a call is sent once.
fn published() -> Governor {
    governor(|gcp| gcp.published(true).max_rps(None).burst(None).max_retries(0))
}

/// The limit that is believed of a scope's own bucket, and of each that it shares.
fn told(seen: &Inspection) -> (Option<f64>, Vec<(&str, Option<f64>)>) {
    let shared = seen.shared.iter().map(|bucket| (bucket.scope.operation().unwrap_or_default(), bucket.limit_rps));
    (seen.limit_rps, shared.collect())
}

async fn list_assets(server: &Server, governor: &Governor) -> Inspection {
    let client = assets(server, by(governor)).await;
    client.list_assets().set_parent("projects/p1").send().await.expect_err("refused");
    inspect(governor, HOME, "cloudasset", "ListAssets")
}

#[tokio::test]
async fn a_limit_of_the_organization_is_its_buckets_and_not_the_projects() {
    let server = Server::always(Reply::limited("cloudasset", "ListAssetsRequestsPerMinutePerOrganization", 300));
    let seen = list_assets(&server, &published()).await;
    assert_eq!(told(&seen), (None, vec![("organization-list-assets", Some(5.0))]));
}

#[tokio::test]
async fn a_limit_of_the_project_is_its_operations_own() {
    let server = Server::always(Reply::limited("cloudasset", "ListAssetsRequestsPerMinutePerProject", 60));
    let seen = list_assets(&server, &published()).await;
    assert_eq!(told(&seen), (Some(1.0), vec![("organization-list-assets", None)]));
}

#[tokio::test]
async fn a_limit_of_the_organization_is_nobodys_where_no_bucket_is_the_organizations() {
    let server = Server::always(Reply::limited("cloudasset", "ListAssetsRequestsPerMinutePerOrganization", 300));
    let governor = governor(|gcp| gcp.max_retries(0).service("cloudasset", |asset| asset.per_operation(true)));
    assert_eq!(told(&list_assets(&server, &governor).await), (None, vec![]));
}

#[tokio::test]
async fn a_limit_of_a_group_of_operations_is_that_of_the_bucket_that_they_share() {
    let server = Server::always(Reply::limited("compute", "ListRequestsPerMinutePerProject", 300));
    let governor = published();
    let client = instances(&server, by(&governor)).await;
    client.list().set_project("p1").set_zone("z").send().await.expect_err("refused");
    let seen = inspect(&governor, "projects/p1", "compute", "instances.list");
    assert_eq!(told(&seen), (None, vec![("lists", Some(5.0))]));
}

#[tokio::test]
async fn a_limit_of_a_group_that_the_call_shares_no_bucket_with_is_its_operations_own() {
    let server = Server::always(Reply::limited("compute", "ListRequestsPerMinutePerProject", 300));
    let governor = published();
    let client = instances(&server, by(&governor)).await;
    client.aggregated_list().set_project("p1").send().await.expect_err("refused");
    let seen = inspect(&governor, "projects/p1", "compute", "instances.aggregatedList");
    assert_eq!(told(&seen), (Some(5.0), vec![]));
}

#[tokio::test]
async fn a_call_costs_what_its_options_say() {
    let server = Server::always(Reply::ok());
    let governor = governor(|gcp| {
        gcp.service("cloudasset", |asset| {
            asset.per_operation(true).max_rps(0.001).burst(10.0).floor_rps(0.001).counts(Counts::Units)
        })
    });
    let client = assets(&server, by(&governor)).await;
    let options = CallOptions::new().cost(NonZeroU32::new(7).expect("not zero"));
    call(options, client.list_assets().set_parent("projects/p1").send()).await.expect("an answer");
    let left = inspect(&governor, HOME, "cloudasset", "ListAssets").tokens;
    assert!((3.0..3.5).contains(&left), "{left}");
}
