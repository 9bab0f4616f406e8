//! Policies of a task.

use cloud_governor::{RefusalKind, RetryPolicy};
use cloud_governor_aws::{CallOptions, refusal};

use crate::common::{Reply, Server, governor, seconds, ssm, totals};

#[tokio::test(start_paused = true)]
async fn a_tasks_policy_reaches_any_hooked_client() {
    let server = Server::always(Reply::json_error(503, "InternalServerError"));
    let governor = governor(|aws| aws.max_retries(8));
    let client = ssm(&server, &governor);
    let options = CallOptions::new().policy(RetryPolicy::builder().max_retries(1).build().expect("sound"));
    options.scope(client.get_parameter().name("a").send()).await.expect_err("503");
    assert_eq!(server.count(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_tasks_deadline_shorter_than_the_wait_is_a_refusal_at_once() {
    let server = Server::always(Reply::parameter());
    let governor = governor(|aws| aws.max_rps(0.1).burst(1.0).floor_rps(0.01));
    let client = ssm(&server, &governor);
    client.get_parameter().name("a").send().await.expect("the one token");
    let options = CallOptions::new().policy(RetryPolicy::builder().deadline(seconds(2)).build().expect("sound"));
    let error = options.scope(client.get_parameter().name("a").send()).await.expect_err("too late");
    let refused = refusal(&error).expect("a refusal");
    assert_eq!(refused.kind(), RefusalKind::DeadlineExceeded);
    assert!(refused.retry_after().is_some_and(|after| after > seconds(9)));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_skipped_is_sent_once_at_once_and_not_counted() {
    let server = Server::always(Reply::json_error(503, "InternalServerError"));
    let governor = governor(|aws| aws);
    let client = ssm(&server, &governor);
    CallOptions::new().skip().scope(client.get_parameter().name("a").send()).await.expect_err("503");
    assert_eq!(server.count(), 1);
    assert_eq!(totals(&governor).operations, 0);
}

#[tokio::test(start_paused = true)]
async fn a_call_of_a_higher_priority_goes_first() {
    let server = Server::always(Reply::parameter());
    let governor = governor(|aws| aws.max_rps(0.1).burst(1.0).floor_rps(0.01));
    let client = ssm(&server, &governor);
    client.get_parameter().name("first").send().await.expect("the one token");
    let normal = tokio::spawn(client.get_parameter().name("normal").send());
    tokio::time::sleep(seconds(1)).await;
    let high = CallOptions::new().priority(cloud_governor::Priority::High);
    let high = tokio::spawn(high.scope(client.get_parameter().name("high").send()));
    normal.await.expect("no panic").expect("an answer");
    high.await.expect("no panic").expect("an answer");
    let order: Vec<bool> =
        server.requests().iter().map(|request| String::from_utf8_lossy(&request.body).contains("high")).collect();
    assert_eq!(order, [false, true, false]);
}

#[tokio::test(start_paused = true)]
async fn a_tasks_attempt_timeout_cuts_each_attempt() {
    let server = Server::script([Reply::parameter().after(seconds(60)), Reply::parameter()]);
    let governor = governor(|aws| aws);
    let client = ssm(&server, &governor);
    let options = CallOptions::new().policy(RetryPolicy::builder().attempt_timeout(seconds(5)).build().expect("sound"));
    options.scope(client.get_parameter().name("a").send()).await.expect("the second answer");
    assert!(server.requests()[1].at < seconds(6));
}

/// Task-locals do not enter a spawned task by themselves.
#[tokio::test(start_paused = true)]
async fn options_hold_for_their_own_task_and_end_with_their_scope() {
    let server = Server::always(Reply::json_error(503, "InternalServerError"));
    let governor = governor(|aws| aws.max_retries(2));
    let client = ssm(&server, &governor);
    let spawning = client.clone();
    let options = CallOptions::new().skip();
    options
        .scope(async move { tokio::spawn(spawning.get_parameter().name("a").send()).await })
        .await
        .expect("no panic")
        .expect_err("503");
    assert_eq!(server.count(), 3);
    client.get_parameter().name("a").send().await.expect_err("503");
    assert_eq!(server.count(), 6);
}
