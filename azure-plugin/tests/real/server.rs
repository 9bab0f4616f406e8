//! A server that does as a script says, and remembers what it was asked.

use std::future::pending;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use azure_core::http::Url;
use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::header::{HOST, HeaderMap};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;

// ===== what it answers =====

/// What the server does with one request.
#[derive(Clone, Debug)]
pub(crate) enum Reply {
    Answer(Answer),
    /// The connection is reset.
    Reset,
    /// Nothing comes, and the connection stays.
    Silence,
}

#[derive(Clone, Debug)]
pub(crate) struct Answer {
    status: u16,
    headers: Vec<(&'static str, Bytes)>,
    body: Bytes,
    delay: Duration,
    end: End,
}

/// How an answer's body ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Whole,
    /// The connection closes before half of it is there.
    Cut,
    /// The rest never comes, and the connection stays.
    Stalled,
}

impl Reply {
    pub(crate) fn new(status: u16, body: impl Into<Bytes>) -> Self {
        let delay = Duration::ZERO;
        Reply::Answer(Answer { status, headers: Vec::new(), body: body.into(), delay, end: End::Whole })
    }

    pub(crate) fn ok() -> Self {
        Reply::new(200, "content")
    }

    /// As Storage names its errors.
    pub(crate) fn coded(status: u16, code: &'static str) -> Self {
        Reply::new(status, "").header("x-ms-error-code", code)
    }

