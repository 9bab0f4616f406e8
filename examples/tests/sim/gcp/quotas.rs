//! Quotas at their published sizes, and whose they are.

use std::time::Duration;

use super::{Site, Told, sized, start, start_with};
use cloud_governor_examples::sim::Leaf;
use cloud_governor_examples::sim::gcp::{Bucket, FleetSize, Limits, Telling};
use google_cloud_asset_v1::client::AssetService;
use google_cloud_compute_v1::client::Instances;
use google_cloud_gax::Result;

const MINUTE: Duration = Duration::from_secs(60);
const MOMENT: Duration = Duration::from_millis(1);

async fn small(limits: Limits) -> Site {
    let size = FleetSize { zones: 1, instances: 1..=1, disks: 0..=0, buckets: 1..=1, ..FleetSize::default() };
    start_with(limits, &size, Telling::default()).await
}

async fn list(client: &AssetService, parent: &str) -> Result<()> {
    client.list_assets().set_parent(parent).send().await.map(drop)
}

async fn search(client: &AssetService, scope: &str) -> Result<()> {
    client.search_all_resources().set_scope(scope).send().await.map(drop)
}

async fn instances(client: &Instances, site: &Site, project: usize) -> Result<()> {
    let project = site.project(project);
    client.list().set_project(&project.id).set_zone(project.zones[0]).send().await.map(drop)
}

/// How many of so many calls, one after the other, were granted.
async fn granted<F: Future<Output = Result<()>>>(calls: usize, call: impl Fn() -> F) -> usize {
    let mut granted = 0;
    for _ in 0..calls {
        granted += usize::from(call().await.is_ok());
    }
    granted
}

/// Moves the clock to this time since the server's start.
async fn until(site: &Site, time: Duration) {
    tokio::time::advance(time - site.server.elapsed()).await;
}

#[tokio::test(start_paused = true)]
async fn a_consumer_lists_assets_100_times_a_minute_and_the_next_minute_is_whole() {
    let site = small(Limits::default()).await;
    let (client, parent) = (site.assets(Some(0)).await, site.parent(0));
    let call = || list(&client, &parent);
    until(&site, MINUTE / 4).await;
    assert_eq!(granted(103, call).await, 100);
    until(&site, MINUTE - MOMENT).await;
    assert_eq!(granted(2, call).await, 0, "the minute is not over");
    until(&site, MINUTE).await;
    assert_eq!(granted(70, call).await, 70, "as if nobody had knocked");
    until(&site, MINUTE * 2).await;
    assert_eq!(granted(103, call).await, 100, "what was left over is gone");
    let counts = site.counts("cloudasset.ListAssets");
    assert_eq!((counts.requests, counts.answered, counts.throttled, counts.refused), (278, 270, 8, 0));
}

#[tokio::test(start_paused = true)]
async fn a_consumer_searches_400_times_a_minute_whatever_it_lists() {
    let site = small(Limits::default()).await;
    let (client, parent) = (site.assets(None).await, site.parent(1));
    assert_eq!(granted(101, || list(&client, &parent)).await, 100);
    assert_eq!(granted(402, || search(&client, &parent)).await, 400);
    until(&site, MINUTE).await;
    assert_eq!(granted(401, || search(&client, &parent)).await, 400);
    assert_eq!(site.counts("cloudasset.SearchAllResources").throttled, 3);
}

#[tokio::test(start_paused = true)]
async fn assets_are_charged_to_the_project_that_the_client_names() {
    let site = small(sized(&[(Bucket::ListAssets, 2.0)])).await;
    let (first, second, home) = (site.assets(Some(1)).await, site.assets(Some(2)).await, site.assets(None).await);
    let (parent, other) = (site.parent(0), site.parent(2));
    assert_eq!(granted(2, || list(&first, &parent)).await, 2);
    assert_eq!(granted(1, || list(&first, &other)).await, 0, "another parent is the same consumer's");
    assert_eq!(granted(3, || list(&second, &parent)).await, 2);
    assert_eq!(granted(3, || list(&home, &parent)).await, 2);
    let [zero, one, two] = [0, 1, 2].map(|index| site.parent(index));
    let expected = [(zero, (2, 1)), (one, (2, 1)), (two, (2, 1))];
    assert_eq!(site.by_account("ListAssets"), expected.into_iter().collect());
}

