//! The only code that waits.
//!
//! [`Admission`] says what to do next; two drivers do it, for a task ([`Admit`]) and for a thread
//! ([`block_on_admission`]). [`within`] bounds what front ends wait for. Both stand in the same lines: to a control part, a waiter is a `Waker`.

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::Duration;

use crate::call::{Admission, Attempt, Step};
use crate::clock::{Clock, Sleep, Timestamp};
use crate::error::{Refusal, RefusalKind};

/// The future of [`Call::admit`](crate::Call::admit).
#[must_use = "futures do nothing unless polled"]
pub struct Admit<'a> {
    admission: Admission<'a>,
    sleep: Option<(Timestamp, Sleep)>,
}

impl<'a> Admit<'a> {
    pub(crate) fn new(admission: Admission<'a>) -> Self {
        Admit { admission, sleep: None }
    }
}

impl Future for Admit<'_> {
    type Output = Result<Attempt, Refusal>;

    #[inline(always)]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let now = self.admission.clock().now();
        match self.admission.at_once(now) {
            Some(attempt) => Poll::Ready(Ok(attempt)),
            None => self.wait(now, cx),
        }
    }
}

impl Admit<'_> {
    /// Apart from [`poll`](Future::poll), which few calls go beyond, so that those that do not are spared its frame.
    #[inline(never)]
    fn wait(&mut self, mut now: Timestamp, cx: &mut Context<'_>) -> Poll<Result<Attempt, Refusal>> {
        let clock = self.admission.clock();
        loop {
            let until = match self.admission.look(now, cx.waker()) {
                Step::Admitted(attempt) => return Poll::Ready(Ok(attempt)),
                Step::Refused(refusal) => return Poll::Ready(Err(refusal)),
                Step::Wait(until) => until,
            };
            let sleep = match &mut self.sleep {
                Some((set, sleep)) if *set == until => sleep,
                slot => &mut slot.insert((until, clock.sleep_until(until))).1,
            };
            if sleep.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
            self.sleep = None;
            now = clock.now();
            if now < until {
                // A clock whose sleeps end early may do so for ever: it may waste time, but not hold the thread.
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
        }
    }
}

impl Drop for Admit<'_> {
    #[inline]
    fn drop(&mut self) {
        self.admission.cancel();
    }
}

impl fmt::Debug for Admit<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Admit").field("scope", self.admission.scope()).finish_non_exhaustive()
    }
}

/// `future`'s output, or `None` if it takes longer than `limit` by this clock; without a limit it is waited for. For front
/// ends: an attempt within its timeout.
pub async fn within<F: Future>(clock: &dyn Clock, limit: Option<Duration>, future: F) -> Option<F::Output> {
    let Some(limit) = limit else { return Some(future.await) };
    let mut future = pin!(future);
    let mut sleep = clock.sleep_until(clock.now() + limit);
    poll_fn(|cx| match future.as_mut().poll(cx) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending => sleep.as_mut().poll(cx).map(|()| None),
    })
    .await
}

/// Waits on this thread.
pub(crate) fn block_on_admission(mut admission: Admission<'_>) -> Result<Attempt, Refusal> {
    if on_runtime_thread() {
        let reason = "a blocking call on a thread that runs async tasks would stall them; use the async twin, or a \
                      blocking thread";
        return Err(Refusal::new(RefusalKind::RuntimeThread, admission.scope().clone(), reason, None));
    }
    let clock = admission.clock();
    let mut now = clock.now();
    if let Some(attempt) = admission.at_once(now) {
        return Ok(attempt);
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    loop {
        match admission.look(now, &waker) {
            Step::Admitted(attempt) => return Ok(attempt),
            Step::Refused(refusal) => return Err(refusal),
            Step::Wait(until) => clock.park_until(until),
        }
        now = clock.now();
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Whether a task is being polled on this thread. A `spawn_blocking` thread belongs to a runtime too, but may block.
///
/// Tokio has no question for that. Only a polled task has a cooperative budget, and unfinished claims on the budget
/// are put back when dropped, so: claim more than any budget holds, and see whether it runs out.
fn on_runtime_thread() -> bool {
    use tokio::task::coop::poll_proceed;
    const MORE_THAN_ANY_BUDGET: usize = 256;
    if tokio::runtime::Handle::try_current().is_err() {
        return false;
    }
    let mut cx = Context::from_waker(Waker::noop());
    let mut claims = Vec::with_capacity(MORE_THAN_ANY_BUDGET);
    let mut exhausted = false;
    for _ in 0..MORE_THAN_ANY_BUDGET {
        match poll_proceed(&mut cx) {
            Poll::Ready(claim) => claims.push(claim),
            Poll::Pending => {
                exhausted = true;
                break;
            }
        }
    }
    // Each claim restores what it found, so the first made has to be undone last.
    while claims.pop().is_some() {}
    exhausted
}
