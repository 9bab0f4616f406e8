//! Answers that are streams of events.

use std::num::NonZeroUsize;
use std::time::Duration;

use aws_sdk_s3::operation::select_object_content::SelectObjectContentOutput;
use aws_sdk_s3::operation::select_object_content::builders::SelectObjectContentFluentBuilder;
use aws_sdk_s3::types::SelectObjectContentEventStream as Event;
use aws_sdk_s3::types::{CsvInput, CsvOutput, ExpressionType, InputSerialization, OutputSerialization};
use aws_smithy_types::event_stream::{Header, HeaderValue, Message};
use bytes::Bytes;
use cloud_governor::Governor;

use crate::common::{Reply, Server, governor, leaf, s3, seconds, totals};

fn select(server: &Server, governor: &Governor) -> SelectObjectContentFluentBuilder {
    s3(server, governor)
        .select_object_content()
        .bucket("b")
        .key("k")
        .expression("select 1")
        .expression_type(ExpressionType::Sql)
        .input_serialization(InputSerialization::builder().csv(CsvInput::builder().build()).build())
        .output_serialization(OutputSerialization::builder().csv(CsvOutput::builder().build()).build())
}

fn event(kind: &'static str, name: &'static str) -> Bytes {
    let header = |name: &'static str, value: &'static str| Header::new(name, HeaderValue::String(value.into()));
    let name_of = if kind == "event" { ":event-type" } else { ":error-code" };
    let message = Message::new("1\n")
        .add_header(header(":message-type", kind))
        .add_header(header(name_of, name))
        .add_header(header(":content-type", "application/octet-stream"));
    let mut frame = Vec::new();
    aws_smithy_eventstream::frame::write_message_to(&message, &mut frame).expect("a sound frame");
    frame.into()
}

fn stream(parts: Vec<(Duration, Result<Bytes, &'static str>)>) -> Reply {
    let stream = Reply::Stream { status: 200, parts };
    Reply::With("content-type", "application/vnd.amazon.eventstream", Box::new(stream))
}

async fn rows(mut output: SelectObjectContentOutput) -> (usize, bool) {
    let mut rows = 0;
    loop {
        match output.payload.recv().await {
            Ok(Some(Event::Records(_))) => rows += 1,
            Ok(Some(_)) => {}
            Ok(None) => return (rows, true),
            Err(_) => return (rows, false),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_is_a_success_as_soon_as_it_begins_and_holds_neither_slot_nor_probe() {
    let server = Server::script([Reply::new(503, ""), stream(vec![(seconds(3600), Ok("".into()))])]);
    let governor = governor(|aws| {
        let aws = aws.account_concurrency(NonZeroUsize::MIN).max_retries(0);
        aws.breaker_failures(1).breaker_cooldown(seconds(30))
    });
    select(&server, &governor).send().await.expect_err("503, which opens the circuit");
    tokio::time::sleep(seconds(31)).await;
    let first = select(&server, &governor).send().await;
    let second = select(&server, &governor).send().await;
    assert!(first.is_ok() && second.is_ok(), "{first:?} {second:?}");
    assert_eq!(totals(&governor).calls, 3);
}

#[tokio::test(start_paused = true)]
async fn every_event_comes_through_and_a_stream_left_midway_holds_nothing() {
    let row = || (seconds(1), Ok(event("event", "Records")));
    let server = Server::always(stream(vec![row(), row(), row(), (seconds(1), Ok(event("event", "End")))]));
    let governor = governor(|aws| aws.account_concurrency(NonZeroUsize::MIN));
    let output = select(&server, &governor).send().await.expect("a stream");
    assert_eq!(rows(output).await, (3, true));
    let mut left = select(&server, &governor).send().await.expect("a stream");
    assert!(matches!(left.payload.recv().await, Ok(Some(Event::Records(_)))));
    drop(left);
    assert_eq!(leaf(&governor, "s3").slots_in_use, 0);
    let again = select(&server, &governor).send().await.expect("a stream");
    assert_eq!(rows(again).await, (3, true));
    let totals = totals(&governor);
    assert_eq!((totals.operations, totals.calls, totals.transient_errors), (3, 3, 0));
}

/// A stream that breaks after it began is the caller's to begin anew: only the caller knows how far it got.
#[tokio::test(start_paused = true)]
async fn a_stream_that_breaks_or_reports_an_error_ends_for_the_caller_and_panics_nowhere() {
    let ends =
        [Ok(event("error", "InternalError")), Err("connection reset"), Ok("no frame at all, but long enough".into())];
    for end in ends {
        let parts = vec![(Duration::ZERO, Ok(event("event", "Records"))), (Duration::ZERO, end)];
        let server = Server::always(stream(parts));
        let governor = governor(|aws| aws);
        let output = select(&server, &governor).send().await.expect("a stream");
        assert_eq!(rows(output).await, (1, false));
        assert_eq!((server.count(), leaf(&governor, "s3").slots_in_use), (1, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_is_refused_before_it_begins_is_retried() {
    let server =
        Server::script([Reply::xml_error(503, "SlowDown"), stream(vec![(Duration::ZERO, Ok(event("event", "End")))])]);
    let governor = governor(|aws| aws);
    let output = select(&server, &governor).send().await.expect("a stream");
    assert_eq!(rows(output).await, (0, true));
    assert_eq!(totals(&governor).throttled, 1);
}
