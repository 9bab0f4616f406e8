//! The job: publishes, pulls and acknowledges.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use gcloud_googleapis::pubsub::v1::{PubsubMessage, ReceivedMessage, StreamingPullResponse};
use serde::Serialize;
use tokio::task::JoinSet;
use tonic::{Status, Streaming};

use super::client::Client;
use super::failure::{Failure, SetUpError};
use super::ledger::Ledger;
use super::options::{Args, Pulling};
use crate::sim::gcp::pubsub::Pubsub;

/// How long a caller waits who was told no.
const PAUSE: Duration = Duration::from_secs(1);

/// How often it is looked whether the job is done.
const LOOK: Duration = Duration::from_millis(20);

/// How often a topic or a subscription is asked for.
const SETUP_ATTEMPTS: u32 = 8;

/// The most messages of one pull.
const PULL: i32 = 100;

/// Calls that failed, after whatever retries there were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Failures {
    /// To publish.
    pub publish: u64,
    /// To pull, or to open a stream.
    pub pull: u64,
    /// To acknowledge.
    pub acknowledge: u64,
}

/// Streams that were opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Streams {
    /// In all.
    pub opened: u64,
    /// When the job was done.
    pub open: u64,
}

/// What a job comes to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Outcome {
    /// Calls that failed.
    pub failed: Failures,
    /// Streams.
    pub streams: Streams,
    /// Whether it was given up, as nothing went on any more.
    pub gave_up: bool,
    /// The last of those failures.
    pub last: Option<Failure>,
}

#[derive(Debug, Default)]
struct Tallies {
    publish: AtomicU64,
    pull: AtomicU64,
    acknowledge: AtomicU64,
    opened: AtomicU64,
    open: AtomicU64,
    /// Acknowledgements under way.
    acknowledging: AtomicU64,
    /// The last failure of a call.
    last: Mutex<Option<Failure>>,
}

/// One project's part of the job.
struct Part {
    client: Client,
    topic: String,
    subscription: String,
    ledger: Arc<Ledger>,
    tallies: Arc<Tallies>,
    /// What it has to publish, and where it goes on.
    numbers: Range<usize>,
    next: AtomicUsize,
    batch: usize,
    bytes: usize,
}

/// Does the job, until it is done or nothing has gone on for as long as `--patience` says. `finish` is called then, before what
/// is still open is closed.
///
/// # Errors
/// [`SetUpError`].
pub async fn run(
    args: &Args,
    pubsub: &Pubsub,
    clients: Vec<Client>,
    ledger: &Arc<Ledger>,
    finish: impl FnOnce(),
) -> Result<Outcome, SetUpError> {
    let tallies = Arc::new(Tallies::default());
    let parts = parts(args, pubsub, clients, ledger, &tallies);
    ledger.moved_on();
    tokio::select! {
        made = set_up(&parts) => made.map_err(SetUpError::Failed)?,
        () = ledger.stalled(args.patience) => {
            let patience = args.patience;
            return Err(match tallies.take_last() {
                Some(last) => SetUpError::GivenUp { patience, last },
                None => SetUpError::Silent { patience },
            });
        }
    }
    // What failed at first was made in the end.
    tallies.take_last();

    // Both sets end with this function, whatever is under way.
    let (mut publishing, mut pulling) = (JoinSet::new(), JoinSet::new());
    for part in &parts {
        for _ in 0..args.pullers {
            let (part, how) = (Arc::clone(part), args.pull);
            pulling.spawn(async move { part.pull(how).await });
        }
        for _ in 0..args.in_flight {
            let part = Arc::clone(part);
            publishing.spawn(async move { part.publish().await });
        }
    }
    let left = || pubsub.tally().left + tallies.acknowledging.load(Ordering::Relaxed);
    let done = async {
        while publishing.join_next().await.is_some() {}
        while left() > 0 {
            tokio::time::sleep(LOOK).await;
        }
    };
    let gave_up = tokio::select! {
        () = done => false,
        () = ledger.stalled(args.patience) => true,
    };
    finish();
    let (failed, streams) = tallies.read();
    Ok(Outcome { failed, streams, gave_up, last: tallies.take_last() })
}

/// Makes all topics and subscriptions. What is under way ends with the future.
async fn set_up(parts: &[Arc<Part>]) -> Result<(), Failure> {
    let mut making = JoinSet::new();
    for part in parts {
        let part = Arc::clone(part);
        making.spawn(async move { part.set_up().await });
    }
    while let Some(made) = making.join_next().await {
        made.unwrap_or_else(|error| Err(Status::internal(error.to_string()))).map_err(|error| Failure::of(&error))?;
    }
    Ok(())
}

