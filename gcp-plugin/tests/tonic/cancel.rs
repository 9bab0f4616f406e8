//! Calls and streams that their callers let go of: nothing of theirs stays behind.

use std::num::NonZeroUsize;
use std::pin::Pin;

use cloud_governor::Governor;
use fastrand::Rng;
use futures_util::future::join_all;
use futures_util::{StreamExt, stream};
use tonic::Code;

use crate::clients::{Ask, Client, On, Rpc, by, client};
use crate::governors::{governor, is_at_rest, millis, polled, slots_in_use, totals, until};
use crate::reply::Reply;
use crate::server::{Asked, Server};

type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

const DROPPED: usize = 1_000;

/// How many are under way at once, and how many of them may hold a slot.
const AT_ONCE: usize = 50;
const SLOTS: usize = 10;

/// Some are over after fewer.
const MOST_POLLS: usize = 10;

/// All of it comes to an end some time, and some fails.
fn answer(asked: &Asked, number: usize) -> Reply {
    match asked.path.rsplit('/').next() {
        Some("ReadObject") => Reply::messages(b"", 20).at_once(),
        Some("StreamingPull") => Reply::grpc(b"").for_each(usize::MAX),
        Some("WriteObject") => Reply::grpc(b""),
        Some("GetBucket") => Reply::grpc(b"").at_once(),
        _ if number.is_multiple_of(3) => Reply::trailers(Code::Unavailable, None).at_once().after(millis(1)),
        _ => Reply::grpc(b"").at_once().after(millis(1)),
    }
}

fn ours() -> Governor {
    governor(|gcp| {
        let gcp = gcp.account_concurrency(NonZeroUsize::new(SLOTS).expect("some"));
        gcp.breaker_failures(1_000_000).retry_budget(1_000_000)
    })
}

fn stream_of(client: &Client, number: usize) -> Work {
    let ask = Ask::of("home");
    let going = stream::repeat(()).then(|()| tokio::task::yield_now()).take(30).boxed();
    let reading = match number % 3 {
        0 => client.read(ask),
        1 => client.pull(ask, going),
        _ => {
            let writing = client.write(ask, going);
            return Box::pin(async move { drop(writing.await) });
        }
    };
    Box::pin(async move {
        if let Ok(mut coming) = reading.await {
            while coming.next().await.is_some() {
                tokio::task::yield_now().await;
            }
        }
    })
}

fn call_of(client: &Client, number: usize) -> Work {
    let rpc = Rpc::REPEATABLE[number % Rpc::REPEATABLE.len()];
    let calling = client.call(rpc, Ask::of("home"));
    Box::pin(async move { drop(calling.await) })
}

/// Drops so many of these, each at a point of its own, many at once; then the slots are all there again.
async fn dropped(work: impl Fn(&Client, usize) -> Work) {
    for on in On::ALL {
        let server = Server::live(answer);
        let governor = ours();
        let client = client(on, &server, by(&governor)).await;
        let mut random = Rng::with_seed(7);
        let (mut begun, mut dropped) = (0, 0);
        while dropped < DROPPED {
            assert!(begun < 10 * DROPPED, "{on:?}: of {begun} all but {dropped} were over before");
            let batch =
                (begun..begun + AT_ONCE).map(|number| polled(random.usize(1..MOST_POLLS), work(&client, number)));
            dropped += join_all(batch).await.iter().filter(|output| output.is_none()).count();
            begun += AT_ONCE;
            assert!(is_at_rest(&governor), "{on:?}, after {begun}: {} slots", slots_in_use(&governor));
        }
        assert!(server.count() > DROPPED / 4, "{on:?}: {} were sent", server.count());
        until("the end of all", || server.in_flight() == 0).await;
        let counted = totals(&governor).calls as usize;
        // A request that was admitted may be dropped before it leaves.
        assert!(counted >= server.count(), "{on:?}: {counted} counted, {} sent", server.count());
        let last: Vec<_> = (0..SLOTS).map(|_| client.call(Rpc::GetBucket, Ask::of("home"))).collect();
        join_all(last).await.into_iter().for_each(|result| result.expect("an answer"));
        assert!(is_at_rest(&governor), "{on:?}");
    }
}

#[tokio::test]
async fn a_thousand_streams_dropped_at_any_point_leave_no_slot() {
    dropped(stream_of).await;
}

#[tokio::test]
async fn a_thousand_calls_dropped_at_any_point_leave_no_slot() {
    dropped(call_of).await;
}

#[tokio::test]
async fn a_call_dropped_in_flight_or_in_line_leaves_nothing() {
    for on in On::ALL {
        let server = Server::always(Reply::Silence);
        let governor = governor(|gcp| gcp.account_concurrency(NonZeroUsize::MIN));
        let client = client(on, &server, by(&governor)).await;
        let calls: Vec<_> = (0..3).map(|_| tokio::spawn(client.call(Rpc::GetBucket, Ask::of("home")))).collect();
        until("one on its way, two in line", || server.count() == 1 && waiting(&governor) == 2).await;
        assert_eq!((server.in_flight(), slots_in_use(&governor)), (1, 1));
        for call in calls {
            call.abort();
            call.await.expect_err("cancelled");
        }
        assert!(is_at_rest(&governor), "{on:?}");
        until("its end", || server.in_flight() == 0).await;
        assert!(server.count() <= 3, "{on:?}");
    }
}

#[tokio::test]
async fn a_probe_dropped_in_flight_leaves_the_circuit_to_the_next() {
    use cloud_governor::{BreakerState, FakeClock};
    for on in On::ALL {
        let server = Server::start(|_, number| match number {
            1 => Reply::trailers_only(Code::Unavailable, None),
            2 => Reply::Silence,
            _ => Reply::grpc(b""),
        });
        let clock = FakeClock::new();
        let governor = crate::governors::timed(&clock, |gcp| gcp.max_retries(0).breaker_failures(1));
        let client = client(on, &server, by(&governor)).await;
        client.call(Rpc::GetTopic, Ask::default()).await.expect_err("always");
        let leaf = || crate::governors::inspect(&governor, "projects/p1", "pubsub", "GetTopic");
        clock.advance(leaf().circuit_open_for.expect("an open circuit"));
        let probe = tokio::spawn(client.call(Rpc::GetTopic, Ask::default()));
        until("the probe", || server.count() == 2).await;
        probe.abort();
        probe.await.expect_err("cancelled");
        clock.advance(leaf().circuit_open_for.unwrap_or_default());
        client.call(Rpc::GetTopic, Ask::default()).await.expect("an answer");
        assert_eq!(leaf().breaker, BreakerState::Closed, "{on:?}");
        assert!(is_at_rest(&governor));
    }
}

fn waiting(governor: &Governor) -> usize {
    let scopes = governor.summary().scopes.into_keys();
    scopes.filter_map(|scope| governor.inspect(&scope)).map(|leaf| leaf.waiting_for_slot).max().unwrap_or_default()
}
