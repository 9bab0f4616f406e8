//! Nothing of a request but its scope reaches a log, a refusal, a summary or a `Debug`.

use std::fmt::{self, Write};
use std::sync::{Arc, Mutex, Once};

use cloud_governor::middleware::GovernorMiddleware;
use cloud_governor::{Refusal, Scope};
use tracing::field::{Field, Visit};
use tracing::instrument::WithSubscriber;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use crate::common::*;
use crate::server::{Reply, Server};

/// Everything that is logged by the governor, as one text.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<String>>);

struct Fields<'a>(&'a mut String);

impl Visit for Fields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let _ = write!(self.0, "{}={value:?} ", field.name());
    }
}

impl Subscriber for Log {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("cloud_governor")
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut text = self.0.lock().unwrap();
        text.push_str(event.metadata().name());
        text.push(' ');
        event.record(&mut Fields(&mut text));
        text.push('\n');
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// Comes first in every test. Without a subscriber of the process, one of a task may miss an event that another test comes
/// by first at the same time: whether anybody listens is remembered for each place.
pub(crate) fn listening() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| tracing::subscriber::set_global_default(Log::default()).expect("nobody else sets one"));
}

const SECRETS: [&str; 6] = ["hunter2", "t0ken", "q-secret", "p-secret", "b-secret", "a-secret"];

#[tokio::test]
async fn no_secret_of_a_request_or_an_answer_reaches_anything_of_ours() {
    let failures = [
        Reply::new(429, "a-secret").header("x-echo", "a-secret").header("retry-after", "1"),
        Reply::new(500, "a-secret"),
        Reply::closed(),
    ];
    let server = Server::start(move |_, number| failures[number % failures.len()].clone());
    let governor = governor(|api| api.max_retries(4).breaker_failures(1));
    let log = Log::default();
    let url = "http://user:hunter2@api.example.com/p-secret?key=q-secret";
    let client = client(&server, &governor);
    let calls = async {
        let mut told = String::new();
        for _ in 0..2 {
            let request = client.put(url).bearer_auth("t0ken").header("x-key", "t0ken").body("b-secret");
            if let Err(error) = request.send().await
                && let Some(refusal) = Refusal::find(&error)
            {
                let _ = write!(told, "{error} {error:?} {refusal} {refusal:?}");
            }
        }
        told
    };
    let refused = calls.with_subscriber(log.clone()).await;
    let logged = log.0.lock().unwrap().clone();
    assert!(logged.contains("retries_exhausted") && logged.contains(HOST), "{logged}");
    assert!(refused.contains("circuit_open"), "{refused}");
    let middleware = GovernorMiddleware::new(|_: &reqwest::Request| Scope::new("x", "", "", ""), under(&governor));
    let shown = format!("{middleware:?} {:?} {:?} {:?}", governor.summary(), governor.messages(), by_host(&governor));
    for secret in SECRETS {
        for text in [&logged, &refused, &shown] {
            assert!(!text.contains(secret), "{secret} in {text}");
        }
    }
}
