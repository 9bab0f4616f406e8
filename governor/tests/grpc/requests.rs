//! Request bodies: whatever they are, they arrive unchanged, and what is whole is sent again.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use cloud_governor::Resilience;
use cloud_governor::grpc::{GrpcLayer, ReplayBody};
use http::HeaderMap;
use http_body::{Body, Frame};
use http_body_util::BodyExt;
use proptest::prelude::*;
use tower_layer::Layer;
use tower_service::Service;

use crate::common::{governor, secs};
use crate::fake::*;

/// What a request's body does.
#[derive(Debug, Clone, PartialEq)]
enum Act {
    Gives(Vec<u8>),
    /// It is not there yet, and then it is.
    Waits,
    Fails,
    Ends(u8),
}

struct Acting(VecDeque<Act>);

impl Body for Acting {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        match self.0.pop_front() {
            Some(Act::Gives(bytes)) => Poll::Ready(Some(Ok(Frame::data(bytes.into())))),
            Some(Act::Fails) => Poll::Ready(Some(Err(io::ErrorKind::InvalidData.into()))),
            Some(Act::Ends(mark)) => {
                let trailers = HeaderMap::from_iter([(http::header::TE, u16::from(mark).into())]);
                Poll::Ready(Some(Ok(Frame::trailers(trailers))))
            }
            Some(Act::Waits) => {
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            None => Poll::Ready(None),
        }
    }
}

/// What came out: bytes, then the order of everything else among them.
#[derive(Debug, Default, PartialEq)]
struct Read {
    bytes: Vec<u8>,
    /// What else came, and after how many bytes.
    marks: Vec<(usize, Option<u8>)>,
}

async fn read_out<B: Body<Data = Bytes> + Unpin>(mut body: B) -> Read {
    let mut read = Read::default();
    while let Some(frame) = body.frame().await {
        match frame.map(Frame::into_data) {
            Ok(Ok(data)) => read.bytes.extend(data),
            Ok(Err(frame)) => {
                let mark = &frame.trailers_ref().unwrap()[http::header::TE];
                read.marks.push((read.bytes.len(), Some(mark.to_str().unwrap().parse().unwrap())));
            }
            Err(_) => read.marks.push((read.bytes.len(), None)),
        }
    }
    read
}

/// Reads each request to its end, and fails the first `fails` of them.
#[derive(Clone)]
struct Reader {
    fails: usize,
    read: std::sync::Arc<std::sync::Mutex<Vec<Read>>>,
}

impl<B: Body<Data = Bytes> + Send + Unpin + 'static> Service<http::Request<B>> for Reader
where
    B::Error: Send,
{
    type Response = http::Response<Acting>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, io::Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), io::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<B>) -> Self::Future {
        let reader = self.clone();
        Box::pin(async move {
            let read = read_out(request.into_body()).await;
            let mut all = reader.read.lock().unwrap();
            all.push(read);
            let code = if all.len() <= reader.fails { "14" } else { "0" };
            let answer = http::Response::builder().header("grpc-status", code);
            Ok(answer.body(Acting(VecDeque::new())).unwrap())
        })
    }
}

async fn passes_through<B: ReplayBody>(body: B, keep: usize) -> Vec<Read>
where
    B::Error: Send,
{
    let governor = governor("");
    let reader = Reader { fails: 2, read: std::sync::Arc::default() };
    let layer = GrpcLayer::new(STREAM, Resilience::new().governor(&governor).policy(retries(2))).keep(keep);
    layer.layer(reader.clone()).call(with_body(body)).await.unwrap();
    std::mem::take(&mut reader.read.lock().unwrap())
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        6 => prop::collection::vec(any::<u8>(), 0..200).prop_map(Act::Gives),
        2 => Just(Act::Waits),
        1 => Just(Act::Fails),
        1 => any::<u8>().prop_map(Act::Ends),
    ]
}

proptest! {
    #[test]
    fn a_body_arrives_unchanged_and_in_order_and_as_often_as_it_is_whole(
        acts in prop::collection::vec(act(), 0..8),
        keep in 0_usize..1_000,
        is_12 in any::<bool>(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let body = || Acting(acts.clone().into());
            let sent = if is_12 {
                passes_through(Body12::new(body()), keep).await
            } else {
                passes_through(Body14::new(body()), keep).await
            };
            let expected = read_out(body()).await;
            // The smallest piece counts as 128 bytes.
            let length: usize = acts.iter().map(|act| if let Act::Gives(bytes) = act { bytes.len().max(128) } else { 0 }).sum();
            let is_whole = acts.iter().all(|act| matches!(act, Act::Gives(_))) && length <= keep;
            prop_assert_eq!(sent.len(), if is_whole { 3 } else { 1 });
            for read in sent {
                prop_assert_eq!(&read, &expected);
            }
            Ok(())
        })?;
    }
}

/// A body that gives one message and then waits for the caller's next.
fn live() -> Body14 {
    struct Live(Option<Bytes>);
    impl Body for Live {
        type Data = Bytes;
        type Error = io::Error;
        fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
            self.0.take().map_or(Poll::Pending, |bytes| Poll::Ready(Some(Ok(Frame::data(bytes)))))
        }
    }
    Body14::new(Live(Some("first".into())))
}

#[tokio::test(start_paused = true)]
async fn a_request_that_goes_on_is_sent_at_once_and_never_again() {
    let (governor, channel) = (governor(""), Channel::new([in_headers(14)]));
    let answered = governed(&governor, STREAM, retries(5), &channel).call(with_body(live())).await;
    assert_eq!(code(answered).await, 14);
    assert_eq!(channel.sent().iter().map(|sent| &*sent.body).collect::<Vec<_>>(), [b"first"]);
    assert_eq!(governor.summary().totals.gave_up, 1);
}

/// Its headers may come with its first message, hours later.
#[tokio::test(start_paused = true)]
async fn a_conversation_that_waits_for_its_answer_holds_no_slot_and_does_not_time_out() {
    let governor = governor("ratelimit: { gcp: { account_concurrency: 1, attempt_timeout: 5 } }");
    let channel = Channel::new([Plan::Never, message(0)]);
    let mut talk = governed(&governor, STREAM, retries(5), &channel);
    let waiting = tokio::spawn(async move { talk.call(with_body(live())).await.map(drop) });
    tokio::time::sleep(secs(60.0)).await;
    assert!(!waiting.is_finished());
    assert_eq!(governor.inspect(&scope()).unwrap().slots_in_use, 0);
    assert_eq!(code(send(&governor, UNARY, retries(0), &channel).await).await, 0);
    waiting.abort();
}

#[tokio::test(start_paused = true)]
async fn an_upload_of_one_answer_holds_its_slot() {
    let (governor, channel) = (governor(""), Channel::new([Plan::Never]));
    let mut upload = governed(&governor, UNARY, retries(5), &channel);
    let waiting = tokio::spawn(async move { upload.call(with_body(live())).await.map(drop) });
    tokio::time::sleep(secs(1.0)).await;
    assert_eq!(governor.inspect(&scope()).unwrap().slots_in_use, 1);
    waiting.abort();
    assert!(waiting.await.unwrap_err().is_cancelled());
    assert_eq!(governor.inspect(&scope()).unwrap().slots_in_use, 0);
}
