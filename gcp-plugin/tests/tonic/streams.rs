//! Streams of every kind: opened once, paced, counted, and never sent again once they may have been read.

use std::num::NonZeroUsize;

use cloud_governor::{CallOptions, CallReport, Governor, ProviderBuilder, RefusalKind};
use futures_util::{StreamExt, stream};
use tonic::Code;
use tonic_types::ErrorDetails;

use crate::clients::{Answer, Ask, Client, Coming, Going, On, Rpc, by, client, received};
use crate::governors::{governor, is_at_rest, slots_in_use, totals, until};
use crate::reply::Reply;
use crate::server::Server;

const RETRIES: u32 = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// The server's messages stream.
    Read,
    /// The client's do.
    Write,
    /// Both do.
    Pull,
}

impl Kind {
    const ALL: [Kind; 3] = [Kind::Read, Kind::Write, Kind::Pull];

    /// Opens one whose own messages are these, and reads all of the answer.
    fn run(self, client: &Client, ask: Ask, going: Going) -> Answer<usize> {
        async fn all(coming: Answer<Coming>) -> Result<usize, crate::clients::Said> {
            let (came, said) = received(coming.await?).await;
            said.map_or(Ok(came), Err)
        }
        match self {
            Kind::Read => Box::pin(all(client.read(ask))),
            Kind::Write => {
                let writing = client.write(ask, going);
                Box::pin(async move { writing.await.map(|()| 1) })
            }
            Kind::Pull => Box::pin(all(client.pull(ask, going))),
        }
    }
}

/// Three messages, all of which are there at once.
fn short() -> Going {
    stream::iter([(); 3]).boxed()
}

/// As many, but the end does not come.
fn open() -> Going {
    stream::iter([(); 3]).chain(stream::pending()).boxed()
}

/// As many, each of which is waited for.
fn slow() -> Going {
    stream::iter([(); 3]).then(|()| tokio::task::yield_now()).boxed()
}

fn ours() -> Governor {
    governor(|gcp| gcp.max_retries(RETRIES).account_concurrency(NonZeroUsize::MIN).breaker_failures(1_000_000))
}

fn throttled() -> Option<ErrorDetails> {
    Some(ErrorDetails::with_error_info("RATE_LIMIT_EXCEEDED", "googleapis.com", []))
}

#[tokio::test]
async fn a_stream_is_one_call_and_its_messages_come_as_they_were_sent() {
    for on in On::ALL {
        for kind in Kind::ALL {
            for going in [short, slow] {
                let server = Server::live(|asked, _| match asked.path.rsplit('/').next() {
                    Some("ReadObject") => Reply::messages(b"", 5),
                    Some("WriteObject") => Reply::grpc(b""),
                    _ => Reply::grpc(b"").for_each(3),
                });
                let governor = ours();
                let client = client(on, &server, by(&governor)).await;
                let came = kind.run(&client, Ask::default(), going()).await.expect("an answer");
                let expected = match kind {
                    Kind::Read => (5, 1),
                    Kind::Write => (1, 3),
                    Kind::Pull => (3, 3),
                };
                assert_eq!((came, server.messages()), expected, "{on:?} {kind:?}");
                let totals = totals(&governor);
                let counts = (totals.operations, totals.calls, totals.transient_errors, totals.gave_up);
                assert_eq!((server.count(), counts), (1, (1, 1, 0, 0)), "{on:?} {kind:?}");
                assert!(is_at_rest(&governor));
            }
        }
    }
}