    pub(crate) fn token() -> Self {
        Reply::new(200, r#"{"token_type":"Bearer","expires_in":3600,"ext_expires_in":3600,"access_token":"token"}"#)
    }

    pub(crate) fn header(mut self, name: &'static str, value: impl Into<Bytes>) -> Self {
        if let Reply::Answer(answer) = &mut self {
            answer.headers.push((name, value.into()));
        }
        self
    }

    /// With the answer's head held back for a while.
    pub(crate) fn after(mut self, delay: Duration) -> Self {
        if let Reply::Answer(answer) = &mut self {
            answer.delay = delay;
        }
        self
    }

    pub(crate) fn cut(self) -> Self {
        self.ending(End::Cut)
    }

    pub(crate) fn stalled(self) -> Self {
        self.ending(End::Stalled)
    }

    fn ending(mut self, end: End) -> Self {
        if let Reply::Answer(answer) = &mut self {
            answer.end = end;
        }
        self
    }
}

// ===== what it was asked =====

/// One request as the server saw it.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) host: String,
    pub(crate) path: String,
    pub(crate) query: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Asked {
    fn is_for_token(&self) -> bool {
        self.path.ends_with("/token")
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }
}

// ===== the server =====

type Script = dyn Fn(&Asked, usize) -> Reply + Send + Sync;

/// A server on a port and in a runtime of its own, so that what is left running in a test's runtime is the clients'.
pub(crate) struct Server {
    address: SocketAddr,
    state: Arc<State>,
    runtime: Option<Runtime>,
}

struct State {
    script: Box<Script>,
    asked: Mutex<Vec<Asked>>,
    in_flight: AtomicUsize,
    most: AtomicUsize,
}

impl Server {
    /// Answers each request by its number among those to the same host, from 1.
    pub(crate) fn start(script: impl Fn(&Asked, usize) -> Reply + Send + Sync + 'static) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.expect("a runtime");
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        listener.set_nonblocking(true).expect("a socket that does not block");
        let address = listener.local_addr().expect("an address");
        let state = Arc::new(State {
            script: Box::new(script),
            asked: Mutex::default(),
            in_flight: AtomicUsize::new(0),
            most: AtomicUsize::new(0),
        });
        let served = Arc::clone(&state);
        runtime.spawn(async move {
            let listener = TcpListener::from_std(listener).expect("a listener");
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&served)));
            }
        });
        Server { address, state, runtime: Some(runtime) }
    }

    /// The same answer to every request.
    pub(crate) fn always(reply: Reply) -> Self {
        Server::start(move |_, _| reply.clone())
    }

    /// These answers in turn, the last one for ever.
    pub(crate) fn script(replies: impl Into<Vec<Reply>>) -> Self {
        let replies = replies.into();
        Server::start(move |_, number| in_turn(&replies, number))
    }

    /// Tokens by one script, everything else by another.
    pub(crate) fn with_tokens(tokens: impl Into<Vec<Reply>>, replies: impl Into<Vec<Reply>>) -> Self {
        let (tokens, replies) = (tokens.into(), replies.into());
        Server::start(move |asked, number| in_turn(if asked.is_for_token() { &tokens } else { &replies }, number))
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// A URL whose first segment is a storage account, as an emulator has it.
    pub(crate) fn url(&self, path: &str) -> Url {
        Url::parse(&format!("http://{}/{path}", self.address)).expect("a URL")
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.state.asked.lock().expect("no panic before").clone()
    }

    pub(crate) fn count(&self) -> usize {
        self.state.asked.lock().expect("no panic before").len()
    }

    /// How many requests for tokens, and how many others.
    pub(crate) fn counts(&self) -> (usize, usize) {
        let asked = self.asked();
        let tokens = asked.iter().filter(|asked| asked.is_for_token()).count();
        (tokens, asked.len() - tokens)
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

fn in_turn(replies: &[Reply], number: usize) -> Reply {
    replies[(number - 1).min(replies.len() - 1)].clone()
}

// ===== one connection =====

type Body = StreamBody<Pin<Box<dyn Stream<Item = io::Result<Frame<Bytes>>> + Send>>>;

async fn serve(stream: TcpStream, state: Arc<State>) {
    let is_reset = Arc::new(AtomicBool::new(false));
    let resetting = Arc::clone(&is_reset);
    let service = service_fn(move |request| answer(request, Arc::clone(&state), Arc::clone(&resetting)));
    let mut connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
    let _ended = (&mut connection).await;
    if is_reset.load(Ordering::SeqCst) {
        // Closed without a farewell.
        connection.into_parts().io.into_inner().set_zero_linger().expect("an open socket");
    }
}

async fn answer(request: Request<Incoming>, state: Arc<State>, reset: Arc<AtomicBool>) -> io::Result<Response<Body>> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
    let asked = Asked {
        host: head.headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default().to_owned(),
        path: head.uri.path().to_owned(),
        query: head.uri.query().unwrap_or_default().to_owned(),
        headers: head.headers,
        body,
    };
    let under_way = UnderWay::begin(&state);
    let number = {
        let mut all = state.asked.lock().expect("no panic before");
        all.push(asked.clone());
        all.iter().filter(|other| other.host == asked.host).count()
    };
    match (state.script)(&asked, number) {
        Reply::Answer(answer) => {
            tokio::time::sleep(answer.delay).await;
            Ok(response(answer, under_way))
        }
        Reply::Reset => {
            reset.store(true, Ordering::SeqCst);
            Err(io::ErrorKind::ConnectionReset.into())
        }
        Reply::Silence => pending().await,
    }
}

fn response(answer: Answer, under_way: UnderWay) -> Response<Body> {
    let Answer { status, headers, body, end, .. } = answer;
    let length = body.len();
    let first = if end == End::Whole { body } else { body.slice(..length / 2) };
    let last = stream::once(async move {
        match end {
            End::Whole => Ok(Frame::data(Bytes::new())),
            End::Cut => {
                // The head and what there is of the body go out before the connection closes.
                tokio::time::sleep(Duration::from_millis(5)).await;
                Err(io::ErrorKind::BrokenPipe.into())
            }
            End::Stalled => pending().await,
        }
    });
    let parts = stream::iter([Ok(Frame::data(first))]).chain(last).map(move |part| {
        let _until_the_last = &under_way;
        part
    });
    let mut response = Response::builder().status(status).header("content-length", length);
    for (name, value) in headers {
        response = response.header(name, &value[..]);
    }
    response.body(StreamBody::new(Box::pin(parts) as _)).expect("a response")
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
