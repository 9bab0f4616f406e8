//! Throttles at their published sizes, faults, and what answers tell of both.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::{Answered, Site, start, start_with};
use azure_core::http::headers::Headers;
use azure_core::http::policies::{Policy, PolicyResult};
use azure_core::http::{Context, Request};
use cloud_governor_examples::arm::ArmClient;
use cloud_governor_examples::sim::azure::{Azure, Bucket, FleetSize, Limits, Operation};
use cloud_governor_examples::sim::{Leaf, Limit};

const MINUTE: Duration = Duration::from_secs(60);

/// The headers of the latest answer.
#[derive(Debug, Default)]
struct Latest(Mutex<Headers>);

#[async_trait::async_trait]
impl Policy for Latest {
    async fn send(&self, context: &Context, request: &mut Request, next: &[Arc<dyn Policy>]) -> PolicyResult {
        let answer = next[0].send(context, request, &next[1..]).await?;
        *self.0.lock().expect("not poisoned") = answer.headers().clone();
        Ok(answer)
    }
}

impl Latest {
    fn header(&self, name: &'static str) -> Option<String> {
        self.0.lock().expect("not poisoned").get_optional_str(&name.into()).map(str::to_owned)
    }
}

fn watched(site: &Site) -> (ArmClient, Arc<Latest>) {
    let latest = Arc::new(Latest::default());
    let mut options = site.options();
    options.per_try_policies.push(latest.clone());
    (ArmClient::new(site.credential(0), options, super::ARM).expect("a client"), latest)
}

/// One subscription of little.
async fn small(limits: Limits) -> Site {
    let size = FleetSize {
        subscriptions: 1,
        principals: 2,
        resource_groups: 2..=2,
        virtual_networks: 2..=2,
        subnets: 1..=1,
        virtual_machines: 3..=3,
    };
    start_with(limits, &size).await
}

fn with(limits: Limits, bucket: Bucket, capacity: f64, refill: f64) -> Limits {
    let limit = limits.quota(bucket).limit.resized(capacity, refill).expect("a possible limit");
    limits.with(bucket.name(), limit).expect("a known bucket")
}

fn without_arm() -> Limits {
    [Bucket::Reads, Bucket::GlobalReads].into_iter().fold(Limits::default(), |limits, one| with(limits, one, 1e6, 1e6))
}

async fn groups(client: &ArmClient, site: &Site) -> azure_core::Result<()> {
    client.resource_groups(site.subscription(0), None).await.map(drop)
}

async fn machines(client: &ArmClient, site: &Site) -> azure_core::Result<()> {
    client.virtual_machines(site.subscription(0), None).await.map(drop)
}

#[tokio::test(start_paused = true)]
async fn a_principal_has_250_reads_of_a_subscription_and_25_more_a_second() {
    let site = small(Limits::default()).await;
    let (client, latest) = watched(&site);
    for left in (0..250).rev() {
        groups(&client, &site).await.expect("an answer");
        assert_eq!(latest.header("x-ms-ratelimit-remaining-subscription-reads"), Some(left.to_string()));
        let global = latest.header("x-ms-ratelimit-remaining-subscription-global-reads");
        assert_eq!(global, Some((3_500 + left).to_string()));
    }
    let failure = Answered::failure(&groups(&client, &site).await.expect_err("throttled"));
    assert_eq!((failure.status, failure.code.as_str()), (429, "SubscriptionRequestsThrottled"));
    assert_eq!(failure.header("retry-after"), Some("1"), "40 ms, in whole seconds");
    assert_eq!(failure.header("x-ms-ratelimit-remaining-subscription-reads"), Some("0"));
    assert_eq!(failure.header("x-ms-error-code"), None);
    let told = failure.json()["error"]["message"].as_str().expect("a message").to_owned();
    let (subscription, actor) = (site.subscription(0), site.principal(0).client_id());
    assert!(told.contains(&format!("'read' requests for subscription '{subscription}' actor '{actor}'")), "{told}");

    // What was refused has cost nothing: a second brings 25, as if nobody had knocked.
    for _ in 0..10 {
        groups(&client, &site).await.expect_err("throttled");
    }
    tokio::time::advance(Duration::from_secs(1)).await;
    for _ in 0..25 {
        groups(&client, &site).await.expect("an answer");
    }
    groups(&client, &site).await.expect_err("throttled");
    assert_eq!(site.counts("resources.ResourceGroups.list").throttled, 12);
}

