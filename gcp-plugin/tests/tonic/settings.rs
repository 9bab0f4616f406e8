//! The retry loops of gcloud-gax and gcloud-pubsub around governed calls: left on they multiply, switched off they do not.

use cloud_governor::{Error, Governor, RefusalKind, Resilience};
use cloud_governor_gcp::grpc_layer;
use gcloud_gax::conn::{ConnectionOptions, Environment};
use gcloud_gax::create_request;
use gcloud_gax::grpc::Status;
use gcloud_gax::retry::{MapErr, RetrySetting, invoke};
use gcloud_googleapis::pubsub::v1::publisher_client::PublisherClient;
use gcloud_googleapis::pubsub::v1::{GetTopicRequest, PubsubMessage};
use gcloud_pubsub::client::{Client, ClientConfig};
use tonic::Code;
use tower::Layer;

use crate::clients::{by, gax};
use crate::governors::{governor, scope, slots_in_use, totals};
use crate::reply::Reply;
use crate::server::Server;

const RETRIES: u32 = 3;

/// As the documentation of `grpc_layer` says: no repetition, and nothing to repeat for.
fn off() -> RetrySetting {
    RetrySetting { take: 0, codes: vec![], ..RetrySetting::default() }
}

/// What these loops send if nothing is said: one attempt and five repetitions.
const LOOPS: usize = 6;

fn down() -> Server {
    Server::always(Reply::trailers_only(Code::Unavailable, None))
}

/// Its breaker and its budget are out of the way.
fn ours() -> Governor {
    governor(|gcp| gcp.max_retries(RETRIES).breaker_failures(1_000_000).retry_budget(1_000_000))
}

// ===== gcloud-gax =====

/// `invoke` around a client over a governed channel: as gcloud-pubsub and its like do it, if they took a channel.
async fn invoked(server: &Server, governor: &Governor, setting: Option<RetrySetting>) -> Status {
    let client = PublisherClient::new(grpc_layer(by(governor)).layer(gax(server).await));
    let action = || async {
        let topic = "projects/p1/topics/t".to_owned();
        let request = create_request(format!("topic={topic}"), GetTopicRequest { topic });
        client.clone().get_topic(request).await.map_transient_err()
    };
    invoke(setting, action).await.expect_err("always")
}

#[tokio::test(start_paused = true)]
async fn switched_off_the_loop_of_gax_leaves_one_call_of_one_and_each_retry() {
    let (server, governor) = (down(), ours());
    let status = invoked(&server, &governor, Some(off())).await;
    assert_eq!((status.code(), server.count()), (Code::Unavailable, RETRIES as usize + 1));
    let totals = totals(&governor);
    assert_eq!((totals.operations, totals.calls, totals.gave_up), (1, u64::from(RETRIES) + 1, 1));
}

#[tokio::test(start_paused = true)]
async fn left_on_the_loop_of_gax_makes_six_governed_calls_of_one() {
    for setting in [None, Some(RetrySetting::default())] {
        let (server, governor) = (down(), ours());
        let status = invoked(&server, &governor, setting).await;
        assert_eq!((status.code(), server.count()), (Code::Unavailable, LOOPS * (RETRIES as usize + 1)));
        // The governor sees them all: as so many calls.
        let totals = totals(&governor);
        assert_eq!((totals.operations, totals.calls), (LOOPS as u64, server.count() as u64));
    }
}

#[tokio::test(start_paused = true)]
async fn what_the_loop_of_gax_makes_of_a_call_is_still_bounded_by_the_breaker() {
    let server = down();
    let governor = governor(|gcp| gcp.max_retries(RETRIES).breaker_failures(2).retry_budget(1_000_000));
    let status = invoked(&server, &governor, None).await;
    // A refusal is of code Unknown, which the loop takes for worth repeating: nothing of that is sent.
    assert_eq!((status.code(), server.count()), (Code::Unknown, 2 * (RETRIES as usize + 1)));
    let refusal = cloud_governor::Refusal::find(&status).expect("a refusal");
    assert_eq!(refusal.kind(), RefusalKind::CircuitOpen);
    assert_eq!(totals(&governor).rejected, LOOPS as u64 - 2);
}

// ===== gcloud-pubsub =====

async fn pubsub(server: &Server) -> Client {
    let config = ClientConfig {
        pool_size: 1,
        project_id: Some("p1".to_owned()),
        environment: Environment::Emulator(server.host()),
        endpoint: "localhost".to_owned(),
        connection_option: ConnectionOptions::default(),
    };
    Client::new(config).await.expect("a connection")
}

/// The high-level client makes its own channel: its calls are wrapped by hand.
async fn by_hand(server: &Server, governor: &Governor, setting: Option<RetrySetting>) -> Error<Status> {
    let client = pubsub(server).await;
    let topic = client.topic("t");
    let resilience = Resilience::new().governor(governor).idempotent(true);
    let scope = scope("projects/p1", "pubsub", "GetTopic");
    let exists = resilience.call(&scope, || topic.exists(setting.clone()));
    exists.await.expect_err("always")
}

#[tokio::test(start_paused = true)]
async fn switched_off_the_loop_of_pubsub_leaves_a_wrapped_call_its_retries_alone() {
    let (server, governor) = (down(), ours());
    let error = by_hand(&server, &governor, Some(off())).await;
    assert_eq!(server.count(), RETRIES as usize + 1);
    assert!(matches!(&error, Error::Call(status) if status.code() == Code::Unavailable), "{error:?}");
    assert_eq!((totals(&governor).operations, totals(&governor).calls), (1, u64::from(RETRIES) + 1));
    assert_eq!(slots_in_use(&governor), 0);
}

#[tokio::test(start_paused = true)]
async fn left_on_the_loop_of_pubsub_sends_six_requests_for_each_attempt() {
    for setting in [None, Some(RetrySetting::default())] {
        let (server, governor) = (down(), ours());
        by_hand(&server, &governor, setting).await;
        assert_eq!(server.count(), LOOPS * (RETRIES as usize + 1));
        // The governor sees a sixth of them: the loop is inside of its attempts.
        assert_eq!((totals(&governor).operations, totals(&governor).calls), (1, u64::from(RETRIES) + 1));
    }
}

#[tokio::test(start_paused = true)]
async fn the_publisher_repeats_what_is_throttled_unless_it_is_switched_off() {
    // Its own setting for Publish has more codes than the others': it repeats at once what asks for a wait.
    for (setting, sent) in [(Some(off()), 4), (None, 24)] {
        let server = Server::always(Reply::trailers_only(Code::ResourceExhausted, None));
        let governor = ours();
        let client = pubsub(&server).await;
        let publisher = client.topic("t").new_publisher(None);
        let resilience = Resilience::new().governor(&governor).idempotent(true);
        let scope = scope("projects/p1", "pubsub", "Publish");
        let message = PubsubMessage { data: b"hello".to_vec(), ..PubsubMessage::default() };
        let publish = resilience.call(&scope, || publisher.publish_immediately(vec![message.clone()], setting.clone()));
        publish.await.expect_err("always");
        assert_eq!(server.count(), sent);
    }
}
