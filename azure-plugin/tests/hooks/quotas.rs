//! What answers say is left of a quota.

use cloud_governor::Governor;
use cloud_governor_azure::governed;

use crate::common::{Client, Reply, Server, by, governor, service};

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
