//! tonic's own channel against a server that speaks HTTP/2 in bytes: what each way to fail is taken for.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use cloud_governor::{Governor, Refusal, Resilience, RetryPolicy, grpc::GrpcLayer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Status};
use tower_layer::Layer;
use tower_service::Service;

use crate::common::{governor, secs};
use crate::fake::{STREAM, Target, request, scope};

/// Error codes of HTTP/2 (RFC 9113, section 7).
const NO_ERROR: u8 = 0;
const INTERNAL_ERROR: u8 = 2;
const REFUSED_STREAM: u8 = 7;
const CANCEL: u8 = 8;
const ENHANCE_YOUR_CALM: u8 = 11;

const SETTINGS: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];
const HEADERS: u8 = 1;

/// What the server does with its first request; it answers all others.
#[derive(Debug, Clone, Copy)]
enum Act {
    Reset(u8),
    /// Behind headers of an answer.
    BeginsAndResets(u8),
    /// With the last stream it has processed: the request's own, or none.
    GoAway {
        processed: bool,
        code: u8,
    },
    Closes,
    Answers,
    Waits,
}

impl Act {
    /// What is written, and whether the connection closes then.
    fn bytes(self, stream: [u8; 4]) -> (Vec<u8>, bool) {
        let none = [0; 4];
        match self {
            Act::Reset(code) => ([&[0, 0, 4, 3, 0], &stream[..], &[0, 0, 0, code]].concat(), false),
            Act::BeginsAndResets(code) => {
                // `:status 200` alone.
                let (reset, closes) = Act::Reset(code).bytes(stream);
                ([&[0, 0, 1, HEADERS, 0x4], &stream[..], &[0x88], &reset].concat(), closes)
            }
            Act::GoAway { processed, code } => {
                let last = if processed { stream } else { none };
                ([&[0, 0, 8, 7, 0], &none[..], &last, &[0, 0, 0, code]].concat(), true)
            }
            Act::Closes => (Vec::new(), true),
            Act::Answers => {
                // `:status 200` by its index in the static table, `grpc-status: 0` as a literal (RFC 7541).
                let block = [&[0x88, 0x00, 11], &b"grpc-status"[..], &[1, b'0']].concat();
                let length = u8::try_from(block.len()).unwrap();
                ([&[0, 0, length, HEADERS, 0x5], &stream[..], &block].concat(), false)
            }
            Act::Waits => (Vec::new(), false),
        }
    }
}

async fn serve(mut connection: TcpStream, first: Act, seen: Arc<AtomicU32>) -> std::io::Result<()> {
    connection.read_exact(&mut [0; 24]).await?;
    connection.write_all(SETTINGS).await?;
    loop {
        let mut head = [0; 9];
        connection.read_exact(&mut head).await?;
        let length = usize::from(head[1]) << 8 | usize::from(head[2]);
        connection.read_exact(&mut vec![0; length]).await?;
        if head[3] == HEADERS {
            let act = if seen.fetch_add(1, Ordering::SeqCst) == 0 { first } else { Act::Answers };
            let (bytes, closes) = act.bytes([head[5], head[6], head[7], head[8]]);
            connection.write_all(&bytes).await?;
            if closes {
                return connection.shutdown().await;
            }
        }
    }
}

/// The server's address, and how many requests it has seen.
async fn server(first: Act) -> (SocketAddr, Arc<AtomicU32>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (address, seen) = (listener.local_addr().unwrap(), Arc::<AtomicU32>::default());
    let counter = Arc::clone(&seen);
    tokio::spawn(async move {
        while let Ok((connection, _)) = listener.accept().await {
            tokio::spawn(serve(connection, first, Arc::clone(&counter)));
        }
    });
    (address, seen)
}

fn channel(address: SocketAddr) -> Channel {
    Endpoint::from_shared(format!("http://{address}")).unwrap().connect_lazy()
}

/// The status that tonic's client would give.
async fn call(governor: &Governor, channel: Channel, idempotent: bool, timeout: Option<&'static str>) -> Status {
    let policy =
        RetryPolicy::builder().base_delay(secs(0.001)).max_backoff(secs(0.002)).max_retries(3).build().unwrap();
    let target = Target { idempotent: Some(idempotent), ..STREAM };
    let layer = GrpcLayer::new(target, Resilience::new().governor(governor).policy(policy));
    let mut request = request();
    if let Some(timeout) = timeout {
        request.headers_mut().insert("grpc-timeout", timeout.parse().unwrap());
    }
    match layer.layer(channel).call(request).await {
        Ok(answer) => Status::from_header_map(answer.headers()).unwrap(),
        Err(error) => Status::from_error(error),
    }
}

