//! Lists and their pages.

use std::collections::BTreeSet;

use super::{Told, size, start, start_with};
use cloud_governor_examples::sim::gcp::{AssetKind, FleetSize, Limits, Project, Telling};
use google_cloud_asset_v1::model::ContentType;
use google_cloud_gax::paginator::{ItemPaginator, Paginator};

/// Reads every page of a list, and takes a vector of rows from each.
macro_rules! pages {
    ($request:expr, $rows:ident, $most:expr) => {{
        let (mut all, mut count, mut pages) = (Vec::new(), 0, $request.by_page());
        while let Some(page) = pages.next().await {
            let rows = page.expect("an answer").$rows;
            assert!(rows.len() <= $most, "{} rows", rows.len());
            all.extend(rows);
            count += 1;
        }
        (all, count)
    }};
}

/// The full names of a project's instances.
fn instances(project: &Project) -> Vec<String> {
    let of_compute = format!("//compute.googleapis.com/projects/{}/zones", project.id);
    let instances = project.instances.iter();
    instances.map(|one| format!("{of_compute}/{}/instances/{}", one.zone, one.name)).collect()
}

#[tokio::test(start_paused = true)]
async fn the_pages_of_a_projects_assets_are_complete() {
    let site = start(Limits::default()).await;
    let client = site.assets(None).await;
    for project in site.fleet().projects() {
        let request = client.list_assets().set_parent(project.account()).set_page_size(20);
        let (assets, pages) = pages!(request, assets, 20);
        let expected: u64 = AssetKind::ALL.into_iter().map(|kind| project.assets(kind)).sum();
        assert_eq!((assets.len() as u64, pages as u64), (expected, expected.div_ceil(20)));
        let names: BTreeSet<_> = assets.iter().map(|asset| asset.name.as_str()).collect();
        assert_eq!(names.len(), assets.len(), "each is listed once");
        for kind in AssetKind::ALL {
            let count = assets.iter().filter(|asset| asset.asset_type == kind.asset_type()).count();
            assert_eq!(count as u64, project.assets(kind), "{kind:?}");
        }
        let of_instances = assets.iter().filter(|asset| asset.asset_type == AssetKind::Instance.asset_type());
        assert!(of_instances.map(|asset| asset.name.clone()).eq(instances(project)), "in order");
        assert!(assets.iter().all(|asset| asset.ancestors[0] == format!("projects/{}", project.number)));
        assert!(assets.iter().all(|asset| asset.resource.is_none()), "no content was asked for");
    }
}

#[tokio::test(start_paused = true)]
async fn assets_of_some_types_come_alone_and_with_their_content() {
    let site = start(Limits::default()).await;
    let client = site.assets(None).await;
    let project = site.project(1);
    let types = [AssetKind::Bucket.asset_type(), AssetKind::Instance.asset_type()];
    let request = client
        .list_assets()
        .set_parent(project.account())
        .set_asset_types(types)
        .set_content_type(ContentType::Resource);
    let (assets, _) = pages!(request, assets, 100);
    assert_eq!(assets.len(), project.instances.len() + project.buckets.len());
    let first = assets[0].resource.as_ref().expect("content");
    assert_eq!((first.location.as_str(), first.discovery_name.as_str()), (project.instances[0].zone, "Instance"));
    let name = first.data.as_ref().and_then(|data| data.get("name")).and_then(|name| name.as_str());
    assert_eq!(name, Some(project.instances[0].name.as_str()));
}

#[tokio::test(start_paused = true)]
async fn an_organization_of_fifty_projects_is_searched_page_by_page() {
    let small = FleetSize { projects: 50, instances: 0..=3, disks: 0..=30, ..size() };
    let site = start_with(Limits::default(), &small, Telling::default()).await;
    let client = site.assets(Some(7)).await;
    let organization = format!("organizations/{}", site.fleet().organization());
    let request = client.search_all_resources().set_scope(&organization).set_page_size(9_999);
    let (found, pages) = pages!(request, results, 500);
    let expected = site.fleet().totals().assets;
    assert_eq!((found.len() as u64, pages as u64), (expected, expected.div_ceil(500)));
    assert!(found.iter().all(|one| one.organization == organization));
    let projects: BTreeSet<_> = found.iter().map(|one| one.project.clone()).collect();
    let there = site.fleet().projects().iter().map(|project| format!("projects/{}", project.number)).collect();
    assert_eq!(projects, there);
    assert_eq!(site.by_account("SearchAllResources").into_keys().collect::<Vec<_>>(), [site.parent(7)]);

    let (all, _) = pages!(client.list_assets().set_parent(&organization).set_page_size(1_000), assets, 1_000);
    assert!(all.iter().map(|asset| &asset.name).eq(found.iter().map(|one| &one.name)));
}

