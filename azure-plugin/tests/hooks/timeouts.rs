//! Attempts that take too long.

use azure_core::error::ErrorKind;

use crate::common::{Client, Reply, Server, code, governor, seconds, service, status, totals};

#[tokio::test(start_paused = true)]
async fn an_attempt_that_takes_too_long_is_dropped_and_made_again() {
    let server = Server::script([Reply::ok().after(seconds(60)), Reply::ok()]);
    let governor = governor(|azure| azure.attempt_timeout(seconds(5)));
    Client::governed(&server, &governor).get().await.expect("the second");
    let requests = server.requests();
    assert_eq!(requests.len(), 2);
    assert!((seconds(5)..seconds(6)).contains(&(requests[1].at - requests[0].at)));
    assert_eq!((totals(&governor).transient_errors, service(&governor).slots_in_use), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_call_none_of_whose_attempts_were_in_time_says_so() {
    let server = Server::always(Reply::ok().after(seconds(60)));
    let governor = governor(|azure| azure.attempt_timeout(seconds(5)).max_retries(1));
    let error = Client::governed(&server, &governor).get().await.expect_err("late");
    assert_eq!(*error.kind(), ErrorKind::Io);
    assert!(error.to_string().contains("5s"), "{error}");
    assert_eq!(server.count(), 2);
}

#[tokio::test(start_paused = true)]
async fn an_answer_before_the_late_attempt_is_what_the_caller_gets() {
    let server = Server::script([Reply::coded(503, "ServerBusy"), Reply::ok().after(seconds(60))]);
    let governor = governor(|azure| azure.attempt_timeout(seconds(5)).max_retries(1));
    let error = Client::governed(&server, &governor).get().await.expect_err("late");
    assert_eq!((status(&error), code(&error), server.count()), (Some(503), Some("ServerBusy"), 2));
}

#[tokio::test(start_paused = true)]
async fn a_late_post_is_not_sent_again() {
    let server = Server::always(Reply::ok().after(seconds(60)));
    let governor = governor(|azure| azure.attempt_timeout(seconds(5)));
    Client::governed(&server, &governor).post().await.expect_err("late");
    assert_eq!(server.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_timeout_spans_the_body_where_the_pipeline_reads_it() {
    let slow = Reply::Parts { status: 200, parts: vec![(seconds(60), Some("late"))] };
    let server = Server::script([slow.clone(), Reply::ok(), slow]);
    let governor = governor(|azure| azure.attempt_timeout(seconds(5)));
    let client = Client::governed(&server, &governor);
    client.get().await.expect("the second");
    assert_eq!(server.count(), 2);
    drop(client.download().await.expect("a reader takes the time it takes"));
    assert_eq!(server.count(), 3);
}
