//! What answers say is left of a quota.

use azure_core::http::{Context, Method, Request, Url};
use cloud_governor::{Governor, Inspection, Scope, Verb};
use cloud_governor_azure::governed;

use crate::common::{Client, Reply, Server, by, governor, seconds, service};

const LEFT: &str = "x-ms-ratelimit-remaining-subscription-reads";

/// What is known to be left.
fn left(governor: &Governor) -> Vec<(String, u64)> {
    service(governor).quota.into_iter().map(|quota| (quota.name, quota.left)).collect()
}

#[tokio::test(start_paused = true)]
async fn what_any_answer_says_is_left_is_heeded() {
    for status in [200, 404, 429, 503] {
        let server = Server::always(Reply::new(status, "").header(LEFT, "3"));
        let governor = governor(|azure| azure.max_retries(0));
        let _answer = Client::governed(&server, &governor).get().await;
        assert_eq!(left(&governor), [("subscription-reads".to_owned(), 3)], "{status}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_quota_that_is_nearly_used_up_slows_the_calls_that_come_next() {
    let server = Server::always(Reply::ok().header(LEFT, "1"));
    let governor = governor(|azure| azure.max_rps(100.0));
    let client = Client::governed(&server, &governor);
    client.get().await.expect("an answer");
    assert!(service(&governor).rate_rps < 2.0, "{}", service(&governor).rate_rps);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_learned_where_that_is_switched_off() {
    let server = Server::always(Reply::ok().header(LEFT, "1"));
    let governor = governor(|azure| azure.max_rps(100.0));
    let client = Client::new(governed(server.options(), by(&governor).learn(false)));
    client.get().await.expect("an answer");
    assert!(left(&governor).is_empty());
    assert!(service(&governor).rate_rps >= 100.0);
}

// ===== Resource Manager =====

const SUBSCRIPTION: &str = "11111111-2222-3333-4444-555555555555";
const NETWORKS: &str = "Microsoft.Network/virtualNetworks";
const MACHINES: &str = "Microsoft.Compute/virtualMachines";

async fn list(client: &Client, resources: &str) {
    let url = format!("https://management.azure.com/subscriptions/{SUBSCRIPTION}/providers/{resources}");
    let request = Request::new(Url::parse(&url).expect("a URL"), Method::Get);
    client.send(Context::new(), request).await.expect("an answer");
}

fn reads(governor: &Governor, service: &str) -> Inspection {
    let scope = Scope::new("azure", SUBSCRIPTION, "", service).with_verb(Verb::Read);
    governor.inspect(&scope).expect("a leaf that was called")
}

/// 250 at once, and 25 a second: of each subscription and principal, not of each service.
#[tokio::test(start_paused = true)]
async fn two_services_of_a_subscription_keep_to_what_it_grants_both_together_without_a_word_of_configuration() {
    let server = Server::always(Reply::ok());
    let governor = Governor::builder().build();
    let client = Client::governed(&server, &governor);
    let calls = (0..500).map(|number| list(&client, if number % 2 == 0 { NETWORKS } else { MACHINES }));
    futures_util::future::join_all(calls).await;
    let times: Vec<_> = server.requests().iter().map(|request| request.at).collect();
    assert_eq!(times.len(), 500);
    // A bucket like the server's is never empty when a call comes.
    let mut left = 250.0_f64;
    let mut before = times[0];
    for at in &times {
        left = (left + 25.0 * (*at - before).as_secs_f64()).min(250.0) - 1.0;
        before = *at;
        assert!(left >= 0.0, "refused at {at:?}");
    }
    // What is granted is used.
    assert!(times[499] < seconds(11), "{:?}", times[499]);
}

#[tokio::test(start_paused = true)]
async fn what_one_service_is_told_is_left_of_the_subscriptions_reads_slows_another_too() {
    let server = Server::always(Reply::ok().header(LEFT, "2"));
    let governor = Governor::builder().build();
    let client = Client::governed(&server, &governor);
    list(&client, NETWORKS).await;
    list(&client, MACHINES).await;
    for service in ["network", "compute"] {
        let seen = reads(&governor, service);
        let shared = seen.shared.iter().find(|bucket| bucket.scope.operation() == Some("subscription-reads"));
        let shared = shared.expect("all reads of a subscription share it");
        assert_eq!(shared.quota.as_ref().map(|quota| quota.left), Some(2), "{service}");
        assert!(shared.rate_rps < 2.0, "{service}: {}", shared.rate_rps);
        assert!(seen.quota.is_none(), "{service}");
    }
    for _ in 0..3 {
        list(&client, MACHINES).await;
    }
    let times: Vec<_> = server.requests().iter().map(|request| request.at).collect();
    assert!(times[4] - times[0] > seconds(1), "{times:?}");
}
