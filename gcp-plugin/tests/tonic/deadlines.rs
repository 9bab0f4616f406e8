//! What bounds a call in time: the request's own timeout, the policy's deadline, the timeout of an attempt.

use cloud_governor::{
    CallOptions, CallReport, FakeClock, GiveUp, Governor, RefusalKind, RetryPolicy, RetryPolicyBuilder,
};
use tonic::Code;

use crate::clients::{Ask, On, Rpc, by, client, plain};
use crate::governors::{governor, is_at_rest, millis, seconds, timed, totals, until};
use crate::reply::Reply;
use crate::server::Server;

/// Retries every second for ever, unless something else ends it.
fn steady(clock: &FakeClock) -> Governor {
    timed(clock, |gcp| {
        let gcp = gcp.max_retries(1_000).base_delay(seconds(1)).max_backoff(seconds(1));
        gcp.breaker_failures(1_000_000).retry_budget(1_000_000)
    })
}

fn policy(set: impl FnOnce(RetryPolicyBuilder) -> RetryPolicyBuilder) -> CallOptions {
    CallOptions::from(set(RetryPolicy::builder()).build().expect("a sound policy"))
}

/// What a timeout in `grpc-timeout` says, in nanoseconds.
fn nanos(text: &str) -> u64 {
    let (digits, unit) = text.split_at(text.len() - 1);
    let size = match unit {
        "n" => 1,
        "u" => 1_000,
        "m" => 1_000_000,
        "S" => 1_000_000_000,
        "M" => 60_000_000_000,
        _ => 3_600_000_000_000,
    };
    digits.parse::<u64>().expect("digits") * size
}

/// Lets the clock go by a second for each failure, until the call is over.
async fn seconds_pass<T>(clock: &FakeClock, governor: &Governor, call: tokio::task::JoinHandle<T>) -> T {
    let mut failures = 0;
    while !call.is_finished() {
        failures += 1;
        let told = || totals(governor).transient_errors >= failures && clock.waiting() > 0;
        until("the next failure", || call.is_finished() || told()).await;
        clock.advance(seconds(1));
    }
    call.await.expect("no panic")
}

#[tokio::test]
async fn the_timeout_of_a_request_bounds_its_call_with_all_retries() {
    for on in On::ALL {
        let server = Server::always(Reply::trailers_only(Code::Unavailable, None));
        let clock = FakeClock::new();
        let governor = steady(&clock);
        let client = client(on, &server, by(&governor)).await;
        let report = CallReport::new();
        let ask = Ask { timeout: Some(seconds(60)), ..Ask::with(CallOptions::new().report(&report)) };
        let call = tokio::spawn(client.call(Rpc::GetTopic, ask));
        let said = seconds_pass(&clock, &governor, call).await.expect_err("always");
        assert_eq!((said.code, said.refusal), (Code::Unavailable, None), "{on:?}: {said:?}");
        assert_eq!(report.gave_up(), Some(GiveUp::DeadlineExceeded), "{on:?}");
        let asked = server.asked();
        assert!((59..=61).contains(&asked.len()), "{on:?}: {} requests", asked.len());
        // Each says how much is left.
        let left: Vec<_> = asked.iter().map(|asked| nanos(asked.header("grpc-timeout").expect("a timeout"))).collect();
        assert_eq!(left[0], 60_000_000_000, "{on:?}");
        assert!(left.windows(2).all(|two| two[0] - two[1] == 1_000_000_000), "{on:?}: {left:?}");
        assert!(is_at_rest(&governor));
    }
}

/// Virtual time, in which a server that says nothing costs none.
#[tokio::test(start_paused = true)]
async fn a_call_that_is_not_answered_in_time_ends_as_it_would_without_a_governor() {
    for on in On::ALL {
        let server = Server::always(Reply::Silence);
        let governor = governor(|gcp| gcp.max_retries(3));
        let begun = tokio::time::Instant::now();
        let said = client(on, &server, by(&governor)).await.call(Rpc::GetTopic, Ask::within(seconds(5))).await;
        let took = begun.elapsed();
        let plain = plain(on, &server).await.call(Rpc::GetTopic, Ask::within(seconds(5))).await.expect_err("silence");
        let said = said.expect_err("silence");
        assert_eq!((said.code, &said.message), (plain.code, &plain.message), "{on:?}: {said:?}");
        // All of it, whatever was tried again.
        assert!((seconds(5)..=millis(5_200)).contains(&took), "{on:?}: {took:?}");
        assert_eq!(totals(&governor).operations, 1);
        assert!(is_at_rest(&governor), "{on:?}");
    }
}

