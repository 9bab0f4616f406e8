//! How one request is governed: options in its extensions.

use std::num::{NonZeroU32, NonZeroUsize};
use std::time::Duration;

use cloud_governor::{
    CallOptions, CallReport, Counts, GiveUp, Priority, Refusal, RefusalKind, RetryPolicy, Scope, Stats,
};

use crate::common::*;
use crate::server::{Reply, Server};

#[tokio::test]
async fn a_request_that_is_skipped_is_sent_once_at_once_and_not_counted() {
    let server = Server::always(Reply::new(503, "no"));
    let governor = governor(|api| api.max_retries(3).max_rps(0.001).burst(1.0));
    let client = client(&server, &governor);
    for _ in 0..5 {
        let skipped = client.get(URL).with_extension(CallOptions::new().skip());
        assert_eq!(status(&skipped.send().await), 503);
    }
    assert_eq!((server.count(), totals(&governor).calls), (5, 0));
}

#[tokio::test]
async fn a_request_costs_what_its_options_say_where_units_are_counted() {
    let server = Server::always(Reply::ok());
    let governor = governor(|api| api.max_rps(0.001).burst(10.0).floor_rps(0.001).counts(Counts::Units));
    let options = CallOptions::new().cost(NonZeroU32::new(7).unwrap());
    assert_eq!(status(&client(&server, &governor).get(URL).with_extension(options).send().await), 200);
    let left = governor.inspect(&scope()).unwrap().tokens;
    assert!((3.0..3.5).contains(&left), "{left}");
}

#[tokio::test]
async fn a_policy_is_that_requests_alone() {
    let server = Server::always(Reply::new(503, "no"));
    let governor = governor(|api| api.max_retries(3));
    let client = client(&server, &governor);
    let options = CallOptions::from(RetryPolicy::builder().max_retries(1).build().unwrap());
    assert_eq!(status(&client.get(URL).with_extension(options).send().await), 503);
    assert_eq!(server.count(), 2);
    assert_eq!(status(&client.get(URL).send().await), 503);
    assert_eq!(server.count(), 2 + 4);
}

#[tokio::test]
async fn a_scope_takes_the_place_of_the_targets_and_the_report_names_it() {
    let server = Server::script([Reply::new(500, "no"), Reply::ok()]);
    let governor = governor(|api| api);
    let own = Scope::new(HOST, "octo-org", "", "search");
    let report = CallReport::new();
    let options = CallOptions::from(own.clone()).report(&report);
    assert_eq!(status(&client(&server, &governor).get(URL).with_extension(options).send().await), 200);
    assert_eq!((report.attempts(), report.scope(), report.gave_up()), (2, Some(own.clone()), None));
    assert_eq!(governor.summary().scopes[&own].calls, 2);
}

#[tokio::test]
async fn a_report_says_why_retrying_stopped() {
    let server = Server::always(Reply::new(500, "no"));
    let governor = governor(|api| api.max_retries(1).breaker_failures(1));
    let client = client(&server, &governor);
    let report = CallReport::new();
    let options = CallOptions::new().report(&report);
    assert_eq!(status(&client.get(URL).with_extension(options.clone()).send().await), 500);
    assert_eq!((report.attempts(), report.gave_up()), (2, Some(GiveUp::RetriesExhausted)));
    let error = client.get(URL).with_extension(options).send().await.unwrap_err();
    assert_eq!(Refusal::find(&error).map(Refusal::kind), Some(RefusalKind::CircuitOpen));
    assert_eq!((report.attempts(), report.gave_up()), (2, Some(GiveUp::CircuitOpen)));
}

#[tokio::test]
async fn a_deadline_that_cannot_be_met_is_refused_at_once() {
    let server = Server::always(Reply::ok());
    let governor = governor(|api| api.max_rps(0.001).burst(1.0));
    let client = client(&server, &governor);
    assert_eq!(status(&client.get(URL).send().await), 200);
    let policy = RetryPolicy::builder().deadline(Duration::from_secs(5)).build().unwrap();
    let error = client.get(URL).with_extension(CallOptions::from(policy)).send().await.unwrap_err();
    let refusal = Refusal::find(&error).unwrap();
    assert_eq!((refusal.kind(), server.count()), (RefusalKind::DeadlineExceeded, 1));
    assert!(refusal.retry_after().is_some_and(|wait| wait > Duration::from_secs(5)));
    assert!(error.is_middleware() && error.to_string().contains("client-side governor"), "{error}");
}

#[tokio::test]
async fn who_has_priority_is_sent_first() {
    let server = Server::start(|asked, _| match asked.uri.path() {
        "/first" => Reply::ok().after(millis(100)),
        _ => Reply::ok(),
    });
    let governor = governor(|api| api.account_concurrency(NonZeroUsize::MIN));
    let client = client(&server, &governor);
    let send = |path: &str, priority| {
        let request = client.get(format!("http://{HOST}/{path}"));
        tokio::spawn(request.with_extension(CallOptions::new().priority(priority)).send())
    };
    let first = send("first", Priority::Normal);
    until("the first to be sent", || server.count() == 1).await;
    let low = send("low", Priority::Low);
    until("the low one to wait", || state(&governor).waiting_for_slot == 1).await;
    let high = send("high", Priority::High);
    until("the high one to wait", || state(&governor).waiting_for_slot == 2).await;
    for call in [first, low, high] {
        assert_eq!(status(&call.await.unwrap()), 200);
    }
    let order: Vec<String> = server.asked().iter().map(|asked| asked.uri.path().to_owned()).collect();
    assert_eq!(order, ["/first", "/high", "/low"]);
}

#[tokio::test]
async fn a_disabled_provider_is_sent_to_once_and_counted() {
    let server = Server::always(Reply::new(503, "no"));
    let governor = governor(|api| api.enabled(false));
    let response = client(&server, &governor).get(URL).send().await.unwrap();
    assert_eq!((response.status().as_u16(), response.text().await.unwrap().as_str()), (503, "no"));
    assert_eq!((server.count(), totals(&governor).calls, totals(&governor).throttled), (1, 1, 1));
}

#[tokio::test]
async fn a_run_counts_its_own_requests_those_of_its_spawned_tasks_too() {
    let server = Server::always(Reply::ok());
    let governor = governor(|api| api);
    let client = client(&server, &governor);
    assert_eq!(status(&client.get(URL).send().await), 200);
    let stats = Stats::new();
    assert_eq!(status(&stats.bind(client.get(URL).send()).await), 200);
    assert_eq!(status(&tokio::spawn(stats.bind(client.get(URL).send())).await.unwrap()), 200);
    assert_eq!((governor.summary_of(&stats).totals.calls, totals(&governor).calls), (2, 3));
}
