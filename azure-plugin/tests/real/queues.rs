//! Queues: what may be sent twice, and what must not be lost.

use azure_core::http::RequestContent;
use azure_core::http::XmlFormat;
use azure_storage_queue::models::{QueueClientSendMessageOptions, QueueMessage};
use cloud_governor_azure::CallOptions;

use crate::common::{code, context, governor, inspect, queue_at, status, totals};
use crate::server::{Reply, Server};

const SENT: &str = "<?xml version=\"1.0\"?><QueueMessagesList><QueueMessage><MessageId>id</MessageId></QueueMessage></QueueMessagesList>";
const RECEIVED: &str = "<?xml version=\"1.0\"?><QueueMessagesList><QueueMessage><MessageId>id</MessageId>\
    <PopReceipt>receipt</PopReceipt><MessageText>job</MessageText></QueueMessage></QueueMessagesList>";

fn message() -> RequestContent<QueueMessage, XmlFormat> {
    QueueMessage { message_text: Some("job".to_owned()) }.try_into().expect("a body")
}

#[tokio::test]
async fn a_message_whose_sending_failed_in_the_server_is_not_sent_twice() {
    let server = Server::script([Reply::coded(500, "InternalError"), Reply::new(201, SENT)]);
    let governor = governor(|azure| azure);
    let error =
        queue_at(&server, &governor).send_message(message(), None).await.map(drop).expect_err("unknown outcome");
    assert_eq!((status(&error), code(&error)), (Some(500), Some("InternalError")));
    assert_eq!((server.count(), totals(&governor).retries), (1, 0));
}

#[tokio::test]
async fn a_message_that_its_sender_says_may_be_there_twice_is_sent_again() {
    let server = Server::script([Reply::coded(500, "InternalError"), Reply::Reset, Reply::new(201, SENT)]);
    let governor = governor(|azure| azure);
    let method_options = context(CallOptions::new().idempotent(true));
    let options = QueueClientSendMessageOptions { method_options, ..Default::default() };
    queue_at(&server, &governor).send_message(message(), Some(options)).await.map(drop).expect("sent");
    let bodies: Vec<_> = server.asked().into_iter().map(|asked| asked.body).collect();
    assert_eq!(bodies.len(), 3);
    assert!(bodies.iter().all(|body| *body == bodies[0] && !body.is_empty()), "{bodies:?}");
}

#[tokio::test]
async fn a_message_that_was_throttled_is_sent_again() {
    let busy = Reply::coded(503, "ServerBusy").header("retry-after-ms", "20");
    let server = Server::script([busy.clone(), busy, Reply::new(201, SENT)]);
    let governor = governor(|azure| azure);
    queue_at(&server, &governor).send_message(message(), None).await.map(drop).expect("sent");
    assert_eq!((server.count(), totals(&governor).throttled), (3, 2));
    let leaf = inspect(&governor, "acct", "storage.queue");
    assert!(leaf.rate_rps < leaf.ceiling_rps);
}

#[tokio::test]
async fn messages_whose_reading_failed_are_read_again() {
    for failure in [Reply::coded(500, "InternalError"), Reply::Reset, Reply::new(200, RECEIVED).cut()] {
        let server = Server::script([failure, Reply::new(200, RECEIVED)]);
        let governor = governor(|azure| azure);
        let received = queue_at(&server, &governor).receive_messages(None).await.expect("an answer").into_model();
        let items = received.expect("XML").items.unwrap_or_default();
        assert_eq!(items.first().and_then(|message| message.message_text.as_deref()), Some("job"));
        assert_eq!((server.count(), totals(&governor).retries), (2, 1));
    }
}
