//! What one hook leaves for the next one of the same request.
//!
//! The SDK calls some of its hooks one right after the other, in one poll: nothing else runs on the thread in between, so
//! what the first leaves in a thread-local is the second's to take.

use std::cell::Cell;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::client::Client;

thread_local! {
    static BEGUN: Cell<Option<usize>> = const { Cell::new(None) };
    static JUDGED: Cell<Option<Instant>> = const { Cell::new(None) };
    static POLL_AFTER: Cell<Option<Duration>> = const { Cell::new(None) };
}

/// `remaining_time` for `headers`: a retry loop of this client begins, whose outcome will be told.
pub(crate) fn begins(client: &Arc<Client>) {
    set(&BEGUN, Some(id(client)));
}

/// Whether a retry loop of this client has just begun.
pub(crate) fn take_begun(client: &Arc<Client>) -> bool {
    set(&JUDGED, None);
    take(&BEGUN) == Some(id(client))
}

/// `on_error` for `on_retry_failure`: this outcome, of the loop that began then, has been dealt with.
pub(crate) fn judged(loop_start: Instant) {
    set(&JUDGED, Some(loop_start));
    // Had it come as far as `headers`, that would have been taken.
    set(&BEGUN, None);
}

/// What is asked between the two: where a call site's throttler has the outcomes of its loop, they are not taken for
/// another's.
pub(crate) fn still_judged(loop_start: Instant) {
    let judged = take(&JUDGED);
    set(&JUDGED, judged.filter(|judged| *judged == loop_start));
}

/// Whether the outcome has been dealt with.
pub(crate) fn take_judged() -> bool {
    take(&JUDGED).is_some()
}

/// A poll's outcome for the wait that follows it: at least this long.
pub(crate) fn poll_after(wait: Option<Duration>) {
    set(&POLL_AFTER, wait);
}

/// How long to wait for the next poll, at least.
pub(crate) fn take_poll_after() -> Option<Duration> {
    take(&POLL_AFTER)
}

fn id(client: &Arc<Client>) -> usize {
    Arc::as_ptr(client).addr()
}

// At a thread's end there is nothing to hand over.

fn set<T>(cell: &'static std::thread::LocalKey<Cell<T>>, value: T) {
    let _ = cell.try_with(|cell| cell.set(value));
}

fn take<T: Default>(cell: &'static std::thread::LocalKey<Cell<T>>) -> T {
    cell.try_with(Cell::take).unwrap_or_default()
}
