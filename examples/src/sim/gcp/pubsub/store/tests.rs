use super::*;

const SECOND: Duration = Duration::from_secs(1);
const DEADLINE: Duration = Duration::from_secs(10);

fn store() -> Store {
    let store = Store::default();
    store.create_topic("projects/p/topics/t").expect("a new topic");
    store
        .create_subscription("projects/p/subscriptions/s", "projects/p/topics/t", DEADLINE)
        .expect("a new subscription");
    store
}

fn publish(store: &Store, messages: usize) -> Vec<String> {
    let message = |index: usize| PubsubMessage { data: index.to_string().into_bytes(), ..PubsubMessage::default() };
    store.publish("projects/p/topics/t", (0..messages).map(message).collect()).expect("a topic")
}

fn pull(store: &Store, most: usize, stream: Option<u64>, now: Duration) -> Vec<ReceivedMessage> {
    store.pull("projects/p/subscriptions/s", Want { most, deadline: None, stream }, now).expect("a subscription")
}

fn acknowledge(store: &Store, received: &[ReceivedMessage], now: Duration) {
    let ids: Vec<_> = received.iter().map(|received| received.ack_id.clone()).collect();
    store.acknowledge("projects/p/subscriptions/s", &ids, now).expect("a subscription");
}

#[test]
fn a_message_is_delivered_until_it_is_acknowledged_in_time() {
    let store = store();
    publish(&store, 1);
    let first = pull(&store, 10, None, Duration::ZERO);
    assert_eq!((first.len(), first[0].delivery_attempt), (1, 1));
    assert!(pull(&store, 10, None, SECOND).is_empty(), "somebody has it");
    assert_eq!(store.next_redelivery("projects/p/subscriptions/s"), Some(DEADLINE));

    let again = pull(&store, 10, None, DEADLINE);
    assert_eq!((again.len(), again[0].delivery_attempt), (1, 2));
    acknowledge(&store, &first, DEADLINE);
    assert_eq!(store.tally().left, 1, "the first delivery's id is worth nothing any more");
    acknowledge(&store, &again, DEADLINE + SECOND);
    assert_eq!(store.tally(), Tally { stored: 1, delivered: 2, acknowledged: 1, left: 0 });
    acknowledge(&store, &again, DEADLINE + SECOND);
    assert_eq!(store.tally().acknowledged, 1, "twice is once");
}

#[test]
fn each_subscription_has_each_message() {
    let store = store();
    store
        .create_subscription("projects/p/subscriptions/u", "projects/p/topics/t", DEADLINE)
        .expect("a new subscription");
    assert_eq!(publish(&store, 3), ["1", "2", "3"]);
    acknowledge(&store, &pull(&store, 3, None, SECOND), SECOND);
    assert_eq!(store.tally(), Tally { stored: 3, delivered: 3, acknowledged: 3, left: 3 });
}

#[test]
fn a_stream_is_not_sent_more_than_it_wants_to_have_at_once() {
    let store = store();
    publish(&store, 5);
    let first = pull(&store, 2, Some(1), Duration::ZERO);
    assert_eq!(first.len(), 2);
    assert!(pull(&store, 2, Some(1), Duration::ZERO).is_empty());
    assert_eq!(pull(&store, 2, Some(2), Duration::ZERO).len(), 2, "another stream has a count of its own");
    acknowledge(&store, &first[..1], SECOND);
    assert_eq!(pull(&store, 2, Some(1), SECOND).len(), 1);
}

#[test]
fn the_time_to_acknowledge_can_be_moved_and_a_message_given_back() {
    let store = store();
    publish(&store, 2);
    let received = pull(&store, 2, None, Duration::ZERO);
    let put_off = |index: usize, until| {
        let id = std::slice::from_ref(&received[index].ack_id);
        store.put_off("projects/p/subscriptions/s", id, until, SECOND).expect("a subscription");
    };
    put_off(0, DEADLINE * 2);
    put_off(1, SECOND);
    assert_eq!(pull(&store, 2, None, SECOND).len(), 1, "the second was given back");
    assert!(pull(&store, 2, None, DEADLINE).is_empty(), "the first is kept, and the second out again");
}

#[test]
fn what_does_not_exist_is_not_found_and_what_exists_is_not_made_twice() {
    let store = store();
    let code = |result: Result<(), Status>| result.expect_err("an error").code();
    assert_eq!(code(store.has_topic("projects/p/topics/u")), tonic::Code::NotFound);
    assert_eq!(code(store.create_topic("projects/p/topics/t")), tonic::Code::AlreadyExists);
    let subscribe = |name: &str, topic: &str| store.create_subscription(name, topic, DEADLINE);
    assert_eq!(code(subscribe("projects/p/subscriptions/s", "projects/p/topics/t")), tonic::Code::AlreadyExists);
    assert_eq!(code(subscribe("projects/p/subscriptions/u", "projects/p/topics/u")), tonic::Code::NotFound);
    let want = Want { most: 1, deadline: None, stream: None };
    assert_eq!(store.pull("s", want, SECOND).expect_err("an error").code(), tonic::Code::NotFound);
}
