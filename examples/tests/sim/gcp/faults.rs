//! Planned failure, as the clients see it.

use std::time::Duration;

use super::{Told, start};
use cloud_governor_examples::sim::gcp::Limits;

#[tokio::test(start_paused = true)]
async fn an_outage_of_one_service_ends_with_its_window() {
    let site = start(Limits::default()).await;
    site.server.faults().add("down@5s+10s:service=cloudasset".parse().expect("a fault"));
    let (assets, instances) = (site.assets(None).await, site.instances(None).await);
    let project = site.project(0);
    let list = || assets.list_assets().set_parent(site.parent(0)).send();
    list().await.expect("not yet");
    tokio::time::advance(Duration::from_secs(5)).await;
    let error = list().await.expect_err("down");
    assert!(error.status().is_none() && error.http_status_code().is_none(), "{error:?}");
    let other = instances.list().set_project(&project.id).set_zone(project.zones[0]);
    other.send().await.expect("another service");
    tokio::time::advance(Duration::from_secs(10)).await;
    list().await.expect("no longer");
    let counts = site.counts("cloudasset.ListAssets");
    assert_eq!((counts.answered, counts.faulted), (2, counts.requests - 2));
    assert!(counts.faulted >= 1);
}

#[tokio::test(start_paused = true)]
async fn a_failure_that_is_named_comes_in_the_services_form() {
    let site = start(Limits::default()).await;
    let (assets, instances) = (site.assets(None).await, site.instances(None).await);
    let project = site.project(0);
    for (status, code, reason) in [
        (429, "RESOURCE_EXHAUSTED", "rateLimitExceeded"),
        (500, "INTERNAL", "internalError"),
        (502, "UNKNOWN", "backendError"),
        (503, "UNAVAILABLE", "backendError"),
        (504, "DEADLINE_EXCEEDED", "backendError"),
    ] {
        site.server.faults().clear();
        site.server.faults().add(format!("fail={status}").parse().expect("a fault"));
        let error = assets.list_assets().set_parent(site.parent(0)).send().await.expect_err("struck");
        let told = Told::by(&error);
        assert_eq!((told.http, told.code.as_str(), told.reason.as_str()), (Some(status), code, ""));
        let list = instances.list().set_project(&project.id).set_zone(project.zones[0]);
        let told = Told::by(&list.send().await.expect_err("struck"));
        assert_eq!((told.http, told.code.as_str(), told.reason.as_str()), (Some(status), "UNKNOWN", reason));
    }
    assert_eq!(site.server.truth().snapshot().totals.faulted, 10);
}