#[tokio::test(start_paused = true)]
async fn the_pages_of_a_zones_instances_are_complete_and_in_order() {
    let site = start(Limits::default()).await;
    let client = site.instances(None).await;
    let project = site.project(2);
    let mut requests = 0;
    for zone in &project.zones {
        let request = client.list().set_project(&project.id).set_zone(*zone).set_max_results(20_u32);
        let (rows, pages) = pages!(request, items, 20);
        let there = project.instances_in(zone);
        let names: Vec<_> = rows.iter().filter_map(|row| row.name.as_deref()).collect();
        assert_eq!(names, there.iter().map(|one| one.name.as_str()).collect::<Vec<_>>());
        assert_eq!(pages, there.len().div_ceil(20));
        requests += pages as u64;
        let running: Vec<_> = rows.iter().map(|row| format!("{:?}", row.status).contains("Running")).collect();
        assert_eq!(running, there.iter().map(|one| one.running).collect::<Vec<_>>());
    }
    let counts = site.counts("compute.instances.list");
    assert_eq!((counts.requests, counts.answered), (requests, requests));
}

#[tokio::test(start_paused = true)]
async fn the_instances_of_all_zones_come_in_one_list_and_each_alone() {
    let site = start(Limits::default()).await;
    let client = site.instances(None).await;
    let project = site.project(0);
    let mut seen = BTreeSet::new();
    let mut items = client.aggregated_list().set_project(&project.id).set_max_results(20_u32).by_item();
    while let Some(scope) = items.next().await {
        let (zone, scoped) = scope.expect("an answer");
        seen.extend(scoped.instances.into_iter().filter_map(|one| Some((zone.clone(), one.name?))));
    }
    let there = project.instances.iter().map(|one| (format!("zones/{}", one.zone), one.name.clone())).collect();
    assert_eq!(seen, there);
    let pages = project.instances.len().div_ceil(20) as u64;
    assert_eq!(site.counts("compute.instances.aggregatedList").answered, pages);

    let last = project.instances.last().expect("an instance");
    let get = client.get().set_project(&project.id).set_zone(last.zone).set_instance(&last.name);
    let got = get.send().await.expect("an answer");
    assert!(got.machine_type.is_some_and(|kind| kind.ends_with(&format!("/machineTypes/{}", last.machine_type))));
}

#[tokio::test(start_paused = true)]
async fn what_there_is_not_or_may_not_be_asked_is_refused_in_the_services_words() {
    let site = start(Limits::default()).await;
    let (assets, instances) = (site.assets(None).await, site.instances(None).await);
    let project = site.project(0);

    let listed = |parent: &str| assets.list_assets().set_parent(parent);
    for (request, expected) in [
        (listed("projects/unknown"), (403, "PERMISSION_DENIED")),
        (listed("organizations/1"), (403, "PERMISSION_DENIED")),
        (listed("planets/1"), (400, "INVALID_ARGUMENT")),
        (listed(&project.account()).set_page_token("made-up"), (400, "INVALID_ARGUMENT")),
        (listed(&project.account()).set_page_size(1_001), (400, "INVALID_ARGUMENT")),
        (listed(&project.account()).set_asset_types(["pubsub.googleapis.com/Topic"]), (400, "INVALID_ARGUMENT")),
        (listed(&project.account()).set_content_type(ContentType::IamPolicy), (400, "INVALID_ARGUMENT")),
    ] {
        let told = Told::by(&request.send().await.expect_err("refused"));
        assert_eq!((told.http, told.code.as_str()), (Some(expected.0), expected.1), "{told:?}");
    }
    assert_eq!(site.counts("cloudasset.ListAssets").refused, 7);

    let listed = |zone: &str| instances.list().set_project(&project.id).set_zone(zone);
    let zone = project.zones[0];
    for (error, expected) in [
        (listed("nowhere").send().await.expect_err("refused"), (400, "invalid")),
        (listed(zone).set_max_results(501_u32).send().await.expect_err("refused"), (400, "invalid")),
        (listed(zone).set_page_token("made-up").send().await.expect_err("refused"), (400, "invalid")),
        (listed(zone).set_filter("name=vm").send().await.expect_err("refused"), (400, "invalid")),
        (listed(zone).set_project("unknown").send().await.expect_err("refused"), (404, "notFound")),
        (
            instances
                .get()
                .set_project(&project.id)
                .set_zone(zone)
                .set_instance("vm")
                .send()
                .await
                .expect_err("refused"),
            (404, "notFound"),
        ),
    ] {
        let told = Told::by(&error);
        assert_eq!((told.http, told.reason.as_str()), (Some(expected.0), expected.1), "{told:?}");
        assert_eq!(told.code, "UNKNOWN", "the older services name no code");
    }
    assert_eq!(site.server.truth().snapshot().unrecognised.refused, 1, "an unknown project is nobody's");
}