#[tokio::test]
async fn what_the_server_says_it_has_not_looked_at_is_sent_again_and_all_else_only_if_it_is_idempotent() {
    let unprocessed = [
        Act::Reset(REFUSED_STREAM),
        Act::GoAway { processed: false, code: NO_ERROR },
        Act::GoAway { processed: false, code: INTERNAL_ERROR },
    ];
    let unknown = [
        Act::Reset(INTERNAL_ERROR),
        Act::Reset(CANCEL),
        Act::GoAway { processed: true, code: NO_ERROR },
        Act::GoAway { processed: true, code: INTERNAL_ERROR },
        Act::Closes,
    ];
    let acts = unprocessed.map(|act| (act, true)).into_iter().chain(unknown.map(|act| (act, false)));
    for (act, is_safe) in acts {
        for idempotent in [true, false] {
            let governor = governor("");
            let (address, seen) = server(act).await;
            let status = call(&governor, channel(address), idempotent, None).await;
            let again = is_safe || idempotent;
            assert_eq!(status.code() == Code::Ok, again, "{act:?}: {status:?}");
            assert_eq!(seen.load(Ordering::SeqCst), if again { 2 } else { 1 }, "{act:?}");
            let totals = governor.summary().totals;
            assert_eq!((totals.transient_errors, totals.throttled), (1, 0), "{act:?}");
        }
    }
}

#[tokio::test]
async fn a_server_that_asks_for_calm_is_given_it() {
    for act in [Act::Reset(ENHANCE_YOUR_CALM), Act::GoAway { processed: false, code: ENHANCE_YOUR_CALM }] {
        let governor = governor("");
        let (address, seen) = server(act).await;
        assert_eq!(call(&governor, channel(address), true, None).await.code(), Code::Ok, "{act:?}");
        assert_eq!((governor.summary().totals.throttled, seen.load(Ordering::SeqCst)), (1, 2), "{act:?}");
        assert!(governor.inspect(&scope()).unwrap().rate_rps < 20.0);
    }
}

#[tokio::test]
async fn a_refused_connection_is_tried_again_though_the_call_is_not_idempotent() {
    let deserted = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let governor = governor("");
    let status = call(&governor, channel(deserted), false, None).await;
    assert_eq!(status.code(), Code::Unavailable, "the channel's own error comes back: {status:?}");
    assert!(Refusal::find(&status).is_none());
    assert_eq!((governor.summary().totals.calls, governor.summary().totals.transient_errors), (4, 4));
}

/// The channel's own timer comes first, and with it the error that callers know.
#[tokio::test]
async fn a_call_that_is_not_answered_in_its_time_fails_with_tonics_own_timeout() {
    let governor = governor("");
    let (address, seen) = server(Act::Waits).await;
    let status = call(&governor, channel(address), true, Some("50m")).await;
    assert_eq!((status.code(), status.message()), (Code::Cancelled, "Timeout expired"));
    let totals = governor.summary().totals;
    assert_eq!((seen.load(Ordering::SeqCst), totals.transient_errors, totals.gave_up), (1, 1, 1));
}

/// Behind the headers of an answer no code means that the request was not looked at.
#[tokio::test]
async fn a_stream_that_is_refused_when_it_was_being_answered_may_have_been_executed() {
    for (idempotent, sent) in [(true, 2), (false, 1)] {
        let governor = governor("");
        let (address, seen) = server(Act::BeginsAndResets(REFUSED_STREAM)).await;
        let policy = RetryPolicy::builder().base_delay(secs(0.001)).max_retries(3).build().unwrap();
        let target = Target { is_unary: true, idempotent: Some(idempotent) };
        let layer = GrpcLayer::new(target, Resilience::new().governor(&governor).policy(policy));
        let answer = layer.layer(channel(address)).call(request()).await.unwrap();
        assert_eq!(answer.headers().contains_key("grpc-status"), idempotent);
        assert_eq!(seen.load(Ordering::SeqCst), sent);
        assert_eq!(governor.summary().totals.transient_errors, 1);
    }
}
