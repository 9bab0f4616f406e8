//! Servers that always fail: how many requests one call makes.

use cloud_governor::{CallOptions, CallReport, GiveUp, RefusalKind};
use tonic::Code;
use tonic_types::ErrorDetails;

use crate::clients::{Ask, On, Rpc, Said, by, client};
use crate::governors::{governor, seconds, slots_in_use, totals};
use crate::reply::Reply;
use crate::server::Server;

/// How a call went of the server's that answers like this for ever.
struct Went {
    said: Said,
    /// Requests on the wire.
    seen: u64,
    /// Attempts, logical calls and give-ups that the governor counted.
    counted: (u64, u64, u64),
}

async fn call(on: On, rpc: Rpc, retries: u32, reply: &Reply) -> Went {
    let server = Server::always(reply.clone());
    let governor = governor(|gcp| gcp.max_retries(retries));
    let client = client(on, &server, by(&governor)).await;
    let said = client.call(rpc, Ask::default()).await.expect_err("always");
    assert_eq!(slots_in_use(&governor), 0, "{on:?} {rpc:?}");
    let totals = totals(&governor);
    Went { said, seen: server.count() as u64, counted: (totals.calls, totals.operations, totals.gave_up) }
}

/// Each of these calls is sent so often, and comes back with what the service said last.
async fn check(rpcs: &[Rpc], reply: &Reply, code: Code, sent: impl Fn(u32) -> u64) {
    for on in On::ALL {
        for &rpc in rpcs {
            for retries in [0, 3] {
                let Went { said, seen, counted } = call(on, rpc, retries, reply).await;
                let what = format!("{on:?} {rpc:?}, {retries} retries, {reply:?}: {said:?}");
                assert_eq!((said.code, said.refusal), (code, None), "{what}");
                assert_eq!((seen, counted), (sent(retries), (sent(retries), 1, 1)), "{what}");
            }
        }
    }
}

fn every(retries: u32) -> u64 {
    u64::from(retries) + 1
}

fn one(_: u32) -> u64 {
    1
}

/// The status in the headers, and in trailers behind them.
fn both(code: Code, details: Option<&ErrorDetails>) -> [Reply; 2] {
    [Reply::trailers_only(code, details.cloned()), Reply::trailers(code, details.cloned())]
}

fn throttles() -> [ErrorDetails; 2] {
    [
        ErrorDetails::with_retry_info(Some(seconds(7))),
        ErrorDetails::with_error_info("RATE_LIMIT_EXCEEDED", "googleapis.com", []),
    ]
}

