//! Topics, subscriptions, and messages that are delivered at least once. Time is passed in, counted from the server's start.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use gcloud_googleapis::pubsub::v1::{PubsubMessage, ReceivedMessage};
use serde::Serialize;
use tokio::sync::Notify;
use tonic::Status;

/// The most messages of one answer, and of one request.
pub(super) const MOST_MESSAGES: usize = 1_000;

/// What the service has stored and delivered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Tally {
    /// Messages that were published: one that was published twice is two.
    pub stored: u64,
    /// Deliveries: a message that is delivered again is one more.
    pub delivered: u64,
    /// Messages that were acknowledged in time, once per subscription.
    pub acknowledged: u64,
    /// Messages that are yet to be acknowledged, once per subscription.
    pub left: u64,
}

/// Everything there is.
#[derive(Debug, Default)]
pub(super) struct Store {
    state: Mutex<State>,
    /// Rung whenever there may be more to deliver.
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    /// The subscriptions of each topic.
    topics: HashMap<String, Vec<String>>,
    subscriptions: HashMap<String, Subscription>,
    leases: u64,
    tally: Tally,
}

#[derive(Debug)]
struct Subscription {
    topic: String,
    deadline: Duration,
    ready: VecDeque<Waiting>,
    leased: BTreeMap<u64, Lease>,
}

#[derive(Debug)]
struct Waiting {
    message: PubsubMessage,
    /// How often it was delivered.
    delivered: i32,
}

/// A message that somebody has, and is to acknowledge.
#[derive(Debug)]
struct Lease {
    waiting: Waiting,
    until: Duration,
    stream: Option<u64>,
}

/// What a subscriber asks for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Want {
    /// The most messages; of a stream, those that it was sent and are yet to be acknowledged included.
    pub(super) most: usize,
    /// The time to acknowledge them in, if it is not the subscription's.
    pub(super) deadline: Option<Duration>,
    /// The stream that asks, if one does.
    pub(super) stream: Option<u64>,
}

impl Store {
    pub(super) fn create_topic(&self, name: &str) -> Result<(), Status> {
        let mut state = self.lock();
        if state.topics.contains_key(name) {
            return Err(exists(name));
        }
        state.topics.insert(name.to_owned(), Vec::new());
        Ok(())
    }

    pub(super) fn has_topic(&self, name: &str) -> Result<(), Status> {
        if self.lock().topics.contains_key(name) { Ok(()) } else { Err(missing(name)) }
    }

    pub(super) fn create_subscription(&self, name: &str, topic: &str, deadline: Duration) -> Result<(), Status> {
        let state = &mut *self.lock();
        if state.subscriptions.contains_key(name) {
            return Err(exists(name));
        }
        state.topics.get_mut(topic).ok_or_else(|| missing(topic))?.push(name.to_owned());
        let subscription =
            Subscription { topic: topic.to_owned(), deadline, ready: VecDeque::new(), leased: BTreeMap::new() };
        state.subscriptions.insert(name.to_owned(), subscription);
        Ok(())
    }

    /// The topic of a subscription.
    pub(super) fn topic_of(&self, subscription: &str) -> Result<String, Status> {
        self.lock().subscription(subscription).map(|subscription| subscription.topic.clone())
    }

    /// Stores messages, each under the id that is returned for it.
    pub(super) fn publish(&self, topic: &str, messages: Vec<PubsubMessage>) -> Result<Vec<String>, Status> {
        let state = &mut *self.lock();
        let subscriptions = state.topics.get(topic).ok_or_else(|| missing(topic))?;
        let mut ids = Vec::with_capacity(messages.len());
        for mut message in messages {
            state.tally.stored += 1;
            message.message_id = state.tally.stored.to_string();
            ids.push(message.message_id.clone());
            for subscription in subscriptions {
                if let Some(subscription) = state.subscriptions.get_mut(subscription) {
                    subscription.ready.push_back(Waiting { message: message.clone(), delivered: 0 });
                }
            }
        }
        self.changed.notify_waiters();
        Ok(ids)
    }

