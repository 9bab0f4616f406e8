//! Failed answers: what is read of their bodies, and that whoever gets them in the end does not notice.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use cloud_governor::middleware::HttpTarget;
use cloud_governor::{Facts, FakeClock, Scope, ToldLimit};
use reqwest::Request;

use crate::common::*;
use crate::server::{Reply, Server};

/// Takes a failed answer's body for its message, and remembers the length of each.
#[derive(Clone, Default)]
pub(crate) struct Reader {
    seen: Arc<Mutex<Vec<usize>>>,
    limit: Option<ToldLimit>,
}

impl HttpTarget for Reader {
    fn scope(&self, _: &Request) -> Scope {
        scope()
    }

    fn looks_into_bodies(&self) -> bool {
        true
    }

    fn told<'a>(&self, _: &Scope, facts: Facts<'a>, body: &[u8]) -> (Facts<'a>, Option<ToldLimit>) {
        self.seen.lock().unwrap().push(body.len());
        (facts.message(String::from_utf8_lossy(body).into_owned()), self.limit.clone())
    }
}

impl Reader {
    fn seen(&self) -> Vec<usize> {
        self.seen.lock().unwrap().clone()
    }
}

#[tokio::test]
async fn what_a_body_says_decides_where_the_target_reads_it() {
    let secondary = r#"{"message":"You have exceeded a secondary rate limit."}"#;
    let server = Server::always(Reply::new(403, secondary));
    let governor = governor(|api| api.max_retries(1).deadline(seconds(30)));
    let response = client_of(&server, &governor, Reader::default()).get(URL).send().await.unwrap();
    assert_eq!(response.text().await.unwrap(), secondary);
    // A minute is longer than the deadline.
    assert_eq!((server.count(), totals(&governor).throttled, totals(&governor).gave_up), (1, 1, 1));
    client(&server, &governor).get(URL).send().await.unwrap_err();
}

#[tokio::test]
async fn a_limit_that_the_body_names_is_heeded() {
    let server = Server::always(Reply::new(429, "100 a minute"));
    let governor = governor(|api| api.max_retries(0));
    let reader = Reader { limit: Some(ToldLimit::new(100, seconds(60))), ..Reader::default() };
    client_of(&server, &governor, reader).get(URL).send().await.unwrap();
    assert!(state(&governor).rate_rps <= 100.0 / 60.0, "{}", state(&governor).rate_rps);
}

#[tokio::test]
async fn a_limit_of_a_shared_bucket_that_the_body_names_is_that_buckets() {
    let server = Server::always(Reply::new(429, "100 a minute to all"));
    let governor = governor(|api| api.max_retries(0).shared("everyone", |all| all.max_rps(50.0)));
    let limit = ToldLimit::new(60, seconds(60)).of_shared("everyone");
    let reader = Reader { limit: Some(limit), ..Reader::default() };
    client_of(&server, &governor, reader).get(URL).send().await.unwrap();
    let seen = state(&governor);
    assert_eq!((seen.limit_rps, seen.shared[0].limit_rps), (None, Some(1.0)));
}

#[tokio::test]
async fn an_answer_is_passed_on_as_it_came_whatever_was_read_of_it() {
    for length in [0, 1, 1_000, 64 * 1024 - 1, 64 * 1024, 64 * 1024 + 1, 300_000] {
        let body = Bytes::from_iter((0..length).map(|place| (place % 251) as u8));
        let server = Server::always(Reply::new(404, body.clone()).header("x-own", "kept"));
        let governor = governor(|api| api);
        let reader = Reader::default();
        let there = client_of(&server, &governor, reader.clone()).get(URL).send().await.unwrap();
        let plain = plain(&server).get(URL).send().await.unwrap();
        let heads = [&there, &plain].map(|response| {
            let mut headers = response.headers().clone();
            headers.remove("date");
            (response.status(), response.version(), response.url().clone(), headers, response.content_length())
        });
        assert_eq!(heads[0], heads[1], "{length}");
        assert!(there.remote_addr().is_some_and(|address| address == server.address()));
        assert_eq!(there.bytes().await.unwrap(), body, "{length}");
        // What is longer than 64 KiB is not looked into.
        assert!(reader.seen() == [if length < 64 * 1024 { length } else { 0 }], "{length}: {:?}", reader.seen());
        assert!(is_at_rest(&governor));
    }
}

