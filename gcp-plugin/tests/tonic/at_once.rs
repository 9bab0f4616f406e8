//! Many calls at once, of several services, projects and RPCs, over every kind of client, some of which fail: each attempt is
//! counted where the server saw it go.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use cloud_governor::{Governor, Scope, Totals};
use futures_util::future::{BoxFuture, join_all};
use futures_util::{StreamExt, stream};
use tonic::Code;
use tonic_types::ErrorDetails;

use crate::clients::{Ask, Client, On, Rpc, Said, by, client, received};
use crate::governors::{HOME, governor, is_at_rest, scope};
use crate::reply::Reply;
use crate::server::{Asked, Server};
use crate::storage::{self, Storage};

const CALLS: usize = 400;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    attempts: u64,
    throttled: u64,
    transient: u64,
}

type Ledger = Arc<Mutex<BTreeMap<Scope, Counts>>>;

/// What a request is to be charged to.
fn scope_of(asked: &Asked) -> Scope {
    if let Some(bucket) = asked.path.strip_prefix("/storage/v1/b/") {
        return scope(HOME, "storage", if bucket.contains("/o/") { "objects.get" } else { "objects.list" });
    }
    let (package, method) = asked.path.trim_start_matches('/').split_once('/').expect("an RPC");
    let service = package.split('.').nth(1).expect("a package of Google's");
    let (_, resource) =
        asked.header("x-goog-request-params").and_then(|text| text.split_once('=')).expect("a resource");
    let project = resource.split('/').nth(1).expect("a project");
    let account = if project == "_" { HOME.to_owned() } else { format!("projects/{project}") };
    scope(&account, service, method)
}

/// Every seventh request is throttled, every eleventh fails in passing, each now in the headers and now behind them.
fn answer(asked: &Asked, number: usize, ledger: &Ledger) -> Reply {
    let (is_throttled, is_down) = (number % 7 == 3, number % 11 == 5);
    let mut ledger = ledger.lock().expect("no panic before");
    let counts = ledger.entry(scope_of(asked)).or_default();
    counts.attempts += 1;
    counts.throttled += u64::from(is_throttled);
    counts.transient += u64::from(is_down && !is_throttled);
    drop(ledger);
    let status = if number.is_multiple_of(2) { Reply::trailers_only } else { Reply::trailers };
    let throttled = || Some(ErrorDetails::with_error_info("RATE_LIMIT_EXCEEDED", "googleapis.com", []));
    match asked.path.starts_with("/google.") {
        true if is_throttled => status(Code::ResourceExhausted, throttled()),
        true if is_down => status(Code::Unavailable, None),
        true if asked.path.ends_with("/ReadObject") => Reply::messages(b"", 3),
        true => Reply::grpc(b""),
        false if is_throttled => Reply::legacy(429, "rateLimitExceeded"),
        false if is_down => Reply::legacy(500, "internalError"),
        false => storage::object(),
    }
}

fn call(clients: &[Client], storage: &Storage, number: usize) -> BoxFuture<'static, Result<(), Said>> {
    let client = &clients[number % clients.len()];
    let ask = Ask::of(["p1", "p2", "p3"][number / 3 % 3]);
    let rpcs: Vec<_> = Rpc::REPEATABLE.into_iter().chain(Rpc::ONCE).collect();
    match number % 12 {
        8 => {
            let reading = client.read(ask);
            Box::pin(async move { received(reading.await?).await.1.map_or(Ok(()), Err) })
        }
        9 => {
            let pulling = client.pull(ask, stream::iter([(); 2]).boxed());
            Box::pin(async move { received(pulling.await?).await.1.map_or(Ok(()), Err) })
        }
        10 => client.write(ask, stream::iter([(); 2]).then(|()| tokio::task::yield_now()).boxed()),
        11 => {
            let storage = storage.clone();
            Box::pin(async move {
                let what = if number.is_multiple_of(24) { storage::Call::List } else { storage::Call::Get };
                // What its failures are is pinned elsewhere.
                let _answer = storage.call(what).await;
                Ok(())
            })
        }
        rpc => client.call(rpcs[rpc], ask),
    }
}

fn ours() -> Governor {
    governor(|gcp| {
        let gcp =
            ["pubsub", "storage"].into_iter().fold(gcp, |gcp, name| gcp.service(name, |one| one.per_operation(true)));
        let gcp = gcp.max_retries(5).account_concurrency(20.try_into().expect("some"));
        gcp.breaker_failures(1_000_000).retry_budget(1_000_000)
    })
}

async fn start() -> (Server, Ledger, Governor, Vec<Client>, Storage) {
    let ledger = Ledger::default();
    let kept = Arc::clone(&ledger);
    let server = Server::start(move |asked, number| answer(asked, number, &kept));
    let governor = ours();
    let mut clients = Vec::new();
    for on in On::ALL {
        clients.push(client(on, &server, by(&governor)).await);
    }
    let storage = Storage::new(&server, by(&governor));
    (server, ledger, governor, clients, storage)
}

/// The governor has counted what the server has, and nobody was told of anything else than what the server said.
fn check(results: Vec<Result<(), Said>>, server: &Server, ledger: &Ledger, governor: &Governor) {
    assert_eq!(results.len(), CALLS);
    for said in results.iter().filter_map(|result| result.as_ref().err()) {
        let is_servers = matches!(said.code, Code::ResourceExhausted | Code::Unavailable) && said.refusal.is_none();
        assert!(is_servers, "{said:?}");
    }
    assert!(results.iter().filter(|result| result.is_ok()).count() > CALLS / 2);
    let summary = governor.summary();
    let counted: BTreeMap<_, _> = summary
        .scopes
        .into_iter()
        .map(|(scope, totals)| {
            let Totals { calls, throttled, transient_errors, .. } = totals;
            (scope, Counts { attempts: calls, throttled, transient: transient_errors })
        })
        .collect();
    let seen = ledger.lock().expect("no panic before").clone();
    assert!(seen.len() > 20, "{} scopes", seen.len());
    assert_eq!(counted, seen);
    let totals = summary.totals;
    assert_eq!((totals.operations, totals.calls), (CALLS as u64, server.count() as u64));
    assert_eq!(totals.calls - totals.retries, CALLS as u64);
    assert!(is_at_rest(governor));
}

#[tokio::test]
async fn calls_joined_in_one_task_are_counted_where_the_server_saw_them() {
    let (server, ledger, governor, clients, storage) = start().await;
    let results = join_all((0..CALLS).map(|number| call(&clients, &storage, number))).await;
    check(results, &server, &ledger, &governor);
}

#[tokio::test(start_paused = true)]
async fn calls_that_all_began_in_the_same_nanosecond_are_counted_where_the_server_saw_them() {
    let (server, ledger, governor, clients, storage) = start().await;
    let results = join_all((0..CALLS).map(|number| call(&clients, &storage, number))).await;
    check(results, &server, &ledger, &governor);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn calls_of_many_tasks_on_many_threads_are_counted_where_the_server_saw_them() {
    let (server, ledger, governor, clients, storage) = start().await;
    let tasks: Vec<_> = (0..CALLS).map(|number| tokio::spawn(call(&clients, &storage, number))).collect();
    let results = join_all(tasks).await.into_iter().map(|result| result.expect("no panic")).collect();
    check(results, &server, &ledger, &governor);
}