/// The account has one slot: a stream that kept it would keep all else waiting.
#[tokio::test]
async fn a_stream_that_lives_holds_no_slot() {
    for on in On::ALL {
        let server = Server::live(|asked, _| match asked.path.rsplit('/').next() {
            Some("ReadObject") => Reply::messages(b"", 6).stalled().at_once(),
            Some("StreamingPull") => Reply::grpc(b"").for_each(1_000),
            // A write is answered at its end.
            _ => Reply::grpc(b""),
        });
        let governor = ours();
        let client = client(on, &server, by(&governor)).await;
        let home = || Ask::of("home");
        let mut reads = client.read(home()).await.expect("a stream");
        let (held, going) = crate::clients::held();
        let mut pulls = client.pull(home(), going).await.expect("a stream");
        for coming in [&mut reads, &mut pulls] {
            for _ in 0..3 {
                coming.next().await.expect("a message").expect("a message");
            }
        }
        let (held_too, going) = crate::clients::held();
        let writes = tokio::spawn(client.write(home(), going));
        until("the messages", || server.messages() == 1 + 3 + 3).await;
        assert_eq!((server.in_flight(), slots_in_use(&governor)), (3, 0), "{on:?}");
        client.call(Rpc::GetBucket, home()).await.expect("an answer");
        writes.abort();
        drop((reads, pulls, held, held_too));
        until("their end", || server.in_flight() == 0).await;
        assert!(is_at_rest(&governor), "{on:?}");
        let totals = totals(&governor);
        assert_eq!((totals.calls, totals.transient_errors, totals.gave_up), (4, 0, 0), "{on:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_whose_request_is_there_as_a_whole_is_opened_again_if_the_headers_say_why() {
    for on in On::ALL {
        // Reads and pulls may be repeated, writes may not.
        for (kind, code, details, sent) in [
            (Kind::Read, Code::Unavailable, None, 4),
            (Kind::Pull, Code::Unavailable, None, 4),
            (Kind::Write, Code::Unavailable, None, 1),
            (Kind::Read, Code::ResourceExhausted, throttled(), 4),
            (Kind::Pull, Code::ResourceExhausted, throttled(), 4),
            (Kind::Write, Code::ResourceExhausted, throttled(), 4),
        ] {
            let server = Server::always(Reply::trailers_only(code, details.clone()));
            let governor = ours();
            let client = client(on, &server, by(&governor)).await;
            let said = kind.run(&client, Ask::default(), short()).await.expect_err("always");
            assert_eq!((said.code, said.refusal), (code, None), "{on:?} {kind:?}: {said:?}");
            let totals = totals(&governor);
            let counts = (server.count(), totals.calls, totals.operations, totals.gave_up);
            assert_eq!(counts, (sent, sent as u64, 1, 1), "{on:?} {kind:?} {code:?}");
            assert!(is_at_rest(&governor));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_is_sent_as_it_comes_is_opened_once_whatever_the_server_says() {
    for on in On::ALL {
        for kind in [Kind::Write, Kind::Pull] {
            for going in [open, slow] {
                for (code, details) in [(Code::Unavailable, None), (Code::ResourceExhausted, throttled())] {
                    for reply in [Reply::trailers_only(code, details.clone()), Reply::trailers(code, details.clone())] {
                        let server = Server::live(move |_, _| reply.clone().at_once());
                        let governor = ours();
                        let client = client(on, &server, by(&governor)).await;
                        let said = kind.run(&client, Ask::default(), going()).await.expect_err("always");
                        assert_eq!((said.code, said.refusal), (code, None), "{on:?} {kind:?}: {said:?}");
                        let totals = totals(&governor);
                        let counts = (server.count(), totals.calls, totals.operations, totals.gave_up);
                        assert_eq!(counts, (1, 1, 1, 1), "{on:?} {kind:?} {code:?}");
                        assert!(is_at_rest(&governor));
                    }
                }
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_in_trailers_before_any_message_is_the_callers_and_counted() {
    for on in On::ALL {
        for kind in Kind::ALL {
            let server = Server::always(Reply::trailers(Code::Unavailable, None));
            let governor = ours();
            let client = client(on, &server, by(&governor)).await;
            let report = CallReport::new();
            let ask = Ask::with(CallOptions::new().report(&report));
            let said = kind.run(&client, ask, short()).await.expect_err("always");
            assert_eq!((said.code, server.count()), (Code::Unavailable, 1), "{on:?} {kind:?}");
            let totals = totals(&governor);
            assert_eq!((totals.calls, totals.transient_errors, totals.gave_up), (1, 1, 1), "{on:?} {kind:?}");
            assert!(report.gave_up().is_some(), "{on:?} {kind:?}");
            assert!(is_at_rest(&governor));
        }
    }
}

/// Servers end streams with UNAVAILABLE as a matter of course.
#[tokio::test]
async fn what_ends_a_stream_that_was_delivering_is_the_callers_and_no_failure() {
    for on in On::ALL {
        for reply in [Reply::messages(b"", 4).ending(Code::Unavailable, None), Reply::messages(b"", 8).cut()] {
            let server = Server::always(reply);
            let governor = ours();
            let client = client(on, &server, by(&governor)).await;
            let (came, said) = received(client.read(Ask::default()).await.expect("a stream")).await;
            assert_eq!((came, said.is_some(), server.count()), (4, true, 1), "{on:?}: {said:?}");
            let totals = totals(&governor);
            let counts = (totals.calls, totals.transient_errors, totals.throttled, totals.gave_up);
            assert_eq!(counts, (1, 0, 0, 0), "{on:?}");
            assert!(is_at_rest(&governor));
        }
    }
}

/// One circuit for streams and calls, which a single failure opens.
fn broken_at_once(gcp: ProviderBuilder) -> ProviderBuilder {
    gcp.max_retries(0).breaker_failures(1).service("pubsub", |pubsub| pubsub.per_operation(false))
}

#[tokio::test(start_paused = true)]
async fn an_open_circuit_keeps_streams_from_being_opened() {
    for on in On::ALL {
        let server = Server::always(Reply::trailers_only(Code::Unavailable, None));
        let governor = governor(broken_at_once);
        let client = client(on, &server, by(&governor)).await;
        client.call(Rpc::GetBucket, Ask::of("home")).await.expect_err("always");
        client.call(Rpc::GetTopic, Ask::of("home")).await.expect_err("always");
        for kind in Kind::ALL {
            let said = kind.run(&client, Ask::of("home"), open()).await.expect_err("an open circuit");
            assert_eq!(
                (said.refusal, server.count()),
                (Some(RefusalKind::CircuitOpen), 2),
                "{on:?} {kind:?}: {said:?}"
            );
        }
        assert!(is_at_rest(&governor));
    }
}

/// A stream may be quiet for hours: whether the circuit closes must not hang on its first message.
#[tokio::test]
async fn a_stream_that_is_opened_closes_a_circuit_that_was_half_open() {
    use cloud_governor::{BreakerState, FakeClock};
    for on in On::ALL {
        let server = Server::live(|_, number| match number {
            1 => Reply::trailers_only(Code::Unavailable, None).at_once(),
            _ => Reply::grpc(b"").for_each(1_000),
        });
        let clock = FakeClock::new();
        let governor = crate::governors::timed(&clock, broken_at_once);
        let client = client(on, &server, by(&governor)).await;
        client.call(Rpc::GetTopic, Ask::default()).await.expect_err("always");
        let leaf = cloud_governor::Scope::new("gcp", "projects/p1", "", "pubsub");
        let breaker = || governor.inspect(&leaf).expect("a leaf").breaker;
        assert_eq!(breaker(), BreakerState::Open, "{on:?}");
        clock.advance(governor.inspect(&leaf).and_then(|leaf| leaf.circuit_open_for).expect("some time"));
        let coming = client.pull(Ask::default(), stream::pending().boxed()).await.expect("a stream");
        assert_eq!((breaker(), server.in_flight()), (BreakerState::Closed, 1), "{on:?}");
        drop(coming);
    }
}
