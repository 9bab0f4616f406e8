//! Ten thousand calls at once, some of which fail: each attempt is counted where the server saw it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use futures_util::future::join_all;

use crate::common::*;
use crate::server::{Reply, Server};

const CALLS: usize = 10_000;

/// What the server answered, by status.
type Ledger = Arc<Mutex<HashMap<u16, u64>>>;

/// Of every ten calls one is throttled once, one fails once, and one is not found.
fn start(ledger: &Ledger) -> Server {
    let (ledger, tried) = (Arc::clone(ledger), Mutex::new(HashMap::<String, u32>::new()));
    Server::start(move |asked, _| {
        let path = asked.uri.path().to_owned();
        let kind = path.bytes().last().unwrap();
        let first = {
            let mut tried = tried.lock().unwrap();
            let times = tried.entry(path).or_default();
            *times += 1;
            *times == 1
        };
        let status = match kind {
            b'1' if first => 429,
            b'2' if first => 500,
            b'3' => 404,
            _ => 200,
        };
        *ledger.lock().unwrap().entry(status).or_default() += 1;
        Reply::new(status, "content")
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_calls_at_once_add_up_to_what_the_server_saw() {
    let ledger = Ledger::default();
    let server = start(&ledger);
    let governor =
        governor(|api| api.max_rps(1_000_000.0).floor_rps(100_000.0).deadline(None).breaker_failures(1_000_000));
    let client = client(&server, &governor);
    let calls = (0..CALLS).map(|number| {
        let request = client.get(format!("http://{HOST}/{number}"));
        tokio::spawn(async move {
            let response = request.send().await.unwrap();
            let status = response.status().as_u16();
            response.bytes().await.unwrap();
            (number, status)
        })
    });
    for call in join_all(calls).await {
        let (number, status) = call.unwrap();
        assert_eq!(status, if number % 10 == 3 { 404 } else { 200 }, "call {number}");
    }
    let tenth = CALLS as u64 / 10;
    let seen = ledger.lock().unwrap().clone();
    assert_eq!(seen, HashMap::from([(200, 9 * tenth), (404, tenth), (429, tenth), (500, tenth)]));
    let totals = totals(&governor);
    assert_eq!((totals.operations, totals.calls), (CALLS as u64, seen.values().sum()));
    assert_eq!((totals.throttled, totals.transient_errors, totals.retries), (tenth, tenth, 2 * tenth));
    assert_eq!((totals.gave_up, totals.rejected), (0, 0));
    assert!(is_at_rest(&governor));
}
