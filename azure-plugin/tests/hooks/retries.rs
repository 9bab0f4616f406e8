//! How often a call is sent, and when.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use azure_core::error::ErrorKind;
use azure_core::http::policies::{Policy, PolicyResult};
use azure_core::http::{Body, Context, Method, Request};
use azure_core::stream::BytesStream;
use cloud_governor::{BreakerState, RefusalKind, RetryPolicy};
use cloud_governor_azure::{CallOptions, governed, refusal};

use crate::common::{Client, Reply, Server, by, code, governor, request, seconds, service, status, totals};

fn failures() -> Vec<Reply> {
    let statuses = [408, 429, 500, 502, 503, 504].map(|status| Reply::new(status, ""));
    statuses.into_iter().chain([Reply::Reset, Reply::Refused]).collect()
}

#[tokio::test(start_paused = true)]
async fn a_call_that_always_fails_is_sent_once_and_max_retries_times_more() {
    for reply in failures() {
        let server = Server::always(reply);
        let governor = governor(|azure| azure.max_retries(3));
        Client::governed(&server, &governor).get().await.expect_err("fails for ever");
        assert_eq!(server.count(), 4);
        let totals = totals(&governor);
        assert_eq!((totals.operations, totals.calls, totals.retries, totals.gave_up), (1, 4, 3, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn the_caller_gets_the_last_answer_as_the_sdk_itself_would_give_it() {
    let server = Server::always(Reply::coded(503, "ServerBusy").header("x-ms-request-id", "r-42"));
    let error = Client::governed(&server, &governor(|azure| azure.max_retries(2))).get().await.expect_err("busy");
    assert_eq!((status(&error), code(&error)), (Some(503), Some("ServerBusy")));
    assert!(refusal(&error).is_none());
    let broken = Server::always(Reply::Refused);
    let error = Client::governed(&broken, &governor(|azure| azure.max_retries(2))).get().await.expect_err("no one");
    assert_eq!(*error.kind(), ErrorKind::Connection);
    assert_eq!(error.to_string(), "connection refused");
}

#[tokio::test(start_paused = true)]
async fn every_attempt_has_the_same_request_id_and_the_whole_body() {
    let server = Server::script([Reply::Reset, Reply::new(503, ""), Reply::new(201, "")]);
    let client = Client::governed(&server, &governor(|azure| azure));
    let mut upload = request(Method::Put);
    upload.set_body(Body::from(BytesStream::new("thirteen bytes")));
    client.send(Context::new(), upload).await.expect("the third");
    let requests = server.requests();
    assert_eq!(requests.len(), 3);
    assert!(requests.iter().all(|seen| seen.body == b"thirteen bytes"));
    let ids: Vec<_> = requests.iter().map(|seen| seen.header("x-ms-client-request-id")).collect();
    assert!(ids[0].is_some() && ids.iter().all(|id| *id == ids[0]), "{ids:?}");
}

/// Takes the body out and never puts it back, as Key Vault's authorization does on a client's first request.
#[derive(Debug)]
struct TakesTheBody;

#[async_trait]
impl Policy for TakesTheBody {
    async fn send(&self, ctx: &Context, request: &mut Request, next: &[Arc<dyn Policy>]) -> PolicyResult {
        let body = request.body_mut().take();
        let mut sent = request.clone();
        sent.set_body(body);
        next[0].send(ctx, &mut sent, &next[1..]).await
    }
}

#[tokio::test(start_paused = true)]
async fn a_policy_that_takes_the_body_out_finds_it_there_again_on_the_next_attempt() {
    let server = Server::script([Reply::new(429, ""), Reply::new(201, "")]);
    let mut options = governed(server.options(), by(&governor(|azure| azure)));
    options.per_try_policies.insert(0, Arc::new(TakesTheBody));
    let mut put = request(Method::Put);
    put.set_body("thirteen bytes");
    Client::new(options).send(Context::new(), put).await.expect("the second");
    assert!(server.requests().iter().all(|seen| seen.body == b"thirteen bytes"));
}

#[tokio::test(start_paused = true)]
async fn a_retry_after_is_waited_out_in_every_form() {
    let forms: [(&'static str, &str, Duration); 6] = [
        ("retry-after", "7", seconds(7)),
        ("retry-after", "2.128", Duration::from_millis(2128)),
        ("retry-after", "Mon, 30 Nov 2026 00:00:09 GMT", seconds(9)),
        ("retry-after-ms", "2500", Duration::from_millis(2500)),
        ("x-ms-retry-after-ms", "3500", Duration::from_millis(3500)),
        ("x-ms-retry-after-ms", "1500.5", Duration::from_micros(1_500_500)),
    ];
    for (header, value, wait) in forms {
        let refused = Reply::new(429, "").header(header, value).header("date", "Mon, 30 Nov 2026 00:00:00 GMT");
        let server = Server::script([refused, Reply::ok()]);
        Client::governed(&server, &governor(|azure| azure)).get().await.expect("the second");
        let requests = server.requests();
        let waited = requests[1].at - requests[0].at;
        assert!(waited >= wait && waited < wait + seconds(2), "{header}: {value}: {waited:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_retry_after_beyond_the_deadline_ends_the_call_at_once() {
    let server = Server::always(Reply::new(429, "").header("retry-after", "3600"));
    let began = tokio::time::Instant::now();
    let error =
        Client::governed(&server, &governor(|azure| azure.deadline(seconds(60)))).get().await.expect_err("ends");
    assert_eq!((status(&error), server.count()), (Some(429), 1));
    assert!(began.elapsed() < seconds(1));
}

#[tokio::test(start_paused = true)]
async fn a_post_whose_outcome_is_unknown_is_sent_again_only_if_that_was_said_to_be_safe() {
    for unknown in [Reply::new(500, ""), Reply::Reset] {
        let governor = governor(|azure| azure.max_retries(2));
        let sent = async |options: cloud_governor_azure::AzureOptions, call: CallOptions| {
            let server = Server::always(unknown.clone());
            let client = Client::new(governed(server.options(), options));
            client.send(Context::new().with_value(call), request(Method::Post)).await.expect_err("fails for ever");
            server.count()
        };
        assert_eq!(sent(by(&governor), CallOptions::new()).await, 1);
        assert_eq!(sent(by(&governor), CallOptions::new().idempotent(true)).await, 3);
        assert_eq!(sent(by(&governor).resend_any(true), CallOptions::new()).await, 3);
        assert_eq!(sent(by(&governor).resend_any(true), CallOptions::new().idempotent(false)).await, 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_post_that_was_not_executed_is_sent_again() {
    for refused in [Reply::new(429, ""), Reply::Refused] {
        let server = Server::script([refused, Reply::ok()]);
        Client::governed(&server, &governor(|azure| azure)).post().await.expect("the second");
        assert_eq!(server.count(), 2);
    }
}

#[tokio::test(start_paused = true)]
async fn a_throttle_lowers_the_rate_and_a_lock_does_not() {
    let throttled = Server::script([Reply::new(429, ""), Reply::ok()]);
    let one = governor(|azure| azure);
    Client::governed(&throttled, &one).get().await.expect("the second");
    assert!(service(&one).rate_rps < service(&one).ceiling_rps);
    let locked = Server::script([Reply::json(429, "RetryableErrorDueToAnotherOperation"), Reply::ok()]);
    let other = governor(|azure| azure);
    Client::governed(&locked, &other).get().await.expect("the second");
    assert_eq!(service(&other).rate_rps, service(&other).ceiling_rps);
    assert_eq!((totals(&other).throttled, totals(&other).retries), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_another_try_would_not_mend_is_the_callers_at_once() {
    for reply in [Reply::new(404, ""), Reply::new(401, ""), Reply::json(409, "QuotaExceeded"), Reply::new(400, "")] {
        let server = Server::always(reply);
        let governor = governor(|azure| azure.breaker_failures(1));
        Client::governed(&server, &governor).get().await.expect_err("fatal");
        assert_eq!((server.count(), service(&governor).breaker), (1, BreakerState::Closed));
    }
}

#[tokio::test(start_paused = true)]
async fn an_open_circuit_refuses_unsent_and_the_refusal_is_found() {
    let server = Server::always(Reply::new(500, ""));
    let client = Client::governed(&server, &governor(|azure| azure.max_retries(0).breaker_failures(2)));
    for _ in 0..2 {
        assert!(refusal(&client.get().await.expect_err("down")).is_none());
    }
    let error = client.get().await.expect_err("refused");
    assert_eq!(*error.kind(), ErrorKind::Other);
    assert_eq!(refusal(&error).map(cloud_governor::Refusal::kind), Some(RefusalKind::CircuitOpen));
    assert_eq!(server.count(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_after_an_answer_gives_the_answer() {
    // The first call opens the circuit while the second waits to come again.
    let server = Server::script([Reply::json(503, "First"), Reply::new(500, ""), Reply::new(500, "")]);
    let governor =
        governor(|azure| azure.max_retries(1).breaker_failures(1).base_delay(seconds(10)).max_backoff(seconds(10)));
    let client = Client::governed(&server, &governor);
    let none = CallOptions::new().policy(RetryPolicy::none());
    let (waits, opens) = tokio::join!(client.get(), async {
        tokio::time::sleep(seconds(1)).await;
        client.get_with(none).await
    });
    opens.expect_err("opens the circuit");
    let error = waits.expect_err("stopped");
    assert_eq!((status(&error), code(&error), server.count()), (Some(503), Some("First"), 2));
}

#[tokio::test(start_paused = true)]
async fn a_probe_closes_the_circuit_with_the_head_of_its_answer() {
    let server = Server::script([Reply::new(500, ""), Reply::stream(200, [Some("a"), Some("b")]), Reply::ok()]);
    let governor = governor(|azure| azure.max_retries(0).breaker_failures(1).breaker_cooldown(seconds(30)));
    let client = Client::governed(&server, &governor);
    client.get().await.expect_err("opens");
    tokio::time::sleep(seconds(31)).await;
    let unread = client.download().await.expect("the probe");
    assert_eq!(service(&governor).breaker, BreakerState::Closed);
    client.get().await.expect("closed");
    drop(unread);
}
