use std::sync::Mutex;
use std::sync::atomic::AtomicUsize;

use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use crate::polling::Polling;
use crate::testing::{ACCOUNT, Asked, Bench, Tokens, answered, fast, governor};

use super::*;

#[tokio::test(start_paused = true)]
async fn what_the_sdk_shows_of_a_client_says_nothing_of_its_calls() {
    let governor = governor(fast);
    let bench = Bench::new(&governor);
    let shown = Arc::new(Mutex::new(String::new()));
    let (showing, policy) = (Arc::clone(&shown), Arc::clone(&bench.policy));
    let (credentials, throttler) = (Arc::clone(&bench.credentials), Arc::clone(&bench.throttler));
    let polling = Arc::new(Polling::new(&bench.client));
    let answer = move |number| {
        let text = format!("{policy:?} {credentials:?} {throttler:?} {polling:?}");
        *showing.lock().unwrap() = text;
        std::future::ready(if number == 1 { Err(answered(500)) } else { Ok(1) })
    };
    bench.send(Asked::of(ACCOUNT), answer).await.unwrap();
    let shown = shown.lock().unwrap();
    assert!(shown.len() < 300 && !shown.contains(ACCOUNT) && !shown.contains("500"), "{shown}");
}

/// Counts warnings.
#[derive(Default)]
struct Warnings(Arc<AtomicUsize>);

impl Subscriber for Warnings {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "cloud_governor" && *metadata.level() == tracing::Level::WARN
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[tokio::test(start_paused = true)]
async fn a_recorder_that_was_switched_on_and_is_not_to_be_found_is_missed_once() {
    let warnings = Warnings::default();
    let count = Arc::clone(&warnings.0);
    let _listening = tracing::subscriber::set_default(warnings);
    let governor = governor(fast);
    let awaiting = || Bench::with(&governor, Tokens::default(), |client| *client.awaits_recorder.get_mut() = true);
    awaiting().play(Asked::of(ACCOUNT), &[|| Ok(1)]).await.unwrap();
    assert_eq!(count.load(Ordering::Relaxed), 0);
    for _ in 0..2 {
        awaiting().without_recorder().play(Asked::of(ACCOUNT), &[|| Ok(1)]).await.unwrap();
        assert_eq!(count.load(Ordering::Relaxed), 1);
    }
}
