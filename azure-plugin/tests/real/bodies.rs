//! Bodies that are cut in the middle.

use std::num::NonZero;

use azure_core::error::ErrorKind;
use azure_storage_blob::models::BlobClientDownloadOptions;

use crate::common::{blob_at, blobs, governor, queue_at, totals};
use crate::server::{Reply, Server};

const MESSAGES: &str = "<?xml version=\"1.0\"?><QueueMessagesList><QueueMessage><MessageId>id</MessageId>\
    <MessageText>job</MessageText></QueueMessage></QueueMessagesList>";

#[tokio::test]
async fn a_stream_cut_short_is_a_transient_failure_that_its_reader_sees() {
    let server = Server::always(Reply::new(200, vec![7; 4096]).cut());
    let governor = governor(|azure| azure.max_retries(3));
    let download = blob_at(&server, &governor).download(None).await.expect("a head");
    let error = download.body.collect().await.expect_err("cut short");
    assert_eq!(*error.kind(), ErrorKind::Io);
    let totals = totals(&governor);
    assert_eq!((server.count(), totals.calls, totals.transient_errors, totals.gave_up), (1, 1, 1, 1));
    assert_eq!(blobs(&governor).slots_in_use, 0);
}

#[tokio::test]
async fn a_part_cut_short_fails_the_download_it_is_of() {
    let part = |first: usize| {
        let range = format!("bytes {first}-{}/4096", first + 1023);
        Reply::new(206, vec![7; 1024]).header("content-range", range).header("etag", "\"0x1\"")
    };
    let server = Server::start(move |_, number| match number {
        3 => part(2048).cut(),
        _ => part(1024 * (number - 1)),
    });
    let governor = governor(|azure| azure.max_retries(3));
    let options = BlobClientDownloadOptions {
        parallel: NonZero::new(1),
        partition_size: NonZero::new(1024),
        ..Default::default()
    };
    let download = blob_at(&server, &governor).download(Some(options)).await.expect("a head");
    download.body.collect().await.expect_err("cut short");
    assert_eq!((totals(&governor).transient_errors, totals(&governor).gave_up), (1, 1));
    assert_eq!((server.count(), blobs(&governor).slots_in_use), (3, 0));
}

#[tokio::test]
async fn an_answer_that_is_read_whole_before_it_is_looked_at_is_fetched_again_if_cut_short() {
    let whole = Reply::new(200, MESSAGES);
    let server = Server::script([whole.clone().cut(), whole]);
    let governor = governor(|azure| azure.max_retries(3));
    let peeked = queue_at(&server, &governor).peek_messages(None).await.expect("an answer").into_model();
    let items = peeked.expect("XML").items.unwrap_or_default();
    assert_eq!(items.first().and_then(|message| message.message_text.as_deref()), Some("job"));
    let totals = totals(&governor);
    assert_eq!((server.count(), totals.calls, totals.retries, totals.transient_errors), (2, 2, 1, 1));
}

#[tokio::test]
async fn an_answer_that_is_always_cut_short_is_fetched_once_and_for_each_retry() {
    let server = Server::always(Reply::new(200, MESSAGES).cut());
    let governor = governor(|azure| azure.max_retries(3));
    queue_at(&server, &governor).peek_messages(None).await.map(drop).expect_err("cut short");
    assert_eq!((server.count(), totals(&governor).gave_up), (4, 1));
}
