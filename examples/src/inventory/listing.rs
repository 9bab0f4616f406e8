//! One listing: one kind of thing in one region of one account.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;

use super::calls::{Page, Row, Source};
use super::failure::{Failure, Worth};
use super::found::Found;
use super::kind::{Kind, Place};

/// How many rows may wait for their own calls before the next page is asked for, in fan-outs.
const PAGES_AHEAD: usize = 16;

/// How far a listing has come.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Progress {
    /// What it found.
    pub found: Found,
    /// The account that the service named.
    pub account: Option<String>,
    /// How often it was queued again.
    pub requeues: u32,
    /// Whether a failure of it was a service's answer.
    pub refused: bool,
    /// Rows and pages that were given up.
    pub given_up: u64,
    /// Why: the last reason.
    pub reason: Option<Failure>,
    /// Whether there is nothing left to try.
    pub ended: bool,
}

impl Progress {
    /// Whether everything was listed.
    pub fn complete(&self) -> bool {
        self.ended && self.given_up == 0
    }

    /// Whether any answer came.
    pub fn answered(&self) -> bool {
        self.refused || self.complete() || self.account.is_some() || self.found != Found::default()
    }
}

/// The progress of a listing, for others to see while it runs.
#[derive(Clone, Debug, Default)]
pub(super) struct Watch(Arc<Mutex<Progress>>);

impl Watch {
    pub(super) fn get(&self) -> Progress {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn update(&self, update: impl FnOnce(&mut Progress)) {
        update(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

#[derive(Debug)]
enum Next {
    Page(Source),
    End,
}

/// One listing. It keeps its place in the list and the rows that are not complete, so that it can go on where it
/// stopped.
#[derive(Debug)]
pub struct Listing {
    place: Arc<Place>,
    kind: Kind,
    fan_out: usize,
    next: Next,
    rows: VecDeque<Row>,
    watch: Watch,
}

enum Work {
    Page(Source),
    Row(Row),
}

enum Done {
    Page(Result<Page<Row, Source>, Failure>),
    Row(Row, Result<(), Failure>),
}

impl Listing {
    /// A listing that has not begun. At most `fan_out` calls of it, but at least one, are under way at once.
    pub(super) fn new(place: Arc<Place>, source: Source, fan_out: usize) -> Self {
        let (kind, rows) = (source.kind(), VecDeque::new());
        let next = Next::Page(source);
        Listing { place, kind, fan_out: fan_out.max(1), next, rows, watch: Watch::default() }
    }

    /// Where it looks.
    pub fn place(&self) -> &Arc<Place> {
        &self.place
    }

    /// What it lists.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// How far it has come.
    pub fn progress(&self) -> Progress {
        self.watch.get()
    }

    pub(super) fn watch(&self) -> Watch {
        self.watch.clone()
    }

    /// Goes on until nothing is left, or until a call gives up that is worth another try later. Then no new call is
    /// begun, those under way are waited for, and what is left stays for the next time.
    ///
    /// What no later try would bring is given up, and the rest goes on.
    ///
    /// # Errors
    /// The first failure after which it is worth going on later.
    pub async fn advance(&mut self) -> Result<(), Failure> {
        // One call looks whether a service that failed is back, before many follow.
        let mut width = if self.watch.get().requeues == 0 { self.fan_out } else { 1 };
        let perform = |work| perform(work, self.watch.clone());
        let mut running = FuturesUnordered::new();
        let mut paging = false;
        let mut stopped: Option<Failure> = None;
        loop {
            if stopped.is_none() {
                if let Next::Page(source) = &self.next
                    && !paging
                    && running.len() < width
                    && self.rows.len() < self.fan_out.saturating_mul(PAGES_AHEAD)
                {
                    paging = true;
                    running.push(perform(Work::Page(source.clone())));
                }
                while running.len() < width
                    && let Some(row) = self.rows.pop_front()
                {
                    running.push(perform(Work::Row(row)));
                }
            }
            let Some(done) = running.next().await else { break };
            let failure = match done {
                Done::Page(Ok(page)) => {
                    paging = false;
                    self.next = page.next.map_or(Next::End, Next::Page);
                    self.rows.extend(page.rows);
                    self.watch.update(|progress| {
                        progress.found += page.found;
                        progress.account = page.account.or(progress.account.take());
                    });
                    width = self.fan_out;
                    continue;
                }
                Done::Row(_, Ok(())) => {
                    width = self.fan_out;
                    continue;
                }
                Done::Page(Err(failure)) => {
                    paging = false;
                    if failure.worth() == Worth::Never {
                        self.next = Next::End;
                    }
                    failure
                }
                Done::Row(row, Err(failure)) => {
                    if failure.worth() != Worth::Never {
                        self.rows.push_front(row);
                    }
                    failure
                }
            };
            match failure.worth() {
                Worth::Never => self.give_up(1, failure),
                Worth::Later(_) => stopped = stopped.or(Some(failure)),
            }
        }
        match stopped {
            Some(failure) => Err(failure),
            None => {
                self.watch.update(|progress| progress.ended = true);
                Ok(())
            }
        }
    }

    /// Ends a listing that is not queued again: what is left is given up.
    pub(super) fn end(&mut self, failure: Failure) {
        let page = u64::from(matches!(self.next, Next::Page(_)));
        self.give_up(page + self.rows.len() as u64, failure);
        self.watch.update(|progress| progress.ended = true);
    }

    fn give_up(&self, count: u64, failure: Failure) {
        tracing::warn!(
            target: "inventory",
            account = self.place.account, region = self.place.region, kind = %self.kind, count, reason = %failure,
            "given_up"
        );
        self.watch.update(|progress| {
            progress.given_up += count;
            progress.reason = Some(failure);
        });
    }
}

async fn perform(work: Work, watch: Watch) -> Done {
    match work {
        Work::Page(source) => Done::Page(source.page().await),
        Work::Row(mut row) => {
            let count = |found| watch.update(|progress| progress.found += found);
            let result = row.complete(count).await;
            Done::Row(row, result)
        }
    }
}
