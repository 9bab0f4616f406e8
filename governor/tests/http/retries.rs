//! Servers that fail: how many requests one call makes, and what comes back.

use cloud_governor::{CallOptions, CallReport, FakeClock, GiveUp};

use crate::common::*;
use crate::server::{Reply, Server};

#[tokio::test]
async fn a_server_that_always_fails_gets_one_request_and_its_retries() {
    for failure in [408, 429, 500, 502, 503, 504] {
        for retries in [0, 1, 3] {
            let server = Server::always(Reply::new(failure, format!("no: {failure}")).header("x-own", "kept"));
            let governor = governor(|api| api.max_retries(retries));
            let response = client(&server, &governor).get(URL).send().await.unwrap();
            assert_eq!((response.status().as_u16(), response.headers()["x-own"].to_str().unwrap()), (failure, "kept"));
            assert_eq!(response.text().await.unwrap(), format!("no: {failure}"));
            let requests = u64::from(retries) + 1;
            let totals = totals(&governor);
            assert_eq!((server.count() as u64, totals.calls, totals.gave_up), (requests, requests, 1), "{failure}");
            assert!(is_at_rest(&governor));
        }
    }
}

#[tokio::test]
async fn what_no_retry_would_mend_is_sent_once() {
    for failure in [400, 401, 403, 404, 405, 409, 410, 412, 422, 451, 501] {
        let server = Server::always(Reply::new(failure, "no"));
        let governor = governor(|api| api.max_retries(3));
        let result = client(&server, &governor).get(URL).send().await;
        assert_eq!((status(&result), server.count(), totals(&governor).gave_up), (failure, 1, 0));
    }
}

#[tokio::test]
async fn a_server_that_recovers_is_heard() {
    let failures =
        [Reply::new(503, "no"), Reply::new(429, "slow"), Reply::closed(), Reply::new(500, "no"), Reply::ok()];
    let server = Server::script(failures);
    let governor = governor(|api| api.max_retries(8));
    let response = client(&server, &governor).get(URL).send().await.unwrap();
    assert_eq!((response.status().as_u16(), response.text().await.unwrap().as_str()), (200, "content"));
    let totals = totals(&governor);
    assert_eq!((server.count(), totals.calls, totals.retries, totals.operations), (5, 5, 4, 1));
    assert_eq!((totals.throttled, totals.transient_errors, totals.gave_up), (2, 2, 0));
}

/// Sends one request that is throttled once by `reply`; how long it then waits by the governor's clock, in seconds.
async fn waited(reply: Reply) -> u64 {
    let server = Server::script([reply, Reply::ok()]);
    let clock = FakeClock::new();
    let governor = timed(&clock, |api| api.deadline(None));
    let client = client(&server, &governor);
    let call = tokio::spawn(async move { client.get(URL).send().await });
    until("the first answer", || totals(&governor).throttled == 1 && clock.waiting() > 0).await;
    let mut waited = 0;
    while !call.is_finished() {
        assert_eq!(server.count(), 1, "sent after {waited} s");
        clock.advance(seconds(1));
        waited += 1;
        // The second request needs no time but the wire's.
        for _ in 0..20 {
            if clock.waiting() > 0 {
                break;
            }
            tokio::time::sleep(millis(1)).await;
        }
        assert!(waited < 10_000);
    }
    assert_eq!(status(&call.await.unwrap()), 200);
    waited
}

#[tokio::test]
async fn the_wait_that_an_answer_asks_for_is_waited() {
    let date = "Sun, 30 Nov 2025 10:53:20 GMT";
    let reset = |status| Reply::new(status, "").header("date", date).header("x-ratelimit-reset", "1764500090");
    for (reply, expected) in [
        (Reply::new(429, "").header("retry-after", "7"), 7),
        (Reply::new(429, "").header("date", date).header("retry-after", "Sun, 30 Nov 2025 10:53:29 GMT"), 9),
        (Reply::new(403, "").header("retry-after", "11"), 11),
        // GitHub's hourly limit, GitLab's, Cloudflare's.
        (reset(403).header("x-ratelimit-remaining", "0"), 90),
        (reset(429).header("x-ratelimit-remaining", "0"), 90),
        (
            Reply::new(429, "")
                .header("date", date)
                .header("ratelimit-remaining", "0")
                .header("ratelimit-reset", "1764500060"),
            60,
        ),
        (Reply::new(429, "").header("ratelimit", r#""default";r=0;t=30"#), 30),
    ] {
        let waited = waited(reply.clone()).await;
        // At the least what was asked for; the jitter of all who wait adds less than a tenth.
        assert!((expected..=expected + expected / 10 + 1).contains(&waited), "{reply:?}: {waited} s");
    }
}

#[tokio::test]
async fn a_wait_beyond_the_deadline_ends_the_call_at_once_with_its_answer() {
    let server = Server::always(Reply::new(429, "in an hour").header("retry-after", "3600"));
    let governor = governor(|api| api.max_retries(8));
    let report = CallReport::new();
    let options = CallOptions::new().report(&report);
    let response = client(&server, &governor).get(URL).with_extension(options).send().await.unwrap();
    assert_eq!((response.status().as_u16(), response.text().await.unwrap().as_str()), (429, "in an hour"));
    assert_eq!((server.count(), report.gave_up()), (1, Some(GiveUp::DeadlineExceeded)));
}

#[tokio::test]
async fn redirects_are_followed_within_one_attempt() {
    let server = Server::start(|asked, _| match asked.uri.path() {
        "/things" => Reply::new(302, "").header("location", "/elsewhere"),
        _ => Reply::ok(),
    });
    let governor = governor(|api| api);
    let response = client(&server, &governor).get(URL).send().await.unwrap();
    assert_eq!((response.status().as_u16(), response.url().path()), (200, "/elsewhere"));
    assert_eq!((server.count(), totals(&governor).calls), (2, 1));
}
