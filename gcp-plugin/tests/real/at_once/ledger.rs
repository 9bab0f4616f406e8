//! What the server saw, by whom it is to be charged to.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use cloud_governor::Scope;
use tonic::Code;
use tonic_types::ErrorDetails;

use crate::common::{HOME, millis, scope};
use crate::reply::{Reply, message};
use crate::server::{Asked, Server};

/// Whom a request is to be charged to, and the number of the call that it is of.
fn target(asked: &Asked) -> (Scope, usize) {
    let number = |text: &str| {
        let digits: String = text.chars().filter(char::is_ascii_digit).collect();
        digits.parse().expect("a number")
    };
    let parts: Vec<&str> = asked.path.split('/').skip(1).collect();
    let quota_project = || format!("projects/{}", asked.header("x-goog-user-project").expect("a quota project"));
    match parts.as_slice() {
        ["v1", "projects", _, "assets"] => {
            (scope(&quota_project(), "cloudasset", "ListAssets"), number(asked.parameter("pageSize").expect("a size")))
        }
        ["v1", "projects", _] => {
            let size = number(asked.parameter("pageSize").expect("a size"));
            (scope(&quota_project(), "cloudasset", "SearchAllResources"), size)
        }
        ["compute", "v1", "projects", project, _, _, "instances"] => {
            let filter = number(asked.parameter("maxResults").expect("a size"));
            (scope(&format!("projects/{project}"), "compute", "instances.list"), filter)
        }
        ["compute", "v1", "projects", project, _, _, "instances", instance] => {
            (scope(&format!("projects/{project}"), "compute", "instances.get"), number(instance))
        }
        ["storage", "v1", "b", _, "o", object] => (scope(HOME, "storage", "objects.get"), number(object)),
        ["google.storage.v2.Storage", "GetBucket"] => {
            let bucket = asked.header("x-goog-request-params").and_then(|bucket| bucket.rsplit('F').next());
            (scope(HOME, "storage", "GetBucket"), number(bucket.expect("a bucket")))
        }
        _ => panic!("nobody asks for {}", asked.path),
    }
}

/// What becomes of the attempt of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Served,
    Missing,
    Busy,
    Throttled,
    Reset,
}

fn fate(number: usize, attempt: usize, scope: &Scope) -> Fate {
    let is_first = attempt == 1;
    let (is_asset, is_grpc) = (scope.service() == "cloudasset", scope.operation() == Some("GetBucket"));
    match number {
        number if number % 11 == 3 => Fate::Missing,
        number if number % 7 == 0 && is_first && (is_asset || is_grpc) => Fate::Throttled,
        number if number % 13 == 5 && attempt <= 2 && !is_grpc => Fate::Reset,
        number if number % 5 == 0 && is_first => Fate::Busy,
        _ => Fate::Served,
    }
}

fn reply(fate: Fate, number: usize, scope: &Scope) -> Reply {
    let is_grpc = scope.operation() == Some("GetBucket");
    match fate {
        Fate::Served if is_grpc => Reply::grpc(&message(1, b"bucket")),
        Fate::Missing if is_grpc => Reply::trailers_only(Code::NotFound, None),
        Fate::Throttled if is_grpc => {
            Reply::trailers(Code::ResourceExhausted, Some(ErrorDetails::with_retry_info(Some(millis(1)))))
        }
        Fate::Busy if is_grpc => Reply::trailers_only(Code::Unavailable, None),
        Fate::Served if scope.operation() == Some("objects.get") => {
            Reply::new(200, "x").header("x-goog-generation", "1")
        }
        Fate::Served => Reply::json("{}"),
        Fate::Missing => Reply::saying(404, "NOT_FOUND", &format!("no {number}.")),
        Fate::Throttled => Reply::rate_limited("projects/123"),
        Fate::Busy => Reply::error(503, "UNAVAILABLE"),
        Fate::Reset => Reply::Reset,
    }
}

#[derive(Debug, Default, PartialEq, Eq, Clone, Copy)]
pub(super) struct Counts {
    pub(super) calls: u64,
    pub(super) attempts: u64,
    pub(super) throttled: u64,
    pub(super) transient: u64,
    pub(super) retries: u64,
}

#[derive(Default)]
pub(super) struct Ledger {
    attempts: BTreeMap<usize, usize>,
    pub(super) counts: BTreeMap<Scope, Counts>,
}

pub(super) fn start() -> (Server, Arc<Mutex<Ledger>>) {
    let ledger = Arc::new(Mutex::new(Ledger::default()));
    let kept = Arc::clone(&ledger);
    let server = Server::start(move |asked, _| {
        let (scope, number) = target(asked);
        let mut ledger = kept.lock().expect("no panic before");
        let attempt = ledger.attempts.entry(number).or_default();
        *attempt += 1;
        let (attempt, fate) = (*attempt, fate(number, *attempt, &scope));
        let counts = ledger.counts.entry(scope.clone()).or_default();
        counts.attempts += 1;
        counts.calls += u64::from(attempt == 1);
        counts.retries += u64::from(attempt > 1);
        counts.throttled += u64::from(fate == Fate::Throttled);
        counts.transient += u64::from(matches!(fate, Fate::Busy | Fate::Reset));
        reply(fate, number, &scope).after(millis(number as u64 % 3))
    });
    (server, ledger)
}