#[tokio::test]
async fn a_body_that_breaks_is_passed_on_as_far_as_it_came_and_then_breaks() {
    for looks in [true, false] {
        let server = Server::always(Reply::new(404, "half and half").cut());
        let governor = governor(|api| api.max_retries(2));
        let client = if looks { client_of(&server, &governor, Reader::default()) } else { client(&server, &governor) };
        let mut response = client.get(URL).send().await.unwrap();
        assert_eq!(response.chunk().await.unwrap().unwrap(), "half a");
        let error = response.chunk().await.unwrap_err();
        assert!(error.is_decode() && !error.is_timeout(), "{looks}: {error:?}");
        assert_eq!((server.count(), totals(&governor).gave_up), (1, 0));
    }
}

#[tokio::test]
async fn a_body_that_stalls_is_waited_for_no_longer_than_the_attempt_may_take() {
    let server = Server::always(Reply::new(404, "half and half").stalled());
    let clock = FakeClock::new();
    let governor = timed(&clock, |api| api.attempt_timeout(seconds(3)));
    let reader = Reader::default();
    let client = client_of(&server, &governor, reader.clone());
    let call = tokio::spawn(async move { client.get(URL).send().await });
    until("the body to be waited for", || server.count() == 1 && clock.waiting() > 0).await;
    // The head has to have come before the time of the attempt is up.
    tokio::time::sleep(millis(50)).await;
    clock.advance(seconds(3));
    let mut response = call.await.unwrap().unwrap();
    assert_eq!((reader.seen(), state(&governor).slots_in_use), (vec![0], 0));
    assert_eq!(response.chunk().await.unwrap().unwrap(), "half a");
}

#[tokio::test]
async fn an_answer_that_another_may_replace_holds_no_connection() {
    let server = Server::always(Reply::new(503, "half and half").header("retry-after", "60").stalled());
    let clock = FakeClock::new();
    let governor = timed(&clock, |api| api.max_retries(3).deadline(seconds(100)));
    let client = client(&server, &governor);
    let call = tokio::spawn(async move { client.get(URL).send().await });
    until("the first answer", || totals(&governor).throttled == 1 && clock.waiting() > 0).await;
    assert_eq!(server.connections(), 1);
    clock.advance(seconds(5));
    until("the connection to be closed", || server.connections() == 0).await;
    assert!(!call.is_finished() && is_at_rest(&governor));
    // The second attempt's wait would end after the deadline: what came of its answer is the caller's.
    clock.advance(seconds(70));
    let mut response = call.await.unwrap().unwrap();
    assert_eq!((response.status().as_u16(), server.count()), (503, 2));
    assert_eq!(response.chunk().await.unwrap().unwrap(), "half a");
}

#[tokio::test]
async fn the_last_answer_is_the_callers_where_no_later_one_came() {
    let server = Server::script([Reply::new(503, "half and half").stalled(), Reply::silence()]);
    let clock = FakeClock::new();
    let governor = timed(&clock, |api| {
        let api = api.max_retries(1).attempt_timeout(seconds(60)).max_backoff(seconds(20)).base_delay(seconds(10));
        api.deadline(None)
    });
    let client = client(&server, &governor);
    let call = tokio::spawn(async move { client.get(URL).send().await });
    // However long these take, no time of an attempt's passes until then.
    until("the first answer", || totals(&governor).throttled == 1 && clock.waiting() > 0).await;
    while totals(&governor).calls < 2 {
        clock.advance(seconds(1));
        tokio::time::sleep(millis(2)).await;
    }
    until("the second request", || server.count() == 2).await;
    while !call.is_finished() {
        clock.advance(seconds(1));
        tokio::time::sleep(millis(2)).await;
    }
    let mut response = call.await.unwrap().unwrap();
    assert_eq!((response.status().as_u16(), server.count(), response.url().as_str()), (503, 2, URL));
    assert_eq!(response.chunk().await.unwrap().unwrap(), "half a");
    let error = response.chunk().await.unwrap_err();
    let mut texts = std::iter::successors(Some(&error as &dyn std::error::Error), |error| error.source());
    assert!(texts.any(|error| error.to_string().contains("not waited for")), "{error:?}");
}
