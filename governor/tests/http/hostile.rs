//! Servers that speak in bytes: answers no well-behaved one would give, and connections that die on reuse.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use cloud_governor::middleware::{GovernorMiddleware, HttpTarget};
use cloud_governor::{Facts, Governor, Scope, ToldLimit};
use reqwest::{Method, Request};
use reqwest_middleware::{ClientBuilder, ClientWithMiddleware};

use crate::common::{HOST, governor, is_at_rest, millis, scope, totals, under};

/// Answers its requests with these bytes in turn, the last for ever; an empty answer closes the connection.
fn server(answers: Vec<Vec<u8>>) -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (address, asked) = (listener.local_addr().unwrap(), Arc::<AtomicUsize>::default());
    let (counter, answers) = (Arc::clone(&asked), Arc::new(answers));
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (counter, answers) = (Arc::clone(&counter), Arc::clone(&answers));
            std::thread::spawn(move || serve(stream, &counter, &answers));
        }
    });
    (address, asked)
}

fn serve(mut stream: TcpStream, asked: &AtomicUsize, answers: &[Vec<u8>]) -> Option<()> {
    loop {
        let mut head = Vec::new();
        let mut byte = [0];
        while !head.ends_with(b"\r\n\r\n") {
            if stream.read(&mut byte).ok()? == 0 {
                return None;
            }
            head.push(byte[0]);
        }
        let text = String::from_utf8_lossy(&head).to_lowercase();
        let length = text.split_once("content-length: ").and_then(|(_, rest)| rest.split_once("\r\n")?.0.parse().ok());
        stream.read_exact(&mut vec![0; length.unwrap_or(0)]).ok()?;
        let number = asked.fetch_add(1, Ordering::SeqCst);
        let answer = &answers[number.min(answers.len() - 1)];
        if answer.is_empty() {
            return stream.shutdown(std::net::Shutdown::Both).ok();
        }
        stream.write_all(answer).ok()?;
        if text.contains("connection: close") {
            return None;
        }
    }
}

/// Looks into bodies, as clouds' targets do.
struct Curious;

impl HttpTarget for Curious {
    fn scope(&self, _: &Request) -> Scope {
        scope()
    }

    fn looks_into_bodies(&self) -> bool {
        true
    }

    fn told<'a>(&self, _: &Scope, facts: Facts<'a>, _: &[u8]) -> (Facts<'a>, Option<ToldLimit>) {
        (facts, Some(ToldLimit::new(0, Duration::ZERO)))
    }
}

fn client(address: SocketAddr, governor: &Governor) -> ClientWithMiddleware {
    let proxy = reqwest::Proxy::http(format!("http://{address}")).unwrap();
    let client = reqwest::Client::builder().proxy(proxy).build().unwrap();
    ClientBuilder::new(client).with(GovernorMiddleware::new(Curious, under(governor))).build()
}

fn url() -> String {
    format!("http://{HOST}/things")
}

/// The answer, the status that the caller gets, and how often each is asked for it.
type Odd = (&'static str, Option<u16>, usize);

#[tokio::test]
async fn odd_answers_end_and_are_counted_as_often_as_they_were_asked_for() {
    const ODD: &[Odd] = &[
        ("204 No\r\ncontent-length: 5\r\nconnection: close", Some(204), 1),
        ("304 No\r\ncontent-length: 5", Some(304), 1),
        ("302 Go\r\nlocation: ftp://elsewhere/\r\ncontent-length: 0", None, 1),
        ("999 Odd\r\ncontent-length: 0", Some(999), 1),
        ("100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 0", Some(200), 1),
        ("503 No\r\ntransfer-encoding: chunked\r\n\r\nffffffffffffffff\r\nxx", Some(503), 3),
        ("503 No\r\ntransfer-encoding: chunked\r\n\r\nnonsense", Some(503), 3),
        ("503 No\r\ncontent-length: 18446744073709551615", None, 3),
        ("403 No\r\ncontent-type: text/html\r\ncontent-length: 0\r\n\r\n<html>", Some(403), 1),
        ("429 No\r\nretry-after: -1\r\ncontent-length: 0", Some(429), 3),
        ("429 No\r\nretry-after: NaN\r\nratelimit: ((((\r\ncontent-length: 0", Some(429), 3),
        ("429 No\r\nretry-after: 99999999999999999999999\r\ncontent-length: 0", Some(429), 1),
        ("429 No\r\nretry-after: Fri, 31 Dec 9999 23:59:59 GMT\r\ncontent-length: 0", Some(429), 1),
        ("nonsense", None, 3),
    ];
    for (answer, status, times) in ODD {
        let governor = governor(|api| api.max_retries(2).attempt_timeout(millis(300)));
        let (address, asked) = server(vec![format!("HTTP/1.1 {answer}\r\n\r\n").into_bytes()]);
        let answered = client(address, &governor).get(url()).send().await;
        assert_eq!(answered.ok().map(|answer| answer.status().as_u16()), *status, "{answer}");
        assert_eq!(asked.load(Ordering::SeqCst), *times, "{answer}");
        let totals = totals(&governor);
        assert_eq!((totals.calls, totals.retries), (*times as u64, *times as u64 - 1), "{answer}");
        assert!(is_at_rest(&governor), "{answer}");
    }
}

#[tokio::test]
async fn what_a_dying_connection_took_with_it_is_sent_again_only_if_that_does_no_harm() {
    let ok = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n".to_vec();
    for (method, times) in [(Method::POST, 2), (Method::GET, 3)] {
        let governor = governor(|api| api.max_retries(2));
        let (address, asked) = server(vec![ok.clone(), Vec::new(), ok.clone()]);
        let client = client(address, &governor);
        assert!(client.get(url()).send().await.is_ok());
        // On the same connection, which the server closes when it has read it.
        let answered = client.request(method.clone(), url()).body("once").send().await;
        assert_eq!(answered.is_ok(), method == Method::GET);
        assert_eq!(asked.load(Ordering::SeqCst), times, "{method}");
        assert_eq!(totals(&governor).calls, times as u64);
        assert!(is_at_rest(&governor));
    }
}

#[tokio::test]
async fn a_target_that_panics_takes_nothing_with_it() {
    struct Panics;
    impl HttpTarget for Panics {
        fn scope(&self, _: &Request) -> Scope {
            scope()
        }
        fn looks_into_bodies(&self) -> bool {
            true
        }
        fn told<'a>(&self, _: &Scope, _: Facts<'a>, _: &[u8]) -> (Facts<'a>, Option<ToldLimit>) {
            panic!("as it does")
        }
    }
    let governor = governor(|api| api.max_retries(0).account_concurrency(std::num::NonZero::new(1).unwrap()));
    let (address, _) = server(vec![b"HTTP/1.1 503 No\r\ncontent-length: 2\r\n\r\n{}".to_vec()]);
    let proxy = reqwest::Proxy::http(format!("http://{address}")).unwrap();
    let plain = reqwest::Client::builder().proxy(proxy).build().unwrap();
    let panics = ClientBuilder::new(plain).with(GovernorMiddleware::new(Panics, under(&governor))).build();
    assert!(tokio::spawn(panics.get(url()).send()).await.is_err());
    assert!(is_at_rest(&governor));
    assert!(client(address, &governor).get(url()).send().await.is_ok());
    assert_eq!(totals(&governor).calls, 2);
}
