//! Each RPC, of each project, at a rate of its own.

use std::num::NonZeroUsize;

use cloud_governor::{FakeClock, Governor, Scope};
use cloud_governor_gcp::GcpOptions;
use futures_util::future::join_all;
use futures_util::{StreamExt, stream};

use crate::clients::{Ask, Client, On, Rpc, by, client};
use crate::governors::{HOME, governor, millis, scope, seconds, timed, totals_of, until};
use crate::reply::Reply;
use crate::server::{Asked, Server};

const PUBLISH: &str = "/google.pubsub.v1.Publisher/Publish";
const GET_TOPIC: &str = "/google.pubsub.v1.Publisher/GetTopic";

/// One call at once, and then one a second.
fn slow(clock: &FakeClock, per_operation: bool) -> Governor {
    timed(clock, |gcp| {
        let gcp = gcp.service("pubsub", |pubsub| pubsub.per_operation(per_operation).max_rps(1.0).burst(1.0));
        gcp.service("storage", |storage| storage.per_operation(per_operation).max_rps(1.0).burst(1.0))
    })
}

async fn start(on: On, clock: &FakeClock, per_operation: bool) -> (Server, Governor, Client) {
    let server = Server::live(|_, _| Reply::grpc(b"").at_once());
    let governor = slow(clock, per_operation);
    let client = client(on, &server, by(&governor)).await;
    (server, governor, client)
}

fn is(path: &'static str) -> impl Fn(&Asked) -> bool {
    move |asked| asked.path == path
}

fn waiting(governor: &Governor, scope: &Scope) -> usize {
    governor.inspect(scope).map_or(0, |leaf| leaf.waiting_for_rate)
}

#[tokio::test]
async fn publish_and_get_topic_have_buckets_of_their_own_where_the_service_is_counted_by_operation() {
    for on in On::ALL {
        let clock = FakeClock::new();
        let (server, governor, client) = start(on, &clock, true).await;
        client.call(Rpc::Publish, Ask::default()).await.expect("an answer");
        let second = tokio::spawn(client.call(Rpc::Publish, Ask::default()));
        let publish = scope("projects/p1", "pubsub", "Publish");
        until("in line", || waiting(&governor, &publish) == 1).await;
        // The line of the one is none of the other's, nor of another project's.
        client.call(Rpc::GetTopic, Ask::default()).await.expect("an answer");
        client.call(Rpc::Publish, Ask::of("p2")).await.expect("an answer");
        assert_eq!((server.count_of(is(PUBLISH)), server.count_of(is(GET_TOPIC))), (2, 1), "{on:?}");
        clock.advance(millis(900));
        assert_eq!(waiting(&governor, &publish), 1, "{on:?}");
        clock.advance(millis(101));
        second.await.expect("no panic").expect("an answer");
        assert_eq!(server.count_of(is(PUBLISH)), 3, "{on:?}");
        assert_eq!(totals_of(&governor, &publish).calls, 2, "{on:?}");
    }
}

#[tokio::test]
async fn all_of_a_service_shares_one_bucket_where_it_is_not() {
    for on in On::ALL {
        let clock = FakeClock::new();
        let (server, governor, client) = start(on, &clock, false).await;
        client.call(Rpc::Publish, Ask::default()).await.expect("an answer");
        let second = tokio::spawn(client.call(Rpc::GetTopic, Ask::default()));
        let get = scope("projects/p1", "pubsub", "GetTopic");
        until("in line", || waiting(&governor, &get) == 1).await;
        assert_eq!(server.count(), 1, "{on:?}");
        clock.advance(seconds(1));
        second.await.expect("no panic").expect("an answer");
        assert_eq!(server.count(), 2, "{on:?}");
    }
}

#[tokio::test]
async fn a_stream_of_any_kind_takes_its_turn_when_it_is_opened() {
    for on in On::ALL {
        let clock = FakeClock::new();
        let (server, governor, client) = start(on, &clock, true).await;
        let going = || stream::iter([(); 3]).boxed();
        drop(client.pull(Ask::default(), going()).await.expect("a stream"));
        client.write(Ask::default(), going()).await.expect("an answer");
        drop(client.read(Ask::default()).await.expect("a stream"));
        assert_eq!(server.count(), 3);
        let again =
            (client.pull(Ask::default(), going()), client.write(Ask::default(), going()), client.read(Ask::default()));
        let again = tokio::spawn(async move { tokio::join!(again.0, again.1, again.2) });
        let [pull, write, read] = [
            scope("projects/p1", "pubsub", "StreamingPull"),
            scope(HOME, "storage", "WriteObject"),
            scope(HOME, "storage", "ReadObject"),
        ];
        until("in line", || [&pull, &write, &read].into_iter().all(|one| waiting(&governor, one) == 1)).await;
        assert_eq!(server.count(), 3, "{on:?}");
        clock.advance(seconds(1));
        let (pull, write, read) = again.await.expect("no panic");
        assert!(pull.is_ok() && write.is_ok() && read.is_ok(), "{on:?}");
        assert_eq!(server.count(), 6, "{on:?}");
    }
}

/// Virtual time: one call at once, and the other twenty at ten a second.
#[tokio::test(start_paused = true)]
async fn many_calls_at_once_go_at_the_rate_that_is_set() {
    for on in On::ALL {
        let server = Server::always(Reply::grpc(b""));
        let governor =
            governor(|gcp| gcp.service("pubsub", |pubsub| pubsub.per_operation(true).max_rps(10.0).burst(1.0)));
        let client = client(on, &server, by(&governor)).await;
        let begun = tokio::time::Instant::now();
        let all = join_all((0..21).map(|_| client.call(Rpc::Publish, Ask::default()))).await;
        assert!(all.iter().all(Result::is_ok), "{on:?}: {all:?}");
        assert!(begun.elapsed() >= millis(1990), "{on:?}: {:?}", begun.elapsed());
        assert_eq!(server.count(), 21);
    }
}

#[tokio::test]
async fn no_more_of_an_accounts_calls_are_under_way_than_it_has_slots() {
    for on in On::ALL {
        let server = Server::always(Reply::grpc(b"").after(millis(2)));
        let governor = governor(|gcp| gcp.account_concurrency(NonZeroUsize::new(3).expect("some")));
        let client = client(on, &server, by(&governor)).await;
        let rpcs = Rpc::REPEATABLE.into_iter().cycle().take(60);
        // Those that name no project are the home's.
        let all = join_all(rpcs.map(|rpc| client.call(rpc, Ask::of("home")))).await;
        assert!(all.iter().all(Result::is_ok), "{on:?}: {all:?}");
        assert_eq!((server.count(), server.most_in_flight()), (60, 3), "{on:?}");
    }
}

#[tokio::test]
async fn whom_a_call_is_charged_to_may_be_said_by_a_function() {
    for on in On::ALL {
        let server = Server::always(Reply::grpc(b""));
        let governor = governor(|gcp| gcp);
        let options: GcpOptions = by(&governor)
            .account_from(|head| head.path().starts_with("/google.storage").then(|| "projects/acme".to_owned()));
        let client = client(on, &server, options).await;
        client.call(Rpc::GetBucket, Ask::default()).await.expect("an answer");
        client.call(Rpc::GetTopic, Ask::default()).await.expect("an answer");
        for known in [Scope::new("gcp", "projects/acme", "", "storage"), scope("projects/p1", "pubsub", "GetTopic")] {
            assert_eq!(totals_of(&governor, &known).calls, 1, "{on:?}: {:?}", governor.summary());
        }
    }
}
