//! A server that does as a script says, and remembers what it was asked.

use std::future::pending;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{HeaderMap, Method, Request, Response, Uri};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;

// ===== what it answers =====

/// What the server does with one request.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: Bytes,
    delay: Duration,
    end: End,
}

/// How an answer ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Whole,
    /// The connection closes before half of the body is there.
    Cut,
    /// The second half never comes, and the connection stays.
    Stalled,
    /// The connection closes before there is any answer.
    NoHead,
    /// Nothing comes, and the connection stays.
    Silence,
}

impl Reply {
    pub(crate) fn new(status: u16, body: impl Into<Bytes>) -> Self {
        Reply { status, headers: Vec::new(), body: body.into(), delay: Duration::ZERO, end: End::Whole }
    }

    pub(crate) fn ok() -> Self {
        Reply::new(200, "content")
    }

    pub(crate) fn closed() -> Self {
        Reply { end: End::NoHead, ..Reply::ok() }
    }

    pub(crate) fn silence() -> Self {
        Reply { end: End::Silence, ..Reply::ok() }
    }

    pub(crate) fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// With the head held back for a while.
    pub(crate) fn after(self, delay: Duration) -> Self {
        Reply { delay, ..self }
    }

    pub(crate) fn cut(self) -> Self {
        Reply { end: End::Cut, ..self }
    }

    pub(crate) fn stalled(self) -> Self {
        Reply { end: End::Stalled, ..self }
    }
}

// ===== the server =====

/// One request as the server saw it.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) method: Method,
    /// Whole: the clients take the server for a proxy.
    pub(crate) uri: Uri,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

type Script = dyn Fn(&Asked, usize) -> Reply + Send + Sync;

/// A server on a port and in a runtime of its own, so that what is left running in a test's runtime is the client's.
pub(crate) struct Server {
    address: SocketAddr,
    state: Arc<State>,
    runtime: Option<Runtime>,
}

struct State {
    script: Box<Script>,
    asked: Mutex<Vec<Asked>>,
    connections: AtomicUsize,
}

impl Server {
    /// Answers each request by its number, from 1.
    pub(crate) fn start(script: impl Fn(&Asked, usize) -> Reply + Send + Sync + 'static) -> Self {
        crate::secrets::listening();
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let (asked, connections) = (Mutex::default(), AtomicUsize::new(0));
        let state = Arc::new(State { script: Box::new(script), asked, connections });
        let served = Arc::clone(&state);
        runtime.spawn(async move {
            let listener = TcpListener::from_std(listener).unwrap();
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
        Server::start(move |_, number| replies[(number - 1).min(replies.len() - 1)].clone())
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.state.asked.lock().unwrap().clone()
    }

    pub(crate) fn count(&self) -> usize {
        self.state.asked.lock().unwrap().len()
    }

    /// How many connections are open.
    pub(crate) fn connections(&self) -> usize {
        self.state.connections.load(Ordering::SeqCst)
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

type Body = StreamBody<Pin<Box<dyn Stream<Item = io::Result<Frame<Bytes>>> + Send>>>;

async fn serve(stream: TcpStream, state: Arc<State>) {
    state.connections.fetch_add(1, Ordering::SeqCst);
    let answered = Arc::clone(&state);
    let service = service_fn(move |request| answer(request, Arc::clone(&answered)));
    let _ended = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
    state.connections.fetch_sub(1, Ordering::SeqCst);
}

async fn answer(request: Request<Incoming>, state: Arc<State>) -> io::Result<Response<Body>> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
    let asked = Asked { method: head.method, uri: head.uri, headers: head.headers, body };
    let number = {
        let mut all = state.asked.lock().unwrap();
        all.push(asked.clone());
        all.len()
    };
    let reply = (state.script)(&asked, number);
    if !reply.delay.is_zero() {
        tokio::time::sleep(reply.delay).await;
    }
    match reply.end {
        End::NoHead => Err(io::ErrorKind::ConnectionReset.into()),
        End::Silence => pending().await,
        _ => Ok(response(reply)),
    }
}

fn response(reply: Reply) -> Response<Body> {
    let Reply { status, headers, body, end, .. } = reply;
    let length = body.len();
    let first = if end == End::Whole { body } else { body.slice(..length / 2) };
    let last = stream::once(async move {
        match end {
            End::Cut => {
                // What there is of the body goes out before the connection closes.
                tokio::time::sleep(Duration::from_millis(5)).await;
                Err(io::ErrorKind::BrokenPipe.into())
            }
            End::Stalled => pending().await,
            _ => Ok(Frame::data(Bytes::new())),
        }
    });
    let parts = stream::iter([Ok(Frame::data(first))]).chain(last);
    let mut response = Response::builder().status(status).header("content-length", length);
    for (name, value) in headers {
        response = response.header(name, value);
    }
    response.body(StreamBody::new(Box::pin(parts) as _)).unwrap()
}