#[tokio::test(start_paused = true)]
async fn a_call_to_a_service_that_is_always_down_is_sent_once_and_for_each_retry() {
    for reply in both(Code::Unavailable, None) {
        check(&Rpc::REPEATABLE, &reply, Code::Unavailable, every).await;
        check(&Rpc::ONCE, &reply, Code::Unavailable, one).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_always_refused_for_want_of_something_is_sent_once_and_for_each_retry() {
    for reply in both(Code::ResourceExhausted, None) {
        check(&Rpc::REPEATABLE, &reply, Code::ResourceExhausted, every).await;
        // Of what, it does not say: it may have been while it was executed.
        check(&Rpc::ONCE, &reply, Code::ResourceExhausted, one).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_always_throttled_is_sent_once_and_for_each_retry_whatever_it_is() {
    for details in throttles() {
        let [in_headers, in_trailers] = both(Code::ResourceExhausted, Some(&details));
        for reply in [&in_headers, &in_trailers] {
            check(&Rpc::REPEATABLE, reply, Code::ResourceExhausted, every).await;
            check(&[Rpc::CreateBucket], reply, Code::ResourceExhausted, every).await;
        }
        check(&[Rpc::ComposeObject], &in_headers, Code::ResourceExhausted, every).await;
        // Its answer may be a stream, for all that is known of it: the caller has it from the headers on.
        check(&[Rpc::ComposeObject], &in_trailers, Code::ResourceExhausted, one).await;
    }
}

/// Of a unary call nobody has seen the message that it takes back.
#[tokio::test(start_paused = true)]
async fn an_error_behind_the_message_of_a_unary_answer_is_retried_too() {
    let reply = Reply::grpc(b"").ending(Code::Unavailable, None);
    check(&Rpc::REPEATABLE, &reply, Code::Unavailable, every).await;
    check(&[Rpc::CreateBucket], &reply, Code::Unavailable, one).await;
    for on in On::ALL {
        let went = call(on, Rpc::ComposeObject, 3, &reply).await;
        // For all that is known, it is a stream that was delivering.
        assert_eq!((went.said.code, went.seen, went.counted), (Code::Unavailable, 1, (1, 1, 0)), "{on:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_says_when_to_come_back_or_not_to_is_heeded() {
    let down = |pushback| Reply::trailers_only(Code::Unavailable, None).header("grpc-retry-pushback-ms", pushback);
    check(&Rpc::REPEATABLE, &down("-1"), Code::Unavailable, one).await;
    for on in On::ALL {
        let server = Server::script([down("7000"), Reply::grpc(b"")]);
        let governor = governor(|gcp| gcp);
        let begun = tokio::time::Instant::now();
        let answer = client(on, &server, by(&governor)).await.call(Rpc::GetTopic, Ask::default()).await;
        assert_eq!((answer, server.count()), (Ok(()), 2), "{on:?}");
        assert!(begun.elapsed() >= seconds(7), "{on:?}: {:?}", begun.elapsed());
    }
}

#[tokio::test(start_paused = true)]
async fn the_callers_word_makes_a_call_repeatable() {
    for reply in both(Code::Unavailable, None) {
        for on in On::ALL {
            let server = Server::always(reply.clone());
            let governor = governor(|gcp| gcp.max_retries(3));
            let client = client(on, &server, by(&governor)).await;
            let report = CallReport::new();
            let options = CallOptions::new().idempotent(true).report(&report);
            client.call(Rpc::CreateBucket, Ask::with(options)).await.expect_err("always");
            assert_eq!((server.count(), report.attempts()), (4, 4), "{on:?}");
            assert_eq!(report.gave_up(), Some(GiveUp::RetriesExhausted));
            let options = CallOptions::new().idempotent(false);
            client.call(Rpc::GetTopic, Ask::with(options)).await.expect_err("always");
            assert_eq!(server.count(), 5, "{on:?}");
            client.call(Rpc::GetTopic, Ask::with(CallOptions::new().skip())).await.expect_err("always");
            assert_eq!((server.count(), totals(&governor).calls), (6, 5), "{on:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_page_that_is_no_grpc_is_judged_by_its_http_status() {
    // What the clients make of a page with text is as much as they say without a governor.
    for (text, code) in [("", Code::Unavailable), ("<html>try again</html>", Code::Internal)] {
        let page = Reply::new(503, text).header("content-type", "text/html");
        check(&Rpc::REPEATABLE, &page, code, every).await;
        check(&Rpc::ONCE, &page, code, one).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_whose_connection_is_always_reset_is_sent_once_and_for_each_retry() {
    for reply in [Reply::Reset, Reply::Broken] {
        for on in On::ALL {
            for rpc in Rpc::REPEATABLE.into_iter().chain(Rpc::ONCE) {
                for retries in [0, 3] {
                    let Went { said, seen, counted } = call(on, rpc, retries, &reply).await;
                    let most = if Rpc::ONCE.contains(&rpc) { 1 } else { every(retries) };
                    let what = format!("{reply:?} {on:?} {rpc:?}, {retries} retries: {said:?}");
                    assert_eq!((said.refusal, counted), (None, (most, 1, 1)), "{what}");
                    // An attempt may be given the connection that has just been reset, and never leave.
                    assert!((1..=most).contains(&seen), "{what}: {seen}");
                }
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_finds_nobody_at_the_address_is_tried_once_and_for_each_retry_whatever_it_is() {
    for on in [On::New, On::Old] {
        for rpc in Rpc::REPEATABLE.into_iter().chain(Rpc::ONCE) {
            let governor = governor(|gcp| gcp.max_retries(3));
            let server = Server::nobody();
            let client = client(on, &server, by(&governor)).await;
            let said = client.call(rpc, Ask::default()).await.expect_err("always");
            let totals = totals(&governor);
            let counted = (said.refusal, totals.calls, totals.operations, totals.gave_up);
            assert_eq!(counted, (None, 4, 1, 1), "{on:?} {rpc:?}: {said:?}");
            assert!(said.text.contains("refused"), "{on:?} {rpc:?}: {said:?}");
            assert_eq!(slots_in_use(&governor), 0);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_fails_for_good_is_sent_once() {
    let daily = ErrorDetails::with_error_info(
        "RATE_LIMIT_EXCEEDED",
        "googleapis.com",
        [("quota_limit".to_owned(), "RequestsPerDayPerProject".to_owned())],
    );
    for (code, details) in
        [(Code::PermissionDenied, None), (Code::NotFound, None), (Code::ResourceExhausted, Some(&daily))]
    {
        for reply in both(code, details) {
            for on in On::ALL {
                for rpc in Rpc::REPEATABLE.into_iter().chain(Rpc::ONCE) {
                    let Went { said, seen, counted } = call(on, rpc, 3, &reply).await;
                    assert_eq!((said.code, said.refusal), (code, None), "{on:?} {rpc:?}: {said:?}");
                    assert_eq!((seen, counted), (1, (1, 1, 0)), "{on:?} {rpc:?}: {said:?}");
                }
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_caller_gets_the_services_own_status_with_all_that_is_in_it() {
    for details in throttles() {
        let replies = [
            Reply::trailers_only(Code::ResourceExhausted, Some(details.clone())).header("x-own", "mine"),
            Reply::trailers(Code::ResourceExhausted, Some(details)).trailer("x-own", "mine"),
        ];
        for reply in replies {
            for on in On::ALL {
                for rpc in Rpc::REPEATABLE.into_iter().chain(Rpc::ONCE) {
                    let governed = call(on, rpc, 2, &reply).await.said;
                    let server = Server::always(reply.clone());
                    let plain = crate::clients::plain(on, &server).await.call(rpc, Ask::default()).await;
                    let plain = plain.expect_err("always");
                    assert_eq!(governed.own.as_deref(), Some("mine"), "{on:?} {rpc:?}");
                    assert!(!governed.details.is_empty(), "{on:?} {rpc:?}");
                    // But for the date, which hyper's servers add, all of it.
                    let [mut governed, mut plain] = [governed, plain];
                    governed.text.clear();
                    plain.text.clear();
                    assert_eq!(governed, plain, "{on:?} {rpc:?}");
                }
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_wait_that_a_service_asks_for_is_kept() {
    let details = ErrorDetails::with_retry_info(Some(seconds(7)));
    for first in both(Code::ResourceExhausted, Some(&details)) {
        for on in On::ALL {
            let server = Server::script([first.clone(), Reply::grpc(b"")]);
            let governor = governor(|gcp| gcp);
            let client = client(on, &server, by(&governor)).await;
            let begun = tokio::time::Instant::now();
            client.call(Rpc::Publish, Ask::default()).await.expect("an answer");
            assert_eq!(server.count(), 2);
            assert!(begun.elapsed() >= seconds(7), "{on:?}: {:?}", begun.elapsed());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_sent_again_is_what_was_sent_first() {
    for on in On::ALL {
        let server = Server::script([Reply::trailers_only(Code::Unavailable, None), Reply::grpc(b"")]);
        let governor = governor(|gcp| gcp);
        let client = client(on, &server, by(&governor)).await;
        client.call(Rpc::Publish, Ask::default()).await.expect("an answer");
        let [first, second] = server.asked().try_into().expect("two requests");
        assert_eq!((&first.path, &first.headers, &first.body), (&second.path, &second.headers, &second.body), "{on:?}");
        let said = std::str::from_utf8(&first.body).expect("text");
        assert!(said.contains("projects/p1/topics/t") && said.contains("xxxxx"), "{said:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_open_circuit_refuses_and_the_caller_finds_why() {
    for on in On::ALL {
        let server = Server::always(Reply::trailers_only(Code::Unavailable, None));
        let governor = governor(|gcp| gcp.max_retries(0).breaker_failures(2));
        let client = client(on, &server, by(&governor)).await;
        for _ in 0..2 {
            client.call(Rpc::GetTopic, Ask::default()).await.expect_err("always");
        }
        let said = client.call(Rpc::GetTopic, Ask::default()).await.expect_err("an open circuit");
        assert_eq!((said.refusal, server.count()), (Some(RefusalKind::CircuitOpen), 2), "{on:?}: {said:?}");
        assert!(said.message.contains("client-side"), "{on:?}: {said:?}");
        assert_eq!(slots_in_use(&governor), 0);
    }
}
