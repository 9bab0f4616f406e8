//! Calls that are dropped.

use std::num::NonZeroUsize;

use cloud_governor::Scope;
use tokio::time::timeout;

use crate::common::{ACCOUNT, Reply, Server, governor, seconds, ssm, totals};

fn leaf() -> Scope {
    Scope::new("aws", ACCOUNT, "eu-west-1", "ssm")
}

#[tokio::test(start_paused = true)]
async fn a_call_dropped_while_it_is_sent_gives_its_slot_back_and_counts_as_no_failure() {
    let server = Server::script([Reply::parameter().after(seconds(60)), Reply::parameter()]);
    let governor = governor(|aws| aws.account_concurrency(NonZeroUsize::MIN));
    let client = ssm(&server, &governor);
    timeout(seconds(1), client.get_parameter().name("a").send()).await.expect_err("dropped");
    assert_eq!(governor.inspect(&leaf()).expect("a leaf").slots_in_use, 0);
    client.get_parameter().name("a").send().await.expect("an answer");
    let totals = totals(&governor);
    assert_eq!((totals.transient_errors, totals.gave_up), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_call_dropped_at_the_gate_leaves_the_line_and_spends_nothing() {
    let server = Server::always(Reply::parameter());
    let governor = governor(|aws| aws.max_rps(0.1).burst(1.0).floor_rps(0.01));
    let client = ssm(&server, &governor);
    client.get_parameter().name("a").send().await.expect("the one token");
    timeout(seconds(5), client.get_parameter().name("a").send()).await.expect_err("dropped");
    assert_eq!(governor.inspect(&leaf()).expect("a leaf").waiting_for_rate, 0);
    client.get_parameter().name("a").send().await.expect("the next token");
    let requests = server.requests();
    assert_eq!(requests.len(), 2);
    assert!(requests[1].at < seconds(11), "the dropped call took no token: {:?}", requests[1].at);
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_is_dropped_frees_its_place() {
    let down = Reply::json_error(503, "InternalServerError");
    let server = Server::script([down, Reply::parameter().after(seconds(60)), Reply::parameter()]);
    let governor = governor(|aws| aws.max_retries(0).breaker_failures(1).breaker_cooldown(seconds(30)));
    let client = ssm(&server, &governor);
    client.get_parameter().name("a").send().await.expect_err("opens");
    tokio::time::sleep(seconds(31)).await;
    timeout(seconds(1), client.get_parameter().name("a").send()).await.expect_err("the probe, dropped");
    client.get_parameter().name("a").send().await.expect("another probe");
}

async fn two_unread_bodies(config: aws_sdk_s3::config::Builder) {
    let client = aws_sdk_s3::Client::from_conf(config.build());
    let first = client.get_object().bucket("b").key("k").send().await.expect("a head");
    let second = client.get_object().bucket("b").key("k").send().await.expect("another head");
    drop((first, second));
}

#[tokio::test(start_paused = true)]
async fn a_body_that_nobody_reads_holds_no_slot() {
    let server = Server::always(Reply::SlowBody { status: 200, body: "x".into(), after: seconds(1) });
    let governor = governor(|aws| aws.account_concurrency(NonZeroUsize::MIN).deadline(seconds(60)));
    let config = crate::common::governed(&server, &governor);
    two_unread_bodies(aws_sdk_s3::config::Builder::from(&config)).await;
    let without_gate =
        aws_sdk_s3::config::Builder::from(&config).identity_cache(aws_sdk_s3::config::IdentityCache::no_cache());
    two_unread_bodies(without_gate).await;
    assert_eq!(totals(&governor).transient_errors, 0);
    assert_eq!(server.count(), 4);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_still_read_is_in_flight() {
    let server = Server::always(Reply::SlowBody {
        status: 200,
        body: r#"{"Parameter":{"Value":"v"}}"#.into(),
        after: seconds(2),
    });
    let governor = governor(|aws| aws.account_concurrency(NonZeroUsize::MIN));
    let client = ssm(&server, &governor);
    let (a, b) = tokio::join!(client.get_parameter().name("a").send(), client.get_parameter().name("b").send());
    assert!(a.is_ok() && b.is_ok());
    let requests = server.requests();
    assert!(requests[1].at - requests[0].at >= seconds(2));
}