#[tokio::test]
async fn the_deadline_of_the_policy_bounds_a_call_with_all_retries() {
    for on in On::ALL {
        let server = Server::always(Reply::trailers(Code::Unavailable, None));
        let clock = FakeClock::new();
        let governor = steady(&clock);
        let client = client(on, &server, by(&governor)).await;
        let report = CallReport::new();
        let ask = Ask::with(policy(|policy| policy.deadline(seconds(10))).report(&report));
        let call = tokio::spawn(client.call(Rpc::GetTopic, ask));
        let said = seconds_pass(&clock, &governor, call).await.expect_err("always");
        assert_eq!((said.code, report.gave_up()), (Code::Unavailable, Some(GiveUp::DeadlineExceeded)), "{on:?}");
        assert!((10..=11).contains(&server.count()), "{on:?}: {} requests", server.count());
        assert!(is_at_rest(&governor));
    }
}

#[tokio::test]
async fn an_attempt_that_takes_too_long_is_let_go_and_the_next_one_answers() {
    for on in On::ALL {
        let server = Server::script([Reply::Silence, Reply::messages(b"", 2).stalled(), Reply::grpc(b"")]);
        let clock = FakeClock::new();
        let governor = steady(&clock);
        let client = client(on, &server, by(&governor)).await;
        let ask = Ask::with(policy(|policy| policy.attempt_timeout(seconds(5))));
        let call = tokio::spawn(client.call(Rpc::GetTopic, ask));
        for number in 1..=2 {
            // One that says nothing, and one whose answer does not come to its end.
            until("an attempt", || server.count() == number && clock.waiting() > 0).await;
            clock.advance(seconds(5));
            until("its end", || totals(&governor).transient_errors == number as u64 && clock.waiting() > 0).await;
            clock.advance(seconds(1));
        }
        call.await.expect("no panic").expect("an answer");
        assert_eq!((server.count(), totals(&governor).retries), (3, 2), "{on:?}");
        until("the end of those that were let go", || server.in_flight() == 0).await;
        assert!(is_at_rest(&governor));
    }
}

#[tokio::test]
async fn attempts_that_all_take_too_long_are_as_many_as_there_may_be() {
    for on in On::ALL {
        let server = Server::always(Reply::Silence);
        let clock = FakeClock::new();
        let governor = steady(&clock);
        let client = client(on, &server, by(&governor)).await;
        let ask = Ask::with(policy(|policy| policy.attempt_timeout(seconds(5)).max_retries(2)));
        let call = tokio::spawn(client.call(Rpc::GetTopic, ask));
        for number in 1..=3 {
            until("an attempt", || server.count() == number && clock.waiting() > 0).await;
            clock.advance(seconds(5));
            let failed = || totals(&governor).transient_errors == number as u64;
            until("its end", || call.is_finished() || failed() && clock.waiting() > 0).await;
            clock.advance(seconds(1));
        }
        let said = call.await.expect("no panic").expect_err("silence");
        assert_eq!((server.count(), totals(&governor).gave_up), (3, 1), "{on:?}: {said:?}");
        assert!(!said.message.is_empty(), "{on:?}: {said:?}");
        assert!(is_at_rest(&governor));
    }
}

#[tokio::test]
async fn a_call_that_would_wait_longer_than_it_may_take_is_refused_at_once() {
    for on in On::ALL {
        let server = Server::always(Reply::grpc(b""));
        let clock = FakeClock::new();
        let governor = timed(&clock, |gcp| {
            gcp.service("pubsub", |pubsub| pubsub.per_operation(true).max_rps(0.01).floor_rps(0.01).burst(1.0))
        });
        let client = client(on, &server, by(&governor)).await;
        client.call(Rpc::GetTopic, Ask::default()).await.expect("an answer");
        let said = client.call(Rpc::GetTopic, Ask::within(seconds(5))).await.expect_err("a wait of 100 s");
        assert_eq!((said.refusal, server.count()), (Some(RefusalKind::DeadlineExceeded), 1), "{on:?}: {said:?}");
        assert!(is_at_rest(&governor));
    }
}

/// Its attempts have a timeout, which ends before its first message comes.
#[tokio::test]
async fn no_timeout_of_an_attempt_ends_a_stream_that_was_opened() {
    for on in On::ALL {
        let server = Server::live(|_, _| Reply::grpc(b"").for_each(2));
        let clock = FakeClock::new();
        let governor = steady(&clock);
        let client = client(on, &server, by(&governor)).await;
        let (more, mut wanted) = tokio::sync::mpsc::unbounded_channel();
        let going = futures_util::stream::poll_fn(move |cx| wanted.poll_recv(cx));
        let ask = Ask::with(policy(|policy| policy.attempt_timeout(seconds(5)).deadline(seconds(10))));
        let coming = client.pull(ask, Box::pin(going)).await.expect("a stream");
        clock.advance(seconds(3_600));
        for () in [(), ()] {
            more.send(()).expect("a stream");
        }
        let (came, said) = crate::clients::received(coming).await;
        assert_eq!((came, said), (2, None), "{on:?}");
        assert_eq!(totals(&governor).transient_errors, 0);
    }
}
