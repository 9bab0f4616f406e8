//! Every branch tells what it did under its own name, with the scope as a field and nothing secret.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, Once};

use cloud_governor::{Class, Classification, Governor, Outcome, RetryPolicy};
use common::*;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

#[derive(Debug, Clone)]
struct Seen {
    name: &'static str,
    target: String,
    fields: BTreeMap<&'static str, String>,
}

#[derive(Clone, Default)]
struct Recorder(Arc<Mutex<Vec<Seen>>>);

struct Fields<'a>(&'a mut BTreeMap<&'static str, String>);

impl Visit for Fields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }
}

impl Subscriber for Recorder {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut fields = BTreeMap::new();
        event.record(&mut Fields(&mut fields));
        let (name, target) = (event.metadata().name(), event.metadata().target().to_owned());
        if target.starts_with("cloud_governor") {
            self.0.lock().unwrap().push(Seen { name, target, fields });
        }
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

impl Recorder {
    /// What came since the last look; every event has the target, its name as message, and the scope.
    fn take(&self) -> Vec<Seen> {
        let seen = std::mem::take(&mut *self.0.lock().unwrap());
        for event in &seen {
            assert_eq!(event.target, "cloud_governor");
            assert_eq!(event.fields.get("message").map(String::as_str), Some(event.name));
            assert_eq!(event.fields.get("scope").map(String::as_str), Some("github/octo/*/rest"), "{event:?}");
        }
        seen
    }

    fn names(&self) -> Vec<&'static str> {
        self.take().into_iter().map(|event| event.name).collect()
    }
}

/// Without a subscriber of the process, one that a thread sets while another first comes by an event may miss it: the
/// event's place is then noted as of no interest to anybody.
fn listening() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| tracing::subscriber::set_global_default(Recorder::default()).expect("nobody else sets one"));
}

/// Comes first, or second to [`record`], in every test.
fn governor(yaml: &str) -> Governor {
    listening();
    common::governor(yaml)
}

fn record() -> (Recorder, tracing::subscriber::DefaultGuard) {
    listening();
    let recorder = Recorder::default();
    let guard = tracing::subscriber::set_default(recorder.clone());
    (recorder, guard)
}

async fn once(governor: &Governor, outcome: Outcome) {
    admit(&mut governor.call(&scope())).await.finish(outcome);
}

#[tokio::test(start_paused = true)]
async fn a_throttle_tells_of_the_lower_rate_the_pause_and_the_retry() {
    let (recorder, _guard) = record();
    let governor = governor("ratelimit: { github: { base_delay: 1, max_backoff: 1 } }");
    once(&governor, Outcome::Failure(Classification::throttled().with_retry_after(secs(6.0)))).await;
    let seen = recorder.take();
    let names: Vec<_> = seen.iter().map(|event| event.name).collect();
    assert_eq!(names, ["throttled", "rate_lowered", "paused", "retrying"]);
    let field = |index: usize, name: &str| seen[index].fields[name].clone();
    assert_eq!((field(0, "attempt"), field(0, "retry_after_seconds")), ("1".to_owned(), "6.0".to_owned()));
    assert_eq!((field(1, "from_rps"), field(1, "to_rps")), ("20.0".to_owned(), "10.0".to_owned()));
    assert_eq!(field(2, "pause_seconds"), "6.0");
    assert!(field(3, "delay_seconds").parse::<f64>().unwrap() >= 6.0);
}

#[tokio::test(start_paused = true)]
async fn recovery_is_told() {
    let governor = governor("ratelimit: { github: { law: aimd } }");
    once(&governor, fails(Class::Throttled)).await;
    tokio::time::sleep(secs(5.0)).await;
    let (recorder, _guard) = record();
    once(&governor, Outcome::Success).await;
    let seen = recorder.take();
    assert_eq!(seen.len(), 1, "{seen:?}");
    assert_eq!((seen[0].name, &*seen[0].fields["to_rps"]), ("rate_raised", "11.0"));
}