#[tokio::test(start_paused = true)]
async fn two_principals_have_two_buckets_and_share_the_global_one() {
    let limits = with(with(Limits::default(), Bucket::Reads, 2.0, 0.5), Bucket::GlobalReads, 3.0, 0.125);
    let site = small(limits).await;
    let (one, other) = (site.client(0), site.client(1));
    for _ in 0..2 {
        groups(&one, &site).await.expect("an answer");
    }
    groups(&one, &site).await.expect_err("its bucket is empty");
    groups(&other, &site).await.expect("the other's is not");
    let failure = Answered::failure(&groups(&other, &site).await.expect_err("what they share is"));
    assert_eq!(failure.header("x-ms-ratelimit-remaining-subscription-reads"), Some("1"));
    assert_eq!(failure.header("x-ms-ratelimit-remaining-subscription-global-reads"), Some("0"));
    assert_eq!(failure.header("retry-after"), Some("8"));
}

#[tokio::test(start_paused = true)]
async fn reads_of_the_tenant_are_apart_from_those_of_a_subscription() {
    let site = small(with(Limits::default(), Bucket::TenantReads, 1.0, 0.1)).await;
    let (client, latest) = watched(&site);
    client.subscriptions(None).await.expect("an answer");
    assert_eq!(latest.header("x-ms-ratelimit-remaining-tenant-reads").as_deref(), Some("0"));
    assert_eq!(latest.header("x-ms-ratelimit-remaining-subscription-reads"), None);
    let failure = Answered::failure(&client.subscriptions(None).await.expect_err("throttled"));
    assert_eq!((failure.status, failure.code.as_str()), (429, "TenantRequestsThrottled"));
    assert_eq!(failure.header("retry-after"), Some("10"));
    groups(&client, &site).await.expect("an answer");
}

#[tokio::test(start_paused = true)]
async fn compute_has_900_lists_and_300_more_at_every_full_minute() {
    let site = small(without_arm()).await;
    let (client, latest) = watched(&site);
    tokio::time::advance(Duration::from_secs(20)).await;
    for left in (0..900).rev() {
        machines(&client, &site).await.expect("an answer");
        let told = latest.header("x-ms-ratelimit-remaining-resource");
        assert_eq!(told, Some(format!("Microsoft.Compute/HighCostGet;{left}")));
    }
    let failure = Answered::failure(&machines(&client, &site).await.expect_err("throttled"));
    assert_eq!((failure.status, failure.code.as_str()), (429, "OperationNotAllowed"));
    assert_eq!(failure.header("retry-after"), Some("40"));
    let body = failure.json();
    let detail = &body["error"]["details"][0];
    assert_eq!((detail["code"].as_str(), detail["target"].as_str()), (Some("TooManyRequests"), Some("HighCostGet")));
    let policy: serde_json::Value =
        serde_json::from_str(detail["message"].as_str().expect("text")).expect("JSON in text");
    assert_eq!(
        (policy["operationGroup"].as_str(), policy["allowedRequestCount"].as_f64()),
        (Some("HighCostGet"), Some(900.0))
    );

    tokio::time::advance(Duration::from_millis(39_999)).await;
    machines(&client, &site).await.expect_err("not a full minute");
    tokio::time::advance(Duration::from_millis(1)).await;
    for _ in 0..300 {
        machines(&client, &site).await.expect("an answer");
    }
    machines(&client, &site).await.expect_err("throttled");
}

#[tokio::test(start_paused = true)]
async fn compute_s_refusals_spend_resource_manager_s_tokens() {
    let site = small(with(Limits::default(), Bucket::HighCostGet, 1.0, 1.0)).await;
    let (client, latest) = watched(&site);
    machines(&client, &site).await.expect("an answer");
    for left in [248, 247] {
        let failure = Answered::failure(&machines(&client, &site).await.expect_err("throttled"));
        assert_eq!(failure.code, "OperationNotAllowed");
        assert_eq!(failure.header("x-ms-ratelimit-remaining-subscription-reads"), Some(left.to_string().as_str()));
        assert_eq!(failure.header("x-ms-ratelimit-remaining-resource"), Some("Microsoft.Compute/HighCostGet;0"));
    }
    groups(&client, &site).await.expect("no list of machines");
    assert_eq!(latest.header("x-ms-ratelimit-remaining-resource"), None);
}

#[tokio::test(start_paused = true)]
async fn one_machine_may_be_asked_36_times_and_its_neighbour_then_still() {
    let site = small(Limits::default()).await;
    let (client, latest) = watched(&site);
    let machines = &site.fleet().subscriptions()[0].machines;
    let view = async |index: usize| {
        client.instance_view(site.subscription(0), &machines[index].group, &machines[index].name).await.map(drop)
    };
    for _ in 0..36 {
        view(0).await.expect("an answer");
    }
    let told = latest.header("x-ms-ratelimit-remaining-resource");
    assert_eq!(told.as_deref(), Some("Microsoft.Compute/LowCostGetResource;0,Microsoft.Compute/LowCostGet;23964"));
    assert_eq!(Answered::failure(&view(0).await.expect_err("throttled")).header("retry-after"), Some("60"));
    view(1).await.expect("another machine");
    tokio::time::advance(MINUTE).await;
    view(0).await.expect("a new minute");
    let told = latest.header("x-ms-ratelimit-remaining-resource");
    assert_eq!(told.as_deref(), Some("Microsoft.Compute/LowCostGetResource;11,Microsoft.Compute/LowCostGet;23999"));
}

