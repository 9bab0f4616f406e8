//! Throttling, planned failure, counting and the server's end, seen from outside.

use std::time::Duration;

use crate::common::{Got, OTHER_REGION, REGION, Site, limited, start, wide_open};
use cloud_governor_examples::sim::Leaf;
use cloud_governor_examples::sim::aws::Limits;
use serde_json::json;
use tokio::net::TcpStream;

const GROUPS: &str = "Logs_20140328.DescribeLogGroups";
const PARAMETERS: &str = "AmazonSSM.DescribeParameters";
const SECRETS: &str = "secretsmanager.ListSecrets";

impl Site {
    fn fault(&self, text: &str) {
        self.server.faults().add(text.parse().expect("a fault"));
    }

    async fn groups(&self, account: usize, region: &str) -> Result<Got, String> {
        self.json(account, region, GROUPS, json!({})).await
    }
}

/// One call fits each bucket, and none is regained while the test's clock stands still.
fn one_each() -> Limits {
    let buckets =
        ["sts.GetCallerIdentity", "logs.DescribeLogGroups", "ssm.DescribeParameters", "secretsmanager.ListSecrets"];
    buckets.into_iter().fold(Limits::default(), |limits, bucket| limited(limits, bucket, 1.0, 1.0))
}

#[tokio::test(start_paused = true)]
async fn each_service_throttles_in_its_own_words_and_the_server_counts_it() {
    let site = start(one_each()).await;
    for target in [GROUPS, PARAMETERS, SECRETS] {
        assert_eq!(site.json(0, REGION, target, json!({})).await.expect("an answer").status, 200);
        let got = site.json(0, REGION, target, json!({})).await.expect("an answer");
        assert_eq!(got.status, 400);
        assert_eq!(got.headers["content-type"], "application/x-amz-json-1.1");
        assert_eq!(got.json(), json!({ "__type": "ThrottlingException", "message": "Rate exceeded" }));
    }
    assert_eq!(site.identity(0, REGION).await.expect("an answer").status, 200);
    let got = site.identity(0, REGION).await.expect("an answer");
    assert_eq!(got.status, 400);
    assert!(
        got.body.contains("<Error><Type>Sender</Type><Code>Throttling</Code><Message>Rate exceeded</Message></Error>")
    );

    let seen = site.server.truth().snapshot();
    assert_eq!((seen.totals.requests, seen.totals.answered, seen.totals.throttled), (8, 4, 4));
    assert_eq!(seen.actions["ssm.DescribeParameters"].throttled, 1);
}

#[tokio::test(start_paused = true)]
async fn neither_accounts_nor_regions_share_a_bucket() {
    let site = start(one_each()).await;
    for (account, region) in [(0, REGION), (1, REGION), (0, OTHER_REGION), (1, OTHER_REGION)] {
        assert_eq!(site.groups(account, region).await.expect("an answer").status, 200, "{account} {region}");
        assert_eq!(site.groups(account, region).await.expect("an answer").status, 400, "{account} {region}");
    }
    let leaves = site.server.truth().snapshot().leaves;
    assert_eq!(leaves.len(), 4);
    assert!(leaves.iter().all(|leaf| (leaf.counts.answered, leaf.counts.throttled) == (1, 1)));
}

#[tokio::test(start_paused = true)]
async fn an_empty_bucket_grants_again_once_it_has_refilled() {
    let site = start(one_each()).await;
    assert_eq!(site.groups(0, REGION).await.expect("an answer").status, 200);
    assert_eq!(site.groups(0, REGION).await.expect("an answer").status, 400);
    tokio::time::advance(Duration::from_secs(1)).await;
    assert_eq!(site.groups(0, REGION).await.expect("an answer").status, 200);
}

#[tokio::test(start_paused = true)]
async fn a_service_that_is_down_gives_no_answer_until_its_window_ends() {
    let site = start(wide_open()).await;
    site.fault("down@5s+10s:service=logs");
    assert_eq!(site.groups(0, REGION).await.expect("an answer").status, 200);
    tokio::time::advance(Duration::from_secs(5)).await;
    let error = site.groups(0, REGION).await.expect_err("down");
    assert!(error.starts_with("no answer"), "{error}");
    assert_eq!(site.identity(0, REGION).await.expect("another service").status, 200);
    tokio::time::advance(Duration::from_secs(10)).await;
    assert_eq!(site.groups(0, REGION).await.expect("an answer").status, 200);
    assert!(site.server.truth().snapshot().totals.faulted >= 1);
}

#[tokio::test]
async fn a_brownout_fails_with_each_services_own_errors() {
    let site = start(wide_open()).await;
    site.fault("brownout=1");
    let mut codes = std::collections::BTreeSet::new();
    for target in [GROUPS, PARAMETERS, SECRETS] {
        for _ in 0..12 {
            let got = site.json(0, REGION, target, json!({})).await.expect("an answer");
            codes.insert((got.status.as_u16(), got.code()));
        }
    }
    let codes: Vec<_> = codes.iter().map(|(status, code)| (*status, code.as_str())).collect();
    assert_eq!(
        codes,
        [
            (500, "InternalFailure"),
            (500, "InternalServerError"),
            (500, "InternalServiceError"),
            (503, "ServiceUnavailable"),
            (503, "ServiceUnavailableException"),
        ]
    );
    let got = site.identity(0, REGION).await.expect("an answer");
    assert!(got.status.is_server_error());
    assert!(got.body.contains("<Type>Receiver</Type>"), "{}", got.body);
    assert_eq!(site.server.truth().snapshot().totals.faulted, 37);
    site.server.faults().clear();
    assert_eq!(site.groups(0, REGION).await.expect("an answer").status, 200);
}