#[tokio::test(start_paused = true)]
async fn each_reason_to_stop_has_a_name_of_its_own() {
    let (recorder, _guard) = record();
    let exhausted = governor("ratelimit: { github: { max_retries: 0 } }");
    once(&exhausted, fails(Class::Transient)).await;
    let seen = recorder.take();
    assert_eq!((seen[0].name, &*seen[0].fields["reason"]), ("retries_exhausted", "\"retries_exhausted\""));
    let late = governor("ratelimit: { github: { deadline: 1, base_delay: 2, max_backoff: 2 } }");
    once(&late, fails(Class::Transient)).await;
    assert_eq!(recorder.names(), ["retry_deadline_exceeded"]);
    let poor = governor("ratelimit: { github: { retry_budget: 0 } }");
    once(&poor, Outcome::Failure(Classification::transient().with_pays_budget(true))).await;
    assert_eq!(recorder.names(), ["retry_budget_exhausted"]);
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_cannot_end_in_time_is_told() {
    let governor = governor("ratelimit: { github: { max_rps: 0.1, burst: 1 } }");
    once(&governor, Outcome::Success).await;
    let (recorder, _guard) = record();
    let policy = RetryPolicy::builder().deadline(secs(1.0)).build().unwrap();
    governor.call(&scope()).policy(policy).admit().await.unwrap_err();
    assert_eq!(recorder.names(), ["retry_deadline_exceeded"]);
}

#[tokio::test(start_paused = true)]
async fn a_circuit_tells_of_every_change_and_of_what_it_refuses() {
    let (recorder, _guard) = record();
    let governor = governor("ratelimit: { github: { max_retries: 0, breaker: { failures: 1, cooldown: 30 } } }");
    once(&governor, fails(Class::Transient)).await;
    assert_eq!(recorder.names(), ["retries_exhausted", "circuit_opened"]);
    governor.call(&scope()).admit().await.unwrap_err();
    let seen = recorder.take();
    assert_eq!((seen[0].name, &*seen[0].fields["retry_after_seconds"]), ("circuit_rejected", "30.0"));
    tokio::time::sleep(secs(30.0)).await;
    let mut call = governor.call(&scope());
    let probe = admit(&mut call).await;
    assert_eq!(recorder.names(), ["circuit_half_open"]);
    governor.call(&scope()).admit().await.unwrap_err();
    assert_eq!(recorder.names(), ["circuit_rejected"]);
    probe.finish(Outcome::Success);
    assert_eq!(recorder.names(), ["circuit_closed"]);
}

#[tokio::test(start_paused = true)]
async fn a_failed_probe_tells_that_the_circuit_opened_again() {
    let governor = governor("ratelimit: { github: { breaker: { failures: 1, cooldown: 30 }, max_retries: 0 } }");
    once(&governor, fails(Class::Transient)).await;
    tokio::time::sleep(secs(30.0)).await;
    let (recorder, _guard) = record();
    once(&governor, fails(Class::Transient)).await;
    assert_eq!(recorder.names(), ["circuit_half_open", "retries_exhausted", "circuit_opened"]);
}

#[tokio::test(start_paused = true)]
async fn a_retry_refused_by_an_open_circuit_is_told() {
    let governor = governor("ratelimit: { github: { breaker: { failures: 1 } } }");
    let mut retrying = governor.call(&scope());
    admit(&mut retrying).await.finish(fails(Class::Transient));
    let mut failing = governor.call(&scope()).policy(RetryPolicy::none());
    admit(&mut failing).await.finish(fails(Class::Transient));
    let (recorder, _guard) = record();
    retrying.admit().await.unwrap_err();
    assert_eq!(recorder.names(), ["circuit_rejected"]);
    assert_eq!(governor.summary().totals.gave_up, 2);
}

#[tokio::test(start_paused = true)]
async fn what_goes_well_or_ends_for_good_tells_nothing() {
    let (recorder, _guard) = record();
    let governor = governor("");
    once(&governor, Outcome::Success).await;
    once(&governor, fails(Class::Fatal)).await;
    drop(admit(&mut governor.call(&scope())).await);
    assert_eq!(recorder.names(), Vec::<&str>::new());
}