#[tokio::test(start_paused = true)]
async fn network_counts_reads_in_windows_of_five_minutes() {
    let site = small(with(Limits::default(), Bucket::NetworkReads, 3.0, 3.0)).await;
    let client = site.client(0);
    let networks = async || client.virtual_networks(site.subscription(0), None).await.map(drop);
    tokio::time::advance(MINUTE * 4).await;
    for _ in 0..3 {
        networks().await.expect("an answer");
    }
    let failure = Answered::failure(&networks().await.expect_err("throttled"));
    assert_eq!((failure.status, failure.code.as_str()), (429, "ResourceRequestsThrottled"));
    assert_eq!(failure.header("retry-after"), Some("60"));
    tokio::time::advance(MINUTE).await;
    for _ in 0..3 {
        networks().await.expect("a new window");
    }
}

#[tokio::test]
async fn the_published_sizes_are_those_of_the_pages() {
    let size = |bucket| {
        let limit = Limits::default().quota(bucket).limit;
        (limit.capacity(), limit.refill_per_s(), limit.period())
    };
    let minute = Some(MINUTE);
    assert_eq!(size(Bucket::Reads), (250.0, 25.0, None));
    assert_eq!(size(Bucket::TenantReads), (250.0, 25.0, None));
    assert_eq!(size(Bucket::Writes), (200.0, 10.0, None));
    assert_eq!(size(Bucket::Deletes), (200.0, 10.0, None));
    assert_eq!(size(Bucket::GlobalReads), (15.0 * 250.0, 15.0 * 25.0, None));
    assert_eq!(size(Bucket::HighCostGet), (900.0, 5.0, minute));
    assert_eq!(size(Bucket::LowCostGet), (24_000.0, 8_000.0 / 60.0, minute));
    assert_eq!(size(Bucket::NetworkReads), (10_000.0, 10_000.0 / 300.0, Some(MINUTE * 5)));
}

#[tokio::test]
async fn a_brownout_fails_as_resource_manager_does_and_still_tells_what_is_left() {
    let site = small(Limits::default()).await;
    let client = site.client(0);
    groups(&client, &site).await.expect("an answer");
    site.server.faults().add("brownout=1:service=resources".parse().expect("a fault"));
    let mut seen = BTreeSet::new();
    for _ in 0..20 {
        let failure = Answered::failure(&groups(&client, &site).await.expect_err("browned out"));
        assert!(failure.header("x-ms-ratelimit-remaining-subscription-reads").is_some());
        assert!(failure.header("x-ms-routing-request-id").expect("a place").starts_with("WESTEUROPE:2"));
        assert_eq!(failure.header("retry-after"), None);
        seen.insert((failure.status, failure.code));
    }
    let expected = [(500, "InternalServerError".to_owned()), (503, "ServiceUnavailable".to_owned())];
    assert_eq!(seen, expected.into_iter().collect());
    assert_eq!(site.counts("resources.ResourceGroups.list").faulted, 20);
}

#[tokio::test]
async fn the_ideal_of_a_job_is_the_slowest_bucket_s() {
    let site = start(with(without_arm(), Bucket::HighCostGet, 10.0, 5.0)).await;
    let leaf = |operation: Operation| Leaf {
        account: site.subscription(0).to_owned(),
        region: String::new(),
        service: operation.service().to_owned(),
        operation: operation.name().to_owned(),
    };
    let (list, view) = (leaf(Operation::ListVirtualMachines), leaf(Operation::InstanceView));
    let ideal = site.azure.ideal([(&list, 12), (&view, 5_000)]);
    assert_eq!(ideal.seconds, 60.0);
    assert_eq!(ideal.bucket.map(|key| key.name), Some("compute.list-vms".to_owned()));
    let slower = Limit::new(1.0, 1.0).expect("a possible limit");
    let limits = site.azure.limits().clone().with("arm.reads", slower).expect("a known bucket");
    let azure = Azure::new(site.fleet().clone(), limits);
    let ideal = azure.ideal([(&list, 12), (&view, 5_000)]);
    assert_eq!(ideal.seconds, 5_011.0);
    let name = ideal.bucket.expect("a bucket").name;
    assert_eq!(name, format!("arm.reads of {}", site.principal(0).client_id()));
}
