//! What the scripted server says on the wire: one connection, HTTP/1 or HTTP/2, and the answers on it.

use std::future::pending;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;
use tokio::sync::Notify;

use crate::reply::{Answer, End, Pace, Reply};
use crate::server::{Asked, State};

/// What every HTTP/2 connection begins with, as far as it tells it from HTTP/1.
const PREFACE: &[u8] = b"PRI ";

type Body = StreamBody<Pin<Box<dyn Stream<Item = io::Result<Frame<Bytes>>> + Send>>>;

pub(crate) async fn serve(stream: TcpStream, state: Arc<State>) {
    let address = stream.local_addr().expect("an address");
    let mut first = [0; PREFACE.len()];
    while stream.peek(&mut first).await.is_ok_and(|peeked| (1..first.len()).contains(&peeked)) {
        tokio::task::yield_now().await;
    }
    // A clone of the socket closes with the last of both, and its linger is that of both.
    let socket = stream.into_std().and_then(|socket| Ok((socket.try_clone()?, TcpStream::from_std(socket)?)));
    let Ok((socket, stream)) = socket else { return };
    let (is_reset, broken) = (Arc::new(AtomicBool::new(false)), Arc::new(Notify::new()));
    let (resetting, breaking) = (Arc::clone(&is_reset), Arc::clone(&broken));
    let service = service_fn(move |request| {
        let ends = Ends { reset: Arc::clone(&resetting), broken: Arc::clone(&breaking) };
        answer(request, address, Arc::clone(&state), ends)
    });
    if first == PREFACE {
        let connection = http2::Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(stream), service);
        let mut connection = std::pin::pin!(connection);
        // Its other streams go down with the one whose answer is a reset.
        let ended = std::future::poll_fn(|cx| {
            let ended = connection.as_mut().poll(cx).map(drop);
            if is_reset.load(Ordering::SeqCst) { std::task::Poll::Ready(()) } else { ended }
        });
        tokio::select! {
            () = ended => {}
            () = broken.notified() => {}
        }
        linger(&socket, &is_reset);
    } else {
        let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
        let mut connection = std::pin::pin!(connection);
        let _ended = connection.as_mut().await;
        linger(&socket, &is_reset);
    }
}

/// A connection that is reset is closed without a farewell.
fn linger(socket: &std::net::TcpStream, is_reset: &AtomicBool) {
    if is_reset.load(Ordering::SeqCst) {
        let socket = socket.try_clone().and_then(TcpStream::from_std);
        socket.and_then(|socket| socket.set_zero_linger()).expect("an open socket");
    }
}

/// How a connection is ended from within.
struct Ends {
    reset: Arc<AtomicBool>,
    broken: Arc<Notify>,
}

async fn answer(
    request: Request<Incoming>,
    server: SocketAddr,
    state: Arc<State>,
    ends: Ends,
) -> io::Result<Response<Body>> {
    let (head, mut live) = request.into_parts();
    let body = match state.is_live {
        true => Bytes::new(),
        false => (&mut live).collect().await.map_err(io::Error::other)?.to_bytes(),
    };
    let asked = Asked {
        server,
        method: head.method,
        path: head.uri.path().to_owned(),
        query: head.uri.query().unwrap_or_default().to_owned(),
        headers: head.headers,
        body,
    };
    let under_way = UnderWay::begin(&state);
    let number = {
        let mut all = state.asked();
        all.push(asked.clone());
        all.len()
    };
    match (state.script)(&asked, number) {
        Reply::Answer(answer) => {
            tokio::time::sleep(answer.delay).await;
            let pace = answer.pace;
            let mut messages = Box::pin(messages(live, Arc::clone(&state)));
            let first: Live = match pace {
                Pace::AfterAll => {
                    while messages.next().await.is_some() {}
                    Box::pin(stream::empty())
                }
                Pace::AtOnce => {
                    tokio::spawn(messages.for_each(|()| std::future::ready(())));
                    Box::pin(stream::empty())
                }
                Pace::ForEach { most } => messages.take(most).boxed(),
            };
            Ok(response(*answer, first, under_way))
        }
        Reply::Reset => {
            ends.reset.store(true, Ordering::SeqCst);
            Err(io::ErrorKind::ConnectionReset.into())
        }
        Reply::Broken => {
            ends.reset.store(true, Ordering::SeqCst);
            ends.broken.notify_one();
            pending().await
        }
        Reply::Silence => pending().await,
    }
}

type Live = Pin<Box<dyn Stream<Item = ()> + Send>>;

/// One item for each message of gRPC that came as a whole.
fn messages(body: Incoming, state: Arc<State>) -> impl Stream<Item = ()> + Send {
    let parts = stream::unfold((body, Vec::new()), |(mut body, mut rest)| async move {
        let data = body.frame().await?.ok()?.into_data().unwrap_or_default();
        rest.extend_from_slice(&data);
        let mut whole = 0;
        while let Some((length, _)) = rest.get(1..).and_then(|rest| rest.split_first_chunk()) {
            let end = u32::from_be_bytes(*length) as usize + 5;
            if rest.len() < end {
                break;
            }
            rest.drain(..end);
            whole += 1;
        }
        Some((stream::iter(vec![(); whole]), (body, rest)))
    });
    parts.flatten().inspect(move |()| {
        state.messages.fetch_add(1, Ordering::SeqCst);
    })
}

fn response(answer: Answer, each: Live, under_way: UnderWay) -> Response<Body> {
    let Answer { status, headers, body, trailers, end, pace, .. } = answer;
    let length = body.len();
    let again = body.clone();
    let first = match (pace, end) {
        (Pace::ForEach { .. }, _) => Bytes::new(),
        (_, End::Whole) => body,
        _ => body.slice(..length / 2),
    };
    let has_trailers = trailers.is_some();
    let last = stream::once(async move {
        match end {
            End::Whole => Ok(trailers.map_or_else(|| Frame::data(Bytes::new()), Frame::trailers)),
            End::Cut => {
                // The head and what there is of the body go out before the connection closes.
                tokio::time::sleep(Duration::from_millis(5)).await;
                Err(io::ErrorKind::BrokenPipe.into())
            }
            End::Stalled => pending().await,
        }
    });
    let each = each.map(move |()| Ok(Frame::data(again.clone())));
    let parts = stream::iter([Ok(Frame::data(first))]).chain(each).chain(last).map(move |part| {
        let _until_the_last = &under_way;
        part
    });
    let mut response = Response::new(StreamBody::new(Box::pin(parts) as _));
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    if !has_trailers && !response.headers().contains_key("grpc-status") {
        response.headers_mut().insert("content-length", length.into());
    }
    response
}

/// A request that is under way.
struct UnderWay(Arc<State>);

impl UnderWay {
    fn begin(state: &Arc<State>) -> Self {
        let now = state.in_flight.fetch_add(1, Ordering::SeqCst) + 1;
        state.most.fetch_max(now, Ordering::SeqCst);
        UnderWay(Arc::clone(state))
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::SeqCst);
    }
}