#[tokio::test(start_paused = true)]
async fn a_slow_service_answers_later() {
    let site = start(wide_open()).await;
    site.fault("slow=200ms:service=logs");
    assert_eq!(site.identity(0, REGION).await.expect("an answer").status, 200);
    let before = site.server.elapsed();
    assert_eq!(site.groups(0, REGION).await.expect("an answer").status, 200);
    assert_eq!((site.server.elapsed() - before).as_millis(), 200);
}

#[tokio::test]
async fn a_cut_body_ends_in_the_middle_and_the_next_call_goes_through() {
    let site = start(wide_open()).await;
    site.fault("cut=1/2");
    for _ in 0..3 {
        assert_eq!(site.groups(0, REGION).await.expect("a whole answer").status, 200);
        let error = site.groups(0, REGION).await.expect_err("half an answer");
        assert!(error.starts_with("body cut"), "{error}");
    }
    let seen = site.server.truth().snapshot().totals;
    assert_eq!((seen.requests, seen.answered, seen.faulted), (6, 3, 3));
}

#[tokio::test]
async fn a_client_that_hangs_up_is_counted_and_leaves_its_seat() {
    let site = start(wide_open()).await;
    site.fault("slow=1h");
    let truth = site.server.truth();
    tokio::select! {
        _ = site.groups(0, REGION) => panic!("an answer an hour early"),
        () = until(|| truth.snapshot().totals.requests == 1) => {}
    }
    until(|| truth.snapshot().concurrent == 0).await;
    assert_eq!(truth.snapshot().totals.answered, 1, "the service had done its work");
}

#[tokio::test]
async fn the_peak_counts_calls_that_wait_together() {
    let site = start(wide_open()).await;
    site.fault("slow=1h");
    let truth = site.server.truth();
    tokio::select! {
        _ = async { tokio::join!(site.groups(0, REGION), site.groups(1, REGION), site.identity(0, REGION)) } => {
            panic!("an answer an hour early")
        }
        () = until(|| truth.snapshot().concurrent == 3) => {}
    }
    until(|| truth.snapshot().concurrent == 0).await;
    assert_eq!(truth.snapshot().peak_concurrent, 3);
}

#[tokio::test]
async fn dropping_the_server_closes_the_port_and_its_connections() {
    let site = start(wide_open()).await;
    assert_eq!(site.groups(0, REGION).await.expect("an answer").status, 200);
    let (address, truth) = (site.server.address(), site.server.truth());
    drop(site);
    assert!(closes(address).await);
    assert_eq!(truth.snapshot().totals.requests, 1, "what it saw can still be read");
}

#[tokio::test]
async fn a_server_that_is_stopped_lets_the_call_in_flight_finish() {
    let site = start(wide_open()).await;
    site.fault("slow=50ms");
    let Site { server, aws, client } = site;
    let address = server.address();
    let truth = server.truth();
    let calling = tokio::spawn({
        let request = crate::common::signed(&aws.fleet().accounts()[0], REGION, "sts")
            .uri(format!("http://{address}/"))
            .body("Action=GetCallerIdentity&Version=2011-06-15".into())
            .expect("a request");
        async move { client.request(request).await.map(|answer| answer.status()) }
    });
    until(|| truth.snapshot().totals.requests == 1).await;
    server.stop().await;
    assert_eq!(calling.await.expect("no panic").expect("an answer"), 200);
    assert!(closes(address).await);
}

/// The runtime drops an aborted task at its next turn, so the port may stay open for a moment.
async fn closes(address: std::net::SocketAddr) -> bool {
    for _ in 0..1_000 {
        if TcpStream::connect(address).await.is_err() {
            return true;
        }
        tokio::task::yield_now().await;
    }
    false
}

/// Waits for what the server is about to do.
async fn until(condition: impl Fn() -> bool) {
    while !condition() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test]
async fn the_server_listens_on_loopback_only() {
    let site = start(wide_open()).await;
    assert!(site.server.address().ip().is_loopback());
}

#[tokio::test]
async fn the_ideal_follows_the_slowest_bucket_of_the_job() {
    let site = start(Limits::default()).await;
    let leaf = |account: usize, service: &str, operation: &str| Leaf {
        account: site.account(account).id().into(),
        region: REGION.into(),
        service: service.into(),
        operation: operation.into(),
    };
    let groups = leaf(0, "logs", "DescribeLogGroups");
    let reads = leaf(1, "ssm", "GetParameter");
    let ideal = site.aws.ideal([(&groups, 30), (&reads, 120)]);
    assert_eq!(ideal.seconds, 5.0);
    let bucket = ideal.bucket.expect("a bucket");
    assert_eq!((bucket.account.as_str(), bucket.name.as_str()), (site.account(0).id(), "logs.DescribeLogGroups"));
}