    /// What there is to deliver at this moment, which may be nothing.
    pub(super) fn pull(&self, name: &str, want: Want, now: Duration) -> Result<Vec<ReceivedMessage>, Status> {
        let state = &mut *self.lock();
        let State { subscriptions, leases, tally, .. } = state;
        let subscription = subscriptions.get_mut(name).ok_or_else(|| missing(name))?;
        subscription.take_back(now);
        let held = |lease: &&Lease| want.stream.is_some() && lease.stream == want.stream;
        let most = want.most.saturating_sub(subscription.leased.values().filter(held).count()).min(MOST_MESSAGES);
        let until = now.saturating_add(want.deadline.unwrap_or(subscription.deadline));
        let mut received = Vec::new();
        while received.len() < most {
            let Some(mut waiting) = subscription.ready.pop_front() else { break };
            *leases += 1;
            tally.delivered += 1;
            waiting.delivered = waiting.delivered.saturating_add(1);
            received.push(ReceivedMessage {
                ack_id: leases.to_string(),
                message: Some(waiting.message.clone()),
                delivery_attempt: waiting.delivered,
            });
            subscription.leased.insert(*leases, Lease { waiting, until, stream: want.stream });
        }
        Ok(received)
    }

    /// Takes messages away. What comes too late says nothing of a message that was delivered again since.
    pub(super) fn acknowledge(&self, name: &str, ack_ids: &[String], now: Duration) -> Result<(), Status> {
        let state = &mut *self.lock();
        let subscription = state.subscriptions.get_mut(name).ok_or_else(|| missing(name))?;
        subscription.take_back(now);
        let known = ack_ids.iter().filter_map(|id| subscription.leased.remove(&id.parse().ok()?)).count();
        state.tally.acknowledged += known as u64;
        self.changed.notify_waiters();
        Ok(())
    }

    /// Moves the time by which messages have to be acknowledged.
    pub(super) fn put_off(&self, name: &str, ack_ids: &[String], until: Duration, now: Duration) -> Result<(), Status> {
        let state = &mut *self.lock();
        let subscription = state.subscriptions.get_mut(name).ok_or_else(|| missing(name))?;
        subscription.take_back(now);
        for id in ack_ids {
            if let Some(lease) = id.parse().ok().and_then(|id: u64| subscription.leased.get_mut(&id)) {
                lease.until = until;
            }
        }
        self.changed.notify_waiters();
        Ok(())
    }

    /// When the next message of a subscription is to be delivered again.
    pub(super) fn next_redelivery(&self, name: &str) -> Option<Duration> {
        self.lock().subscriptions.get(name)?.leased.values().map(|lease| lease.until).min()
    }

    /// Rung whenever there may be more to deliver.
    pub(super) fn changed(&self) -> &Notify {
        &self.changed
    }

    pub(super) fn tally(&self) -> Tally {
        let state = self.lock();
        let left = |subscription: &Subscription| subscription.ready.len() + subscription.leased.len();
        Tally { left: state.subscriptions.values().map(left).sum::<usize>() as u64, ..state.tally }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn subscription(&self, name: &str) -> Result<&Subscription, Status> {
        self.subscriptions.get(name).ok_or_else(|| missing(name))
    }
}

impl Subscription {
    /// Whatever was not acknowledged in time is to be delivered again.
    fn take_back(&mut self, now: Duration) {
        let expired = self.leased.extract_if(.., |_, lease| lease.until <= now);
        self.ready.extend(expired.map(|(_, lease)| lease.waiting));
    }
}

fn missing(name: &str) -> Status {
    Status::not_found(format!("Resource not found (resource={}).", last(name)))
}

fn exists(name: &str) -> Status {
    Status::already_exists(format!("Resource already exists in the project (resource={}).", last(name)))
}

fn last(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

#[cfg(test)]
mod tests;
