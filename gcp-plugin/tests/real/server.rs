//! A server that does as a script says, and remembers what it was asked. It speaks HTTP/1 to the REST clients, and HTTP/2
//! to the gRPC ones.

use std::future::pending;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::header::HeaderMap;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper::{Method, Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::runtime::Runtime;
use tokio::sync::Notify;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;

use crate::reply::{Answer, End, Pace, Reply};

// ===== what it was asked =====

/// One request as the server saw it.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    /// Where the server listens; clients name the host that they would call without a test.
    pub(crate) server: SocketAddr,
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) query: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Asked {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// What a query parameter says, as it is on the wire.
    pub(crate) fn parameter(&self, name: &str) -> Option<&str> {
        self.query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
    }
}

// ===== the server =====

type Script = dyn Fn(&Asked, usize) -> Reply + Send + Sync;

/// A server on a port and in a runtime of its own, so that what is left running in a test's runtime is the clients', and a
/// test's paused clock is not its.
pub(crate) struct Server {
    address: SocketAddr,
    state: Arc<State>,
    runtime: Option<Runtime>,
    _held: Option<TcpSocket>,
}

struct State {
    script: Box<Script>,
    is_live: bool,
    asked: Mutex<Vec<Asked>>,
    messages: AtomicUsize,
    in_flight: AtomicUsize,
    most: AtomicUsize,
}

impl State {
    fn new(is_live: bool, script: Box<Script>) -> Self {
        State {
            script,
            is_live,
            asked: Mutex::default(),
            messages: AtomicUsize::new(0),
            in_flight: AtomicUsize::new(0),
            most: AtomicUsize::new(0),
        }
    }

    fn asked(&self) -> MutexGuard<'_, Vec<Asked>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Server {
    /// Answers each request by its number among all, from 1.
    pub(crate) fn start(script: impl Fn(&Asked, usize) -> Reply + Send + Sync + 'static) -> Self {
        Server::serving(false, script)
    }

    /// The same by the request's head: its messages are taken as they come, and counted.
    pub(crate) fn live(script: impl Fn(&Asked, usize) -> Reply + Send + Sync + 'static) -> Self {
        Server::serving(true, script)
    }

    fn serving(is_live: bool, script: impl Fn(&Asked, usize) -> Reply + Send + Sync + 'static) -> Self {
        // Every test has a server before it has events.
        listening();
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.expect("a runtime");
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        listener.set_nonblocking(true).expect("a socket that does not block");
        let address = listener.local_addr().expect("an address");
        let state = Arc::new(State::new(is_live, Box::new(script)));
        let served = Arc::clone(&state);
        runtime.spawn(async move {
            let listener = TcpListener::from_std(listener).expect("a listener");
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&served)));
            }
        });
        Server { address, state, runtime: Some(runtime), _held: None }
    }

    /// The same answer to every request.
    pub(crate) fn always(reply: Reply) -> Self {
        Server::start(move |_, _| reply.clone())
    }

    /// These answers in turn, the last one for ever.
    pub(crate) fn script(replies: impl Into<Vec<Reply>>) -> Self {
        let replies = replies.into();
        Server::start(move |_, number| replies[(number - 1).min(replies.len() - 1)].clone())
    }

    /// An address at which nobody listens, nor will while this is held.
    pub(crate) fn nobody() -> Self {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.bind((Ipv4Addr::LOCALHOST, 0).into()).expect("a port");
        let address = socket.local_addr().expect("an address");
        let script = Box::new(|_: &Asked, _: usize| Reply::Silence);
        Server { address, state: Arc::new(State::new(false, script)), runtime: None, _held: Some(socket) }
    }

    /// Where clients are pointed to.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The same without a scheme.
    pub(crate) fn host(&self) -> String {
        self.address.to_string()
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.state.asked().clone()
    }

    pub(crate) fn count(&self) -> usize {
        self.state.asked().len()
    }

    /// How many requests these are true of.
    pub(crate) fn count_of(&self, is_it: impl Fn(&Asked) -> bool) -> usize {
        self.state.asked().iter().filter(|asked| is_it(asked)).count()
    }

    /// How many messages a live server has been sent, in all requests together.
    pub(crate) fn messages(&self) -> usize {
        self.state.messages.load(Ordering::SeqCst)
    }

    /// How many requests are under way.
    pub(crate) fn in_flight(&self) -> usize {
        self.state.in_flight.load(Ordering::SeqCst)
    }

    /// The most requests that were under way at once: from their last byte's coming to their answer's last byte's going.
    pub(crate) fn most_in_flight(&self) -> usize {
        self.state.most.load(Ordering::SeqCst)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

// ===== one connection =====

/// What every HTTP/2 connection begins with, as far as it tells it from HTTP/1.
const PREFACE: &[u8] = b"PRI ";

type Body = StreamBody<Pin<Box<dyn Stream<Item = io::Result<Frame<Bytes>>> + Send>>>;

async fn serve(stream: TcpStream, state: Arc<State>) {
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

// ===== events =====

/// Without a subscriber of the process, one that a thread sets while another first comes by an event may miss it: the
/// event's place is then noted as of no interest to anybody. This one hears ours and keeps nothing.
fn listening() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let ours = Targets::new().with_target("cloud_governor", tracing::Level::TRACE);
        let listener = tracing_subscriber::registry().with(ours);
        tracing::subscriber::set_global_default(listener).expect("nobody else sets one");
    });
}