#[tokio::test(start_paused = true)]
async fn an_organization_has_a_bucket_that_its_consumers_share() {
    let limits = sized(&[(Bucket::ListAssets, 4.0), (Bucket::OrganizationListAssets, 6.0)]);
    let site = small(limits.clone()).await;
    let (first, second) = (site.assets(Some(0)).await, site.assets(Some(1)).await);
    let parent = site.parent(0);
    assert_eq!(granted(4, || list(&first, &parent)).await, 4);
    assert_eq!(granted(2, || list(&second, &parent)).await, 2);
    let told = Told::by(&list(&second, &parent).await.expect_err("the organization's is empty"));
    assert_eq!(told.metadata["quota_limit"], "apiListAssetsQpmPerOrganization");
    assert_eq!(told.metadata["quota_limit_value"], "6");
    until(&site, MINUTE).await;
    assert_eq!(granted(5, || list(&second, &parent)).await, 4, "the refused call has cost neither bucket");

    let site = small(limits.without_organization()).await;
    let (first, second) = (site.assets(Some(0)).await, site.assets(Some(1)).await);
    assert_eq!(granted(4, || list(&first, &parent)).await, 4);
    assert_eq!(granted(5, || list(&second, &parent)).await, 4, "each project is alone");
}

#[tokio::test(start_paused = true)]
async fn instances_are_charged_to_the_project_that_is_asked_about() {
    let site = small(sized(&[(Bucket::ComputeLists, 2.0), (Bucket::ComputeReads, 1.0)])).await;
    let client = site.instances(Some(0)).await;
    assert_eq!(granted(3, || instances(&client, &site, 1)).await, 2);
    assert_eq!(granted(3, || instances(&client, &site, 2)).await, 2, "the client's own project does not matter");
    let project = site.project(1);
    let aggregated = || async { client.aggregated_list().set_project(&project.id).send().await.map(drop) };
    assert_eq!(granted(1, aggregated).await, 0, "lists share a bucket");
    let instance = &project.instances[0];
    let get = || async {
        let get = client.get().set_project(&project.id).set_zone(instance.zone).set_instance(&instance.name);
        get.send().await.map(drop)
    };
    assert_eq!(granted(2, get).await, 1, "reads have another");
    let expected = [(site.parent(1), (2, 1)), (site.parent(2), (2, 1))];
    assert_eq!(site.by_account("instances.list"), expected.into_iter().collect());
}

#[tokio::test(start_paused = true)]
async fn a_project_lists_instances_1500_times_a_minute() {
    let site = small(Limits::default()).await;
    let client = site.instances(None).await;
    let call = || instances(&client, &site, 0);
    assert_eq!(granted(1_502, call).await, 1_500);
    until(&site, MINUTE - MOMENT).await;
    assert_eq!(granted(1, call).await, 0);
    until(&site, MINUTE).await;
    assert_eq!(granted(1, call).await, 1);
}

#[tokio::test(start_paused = true)]
async fn minutes_that_are_under_way_at_the_start_end_sooner() {
    // As in the published example: at 10:00:15 the next minute is 45 seconds away.
    let limits = sized(&[(Bucket::ComputeLists, 1.0)]);
    let ten = limits.start() + MINUTE * 60 * 10;
    let site = small(limits.starting_at(ten + Duration::from_secs(15))).await;
    let client = site.instances(None).await;
    let call = || instances(&client, &site, 0);
    assert_eq!(granted(2, call).await, 1);
    until(&site, Duration::from_secs(45) - MOMENT).await;
    let error = call().await.expect_err("the minute is not over");
    let date = error.http_headers().and_then(|headers| headers.get("date"));
    assert_eq!(date.map(|date| date.as_bytes()), Some(b"Thu, 01 Jan 2026 10:00:59 GMT".as_slice()));
    until(&site, Duration::from_secs(45)).await;
    assert_eq!(granted(2, call).await, 1);
}

