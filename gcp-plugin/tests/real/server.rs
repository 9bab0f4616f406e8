//! A server that does as a script says, and remembers what it was asked. It speaks HTTP/1 to the REST clients, and HTTP/2
//! to the gRPC ones.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};

use bytes::Bytes;
use hyper::Method;
use hyper::header::HeaderMap;
use tokio::net::{TcpListener, TcpSocket};
use tokio::runtime::Runtime;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;

use crate::reply::Reply;
use crate::wire::serve;

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

pub(crate) struct State {
    pub(crate) script: Box<Script>,
    pub(crate) is_live: bool,
    pub(crate) asked: Mutex<Vec<Asked>>,
    pub(crate) messages: AtomicUsize,
    pub(crate) in_flight: AtomicUsize,
    pub(crate) most: AtomicUsize,
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

    pub(crate) fn asked(&self) -> MutexGuard<'_, Vec<Asked>> {
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
