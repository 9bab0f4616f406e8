//! One logical call on its way through the SDK's loop, and how it is recognised there.

use std::fmt;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Arc, Weak};
use std::time::Duration;

use cloud_governor::{Attempt, Call, Clock, Governor, Outcome, Refusal, Verdict};
use google_cloud_gax::error::Error;
use google_cloud_gax_internal::observability::{ClientRequestAttributes, RequestRecorder};
use tokio::task;
use tokio::time::Instant;

use crate::call::Context;
use crate::client::Client;
use crate::error::Last;
use crate::facts::Told;
use crate::seen::Seen;

/// How often the start of a recorder is read in the hope that nothing comes in between.
const READINGS: usize = 4;
/// No resource is called so.
const MARK: &str = "cloud-governor looks for the call of this request";
/// Such a reading is as good as any.
const PRECISE: Duration = Duration::from_micros(2);

/// The client request that a hook is called for, as far as the task knows it.
pub(crate) struct Request {
    pub(crate) recorder: Option<RequestRecorder>,
    task: Option<task::Id>,
    /// When its recorder was made, between these two. Without a recorder, now.
    pub(crate) earliest: Instant,
    pub(crate) latest: Instant,
}

impl Request {
    /// Of the task that is running.
    pub(crate) fn current() -> Self {
        let recorder = RequestRecorder::current();
        let (earliest, latest) = recorder.as_ref().map_or_else(now, start);
        Request { recorder, task: task::try_id(), earliest, latest }
    }

    /// Without a recorder it is its task's.
    pub(crate) fn lane(&self) -> Option<Option<task::Id>> {
        self.recorder.is_none().then_some(self.task)
    }

    /// Runs `look` with a way to tell whether another is the same request. Where two places of journeys may hold it, they
    /// must not be looked through at the same time.
    ///
    /// A recorder is made for each request, and its clones are one, but it cannot be asked which one it is. So this one gets
    /// a mark for the moment, and the other has it too if it is the same. Nobody else sees the mark: the recorder is that
    /// of the task that is running, which is here.
    pub(crate) fn recognised<T>(&self, look: impl FnOnce(&dyn Fn(&Request) -> bool) -> T) -> T {
        let Some(recorder) = &self.recorder else {
            return look(&|other| other.recorder.is_none() && other.task == self.task);
        };
        let before = recorder.client_snapshot();
        let with_resource = |resource: Option<&str>| {
            recorder.on_client_request(ClientRequestAttributes {
                rpc_method: before.rpc_method(),
                url_template: before.url_template(),
                resource_name: resource.map(str::to_owned),
            });
        };
        with_resource(Some(MARK));
        let marked = recorder.client_snapshot();
        let is_same = |other: &RequestRecorder| other.client_snapshot() == marked;
        let found = look(&|other| other.recorder.as_ref().is_some_and(is_same));
        with_resource(before.resource_name());
        found
    }
}

impl fmt::Debug for Request {
    // The recorder holds the URL.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request").field("task", &self.task).finish_non_exhaustive()
    }
}

fn now() -> (Instant, Instant) {
    let now = Instant::now();
    (now, now)
}

/// A recorder tells how long ago it was made. Read between two looks at the clock, that is a span which its start is in.
fn start(recorder: &RequestRecorder) -> (Instant, Instant) {
    let snapshot = recorder.client_snapshot();
    let reading = || {
        let before = Instant::now();
        let age = snapshot.client_duration();
        let after = Instant::now();
        (before.checked_sub(age).unwrap_or(before), after.checked_sub(age).unwrap_or(after))
    };
    let width = |(earliest, latest): &(Instant, Instant)| latest.saturating_duration_since(*earliest);
    let mut best = reading();
    for _ in 1..READINGS {
        if width(&best) <= PRECISE {
            break;
        }
        let next = reading();
        if width(&next) < width(&best) {
            best = next;
        }
    }
    best
}

/// One logical call.
#[derive(Debug)]
pub(crate) struct Journey {
    /// A client keeps the place where its journeys are, so they do not keep the client.
    client: Weak<Client>,
    pub(crate) governor: Governor,
    pub(crate) request: Request,
    pub(crate) call: Call,
    /// The caller's, if no later outcome takes its place.
    pub(crate) last: Option<Last>,
    /// The loop has a policy of ours: its outcome is certain to be told.
    pub(crate) is_looped: bool,
    /// Storage's media requests are no rpc.
    pub(crate) is_media: bool,
    /// Whether its outcome will be told, by whichever hook. Of a stream it is not, and there a slot would be held for
    /// nothing.
    pub(crate) has_outcome: bool,
}

impl Journey {
    pub(crate) fn begin(client: &Arc<Client>, context: &Context, request: Request, is_looped: bool) -> Self {
        let seen = request.recorder.as_ref().map(Seen::of);
        let scope = context.options().own_scope().cloned().unwrap_or_else(|| client.scope(seen.as_ref()));
        let governor = client.governor();
        let call = context.options().apply(governor.call(&scope));
        Journey {
            client: Arc::downgrade(client),
            call,
            governor,
            request,
            last: None,
            is_looped,
            is_media: seen.as_ref().is_some_and(|seen| seen.rpc.is_none()),
            has_outcome: is_looped || seen.is_some_and(|seen| !may_be_stream(&seen)),
        }
    }

    pub(crate) fn is_of(&self, client: &Arc<Client>) -> bool {
        std::ptr::eq(self.client.as_ptr(), Arc::as_ptr(client))
    }

    pub(crate) fn clock(&self) -> &Arc<dyn Clock> {
        self.governor.clock()
    }

    /// Waits until the next attempt may be sent. While it is in line, what overdue attempts hold goes back: of the
    /// governor's calls outside, and of those beside it.
    pub(crate) async fn admit(&mut self, client: &Client, context: &Context) -> Result<Attempt, Refusal> {
        let outside = client.outside();
        let mut admission = pin!(self.call.admit());
        poll_fn(|cx| {
            outside.store().sweep();
            context.store().sweep();
            admission.as_mut().poll(cx)
        })
        .await
    }

    /// The attempt failed with what the server, or the way to it, had to say.
    pub(crate) fn failed(&self, client: &Client, context: &Context, attempt: &Attempt, error: &Error) -> Verdict {
        let Told { facts, consumer, limit } = Told::of(error);
        let scope = self.call.scope();
        if let Some(limit) = client.targets.heard(&self.governor, scope, consumer.as_deref(), limit.as_ref()) {
            attempt.told(&limit);
        }
        let meaning = self.governor.classify(self.call.scope(), facts);
        let verdict = attempt.finish(Outcome::Failure(meaning));
        context.options().note_verdict(verdict);
        verdict
    }
}

/// Only gRPC streams, which has no templates of URLs. The polls of long-running operations are no streams.
fn may_be_stream(seen: &Seen<'_>) -> bool {
    seen.template.is_none() && seen.rpc.is_some_and(|rpc| !rpc.contains("perations/"))
}

#[cfg(test)]
mod tests;