fn parts(
    args: &Args,
    pubsub: &Pubsub,
    clients: Vec<Client>,
    ledger: &Arc<Ledger>,
    tallies: &Arc<Tallies>,
) -> Vec<Arc<Part>> {
    let mut parts = Vec::new();
    let mut first = 0;
    for ((project, client), messages) in pubsub.projects().iter().zip(clients).zip(args.shares()) {
        let account = project.account();
        let numbers = first..first + messages;
        first = numbers.end;
        parts.push(Arc::new(Part {
            client,
            topic: format!("{account}/topics/placed"),
            subscription: format!("{account}/subscriptions/billing"),
            ledger: Arc::clone(ledger),
            tallies: Arc::clone(tallies),
            next: AtomicUsize::new(numbers.start),
            numbers,
            batch: args.batch as usize,
            bytes: args.bytes as usize,
        }));
    }
    parts
}

impl Part {
    async fn set_up(&self) -> Result<(), Status> {
        let mut attempt = 1;
        loop {
            let made = async {
                self.client.create_topic(&self.topic).await?;
                self.ledger.moved_on();
                self.client.create_subscription(&self.subscription, &self.topic).await
            };
            match made.await {
                Ok(()) => {
                    self.ledger.moved_on();
                    return Ok(());
                }
                Err(error) if attempt < SETUP_ATTEMPTS => {
                    self.tallies.note(&error);
                    attempt += 1;
                    tokio::time::sleep(PAUSE).await;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Publishes batch after batch, side by side with others that do, until there is none.
    async fn publish(&self) {
        loop {
            let first = self.next.fetch_add(self.batch, Ordering::Relaxed);
            let batch = first..first.saturating_add(self.batch).min(self.numbers.end);
            if batch.is_empty() {
                return;
            }
            let messages = batch.clone().map(|number| self.message(number)).collect();
            match self.client.publish(&self.topic, messages).await {
                Ok(_) => self.ledger.published(batch),
                Err(error) => self.failed("Publish", &self.tallies.publish, &error),
            }
        }
    }

    fn message(&self, number: usize) -> PubsubMessage {
        let mut data = Ledger::data(number);
        data.resize(data.len().max(self.bytes), b' ');
        PubsubMessage { data, ..PubsubMessage::default() }
    }

    /// Takes messages until it is dropped.
    async fn pull(&self, how: Pulling) {
        loop {
            let ended = match how {
                Pulling::Unary => match self.client.pull(&self.subscription, PULL).await {
                    Ok(messages) => {
                        self.take(messages).await;
                        Ok(())
                    }
                    Err(error) => Err(error),
                },
                Pulling::Streaming => match self.client.streaming_pull(&self.subscription).await {
                    Ok(stream) => {
                        self.drain(stream).await;
                        Ok(())
                    }
                    Err(error) => Err(error),
                },
            };
            if let Err(error) = ended {
                self.failed("Pull", &self.tallies.pull, &error);
                tokio::time::sleep(PAUSE).await;
            }
        }
    }

    /// Takes what a stream brings until it ends. That it ends is a matter of course.
    async fn drain(&self, mut stream: Streaming<StreamingPullResponse>) {
        self.tallies.opened.fetch_add(1, Ordering::Relaxed);
        let _open = Held::new(&self.tallies.open);
        while let Ok(Some(first)) = stream.message().await {
            let mut messages = first.received_messages;
            // What came while the last were acknowledged is acknowledged together.
            while let Some(Ok(Some(more))) = stream.message().now_or_never() {
                messages.extend(more.received_messages);
            }
            self.take(messages).await;
        }
    }

    async fn take(&self, messages: Vec<ReceivedMessage>) {
        if messages.is_empty() {
            return;
        }
        let mut ack_ids = Vec::with_capacity(messages.len());
        for ReceivedMessage { ack_id, message, .. } in messages {
            self.ledger.received(&message.unwrap_or_default().data);
            ack_ids.push(ack_id);
        }
        let _under_way = Held::new(&self.tallies.acknowledging);
        if let Err(error) = self.client.acknowledge(&self.subscription, ack_ids).await {
            self.failed("Acknowledge", &self.tallies.acknowledge, &error);
        }
    }

    fn failed(&self, rpc: &str, tally: &AtomicU64, error: &Status) {
        tally.fetch_add(1, Ordering::Relaxed);
        self.tallies.note(error);
        tracing::debug!(target: "pubsub", rpc, topic = self.topic, code = ?error.code(), reason = error.message(), "failed");
    }
}

impl Tallies {
    fn read(&self) -> (Failures, Streams) {
        let read = |tally: &AtomicU64| tally.load(Ordering::Relaxed);
        let (publish, pull, acknowledge) = (read(&self.publish), read(&self.pull), read(&self.acknowledge));
        let streams = Streams { opened: read(&self.opened), open: read(&self.open) };
        (Failures { publish, pull, acknowledge }, streams)
    }

    fn note(&self, error: &Status) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(Failure::of(error));
    }

    fn take_last(&self) -> Option<Failure> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Counts as one as long as it is held.
struct Held<'a>(&'a AtomicU64);

impl<'a> Held<'a> {
    fn new(count: &'a AtomicU64) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Held(count)
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