#[tokio::test(start_paused = true)]
async fn a_minute_may_be_as_short_as_a_test_wants() {
    let limits = sized(&[(Bucket::ListAssets, 3.0)]).with_minute(Duration::from_secs(2)).expect("a possible window");
    let site = small(limits).await;
    let (client, parent) = (site.assets(None).await, site.parent(0));
    for window in 0..3 {
        until(&site, Duration::from_secs(2) * window).await;
        assert_eq!(granted(4, || list(&client, &parent)).await, 3);
    }
    let told = Told::by(&list(&client, &parent).await.expect_err("throttled"));
    assert_eq!(
        (told.metadata["quota_limit_value"].as_str(), told.metadata["quota_unit"].as_str()),
        ("90", "1/min/{project}")
    );
}

#[tokio::test(start_paused = true)]
async fn a_day_that_is_used_up_is_not_back_in_a_minute() {
    let site = small(sized(&[(Bucket::ListAssetsPerDay, 3.0)])).await;
    let (first, second) = (site.assets(Some(0)).await, site.assets(Some(1)).await);
    let parent = site.parent(0);
    assert_eq!(granted(3, || list(&first, &parent)).await, 3);
    until(&site, MINUTE).await;
    let told = Told::by(&list(&first, &parent).await.expect_err("the day is used up"));
    assert_eq!((told.http, told.reason.as_str()), (Some(429), "RATE_LIMIT_EXCEEDED"));
    assert!(told.message.contains("limit 'ListAssets Requests per day'"), "{}", told.message);
    assert_eq!(told.metadata["quota_limit"], "ListAssetsRequestsPerDayPerProject");
    assert_eq!(told.metadata["quota_unit"], "1/d/{project}");
    assert_eq!(told.metadata["quota_limit_value"], "3");
    assert_eq!(granted(1, || list(&second, &parent)).await, 1, "another consumer has a day of its own");
    until(&site, MINUTE * 24 * 60).await;
    assert_eq!(granted(1, || list(&first, &parent)).await, 1);
}

#[tokio::test(start_paused = true)]
async fn the_ideal_is_the_windows_that_a_job_needs() {
    let size = FleetSize { projects: 50, ..FleetSize::default() };
    let site = start_with(Limits::default(), &size, Telling::default()).await;
    let leaf = |project: usize, service: &str, operation: &str| Leaf {
        account: site.parent(project),
        region: String::new(),
        service: service.into(),
        operation: operation.into(),
    };
    let [lists, compute, objects] =
        [("cloudasset", "ListAssets"), ("compute", "instances.list"), ("storage", "objects.get")]
            .map(|(service, operation)| leaf(0, service, operation));
    assert_eq!(site.gcp.ideal([(&lists, 100), (&compute, 1_500), (&objects, 1_000_000)]).seconds, 0.0);
    let ideal = site.gcp.ideal([(&lists, 250), (&compute, 1_501)]);
    assert_eq!((ideal.seconds, ideal.bucket.map(|bucket| bucket.account)), (120.0, Some(site.parent(0))));

    // Fifty consumers could list 5,000 times in the first minute; their organization lets 800 through.
    let all: Vec<_> = (0..50).map(|project| (leaf(project, "cloudasset", "ListAssets"), 100)).collect();
    let ideal = site.gcp.ideal(all.iter().map(|(leaf, calls)| (leaf, *calls)));
    let organization = format!("organizations/{}", site.fleet().organization());
    assert_eq!((ideal.seconds, ideal.bucket.map(|bucket| bucket.account)), (360.0, Some(organization)));
}

#[tokio::test(start_paused = true)]
async fn two_services_count_apart_in_one_account() {
    let site = start(Limits::default()).await;
    list(&site.assets(None).await, &site.parent(0)).await.expect("an answer");
    instances(&site.instances(None).await, &site, 0).await.expect("an answer");
    let leaves: Vec<_> = site.server.truth().snapshot().leaves.into_iter().map(|one| one.leaf).collect();
    let expected = [("cloudasset", "ListAssets"), ("compute", "instances.list")].map(|(service, operation)| Leaf {
        account: site.parent(0),
        region: String::new(),
        service: service.into(),
        operation: operation.into(),
    });
    assert_eq!(leaves, expected);
}
