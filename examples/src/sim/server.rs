//! The HTTP server under every simulated cloud.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::header::{DATE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use hyper_util::server::graceful::{GracefulConnection, GracefulShutdown};
use jiff::Timestamp;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, oneshot};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::Instant;

use super::reply::{Cut, Reply};
use super::{Answer, Call, Cloud, Fate, Faults, Outcome, Throttle, Truth};

/// The largest request body that is read: no read operation of a cloud needs more.
const MAX_BODY: usize = 256 * 1024;

/// How long [`Server::stop`] waits for requests in flight.
const STOP_PATIENCE: Duration = Duration::from_secs(5);

/// How long the listener rests after a failed accept, such as one for want of file descriptors.
const ACCEPT_REST: Duration = Duration::from_millis(20);

/// A simulated cloud that is listening. Dropping it closes the port and every connection.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    frame: Frame,
    stop: Option<oneshot::Sender<()>>,
    accepting: JoinHandle<()>,
}

impl Server {
    /// Starts `cloud` on a free port of 127.0.0.1, on the current Tokio runtime. `seed` decides the chances of its
    /// faults.
    ///
    /// # Errors
    /// The operating system's, when it gives no port.
    pub async fn start<C: Cloud>(cloud: Arc<C>, seed: u64) -> io::Result<Self> {
        let make = |frame| {
            let site = Arc::new(Site { cloud, frame, throttle: Mutex::default() });
            move |stream, _| {
                let site = site.clone();
                let service = service_fn(move |request| exchange(site.clone(), request));
                http1::Builder::new().serve_connection(TokioIo::new(stream), service)
            }
        };
        Server::open(seed, make).await
    }

    /// Listens on a free port of 127.0.0.1, and serves each connection by what `make` makes of the server's frame.
    pub(super) async fn open<F, C>(seed: u64, make: impl FnOnce(Frame) -> F) -> io::Result<Self>
    where
        F: Fn(TcpStream, Hangup) -> C + Send + 'static,
        C: GracefulConnection + Send + 'static,
        C::Error: Send,
    {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let started = Instant::now();
        let frame = Frame { started, faults: Arc::new(Faults::new(seed)), truth: Arc::default() };
        let (stop, stopped) = oneshot::channel();
        let accepting = tokio::spawn(accept(listener, make(frame.clone()), stopped));
        Ok(Server { address, frame, stop: Some(stop), accepting })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The endpoint URL to give to an SDK.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Time since the start: what the windows of faults are counted in.
    pub fn elapsed(&self) -> Duration {
        self.frame.elapsed()
    }

    /// The switches of its faults.
    pub fn faults(&self) -> &Faults {
        &self.frame.faults
    }

    /// What it has seen. Outlives the server.
    pub fn truth(&self) -> Arc<Truth> {
        self.frame.truth.clone()
    }

    /// Closes the port, lets requests in flight finish for up to five seconds, and closes every connection.
    pub async fn stop(mut self) {
        if let Some(stop) = self.stop.take() {
            // The receiver is gone only if the task already ended.
            let _ = stop.send(());
        }
        let _ = tokio::time::timeout(STOP_PATIENCE, &mut self.accepting).await;
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// What every server has, whatever it speaks.
#[derive(Clone, Debug)]
pub(super) struct Frame {
    started: Instant,
    pub(super) faults: Arc<Faults>,
    pub(super) truth: Arc<Truth>,
}

impl Frame {
    /// Time since the server's start.
    pub(super) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }
}

/// Closes a connection at once, with all that is under way on it.
pub(super) type Hangup = Arc<Notify>;

#[derive(Debug)]
struct Site<C> {
    cloud: Arc<C>,
    frame: Frame,
    throttle: Mutex<Throttle>,
}

/// Owns the connections: they end when this future is dropped.
async fn accept<F, C>(listener: TcpListener, serve: F, mut stopped: oneshot::Receiver<()>)
where
    F: Fn(TcpStream, Hangup) -> C + Send + 'static,
    C: GracefulConnection + Send + 'static,
    C::Error: Send,
{
    let graceful = GracefulShutdown::new();
    let mut connections = JoinSet::new();
    loop {
        let stream = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                Err(_) => {
                    tokio::time::sleep(ACCEPT_REST).await;
                    continue;
                }
            },
            _ = &mut stopped => break,
            Some(_) = connections.join_next() => continue,
        };
        let hangup = Hangup::default();
        let connection = graceful.watch(serve(stream, hangup.clone()));
        connections.spawn(async move {
            tokio::select! {
                // A connection ends in an error when the client goes away or a fault cuts it: both are counted already.
                _ = connection => {}
                () = hangup.notified() => {}
            }
        });
    }
    drop(listener);
    graceful.shutdown().await;
}

async fn exchange<C: Cloud>(site: Arc<Site<C>>, request: Request<Incoming>) -> Result<Response<Reply>, Cut> {
    let now = site.frame.elapsed();
    let seat = site.frame.truth.arrive(now);
    let (head, body) = request.into_parts();
    let identified = match Limited::new(body, MAX_BODY).collect().await {
        Ok(body) => site.cloud.identify(seat.number(), &head, body.to_bytes()),
        Err(_) => Err(Box::new(too_large())),
    };
    let leaf = identified.as_ref().ok().map(|call| &call.leaf);
    let fate = site.frame.faults.decide(now, leaf);

    // The outcome is settled and counted before any delay, so that a client which hangs up is counted too.
    let (outcome, answer) = match &identified {
        _ if fate.down => (Outcome::Faulted, None),
        Err(answer) => (Outcome::Refused, Some(Answer::clone(answer))),
        Ok(call) => {
            let (outcome, answer) = site.serve(now, call, &fate);
            (outcome, Some(answer))
        }
    };
    seat.record(leaf, outcome);

    if !fate.delay.is_zero() {
        tokio::time::sleep(fate.delay).await;
    }
    let cut = fate.cut && outcome == Outcome::Faulted;
    let mut answer = answer.ok_or(Cut)?;
    if let Some(date) = site.cloud.clock(now).and_then(http_date) {
        answer.headers_mut().insert(DATE, date);
    }
    Ok(answer.map(if cut { Reply::cut_short } else { Reply::whole }))
}

impl<C: Cloud> Site<C> {
    fn serve(&self, now: Duration, call: &Call<C::Detail>, fate: &Fate) -> (Outcome, Answer) {
        let gates = self.cloud.draws(call);
        let verdict = self.throttle.lock().unwrap_or_else(PoisonError::into_inner).pass(now, &gates);
        let (outcome, mut answer) = if !verdict.is_granted() {
            (Outcome::Throttled, self.cloud.throttled(call, &verdict))
        } else if let Some(status) = fate.failure {
            (Outcome::Faulted, self.cloud.failed(call, status))
        } else {
            let answer = self.cloud.answer(call);
            let outcome = if fate.cut {
                Outcome::Faulted
            } else if answer.status().is_success() {
                Outcome::Answered
            } else {
                Outcome::Refused
            };
            (outcome, answer)
        };
        self.cloud.note(call, &verdict, &mut answer);
        (outcome, answer)
    }
}

/// As HTTP writes a time: RFC 9110, section 5.6.7. `None` for one that it cannot write.
fn http_date(time: SystemTime) -> Option<HeaderValue> {
    let time = Timestamp::try_from(time).ok()?;
    HeaderValue::try_from(time.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string()).ok()
}

fn too_large() -> Answer {
    let mut answer = Response::new(Bytes::new());
    *answer.status_mut() = StatusCode::PAYLOAD_TOO_LARGE;
    answer
}
